/* Counts the instructions of Lua where the host's time is counted (sim.host). */
#ifndef GP_COUNTER_H
#define GP_COUNTER_H

#include <lua.h>

/* Sets on L the hook that it has where nothing else needs one: the counter's while the host's time
 * is counted, else none. For what removes a hook of its own. */
void gp_counter_rest(lua_State *L);
/* The same where L has no hook but the counter's. For where L begins to run. */
void gp_counter_follow(lua_State *L);
/* The same for all states that run on this thread; L is the innermost. From when it counts first,
 * debug.sethook sets the counter's hook again, and io.open and io.lines count the files that they
 * open. May raise. For where counting begins or ends: a state that does not run follows when it is
 * resumed, in a host of Lua that resumes coroutines itself one that is made later. */
void gp_counter_change(lua_State *L);

#endif
