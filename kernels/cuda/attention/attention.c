/* attention and its gradients: by cuDNN where it has them (cudnn.c), else by products (cuBLASLt)
 * and kernels for the scores (attention.cu), which are then in memory, in compute type. Operands of
 * 16 bits are multiplied as such and added in f32; scores and their gradients are rounded to 16
 * bits before they are multiplied, as cuDNN does. Limit: 4 (backward 10) operations per query, key
 * and feature at the products' rate, and the scores' reads and writes. */
#include "kernels/cuda/attention/attention.h"

#include "kernels/cuda/runtime/dense.h"
#include "kernels/cuda/matmul/matmul.h"

/* One call by products: batches * heads matrices, dense. */
typedef struct attention_call {
    const gp_call *c;
    gp_attention k;
    bool wide;
    gp_dtype dtype, operand; /* of scores: compute type; of what is multiplied */
    int64_t size;            /* bytes of a score */
    gp_scratch_block scratch;
} attention_call;

static void open_call(const gp_call *c, attention_call *r) {
    memset(r, 0, sizeof *r);
    r->c = c;
    gp_attention_read(c, &r->k);
    r->wide = r->k.q->dtype == GP_f64;
    r->dtype = r->wide ? GP_f64 : GP_f32;
    r->size = (int64_t)gp_dtype_size(r->dtype);
    gp_dtype q = (gp_dtype)r->k.q->dtype;
    bool narrow = q == GP_f16 || (q == GP_bf16 && gp_cuda_arch(c) >= 80), /* older: no products */
        same = r->k.k->dtype == q && r->k.v->dtype == q && gp_out(c, 0)->dtype == q;
    r->operand = narrow && same ? q : r->dtype;
}

/* x, dense, in the dtype of scores, or of what is multiplied. */
static const char *dense(const attention_call *r, const gp_array *x, gp_dtype dt) {
    gp_array a;
    return gp_cuda_dense(r->c, x, dt, &a) ? a.data : NULL;
}
static const char *factor(const attention_call *r, const gp_array *x) {
    return dense(r, x, r->operand);
}

static char *new_scores(const attention_call *r) {
    const gp_attention *k = &r->k;
    return (char *)gp_cuda_scratch(r->c, (size_t)(k->batch * k->heads * k->l * k->s * r->size));
}

/* Scores as what is multiplied. */
static const char *score_factor(const attention_call *r, const char *scores) {
    const gp_attention *k = &r->k;
    int64_t dim[1] = {k->batch * k->heads * k->l * k->s};
    gp_array x = gp_dense_over((void *)scores, r->dtype, 1, dim);
    return scores ? factor(r, &x) : NULL;
}

/* Where products write the result `out`: in place, or in scratch that copy_to_output reads. */
static char *output_buffer(const attention_call *r, const gp_array *out) {
    if (out->dtype == r->operand && out->contiguous) return out->data;
    return (char *)gp_cuda_scratch(r->c, (size_t)out->numel * gp_dtype_size(r->operand));
}
static bool copy_to_output(const attention_call *r, const gp_array *out, char *p) {
    gp_array from = gp_dense_over(p, r->operand, out->ndim, out->dim);
    return p == out->data || gp_cuda_copy_array(r->c, out, &from);
}

/* out (m x n, of dtype `to`) = a (m x k) b (k x n) times scale, head by head; at, bt: the operand
 * is stored transposed. */
static bool product(attention_call *r, bool at, bool bt, int64_t m, int64_t n, int64_t k,
                    const char *a, const char *b, double scale, gp_dtype to, char *out) {
    if (!a || !b || !out) return false;
    gp_product p = gp_product_of(r->operand, m, n, k);
    p.to = to, p.to_size = (int64_t)gp_dtype_size(to);
    p.batch = r->k.batch * r->k.heads;
    p.a = a, p.b = b, p.out = out, p.scratch = &r->scratch;
    p.a_rs = at ? 1 : k, p.a_cs = at ? m : 1, p.a_batch = m * k;
    p.b_rs = bt ? 1 : n, p.b_cs = bt ? k : 1, p.b_batch = k * n;
    p.out_batch = m * n;
    p.alpha = (gp_scalar){.is_float = true, .f = scale};
    return gp_cuda_product(r->c, &p);
}

static bool forward(const gp_call *c) {
    attention_call r;
    bool done;
    open_call(c, &r);
    const gp_attention *k = &r.k;
    if (!gp_attention_by_cudnn(c, k, &done)) return false;
    if (done) return true;
    const gp_array *out = gp_out(c, 0);
    char *scores = new_scores(&r), *to = output_buffer(&r, out),
         *stats = c->nout > 1 ? gp_out(c, 1)->data : NULL;
    return product(&r, false, true, k->l, k->s, k->size, factor(&r, k->q), factor(&r, k->k),
                   k->scale, r.dtype, scores) &&
           gp_attention_shares(c, k, r.wide, scores, stats, false) &&
           product(&r, false, false, k->l, k->width, k->s, score_factor(&r, scores),
                   factor(&r, k->v), 1, r.operand, to) &&
           copy_to_output(&r, out, to);
}

bool CUDA(attention)(const gp_call *c) { return forward(c); }
bool CUDA(attention_forward)(const gp_call *c) { return forward(c); }

bool CUDA(attention_backward)(const gp_call *c) {
    attention_call r;
    bool done;
    open_call(c, &r);
    const gp_attention *k = &r.k;
    if (!gp_attention_back_by_cudnn(c, k, &done)) return false;
    if (done) return true;
    const gp_array *grad = gp_in(c, GP_ATTENTION_GRAD);
    const char *q = factor(&r, k->q), *key = factor(&r, k->k), *v = factor(&r, k->v),
               *g = factor(&r, grad), *wide_g = dense(&r, grad, r.dtype),
               *out = dense(&r, gp_in(c, GP_ATTENTION_OUT), r.dtype),
               *stats = dense(&r, gp_in(c, GP_ATTENTION_STATS), r.dtype), *slope;
    char *share = new_scores(&r), *d = new_scores(&r), *to[3];
    for (int i = 0; i < 3; i++)
        if (!(to[i] = output_buffer(&r, gp_out(c, i)))) return false;
    return wide_g && out && stats &&
           product(&r, false, true, k->l, k->s, k->size, q, key, k->scale, r.dtype, share) &&
           gp_attention_shares(c, k, r.wide, share, (void *)stats, true) &&
           product(&r, true, false, k->s, k->width, k->l, score_factor(&r, share), g, 1, r.operand,
                   to[2]) &&
           product(&r, false, true, k->l, k->s, k->width, g, v, 1, r.dtype, d) &&
           gp_attention_slopes(c, k, r.wide, d, share, wide_g, out) &&
           (slope = score_factor(&r, d)) != NULL &&
           product(&r, false, false, k->l, k->size, k->s, slope, key, 1, r.operand, to[0]) &&
           product(&r, true, false, k->s, k->size, k->l, slope, q, 1, r.operand, to[1]) &&
           copy_to_output(&r, gp_out(c, 0), to[0]) && copy_to_output(&r, gp_out(c, 1), to[1]) &&
           copy_to_output(&r, gp_out(c, 2), to[2]);
}
