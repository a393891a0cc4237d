/* What stands in place of the parts that a build leaves out (cmake/parts.cmake): each function that
 * a script would find there raises one line, which names the option that brings it. */
#include "bindings/api/profile/profile.h"
#include "bindings/bind.h"
#include "bindings/module.h"

#define UNUSED __attribute__((unused)) /* where nothing is left out, or little */

static int l_missing(lua_State *L) {
    gp_fail("%s is left out of this build: CMake's option %s=ON brings it",
            lua_tostring(L, lua_upvalueindex(1)), lua_tostring(L, lua_upvalueindex(2)));
    return gp_lua_raise(L);
}

/* Sets the field `key` of the table at idx to a function that says that `what` is missing. */
UNUSED static void leave_out(lua_State *L, int idx, const char *key, const char *what,
                             const char *option) {
    idx = lua_absindex(L, idx);
    lua_pushstring(L, what);
    lua_pushstring(L, option);
    lua_pushcclosure(L, l_missing, 2);
    lua_setfield(L, idx, key);
}

/* The same for every function of the registry's table `name`. */
UNUSED static void leave_out_table(lua_State *L, const char *name, const char *what,
                                   const char *option) {
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    leave_out(L, -1, "__index", what, option);
    lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, name);
}

#ifdef GP_WITHOUT_ANALYSIS
void gp_lua_set_load(lua_State *L) { leave_out(L, -1, "load", "profile.load", "GPUSH_ANALYSIS"); }
void gp_lua_set_save(lua_State *L) { leave_out(L, -1, "save", "profile.save", "GPUSH_ANALYSIS"); }
void gp_lua_set_whatif(lua_State *L) {
    leave_out(L, -1, "whatif", "profile.whatif", "GPUSH_ANALYSIS");
    leave_out(L, -1, "on", "profile.on", "GPUSH_ANALYSIS");
}
void gp_lua_set_replay(lua_State *L) {
    leave_out_table(L, "gpush.replay", "the analysis of profiles", "GPUSH_ANALYSIS");
}
void gp_lua_set_columns(lua_State *L) {
    leave_out(L, LUA_REGISTRYINDEX, "gpush.record_columns", "profile.report", "GPUSH_ANALYSIS");
    leave_out(L, LUA_REGISTRYINDEX, "gpush.trim", "profile.report", "GPUSH_ANALYSIS");
}
#endif

#ifdef GP_WITHOUT_CAPTURE
static int l_false(lua_State *L) { return lua_pushboolean(L, false), 1; }

void gp_lua_open_fuse(lua_State *L) {
    leave_out(L, LUA_REGISTRYINDEX, "gpush.fuse", "fuse", "GPUSH_CAPTURE");
    leave_out(L, -1, "fuse_compile", "fuse_compile", "GPUSH_CAPTURE");
}
void gp_lua_open_simt(lua_State *L) {
    leave_out_table(L, "gpush.simt", "cuda.kernel", "GPUSH_CAPTURE");
}
/* Optimizers and schedules ask whether a function is being captured. */
void gp_lua_open_capture(lua_State *L) {
    leave_out(L, LUA_REGISTRYINDEX, "gpush.capture", "capture", "GPUSH_CAPTURE");
    lua_pushcfunction(L, l_false);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.capture.running");
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.capture.number");
}
#endif

#ifdef GP_WITHOUT_DIST
void gp_lua_open_dist(lua_State *L) { leave_out_table(L, "gpush.dist", "dist", "GPUSH_DIST"); }
#endif
