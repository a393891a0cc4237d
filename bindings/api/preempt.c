/* Whether the launcher asked this process to end: SIGTERM, or SIGUSR1, as Slurm sends them before
 * it kills a job. */
#include <signal.h>
#include <stdatomic.h>

#include "bindings/module.h"
#include "tensor/device/stream/thread.h"

/* Atomic: the signal may come to any thread, such as one of MPI's. */
static atomic_int asked;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler may write it");

static void on_signal(int sig) { atomic_store(&asked, sig); }

/* Each signal is noted once: a second one of the same kind ends the program, as before. */
static void listen(void) {
    static const int signals[] = {SIGTERM, SIGUSR1};
    static bool on;
    if (on) return;
    on = true;
    struct sigaction sa = {.sa_handler = on_signal,
                           .sa_flags = (int)(SA_ONSTACK | SA_RESTART | SA_RESETHAND)};
    sigemptyset(&sa.sa_mask);
    gp_handler_stack();
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &sa, NULL);
}

/* preempted() -> whether a signal came since the first call, which begins to listen */
static int l_preempted(lua_State *L) {
    listen();
    lua_pushboolean(L, atomic_load(&asked) != 0);
    return 1;
}

void gp_lua_open_preempt(lua_State *L) {
    lua_pushcfunction(L, l_preempted);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.preempted");
}
