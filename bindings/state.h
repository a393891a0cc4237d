/* Lua states with the libraries and gpush in them. */
#ifndef GP_STATE_H
#define GP_STATE_H

#include <lua.h>

/* Stock: what another host opens gpush in. The shell's have the module's fields as globals, tensor
 * syntax unless plain, and can be stopped. */
typedef enum gp_lua_kind { GP_LUA_STOCK, GP_LUA_PLAIN, GP_LUA_SYNTAX } gp_lua_kind;

/* Opens the standard libraries and gpush in a new L. May raise. */
void gp_lua_open_state(lua_State *L, gp_lua_kind kind);
/* How L was opened. */
gp_lua_kind gp_lua_state_kind(lua_State *L);

#endif
