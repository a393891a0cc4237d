/* Ctrl-C: stops the running Lua code and the wait for a device or a data loader. */
#include "shell/shell.h"

#include "bindings/stop.h"
#include "tensor/base/error.h"
#include "tensor/base/interrupt.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id /* glibc before 2.39 */
#define sigev_notify_thread_id _sigev_un._tid
#endif

_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && sizeof(sig_atomic_t) == sizeof(int),
               "gp_interrupted is lock-free: a handler must not wait for a lock");

static int survive;
static volatile sig_atomic_t times; /* number of Ctrl-C since the chunk began */

/* Safe in a signal handler. */
static void say(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) { /* no one reads it */
    }
}

/* A search by a pattern is left where the signal finds the processor in it; where it is just in the
 * C library, another signal comes a millisecond later. */
enum { TRIES = 1000, AGAIN = SIGVTALRM };
static timer_t again;
static bool has_timer;
static volatile sig_atomic_t tries;

static void come_again(void) {
    const struct itimerspec soon = {.it_value.tv_nsec = 1000000};
    if (has_timer && tries-- > 0) timer_settime(again, 0, &soon, NULL);
}

static void on_again(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)info;
    if (gp_stop_requested() && !gp_stop_leave_string(context)) come_again();
}

static void make_timer(void) {
    struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = AGAIN};
    struct sigaction sa = {.sa_sigaction = on_again,
                           .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESTART};
    sigemptyset(&sa.sa_mask);
    e.sigev_notify_thread_id = gettid();
    if (has_timer || sigaction(AGAIN, &sa, NULL)) return;
    has_timer = timer_create(CLOCK_MONOTONIC, &e, &again) == 0;
}

static void on_signal(int sig, siginfo_t *info, void *context) {
    (void)info;
    void (*others)(void) = gp_on_interrupt;
    gp_interrupted = 1;
    if (others) others();
    bool ends = !gp_shell_notebook; /* whose front end has another button for that */
    if (ends && (!survive || ++times > 2)) signal(sig, SIG_DFL); /* the next one ends the program */
    if (ends && times == 2)
        say("\nStill stopping. Ctrl-C twice more ends gpush, and the session is lost.\n");
    gp_stop_now();
    tries = TRIES;
    if (!gp_stop_leave_string(context)) come_again();
}

/* no SA_RESTART: a blocked read returns */
static void set_signal(void (*handler)(int)) {
    struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
}

static void set_running(void) {
    struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
}

static volatile sig_atomic_t early; /* Ctrl-C after a line was read and before its chunk began */

/* Between lines there is nothing to stop: Ctrl-C only ends the wait for one (line.c). */
static void on_idle(int sig) {
    (void)sig;
    early = 1;
}

/* Such a signal of the timer may still come. */
static void disarm(void) {
    const struct itimerspec never = {0};
    tries = 0;
    if (has_timer) timer_settime(again, 0, &never, NULL);
}

void gp_interrupt_idle(void) {
    early = 0;
    set_signal(on_idle);
}

void gp_interrupt_begin(lua_State *L, int at_prompt) {
    gp_interrupted = 0;
    gp_stop_begin(L);
    survive = at_prompt;
    times = 0;
    make_timer();
    set_running();
    if (!early) return;
    early = 0;
    gp_interrupted = 1;
    gp_stop_now();
}

static bool was;

bool gp_interrupt_was(void) { return was; }

void gp_interrupt_end(lua_State *L) {
    was = gp_interrupted;
    disarm();
    set_signal(survive ? on_idle : SIG_DFL);
    gp_stop_end(L);
    if (gp_interrupted) clearerr(stdout); /* what Ctrl-C cut off is not lost (end.c) */
    gp_interrupted = 0;
}
