/* Stopping running Lua code from a signal handler. */
#ifndef GP_STOP_H
#define GP_STOP_H

#include <lua.h>
#include <stdbool.h>

/* Replaces coroutine.resume and coroutine.wrap of L by ones that track the running coroutine, and
 * coroutine.close by one that calls gp_stop_closing. */
void gp_stop_install(lua_State *L);
/* Called, unless NULL, when a coroutine of any state has failed that L resumed: its message is on
 * top of L's stack, its frames are still there, and where coroutine.wrap made it will be gone when
 * this returns. Raises nothing, and leaves the stack as it was. */
extern void (*gp_stop_failed)(lua_State *L, lua_State *co, bool wrapped);
/* Called so before L closes a coroutine that failed. */
extern void (*gp_stop_closing)(lua_State *L, lua_State *co);
/* Code of L runs on this thread between begin and end. */
void gp_stop_begin(lua_State *L);
void gp_stop_end(lua_State *L);
/* Raises "interrupted!" in what this thread runs. For signal handlers. */
void gp_stop_now(void);
/* For the handler of a signal that came in this context: whether the thread was in a function of
 * Lua's string library, which no hook ends, such as a search by a pattern; that raises the error
 * when the handler returns. */
bool gp_stop_leave_string(void *context);
/* For functions that return an opened value to a `local _ <close>`: a stop that comes before the
 * value is marked to be closed is raised one instruction later, so that it is closed. */
void gp_stop_after_next(void);
/* How many coroutines that co (a lua_State) resumed, each by the one before, run on this thread: 0
 * for the running one; -1: co does not run. In a host that resumes coroutines itself, those around
 * the running one count as equally far. For hooks of profile/ and tensor/. */
int gp_stop_distance(void *co);
/* Between hold and its end a stop waits, while our own code runs on a state that is not listed. */
void gp_stop_hold(bool hold);
/* For a hook that removed another one: sets the hook of a stop again, if one was asked for. */
void gp_stop_again(void);
/* The innermost state that runs on this thread, and the one that resumed co; NULL: none that is
 * known, as in a host that resumes coroutines itself. Safe in a signal handler. */
lua_State *gp_stop_running(void);
lua_State *gp_stop_resumer(const lua_State *co);
/* Whether gp_stop_now was called since gp_stop_begin. For waits, which no hook ends. */
bool gp_stop_requested(void);

#endif
