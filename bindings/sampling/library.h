/* Counts what functions of Lua's libraries take where the host's time is counted (sim.host). */
#ifndef GP_LIBRARY_H
#define GP_LIBRARY_H

#include <lua.h>
#include <stdint.h>

/* Finds the functions that count, in L's globals. Once for each state; may raise. */
void gp_library_find(lua_State *L);
/* The host's time of the function for which a hook runs, when it is called and again when it
 * returns, in ns: 0 for all others. */
uint64_t gp_library_time(lua_State *L, lua_Debug *ar);

#endif
