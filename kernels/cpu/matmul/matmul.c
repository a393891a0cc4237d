/* Matrix products: f32 by oneDNN, f64 by OpenBLAS, integers and tiny sizes by plain loops; 16-bit
 * floats in f32, or in pairs where the processor has products of bf16 (half.c). */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "kernels/blas/blas.h"
#include "kernels/cpu/matmul/half.h"
#include "kernels/cpu/matmul/small.h"
#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/kernel.h"
#include "kernels/common/batch.h"

enum {
    TINY = 2048,
    ALONE = 1 << 18, /* multiplications: below, one thread is the fastest */
    PACK = 1 << 15   /* elements copied that are worth a thread */
};

/* Multiplications between checks for Ctrl-C, half as many in f64: about 50 ms on a core. */
#define SLICE (INT64_C(1) << 31)
#define PLAIN_SLICE (INT64_C(1) << 27)

typedef gp_matrix matrix;

typedef struct product {
    gp_ctype ct;
    const gp_array *out;
    matrix a, b; /* of the first of the batch */
    int64_t count;
    gp_batch batch;
    const gp_array *x; /* beta x + alpha a b is computed; NULL: a b */
    const gp_value *beta, *alpha;
    const gp_call *call; /* its threads share one product at a time; NULL: one product per thread */
    _Atomic bool no_memory, interrupted;
} product;

/* ---- plain loops ---- */

#define TEMPLATE "kernels/cpu/matmul/plain.inc"
#include "kernels/common/numbers.inc"

static void plain(gp_ctype ct, const matrix *a, const matrix *b, void *c, int64_t ld) {
    switch (ct) {
    case GP_CT_f32: plain_f32(a, b, c, ld); break;
    case GP_CT_f64: plain_f64(a, b, c, ld); break;
    case GP_CT_i32: plain_i32(a, b, c, ld); break;
    default: plain_i64(a, b, c, ld); break;
    }
}

/* ---- libraries ---- */

static bool readable(const matrix *x, bool *trans, int64_t *ld) {
    return gp_readable(x->rows, x->cols, x->rs, x->cs, trans, ld);
}

static int64_t vector_step(int64_t n, int64_t stride) { return n == 1 ? 1 : stride; }

/* y (dense) = x v. OpenBLAS adds to y, which is zero. */
static void matrix_vector(gp_ctype ct, const matrix *x, bool trans, int64_t ld, const char *v,
                          int64_t step, void *y) {
    int rows = (int)(trans ? x->cols : x->rows), cols = (int)(trans ? x->rows : x->cols);
    enum CBLAS_TRANSPOSE t = trans ? CblasTrans : CblasNoTrans;
    memset(y, 0, (size_t)x->rows * gp_ctype_size[ct]);
    if (ct == GP_CT_f32)
        gp_blas->cblas_sgemv(CblasRowMajor, t, rows, cols, 1, (const float *)x->data, (int)ld,
                             (const float *)v, (int)step, 1, y, 1);
    else
        gp_blas->cblas_dgemv(CblasRowMajor, t, rows, cols, 1, (const double *)x->data, (int)ld,
                             (const double *)v, (int)step, 1, y, 1);
}

static bool gemv(gp_ctype ct, const matrix *a, const matrix *b, void *c) {
    bool trans;
    int64_t ld;
    if (b->cols == 1) {
        int64_t step = vector_step(b->rows, b->rs);
        if (step < 1 || step > INT_MAX || !readable(a, &trans, &ld)) return false;
        matrix_vector(ct, a, trans, ld, b->data, step, c);
    } else {
        matrix bt = {b->data, b->dtype, b->cols, b->rows, b->cs, b->rs};
        int64_t step = vector_step(a->cols, a->cs);
        if (step < 1 || step > INT_MAX || !readable(&bt, &trans, &ld)) return false;
        matrix_vector(ct, &bt, trans, ld, a->data, step, c);
    }
    return true;
}

/* c's rows are ldc apart. */
static bool gemm(gp_ctype ct, const matrix *a, const matrix *b, void *c, int64_t ldc) {
    bool ta, tb, dense = ldc == b->cols;
    int64_t lda, ldb;
    if ((b->cols == 1 && dense) || a->rows == 1) return gemv(ct, a, b, c);
    if (dense && gp_small_product(ct, a, b, c)) return true;
    if (!readable(a, &ta, &lda) || !readable(b, &tb, &ldb)) return false;
    int64_t m = a->rows, n = b->cols, k = a->cols;
    if (ct == GP_CT_f32)
        return gp_sgemm(ta, tb, m, n, k, (const float *)a->data, lda, (const float *)b->data, ldb,
                        0, c, ldc);
    gp_blas->cblas_dgemm(CblasRowMajor, ta ? CblasTrans : CblasNoTrans,
                         tb ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k, 1,
                         (const double *)a->data, (int)lda, (const double *)b->data, (int)ldb, 0, c,
                         (int)ldc);
    return true;
}

/* ---- one product ---- */

/* Whether BLAS can read x in place. */
static bool is_ready(const matrix *x, gp_ctype ct) {
    bool trans;
    int64_t ld;
    if (x->dtype != gp_ctype_dtype[ct]) return false;
    return ct == GP_CT_i32 || ct == GP_CT_i64 ? x->cs == 1 || x->cols == 1
                                              : readable(x, &trans, &ld);
}

/* Lines of `width` elements, step bytes apart, to be converted to dense ones of another type. */
typedef struct lines {
    gp_load load;
    char *dst;
    const char *src;
    int64_t width, wide, next, step; /* wide: bytes of a new element; next: from line to line */
} lines;

static void load_lines(void *ctx, int64_t begin, int64_t end) {
    const lines *l = ctx;
    for (int64_t i = begin; i < end; i++)
        l->load(l->dst + i * l->width * l->wide, l->src + i * l->next, l->step, l->width);
}

/* Inside a parallel body it runs on this thread alone: p->call is NULL. */
static bool share(const product *p, int64_t n, int64_t width, gp_body body, void *ctx) {
    if (p->call) return gp_parallel_op(p->call, n, 1 + PACK / (1 + width), body, ctx);
    body(ctx, 0, n);
    return true;
}

/* Copies x to dst, dense and in compute type, along the dim whose elements are closer together
 * (integers always by rows, which their loops need). False when interrupted. */
static bool pack(const product *p, matrix *x, char *dst) {
    gp_ctype ct = p->ct;
    int64_t size = (int64_t)gp_dtype_size(x->dtype);
    bool columns = x->rs < x->cs && ct <= GP_CT_f64;
    int64_t n = columns ? x->cols : x->rows, width = columns ? x->rows : x->cols;
    lines l = {gp_load_fn(x->dtype, ct),
               dst,
               x->data,
               width,
               gp_ctype_size[ct],
               (columns ? x->cs : x->rs) * size,
               (columns ? x->rs : x->cs) * size};
    *x = (matrix){dst,     (gp_dtype)gp_ctype_dtype[ct], x->rows,
                  x->cols, columns ? 1 : x->cols,        columns ? x->rows : 1};
    return share(p, n, width, load_lines, &l);
}

/* Bytes for a packed x; 0 if it can be read in place. */
static size_t pack_bytes(const matrix *x, gp_ctype ct) {
    return is_ready(x, ct) ? 0 : ((size_t)(x->rows * x->cols) * gp_ctype_size[ct] + 63) / 64 * 64;
}

/* c = a b, in slices of step rows and width columns. */
static bool multiply_slices(gp_ctype ct, const matrix *a, const matrix *b, char *c, int64_t step,
                            int64_t width) {
    bool integers = ct == GP_CT_i32 || ct == GP_CT_i64, one = a->rows <= step && b->cols <= width;
    int64_t size = gp_ctype_size[ct];
    matrix p = *a, q = *b;
    for (int64_t i = 0; i < a->rows; i += step)
        for (int64_t j = 0; j < b->cols; j += width) {
            char *to = c + (i * b->cols + j) * size;
            if (!one && gp_stopped()) return false;
            p.rows = a->rows - i < step ? a->rows - i : step;
            p.data = a->data + i * a->rs * size;
            q.cols = b->cols - j < width ? b->cols - j : width;
            q.data = b->data + j * b->cs * size;
            bool few = integers || p.rows * q.cols * a->cols <= TINY,
                 done = few ? !integers && one && gp_small_product(ct, &p, &q, to)
                            : gemm(ct, &p, &q, to, b->cols);
            if (!done) plain(ct, &p, &q, to, b->cols);
        }
    return true;
}

/* Slices are whole rows where that makes them high enough, else squares: the libraries repack a
 * slice's part of a and of b, so small or thin ones are slow. */
static bool multiply(gp_ctype ct, const matrix *a, const matrix *b, void *c) {
    enum { LEAST = 256 };
    bool integers = ct == GP_CT_i32 || ct == GP_CT_i64;
    int64_t most = integers ? PLAIN_SLICE : ct == GP_CT_f64 ? SLICE / 2 : SLICE;
    int64_t row = b->cols * a->cols, step = most / row,
            side = (int64_t)sqrt((double)most / (double)a->cols), width = b->cols;
    if (side < LEAST) side = LEAST;
    if (integers || a->rows * row <= TINY) {
        step = step > 0 ? step : 1;
    } else if (step < side) {
        step = a->rows < side ? a->rows : side;
        width = most / (step * a->cols);
        if (width < LEAST) width = LEAST;
    }
    return multiply_slices(ct, a, b, c, step, width);
}

/* ---- products added to x ---- */

/* Rows of a product's result in compute type, and the output row at which they begin. */
typedef struct sum {
    const product *p;
    char *c;
    int64_t first;
} sum;

/* Elements of the output's last dim. */
static int64_t width_of(const product *p) {
    return p->out->ndim ? p->out->dim[p->out->ndim - 1] : 1;
}

/* The elements of x, broadcast to the output, for output row `row` (all dims but the last counted
 * as one); *step: bytes between them. */
static const char *row_of_x(const product *p, int64_t row, int64_t *step) {
    const gp_array *x = p->x, *out = p->out;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype), at = 0;
    for (int d = out->ndim - 2; d >= 0; d--) {
        int from = d - (out->ndim - x->ndim);
        if (from >= 0 && x->dim[from] > 1) at += row % out->dim[d] * x->stride[from];
        row /= out->dim[d];
    }
    *step = x->ndim && x->dim[x->ndim - 1] > 1 ? x->stride[x->ndim - 1] * size : 0;
    return x->data + at * size;
}

static double float_of(const gp_value *v) { return v->is_float ? v->f : (double)v->i; }
static int64_t int_of(const gp_value *v) { return v->i; }
#define VALUE_f32 float_of
#define VALUE_f64 float_of
#define VALUE_i32 int_of
#define VALUE_i64 int_of
#define TEMPLATE "kernels/cpu/matmul/add.inc"
#include "kernels/common/numbers.inc"

static void add_rows(void *ctx, int64_t begin, int64_t end) {
    const sum *s = ctx;
    switch (s->p->ct) {
    case GP_CT_f32: add_f32(s, begin, end); break;
    case GP_CT_f64: add_f64(s, begin, end); break;
    case GP_CT_i32: add_i32(s, begin, end); break;
    default: add_i64(s, begin, end); break;
    }
}

/* Replaces c, n elements of the output from element `first` on, by beta x + alpha c. */
static bool add_x(const product *p, char *c, int64_t first, int64_t n) {
    int64_t width = width_of(p);
    sum s = {p, c, first / width};
    return share(p, n / width, width, add_rows, &s);
}

typedef struct storing {
    gp_store store;
    char *out;
    const char *c;
    int64_t size, wide; /* bytes of an element of out, and of c */
} storing;

static void store_part(void *ctx, int64_t begin, int64_t end) {
    const storing *s = ctx;
    s->store(s->out + begin * s->size, s->size, s->c + begin * s->wide, end - begin);
}

static bool store(const product *p, char *out, const char *c, int64_t n) {
    gp_dtype dtype = (gp_dtype)p->out->dtype;
    storing s = {gp_store_fn(p->ct, dtype), out, c, (int64_t)gp_dtype_size(dtype),
                 gp_ctype_size[p->ct]};
    return share(p, n, 1, store_part, &s);
}

/* ---- 16 bits ---- */

static bool is_half(const product *p) {
    return gp_dtype_size(p->a.dtype) == 2 && gp_is_float(p->a.dtype) && p->a.dtype == p->b.dtype &&
           p->a.rows * p->b.cols * p->a.cols > TINY &&
           ((p->a.rows > 1 && p->b.cols > 1) || gp_half_is_few(&p->a, &p->b));
}

/* Scratch for one product: a and b packed, and the result in compute type. */
typedef struct workspace {
    size_t a, b, c;
} workspace;

static workspace workspace_of(const product *p) {
    workspace r = {0};
    bool tiny = p->a.dtype == gp_ctype_dtype[p->ct] && p->a.rows * p->b.cols * p->a.cols <= TINY;
    if (is_half(p)) {
        r.a = gp_half_bytes(&p->a, p->b.dtype);
        if (p->x) r.c = (size_t)(p->a.rows * p->b.cols) * sizeof(float);
        return r;
    }
    if (!tiny) r.a = pack_bytes(&p->a, p->ct), r.b = pack_bytes(&p->b, p->ct);
    if (p->out->dtype != gp_ctype_dtype[p->ct])
        r.c = (size_t)(p->a.rows * p->b.cols) * gp_ctype_size[p->ct];
    return r;
}

/* Returns false when interrupted. */
static bool one_product(product *p, int64_t i, const workspace *r, char *scratch) {
    matrix a = p->a, b = p->b;
    int64_t n = a.rows * b.cols, size = (int64_t)gp_dtype_size((gp_dtype)p->out->dtype), at, bt;
    gp_batch_at(&p->batch, p->batch.ndim, i, &at, &bt);
    a.data += at * (int64_t)gp_dtype_size(a.dtype);
    b.data += bt * (int64_t)gp_dtype_size(b.dtype);
    char *out = p->out->data + i * n * size, *c = r->c ? scratch + r->a + r->b : out;
    if (is_half(p)) {
        gp_dtype dtype = r->c ? GP_f32 : (gp_dtype)p->out->dtype;
        gp_half_product h = {.call = p->call, .c = c, .dtype = dtype, .ldc = b.cols};
        if (!gp_half_multiply(&h, &a, &b, r->a ? scratch : NULL)) {
            if (h.no_memory) p->no_memory = true;
            return false;
        }
        if (p->x && !add_x(p, c, i * n, n)) return false;
        return !r->c || store(p, out, c, n);
    }
    if (r->a && !pack(p, &a, scratch)) return false;
    if (r->b && !pack(p, &b, scratch + r->a)) return false;
    if (a.cols && !multiply(p->ct, &a, &b, c)) return false;
    if (!a.cols) memset(c, 0, (size_t)n * gp_ctype_size[p->ct]);
    if (p->x && !add_x(p, c, i * n, n)) return false;
    return !r->c || store(p, out, c, n);
}

/* ---- the batch ---- */

/* Whether n products are short enough, and enough of them, to hold signals for all at once. */
static bool holds_once(const product *p, int64_t n) {
    enum { MANY = 16, SHORT = 1 << 18 }; /* multiplications: a few microseconds */
    return n >= MANY && p->ct == GP_CT_f32 && p->a.rows * p->b.cols * p->a.cols <= SHORT;
}

/* Matrices [begin, end) of a batch. */
static void products(void *ctx, int64_t begin, int64_t end) {
    product *p = ctx;
    bool once = holds_once(p, end - begin);
    workspace r = workspace_of(p);
    size_t bytes = r.a + r.b + r.c;
    char *scratch = bytes ? gp_scratch(GP_SCRATCH_CALL, bytes) : NULL;
    if (bytes && !scratch) {
        p->no_memory = true;
        return;
    }
    if (once) gp_signals_hold();
    for (int64_t i = begin; i < end && !p->interrupted; i++)
        if (!one_product(p, i, &r, scratch)) p->interrupted = true;
    if (once) gp_signals_release();
}

static void products_alone(void *ctx, int64_t begin, int64_t end) {
    gp_blas_threads(1);
    products(ctx, begin, end);
}

static bool multiply_all(const gp_call *c, const gp_array *a, const gp_array *b, product p) {
    p.ct = gp_compute_type((gp_dtype)a->dtype);
    p.out = gp_out(c, 0);
    if (p.out->numel == 0) return true;
    if (!gp_blas_open()) return false;
    gp_batch *t = &p.batch;
    gp_batch_read(t, a, b, p.out);
    p.a = (matrix){a->data, (gp_dtype)a->dtype, t->m, t->k, t->a_rs, t->a_cs};
    p.b = (matrix){b->data, (gp_dtype)b->dtype, t->k, t->n, t->b_rs, t->b_cs};
    p.count = gp_batch_count(t, t->ndim);
    int64_t work = p.a.rows * (p.a.cols + 1) * p.b.cols;
    if (!gp_prefault_outputs(c)) return false;
    if (p.count >= gp_threads() || work < ALONE) {
        if (!gp_parallel_op(c, p.count, 1 + ALONE / work, products_alone, &p)) return false;
    } else {
        p.call = c;
        gp_blas_threads(gp_threads());
        products(&p, 0, p.count);
        gp_blas_joined();
    }
    if (p.interrupted) return gp_fail("%s: interrupted", c->name);
    return !p.no_memory || gp_fail("%s: out of memory", c->name);
}

bool CPU(matmul)(const gp_call *c) {
    return multiply_all(c, gp_in(c, 0), gp_in(c, 1), (product){0});
}
bool CPU(mm)(const gp_call *c) { return CPU(matmul)(c); }
bool CPU(bmm)(const gp_call *c) { return CPU(matmul)(c); }
bool CPU(mv)(const gp_call *c) { return CPU(matmul)(c); }
bool CPU(dot)(const gp_call *c) { return CPU(matmul)(c); }

bool CPU(addmm)(const gp_call *c) {
    return multiply_all(c, gp_in(c, 1), gp_in(c, 2),
                        (product){.x = gp_in(c, 0), .beta = &c->arg[3], .alpha = &c->arg[4]});
}
bool CPU(addmv)(const gp_call *c) { return CPU(addmm)(c); }
bool CPU(baddbmm)(const gp_call *c) { return CPU(addmm)(c); }

/* x times the transposed weight, plus bias. */
bool CPU(linear)(const gp_call *c) {
    static const gp_value one = {.kind = GP_NUMBER, .i = 1};
    gp_array w = *gp_in(c, 1);
    if (w.ndim == 2) {
        gp_array t = w;
        w.dim[0] = t.dim[1], w.stride[0] = t.stride[1];
        w.dim[1] = t.dim[0], w.stride[1] = t.stride[0];
    }
    return multiply_all(
        c, gp_in(c, 0), &w,
        (product){.x = gp_given(c, 2) ? gp_in(c, 2) : NULL, .beta = &one, .alpha = &one});
}
