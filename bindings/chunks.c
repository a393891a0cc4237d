/* Files of the module, loaded for many Lua states: see chunks.h. */
#include "bindings/chunks.h"

#include <lauxlib.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bindings/paths.h"
#include "tensor/device/stream/thread.h"

/* Registry: path -> function, of the files that this state has read itself. */
#define READ "gpush.chunks"

/* Bytecode made in this process; never freed. */
typedef struct chunk {
    struct chunk *next;
    char *path, *bytes;
    size_t n, capacity;
} chunk;

static chunk *chunks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static const chunk *find(const char *path) {
    gp_lock(&lock);
    const chunk *c = chunks;
    while (c && strcmp(c->path, path)) c = c->next;
    gp_unlock(&lock);
    return c;
}

void gp_chunk_push(lua_State *L, const char *path) {
    const chunk *c = find(path);
    if (c) {
        if (luaL_loadbufferx(L, c->bytes, c->n, path, "b") != LUA_OK) lua_error(L);
        return;
    }
    if (luaL_loadfilex(L, path, "t") != LUA_OK) lua_error(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, READ);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, path);
    lua_pop(L, 1);
}

/* Pushes the path of the file that require knows by that name. */
static const char *push_path(lua_State *L, const char *name) {
    const char *base = luaL_gsub(L, name, ".", "/"), *dir = gp_scripts_dir();
    const char *path = lua_pushfstring(L, "%s/%s.lua", dir, base);
    if (access(path, F_OK) != 0 && access(dir, F_OK) == 0)
        path = lua_pushfstring(L, "%s/%s/init.lua", dir, base);
    return path;
}

void gp_lua_require(lua_State *L, const char *name) {
    int top = lua_gettop(L);
    luaL_checkstack(L, LUA_MINSTACK, name);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, GP_LUA_LOADED);
    if (lua_getfield(L, top + 1, name) == LUA_TNIL) {
        gp_chunk_push(L, push_path(L, name));
        lua_pushcfunction(L, gp_l_require);
        lua_call(L, 1, 1);
        if (lua_isnil(L, -1)) lua_pushboolean(L, true);
        lua_pushvalue(L, -1);
        lua_setfield(L, top + 1, name);
    }
    lua_replace(L, top + 1);
    lua_settop(L, top + 1);
}

int gp_l_require(lua_State *L) { return gp_lua_require(L, luaL_checkstring(L, 1)), 1; }

static int add(lua_State *L, const void *bytes, size_t n, void *to) {
    chunk *c = to;
    if (c->n + n > c->capacity) {
        size_t capacity = 2 * c->capacity + n + 4096;
        char *more = realloc(c->bytes, capacity);
        if (!more) return 1;
        c->bytes = more;
        c->capacity = capacity;
    }
    memcpy(c->bytes + c->n, bytes, n);
    c->n += n;
    return 0;
}

static void free_chunk(chunk *c) {
    if (c) free(c->path), free(c->bytes);
    free(c);
}

/* Keeps the file's function, which is on top. Without memory the file is merely read again. */
static void keep(lua_State *L, const char *path) {
    chunk *c = calloc(1, sizeof *c);
    if (!c || !(c->path = strdup(path)) || lua_dump(L, add, c, 0) != 0) {
        free_chunk(c);
        return;
    }
    gp_lock(&lock);
    c->next = chunks;
    chunks = c;
    gp_unlock(&lock);
}

void gp_chunks_keep(lua_State *L) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, READ);
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1))
        if (!find(lua_tostring(L, -2))) keep(L, lua_tostring(L, -2));
    lua_pop(L, 1);
}
