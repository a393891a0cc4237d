/* attention and its gradients, one query at a time, in double: exact, as a reference for devices
 * with a fused kernel. scaled_dot_product_attention composes two products and a softmax here, which
 * is faster. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/kernel.h"
#include "tensor/ops/attention.h"

typedef struct attention_job {
    const gp_call *c;
    gp_attention k;
    int64_t ms[4]; /* the mask's strides */
    bool failed;
} attention_job;

static void open_run(const gp_call *c, attention_job *r) {
    *r = (attention_job){.c = c};
    gp_attention_read(c, &r->k);
    if (r->k.mask) gp_attention_mask_strides(&r->k, r->ms);
}

/* Row `row` of head `head` (of all batches) of a, n elements: in place, or converted into p. */
static char *row_at(const attention_job *r, const gp_array *a, int64_t head, int64_t row,
                    int64_t *step) {
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)a->dtype);
    *step = a->stride[3] * size;
    return (char *)a->data + (head / r->k.heads * a->stride[0] + head % r->k.heads * a->stride[1] +
                              row * a->stride[2]) *
                                 size;
}
static void get(const attention_job *r, const gp_array *a, int64_t head, int64_t row, int64_t n,
                double *p) {
    int64_t step;
    char *at = row_at(r, a, head, row, &step);
    gp_load_fn((gp_dtype)a->dtype, GP_CT_f64)(p, at, step, n);
}
static void store_row(const attention_job *r, const gp_array *a, int64_t head, int64_t row,
                      int64_t n, const double *p) {
    int64_t step;
    char *at = row_at(r, a, head, row, &step);
    gp_store_fn(GP_CT_f64, (gp_dtype)a->dtype)(at, step, p, n);
}

static double dot(const double *a, const double *b, int64_t n) {
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

/* Scores of query i; returns how many keys it sees. q, row: space for its features and a key's. */
static int64_t scores(const attention_job *r, int64_t head, int64_t i, double *q, double *row,
                      double *s) {
    const gp_attention *k = &r->k;
    const gp_array *m = k->mask;
    int64_t seen = k->causal && i + 1 < k->s ? i + 1 : k->s;
    get(r, k->q, head, i, k->size, q);
    if (m) {
        int64_t size = (int64_t)gp_dtype_size((gp_dtype)m->dtype),
                at = head / k->heads * r->ms[0] + head % k->heads * r->ms[1] + i * r->ms[2];
        gp_load_fn((gp_dtype)m->dtype, GP_CT_f64)(s, (char *)m->data + at * size, r->ms[3] * size,
                                                  seen);
    } else {
        memset(s, 0, (size_t)seen * sizeof *s);
    }
    for (int64_t j = 0; j < seen; j++) {
        get(r, k->k, head, j, k->size, row);
        s[j] += k->scale * dot(q, row, k->size);
    }
    return seen;
}

static double *part_scratch(attention_job *r, int64_t extra) {
    const gp_attention *k = &r->k;
    double *p = gp_scratch(GP_SCRATCH_PART,
                           (size_t)(2 * k->s + 3 * (k->size + k->width) + extra) * sizeof *p);
    if (!p) r->failed = true;
    return p;
}

/* Queries [begin, end) of all heads. */
static void forward(void *ctx, int64_t begin, int64_t end) {
    attention_job *r = ctx;
    const gp_attention *k = &r->k;
    double *s = part_scratch(r, 0);
    if (!s) return;
    double *q = s + k->s, *row = q + k->size, *y = row + k->size + k->width;
    for (int64_t u = begin; u < end; u++) {
        int64_t head = u / k->l, i = u % k->l, seen = scores(r, head, i, q, row, s);
        double most = -INFINITY, sum = 0;
        for (int64_t j = 0; j < seen; j++) most = s[j] > most || s[j] != s[j] ? s[j] : most;
        if (most == -INFINITY)
            seen = 0; /* no key is visible: y is 0, and so is each weight in backward */
        for (int64_t j = 0; j < seen; j++) sum += s[j] = exp(s[j] - most);
        memset(y, 0, (size_t)k->width * sizeof *y);
        for (int64_t j = 0; j < seen; j++) {
            get(r, k->v, head, j, k->width, row);
            for (int64_t e = 0; e < k->width; e++) y[e] += s[j] / sum * row[e];
        }
        store_row(r, gp_out(r->c, 0), head, i, k->width, y);
        if (r->c->nout < 2) continue;
        double stat = seen ? most + log(sum) : INFINITY;
        const gp_array *stats = gp_out(r->c, 1);
        gp_store_fn(GP_CT_f64, (gp_dtype)stats->dtype)(
            (char *)stats->data + u * (int64_t)gp_dtype_size((gp_dtype)stats->dtype), 0, &stat, 1);
    }
}

static double stat_of(const attention_job *r, int64_t head, int64_t i) {
    const gp_array *a = gp_in(r->c, GP_ATTENTION_STATS);
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)a->dtype);
    double v;
    gp_load_fn((gp_dtype)a->dtype,
               GP_CT_f64)(&v,
                          (char *)a->data + (head / r->k.heads * a->stride[0] +
                                             head % r->k.heads * a->stride[1] + i * a->stride[2]) *
                                                size,
                          0, 1);
    return v;
}

/* Adds query i's part of the gradients dk and dv (s rows each), and computes its own, dq. */
static void back_query(attention_job *r, int64_t head, int64_t i, double *s, double *dq, double *dk,
                       double *dv) {
    const gp_attention *k = &r->k;
    double *q = dq + k->size, *row = q + k->size, *g = row + k->size + k->width,
           stat = stat_of(r, head, i);
    int64_t seen = scores(r, head, i, q, row, s);
    get(r, gp_in(r->c, GP_ATTENTION_GRAD), head, i, k->width, g);
    get(r, gp_in(r->c, GP_ATTENTION_OUT), head, i, k->width, row);
    double all = dot(g, row, k->width);
    memset(dq, 0, (size_t)k->size * sizeof *dq);
    for (int64_t j = 0; j < seen; j++) {
        double share = exp(s[j] - stat);
        if (share == 0) continue;
        get(r, k->v, head, j, k->width, row);
        double d = share * (dot(g, row, k->width) - all) * k->scale;
        for (int64_t e = 0; e < k->width; e++) dv[j * k->width + e] += share * g[e];
        get(r, k->k, head, j, k->size, row);
        for (int64_t e = 0; e < k->size; e++) dq[e] += d * row[e], dk[j * k->size + e] += d * q[e];
    }
}

/* Heads [begin, end). */
static void backward(void *ctx, int64_t begin, int64_t end) {
    attention_job *r = ctx;
    const gp_attention *k = &r->k;
    int64_t n = k->s * (k->size + k->width);
    double *s = part_scratch(r, n);
    if (!s) return;
    double *dk = s + k->s, *dv = dk + k->s * k->size, *dq = dv + k->s * k->width;
    for (int64_t head = begin; head < end; head++) {
        memset(dk, 0, (size_t)n * sizeof *dk);
        for (int64_t i = 0; i < k->l; i++) {
            back_query(r, head, i, s, dq, dk, dv);
            store_row(r, gp_out(r->c, 0), head, i, k->size, dq);
        }
        for (int64_t j = 0; j < k->s; j++) {
            store_row(r, gp_out(r->c, 1), head, j, k->size, dk + j * k->size);
            store_row(r, gp_out(r->c, 2), head, j, k->width, dv + j * k->width);
        }
    }
}

static bool whole(attention_job *r, int64_t n, gp_body body) {
    return gp_parallel_op(r->c, n, 1, body, r) &&
           (!r->failed || gp_fail("%s: out of memory", r->c->name));
}

static bool attention(const gp_call *c) {
    attention_job r;
    open_run(c, &r);
    return whole(&r, r.k.batch * r.k.heads * r.k.l, forward);
}
bool CPU(attention)(const gp_call *c) { return attention(c); }
bool CPU(attention_forward)(const gp_call *c) { return attention(c); }
bool CPU(attention_backward)(const gp_call *c) {
    attention_job r;
    open_run(c, &r);
    return whole(&r, r.k.batch * r.k.heads, backward);
}
