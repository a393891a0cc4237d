/* The host's clock: the machine's, less the time in which it stood still, plus its jumps. */
#include "tensor/device/card/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "tensor/device/device.h"
#include "tensor/device/stream/thread.h"

static _Atomic int64_t offset;   /* to the machine's clock, in ns */
static _Atomic uint64_t least;   /* the time at which it was resumed: it does not go back */
static _Atomic uint64_t frozen;  /* the time at which the clock stands still; 0: it runs */
static _Atomic uint64_t epoch;   /* of seconds; 0: not yet */
static _Atomic uint64_t op_cost; /* ns; 0: time passes */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* With the lock: pauses that were not resumed yet; and how long it then still stands, in ns. */
static int pauses;
static uint64_t rest;

uint64_t gp_real_ns(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t later(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t passed_ns(void) {
    return gp_real_ns() + (uint64_t)atomic_load_explicit(&offset, memory_order_relaxed);
}

static uint64_t running_ns(void) {
    return later(passed_ns(), atomic_load_explicit(&least, memory_order_relaxed));
}

uint64_t gp_now_ns(void) {
    uint64_t still = atomic_load_explicit(&frozen, memory_order_relaxed);
    return __builtin_expect(still != 0, 0) ? still : running_ns();
}

double gp_seconds(uint64_t ns) {
    uint64_t none = 0;
    if (!atomic_load_explicit(&epoch, memory_order_relaxed))
        atomic_compare_exchange_strong(&epoch, &none, ns);
    return (double)(int64_t)(ns - atomic_load_explicit(&epoch, memory_order_relaxed)) * 1e-9;
}

double gp_now(void) { return gp_seconds(gp_now_ns()); }

/* Lets the clock run on from time t, unless it is paused. */
static void run_from(uint64_t t) {
    if (pauses) return;
    atomic_store_explicit(&least, t, memory_order_relaxed);
    atomic_store_explicit(&offset, (int64_t)(t - rest - gp_real_ns()), memory_order_relaxed);
    rest = 0;
    atomic_store_explicit(&frozen, 0, memory_order_relaxed);
}

void gp_clock_count_ops(uint64_t each) {
    gp_lock(&lock);
    uint64_t now = gp_now_ns(), whole = 1000000000000;
    double shown = gp_seconds(now);
    if (each && !gp_clock_op_ns())
        atomic_store(&epoch, now - whole * ((uint64_t)(shown / 1000) + 1));
    atomic_store(&op_cost, each);
    if (each) atomic_store(&frozen, now);
    else if (atomic_load(&frozen)) run_from(now);
    gp_unlock(&lock);
}

uint64_t gp_clock_op_ns(void) { return atomic_load_explicit(&op_cost, memory_order_relaxed); }

static _Thread_local bool counts_separately;
static _Thread_local uint64_t counted;

void gp_clock_work(uint64_t ns) {
    if (!gp_clock_op_ns()) return;
    if (counts_separately) counted += ns;
    else if (!gp_thread_loader()) atomic_fetch_add(&frozen, ns);
}

void gp_clock_op(void) { gp_clock_work(gp_clock_op_ns()); }

uint64_t gp_clock_separate(bool separate) {
    uint64_t ns = counted;
    counts_separately = separate;
    counted = 0;
    return ns;
}

void gp_clock_pause(void) {
    gp_lock(&lock);
    if (!pauses++ && !gp_clock_op_ns()) {
        uint64_t passed = passed_ns(), now = later(passed, atomic_load(&least));
        rest = now - passed;
        atomic_store_explicit(&frozen, now, memory_order_relaxed);
    }
    gp_unlock(&lock);
}

void gp_clock_resume(void) {
    gp_lock(&lock);
    if (!--pauses && !gp_clock_op_ns()) run_from(gp_now_ns());
    gp_unlock(&lock);
}

void gp_clock_rest(uint64_t ns) {
    gp_lock(&lock);
    rest = later(rest, ns);
    gp_unlock(&lock);
}

void gp_clock_jump(uint64_t t) {
    if (t > gp_now_ns()) atomic_store_explicit(&frozen, t, memory_order_relaxed);
}
