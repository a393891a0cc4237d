/* Values that a script opens and closes: as to-be-closed variables, or around a function. */
#include "bindings/scope.h"

#include "bindings/stop.h"

#include <lauxlib.h>

void gp_lua_check_fn(lua_State *L, int arg, const char *what) {
    if (lua_isnoneornil(L, arg) || lua_isfunction(L, arg)) return;
    int type = luaL_getmetafield(L, arg, "__call");
    if (type == LUA_TNIL)
        luaL_error(L, "%s: argument #%d: expected a function, got %s", what, arg,
                   luaL_typename(L, arg));
    lua_pop(L, 1);
}

static int results(lua_State *L, int status, lua_KContext ctx) { return lua_gettop(L) - (int)ctx; }

int gp_lua_scoped(lua_State *L, int arg) {
    int top = lua_gettop(L);
    if (top == arg || lua_isnil(L, arg)) {
        gp_stop_after_next();
        return 1;
    }
    lua_insert(L, arg); /* below fn */
    lua_toclose(L, arg);
    lua_callk(L, top - arg - 1, LUA_MULTRET, arg, results);
    return results(L, LUA_OK, arg);
}
