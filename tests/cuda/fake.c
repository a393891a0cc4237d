/* A Lua module for tests: injected faults of the stand-in for CUDA, and its counts
 * (tests/fake_cuda/include/fake_cuda.h). */
#include <lauxlib.h>
#include <lua.h>

#include "fake_cuda.h"

/* fake.fault "oom=1 late=2:50" */
static int l_fault(lua_State *L) {
    if (fakeFault(luaL_checkstring(L, 1)))
        return luaL_error(L, "fake.fault: %s", lua_tostring(L, 1));
    return 0;
}

/* fake.count "malloc" */
static int l_count(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)fakeCount(luaL_checkstring(L, 1)));
    return 1;
}

__attribute__((visibility("default"))) int luaopen_fake(lua_State *L) {
    static const luaL_Reg functions[] = {{"fault", l_fault}, {"count", l_count}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
