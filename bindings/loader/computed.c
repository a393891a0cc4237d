/* Clocks of computing: see computed.h. */
#include "bindings/loader/computed.h"

#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tensor/base/ready.h"

static uint64_t ns_of(struct timeval t) {
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

/* What children have taken that no call has returned yet. */
static uint64_t children_ns(void) {
    static _Atomic uint64_t seen;
    struct rusage u;
    if (getrusage(RUSAGE_CHILDREN, &u)) return 0;
    uint64_t now = ns_of(u.ru_utime) + ns_of(u.ru_stime), before = atomic_exchange(&seen, now);
    return now > before ? now - before : 0;
}

static uint64_t now(const gp_computed *c) {
    struct timespec t;
    clock_gettime(c->process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + gp_ready_ns(c->waits);
}

gp_computed gp_computed_open(bool process) {
    children_ns();
    return (gp_computed){.process = process, .waits = gp_ready_open(0)};
}

void gp_computed_close(gp_computed *c) {
    if (c->waits >= 0) close(c->waits);
    c->waits = -1;
}

void gp_computed_begin(gp_computed *c) {
    if (c->process) children_ns(); /* the script's own are no loader's */
    c->from = now(c);
}

uint64_t gp_computed_end(const gp_computed *c) { return now(c) - c->from + children_ns() + 1; }
