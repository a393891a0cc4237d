/* Recurrent layers by cuDNN, in training or not: in 16 bits with sums in f32 where the operands are
 * such, which tensor cores multiply, else in compute type; where cuDNN refuses 16 bits, in f32.
 * Dropout runs by our own kernels (rnn.c, grad.c), whose random numbers are the same on every
 * device. Target limit: w_hh's bytes once per step, or 2 operations per weight and row. */
#include "kernels/cuda/rnn/rnn.h"
#include "kernels/cuda/runtime/device.h"
#include "tensor/memory/alloc.h"

/* Whether our own kernels saved it: then they run the backward, too. */
static bool own_saved(const gp_rnn_run *n, const gp_array *saved) {
    return saved->numel == gp_rnn_saved_elements(&n->r);
}

static bool wrong_saved(const gp_rnn_run *n, const gp_array *saved) {
    return gp_fail("%s: argument 'saved' has %lld elements (expected what the forward op gave)",
                   n->c->name, (long long)saved->numel);
}

#if __has_include(<cudnn.h>)
#include <limits.h>
#include <stdlib.h>

#include "kernels/cuda/rnn/graph.h"
#include "kernels/cuda/rnn/weights.h"
#include "kernels/cuda/runtime/plans.h"

enum { PLANS = 256 };

/* The key of a plan; compared byte by byte. */
typedef struct shape {
    int32_t cell, dtype, biases, dirs, layers, input, hidden, steps, batch, device;
    int32_t tf32, train;
} shape;

typedef struct plan {
    shape of;
    bool refused; /* by cuDNN, when described or run in training; our own kernels run it */
    bool again;   /* refused for now, and to be described again */
    cudnnDropoutDescriptor_t none; /* no dropout */
    cudnnRNNDescriptor_t rnn;
    cudnnRNNDataDescriptor_t x, y;
    cudnnTensorDescriptor_t state; /* of h and c */
    size_t weights, work, reserve; /* bytes */
} plan;

static void forget(const gp_call *c, void *old) {
    const plan *p = old;
    (void)c;
    if (p->none) gp_dnn.cudnnDestroyDropoutDescriptor(p->none);
    if (p->rnn) gp_dnn.cudnnDestroyRNNDescriptor(p->rnn);
    if (p->x) gp_dnn.cudnnDestroyRNNDataDescriptor(p->x);
    if (p->y) gp_dnn.cudnnDestroyRNNDataDescriptor(p->y);
    if (p->state) gp_dnn.cudnnDestroyTensorDescriptor(p->state);
}

/* A refused one tells backward how forward saved. */
static bool kept(const void *p) { return ((const plan *)p)->refused && !((const plan *)p)->again; }

static gp_plans plans = {
    .key = sizeof(shape), .size = sizeof(plan), .most = PLANS, .forget = forget, .kept = kept};

/* steps x batch x width, dense; all sequences are equally long. */
static bool describe_data(const gp_call *c, const shape *s, int width,
                          cudnnRNNDataDescriptor_t *to) {
    int *lengths = (int *)malloc((size_t)s->batch * sizeof *lengths);
    if (!lengths) return gp_fail("%s: out of memory", c->op->name);
    for (int i = 0; i < s->batch; i++) lengths[i] = s->steps;
    bool ok = gp_dnn_ok(c, gp_dnn.cudnnCreateRNNDataDescriptor(to)) &&
              gp_dnn_ok(c, gp_dnn.cudnnSetRNNDataDescriptor(
                               *to, gp_dnn_type(s->dtype), CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED,
                               s->steps, s->batch, width, lengths, NULL));
    free(lengths);
    return ok;
}

/* The type of sums. */
static cudnnDataType_t sums_of(const shape *s) {
    return s->dtype == GP_f64 ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

/* FMA without tensor cores is there for f32 only. */
static cudnnMathType_t math_of(const shape *s) {
    return s->dtype == GP_f16 || s->dtype == GP_bf16 ? CUDNN_TENSOR_OP_MATH
           : s->tf32 || s->dtype == GP_f64           ? CUDNN_DEFAULT_MATH
                                                     : CUDNN_FMA_MATH;
}

static bool describe_rnn(const gp_call *c, cudnnHandle_t h, plan *p) {
    static const cudnnRNNMode_t modes[] = {CUDNN_LSTM, CUDNN_GRU, CUDNN_RNN_TANH,
                                           CUDNN_RNN_RELU}; /* by gp_cell */
    const shape *s = &p->of;
    cudnnDataType_t type = gp_dnn_type(s->dtype);
    return gp_dnn_ok(c, gp_dnn.cudnnCreateDropoutDescriptor(&p->none)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetDropoutDescriptor(p->none, h, 0, NULL, 0, 0)) &&
           gp_dnn_ok(c, gp_dnn.cudnnCreateRNNDescriptor(&p->rnn)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetRNNDescriptor_v8(
                            p->rnn, CUDNN_RNN_ALGO_STANDARD, modes[s->cell],
                            s->biases ? CUDNN_RNN_DOUBLE_BIAS : CUDNN_RNN_NO_BIAS,
                            s->dirs == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL,
                            CUDNN_LINEAR_INPUT, type, sums_of(s), math_of(s), s->input, s->hidden,
                            s->hidden, s->layers, p->none, CUDNN_RNN_PADDED_IO_ENABLED));
}

static cudnnForwardMode_t mode_of(const shape *s) {
    return s->train ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE;
}

static bool describe(const gp_call *c, cudnnHandle_t h, plan *p) {
    const shape *s = &p->of;
    int dim[3] = {s->layers * s->dirs, s->batch, s->hidden},
        stride[3] = {s->batch * s->hidden, s->hidden, 1};
    return describe_rnn(c, h, p) && describe_data(c, s, s->input, &p->x) &&
           describe_data(c, s, s->dirs * s->hidden, &p->y) &&
           gp_dnn_ok(c, gp_dnn.cudnnCreateTensorDescriptor(&p->state)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetTensorNdDescriptor(p->state, gp_dnn_type(s->dtype), 3, dim,
                                                          stride)) &&
           gp_dnn_ok(c, gp_dnn.cudnnGetRNNWeightSpaceSize(h, p->rnn, &p->weights)) &&
           gp_dnn_ok(c, gp_dnn.cudnnGetRNNTempSpaceSizes(h, p->rnn, mode_of(s), p->x, &p->work,
                                                         s->train ? &p->reserve : NULL));
}

static plan *known(const shape *s) {
    plan *p = gp_plans_find(&plans, s);
    return p && !p->again ? p : NULL;
}

/* NULL with a message. What is refused for lack of memory, or in 16 bits, which run in f32 then, is
 * described again at the next call. */
static plan *plan_of(const gp_call *c, cudnnHandle_t h, const shape *s) {
    plan *p = gp_plans_find(&plans, s);
    if (p && !p->again) return p;
    if (p) gp_plans_drop(&plans, c, p);
    p = gp_plans_add(&plans, c, s);
    if (!p) return NULL;
    p->refused = !describe(c, h, p);
    p->again = p->refused && (gp_lib_no_memory() || s->dtype == GP_f16 || s->dtype == GP_bf16);
    return p;
}

/* ---- what is saved ---- */

static bool is_narrow(const gp_rnn_run *n) { return n->size == 2; }

/* What training saves: the reserve space, then the output, dense. In bytes. */
static int64_t reserve_bytes(const plan *p) { return (int64_t)((p->reserve + 255) / 256 * 256); }

/* In elements of compute type. An odd number in 16 bits, else an even one, and never the number
 * that our own kernels save, which distinguishes the three. */
static int64_t saved_elements(const gp_rnn_run *n, const plan *p) {
    int64_t each = n->wide ? 8 : 4, bytes = reserve_bytes(p) + gp_rnn_plane(&n->r) * n->size,
            e = (bytes + each - 1) / each;
    e += (e & 1) != is_narrow(n);
    return e + 2 * (e == gp_rnn_saved_elements(&n->r));
}

/* The plan for the layout of `saved`. TF32 may have been switched since, so there may be two; if
 * one was refused, perhaps before it was saved, that one is returned. NULL with a message. */
static plan *plan_of_saved(const gp_rnn_run *n, cudnnHandle_t h, shape *s, const gp_array *saved) {
    for (int i = 0; i < 2; i++, s->tf32 = !s->tf32) {
        plan *p = plan_of(n->c, h, s);
        if (!p) return NULL;
        if (saved_elements(n, p) != saved->numel) continue;
        shape other = *s;
        other.tf32 = !s->tf32;
        plan *q = p->refused ? NULL : known(&other);
        return q && q->refused && saved_elements(n, q) == saved->numel ? q : p;
    }
    return wrong_saved(n, saved), NULL;
}

/* ---- weights ---- */

/* What cuDNN's layout of the weights depends on: not on lengths, batch or training. */
static shape layout_of(const plan *p) {
    shape s = p->of;
    s.steps = s.batch = s.train = 0;
    return s;
}

/* ---- forward ---- */

/* The memory of a call, in one piece, which is the same for all calls of a shape on a stream: x and
 * y, the states before and after, work, the reserve space, y right after it. And the weights. */
typedef struct blocks {
    char *x, *y, *before[2], *after[2], *work, *reserve, *weights;
} blocks;

/* Gradients, besides `places`, whose states after are the gradients of the last states here. */
typedef struct back {
    char *dx, *dy, *before[2], *weights;
} back;

/* Calls of cuDNN, and the key of their graph: the shape says where in `base` everything is. */
typedef struct job {
    const plan *p;
    blocks k;
    back b;
    struct key {
        shape of;
        int64_t backward;
        const char *base, *weights;
    } at;
} job;

static bool run_job(const gp_call *c, cudnnHandle_t h, job *j, bool backward,
                    cudnnStatus_t (*queue)(cudnnHandle_t h, void *ctx)) {
    memcpy(&j->at.of, &j->p->of, sizeof j->p->of);
    j->at.backward = backward;
    j->at.weights = j->k.weights;
    gp_rnn_key key = {&j->at, offsetof(struct key, base), sizeof j->at};
    return gp_dnn_ok(c, gp_rnn_queue(c, h, &key, queue, j));
}

static int64_t state_elements(const gp_rnn *r) {
    return r->layers * r->dirs * r->batch * r->hidden;
}

/* `bytes` bytes of the block at base, after the *used first ones; NULL while base is. */
static char *next_block(char *base, size_t *used, int64_t bytes) {
    size_t at = *used;
    *used += ((size_t)bytes + 255) / 256 * 256;
    return base ? base + at : NULL;
}

/* Divides the piece at base, or only returns how many bytes it needs. */
static size_t divide(const gp_rnn_run *n, const plan *p, char *base, blocks *k, back *b) {
    const gp_rnn *r = &n->r;
    int64_t x = r->steps * r->batch * r->input * n->size, y = gp_rnn_plane(r) * n->size,
            state = state_elements(r) * n->size;
    size_t used = 0;
    k->reserve = p->of.train ? next_block(base, &used, reserve_bytes(p)) : NULL;
    k->y = next_block(base, &used, y);
    k->x = next_block(base, &used, x);
    for (int i = 0; i < r->states; i++) {
        k->before[i] = next_block(base, &used, state);
        k->after[i] = next_block(base, &used, state);
        if (b) b->before[i] = next_block(base, &used, state);
    }
    k->work = p->work ? next_block(base, &used, (int64_t)p->work) : NULL;
    if (!b) return used;
    b->dx = next_block(base, &used, x);
    b->dy = next_block(base, &used, y);
    b->weights = next_block(base, &used, (int64_t)p->weights);
    return used;
}

/* Begins a job: packs the weights and finds its memory. What needs other memory comes before: an op
 * that the collector runs meanwhile on the same stream would use the same piece. */
static bool begin_job(gp_rnn_run *n, cudnnHandle_t h, const plan *p, job *j, back *b) {
    shape layout = layout_of(p);
    gp_rnn_space space = {p->rnn, p->weights, &layout, sizeof layout};
    memset(j, 0, sizeof *j);
    j->p = p;
    if (!(j->k.weights = gp_rnn_packed(n, h, &space))) return false;
    char *base = gp_rnn_staging(n->c, divide(n, p, NULL, &j->k, b));
    j->at.base = base;
    return base && divide(n, p, base, &j->k, b);
}

/* Fills in x and the states before. */
static bool fill_blocks(const gp_rnn_run *n, const blocks *k) {
    const gp_rnn *r = &n->r;
    int64_t sides = r->layers * r->dirs, each = r->batch * r->hidden * n->size;
    bool ok = gp_rnn_load(n, gp_in(n->c, GP_RNN_X), k->x);
    for (int s = 0; s < r->states; s++)
        for (int64_t i = 0; ok && i < sides; i++)
            ok = gp_rnn_initial(n, s, i, k->before[s] + i * each);
    return ok;
}

static bool copy_bytes(const gp_rnn_run *n, void *to, const void *from, int64_t bytes) {
    return gp_cuda_ok(n->c, cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToDevice,
                                            gp_cuda_stream(n->c)));
}

/* What training saves, to or from where it is saved. */
static bool save(const gp_rnn_run *n, const plan *p, const blocks *k) {
    return copy_bytes(n, n->saved, k->reserve, (int64_t)p->reserve) &&
           copy_bytes(n, n->saved + reserve_bytes(p), k->y, gp_rnn_plane(&n->r) * n->size);
}
static bool restore(const gp_rnn_run *n, const plan *p, const blocks *k) {
    return copy_bytes(n, k->reserve, n->saved, (int64_t)p->reserve) &&
           copy_bytes(n, k->y, n->saved + reserve_bytes(p), gp_rnn_plane(&n->r) * n->size);
}

/* Copies states of all directions, `from`, to outputs 2 and 3. */
static bool put_states(const gp_rnn_run *n, char *const *from) {
    const gp_rnn *r = &n->r;
    int64_t sides = r->layers * r->dirs, each = r->batch * r->hidden * n->size;
    for (int s = 0; s < r->states; s++)
        for (int64_t i = 0; i < sides; i++)
            if (!gp_rnn_store_state(n, gp_out(n->c, 1 + s), i, from[s] + i * each, r->hidden))
                return false;
    return true;
}

static cudnnStatus_t queue_forward(cudnnHandle_t h, void *ctx) {
    const job *j = (const job *)ctx;
    const plan *p = j->p;
    const blocks *k = &j->k;
    return gp_dnn.cudnnRNNForward(h, p->rnn, mode_of(&p->of), NULL, p->x, k->x, p->y, k->y,
                                  p->state, k->before[0], k->after[0], p->state, k->before[1],
                                  k->after[1], p->weights, k->weights, p->work, k->work, p->reserve,
                                  k->reserve);
}

static bool run_library(gp_rnn_run *n, cudnnHandle_t h, const plan *p) {
    job j;
    return begin_job(n, h, p, &j, NULL) && fill_blocks(n, &j.k) &&
           run_job(n->c, h, &j, false, queue_forward) && (!n->saved || save(n, p, &j.k)) &&
           gp_rnn_store(n, gp_out(n->c, 0), j.k.y) && put_states(n, j.k.after);
}

/* ---- backward ---- */

/* Gradients of the results; absent ones are 0. cuDNN adds to the weights' gradients. */
static bool fill_back(const gp_rnn_run *n, const plan *p, const blocks *k, const back *b) {
    const gp_rnn *r = &n->r;
    const gp_array *dy = gp_in(n->c, r->backward + 1);
    int64_t sides = r->layers * r->dirs, each = r->batch * r->hidden * n->size;
    bool ok = dy ? gp_rnn_load(n, dy, b->dy) : gp_rnn_zero(n, b->dy, gp_rnn_plane(r));
    for (int s = 0; s < r->states; s++)
        for (int64_t i = 0; ok && i < sides; i++)
            ok = gp_rnn_load_state(n, gp_in(n->c, r->backward + 2 + s), i, k->after[s] + i * each);
    return ok && gp_cuda_ok(n->c, cudaMemsetAsync(b->weights, 0, p->weights, gp_cuda_stream(n->c)));
}

/* Data first: the weights' gradients need what it leaves in the reserve space. */
static cudnnStatus_t queue_backward(cudnnHandle_t h, void *ctx) {
    const job *j = (const job *)ctx;
    const plan *p = j->p;
    const blocks *k = &j->k;
    const back *b = &j->b;
    cudnnStatus_t s = gp_dnn.cudnnRNNBackwardData_v8(
        h, p->rnn, NULL, p->y, k->y, b->dy, p->x, b->dx, p->state, k->before[0], k->after[0],
        b->before[0], p->state, k->before[1], k->after[1], b->before[1], p->weights, k->weights,
        p->work, k->work, p->reserve, k->reserve);
    return s ? s
             : gp_dnn.cudnnRNNBackwardWeights_v8(
                   h, p->rnn, CUDNN_WGRAD_MODE_ADD, NULL, p->x, k->x, p->state, k->before[0], p->y,
                   k->y, p->weights, b->weights, p->work, k->work, p->reserve, k->reserve);
}

/* Backward overwrites the reserve space, and may be run again: it works on a copy. */
static bool run_back(gp_rnn_run *n, cudnnHandle_t h, const plan *p) {
    const gp_array *dw = gp_out(n->c, 1 + n->r.states);
    char *to = dw->dtype == n->dtype ? dw->data : (char *)gp_rnn_scratch(n, dw->numel);
    job j;
    back *b = &j.b;
    gp_rnn_space space = {.rnn = p->rnn, .bytes = p->weights};
    bool ok = to && begin_job(n, h, p, &j, b) && fill_blocks(n, &j.k) && restore(n, p, &j.k) &&
              fill_back(n, p, &j.k, b) && run_job(n->c, h, &j, true, queue_backward) &&
              (!n->c->arg[gp_rnn_grad_x(&n->r)].i || gp_rnn_store(n, gp_out(n->c, 0), b->dx)) &&
              put_states(n, b->before) && gp_rnn_unpack(n, h, &space, b->weights, to);
    if (!ok || to == dw->data) return ok;
    gp_array from = gp_dense_over(to, n->dtype, dw->ndim, dw->dim);
    return gp_cuda_copy_array(n->c, dw, &from);
}

/* ---- calls ---- */

static _Atomic bool refused; /* set when cuDNN cannot be used here: our own kernels can */

/* Whether cuDNN may run it; if so, sets its key s. */
static bool usable(const gp_rnn_run *n, bool train, shape *s) {
    const gp_rnn *r = &n->r;
    memset(s, 0, sizeof *s);
    s->cell = r->cell, s->dtype = n->dtype, s->biases = r->biases, s->dirs = r->dirs,
    s->layers = r->layers;
    s->input = (int32_t)r->input, s->hidden = (int32_t)r->hidden, s->steps = (int32_t)r->steps;
    s->batch = (int32_t)r->batch, s->tf32 = gp_libs.tf32, s->train = train;
    cudaGetDevice(&s->device);
    return !r->dropped && r->batch > 0 && r->steps > 0 && r->input > 0 && r->hidden > 0 &&
           r->steps * r->batch * r->input < INT_MAX && gp_rnn_plane(r) < INT_MAX &&
           state_elements(r) < INT_MAX && !refused && gp_lib_there(GP_LIB_cudnn);
}

static cudnnHandle_t handle(const gp_call *c) {
    cudnnHandle_t h = gp_dnn_handle(c);
    if (!h && !gp_lib_no_memory()) refused = true;
    return h;
}

/* The runs to try in turn, in to[0] and to[1]: in 16 bits where the operands are such, then in
 * compute type; only the one that saved what is given, unless NULL. Returns their number. */
static int variants(const gp_rnn_run *n, const gp_array *saved, gp_rnn_run *to) {
    gp_dtype dt = (gp_dtype)gp_in(n->c, GP_RNN_X)->dtype;
    bool narrow = dt == GP_f16 || (dt == GP_bf16 && gp_cuda_arch(n->c) >= 80);
    int count = 0;
    if (narrow && (!saved || saved->numel & 1)) {
        to[count] = *n;
        to[count].dtype = dt, to[count++].size = 2;
    }
    if (!saved || !(saved->numel & 1)) to[count++] = *n;
    for (int i = 0; i < count; i++) /* cuDNN's operands are of one dtype */
        to[i].operand = to[i].dtype, to[i].operand_size = to[i].size;
    return count;
}

/* The elements that cuDNN saves; 0: it does not run n; below 0, with a message: no memory. */
static int64_t elements_of(const gp_rnn_run *n) {
    gp_rnn_run as[2];
    int64_t elements = 0;
    int count = variants(n, NULL, as);
    gp_lib_lock();
    cudnnHandle_t h = handle(n->c);
    for (int i = 0; i < count && !elements; i++) {
        shape s;
        plan *p = h && usable(&as[i], true, &s) ? plan_of(n->c, h, &s) : NULL;
        bool can = p && !p->refused;
        elements = can ? saved_elements(&as[i], p) : gp_lib_no_memory() ? -1 : 0;
    }
    gp_lib_unlock();
    if (elements == 0) gp_error_clear();
    return elements;
}

int64_t gp_cuda_saves(const gp_call *c) {
    gp_rnn_run n;
    shape s;
    gp_device *dev = c->stream->dev;
    gp_cuda_enter(dev);
    if (!gp_device_alive(dev, c->name) || !gp_rnn_open(&n, c) || !usable(&n, true, &s))
        return gp_error_clear(), 0;
    int64_t elements = elements_of(&n);
    if (elements < 0 && gp_alloc_release(dev, c->name)) elements = elements_of(&n);
    if (elements < 0) gp_error_clear();
    return elements < 0 ? 0 : elements;
}

/* Runs n forward, or, with `back`, backward. False, with *p the plan that was refused or NULL. */
static bool attempt(gp_rnn_run *n, cudnnHandle_t h, const gp_array *saved, bool back, plan **p) {
    shape s;
    bool can = usable(n, saved != NULL, &s);
    *p = !can || !h ? NULL : saved ? plan_of_saved(n, h, &s, saved) : plan_of(n->c, h, &s);
    if (*p && !(*p)->refused && (back ? run_back(n, h, *p) : run_library(n, h, *p))) return true;
    if (*p && saved && !gp_cuda_runs_again(n->c))
        (*p)->refused = true; /* nothing is saved, by which backward recognises it */
    return false;
}

/* Tries the variants of n in turn. Where all are refused, n->saved is NULL. */
static bool run_any(gp_rnn_run *n, const gp_array *saved, bool back, bool *done) {
    gp_rnn_run as[2];
    plan *p = NULL;
    int count = variants(n, saved, as);
    gp_lib_lock();
    cudnnHandle_t h = handle(n->c);
    for (int i = 0; i < count && !*done && (i == 0 || !gp_cuda_runs_again(n->c)); i++) {
        if (i) gp_error_clear();
        *done = attempt(&as[i], h, saved, back, &p);
    }
    gp_lib_unlock();
    if (*done) gp_cuda_detail("cuDNN");
    else if (!p && saved) return false;
    else n->saved = NULL;
    return *done || gp_dnn_refused(n->c);
}

bool gp_rnn_by_cudnn(gp_rnn_run *n, bool *done) {
    const gp_array *saved = n->saved ? gp_out(n->c, 1 + n->r.states) : NULL;
    shape s;
    *done = false;
    if (saved && own_saved(n, saved)) return true;
    if (!usable(n, saved != NULL, &s)) return !saved || wrong_saved(n, saved);
    return run_any(n, saved, false, done);
}

bool gp_rnn_back_by_cudnn(gp_rnn_run *n, bool *done) {
    const gp_array *saved = gp_in(n->c, n->r.backward);
    shape s;
    *done = false;
    if (own_saved(n, saved)) return true;
    if (!usable(n, true, &s)) return wrong_saved(n, saved);
    return run_any(n, saved, true, done);
}
#else
int64_t gp_cuda_saves(const gp_call *c) { return 0; }
bool gp_rnn_by_cudnn(gp_rnn_run *n, bool *done) { return *done = false, true; }
bool gp_rnn_back_by_cudnn(gp_rnn_run *n, bool *done) {
    const gp_array *saved = gp_in(n->c, n->r.backward);
    return *done = false, own_saved(n, saved) || wrong_saved(n, saved);
}
#endif
