/* Samples of where the script is: a timer's signal asks for one, and a hook takes it, because only
 * the running thread may look at a Lua state, and only between two instructions. */
#include "bindings/sampling/sampler.h"

#include <errno.h>
#include <lauxlib.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "bindings/bind.h"
#include "bindings/sampling/counter.h"
#include "bindings/sampling/stack.h"
#include "bindings/stop.h"
#include "profile/record/record.h"
#include "profile/sync/sync.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/stream/thread.h"
#include "tensor/base/error.h"
#include "tensor/base/intern.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static timer_t timer;
static struct sigaction before;

/* The sampled thread. What its handler writes is atomic: it may come between any two
 * instructions. */
static _Thread_local struct {
    lua_State *home;      /* the main state; NULL: not sampled */
    bool follows;         /* the state that runs is known, and none runs while the prompt waits */
    atomic_bool looking;  /* a sample is being taken: the next tick is the profiler's own cost */
    _Atomic unsigned due; /* ticks that no sample stands for yet */
    _Atomic uint64_t blocked; /* ticks that found a hook of the script */
    bool counts;              /* in place of the timer, Lua's counted time decides */
    uint64_t counted;         /* of it, in ns, since the last sample */
} me;

/* ---- what the script is at ---- */

/* "step (train.lua:12)"; "rep [C]", "forward [gpush]" for what the script calls there: `from` says
 * whose, NULL: it calls nothing. */
static void name_of(const lua_Debug *ar, const char *from, char *buf, size_t n) {
    const char *name = ar->name ? ar->name : "function";
    if (from) snprintf(buf, n, "%s [%s]", name, from);
    else if (*ar->what == 'm') snprintf(buf, n, "main chunk (%s)", ar->short_src);
    else snprintf(buf, n, "%s (%s:%d)", name, ar->short_src, ar->linedefined);
}

/* The innermost frame of the user's code, and what it calls, if that is a function of C or of
 * gpush's own library; where there is no user's code, the innermost Lua frame. */
static bool look(lua_State *L, char *name, size_t n, gp_srcloc *at) {
    gp_lua_frame f = gp_lua_innermost(L);
    lua_Debug call = {0}, lua = {0};
    bool called = false, found_ours = false;
    while (gp_lua_outwards(&f)) {
        bool runs_lua = f.ar.currentline >= 0;
        lua_getinfo(f.L, "n", &f.ar);
        if (runs_lua && !gp_lua_ours(f.ar.source)) break;
        if (runs_lua && !found_ours) lua = f.ar, found_ours = true;
        call = f.ar;
        called = true;
    }
    if (!f.L && !found_ours) return false;
    const lua_Debug *user = f.L ? &f.ar : &lua;
    if (f.L && called) name_of(&call, found_ours ? "gpush" : "C", name, n);
    else name_of(user, NULL, name, n);
    *at = (gp_srcloc){gp_intern_text(user->short_src), user->currentline};
    return true;
}

static void sample(lua_State *L, unsigned ticks) {
    uint64_t t0 = gp_now_ns();
    lua_State *running = gp_lua_state;
    char name[200];
    gp_srcloc at;
    gp_lua_enter(L);
    if (look(L, name, sizeof name, &at)) gp_record_sample(name, at, ticks, t0);
    gp_lua_state = running;
}

/* ---- the signal and the hook ---- */

static void on_hook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    atomic_store(&me.looking, true);
    gp_counter_rest(L);
    unsigned ticks = atomic_exchange(&me.due, 0);
    if (ticks && me.home) sample(L, ticks);
    atomic_store(&me.looking, false);
}

static void on_tick(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)context;
    if (info->si_code != SI_TIMER || !me.home || atomic_load(&me.looking)) return;
    if (gp_stop_requested() || gp_record_inside() || gp_sync_waiting()) return;
    unsigned ticks = 1 + (info->si_overrun > 0 ? (unsigned)info->si_overrun : 0);
    lua_State *running = gp_stop_running(), *L = running ? running : me.home;
    if (!running && me.follows) return;
    lua_Hook hook = lua_gethook(L);
    if (hook && hook != on_hook) {
        atomic_fetch_add(&me.blocked, ticks);
        return;
    }
    atomic_fetch_add(&me.due, ticks);
    lua_sethook(L, on_hook, LUA_MASKCOUNT | LUA_MASKRET, 1);
}

void gp_sampler_count(lua_State *L, uint64_t ns) {
    if (!me.home || !me.counts || gp_record_inside() || (me.counted += ns) < GP_SAMPLER_NS) return;
    sample(L, (unsigned)(me.counted / GP_SAMPLER_NS));
    me.counted %= GP_SAMPLER_NS;
}

static bool make_timer(void) {
    struct sigaction sa = {.sa_sigaction = on_tick,
                           .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGPROF};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    sigfillset(&sa.sa_mask); /* Ctrl-C's handler sets hooks, too */
    gp_handler_stack();
    if (sigaction(SIGPROF, &sa, &before) != 0) return false;
    if (timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) return true;
    sigaction(SIGPROF, &before, NULL);
    return false;
}

bool gp_sampler_start(lua_State *L) {
    const struct itimerspec each = {{0, GP_SAMPLER_NS}, {0, GP_SAMPLER_NS}};
    me.counts = gp_clock_op_ns() != 0, me.counted = 0;
    if (!me.counts && !make_timer()) return gp_fail("profile: lua: no timer: %s", strerror(errno));
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    lua_State *home = lua_tothread(L, -1);
    lua_pop(L, 1);
    atomic_store(&me.looking, false);
    atomic_store(&me.due, 0);
    atomic_store(&me.blocked, 0);
    me.follows = gp_lua_state_kind(L) != GP_LUA_STOCK;
    me.home = home;
    if (!me.counts) timer_settime(timer, 0, &each, NULL);
    return true;
}

/* A hook that is still set, of a coroutine that waits, removes itself when it is called. */
uint64_t gp_sampler_stop(void) {
    if (!me.home) return 0;
    me.home = NULL;
    if (me.counts) return 0;
    timer_delete(timer);
    sigaction(SIGPROF, &before, NULL);
    return atomic_load(&me.blocked);
}
