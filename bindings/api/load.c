/* Profiles as files in Lua: prof:save(file) and profile.load(file). */
#include "bindings/bind.h"
#include "bindings/profile.h"
#include "profile/load/load.h"

/* prof:save(file) */
static int l_save(lua_State *L) {
    const gp_prof *p = gp_lua_check_prof(L, 1);
    return gp_prof_save(p, luaL_checkstring(L, 2)) ? 0 : gp_lua_raise(L);
}

/* profile.load(file, {max_bytes = 2^30}) -> profile */
static int l_load(lua_State *L) {
    const char *file = luaL_checkstring(L, 1);
    lua_Integer max = luaL_optinteger(L, 2, GP_LOAD_BYTES);
    if (max < 1)
        return luaL_error(L, "profile.load: max_bytes: expected a number of bytes, got %I",
                          (LUAI_UACINT)max);
    gp_prof **box = gp_lua_push_prof(L);
    gp_lua_enter(L);
    *box = gp_prof_load(file, (uint64_t)max);
    return *box ? 1 : gp_lua_raise(L);
}

void gp_lua_set_load(lua_State *L) {
    static const gp_lua_function functions[] = {
        {"profile.load", "text file, int? max_bytes", l_load}, {NULL, NULL, NULL}};
    gp_lua_set_functions(L, functions);
}

void gp_lua_set_save(lua_State *L) {
    static const gp_lua_function methods[] = {{"profile.save", "self profile, text file", l_save},
                                              {NULL, NULL, NULL}};
    gp_lua_set_functions(L, methods);
}
