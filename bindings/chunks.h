/* The Lua files that ship, as functions: read once per process, however many states open gpush. */
#ifndef GP_CHUNKS_H
#define GP_CHUNKS_H

#include <lua.h>

/* Pushes the function of a file, as luaL_loadfilex does, or raises. */
void gp_chunk_push(lua_State *L, const char *path);
/* Keeps what L has loaded as bytecode: from here on other states need not read these files. Called
 * before workers are started; programs without workers do not pay for it. */
void gp_chunks_keep(lua_State *L);

#endif
