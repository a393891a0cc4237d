/* Ctrl-C: stops the running Lua code and the wait for a device or a loader. */
#include "shell/shell.h"

#include "bindings/stop.h"
#include "tensor/error.h"

#include <signal.h>

static int survive;

static void on_signal(int sig) {
    gp_interrupted = 1;
    if (!survive) signal(sig, SIG_DFL); /* a second one ends the program */
    gp_stop_now();
}

static void set_signal(void (*handler)(int)) {
    struct sigaction sa = {.sa_handler = handler}; /* no SA_RESTART: a blocked read returns */
    sigemptyset(&sa.sa_mask);
    sigaction(SIGINT, &sa, NULL);
}

/* Between lines there is nothing to stop: Ctrl-C only ends the waiting for one (line.c). */
static void on_idle(int sig) { (void)sig; }

void gp_interrupt_idle(void) { set_signal(on_idle); }

void gp_interrupt_begin(lua_State *L, int at_prompt) {
    gp_interrupted = 0;
    gp_stop_begin(L);
    survive = at_prompt;
    set_signal(on_signal);
}

void gp_interrupt_end(lua_State *L) {
    set_signal(survive ? on_idle : SIG_DFL);
    gp_stop_end(L);
    gp_interrupted = 0;
}
