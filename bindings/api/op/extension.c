/* Libraries that add ops at run time (include/gpush/op.h): their ops become functions of the module
 * and methods, as those that gpush has, and globals of the shell where it has none of that name. */
#include "tensor/ops/extension/extension.h"

#include "bindings/bind.h"
#include "bindings/chunks.h"
#include "bindings/module.h"

/* ---- names ---- */

/* Whether Lua has the name: a word of the language, a function of its library, or a module. */
static bool is_luas(lua_State *L, const char *name) {
    lua_pushfstring(L, "local %s", name);
    if (luaL_loadstring(L, lua_tostring(L, -1)) != LUA_OK) return true;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, GP_LUA_LOADED);
    lua_pushstring(L, name);
    if (lua_rawget(L, -2) != LUA_TNIL) return true;
    lua_pushglobaltable(L);
    lua_pushstring(L, name);
    lua_rawget(L, -2);
    return lua_iscfunction(L, -1);
}

/* Whether tensors have a field of that name, as x.shape. */
static bool is_field(lua_State *L, const char *name) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &gp_box_tag); /* the metatable of tensors */
    lua_getfield(L, -1, "__index");
    lua_getupvalue(L, -1, 2); /* its properties */
    lua_pushstring(L, name);
    return lua_rawget(L, -2) != LUA_TNIL;
}

/* (name): whether a function, a method or a field of that name is there. */
static int l_taken(lua_State *L) {
    const char *name = lua_touserdata(L, 1);
    luaL_checkstack(L, 20, "extend");
    if (is_luas(L, name) || is_field(L, name)) return lua_pushboolean(L, true), 1;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, GP_LUA_LOADED);
    lua_getfield(L, -1, "gpush");
    lua_pushstring(L, name);
    bool taken = lua_rawget(L, -2) != LUA_TNIL;
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    lua_pushstring(L, name);
    taken |= lua_rawget(L, -2) != LUA_TNIL;
    return lua_pushboolean(L, taken), 1;
}

/* Protected, as a lock is held; without memory nothing is added. */
static bool taken(void *ctx, const char *name) {
    lua_State *L = ctx;
    lua_pushcfunction(L, l_taken);
    lua_pushlightuserdata(L, (void *)name);
    bool found = lua_pcall(L, 1, 1, 0) != LUA_OK || lua_toboolean(L, -1);
    lua_pop(L, 1);
    return found;
}

/* ---- loading ---- */

/* Sets the global of that name to the function on top, in the shell, unless there is one. */
static void set_global(lua_State *L, const char *name) {
    if (gp_lua_state_kind(L) == GP_LUA_STOCK) return;
    lua_pushglobaltable(L);
    lua_pushstring(L, name);
    bool free = lua_rawget(L, -2) == LUA_TNIL;
    lua_pop(L, 1);
    if (free) {
        lua_pushstring(L, name);
        lua_pushvalue(L, -3);
        lua_rawset(L, -3);
    }
    lua_pop(L, 1);
}

/* (library): adds its ops, and returns {name = function, …}. */
static int l_extend(lua_State *L) {
    int n;
    luaL_checktype(L, 1, LUA_TLIGHTUSERDATA);
    lua_settop(L, 1);
    luaL_checkstack(L, 20, "extend");
    gp_lua_enter(L);
    const gp_extension *e = gp_extension_add(lua_touserdata(L, 1), taken, L, &n);
    if (!e) return gp_lua_raise(L);
    lua_pushlightuserdata(L, (void *)e); /* tells help that there are more ops than before */
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.added");
    luaL_getsubtable(L, LUA_REGISTRYINDEX, GP_LUA_LOADED);
    lua_getfield(L, -1, "gpush");
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    lua_createtable(L, 0, n);
    for (int i = 0; i < n; i++) {
        const char *name = e[i].op.name;
        lua_pushstring(L, name);
        if (lua_rawget(L, 3) == LUA_TNIL || gp_lua_op_of(L, -1) != &e[i].op)
            gp_lua_add_op(L, 3, 4, &e[i].op);
        lua_pop(L, 1);
        lua_pushstring(L, name);
        lua_rawget(L, 3);
        set_global(L, name);
        lua_setfield(L, 5, name);
    }
    return 1;
}

void gp_lua_open_extension(lua_State *L) {
    lua_pushcfunction(L, l_extend);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.extend");
}
