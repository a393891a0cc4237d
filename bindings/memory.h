/* Lua's memory: an allocator for the many small blocks that tensor programs make. */
#ifndef GP_LUA_MEMORY_H
#define GP_LUA_MEMORY_H

#include <lua.h>

/* A new Lua state, as luaL_newstate, whose blocks of up to 256 bytes come from lists by size. Close
 * it with gp_lua_closestate. NULL when out of memory. */
lua_State *gp_lua_newstate(void);
void gp_lua_closestate(lua_State *L);

#endif
