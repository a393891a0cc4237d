/* Reads of globals that are nil: reported once for each name and line, after a chunk of the prompt
 * that succeeded, and with -W immediately as a warning. rawget reads without a report. */
#include "shell/shell.h"

#include <lauxlib.h>
#include <string.h>

#include "bindings/bind.h"

#define SEEN "gpush.unset" /* registry: line and name -> true */
#define PENDING                                                                                    \
    "gpush.unset_pending" /* messages since the chunk of the prompt began; nil: warn immediately   \
                           */

/* Pushes "FILE:LINE: the global 'name' is nil", with a suggestion. name is at index 2. */
static void push_message(lua_State *L, const lua_Debug *ar) {
    int top = lua_gettop(L);
    const char *name = lua_tostring(L, 2);
    lua_pushfstring(L, "%s:%d: the global '%s' is nil", ar->short_src, ar->currentline, name);
    gp_shell_push_module(L);
    lua_getfield(L, -1, "unset");
    lua_pushvalue(L, 2);
    if (lua_pcall(L, 1, 1, 0) != LUA_OK || lua_type(L, -1) != LUA_TSTRING)
        return lua_settop(L, top + 1);
    lua_replace(L, -2);
    lua_pushliteral(L, "; ");
    lua_insert(L, -2);
    lua_concat(L, 3);
}

/* Whether the message on top of the stack is new. */
static bool is_new(lua_State *L) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, SEEN);
    lua_pushvalue(L, -2);
    bool known = lua_rawget(L, -2) != LUA_TNIL;
    lua_pop(L, 1);
    if (!known) lua_pushvalue(L, -2), lua_pushboolean(L, 1), lua_rawset(L, -3);
    lua_pop(L, 1);
    return !known;
}

/* __index of _G: nil. Reads by C, by gpush's own Lua and by other keys than names are not
 * reported. */
static int l_unset(lua_State *L) {
    lua_Debug ar;
    lua_settop(L, 2);
    bool users = lua_type(L, 2) == LUA_TSTRING && lua_getstack(L, 1, &ar) &&
                 lua_getinfo(L, "Sl", &ar) && ar.currentline > 0 && !gp_lua_ours(ar.source);
    if (!users) return lua_pushnil(L), 1;
    luaL_checkstack(L, 10, "globals");
    push_message(L, &ar);
    if (!is_new(L)) return lua_pushnil(L), 1;
    bool typed = !strncmp(ar.source, "=stdin", 6);
    if (lua_getfield(L, LUA_REGISTRYINDEX, PENDING) == LUA_TTABLE && typed) {
        lua_insert(L, -2);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    } else {
        lua_warning(L, lua_tostring(L, -2), 0);
    }
    return lua_pushnil(L), 1;
}

void gp_shell_watch_globals(lua_State *L) {
    lua_pushglobaltable(L);
    if (!lua_getmetatable(L, -1)) { /* the user's own metatable stays */
        lua_createtable(L, 0, 1);
        lua_pushcfunction(L, l_unset);
        lua_setfield(L, -2, "__index");
        lua_setmetatable(L, -2);
        lua_pop(L, 1);
        return;
    }
    lua_pop(L, 2);
}

void gp_shell_globals_begin(lua_State *L) {
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, PENDING);
}

void gp_shell_globals_end(lua_State *L, bool show) {
    if (lua_getfield(L, LUA_REGISTRYINDEX, PENDING) == LUA_TTABLE)
        for (int i = 1; show && i <= (int)lua_rawlen(L, -1); i++) {
            lua_rawgeti(L, -1, i);
            gp_shell_message(lua_tostring(L, -1));
            lua_pop(L, 1);
        }
    lua_pop(L, 1);
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, PENDING);
}
