/* Names of values that every Lua state has: see names.h. A name is a module and the fields that
 * lead to the value, separated by a byte that replaces zero. */
#include "bindings/names.h"

#include <string.h>

#include "bindings/bind.h"

#define BETWEEN "\1"
#define METHODS "\2methods"

/* Names the value on top, unless it has a name. */
static void set_name(lua_State *L, int names, const char *name) {
    lua_pushvalue(L, -1);
    bool known = lua_rawget(L, names) != LUA_TNIL;
    lua_pop(L, 1);
    if (known) return;
    lua_pushvalue(L, -1);
    lua_pushstring(L, name);
    lua_rawset(L, names);
}

/* Names the values in the table on top that cannot be serialized, those of the table that it
 * looks into (guarded, in scripts/lua/init.lua), and its tables down to depth. */
static void name_fields(lua_State *L, int names, const char *prefix, int depth) {
    int t = lua_gettop(L);
    luaL_checkstack(L, 8, "names");
    for (lua_pushnil(L); lua_next(L, t); lua_settop(L, t + 1)) {
        int type = lua_type(L, -1);
        if (lua_type(L, -2) != LUA_TSTRING || gp_lua_totensor(L, -1)) continue;
        if (type != LUA_TFUNCTION && type != LUA_TUSERDATA && (type != LUA_TTABLE || depth == 0))
            continue;
        const char *name = lua_pushfstring(L, "%s" BETWEEN "%s", prefix, lua_tostring(L, -2 - 0));
        lua_pushvalue(L, t + 2);
        set_name(L, names, name);
        if (type == LUA_TTABLE) name_fields(L, names, name, depth - 1);
    }
    int index = depth > 0 ? luaL_getmetafield(L, t, "__index") : LUA_TNIL;
    if (index == LUA_TTABLE) name_fields(L, names, prefix, depth - 1);
    lua_settop(L, t);
}

static bool is_one_of(const char *name, const char *const *list) {
    while (*list && strcmp(*list, name)) list++;
    return *list != NULL;
}

void gp_lua_push_names(lua_State *L) {
    static const char *const libraries[] = {"string",    "table", "math",  "io",      "os",
                                            "coroutine", "utf8",  "debug", "package", NULL};
    lua_newtable(L);
    int names = lua_gettop(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    for (lua_pushnil(L); lua_next(L, names + 1); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || !lua_istable(L, -1)) continue;
        const char *name = lua_tostring(L, -2);
        set_name(L, names, name);
        if (!strcmp(name, "gpush")) name_fields(L, names, name, 2);
        else if (is_one_of(name, libraries)) name_fields(L, names, name, 0);
    }
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    name_fields(L, names, METHODS, 0);
    static const char *const base[] = {"require", "load", "loadfile", "dofile", NULL};
    for (int i = 0; base[i]; i++) {
        lua_pushfstring(L, LUA_GNAME BETWEEN "%s", base[i]);
        const char *name = lua_tostring(L, -1);
        if (lua_getglobal(L, base[i]) == LUA_TFUNCTION) set_name(L, names, name);
        lua_pop(L, 2);
    }
    lua_settop(L, names);
}

void gp_lua_push_named(lua_State *L, const char *name) {
    size_t n = strcspn(name, BETWEEN);
    if (!strncmp(name, METHODS, n)) {
        lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    } else {
        luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
        lua_pushlstring(L, name, n);
        if (lua_rawget(L, -2) == LUA_TNIL) {
            lua_getglobal(L, "require");
            lua_pushlstring(L, name, n);
            lua_call(L, 1, 1);
            lua_replace(L, -2);
        }
        lua_remove(L, -2);
    }
    while (name[n]) {
        name += n + 1;
        n = strcspn(name, BETWEEN);
        lua_pushlstring(L, name, n);
        lua_gettable(L, -2);
        lua_remove(L, -2);
    }
}
