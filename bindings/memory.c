/* Lua's memory. Small blocks come from lists by size in one arena per state, so that a box for a
 * result costs a few instructions; very large ones use huge pages, and Ctrl-C interrupts them; the
 * rest is malloc's. */
#include "bindings/memory.h"

#include "tensor/device/device.h"
#include "tensor/memory/hostmem.h"

#include <stddef.h>
#include <lauxlib.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { UNIT = 16, LARGEST = 256, LISTS = LARGEST / UNIT + 1 };
_Static_assert(UNIT % _Alignof(max_align_t) == 0 && LARGEST % UNIT == 0,
               "blocks are aligned as malloc's");
/* Bytes; a large block is mapped separately. */
enum { LARGE = 8 << 20, PAGE = 4096, SLICE = 1 << 20 };
/* Address space only: pages are allocated when touched. After it is full, malloc takes over. */
static const size_t arena_bytes = (size_t)4 << 30;

typedef struct cell {
    struct cell *next;
} cell;
_Static_assert(sizeof(cell) <= UNIT, "a free block holds its link");

typedef struct arena {
    char *base, *next, *end;
    cell *list[LISTS];
} arena;

static inline size_t list_of(size_t bytes) { return (bytes + UNIT - 1) / UNIT; }

static void *carve(arena *a, size_t bytes) {
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

/* Touches bytes from p on, which may take a second where the system has to find the memory; false
 * after Ctrl-C. */
static bool touch(char *p, size_t bytes) {
    for (size_t i = 0; i < bytes; i += PAGE) {
        if (i % SLICE == 0 && gp_thread_stopped()) return false;
        *(volatile char *)(p + i) = 0;
    }
    return true;
}

/* A large block whose bytes from `from` on are touched. NULL: no memory, or Ctrl-C, which Lua
 * cannot learn otherwise. */
static void *map(size_t bytes, size_t from) {
    char *p = gp_host_alloc(bytes);
    if (!p || from >= bytes || touch(p + from, bytes - from)) return p;
    gp_host_free(p, bytes);
    return NULL;
}

/* Resizes a large block to another large size. NULL leaves it unchanged. */
static void *remap(void *p, size_t osize, size_t nsize) {
    if (nsize <= osize) return gp_host_shrink(p, osize, nsize), p;
    void *q = map(nsize, osize);
    if (q) gp_host_move(p, osize, q);
    return q;
}

static void *fresh(arena *a, size_t bytes) {
    return bytes <= LARGEST ? carve(a, bytes) : bytes < LARGE ? malloc(bytes) : map(bytes, 0);
}

static void drop(arena *a, void *p, size_t bytes) {
    if (bytes <= LARGEST) give(a, p, bytes);
    else if (bytes < LARGE) free(p);
    else gp_host_free(p, bytes);
}

/* lua_Alloc. osize is the type of the object when p is NULL. */
static void *allocate(void *ud, void *p, size_t osize, size_t nsize) {
    arena *a = ud;
    if (nsize == 0) {
        if (p) drop(a, p, osize);
        return NULL;
    }
    if (!p) return fresh(a, nsize);
    if (osize >= LARGE && nsize >= LARGE) return remap(p, osize, nsize);
    if (osize > LARGEST && nsize > LARGEST && osize < LARGE && nsize < LARGE)
        return realloc(p, nsize);
    if (osize <= LARGEST && nsize <= LARGEST && list_of(osize) == list_of(nsize) &&
        (uintptr_t)p - (uintptr_t)a->base < arena_bytes)
        return p;
    void *q = fresh(a, nsize);
    if (!q) return NULL;
    memcpy(q, p, osize < nsize ? osize : nsize);
    drop(a, p, osize);
    return q;
}

lua_State *gp_lua_newstate(void) {
    lua_State *L = luaL_newstate();
#if !defined(__SANITIZE_ADDRESS__) /* which checks only malloc's blocks */
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
