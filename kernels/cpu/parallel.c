/* The parallel loop: the only file that uses OpenMP, whose pool OpenBLAS and oneDNN share. */
#include <omp.h>

#include "kernels/cpu/blas.h"
#include "kernels/kernel.h"

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
    gp_blas_open();
    int most = omp_in_parallel() ? 1 : gp_threads();
    omp_set_num_threads(n < most ? n : most);
}

static void piece(gp_body body, void *ctx, int64_t n, int64_t part, int64_t parts) {
    int64_t begin = n * part / parts, end = n * (part + 1) / parts;
    if (begin < end) body(ctx, begin, end);
}

UNCHECKED void gp_parallel(int64_t n, int64_t grain, gp_body body, void *ctx) {
    int64_t parts = n / (grain > 0 ? grain : 1), threads = gp_threads();
    if (parts > threads) parts = threads;
    if (parts <= 1) {
        if (n > 0) body(ctx, 0, n);
        return;
    }
    char sync = 0;
    RELEASE(&sync);
#pragma omp parallel num_threads((int)parts)
    {
        ACQUIRE(&sync);
        piece(body, ctx, n, omp_get_thread_num(), omp_get_num_threads());
        RELEASE(&sync);
    }
    ACQUIRE(&sync);
}
