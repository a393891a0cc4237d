/* Profiles as files in Lua: prof:save(file) and profile.load(file). */
#include <stdlib.h>

#include "bindings/bind.h"
#include "bindings/api/profile/profile.h"
#include "profile/load/load.h"

enum { FILES = 4096 }; /* at a time */

/* prof:save(file) */
static int l_save(lua_State *L) {
    const gp_prof *p = gp_lua_check_prof(L, 1);
    return gp_prof_save(p, luaL_checkstring(L, 2)) ? 0 : gp_lua_raise(L);
}

/* The files' names at 1, a text or a list of texts, *n of them; Lua owns the list. */
static const char *const *check_files(lua_State *L, int *n) {
    bool list = lua_istable(L, 1);
    lua_Integer all = list ? luaL_len(L, 1) : 1;
    if (!list && lua_type(L, 1) != LUA_TSTRING)
        luaL_error(L, "profile.load: file: expected a name or a list of names, got %s",
                   luaL_typename(L, 1));
    if (all < 1 || all > FILES)
        luaL_error(L, "profile.load: file: expected 1 to %d names, got %I", FILES,
                   (LUAI_UACINT)all);
    const char ***box = gp_lua_push_block(L);
    const char **files = *box = malloc((size_t)all * sizeof *files);
    if (!files) return gp_fail("profile.load: out of memory"), gp_lua_raise(L), NULL;
    *n = (int)all;
    for (int i = 0; i < *n; i++) {
        if (list && lua_geti(L, 1, i + 1) != LUA_TSTRING)
            luaL_error(L, "profile.load: file[%d]: expected a name, got %s", i + 1,
                       luaL_typename(L, -1));
        files[i] = lua_tostring(L, list ? -1 : 1); /* which the list keeps */
        if (list) lua_pop(L, 1);
    }
    return files;
}

/* profile.load(file, or a list of them, {max_bytes = 2^30}) -> profile */
static int l_load(lua_State *L) {
    int n = 0;
    lua_Integer max = luaL_optinteger(L, 2, GP_LOAD_BYTES);
    const char *const *files = check_files(L, &n);
    if (max < 1)
        return luaL_error(L, "profile.load: max_bytes: expected a number of bytes, got %I",
                          (LUAI_UACINT)max);
    gp_prof **box = gp_lua_push_prof(L);
    gp_lua_enter(L);
    *box = gp_prof_load(files, n, (uint64_t)max);
    return *box ? 1 : gp_lua_raise(L);
}

void gp_lua_set_load(lua_State *L) {
    static const gp_lua_function functions[] = {
        {"profile.load", "any file, int? max_bytes", l_load}, {NULL, NULL, NULL}};
    gp_lua_set_functions(L, functions);
}

void gp_lua_set_save(lua_State *L) {
    static const gp_lua_function methods[] = {{"profile.save", "self profile, text file", l_save},
                                              {NULL, NULL, NULL}};
    gp_lua_set_functions(L, methods);
}
