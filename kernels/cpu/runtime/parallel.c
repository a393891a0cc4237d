/* The parallel loop: the only file that uses OpenMP, whose pool OpenBLAS and oneDNN share. */
#include <omp.h>
#include <pthread.h>
#include <signal.h>

#include "kernels/blas/blas.h"
#include "kernels/cpu/runtime/kernel.h"
#include "tensor/device/stream/thread.h"

#if defined(__SANITIZE_THREAD__)
/* libgomp is not instrumented: tell the sanitizer what its fork and join order. */
void __tsan_acquire(void *);
void __tsan_release(void *);
#define RELEASE(p) __tsan_release(p)
#define ACQUIRE(p) __tsan_acquire(p)
/* What the region takes from its function is handed over by libgomp after the release, so its own
 * reads and writes are not checked. */
#define UNCHECKED __attribute__((no_sanitize("thread")))
#else
#define UNCHECKED
#define RELEASE(p) ((void)(p))
#define ACQUIRE(p) ((void)(p))
#endif

void gp_blas_threads(int n) {
    bool alone = omp_in_parallel() || gp_deterministic() || atomic_load(&gp_offload_abandoned);
    int most = alone ? 1 : gp_threads_free();
    omp_set_num_threads(n < most ? n : most);
}

int gp_blas_threads_now(void) { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

#if defined(__SANITIZE_THREAD__)
/* What their threads wrote (TSan sees their memset and memcpy) happens before what follows: they
 * are this pool's threads. */
UNCHECKED void gp_blas_joined(void) {
    char sync = 0;
    if (omp_in_parallel()) return;
#pragma omp parallel
    RELEASE(&sync);
    ACQUIRE(&sync);
}
#else
void gp_blas_joined(void) {}
#endif

/* ---- signals ---- */

static _Thread_local bool left; /* this thread of the pool has blocked its signals for good */

/* A thread of the pool blocks signals: the thread that it works for handles them. */
static void leave_signals(void) {
    if (left || omp_get_thread_num() == 0) return;
    left = true;
    gp_signals_block(NULL);
}

static _Thread_local int holds;
static _Thread_local sigset_t unheld; /* the mask before the first hold */

void gp_signals_hold(void) {
    if (!left && holds++ == 0) gp_signals_block(&unheld);
}

void gp_signals_release(void) {
    if (!left && --holds == 0) pthread_sigmask(SIG_SETMASK, &unheld, NULL);
}

/* ---- the loop ---- */

/* Under gp_deterministic(), the most parts: as many for every number of threads. */
enum { FIXED_PARTS = 64 };

/* Thread number `thread` of `threads` computes its share of the parts of n items. */
static void share(gp_body body, void *ctx, int64_t n, int64_t parts, int64_t thread,
                  int64_t threads) {
    int64_t last = parts * (thread + 1) / threads;
    for (int64_t part = parts * thread / threads; part < last; part++) {
        int64_t begin = n * part / parts, end = n * (part + 1) / parts;
        if (begin < end) body(ctx, begin, end);
    }
}

UNCHECKED void gp_parallel(int64_t n, int64_t grain, gp_body body, void *ctx) {
    bool fixed = gp_deterministic();
    int64_t parts = n / (grain > 0 ? grain : 1), threads = gp_threads();
    int64_t most = fixed ? FIXED_PARTS : threads;
    if (parts > most) parts = most;
    if (parts <= 1) {
        if (n > 0) body(ctx, 0, n);
        return;
    }
    if (threads > 1) threads = gp_threads_free();
    if (threads == 1) {
        share(body, ctx, n, parts, 0, 1);
        return;
    }
    char sync = 0;
    const gp_call *call = gp_running;
    RELEASE(&sync);
#pragma omp parallel num_threads((int)(parts < threads ? parts : threads))
    {
        ACQUIRE(&sync);
        leave_signals();
        gp_running = call;
        int running = omp_get_num_threads(); /* perhaps fewer than asked for */
        share(body, ctx, n, parts, omp_get_thread_num(), running);
        if (omp_get_thread_num()) gp_running = NULL;
        RELEASE(&sync);
    }
    ACQUIRE(&sync);
}

/* ---- oneDNN ---- */

bool gp_onednn_sgemm(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                     const float *b, int64_t ldb, float beta, float *c, int64_t ldc) {
    static _Thread_local int blocking; /* threads of this one's pool that have left signals to it */
    gp_signals_hold();                 /* threads that it starts inherit it */
    if (gp_blas_threads_now() > 1 && omp_get_max_threads() > blocking) {
        blocking = omp_get_max_threads();
#pragma omp parallel
        leave_signals();
    }
    bool ok = gp_blas->dnnl_sgemm(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, 1, a, lda, b, ldb, beta,
                                  c, ldc) == dnnl_success;
    gp_signals_release();
    return ok;
}

/* ---- slices ---- */

typedef struct slices {
    gp_body body;
    void *ctx;
    int64_t grain, most; /* items of the shortest slice, and of the longest */
    _Atomic bool stopped;
} slices;

/* A 64th of the share comes first: its time decides the next slice's length; the last may be twice
 * as long. That time may mislead: on a virtual machine, first touching a page costs up to thirty
 * times as much where the host has yet to provide it. So a slice is short, and touches at most
 * SLICE_BYTES of the result. */
static void in_slices(void *ctx, int64_t begin, int64_t end) {
    enum { SLICE_NS = 1000000 };
    slices *s = ctx;
    int64_t n = (end - begin) / 64;
    for (int64_t at = begin; at < end;) {
        if (gp_stopped()) s->stopped = true;
        if (s->stopped) return;
        if (n > s->most) n = s->most;
        if (n < s->grain) n = s->grain;
        if (n > end - at) n = end - at;
        uint64_t start = gp_real_ns();
        s->body(s->ctx, at, at + n);
        double each = (double)(gp_real_ns() - start) / (double)n, left = (double)(end - (at += n));
        n = each * left < 2.0 * SLICE_NS ? end - at : (int64_t)(SLICE_NS / each);
    }
}

/* How many of n items make SLICE_BYTES of the results. */
static int64_t most_items(const gp_call *c, int64_t n) {
    enum { SLICE_BYTES = 4 << 20 };
    int64_t bytes = 1;
    for (int i = 0; i < c->nout; i++)
        if (c->outa[i])
            bytes += c->outa[i]->numel * (int64_t)gp_dtype_size((gp_dtype)c->outa[i]->dtype);
    return bytes <= SLICE_BYTES ? n : (int64_t)((double)n * SLICE_BYTES / (double)bytes) + 1;
}

bool gp_parallel_op(const gp_call *c, int64_t n, int64_t grain, gp_body body, void *ctx) {
    slices s = {.body = body, .ctx = ctx, .grain = grain, .most = most_items(c, n)};
    /* Items of less than a grain are quick: up to 16 grains of them are not worth reading the
     * clock. */
    if (gp_thread_worker() || n <= grain || (grain > 1 && n <= 16 * grain)) {
        gp_parallel(n, grain, body, ctx);
        return true;
    }
    gp_parallel(n, grain, in_slices, &s);
    return !s.stopped || gp_fail("%s: interrupted", c->name);
}

/* ---- first touch ---- */

enum {
    PAGE = 2 << 20,
    LARGE = 16 * PAGE
}; /* large blocks lie in pages of this size where the system has them */

/* A page that the host has yet to provide may take milliseconds; any other costs next to nothing.
 */
static void touch(void *ctx, int64_t begin, int64_t end) {
    for (int64_t k = begin; k < end; k++) {
        volatile char *p = (volatile char *)ctx + k * PAGE;
        *p = *p;
    }
}

bool gp_prefault_outputs(const gp_call *c) {
    for (int i = 0; i < c->nout; i++) {
        const gp_array *o = c->outa[i];
        int64_t bytes = o ? o->numel * (int64_t)gp_dtype_size((gp_dtype)o->dtype) : 0;
        if (bytes >= LARGE && o->contiguous && !gp_parallel_op(c, bytes / PAGE, 1, touch, o->data))
            return false;
    }
    return true;
}
