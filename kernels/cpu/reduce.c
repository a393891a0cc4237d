/* Reductions of the table: each row's combine formula runs in lanes over blocks of the reduced elements. */
#include "kernels/kernel.h"

#include <float.h>
#include <string.h>

#include "kernels/cpu/math.h"

enum { LANES = 16, GRAIN = 32768 };

/* Folds n elements of compute type into acc, and turns acc into the result for `count` reduced elements. */
typedef void (*fold_fn)(void *acc, const void *x, int64_t n);
typedef void (*finish_fn)(void *acc, double count);

typedef struct reducer {
    fold_fn fold;
    finish_fn finish;
    double start; /* lowest and highest are -/+ infinity, cut to the type's range */
} reducer;

typedef struct run {
    const gp_array *x, *out;
    reducer red;
    gp_ctype ct;
    gp_load load;
    gp_store store;
    int nkept, nred;
    int64_t kept_dim[GP_MAX_DIM], kept_stride[GP_MAX_DIM], red_dim[GP_MAX_DIM], red_stride[GP_MAX_DIM];
    int64_t count, chunk; /* elements reduced into one; of these, how many a piece takes (when the outputs are too few to share out) */
    char *partial;
} run;

#undef bool /* a row of dtype.def */
#define T_f32 float
#define T_f64 double
#define T_i32 int32_t
#define T_i64 int64_t
#define lowest (-INFINITY)
#define highest INFINITY

/* clang-format off */
#define REDUCE1(nm, t, start, combine, finish)                                                   \
    static inline T_##t step_##nm##_##t(T_##t acc, T_##t x) { return (T_##t)(combine); }         \
    static void fold_##nm##_##t(void *p, const void *src, int64_t n) {                           \
        const T_##t *s = src;                                                                    \
        T_##t a = *(T_##t *)p, lane[LANES];                                                      \
        int64_t i = LANES;                                                                       \
        if (n >= 2 * LANES) {                                                                    \
            for (int j = 0; j < LANES; j++) lane[j] = s[j];                                      \
            if (nm##_counts) for (int j = 0; j < LANES; j++) lane[j] = lane[j] != 0;             \
            for (; i + LANES <= n; i += LANES)                                                   \
                for (int j = 0; j < LANES; j++) lane[j] = step_##nm##_##t(lane[j], s[i + j]);    \
            for (int j = 0; j < LANES; j++) a = step_##nm##_##t(a, lane[j]);                     \
        } else i = 0;                                                                            \
        for (; i < n; i++) a = step_##nm##_##t(a, s[i]);                                         \
        *(T_##t *)p = a;                                                                         \
    }                                                                                            \
    static void finish_##nm##_##t(void *p, double n) {                                           \
        T_##t acc = *(T_##t *)p;                                                                 \
        (void)n;                                                                                 \
        *(T_##t *)p = (T_##t)(finish);                                                           \
    }
/* clang-format on */
/* all and any fold truth values, not the elements. */
enum { sum_counts, mean_counts = 0, prod_counts = 0, amax_counts = 0, amin_counts = 0, all_counts = 1, any_counts = 1 };
#define EACH_FLOATS(M, ...) M(__VA_ARGS__)
#define REDUCE(n, ty, start, combine, finish, ...) \
    REDUCE1(n, f32, start, combine, finish) REDUCE1(n, f64, start, combine, finish) REDUCE1(n, i32, start, combine, finish) REDUCE1(n, i64, start, combine, finish)
#include "tensor/ops.def"

static void put_start(void *acc, gp_ctype ct, double start) {
    switch (ct) {
    case GP_CT_f32: *(float *)acc = (float)start; break;
    case GP_CT_f64: *(double *)acc = start; break;
    case GP_CT_i32: *(int32_t *)acc = start == INFINITY ? INT32_MAX : start == -INFINITY ? INT32_MIN : (int32_t)start; break;
    default: *(int64_t *)acc = start == INFINITY ? INT64_MAX : start == -INFINITY ? INT64_MIN : (int64_t)start; break;
    }
}

/* Folds elements [from, to) of the reduced part that begins at p. */
static void fold_range(const run *r, void *acc, const char *p, int64_t from, int64_t to) {
    _Alignas(64) char buf[GP_BLOCK * 8];
    int last = r->nred - 1;
    int64_t width = r->red_dim[last], step = r->red_stride[last];
    _Bool direct = r->x->dtype == gp_ctype_dtype[r->ct] && step == gp_ctype_size[r->ct];
    for (int64_t at = from; at < to;) {
        int64_t rest = at / width, col = at % width, n = width - col < to - at ? width - col : to - at;
        const char *row = p + col * step;
        for (int d = last - 1; d >= 0; d--) row += rest % r->red_dim[d] * r->red_stride[d], rest /= r->red_dim[d];
        for (int64_t i = 0; i < n; i += GP_BLOCK) {
            int64_t m = n - i < GP_BLOCK ? n - i : GP_BLOCK;
            if (!direct) r->load(buf, row + i * step, step, m);
            r->red.fold(acc, direct ? row + i * step : buf, m);
        }
        at += n;
    }
}

static const char *kept_at(const run *r, int64_t i) {
    const char *p = r->x->data;
    for (int d = r->nkept - 1; d >= 0; d--) p += i % r->kept_dim[d] * r->kept_stride[d], i /= r->kept_dim[d];
    return p;
}

static void store_result(const run *r, int64_t i, void *acc) {
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)r->out->dtype);
    r->red.finish(acc, (double)r->count);
    r->store(r->out->data + i * size, size, acc, 1);
}

static void reduce_outputs(void *ctx, int64_t begin, int64_t end) {
    const run *r = ctx;
    for (int64_t i = begin; i < end; i++) {
        int64_t acc;
        put_start(&acc, r->ct, r->red.start);
        fold_range(r, &acc, kept_at(r, i), 0, r->count);
        store_result(r, i, &acc);
    }
}

static void reduce_chunks(void *ctx, int64_t begin, int64_t end) {
    const run *r = ctx;
    for (int64_t i = begin; i < end; i++) {
        void *acc = r->partial + i * 8;
        int64_t to = (i + 1) * r->chunk < r->count ? (i + 1) * r->chunk : r->count;
        put_start(acc, r->ct, r->red.start);
        fold_range(r, acc, r->x->data, i * r->chunk, to);
    }
}

/* One output from many elements: fixed chunks, so that the result does not depend on the number of threads. */
static void reduce_whole(run *r) {
    enum { CHUNK = 65536, MOST = 1024 };
    char partial[MOST * 8];
    int64_t n = (r->count + CHUNK - 1) / CHUNK, acc;
    if (n > MOST) n = MOST;
    r->chunk = (r->count + n - 1) / n;
    r->partial = partial;
    gp_parallel(n, 1, reduce_chunks, r);
    put_start(&acc, r->ct, r->red.start);
    for (int64_t i = 0; i < n; i++) r->red.fold(&acc, partial + i * 8, 1);
    store_result(r, 0, &acc);
}

/* Splits x's dims into kept and reduced ones, each joined where their memory allows. */
static void split(run *r, uint64_t mask) {
    const gp_array *x = r->x;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    r->count = 1;
    for (int d = 0; d < x->ndim; d++) {
        _Bool red = mask >> d & 1;
        int *n = red ? &r->nred : &r->nkept;
        int64_t *dim = red ? r->red_dim : r->kept_dim, *stride = red ? r->red_stride : r->kept_stride;
        if (red) r->count *= x->dim[d];
        if (x->dim[d] == 1) continue;
        if (*n && stride[*n - 1] == x->stride[d] * size * x->dim[d]) {
            dim[*n - 1] *= x->dim[d];
            stride[*n - 1] = x->stride[d] * size;
            continue;
        }
        dim[*n] = x->dim[d];
        stride[(*n)++] = x->stride[d] * size;
    }
    if (r->nred == 0) r->red_dim[0] = 1, r->red_stride[0] = 0, r->nred = 1;
}

static _Bool run_reduce(const gp_call *c, const reducer *reds) {
    run r = {.x = gp_in(c, 0), .out = gp_out(c, 0), .ct = gp_compute_type((gp_dtype)c->compute)};
    r.red = reds[r.ct];
    r.load = gp_load_fn((gp_dtype)r.x->dtype, r.ct);
    r.store = gp_store_fn(r.ct, (gp_dtype)r.out->dtype);
    split(&r, (uint64_t)c->arg[1].i);
    if (r.out->numel == 1 && r.count > GRAIN) reduce_whole(&r);
    else gp_parallel(r.out->numel, r.count ? 1 + GRAIN / r.count : GRAIN, reduce_outputs, &r);
    return 1;
}

#define ONE(n, t, st) {fold_##n##_##t, finish_##n##_##t, st}
#define REDUCE(n, ty, start, ...)                                                                          \
    _Bool CPU(n)(const gp_call *c);                                                                        \
    _Bool CPU(n)(const gp_call *c) {                                                                       \
        static const reducer reds[] = {ONE(n, f32, start), ONE(n, f64, start), ONE(n, i32, start), ONE(n, i64, start)}; \
        return run_reduce(c, reds);                                                                        \
    }
#include "tensor/ops.def"
