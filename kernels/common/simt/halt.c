/* Stops kernels by signals, whose handlers let the processor go on elsewhere if they find it in a
 * kernel's code: there a thread of a block holds no lock, and its stack is made again. Ctrl-C sends
 * one to each thread that runs blocks, as a kernel may never ask whether it is stopped; where that
 * finds the thread in this program, or in the C library, it comes again a millisecond later. And a
 * fault of a kernel, as a division by 0, ends the launch as an error. */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "kernels/common/simt/runner.h"
#include "tensor/base/interrupt.h"
#include "tensor/device/stream/thread.h"

#ifndef sigev_notify_thread_id /* glibc before 2.39 */
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { GUARD = 4096 }; /* of a fiber's stack, below it */
enum { SIGNAL = SIGSTKFLT /* which Linux never sends */, MOST = 512 };

/* A thread that runs blocks. They stay, for a handler may look at them at any time. */
struct gp_halt {
    atomic_int thread;           /* its id; 0: nobody's */
    atomic_bool running, wanted; /* blocks; to stop */
    timer_t again;
    bool has_timer;
};

static gp_halt table[MOST];

/* Called in the handler of Ctrl-C. */
static void halt_all(void) {
    for (int i = 0; i < MOST; i++) {
        int thread = table[i].thread;
        if (!thread || !table[i].running) continue;
        table[i].wanted = true;
        syscall(SYS_tgkill, getpid(), thread, SIGNAL);
    }
}

/* Where the thread of a block continues that the signal has found in a kernel. */
__attribute__((noreturn, used)) static void leave_kernel(void) {
    gp_fibers_fail(gp_fibers_mine(), "interrupted");
}

/* Where the stack goes on that was in use down to sp: below what a function may use beyond it; of a
 * full one near its top, though not where the functions are that have called the kernel. */
__attribute__((unused)) static uintptr_t stack_from(const gp_fiber *f, uintptr_t sp, bool full) {
    enum { RED_ZONE = 128, CALLERS = 16384 };
    uintptr_t top = (uintptr_t)f->stack + GP_STACK - GUARD;
    return (full ? top - CALLERS : sp - RED_ZONE) & ~(uintptr_t)15;
}

/* Whether the handler's thread was in a kernel, which it then leaves for the function `to`; full:
 * its stack is, which a function may have found that the kernel calls. */
static bool leave(gp_runner *r, ucontext_t *context, void (*to)(void), bool full) {
#if defined(__SANITIZE_THREAD__) /* which gives handlers a copy of the context */
    return (void)context, (void)to, (void)full, !r;
#elif defined(__x86_64__)
    greg_t *reg = context->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)reg[REG_RIP];
#elif defined(__aarch64__)
    uintptr_t at = context->uc_mcontext.pc;
#else
    uintptr_t at = 0;
#endif
#if !defined(__SANITIZE_THREAD__)
    const gp_simt_module *m = r->launch->kernel->module;
    if (!r->f.current || (at - (uintptr_t)m->base >= m->symbols.end && !full)) return false;
    r->left_at = (const void *)at;
#if defined(__x86_64__)
    uintptr_t sp = stack_from(r->f.current, (uintptr_t)reg[REG_RSP], full);
    reg[REG_RSP] = (greg_t)sp - 8; /* as after a call */
    reg[REG_RIP] = (greg_t)(uintptr_t)to;
#elif defined(__aarch64__)
    context->uc_mcontext.sp = stack_from(r->f.current, context->uc_mcontext.sp, full);
    context->uc_mcontext.pc = (uintptr_t)to;
#else
    return false;
#endif
    return true;
#endif
}

static void on_signal(int sig, siginfo_t *info, void *context) {
    (void)sig, (void)info;
    int error = errno;
    gp_runner *r = (gp_runner *)gp_fibers_mine();
    gp_halt *h = r ? r->halt : NULL;
    const struct itimerspec soon = {.it_value.tv_nsec = 1000000};
    if (h && h->running && h->wanted) {
        if (leave(r, context, leave_kernel, false)) h->wanted = false;
        else if (h->has_timer) timer_settime(h->again, 0, &soon, NULL);
    }
    errno = error;
}

/* ---- faults ---- */

static const int faults[] = {SIGFPE, SIGSEGV, SIGBUS};
enum { FAULTS = sizeof faults / sizeof *faults };
static struct sigaction others[FAULTS]; /* what a fault elsewhere is left to */

__attribute__((noreturn, used)) static void leave_fault(void) {
    gp_runner *r = (gp_runner *)gp_fibers_mine();
    gp_report_fault(r, r->fault, r->left_at);
}

static bool in_guard(const gp_fiber *f, const void *p) {
    return (uintptr_t)f->stack - (uintptr_t)p - 1 < GUARD;
}

static void on_fault(int sig, siginfo_t *info, void *context) {
    gp_runner *r = (gp_runner *)gp_fibers_mine();
    int i = 0;
    while (i < FAULTS - 1 && faults[i] != sig) i++;
    bool runs = info->si_code > 0 && r && r->halt && r->halt->running && r->f.current;
    bool full = runs && sig != SIGFPE && in_guard(r->f.current, info->si_addr);
    if (runs && leave(r, context, leave_fault, full)) {
        r->fault = sig, r->full = full;
        return;
    }
    if (others[i].sa_flags & SA_SIGINFO) others[i].sa_sigaction(sig, info, context);
    else if (others[i].sa_handler != SIG_DFL && others[i].sa_handler != SIG_IGN)
        others[i].sa_handler(sig);
    else {
        sigaction(sig, &others[i], NULL); /* it comes again */
        if (info->si_code <= 0) raise(sig);
    }
}

static void install_faults(void) {
    struct sigaction sa = {.sa_sigaction = on_fault,
                           .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_NODEFER};
    sigemptyset(&sa.sa_mask);
    for (int i = 0; i < FAULTS; i++)
        if (!sigaction(faults[i], NULL, &others[i])) sigaction(faults[i], &sa, NULL);
}

/* Nobody else has a handler for the signal. */
static bool installed;
static void install(void) {
    struct sigaction sa = {.sa_sigaction = on_signal,
                           .sa_flags = SA_ONSTACK | SA_SIGINFO | SA_RESTART},
                     before;
    sigfillset(&sa.sa_mask);
    if (sigaction(SIGNAL, NULL, &before) || before.sa_handler != SIG_DFL) return;
    installed = sigaction(SIGNAL, &sa, NULL) == 0;
    if (installed) gp_on_interrupt = halt_all;
    install_faults();
}

gp_halt *gp_halt_new(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGNAL};
    sigset_t own;
    int thread = gettid();
    pthread_once(&once, install);
    if (!installed || !gp_handler_stack()) return NULL;
    for (int i = 0; i < MOST; i++) {
        gp_halt *h = &table[i];
        int nobody = 0;
        if (!atomic_compare_exchange_strong(&h->thread, &nobody, thread)) continue;
        e.sigev_notify_thread_id = thread;
        h->has_timer = timer_create(CLOCK_MONOTONIC, &e, &h->again) == 0;
        sigemptyset(&own), sigaddset(&own, SIGNAL);
        pthread_sigmask(SIG_UNBLOCK, &own, NULL);
        return h;
    }
    return NULL;
}

void gp_halt_free(gp_halt *h) {
    if (!h) return;
    if (h->has_timer) timer_delete(h->again);
    h->thread = 0;
}

void gp_halt_begin(gp_halt *h) {
    if (h) h->running = true;
}

void gp_halt_end(gp_halt *h) {
    if (!h) return;
    h->running = false;
    h->wanted = false;
}
