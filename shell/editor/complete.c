/* Completion: passes the text to scripts/lua/shell/complete.lua, and provides what only C knows. */
#include "shell/shell.h"

#include "bindings/bind.h"
#include "shell/editor/choices.h"

#include <dirent.h>
#include <lauxlib.h>
#include <string.h>
#include <sys/stat.h>

/* op(f): signature and help of the op that f, a function or a class, runs; nothing for other
 * values. */
static int l_op(lua_State *L) {
    const gp_op *op = gp_lua_op_of(L, 1);
    if (!op && lua_istable(L, 1) && luaL_getmetafield(L, 1, "__call") == LUA_TFUNCTION) {
        int call = lua_gettop(L);
        for (int i = 1; !op && lua_getupvalue(L, call, i); i++) op = gp_lua_composite(L, -1);
    }
    if (!op) return 0;
    lua_pushstring(L, op->sig);
    lua_pushstring(L, op->help);
    return 2;
}

static int l_methods(lua_State *L) {
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    return 1;
}

static int l_method(lua_State *L) {
    l_methods(L);
    lua_pushvalue(L, 1);
    lua_rawget(L, -2);
    return 1;
}

/* The table whose keys are the properties of tensors: an upvalue of their __index. */
static int l_properties(lua_State *L) {
    luaL_getmetatable(L, GP_LUA_META);
    lua_getfield(L, -1, "__index");
    if (!lua_getupvalue(L, -1, 2)) lua_newtable(L);
    return 1;
}

/* list(folder): the names in it, those of folders with a trailing slash. */
static int l_list(lua_State *L) {
    const char *folder = luaL_checkstring(L, 1);
    char path[4096];
    lua_newtable(L);
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && n < 10000 && (e = readdir(d));) {
        struct stat st;
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        bool is_folder =
            e->d_type == DT_DIR || (e->d_type != DT_REG && !stat(path, &st) && S_ISDIR(st.st_mode));
        lua_pushfstring(L, is_folder ? "%s/" : "%s", e->d_name);
        lua_rawseti(L, -2, ++n);
    }
    if (d) closedir(d);
    return 1;
}

void gp_complete_open(lua_State *L) {
    static const luaL_Reg fns[] = {{"op", l_op},         {"methods", l_methods},
                                   {"list", l_list},     {"properties", l_properties},
                                   {"method", l_method}, {NULL, NULL}};
    luaL_setfuncs(L, fns, 0);
}

/* (text before the cursor, gp_choices *): fills in the choices. */
static int l_suggest(lua_State *L) {
    gp_choices *out = lua_touserdata(L, 2);
    gp_shell_push_module(L);
    lua_getfield(L, -1, "complete");
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    if (!lua_istable(L, -1)) return 0;
    int list = lua_gettop(L);
    lua_getfield(L, list, "from");
    out->from = (size_t)lua_tointeger(L, -1) - 1;
    for (int i = 1; lua_rawgeti(L, list, i) == LUA_TSTRING; i++) {
        gp_choices_add(out, lua_tostring(L, -1));
        lua_settop(L, list);
    }
    gp_choices_sort(out);
    for (int i = 0; i < out->n && i < GP_CHOICES_LISTED; i++) {
        lua_getfield(L, list, "help");
        lua_pushstring(L, out->choice[i].text);
        lua_call(L, 1, 1);
        if (lua_isstring(L, -1)) gp_choices_explain(out, i, lua_tostring(L, -1));
        lua_settop(L, list);
    }
    return 0;
}

void gp_complete(void *ctx, const char *text, size_t cursor, gp_choices *out) {
    lua_State *L = ctx;
    lua_pushcfunction(L, l_suggest);
    lua_pushlstring(L, text, cursor);
    lua_pushlightuserdata(L, out);
    if (lua_pcall(L, 2, 0, 0) != LUA_OK) lua_pop(L, 1); /* none, or without help */
}
