/* Matrix products by cuBLASLt. Its matrices are column-major: to it a row-major one is the
 * transpose, so it computes out' = b' a'. Target limits: 2 m n k operations at the tensor cores'
 * rate for f16 and bf16, at that of the cores for f32 (of TF32 where allowed) and f64. */
#include "kernels/cuda/matmul/matmul.h"

#include <cublasLt.h>
#include <limits.h>

#include "kernels/common/batch.h"
#include "kernels/cuda/runtime/libs.h"
#include "kernels/cuda/runtime/dense.h"
#include "kernels/cuda/runtime/plans.h"

enum { WORKSPACE = 32 << 20, PLANS = 1024, MOST_CALLS = 32, WORTH_PACKING = 1 << 18 };

static struct {
#define F GP_LIB_POINTER
#include "kernels/cuda/matmul/cublaslt.def"
} lt;
static const char *const names[] = {
#define F GP_LIB_NAME
#include "kernels/cuda/matmul/cublaslt.def"
};
_Static_assert(sizeof lt == sizeof names, "a pointer for each name");

static bool cublas_ok(const gp_call *c, cublasStatus_t s) {
    if (s == CUBLAS_STATUS_SUCCESS) return true;
    gp_fail("%s: cuBLASLt failed (%s)", c->op->name, gp_lib_status(GP_LIB_cublasLt, (int)s));
    return gp_lib_failed(c, s == CUBLAS_STATUS_ALLOC_FAILED);
}

static bool create(const gp_call *c, cudaStream_t s, void **handle) {
    enum { N = sizeof names / sizeof *names };
    if (!lt.cublasLtCreate &&
        !gp_lib_functions(GP_LIB_cublasLt, c->op->name, names, N, 0, (void **)&lt))
        return lt.cublasLtCreate = NULL, false;
    return cublas_ok(c, lt.cublasLtCreate((cublasLtHandle_t *)handle));
}

/* ---- plans ---- */

/* The key of an algorithm; compared byte by byte. */
typedef struct shape {
    int64_t m, n, k, batch, lda, ldb, ld, a_batch, b_batch, out_batch;
    int32_t dtype, to, align_a, align_b, align_out, device;
    bool ta, tb, bias, tf32;
} shape;

typedef struct plan {
    shape of;
    bool works; /* there is an algorithm */
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, out;
    cublasLtMatmulAlgo_t algo;
    size_t workspace;
} plan;
static int32_t alignment(const void *p) {
    uintptr_t low = (uintptr_t)p & -(uintptr_t)p;
    return low == 0 || low > 256 ? 256 : (int32_t)low;
}

static cudaDataType_t type_of(int dt) {
    return dt == GP_f64   ? CUDA_R_64F
           : dt == GP_f32 ? CUDA_R_32F
           : dt == GP_f16 ? CUDA_R_16F
                          : CUDA_R_16BF;
}

/* rows x cols as in cuBLASLt, columns ld apart. */
static bool layout(const gp_call *c, cublasLtMatrixLayout_t *to, const shape *s, int dtype,
                   int64_t rows, int64_t cols, int64_t ld, int64_t step) {
    int32_t batch = (int32_t)s->batch;
    if (!cublas_ok(c, lt.cublasLtMatrixLayoutCreate(to, type_of(dtype), (uint64_t)rows,
                                                    (uint64_t)cols, ld)))
        return false;
    return batch == 1 ||
           (cublas_ok(c, lt.cublasLtMatrixLayoutSetAttribute(
                             *to, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch)) &&
            cublas_ok(c,
                      lt.cublasLtMatrixLayoutSetAttribute(
                          *to, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step)));
}

/* bias: only its alignment counts. */
static bool describe(const gp_call *c, plan *p, const void *bias) {
    const shape *s = &p->of;
    cublasComputeType_t compute = s->dtype == GP_f64              ? CUBLAS_COMPUTE_64F
                                  : s->dtype == GP_f32 && s->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                                                                  : CUBLAS_COMPUTE_32F;
    cublasOperation_t ta = s->tb ? CUBLAS_OP_T : CUBLAS_OP_N,
                      tb = s->ta ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasLtEpilogue_t end = s->bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    if (!cublas_ok(c, lt.cublasLtMatmulDescCreate(&p->desc, compute,
                                                  s->dtype == GP_f64 ? CUDA_R_64F : CUDA_R_32F)))
        return false;
#define SET(what, v)                                                                               \
    cublas_ok(                                                                                     \
        c, lt.cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_##what, &v, sizeof v))
    return SET(TRANSA, ta) && SET(TRANSB, tb) && SET(EPILOGUE, end) &&
           (!bias || SET(BIAS_POINTER, bias)) &&
           layout(c, &p->a, s, s->dtype, s->tb ? s->k : s->n, s->tb ? s->n : s->k, s->ldb,
                  s->b_batch) &&
           layout(c, &p->b, s, s->dtype, s->ta ? s->m : s->k, s->ta ? s->k : s->m, s->lda,
                  s->a_batch) &&
           layout(c, &p->out, s, s->to, s->n, s->m, s->ld, s->out_batch);
}

/* Partial sums of several blocks are added in f32 and in one order: the result is deterministic. */
static bool choose(const gp_call *c, cublasLtHandle_t h, plan *p) {
    const shape *s = &p->of;
    cublasLtMatmulPreference_t pref;
    cublasLtMatmulHeuristicResult_t best;
    uint64_t most = WORKSPACE;
    uint32_t sums = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    int found = 0;
    if (!cublas_ok(c, lt.cublasLtMatmulPreferenceCreate(&pref))) return false;
#undef SET
#define SET(what, v)                                                                               \
    cublas_ok(c, lt.cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_##what, &v,    \
                                                         sizeof v))
    uint32_t a = (uint32_t)s->align_b, b = (uint32_t)s->align_a, o = (uint32_t)s->align_out;
    bool ok = SET(MAX_WORKSPACE_BYTES, most) && SET(REDUCTION_SCHEME_MASK, sums) &&
              SET(MIN_ALIGNMENT_A_BYTES, a) && SET(MIN_ALIGNMENT_B_BYTES, b) &&
              SET(MIN_ALIGNMENT_C_BYTES, o) && SET(MIN_ALIGNMENT_D_BYTES, o);
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    if (ok)
        status = lt.cublasLtMatmulAlgoGetHeuristic(h, p->desc, p->a, p->b, p->out, p->out, pref, 1,
                                                   &best, &found);
    lt.cublasLtMatmulPreferenceDestroy(pref);
    if (!ok) return false;
    p->works = status == CUBLAS_STATUS_SUCCESS && found > 0 && best.state == CUBLAS_STATUS_SUCCESS;
    if (p->works) p->algo = best.algo, p->workspace = best.workspaceSize;
    return p->works || status == CUBLAS_STATUS_SUCCESS || status == CUBLAS_STATUS_NOT_SUPPORTED ||
           cublas_ok(c, status);
}

static void forget(const gp_call *c, void *old) {
    const plan *p = old;
    (void)c;
    if (p->a) lt.cublasLtMatrixLayoutDestroy(p->a);
    if (p->b) lt.cublasLtMatrixLayoutDestroy(p->b);
    if (p->out) lt.cublasLtMatrixLayoutDestroy(p->out);
    if (p->desc) lt.cublasLtMatmulDescDestroy(p->desc);
}

static gp_plans plans = {
    .key = sizeof(shape), .size = sizeof(plan), .most = PLANS, .forget = forget};

/* The plan for a shape; NULL with a message. */
static plan *plan_of(const gp_call *c, cublasLtHandle_t h, const shape *s, const void *bias) {
    plan *p = gp_plans_find(&plans, s);
    if (p) return p;
    p = gp_plans_add(&plans, c, s);
    if (!p || (describe(c, p, bias) && choose(c, h, p))) return p;
    gp_plans_drop(&plans, c, p);
    return NULL;
}

/* ---- one product ---- */

static double number(gp_scalar s) { return s.is_float ? s.f : (double)s.i; }

/* A workspace of `bytes`; work queued on one stream may share it. */
static void *workspace(const gp_call *c, gp_scratch_block *scratch, size_t bytes) {
    if (!scratch) return gp_cuda_scratch(c, bytes);
    if (scratch->bytes < bytes) {
        scratch->data = gp_cuda_scratch(c, bytes);
        scratch->bytes = scratch->data ? bytes : 0;
    }
    return scratch->data;
}

/* *works: whether cuBLASLt has an algorithm for it. */
static bool by_library(const gp_call *c, const gp_product *q, const shape *s, bool *works) {
    cublasLtHandle_t h = (cublasLtHandle_t)gp_lib_handle(c, GP_LIB_cublasLt, create);
    if (!h) return false;
    double alpha = number(q->alpha), beta = number(q->beta);
    float alpha32 = (float)alpha, beta32 = (float)beta;
    bool wide = q->dtype == GP_f64, ok = true;
    gp_lib_lock();
    plan *p = plan_of(c, h, s, q->bias);
    *works = p && p->works;
    void *scratch = *works && p->workspace ? workspace(c, q->scratch, p->workspace) : NULL;
    ok = p && (!*works || !p->workspace || scratch);
    if (ok && *works && q->bias)
        ok =
            cublas_ok(c, lt.cublasLtMatmulDescSetAttribute(
                             p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &q->bias, sizeof q->bias));
    if (ok && *works)
        ok = cublas_ok(c, lt.cublasLtMatmul(
                              h, p->desc, wide ? (void *)&alpha : (void *)&alpha32, q->b, p->a,
                              q->a, p->b, wide ? (void *)&beta : (void *)&beta32, q->out, p->out,
                              q->out, p->out, &p->algo, scratch, p->workspace, gp_cuda_stream(c)));
    gp_lib_unlock();
    return ok;
}

bool gp_cuda_product(const gp_call *c, const gp_product *q) {
    shape s;
    bool works = false;
    if (!q->m || !q->n || !q->batch) return true;
    memset(&s, 0, sizeof s);
    if (gp_is_float(q->dtype) && q->k && q->batch <= INT_MAX &&
        gp_readable(q->m, q->k, q->a_rs, q->a_cs, &s.ta, &s.lda) &&
        gp_readable(q->k, q->n, q->b_rs, q->b_cs, &s.tb, &s.ldb)) {
        s.m = q->m, s.n = q->n, s.k = q->k, s.batch = q->batch, s.ld = q->ld;
        if (q->batch > 1)
            s.a_batch = q->a_batch, s.b_batch = q->b_batch, s.out_batch = q->out_batch;
        s.dtype = (int32_t)q->dtype, s.to = (int32_t)q->to, s.bias = q->bias != NULL,
        s.tf32 = gp_libs.tf32;
        s.align_a = alignment(q->a), s.align_b = alignment(q->b), s.align_out = alignment(q->out);
        cudaGetDevice(&s.device);
        if (!by_library(c, q, &s, &works)) return false;
    }
    return works || gp_cuda_plain_product(c, q);
}

/* ---- the batch ---- */

typedef struct batch {
    gp_product p;
    gp_batch all;
} batch;

static void read_batch(batch *t, const gp_array *a, const gp_array *b, const gp_array *out) {
    gp_batch *all = &t->all;
    gp_batch_read(all, a, b, out);
    t->p.a = a->data, t->p.b = b->data;
    t->p.m = all->m, t->p.n = all->n, t->p.k = all->k;
    t->p.a_rs = all->a_rs, t->p.a_cs = all->a_cs, t->p.b_rs = all->b_rs, t->p.b_cs = all->b_cs;
}

/* One call for the innermost dim of the batch, for each index of the others. */
static bool every(const gp_call *c, const batch *t) {
    gp_product p = t->p;
    gp_scratch_block scratch = {NULL, 0};
    const gp_batch *all = &t->all;
    int last = all->ndim - 1;
    int64_t calls = gp_batch_count(all, last), step = p.m * p.n, a, b;
    if (last >= 0) p.batch = all->dim[last], p.a_batch = all->as[last], p.b_batch = all->bs[last];
    p.ld = p.n, p.out_batch = step, p.scratch = &scratch;
    for (int64_t i = 0; i < calls; i++) {
        gp_batch_at(all, last, i, &a, &b);
        p.a = t->p.a + a * p.size, p.b = t->p.b + b * p.size;
        p.out = t->p.out + i * p.batch * step * p.to_size;
        if (!gp_cuda_product(c, &p)) return false;
    }
    return true;
}

/* Whether x needs a dense copy: a library cannot read its matrices, or the batch would take too
 * many calls. */
static bool copy_if(const gp_call *c, const gp_array *x, bool needed, const gp_array *out, int own,
                    gp_array *to) {
    int64_t dim[GP_MAX_DIM];
    int n = out->ndim - own, mine = x->ndim < 2 ? x->ndim : 2;
    *to = *x;
    if (!needed) return true;
    for (int d = 0; d < n; d++) dim[d] = out->dim[d];
    for (int d = 0; d < mine; d++) dim[n + d] = x->dim[x->ndim - mine + d];
    if (x->ndim < 2) n = 0, dim[0] = x->dim[0];
    *to = gp_dense_over(NULL, (gp_dtype)x->dtype, n + mine, dim);
    to->data = (char *)gp_cuda_scratch(c, (size_t)to->numel * gp_dtype_size((gp_dtype)x->dtype));
    return to->data && gp_cuda_copy_array(c, to, x);
}

static bool plan_batch(const gp_call *c, batch *t, const gp_array *a, const gp_array *b) {
    const gp_array *out = gp_out(c, 0);
    gp_array a2, b2;
    bool trans;
    int64_t ld;
    int own = (a->ndim > 1) + (b->ndim > 1);
    read_batch(t, a, b, out);
    int64_t calls = gp_batch_count(&t->all, t->all.ndim - 1);
    bool worth = gp_is_float(t->p.dtype) && t->p.m * t->p.n * t->p.k >= WORTH_PACKING;
    bool pack_a = calls > MOST_CALLS ||
                  (worth && !gp_readable(t->p.m, t->p.k, t->p.a_rs, t->p.a_cs, &trans, &ld));
    bool pack_b = calls > MOST_CALLS ||
                  (worth && !gp_readable(t->p.k, t->p.n, t->p.b_rs, t->p.b_cs, &trans, &ld));
    if (!pack_a && !pack_b) return true;
    if (!copy_if(c, a, pack_a, out, own, &a2) || !copy_if(c, b, pack_b, out, own, &b2))
        return false;
    read_batch(t, &a2, &b2, out);
    return true;
}

/* ---- calls ---- */

/* x, beta and alpha of beta x + alpha a b; x NULL: a b alone. */
typedef struct sum {
    const gp_array *x;
    gp_scalar beta, alpha;
} sum;

/* Whether x is one row for all rows of the result, which can be added as a bias. */
static bool is_bias(const gp_array *x, const gp_array *out, const batch *t) {
    int last = x->ndim - 1;
    if (!gp_is_float((gp_dtype)x->dtype) || x->ndim < 1 || out->ndim < 1) return false;
    if (x->dim[last] != t->p.n || out->dim[out->ndim - 1] != t->p.n ||
        (x->stride[last] != 1 && t->p.n > 1))
        return false;
    return x->numel == t->p.n && (uintptr_t)x->data % 16 == 0;
}

static bool multiply(const gp_call *c, const gp_array *a, const gp_array *b, sum s) {
    const gp_array *out = gp_out(c, 0);
    batch t;
    memset(&t, 0, sizeof t);
    if (out->numel == 0) return true;
    t.p = gp_product_of((gp_dtype)a->dtype, 0, 0, 0);
    t.p.out = out->data;
    if (!plan_batch(c, &t, a, b)) return false;
    if (s.x) {
        t.p.alpha = s.alpha;
        if (number(s.beta) == 1 && is_bias(s.x, out, &t)) {
            t.p.bias = s.x->data;
        } else if (number(s.beta) != 0) {
            t.p.beta = s.beta;
            if (!gp_cuda_copy_array(c, out, s.x)) return false;
        }
    }
    return every(c, &t);
}

bool CUDA(matmul)(const gp_call *c) { return multiply(c, gp_in(c, 0), gp_in(c, 1), (sum){0}); }
bool CUDA(mm)(const gp_call *c) { return CUDA(matmul)(c); }
bool CUDA(bmm)(const gp_call *c) { return CUDA(matmul)(c); }
bool CUDA(mv)(const gp_call *c) { return CUDA(matmul)(c); }
bool CUDA(dot)(const gp_call *c) { return CUDA(matmul)(c); }

bool CUDA(addmm)(const gp_call *c) {
    sum s = {gp_in(c, 0), gp_value_scalar(&c->arg[3]), gp_value_scalar(&c->arg[4])};
    return multiply(c, gp_in(c, 1), gp_in(c, 2), s);
}
bool CUDA(addmv)(const gp_call *c) { return CUDA(addmm)(c); }
bool CUDA(baddbmm)(const gp_call *c) { return CUDA(addmm)(c); }

/* x times the transposed weight, plus bias. */
bool CUDA(linear)(const gp_call *c) {
    sum s = {.x = gp_in(c, 2), .beta = {.i = 1}, .alpha = {.i = 1}};
    gp_array w = *gp_in(c, 1);
    if (w.ndim == 2) {
        gp_array t = w;
        w.dim[0] = t.dim[1], w.stride[0] = t.stride[1];
        w.dim[1] = t.dim[0], w.stride[1] = t.stride[0];
        w.contiguous = false;
    }
    return multiply(c, gp_in(c, 0), &w, s);
}
