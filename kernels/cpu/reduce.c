/* Reductions of the table: each row's combine formula folds blocks of reduced elements in lanes, or
   many outputs at once where these lie side by side. Work is cut into pieces by shape alone, so
   that a result does not depend on the number of threads. */
#include <stdlib.h>
#include <string.h>

#include "kernels/kernel.h"

#include "kernels/cpu/math.h"

/* LANES: partial results side by side. COLUMNS: outputs that are computed together. CASCADE, ROWS:
   elements after which a partial sum is put away, so that rounding errors grow much slower than the
   count. */
enum { LANES = 32, COLUMNS = 512, CASCADE = 65536, ROWS = 32, GRAIN = 32768, FEW = 16, PARTS = 64 };

typedef struct reducer {
    void (*start)(void *acc, int64_t n);               /* n accumulators */
    void (*fold)(void *acc, const void *x, int64_t n); /* n elements into one */
    void (*each)(void *acc, const void *x, int64_t n); /* element i into accumulator i */
    void (*finish)(void *acc, double count, int64_t n);
} reducer;

typedef struct run {
    const gp_array *x, *out;
    reducer red;
    gp_ctype ct;
    gp_load load;
    gp_store store;
    int nkept, nred;
    int64_t kept_dim[GP_MAX_DIM], kept_stride[GP_MAX_DIM], red_dim[GP_MAX_DIM],
        red_stride[GP_MAX_DIM]; /* strides in bytes */
    int64_t count;              /* elements reduced into one */
    bool columns; /* outputs of the last kept dim lie closer than reduced elements: COLUMNS at a
                     time */
    int64_t width,
        blocks;    /* outputs of the last kept dim (1: one at a time); blocks of outputs in all */
    int64_t parts; /* pieces of the reduced elements, where the outputs are too few to share out */
    char *partial; /* parts x outputs accumulators */
} run;

#undef bool /* a row of dtype.def */
#define T_f32 float
#define T_f64 double
#define T_i32 int32_t
#define T_i64 int64_t
/* What a row says it starts with; lowest and highest are cut to the type's range. */
#define lowest (-INFINITY)
#define highest INFINITY
static inline float cut_f32(double v) { return (float)v; }
static inline double cut_f64(double v) { return v; }
static inline int32_t cut_i32(double v) {
    return v == INFINITY ? INT32_MAX : v == -INFINITY ? INT32_MIN : (int32_t)v;
}
static inline int64_t cut_i64(double v) {
    return v == INFINITY ? INT64_MAX : v == -INFINITY ? INT64_MIN : (int64_t)v;
}

/* clang-format off */
#define REDUCE1(nm, t, start, combine, finish)                                                   \
    static inline T_##t step_##nm##_##t(T_##t acc, T_##t x) { return (T_##t)(combine); }         \
    static void start_##nm##_##t(void *p, int64_t n) {                                           \
        for (int64_t i = 0; i < n; i++) ((T_##t *)p)[i] = cut_##t(start);                        \
    }                                                                                            \
    static void fold_##nm##_##t(void *p, const void *src, int64_t n) {                           \
        const T_##t *s = src;                                                                    \
        T_##t a = *(T_##t *)p, lane[LANES];                                                      \
        int64_t i = 0;                                                                           \
        if (n >= 2 * LANES) {                                                                    \
            for (int j = 0; j < LANES; j++) lane[j] = cut_##t(start);                            \
            for (; i + LANES <= n; i += LANES)                                                   \
                _Pragma("omp simd")                                                              \
                for (int j = 0; j < LANES; j++) lane[j] = step_##nm##_##t(lane[j], s[i + j]);    \
            for (int w = LANES / 2; w; w /= 2)                                                   \
                for (int j = 0; j < w; j++) lane[j] = step_##nm##_##t(lane[j], lane[j + w]);     \
            a = step_##nm##_##t(a, lane[0]);                                                     \
        }                                                                                        \
        for (; i < n; i++) a = step_##nm##_##t(a, s[i]);                                         \
        *(T_##t *)p = a;                                                                         \
    }                                                                                            \
    static void each_##nm##_##t(void *p, const void *src, int64_t n) {                           \
        const T_##t *s = src;                                                                    \
        T_##t *a = p;                                                                            \
        _Pragma("omp simd")                                                                      \
        for (int64_t i = 0; i < n; i++) a[i] = step_##nm##_##t(a[i], s[i]);                      \
    }                                                                                            \
    static void finish_##nm##_##t(void *p, double n, int64_t many) {                             \
        (void)n;                                                                                 \
        for (int64_t i = 0; i < many; i++) {                                                     \
            const T_##t acc = ((T_##t *)p)[i];                                                   \
            ((T_##t *)p)[i] = (T_##t)(finish);                                                   \
        }                                                                                        \
    }
/* clang-format on */
#define REDUCE(n, ty, start, combine, finish, ...)                                                 \
    REDUCE1(n, f32, start, combine, finish)                                                        \
    REDUCE1(n, f64, start, combine, finish) REDUCE1(n, i32, start, combine, finish)                \
        REDUCE1(n, i64, start, combine, finish)
#include "tensor/ops.def"

/* ---- one output ---- */

/* Elements [from, to) of a row of the reduced part, into acc. */
static void fold_row(const run *r, void *acc, const char *row, int64_t n) {
    _Alignas(64) char buf[GP_BLOCK * 8];
    int64_t step = r->red_stride[r->nred - 1];
    _Bool direct = r->x->dtype == gp_ctype_dtype[r->ct] && step == gp_ctype_size[r->ct];
    for (int64_t i = 0; i < n; i += GP_BLOCK) {
        int64_t m = n - i < GP_BLOCK ? n - i : GP_BLOCK;
        if (!direct) r->load(buf, row + i * step, step, m);
        r->red.fold(acc, direct ? row + i * step : buf, m);
    }
}

/* Where element `at` of the reduced part that begins at p is: a row of the last reduced dim, and
 * the column in it. */
static const char *reduced_at(const run *r, const char *p, int64_t at) {
    for (int d = r->nred - 1; d >= 0; d--)
        p += at % r->red_dim[d] * r->red_stride[d], at /= r->red_dim[d];
    return p;
}

/* Folds elements [from, to) of the reduced part at p into acc, a cascade at a time. */
static void fold_range(const run *r, void *acc, const char *p, int64_t from, int64_t to) {
    int64_t width = r->red_dim[r->nred - 1], part, done = 0;
    r->red.start(&part, 1);
    for (int64_t at = from; at < to;) {
        int64_t left = width - at % width, n = left < to - at ? left : to - at;
        if (n > CASCADE - done) n = CASCADE - done;
        fold_row(r, &part, reduced_at(r, p, at), n);
        at += n;
        done += n;
        if (done < CASCADE && at < to) continue;
        r->red.each(acc, &part, 1);
        r->red.start(&part, 1);
        done = 0;
    }
}

/* ---- outputs side by side ---- */

/* Folds elements [from, to) of n reduced parts that begin at p and lie side by side, each into its
 * accumulator. */
static void fold_columns(const run *r, void *acc, const char *p, int64_t n, int64_t from,
                         int64_t to) {
    _Alignas(64) char part[COLUMNS * 8], more[COLUMNS * 8], buf[COLUMNS * 8];
    int64_t step = r->kept_stride[r->nkept - 1];
    _Bool direct = r->x->dtype == gp_ctype_dtype[r->ct] && step == gp_ctype_size[r->ct];
    r->red.start(more, n);
    for (int64_t at = from, parts = 1; at < to; parts++) {
        int64_t stop = to - at < ROWS ? to : at + ROWS;
        r->red.start(part, n);
        for (; at < stop; at++) {
            const char *row = r->nred == 1 ? p + at * r->red_stride[0] : reduced_at(r, p, at);
            if (!direct) r->load(buf, row, step, n);
            r->red.each(part, direct ? row : buf, n);
        }
        r->red.each(more, part, n);
        if (parts % ROWS && at < to) continue;
        r->red.each(acc, more, n);
        r->red.start(more, n);
    }
}

/* ---- blocks of outputs, parts of the reduced elements ---- */

static const char *kept_at(const run *r, int64_t i) {
    const char *p = r->x->data;
    for (int d = r->nkept - 1; d >= 0; d--)
        p += i % r->kept_dim[d] * r->kept_stride[d], i /= r->kept_dim[d];
    return p;
}

/* First output of a block, and how many it has. */
static int64_t block_at(const run *r, int64_t block, int64_t *n) {
    if (!r->columns) return *n = 1, block;
    int64_t per_row = (r->width + COLUMNS - 1) / COLUMNS, first = block % per_row * COLUMNS;
    *n = r->width - first < COLUMNS ? r->width - first : COLUMNS;
    return block / per_row * r->width + first;
}

static void store_outputs(const run *r, int64_t first, void *acc, int64_t n) {
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)r->out->dtype);
    r->red.finish(acc, (double)r->count, n);
    r->store(r->out->data + first * size, size, acc, n);
}

static void reduce_blocks(void *ctx, int64_t begin, int64_t end) {
    const run *r = ctx;
    _Alignas(64) char acc[COLUMNS * 8];
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t n, part = unit % r->parts, first = block_at(r, unit / r->parts, &n);
        int64_t from = r->count * part / r->parts, to = r->count * (part + 1) / r->parts;
        r->red.start(acc, n);
        if (r->columns) fold_columns(r, acc, kept_at(r, first), n, from, to);
        else fold_range(r, acc, kept_at(r, first), from, to);
        if (r->parts == 1) store_outputs(r, first, acc, n);
        else
            memcpy(r->partial + (part * r->out->numel + first) * gp_ctype_size[r->ct], acc,
                   (size_t)n * gp_ctype_size[r->ct]);
    }
}

static void join_parts(const run *r) {
    int64_t numel = r->out->numel;
    for (int64_t part = 1; part < r->parts; part++)
        r->red.each(r->partial, r->partial + part * numel * gp_ctype_size[r->ct], numel);
    store_outputs(r, 0, r->partial, numel);
}

/* Splits x's dims into kept and reduced ones, each joined where their memory allows. */
static void split(run *r, uint64_t mask) {
    const gp_array *x = r->x;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    r->count = 1;
    for (int d = 0; d < x->ndim; d++) {
        _Bool red = mask >> d & 1;
        int *n = red ? &r->nred : &r->nkept;
        int64_t *dim = red ? r->red_dim : r->kept_dim,
                *stride = red ? r->red_stride : r->kept_stride;
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

/* How the work is shared out: by outputs, or where these are few and long, by parts of the reduced
 * elements too. */
static void plan(run *r) {
    int64_t numel = r->out->numel;
    r->width = r->nkept ? r->kept_dim[r->nkept - 1] : 1;
    r->columns = r->width >= 8 && r->kept_stride[r->nkept - 1] < r->red_stride[r->nred - 1];
    r->blocks = r->columns ? numel / r->width * ((r->width + COLUMNS - 1) / COLUMNS) : numel;
    int64_t work = r->count * (r->columns ? (r->width < COLUMNS ? r->width : COLUMNS) : 1);
    r->parts = r->blocks < FEW ? work / GRAIN : 1;
    r->parts = r->parts < 1 ? 1 : r->parts > PARTS ? PARTS : r->parts;
    if (r->parts > r->count) r->parts = r->count ? r->count : 1;
}

static _Bool run_reduce(const gp_call *c, const reducer *reds) {
    run r = {.x = gp_in(c, 0), .out = gp_out(c, 0), .ct = gp_compute_type((gp_dtype)c->compute)};
    char room[PARTS * 8];
    r.red = reds[r.ct];
    r.load = gp_load_fn((gp_dtype)r.x->dtype, r.ct);
    r.store = gp_store_fn(r.ct, (gp_dtype)r.out->dtype);
    if (r.out->numel == 0) return 1;
    split(&r, (uint64_t)c->arg[1].i);
    plan(&r);
    r.partial = r.out->numel == 1 || r.parts == 1
                    ? room
                    : malloc((size_t)(r.parts * r.out->numel) * gp_ctype_size[r.ct]);
    if (!r.partial) return gp_fail("%s: out of memory", c->op->name);
    int64_t per_unit =
        r.count / r.parts * (r.columns ? (r.width < COLUMNS ? r.width : COLUMNS) : 1);
    gp_parallel(r.blocks * r.parts, 1 + GRAIN / (per_unit + 1), reduce_blocks, &r);
    if (r.parts > 1) join_parts(&r);
    if (r.partial != room) free(r.partial);
    return 1;
}

#define ONE(n, t)                                                                                  \
    { start_##n##_##t, fold_##n##_##t, each_##n##_##t, finish_##n##_##t }
#define REDUCE(n, ty, start, ...)                                                                  \
    _Bool CPU(n)(const gp_call *c);                                                                \
    _Bool CPU(n)(const gp_call *c) {                                                               \
        static const reducer reds[] = {ONE(n, f32), ONE(n, f64), ONE(n, i32), ONE(n, i64)};        \
        return run_reduce(c, reds);                                                                \
    }
#include "tensor/ops.def"
