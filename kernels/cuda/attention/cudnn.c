/* Attention by cuDNN, in f16 and bf16: one graph forward, one backward, for which it has kernels
 * that keep no scores in memory. The graphs are those that its engines know: "Attention" in
 * NVIDIA's documentation of cuDNN's graph interface. attention.c runs what it refuses. Target
 * limit: 4 (backward 10) operations per query, key and feature at the tensor cores' rate. */
#include "kernels/cuda/attention/attention.h"
#if __has_include(<cudnn.h>)
#include <float.h>
#include <stdio.h>

#include "kernels/cuda/runtime/dense.h"
#include "kernels/cuda/cudnn/cudnn_graph.h"
#include "kernels/cuda/runtime/device.h"
#include "kernels/cuda/runtime/plans.h"

enum { PLANS = 256, MUCH_PART = 8 };

/* Operands: in memory, or a number. SUM and ACC are backward's workspace, in f32: a number for each
 * query, and the gradient of query. */
/* clang-format off */
typedef enum slot {
    Q, K, V, MASK, OUT, STATS, G, DQ, DK, DV, SUM, ACC, SCALE, LEAST, ONE, SLOTS
} slot;
/* clang-format on */

typedef enum part { SHOW, TRAIN, BACK } part; /* without stats; with stats; gradients */

/* The key of a plan; compared byte by byte. */
typedef struct shape {
    int64_t batch, heads, l, s, size, width;
    int64_t stride[DV + 1][4];
    int64_t mask[2]; /* batch and heads of the mask, 0: none */
    int32_t part, dtype, causal, device;
    bool deterministic, benchmark;
} shape;

typedef struct plan {
    shape of;
    bool none, no_memory; /* none: cuDNN cannot run it; no_memory: it had none to plan it */
    gp_graph graph;
    int64_t number[SLOTS]; /* of tensors in the graph; 0: not in it */
} plan;

static void forget(const gp_call *c, void *old) {
    (void)c;
    gp_graph_forget(&((plan *)old)->graph);
}

static gp_plans plans = {
    .key = sizeof(shape), .size = sizeof(plan), .most = PLANS, .forget = forget};

/* ---- graphs ---- */

static gp_node_tensor *bound(plan *p, slot at, cudnnDataType_t type, const int64_t *dim) {
    gp_node_tensor *t = gp_graph_tensor(&p->graph, type, dim, at <= DV ? p->of.stride[at] : NULL);
    if (t) p->number[at] = t->number;
    return t;
}

static gp_node_tensor *number(plan *p, slot at) {
    gp_node_tensor *t = gp_graph_number(&p->graph);
    if (t) p->number[at] = t->number;
    return t;
}

/* batch x heads x rows x width in memory, in the call's dtype; turned: transposed. */
static gp_node_tensor *rows(plan *p, slot at, int64_t rows, int64_t width, bool turned) {
    const shape *s = &p->of;
    const int64_t *have = s->stride[at],
                  dim[4] = {s->batch, s->heads, turned ? width : rows, turned ? rows : width},
                  stride[4] = {have[0], have[1], have[turned ? 3 : 2], have[turned ? 2 : 3]};
    gp_node_tensor *t = gp_graph_tensor(&p->graph, gp_dnn_type(s->dtype), dim, stride);
    if (t) p->number[at] = t->number;
    return t;
}

/* One f32 for each query. */
static gp_node_tensor *column(plan *p, slot at) {
    const shape *s = &p->of;
    const int64_t dim[4] = {s->batch, s->heads, s->l, 1};
    gp_node_tensor *t = gp_graph_tensor(&p->graph, CUDNN_DATA_FLOAT, dim, NULL);
    if (t) p->number[at] = t->number;
    return t;
}

/* query key' * scale + mask */
static gp_node_tensor *scores(plan *p, gp_node_tensor *q, gp_node_tensor *kt,
                              gp_node_tensor *scale) {
    const shape *s = &p->of;
    gp_graph *g = &p->graph;
    gp_node_tensor *x =
        gp_graph_point(g, CUDNN_POINTWISE_MUL, gp_graph_product(g, q, kt, NULL), scale, NULL);
    if (!s->mask[0]) return x;
    const int64_t dim[4] = {s->mask[0], s->mask[1], s->l, s->s};
    return gp_graph_point(g, CUDNN_POINTWISE_ADD, x, bound(p, MASK, gp_dnn_type(s->dtype), dim),
                          NULL);
}

static gp_node_tensor *hidden(plan *p, gp_node_tensor *x) {
    return p->of.causal ? gp_graph_lower(&p->graph, x, number(p, LEAST)) : x;
}

static void build_forward(plan *p) {
    const shape *s = &p->of;
    gp_graph *g = &p->graph;
    const int64_t dim[4] = {s->batch, s->heads, s->l, s->s};
    gp_node_tensor *q = rows(p, Q, s->l, s->size, false), *kt = rows(p, K, s->s, s->size, true),
                   *v = rows(p, V, s->s, s->width, false),
                   *out = rows(p, OUT, s->l, s->width, false);
    gp_node_tensor *x = hidden(p, scores(p, q, kt, number(p, SCALE)));
    gp_node_tensor *most = gp_graph_rows(g, CUDNN_REDUCE_TENSOR_MAX, x, NULL);
    gp_node_tensor *less = gp_graph_point(g, CUDNN_POINTWISE_SUB, x, most, NULL),
                   *e = gp_graph_point(g, CUDNN_POINTWISE_EXP, less, NULL, NULL);
    gp_node_tensor *sum = gp_graph_rows(g, CUDNN_REDUCE_TENSOR_ADD, e, NULL);
    gp_graph_point(
        g, CUDNN_POINTWISE_ADD, most, gp_graph_point(g, CUDNN_POINTWISE_LOG, sum, NULL, NULL),
        s->part == TRAIN ? column(p, STATS) : NULL); /* engines know the pattern only with this */
    gp_node_tensor *share = gp_graph_inner(g, gp_dnn_type(s->dtype), dim, NULL);
    gp_graph_product(g, gp_graph_point(g, CUDNN_POINTWISE_DIV, e, sum, share), v, out);
}

/* The sum over a row of g * out, which equals that over the keys of each weight times its
 * gradient. */
static gp_node_tensor *row_sums(plan *p, gp_node_tensor *grad, gp_node_tensor *out) {
    gp_graph *g = &p->graph;
    gp_node_tensor *each = gp_graph_point(g, CUDNN_POINTWISE_MUL, grad, out, NULL),
                   *sum = gp_graph_rows(g, CUDNN_REDUCE_TENSOR_ADD, each, NULL);
    return gp_graph_point(g, CUDNN_POINTWISE_MUL, sum, number(p, ONE), column(p, SUM));
}

/* dq = ds key * scale. Summed in f32 as the blocks arrive where bits may vary, else computed from
 * the scores' gradients in memory. */
static void build_dq(plan *p, gp_node_tensor *ds, gp_node_tensor *kt) {
    const shape *s = &p->of;
    gp_graph *g = &p->graph;
    gp_node_tensor *k = gp_graph_transposed(g, kt, gp_dnn_type(s->dtype)),
                   *dq = rows(p, DQ, s->l, s->size, false);
    if (s->deterministic) {
        gp_graph_product(g, ds, k, dq);
        return;
    }
    const int64_t dim[4] = {s->batch, s->heads, s->l, s->size};
    gp_node_tensor *sum = gp_graph_product(g, ds, k, bound(p, ACC, CUDNN_DATA_FLOAT, dim));
    gp_graph_point(g, CUDNN_POINTWISE_IDENTITY, sum, NULL, dq);
}

/* Scores less the stats of their queries, f32; with `first`, hidden before that. */
static gp_node_tensor *shifted(plan *p, gp_node_tensor *x, gp_node_tensor *stats, bool first) {
    if (first) x = hidden(p, x);
    x = gp_graph_point(&p->graph, CUDNN_POINTWISE_SUB, x, stats, NULL);
    return first ? x : hidden(p, x);
}

static void build_backward(plan *p, bool hide_first) {
    const shape *s = &p->of;
    gp_graph *g = &p->graph;
    cudnnDataType_t type = gp_dnn_type(s->dtype);
    gp_node_tensor *q = rows(p, Q, s->l, s->size, false), *kt = rows(p, K, s->s, s->size, true),
                   *vt = rows(p, V, s->s, s->width, true),
                   *out = rows(p, OUT, s->l, s->width, false),
                   *grad = rows(p, G, s->l, s->width, false), *stats = column(p, STATS),
                   *scale = number(p, SCALE);
    gp_node_tensor *sum = row_sums(p, grad, out);
    gp_node_tensor *x = shifted(p, scores(p, q, kt, scale), stats, hide_first);
    gp_node_tensor *share = gp_graph_point(g, CUDNN_POINTWISE_EXP, x, NULL, NULL);
    gp_graph_product(g, gp_graph_transposed(g, share, type), grad,
                     rows(p, DV, s->s, s->width, false));
    gp_node_tensor *d =
        gp_graph_point(g, CUDNN_POINTWISE_SUB, gp_graph_product(g, grad, vt, NULL), sum, NULL);
    gp_node_tensor *part = gp_graph_point(g, CUDNN_POINTWISE_MUL, d, share, NULL),
                   *ds = gp_graph_point(g, CUDNN_POINTWISE_MUL, part, scale, NULL);
    gp_graph_product(g, gp_graph_transposed(g, ds, type), q, rows(p, DK, s->s, s->size, false));
    build_dq(p, ds, kt);
}

/* ---- plans ---- */

/* A call: `memory` has an address for each slot in the graph; workspace is allocated when it
 * runs. */
typedef struct plan_call {
    const gp_call *c;
    plan *p;
    void **memory;
    float scale;
    void *workspace;
    int64_t bytes;
} plan_call;

/* Says once where an eighth of the card and more goes to the scores that deterministic gradients
 * keep, as nothing else shows why memory is short. */
static void warn_of_memory(const plan_call *r) {
    static atomic_bool reported;
    const shape *s = &r->p->of;
    size_t bytes = (size_t)r->p->graph.memory;
    if (s->part != BACK || !s->deterministic ||
        bytes < gp_cuda_of(r->c->stream->dev)->bytes / MUCH_PART ||
        atomic_exchange(&reported, true))
        return;
    fprintf(stderr,
            "gpush: gradients of attention keep %.1f MiB of scores here, for the same bits each "
            "time; cuda.deterministic(false) keeps none\n",
            (double)bytes / 1048576);
}

static bool allocate_workspace(plan_call *r) {
    const shape *s = &r->p->of;
    size_t queries = (size_t)(s->batch * s->heads * s->l) * sizeof(float);
    if (r->p->number[SUM] && !r->memory[SUM] && !(r->memory[SUM] = gp_cuda_scratch(r->c, queries)))
        return false;
    if (r->p->number[ACC] && !r->memory[ACC] &&
        !(r->memory[ACC] = gp_cuda_scratch(r->c, queries * (size_t)s->size)))
        return false;
    if (r->p->graph.memory <= r->bytes) return true;
    warn_of_memory(r);
    r->workspace = gp_cuda_scratch(r->c, (size_t)r->p->graph.memory);
    r->bytes = r->workspace ? r->p->graph.memory : 0;
    return r->workspace != NULL;
}

/* Queues the plan of r->p->graph. */
static bool queue(plan_call *r) {
    const shape *s = &r->p->of;
    float least = -FLT_MAX, one = 1;
    void *bind[SLOTS];
    int64_t numbers[SLOTS];
    int n = 0;
    if (!allocate_workspace(r)) return false;
    r->memory[SCALE] = &r->scale, r->memory[LEAST] = &least, r->memory[ONE] = &one;
    for (int i = 0; i < SLOTS; i++)
        if (r->p->number[i]) numbers[n] = r->p->number[i], bind[n++] = r->memory[i];
    if (r->p->number[ACC]) { /* before version 9.6 cuDNN does not clear it first */
        size_t bytes = (size_t)(s->batch * s->heads * s->l * s->size) * sizeof(float);
        if (!gp_cuda_ok(r->c, cudaMemsetAsync(r->memory[ACC], 0, bytes, gp_cuda_stream(r->c))))
            return false;
    }
    return gp_dnn_ok(r->c, gp_graph_run(&r->p->graph, n, numbers, bind, r->workspace));
}

/* Milliseconds that a plan takes on the call's own data, once it has run; below 0: it does not
 * run. */
static float cost(gp_graph *g, void *ctx) {
    plan_call *r = (plan_call *)ctx;
    cudaStream_t stream = gp_cuda_stream(r->c);
    gp_device *dev = r->c->stream->dev;
    void *at[2] = {gp_cuda_event_acquire(dev), gp_cuda_event_acquire(dev)};
    float ms = -1;
    bool ok = at[0] && at[1] && queue(r) && !cudaEventRecord((cudaEvent_t)at[0], stream) &&
              queue(r) && !cudaEventRecord((cudaEvent_t)at[1], stream) &&
              gp_cuda_event_synchronize(dev, at[1]);
    if (ok && cudaEventElapsedTime(&ms, (cudaEvent_t)at[0], (cudaEvent_t)at[1])) ms = -1;
    cudaGetLastError();
    for (int i = 0; i < 2; i++)
        if (at[i]) gp_cuda_event_release(dev, at[i]);
    return ms;
}

/* Builds and plans the graph of p, which has a shape. False where cuDNN has no plan, and p->graph
 * is then empty. */
static bool plan_graph(plan *p, cudnnHandle_t h, plan_call *r, bool hide_first) {
    const shape *s = &p->of;
    p->graph.handle = h;
    if (s->part == BACK) build_backward(p, hide_first);
    else build_forward(p);
    if (gp_graph_plan(&p->graph, s->deterministic, s->benchmark ? cost : NULL, r)) return true;
    p->no_memory |= p->graph.no_memory;
    gp_graph_forget(&p->graph);
    memset(p->number, 0, sizeof p->number);
    return false;
}

/* Causal gradients have two patterns: cuDNN's front end once masked the scores before it subtracted
 * the stats, now after. Engines of one version know one of them. */
static bool plan_any(plan *p, cudnnHandle_t h, plan_call *r) {
    bool two = p->of.part == BACK && p->of.causal;
    return plan_graph(p, h, r, false) || (two && !p->no_memory && plan_graph(p, h, r, true));
}

/* NULL with a message. One that failed for lack of memory is made again. */
static plan *plan_of(cudnnHandle_t h, const shape *s, plan_call *r) {
    plan *p = gp_plans_find(&plans, s);
    if (p && !(p->none && p->no_memory)) return p;
    if (p) gp_plans_drop(&plans, r->c, p);
    p = r->p = gp_plans_add(&plans, r->c, s);
    if (!p) return NULL;
    int64_t begin = gp_lib_now();
    p->none = !plan_any(p, h, r);
    if (p->none && p->no_memory) {
        gp_fail("%s: cuDNN had no memory for a plan", r->c->op->name);
        gp_lib_failed(r->c, true);
    }
    if (!p->none) gp_lib_book(GP_LIB_cudnn, begin);
    return p;
}

/* ---- calls ---- */

static _Atomic bool refused; /* set when cuDNN cannot be used here */

/* Sizes that cuDNN's engines take: heads a multiple of 16 bytes and at most 256, from compute
 * capability 8.0 on. cuDNN refuses others itself, except for versions with known errors. Sources:
 * cuDNN's release notes, and the checks of PyTorch and cuDNN's own front end. */
static bool usable(const gp_call *c, const gp_attention *k) {
    size_t version;
    if ((k->q->dtype != GP_f16 && k->q->dtype != GP_bf16) || gp_cuda_arch(c) < 80 || k->size % 8 ||
        k->width % 8 || k->size > 256 || k->width > 256 || k->s < 2 || k->batch > 65535 ||
        k->heads > 65535 || k->l >= 1 << 30 || k->s >= 1 << 30 || refused ||
        !gp_lib_there(GP_LIB_cudnn))
        return false;
    gp_lib_lock();
    version = gp_dnn_handle(c) ? gp_dnn.cudnnGetVersion() : 0;
    gp_lib_unlock();
    if (!version && !gp_cuda_runs_again(c)) {
        refused = !gp_lib_no_memory();
        gp_error_clear();
    }
    return version >= 90000 && version != 91000 && version != 91001 &&
           (k->l > 1 || (!k->causal && version > 90900));
}

/* An operand that cuDNN reads in place: rows dense, at multiples of 16 bytes; else a dense copy. */
static bool bind_array(const gp_call *c, shape *s, slot at, const gp_array *x, void **memory) {
    gp_array a = *x, lies = *x;
    bool even = gp_cuda_aligned(a.data) && (a.stride[3] == 1 || a.dim[3] == 1);
    for (int d = 0; d < 3; d++) even &= a.dim[d] == 1 || (a.stride[d] > 0 && a.stride[d] % 8 == 0);
    lies.contiguous = false; /* copied, dense or not */
    if (!even && !gp_cuda_dense(c, &lies, (gp_dtype)x->dtype, &a)) return false;
    for (int d = 3; d >= 0; d--) /* the stride of a dim of size 1 is arbitrary */
        s->stride[at][d] = d == 3          ? 1
                           : a.dim[d] == 1 ? s->stride[at][d + 1] * a.dim[d + 1]
                                           : a.stride[d];
    memory[at] = a.data;
    return true;
}

/* Whether x is dense, at a multiple of 16 bytes: for stats, and where cuDNN writes. */
static bool well(const gp_array *x) { return x->contiguous && gp_cuda_aligned(x->data); }

/* The mask, dense except for a batch or heads of size 1. */
static bool bind_mask(const gp_call *c, const gp_attention *k, shape *s, void **memory) {
    gp_array m = *k->mask, dense;
    const int64_t want[4] = {k->batch, k->heads, k->l, k->s};
    int lack = 4 - m.ndim;
    for (int d = 3; d >= 0; d--) {
        bool has = d >= lack && m.dim[d - lack] > 1;
        m.stride[d] = has ? m.stride[d - lack] : 0;
        m.dim[d] = has || d > 1 ? want[d] : 1;
    }
    m.ndim = 4, m.numel = m.dim[0] * m.dim[1] * m.dim[2] * m.dim[3], m.contiguous = false;
    s->mask[0] = m.dim[0], s->mask[1] = m.dim[1];
    return gp_cuda_dense(c, &m, (gp_dtype)m.dtype, &dense) &&
           bind_array(c, s, MASK, &dense, memory);
}

static bool shape_of(const gp_call *c, const gp_attention *k, part what, shape *s, void **memory) {
    memset(s, 0, sizeof *s);
    memset(memory, 0, SLOTS * sizeof *memory);
    s->part = what, s->dtype = k->q->dtype, s->causal = k->causal,
    s->deterministic = gp_libs.deterministic;
    s->benchmark = gp_libs.benchmark;
    s->batch = k->batch, s->heads = k->heads, s->l = k->l, s->s = k->s, s->size = k->size,
    s->width = k->width;
    cudaGetDevice(&s->device);
    return bind_array(c, s, Q, k->q, memory) && bind_array(c, s, K, k->k, memory) &&
           bind_array(c, s, V, k->v, memory) && (!k->mask || bind_mask(c, k, s, memory));
}

/* With the operands set: plans, and runs where there is a plan. */
static bool planned(const gp_call *c, const gp_attention *k, const shape *s, void **memory,
                    bool *done) {
    plan_call r = {.c = c, .memory = memory, .scale = (float)k->scale};
    gp_lib_lock();
    cudnnHandle_t h = gp_dnn_handle(c);
    if (h) r.p = plan_of(h, s, &r);
    bool can = h && r.p && !r.p->none;
    if (can) r.p->graph.handle = h;
    bool ok = can && queue(&r);
    gp_lib_unlock();
    if (ok) gp_cuda_detail("cuDNN");
    bool other = h && !can && !gp_cuda_runs_again(c); /* our own products may run it */
    if (other) gp_error_clear();                      /* messages of plans that were tried */
    *done = ok;
    return ok || other;
}

bool gp_attention_by_cudnn(const gp_call *c, const gp_attention *k, bool *done) {
    void *memory[SLOTS];
    shape s;
    *done = false;
    if (!usable(c, k) || !well(gp_out(c, 0)) || (c->nout > 1 && !well(gp_out(c, 1))))
        return !gp_cuda_runs_again(c);
    if (!shape_of(c, k, c->nout > 1 ? TRAIN : SHOW, &s, memory) ||
        !bind_array(c, &s, OUT, gp_out(c, 0), memory))
        return false;
    memory[STATS] = c->nout > 1 ? gp_out(c, 1)->data : NULL;
    return planned(c, k, &s, memory, done);
}

bool gp_attention_back_by_cudnn(const gp_call *c, const gp_attention *k, bool *done) {
    const gp_array *stats = gp_in(c, GP_ATTENTION_STATS);
    void *memory[SLOTS];
    shape s;
    *done = false;
    if (!usable(c, k) || k->l < 2 || !well(stats)) return !gp_cuda_runs_again(c);
    for (int i = 0; i < 3; i++)
        if (!well(gp_out(c, i))) return true;
    if (!shape_of(c, k, BACK, &s, memory) ||
        !bind_array(c, &s, OUT, gp_in(c, GP_ATTENTION_OUT), memory) ||
        !bind_array(c, &s, G, gp_in(c, GP_ATTENTION_GRAD), memory))
        return false;
    memory[STATS] = stats->data;
    for (int i = 0; i < 3; i++)
        if (!bind_array(c, &s, DQ + i, gp_out(c, i), memory)) return false;
    return planned(c, k, &s, memory, done);
}
#else
bool gp_attention_by_cudnn(const gp_call *c, const gp_attention *k, bool *done) {
    return *done = false, true;
}
bool gp_attention_back_by_cudnn(const gp_call *c, const gp_attention *k, bool *done) {
    return *done = false, true;
}
#endif
