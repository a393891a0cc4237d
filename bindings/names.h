/* Values that every Lua state with gpush has, by name: libraries, ops, modules loaded by
 * require. */
#ifndef GP_NAMES_H
#define GP_NAMES_H

#include <lua.h>

/* Pushes a table: value -> its name, for what L has of such values. */
void gp_lua_push_names(lua_State *L);
/* Pushes the value that L has under the name, loading its module on demand. May raise. */
void gp_lua_push_named(lua_State *L, const char *name);

#endif
