/* Samples of where the script is, for its own time in profiles. */
#ifndef GP_SAMPLER_H
#define GP_SAMPLER_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

enum { GP_SAMPLER_NS = 1000000 }; /* between samples */

/* Begins to sample what this thread runs, into the running profile; L runs on it. A timer's signal
 * (SIGPROF) sets a hook, which Lua calls at its next instruction, or when a C function returns;
 * time within recorded ops and waits is not sampled. Coroutines are followed where gpush has
 * replaced coroutine.resume: in its own shell. In other hosts a coroutine's time is that of the
 * call that resumed it. False with a message where there is no timer. Where the host's time is
 * counted (sim.host), samples are of Lua's counted time, the same in each run. */
bool gp_sampler_start(lua_State *L);
/* L has run for ns more of such time. */
void gp_sampler_count(lua_State *L, uint64_t ns);
/* Ends it on the thread that began it; nothing otherwise. Returns how many times the script's own
 * hook (debug.sethook) was in the way. */
uint64_t gp_sampler_stop(void);

#endif
