/* Opens Lua states: the shell's, and those of a loader's workers, which are like the one they work
 * for. */
#include "bindings/state.h"

#include <lualib.h>

#include "bindings/bind.h"
#include "bindings/rewrite/truth.h"
#include "bindings/stop.h"

static const char kind_key = 0; /* its address: registry key of the gp_lua_kind */

/* The module's fields become globals where Lua has none of that name. */
static void set_globals(lua_State *L) {
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, -3);) {
        lua_pushvalue(L, -2);
        if (lua_rawget(L, -4) == LUA_TNIL) {
            lua_pushvalue(L, -3);
            lua_pushvalue(L, -3);
            lua_rawset(L, -6);
        }
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
}

void gp_lua_open_state(lua_State *L, gp_lua_kind kind) {
    lua_pushinteger(L, kind);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &kind_key);
    luaL_openlibs(L);
    gp_stop_install(L);
    if (kind == GP_LUA_PLAIN) gp_syntax_plain(L);
    else if (kind == GP_LUA_SYNTAX) gp_syntax_install(L);
    luaL_requiref(L, "gpush", luaopen_gpush, kind != GP_LUA_STOCK);
    if (kind != GP_LUA_STOCK) {
        set_globals(L);
        gp_lua_open_stdlib(L);
    }
    lua_pop(L, 1);
}

gp_lua_kind gp_lua_state_kind(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &kind_key);
    gp_lua_kind kind = (gp_lua_kind)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return kind;
}
