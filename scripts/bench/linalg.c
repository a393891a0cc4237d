/* Times the LU, QR, inverse, eigenvector and bidiagonal kernels of kernels/cpu/linalg against the
 * LAPACK functions that do the same, in turns, and prints a table in Markdown. Each figure is the
 * median of at least five rounds; a ratio is our time over LAPACK's. scripts/bench/linalg builds
 * and runs it. */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cpu/linalg/factors/bidiagonal.h"
#include "kernels/cpu/linalg/factors/inverse.h"
#include "kernels/cpu/linalg/factors/lu.h"
#include "kernels/cpu/linalg/factors/qr.h"
#include "kernels/cpu/linalg/factors/reflectors.h"
#include "kernels/cpu/runtime/kernel.h"
#include "kernels/cpu/runtime/scratch.h"
#include "tensor/device/device.h"

/* PANEL: columns that LAPACK's blocked algorithms take at a time, at most. SIDES: of equations.
 * ROUNDS: at most. */
enum { PANEL = 64, SIDES = 16, ROUNDS = 201 };
#define ROUND_S 0.2 /* seconds for all rounds of a pair, as far as five rounds allow */

/* The last arguments are the lengths of the strings. */
#define LAPACK(T, getrf, getri, getrs, geqrf, orgqr)                                               \
    void getrf(const int *m, const int *n, T *a, const int *lda, int *ipiv, int *info);            \
    void getri(const int *n, T *a, const int *lda, const int *ipiv, T *work, const int *lwork,     \
               int *info);                                                                         \
    void getrs(const char *trans, const int *n, const int *nrhs, const T *a, const int *lda,       \
               const int *ipiv, T *b, const int *ldb, int *info, size_t);                          \
    void geqrf(const int *m, const int *n, T *a, const int *lda, T *tau, T *work,                  \
               const int *lwork, int *info);                                                       \
    void orgqr(const int *m, const int *n, const int *k, T *a, const int *lda, const T *tau,       \
               T *work, const int *lwork, int *info);
#define LAPACK_MORE(T, sytrd, ormtr, gebrd)                                                        \
    void sytrd(const char *uplo, const int *n, T *a, const int *lda, T *d, T *e, T *tau, T *work,  \
               const int *lwork, int *info, size_t);                                               \
    void ormtr(const char *side, const char *uplo, const char *trans, const int *m, const int *n,  \
               const T *a, const int *lda, const T *tau, T *c, const int *ldc, T *work,            \
               const int *lwork, int *info, size_t, size_t, size_t);                               \
    void gebrd(const int *m, const int *n, T *a, const int *lda, T *d, T *e, T *tauq, T *taup,     \
               T *work, const int *lwork, int *info);
LAPACK(float, sgetrf_, sgetri_, sgetrs_, sgeqrf_, sorgqr_)
LAPACK(double, dgetrf_, dgetri_, dgetrs_, dgeqrf_, dorgqr_)
LAPACK_MORE(float, ssytrd_, sormtr_, sgebrd_)
LAPACK_MORE(double, dsytrd_, dormtr_, dgebrd_)
char *openblas_get_corename(void);

/* A batch of n x n matrices, all in place, and what a matrix needs besides. */
typedef struct job {
    int n, count, ld;    /* ld: between columns (LAPACK) or rows */
    int64_t each, spare; /* elements of a matrix, and of the work for one */
    char *fresh, *a;     /* as it was, and what the contenders overwrite */
    size_t size;         /* of an element */
    void (*one)(const struct job *j, void *a, void *work);
} job;
typedef void (*contender)(const job *j, void *a, void *work);

/* Our kernel, LAPACK's functions, and the sizes from which gpush takes the first. */
typedef struct pair {
    const char *name, *lapack;
    contender ours[2], theirs[2]; /* f32, f64 */
    void (*prepare[2])(const job *j, void *a,
                       void *work); /* of a random matrix, untimed; or NULL */
    int from, to;                   /* sizes for which gpush takes ours */
    int most;                       /* that ours can do */
} pair;

static int ours_ld(int n) { return n < 64 ? n : (int)gp_lu_ld(n); }

#define T float
#define t f32
#define NAME(f) s##f##_
#include "scripts/bench/linalg.inc"
#define T double
#define t f64
#define NAME(f) d##f##_
#include "scripts/bench/linalg.inc"

#define BOTH(f)                                                                                    \
    { f##_f32, f##_f64 }
static const pair pairs[] = {
    {"LU", "getrf", BOTH(lu), BOTH(getrf), {0}, 384, 1 << 30, 1 << 30},
    {"LU and 16 equations", "getrf getrs", BOTH(solve), BOTH(getrs), {0}, 384, 1 << 30, 1 << 30},
    {"inverse by LU", "getrf getri", BOTH(inv_lu), BOTH(getri), {0}, 192, 1 << 30, 1 << 30},
    {"inverse, small", "getrf getri", BOTH(invert), BOTH(getri), {0}, 1, GP_SMALL, GP_SMALL},
    {"QR: R", "geqrf", BOTH(qr), BOTH(geqrf), {0}, 96, 1 << 30, 1 << 30},
    {"QR: Q and R", "geqrf orgqr", BOTH(qr_q), BOTH(orgqr), {0}, 96, 1 << 30, 1 << 30},
    {"eigenvectors back", "ormtr", BOTH(back), BOTH(ormtr), BOTH(sytrd), 256, 1 << 30, 1 << 30},
    {"bidiagonal", "gebrd", BOTH(bidiag), BOTH(gebrd), {0}, 1, 256, 512},
};

/* Of this thread's processor time where it works alone: other programs disturb that least. */
static double seconds(void) {
    struct timespec now;
    clock_gettime(gp_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static double median(double *v, int n) {
    qsort(v, (size_t)n, sizeof *v, ascending);
    return v[n / 2];
}

/* As gp_lapack_run does it: working memory is a thread's, and used again. */
static void matrices(void *ctx, int64_t begin, int64_t end) {
    const job *j = ctx;
    char *work = gp_scratch(GP_SCRATCH_PART, (size_t)j->spare * j->size);
    if (!work) exit(fprintf(stderr, "out of memory\n"));
    for (int64_t i = begin; i < end; i++) j->one(j, j->a + (size_t)(i * j->each) * j->size, work);
}

static void matrices_alone(void *ctx, int64_t begin, int64_t end) {
    gp_blas_threads(1);
    matrices(ctx, begin, end);
}

/* Seconds for a matrix. Matrices of a batch are shared out, each to one thread; otherwise each in
 * turn has all threads. */
static double timed(job *j, contender fn, bool batch) {
    memcpy(j->a, j->fresh, (size_t)(j->count * j->each) * j->size);
    j->one = fn;
    double begin = seconds();
    if (batch) {
        gp_parallel(j->count, 1, matrices_alone, j);
    } else {
        gp_blas_threads(gp_threads());
        matrices(j, 0, j->count);
        gp_blas_joined();
    }
    return (seconds() - begin) / j->count;
}

/* The medians of rounds in which both take turns. */
static void race(job *j, contender ours, contender theirs, bool batch, double result[2]) {
    static double took[2][ROUNDS];
    int n = 0;
    timed(j, ours, batch), timed(j, theirs, batch);
    for (double begin = seconds(); n < ROUNDS && (n < 5 || seconds() - begin < ROUND_S); n++) {
        took[0][n] = timed(j, ours, batch);
        took[1][n] = timed(j, theirs, batch);
    }
    result[0] = median(took[0], n);
    result[1] = median(took[1], n);
}

/* Random matrices, with space for rows that are padded and, in the work, for the most that any of
 * the contenders wants. */
static job new_job(int n, int count, int type) {
    job j = {.n = n, .count = count, .size = type ? 8 : 4};
    int64_t row = (n + 31) / 16 * 16 + 16;
    j.ld = ours_ld(n);
    j.each = row * row;
    j.spare = 3 * row * row + 8 * PANEL * row;
    size_t bytes = (size_t)(j.each * count) * j.size;
    j.fresh = aligned_alloc(64, bytes);
    j.a = aligned_alloc(64, bytes);
    if (!j.fresh || !j.a) exit(fprintf(stderr, "out of memory\n"));
    for (int64_t i = 0; i < j.each * count; i++) {
        double v = (double)rand() / RAND_MAX - 0.5;
        if (type) ((double *)(void *)j.fresh)[i] = v;
        else ((float *)(void *)j.fresh)[i] = (float)v;
    }
    return j;
}

static void free_job(job *j) { free(j->fresh), free(j->a); }

/* Our time with one thread, LAPACK's, and with two threads the same. */
static void row(const pair *p, int n, int count, bool batch) {
    char text[16];
    snprintf(text, sizeof text, "%d x ", count);
    printf("| %s | %s%d | %s |", p->name, batch ? text : "", n,
           n >= p->from && n <= p->to ? "ours" : "LAPACK");
    for (int type = 0; type < 2; type++) {
        job j = new_job(n, count, type);
        if (p->prepare[type]) {
            timed(&j, p->prepare[type], false);
            memcpy(j.fresh, j.a, (size_t)(j.count * j.each) * j.size);
        }
        for (int threads = 1; threads <= 2; threads++) {
            double took[2];
            gp_set_threads(threads);
            race(&j, p->ours[type], p->theirs[type], batch, took);
            if (threads == 1) printf(" %.4g us |", took[0] * 1e6);
            printf(" %.2f |", took[0] / took[1]);
        }
        free_job(&j);
    }
    printf("\n");
    fflush(stdout);
}

int main(int argc, char **argv) {
    static const int sizes[] = {4, 16, 64, 256, 512, 1024}, single[] = {256, 128, 8, 1, 1, 1},
                     batches[] = {1000, 1000, 100, 16};
    if (!gp_blas_open()) return fprintf(stderr, "%s\n", gp_error());
    gp_blas_threads(1);
    printf("OpenBLAS kernels: %s\n\n", openblas_get_corename());
    printf("| | n | gpush takes | f32, ours | 1 thread | 2 threads | f64, ours | 1 thread |"
           " 2 threads |\n|---|---|---|---|---|---|---|---|---|\n");
    for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
        const pair *p = &pairs[k];
        if (argc > 1 && !strstr(p->name, argv[1])) continue;
        for (int i = 0; i < 6; i++)
            if (sizes[i] <= p->most) row(p, sizes[i], single[i], false);
        for (int i = 0; i < 4; i++)
            if (sizes[i] <= p->most) row(p, sizes[i], batches[i], true);
    }
    return 0;
}
