/* Ctrl-C: stops the running Lua code and the wait for a device or a data loader. */
#include "shell/shell.h"

#include "bindings/stop.h"
#include "tensor/base/error.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(ATOMIC_INT_LOCK_FREE == 2 && sizeof(sig_atomic_t) == sizeof(int),
               "gp_interrupted is lock-free: a handler must not wait for a lock");

static int survive;
static volatile sig_atomic_t times; /* number of Ctrl-C since the chunk began */

/* Safe in a signal handler. */
static void say(const char *text) {
    if (write(STDERR_FILENO, text, strlen(text)) < 0) { /* no one reads it */
    }
}

static void on_signal(int sig) {
    gp_interrupted = 1;
    bool ends = !gp_shell_notebook; /* whose front end has another button for that */
    if (ends && (!survive || ++times > 2)) signal(sig, SIG_DFL); /* the next one ends the program */
    if (ends && times == 2)
        say("\nStill stopping. Ctrl-C twice more ends gpush, and the session is lost.\n");
    gp_stop_now();
}

static void set_signal(void (*handler)(int)) {
    /* no SA_RESTART: a blocked read returns */
    struct sigaction sa = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
}

static volatile sig_atomic_t early; /* Ctrl-C after a line was read and before its chunk began */

/* Between lines there is nothing to stop: Ctrl-C only ends the wait for one (line.c). */
static void on_idle(int sig) {
    (void)sig;
    early = 1;
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
    set_signal(on_signal);
    if (!early) return;
    early = 0;
    gp_interrupted = 1;
    gp_stop_now();
}

void gp_interrupt_end(lua_State *L) {
    set_signal(survive ? on_idle : SIG_DFL);
    gp_stop_end(L);
    if (gp_interrupted) clearerr(stdout); /* what Ctrl-C cut off is not lost (end.c) */
    gp_interrupted = 0;
}
