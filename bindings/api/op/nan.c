/* nan.watch in Lua: this thread's watch for NaN and infinities, and the path of the module that is
 * called, which scripts/lua/nn/init.lua tells while it is on; and the results of a function's ops
 * one by one, for scripts/lua/diverge.lua. */
#include "bindings/args/function.h"
#include "bindings/bind.h"
#include "bindings/fields.h"
#include "bindings/module.h"
#include "bindings/scope.h"
#include "tensor/autograd/watch.h"
#include "tensor/device/device.h"
#include "tensor/intercept.h"
#include "tensor/base/intern.h"

#define WATCH "gpush.nan_watch"
#define CALLS "gpush.module_watch" /* in the registry: a table whose `on` is that of the thread */

/* An open watch: closing it brings back what was before. */
typedef struct watch {
    bool before, open;
} watch;

static bool set(lua_State *L, bool on) {
    bool ok = gp_watch_set(on);
    lua_getfield(L, LUA_REGISTRYINDEX, CALLS);
    lua_pushboolean(L, on);
    lua_setfield(L, -2, "on");
    lua_pop(L, 1);
    return ok;
}

/* Raises what the devices have found, for which it waits. ok: their checks are queued. */
static int end(lua_State *L, bool ok) {
    gp_lua_enter(L);
    return ok && gp_wait_device(NULL, GP_WHY_explicit, "nan.watch") ? 0 : gp_lua_raise(L);
}

/* (the watch, the error that ends it; nil) */
static int l_close(lua_State *L) {
    watch *w = gp_lua_checkudata(L, 1, WATCH);
    bool was = w->open, ok = true;
    w->open = false;
    if (was) ok = set(L, w->before);
    return was && lua_isnoneornil(L, 2) ? end(L, ok) : 0;
}

static int l_text(lua_State *L) {
    const watch *w = gp_lua_checkudata(L, 1, WATCH);
    return lua_pushstring(L, w->open && gp_watch.on ? "nan.watch: on until nan.watch(false)"
                                                    : "nan.watch: off"),
           1;
}

/* nan.watch([fn, …]): fn's results, watched; without fn, the watch, on until it is closed or
 * nan.watch(false). */
static int l_watch(lua_State *L) {
    if (lua_isboolean(L, 1)) {
        bool on = lua_toboolean(L, 1);
        if (lua_gettop(L) > 1)
            return luaL_error(L, "nan.watch: a switch takes one argument, got %d", lua_gettop(L));
        bool was = gp_watch.on;
        if (!on && !was) return 0;
        if (!on) return end(L, set(L, false));
        lua_settop(L, 0);
    }
    gp_lua_check_fn(L, 1, "nan.watch");
    gp_lua_enter(L);
    /* A captured function would be replayed without. */
    if (!gp_at(GP_AT_READ, "nan.watch", NULL)) return gp_lua_raise(L);
    watch *w = lua_newuserdatauv(L, sizeof *w, 0);
    *w = (watch){.before = gp_watch.on, .open = true};
    luaL_setmetatable(L, WATCH);
    set(L, true);
    return gp_lua_scoped(L, 1);
}

/* ---- the results of a function's ops, for diverge ---- */

#define RESULTS "gpush.results" /* in the registry: the list that is being made */

/* A copy of each result, since later ops may write into it. */
static bool see(const gp_call *c, gp_tensor *result) {
    lua_State *L = gp_lua_state;
    int top = lua_gettop(L);
    gp_srcloc at = gp_srcloc_here();
    gp_call copy;
    gp_call_begin(&copy, GP_OP(copy));
    gp_call_tensor(&copy, result);
    gp_tensor *t = gp_call_one(&copy);
    if (!t) return false;
    luaL_checkstack(L, 6, "diverge");
    lua_getfield(L, LUA_REGISTRYINDEX, RESULTS);
    lua_createtable(L, 0, 6);
    gp_lua_push(L, t);
    lua_setfield(L, -2, "value");
    set_text(L, "op", c->name);
    set_text(L, "step", gp_watch.step ? gp_watch.step->op->name : NULL);
    set_text(L, "module", gp_watch_module());
    set_text(L, "file", at.file);
    lua_pushinteger(L, at.line);
    lua_setfield(L, -2, "line");
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_settop(L, top);
    return true;
}

/* results_of(fn, …): the results of the ops that compute while fn(…) runs, in order: {op =, step =
 * the forward op in backward, module =, file =, line =, value =}. */
static int l_results_of(lua_State *L) {
    gp_watch_state before = gp_watch;
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, RESULTS);
    lua_insert(L, 1);
    set(L, true);
    gp_watch.see = see;
    int status = lua_pcall(L, lua_gettop(L) - 2, 0, 0);
    gp_watch.see = before.see;
    set(L, before.on);
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, RESULTS);
    return status == LUA_OK ? 1 : lua_error(L);
}

/* module_watch.enter(path): the module that is called, or nil. */
static int l_enter(lua_State *L) {
    const char *path = lua_tostring(L, 1);
    gp_watch.module = path ? gp_intern_text(path) : NULL;
    return 0;
}

void gp_lua_open_nan(lua_State *L) {
    static const gp_lua_function functions[] = {{"nan.watch", "any? fn, rest args", l_watch},
                                                {NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__close", l_close}, {"__tostring", l_text}, {NULL, NULL}};
    static const luaL_Reg calls[] = {{"enter", l_enter}, {NULL, NULL}};
    luaL_newmetatable(L, WATCH);
    luaL_setfuncs(L, meta, 0);
    lua_pop(L, 1);
    luaL_newlib(L, calls);
    lua_setfield(L, LUA_REGISTRYINDEX, CALLS);
    lua_pushcfunction(L, l_results_of);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.results_of");
    lua_createtable(L, 0, 2);
    gp_lua_set_functions(L, functions);
    lua_setfield(L, -2, "nan");
}
