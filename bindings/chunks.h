/* The Lua files that ship: read once per process, however many states open gpush, and run once per
 * state by a `require` of their own; the scripts' require and package.loaded do not know them. */
#ifndef GP_CHUNKS_H
#define GP_CHUNKS_H

#include <lua.h>

/* Registry key of the table name -> what the file, or C, gave as that name. */
#define GP_LUA_LOADED "gpush.loaded"

/* Pushes the function of a file, as luaL_loadfilex does, or raises. */
void gp_chunk_push(lua_State *L, const char *path);
/* Pushes what the file of that name returns, true for nothing: "nn.utils" is nn/utils.lua below
 * gp_scripts_dir(), "help" is help/init.lua. Runs it at the first call, with the function that does
 * this as its argument. Raises what it raises, and then runs it again at the next call. */
void gp_lua_require(lua_State *L, const char *name);
/* The same as a function of Lua, require(name). */
int gp_l_require(lua_State *L);
/* Keeps what L has loaded as bytecode: from here on other states need not read these files. Called
 * before workers are started; programs without workers do not pay for it. */
void gp_chunks_keep(lua_State *L);

#endif
