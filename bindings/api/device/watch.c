/* Gradients as soon as they are complete, while backward still runs: what
 * nn.parallel.DistributedDataParallel is made of. Adds ready and after to registry["gpush.dist"].
 */
#include <stdlib.h>

#include "bindings/bind.h"
#include "bindings/module.h"
#include "tensor/autograd/grad.h"

/* A Lua function in the registry. */
typedef struct watcher {
    lua_State *L; /* the main state */
    int ref;
} watcher;

static watcher *new_watcher(lua_State *L, int fn) {
    watcher *w = malloc(sizeof *w);
    if (!w) return luaL_error(L, "out of memory"), NULL;
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    w->L = lua_tothread(L, -1);
    lua_pop(L, 1);
    lua_pushvalue(L, fn);
    w->ref = luaL_ref(L, LUA_REGISTRYINDEX);
    return w;
}

static void drop(void *ctx) {
    watcher *w = ctx;
    luaL_unref(w->L, LUA_REGISTRYINDEX, w->ref);
    free(w);
}

/* Calls the function, which is below its one argument on the stack. *result: whether it returned
 * true. */
static bool call(lua_State *L, bool *result) {
    bool ok = lua_pcall(L, 1, 1, 0) == LUA_OK;
    const char *s = ok ? NULL : lua_tostring(L, -1);
    if (!ok) gp_fail("%s", s ? s : "a watcher of gradients raised an error that is not a string");
    *result = ok && lua_toboolean(L, -1);
    lua_pop(L, 1);
    return ok;
}

static bool ready(void *ctx, gp_tensor *g, bool *taken) {
    lua_State *L = gp_lua_state;
    luaL_checkstack(L, 4, "backward");
    lua_rawgeti(L, LUA_REGISTRYINDEX, ((watcher *)ctx)->ref);
    gp_lua_push(L, gp_tensor_ref(g));
    return call(L, taken);
}

/* ready(p, fn): fn(gradient) is called in each backward that gives p one, when it is complete; if
 * it returns true, p.grad stays as it is. For one function at a time. */
static int l_ready(lua_State *L) {
    static const gp_leaf_watch watch = {ready, drop};
    gp_tensor *t = gp_lua_check(L, 1, "dist.ready");
    luaL_checktype(L, 2, LUA_TFUNCTION);
    gp_leaf *l = gp_tensor_leaf(t);
    if (!l) return gp_lua_raise(L);
    watcher *w = new_watcher(L, 2);
    if (l->watch) l->watch->drop(l->watcher);
    atomic_store(&gp_grad_watched, true);
    l->watch = &watch;
    l->watcher = w;
    return 0;
}

static bool after(void *ctx, bool ok) {
    watcher *w = ctx;
    lua_State *L = gp_lua_state;
    bool unused;
    luaL_checkstack(L, 4, "backward");
    lua_rawgeti(L, LUA_REGISTRYINDEX, w->ref);
    lua_pushboolean(L, ok);
    drop(w);
    return call(L, &unused);
}

/* after(fn): fn(ok) is called when the backward under way is over. */
static int l_after(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    watcher *w = new_watcher(L, 1);
    bool ok = gp_backward_after(after, w);
    if (!ok) drop(w);
    return lua_pushboolean(L, ok), 1;
}

void gp_lua_open_watch(lua_State *L) {
    static const luaL_Reg functions[] = {{"ready", l_ready}, {"after", l_after}, {NULL, NULL}};
    lua_getfield(L, LUA_REGISTRYINDEX, "gpush.dist");
    luaL_setfuncs(L, functions, 0);
    lua_pop(L, 1);
}
