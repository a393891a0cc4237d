/* Tensor syntax in a Lua state: the helpers that rewritten text calls, and loading that passes
 * every chunk through the rewrite. */
#ifndef GP_LUA_SYNTAX_H
#define GP_LUA_SYNTAX_H

#include <lua.h>
#include <stddef.h>

/*
 * Makes L, whose standard libraries are open, a state with tensor syntax: defines the helpers, and
 * replaces load, loadfile, dofile and the searcher of Lua modules by ones that rewrite. May
 * raise. */
void gp_syntax_install(lua_State *L);

/* Makes L a state without it (--plain): gp_syntax_load and the searcher of modules load text as it
 * is. May raise. */
void gp_syntax_plain(lua_State *L);

/* As luaL_loadbufferx, for text that is rewritten first; a binary chunk is loaded as mode allows.
 * Returns Lua's status. */
int gp_syntax_load(lua_State *L, const char *text, size_t len, const char *chunkname,
                   const char *mode);

/* As luaL_loadfilex (NULL is standard input), rewriting. */
int gp_syntax_loadfile(lua_State *L, const char *filename, const char *mode);

/* Defines the helpers of rewrite.h in L; part of gp_syntax_install. */
void gp_syntax_helpers(lua_State *L);

#endif
