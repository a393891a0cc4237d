/* What the functions that fuse and capture run once depend on besides tensors. */
#include "bindings/guard.h"

#include <string.h>

#include "bindings/bind.h"
#include "tensor/autocast.h"
#include "tensor/base/intern.h"

/* ---- arguments ---- */

/* A number as its bits: NaN is as itself, 0 is not as -0. */
static int64_t number_bits(lua_State *L, int i) {
    double f = lua_tonumber(L, i);
    int64_t bits;
    memcpy(&bits, &f, sizeof bits);
    return lua_isinteger(L, i) ? lua_tointeger(L, i) : bits;
}

bool gp_guard_is_key(lua_State *L, int i, const gp_guard_key *k) {
    if (lua_type(L, i) != k->type) return false;
    if (k->type == LUA_TNUMBER)
        return lua_isinteger(L, i) == k->integer && number_bits(L, i) == k->i;
    if (k->type == LUA_TBOOLEAN) return lua_toboolean(L, i) == k->i;
    return k->type != LUA_TSTRING || !strcmp(lua_tostring(L, i), k->s);
}

void gp_guard_set_key(lua_State *L, const char *kind, int i, gp_guard_key *k) {
    int type = lua_type(L, i);
    *k = (gp_guard_key){.type = (uint8_t)type, .same = -1};
    if (gp_lua_totensor(L, i)) return;
    if (type == LUA_TNUMBER) {
        k->integer = lua_isinteger(L, i);
        k->i = number_bits(L, i);
    } else if (type == LUA_TBOOLEAN) {
        k->i = lua_toboolean(L, i);
    } else if (type == LUA_TSTRING) {
        if (!(k->s = gp_intern_text(lua_tostring(L, i)))) luaL_error(L, "out of memory");
    } else if (type != LUA_TNIL) {
        luaL_error(L,
                   "a %s function: argument #%d: expected a tensor, a number, a string, a "
                   "boolean or nil, got %s: read its fields before the call, or let the function "
                   "use it as an upvalue",
                   kind, i, gp_lua_type_text(L, i));
    }
}

int gp_guard_autocast(void) {
    const gp_autocast *s = gp_autocast_on() ? gp_autocast_current() : NULL;
    return s && s->enabled ? s->dtype : -1;
}

/* ---- guards ---- */

int gp_guard_collect(lua_State *L, int collect, int fn) {
    lua_pushvalue(L, collect);
    lua_pushvalue(L, fn);
    lua_call(L, 1, 2);
    int n = (int)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return n;
}

int gp_guard_changed(lua_State *L, int n) {
    int list = lua_gettop(L);
    for (int i = 0; i < n; i++) {
        if (lua_rawgeti(L, list, 3 * i + 1) == LUA_TTABLE) {
            lua_rawgeti(L, list, 3 * i + 2);
            lua_rawget(L, -2);
        } else {
            lua_rawgeti(L, list, 3 * i + 2);
            int up = (int)lua_tointeger(L, -1);
            lua_pop(L, 1);
            if (!lua_getupvalue(L, -1, up)) lua_pushnil(L);
        }
        lua_rawgeti(L, list, 3 * i + 3);
        gp_tensor *was = gp_lua_totensor(L, -2), *is = gp_lua_totensor(L, -1);
        bool same = was || is ? was == is : lua_rawequal(L, -1, -2);
        lua_settop(L, list);
        if (!same) return i + 1;
    }
    return 0;
}

void gp_guard_push_name(lua_State *L, int list, int i) {
    bool field = lua_rawgeti(L, list, 3 * i - 2) == LUA_TTABLE;
    lua_rawgeti(L, list, 3 * i - 1);
    if (field) {
        luaL_tolstring(L, -1, NULL);
    } else {
        const char *name = lua_getupvalue(L, -2, (int)lua_tointeger(L, -1));
        lua_pushstring(L, name && *name ? name : "?");
    }
    lua_replace(L, list);
    lua_settop(L, list);
}

int gp_guard_call(lua_State *L) {
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}
