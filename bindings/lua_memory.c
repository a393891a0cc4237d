/* Lua's memory: small blocks from lists by size, one arena a state, so that a box for a result
 * costs a few instructions; the rest from malloc. */
#include "bindings/lua_memory.h"

#include <lauxlib.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { UNIT = 16, LARGEST = 256, LISTS = LARGEST / UNIT + 1 };
static const size_t arena_bytes =
    (size_t)4
    << 30; /* address space only; pages come as they are touched. Beyond it malloc takes over */

typedef struct cell {
    struct cell *next;
} cell;

typedef struct arena {
    char *base, *next, *end;
    cell *list[LISTS];
} arena;

static inline size_t list_of(size_t bytes) { return (bytes + UNIT - 1) / UNIT; }

static void *take(arena *a, size_t bytes) {
    size_t k = list_of(bytes);
    cell *c = a->list[k];
    if (c) {
        a->list[k] = c->next;
        return c;
    }
    if ((size_t)(a->end - a->next) < k * UNIT) return malloc(bytes);
    void *p = a->next;
    a->next += k * UNIT;
    return p;
}

static void give(arena *a, void *p, size_t bytes) {
    if ((uintptr_t)p - (uintptr_t)a->base >=
        arena_bytes) { /* malloc's: from before the arena was set, or after it was full */
        free(p);
        return;
    }
    cell *c = p;
    c->next = a->list[list_of(bytes)];
    a->list[list_of(bytes)] = c;
}

/* lua_Alloc. osize is the type of the object when p is NULL. */
static void *allocate(void *ud, void *p, size_t osize, size_t nsize) {
    arena *a = ud;
    if (nsize == 0) {
        if (p) osize <= LARGEST ? give(a, p, osize) : free(p);
        return NULL;
    }
    if (!p) return nsize <= LARGEST ? take(a, nsize) : malloc(nsize);
    if (osize > LARGEST && nsize > LARGEST) return realloc(p, nsize);
    if (osize <= LARGEST && nsize <= LARGEST && list_of(osize) == list_of(nsize) &&
        (uintptr_t)p - (uintptr_t)a->base < arena_bytes)
        return p;
    void *q = nsize <= LARGEST ? take(a, nsize) : malloc(nsize);
    if (!q) return NULL;
    memcpy(q, p, osize < nsize ? osize : nsize);
    osize <= LARGEST ? give(a, p, osize) : free(p);
    return q;
}

lua_State *gp_lua_newstate(void) {
    lua_State *L = luaL_newstate();
#if !defined(__SANITIZE_ADDRESS__) /* which watches malloc's blocks only */
    arena *a = L ? calloc(1, sizeof *a) : NULL;
    if (!a) return L;
    a->base = mmap(NULL, arena_bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a->base == MAP_FAILED) return free(a), L;
    a->next = a->base;
    a->end = a->base + arena_bytes;
    lua_setallocf(L, allocate, a);
#endif
    return L;
}

void gp_lua_closestate(lua_State *L) {
    void *ud;
    lua_Alloc f = lua_getallocf(L, &ud);
    lua_close(L);
    if (f != allocate) return;
    arena *a = ud;
    munmap(a->base, arena_bytes);
    free(a);
}
