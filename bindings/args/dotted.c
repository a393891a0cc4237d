/* Errors of a method's arguments, which may have been called with a dot: opt.step() for
 * opt:step(). */
#include "bindings/bind.h"

#include <string.h>

#include "tensor/base/error.h"

/* Pushes what scripts/lua/dotted.lua returns for the calls at levels first to last, message and
 * place, and returns the message; NULL pushes nothing. Failures in it are ignored. */
static const char *push_dotted(lua_State *L, int first, int last) {
    int top = lua_gettop(L);
    if (!lua_checkstack(L, LUA_MINSTACK)) return NULL;
    if (lua_getfield(L, LUA_REGISTRYINDEX, "gpush.dotted") == LUA_TFUNCTION) {
        lua_pushinteger(L, first);
        lua_pushinteger(L, last);
        if (lua_pcall(L, 2, 2, 0) == LUA_OK && lua_isstring(L, -2)) return lua_tostring(L, -2);
    }
    lua_settop(L, top);
    return NULL;
}

int gp_lua_raise_argument(lua_State *L) {
    lua_Debug ar;
    if (lua_getstack(L, 0, &ar) && lua_getinfo(L, "n", &ar) && *ar.namewhat &&
        strchr("fm", *ar.namewhat)) {
        /* What it examines may be a tensor's, whose own errors would replace the message. */
        const char *own = lua_pushstring(L, gp_error()), *message = push_dotted(L, 2, 2);
        gp_fail("%s", message ? message : own);
    }
    return gp_lua_raise(L);
}

void *gp_lua_checkudata(lua_State *L, int arg, const char *type) {
    void *data = luaL_testudata(L, arg, type);
    const char *message = data ? NULL : push_dotted(L, 2, 2);
    if (message) gp_fail("%s", message), gp_lua_raise(L);
    return data ? data : luaL_checkudata(L, arg, type);
}

bool gp_lua_replace_dotted(lua_State *L) {
    enum { CALLS = 40 }; /* calls that are examined */
    int top = lua_gettop(L);
    if (!push_dotted(L, 3, CALLS)) return false;
    lua_insert(L, -2);
    lua_concat(L, 2);
    lua_replace(L, top);
    return true;
}
