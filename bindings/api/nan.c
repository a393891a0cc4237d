/* nan.watch in Lua: this thread's watch for NaN and infinities, and the path of the module that is
 * called, which scripts/lua/nn/init.lua tells while it is on. */
#include "bindings/args/function.h"
#include "bindings/bind.h"
#include "bindings/module.h"
#include "bindings/scope.h"
#include "tensor/autograd/watch.h"
#include "tensor/fuse/trace.h"
#include "tensor/intern.h"

#define WATCH "gpush.nan_watch"
#define CALLS "gpush.module_watch" /* in the registry: a table whose `on` is that of the thread */

/* An open watch: closing it brings back what was before. */
typedef struct watch {
    bool before, open;
} watch;

static void set(lua_State *L, bool on) {
    gp_watch.on = on;
    lua_getfield(L, LUA_REGISTRYINDEX, CALLS);
    lua_pushboolean(L, on);
    lua_setfield(L, -2, "on");
    lua_pop(L, 1);
}

static int l_close(lua_State *L) {
    watch *w = gp_lua_checkudata(L, 1, WATCH);
    if (w->open) set(L, w->before);
    w->open = false;
    return 0;
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
        if (!on) return set(L, false), 0;
        lua_settop(L, 0);
    }
    gp_lua_check_fn(L, 1, "nan.watch");
    gp_lua_enter(L);
    /* A captured function would be replayed without. */
    if (!gp_trace_may_read("nan.watch")) return gp_lua_raise(L);
    watch *w = lua_newuserdatauv(L, sizeof *w, 0);
    *w = (watch){.before = gp_watch.on, .open = true};
    luaL_setmetatable(L, WATCH);
    set(L, true);
    return gp_lua_scoped(L, 1);
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
    lua_createtable(L, 0, 2);
    gp_lua_set_functions(L, functions);
    lua_setfield(L, -2, "nan");
}
