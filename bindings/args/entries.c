/* Reports keys that are not entries of a list, instead of ignoring them. */
#include "bindings/args/entries.h"

#include <string.h>

#include <lauxlib.h>

#include "bindings/bind.h"
#include "tensor/base/error.h"

/* Fails: the key at the top of the stack is not an entry of a list of n. */
static bool stray(lua_State *L, lua_Integer n, const char *fn, const char *argument) {
    if (lua_type(L, -1) == LUA_TSTRING)
        return gp_fail("%s: argument '%s': '%s' is in the list (options go into a table of their "
                       "own: {…}, {%s = …})",
                       fn, argument, lua_tostring(L, -1), lua_tostring(L, -1));
    if (lua_isinteger(L, -1))
        return gp_fail("%s: argument '%s': entry [%lld] of a list of %lld (lists count from 1 and "
                       "have no gaps)",
                       fn, argument, (long long)lua_tointeger(L, -1), (long long)n);
    return gp_fail("%s: argument '%s': a list with a %s for a key", fn, argument,
                   lua_typename(L, lua_type(L, -1)));
}

/* Whether the key at the top of the stack is table.pack's n, with the number of entries. */
static bool is_count(lua_State *L, int i, lua_Integer n) {
    if (lua_type(L, -1) != LUA_TSTRING || strcmp(lua_tostring(L, -1), "n")) return false;
    lua_pushvalue(L, -1);
    bool is = lua_rawget(L, i) == LUA_TNUMBER && lua_tointeger(L, -1) == n;
    return lua_pop(L, 1), is;
}

/* In a longer list only the keys after its last entry are checked: Lua walks the array part first,
 * where the entries of such a list are. */
enum { LONG = 64 };

bool gp_lua_only_entries(lua_State *L, int i, lua_Integer n, const char *fn, const char *argument) {
    i = lua_absindex(L, i);
    if (lua_getmetatable(L, i)) return lua_pop(L, 1), true;
    if (n > LONG) lua_pushinteger(L, n);
    else lua_pushnil(L);
    while (lua_next(L, i)) {
        lua_pop(L, 1);
        if (lua_isinteger(L, -1) && lua_tointeger(L, -1) >= 1 && lua_tointeger(L, -1) <= n)
            continue;
        if (is_count(L, i, n)) continue;
        bool ok = stray(L, n, fn, argument);
        return lua_pop(L, 1), ok;
    }
    return true;
}

bool gp_lua_check_list(lua_State *L, int i, const char *fn, const char *argument) {
    lua_Integer n = 0;
    while (lua_rawgeti(L, i, n + 1) != LUA_TNIL) n++, lua_pop(L, 1);
    lua_pop(L, 1);
    return gp_lua_only_entries(L, i, n, fn, argument);
}

int gp_l_check_list(lua_State *L) {
    luaL_checktype(L, 3, LUA_TTABLE);
    if (!gp_lua_check_list(L, 3, luaL_checkstring(L, 1), luaL_checkstring(L, 2))) gp_lua_raise(L);
    return 0;
}
