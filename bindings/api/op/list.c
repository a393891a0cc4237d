/* The lists that gpush returns, of dims and of tensors: plain tables that also accept negative
 * indices and tensors of one element, and raise for missing ones. In tensor syntax `n, d = x.shape`
 * unpacks one (rewrite/truth.c). */
#include "bindings/bind.h"

static const char dims_key; /* addresses: registry keys of the metatables */
static const char tensors_key;

/* Whether C code asks: Lua's library (ipairs, table.unpack) and C programs read up to the first
 * nil. */
static bool asked_by_c(lua_State *L) {
    lua_Debug ar;
    return !lua_getstack(L, 1, &ar) || !lua_getinfo(L, "S", &ar) || *ar.what == 'C';
}

static int out_of_range(lua_State *L, lua_Integer i, lua_Integer n) {
    if (i == 0)
        return luaL_error(L, "a list has no index 0: it counts from 1, so [1] is the first");
    if (n == 0) return luaL_error(L, "index %I is out of range for an empty list", (LUAI_UACINT)i);
    return luaL_error(
        L, "index %I is out of range for a list of %I (expected 1 to %I, or -%I to -1)",
        (LUAI_UACINT)i, (LUAI_UACINT)n, (LUAI_UACINT)n, (LUAI_UACINT)n, (LUAI_UACINT)n);
}

/* __index: the key at 2 is not in the list at 1. A tensor of one element gives its number, as in
 * x[t]. */
static int l_list_index(lua_State *L) {
    int is_integer;
    luaL_checktype(L, 1, LUA_TTABLE);
    if (gp_lua_totensor(L, 2)) gp_lua_item(L, 2, GP_WHY_index, "index"), lua_replace(L, 2);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 1), i = lua_tointegerx(L, 2, &is_integer);
    is_integer = is_integer && lua_type(L, 2) == LUA_TNUMBER;
    if (is_integer && i < 0 && i >= -n) i += n + 1;
    if (is_integer && i > 0 && i <= n) return lua_rawgeti(L, 1, i), 1;
    if (asked_by_c(L)) return 0;
    if (is_integer) return out_of_range(L, i, n);
    return luaL_error(L, "a list of %I has no field '%s' (table.unpack gives its parts one by one)",
                      (LUAI_UACINT)n, luaL_tolstring(L, 2, NULL));
}

/* Reached where one of the two is a list of dims; the other may be any table. */
static int l_dims_eq(lua_State *L) {
    bool same = lua_istable(L, 1) && lua_istable(L, 2) && lua_rawlen(L, 1) == lua_rawlen(L, 2);
    for (lua_Unsigned i = 1; same && i <= lua_rawlen(L, 1); i++) {
        lua_rawgeti(L, 1, (lua_Integer)i);
        lua_rawgeti(L, 2, (lua_Integer)i);
        same = lua_rawequal(L, -2, -1);
        lua_pop(L, 2);
    }
    lua_pushboolean(L, same);
    return 1;
}

static int l_dims_tostring(lua_State *L) {
    luaL_Buffer b;
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_buffinit(L, &b);
    luaL_addchar(&b, '{');
    for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, 1); i++) {
        if (i > 1) luaL_addstring(&b, ", ");
        lua_rawgeti(L, 1, i);
        luaL_tolstring(L, -1, NULL);
        lua_remove(L, -2);
        luaL_addvalue(&b);
    }
    luaL_addchar(&b, '}');
    luaL_pushresult(&b);
    return 1;
}

static int l_dims_concat(lua_State *L) {
    luaL_tolstring(L, 1, NULL);
    luaL_tolstring(L, 2, NULL);
    lua_concat(L, 2);
    return 1;
}

/* Makes a metatable with these functions, under its key in the registry. */
static void open_list(lua_State *L, const luaL_Reg *more, const char *key) {
    lua_createtable(L, 0, 8);
    luaL_setfuncs(L, more, 0);
    lua_pushcfunction(L, l_list_index);
    lua_setfield(L, -2, "__index");
    lua_rawsetp(L, LUA_REGISTRYINDEX, key);
}

void gp_lua_open_lists(lua_State *L) {
    static const luaL_Reg dims[] = {{"__eq", l_dims_eq},
                                    {"__tostring", l_dims_tostring},
                                    {"__concat", l_dims_concat},
                                    {NULL, NULL}};
    open_list(L, dims, &dims_key);
    open_list(L, dims + 3, &tensors_key);
}

int gp_lua_push_dims(lua_State *L, const int64_t *v, int n) {
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) lua_pushinteger(L, v[i]), lua_rawseti(L, -2, i + 1);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &dims_key);
    lua_setmetatable(L, -2);
    return 1;
}

void gp_lua_make_list(lua_State *L) {
    if (!lua_istable(L, -1)) return;
    lua_rawgeti(L, -1, 1);
    bool tensors = gp_lua_totensor(L, -1) != NULL;
    lua_pop(L, 1);
    if (!tensors) return;
    if (lua_getmetatable(L, -1)) {
        lua_pop(L, 1);
        return;
    }
    lua_rawgetp(L, LUA_REGISTRYINDEX, &tensors_key);
    lua_setmetatable(L, -2);
}

bool gp_lua_is_list(lua_State *L, int i) {
    if (!lua_istable(L, i) || luaL_getmetafield(L, i, "__index") == LUA_TNIL) return false;
    bool list =
        lua_tocfunction(L, -1) == l_list_index; /* also in a worker, whose metatables are copies */
    lua_pop(L, 1);
    return list;
}
