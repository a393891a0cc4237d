/* Recurrent layers by cuDNN, where nothing is kept for backward: its reserve space has a size and contents of its own,
 * where `saved` has the layout of tensor/rnn.h, so training takes our own kernels (rnn.c, rnn_grad.c); so does dropout,
 * whose random numbers are the same on every device. In compute type, as those. Limit that this aims at: w_hh's bytes
 * once a step, or 2 operations a weight and row. */
#include "kernels/cuda/rnn.h"
#if __has_include(<cudnn.h>)
#include <limits.h>
#include <stdlib.h>

#include "kernels/cuda/dnn.h"

enum { PLANS = 32 };

/* What a plan is made for; compared byte by byte. */
typedef struct shape {
    int32_t cell, dtype, biases, dirs, layers, input, hidden, steps, batch, device;
    int32_t tf32;
} shape;

typedef struct plan {
    shape of;
    bool used;
    cudnnDropoutDescriptor_t none; /* no dropout */
    cudnnRNNDescriptor_t rnn;
    cudnnRNNDataDescriptor_t x, y;
    cudnnTensorDescriptor_t state; /* of h and c */
    size_t weights, work;          /* bytes */
} plan;
static plan plans[PLANS]; /* in turn; with gp_lib_lock */
static int next_plan;

static void forget(plan *p) {
    if (p->none) gp_dnn.cudnnDestroyDropoutDescriptor(p->none);
    if (p->rnn) gp_dnn.cudnnDestroyRNNDescriptor(p->rnn);
    if (p->x) gp_dnn.cudnnDestroyRNNDataDescriptor(p->x);
    if (p->y) gp_dnn.cudnnDestroyRNNDataDescriptor(p->y);
    if (p->state) gp_dnn.cudnnDestroyTensorDescriptor(p->state);
    memset(p, 0, sizeof *p);
}

/* steps x batch x width, dense; every sequence is as long as the others. */
static bool describe_data(const gp_call *c, const shape *s, int width, cudnnRNNDataDescriptor_t *to) {
    int *lengths = (int *)malloc((size_t)s->batch * sizeof *lengths);
    if (!lengths) return gp_fail("%s: out of memory", c->op->name);
    for (int i = 0; i < s->batch; i++) lengths[i] = s->steps;
    bool ok = gp_dnn_ok(c, gp_dnn.cudnnCreateRNNDataDescriptor(to)) &&
              gp_dnn_ok(c, gp_dnn.cudnnSetRNNDataDescriptor(*to, gp_dnn_type(s->dtype),
                                                            CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_UNPACKED, s->steps,
                                                            s->batch, width, lengths, NULL));
    free(lengths);
    return ok;
}

static bool describe_rnn(const gp_call *c, cudnnHandle_t h, plan *p) {
    static const cudnnRNNMode_t modes[] = {CUDNN_LSTM, CUDNN_GRU, CUDNN_RNN_TANH, CUDNN_RNN_RELU}; /* by gp_cell */
    const shape *s = &p->of;
    cudnnDataType_t type = gp_dnn_type(s->dtype);
    return gp_dnn_ok(c, gp_dnn.cudnnCreateDropoutDescriptor(&p->none)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetDropoutDescriptor(p->none, h, 0, NULL, 0, 0)) &&
           gp_dnn_ok(c, gp_dnn.cudnnCreateRNNDescriptor(&p->rnn)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetRNNDescriptor_v8(
                            p->rnn, CUDNN_RNN_ALGO_STANDARD, modes[s->cell],
                            s->biases ? CUDNN_RNN_DOUBLE_BIAS : CUDNN_RNN_NO_BIAS,
                            s->dirs == 2 ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT, type, type,
                            s->tf32 ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH, s->input, s->hidden, s->hidden, s->layers,
                            p->none, CUDNN_RNN_PADDED_IO_ENABLED));
}

static bool describe(const gp_call *c, cudnnHandle_t h, plan *p) {
    const shape *s = &p->of;
    int dim[3] = {s->layers * s->dirs, s->batch, s->hidden}, stride[3] = {s->batch * s->hidden, s->hidden, 1};
    return describe_rnn(c, h, p) && describe_data(c, s, s->input, &p->x) &&
           describe_data(c, s, s->dirs * s->hidden, &p->y) &&
           gp_dnn_ok(c, gp_dnn.cudnnCreateTensorDescriptor(&p->state)) &&
           gp_dnn_ok(c, gp_dnn.cudnnSetTensorNdDescriptor(p->state, gp_dnn_type(s->dtype), 3, dim, stride)) &&
           gp_dnn_ok(c, gp_dnn.cudnnGetRNNWeightSpaceSize(h, p->rnn, &p->weights)) &&
           gp_dnn_ok(c, gp_dnn.cudnnGetRNNTempSpaceSizes(h, p->rnn, CUDNN_FWD_MODE_INFERENCE, p->x, &p->work, NULL));
}

static plan *plan_of(const gp_call *c, cudnnHandle_t h, const shape *s) {
    for (int i = 0; i < PLANS; i++)
        if (plans[i].used && !memcmp(&plans[i].of, s, sizeof *s)) return &plans[i];
    plan *p = &plans[next_plan++ % PLANS];
    forget(p);
    p->of = *s;
    p->used = describe(c, h, p);
    if (!p->used) forget(p);
    return p->used ? p : NULL;
}

/* ---- weights ---- */

/* The gates of one of our weights or biases to where cuDNN has each; what lies together there in one copy. */
static bool copy_gates(const gp_rnn_run *n, const char *from, char *const *to, int gates, size_t bytes) {
    for (int g = 0, last; g < gates; g = last) {
        for (last = g + 1; last < gates && to[last] == to[last - 1] + bytes;) last++;
        if (!gp_cuda_ok(n->c, cudaMemcpyAsync(to[g], from + (size_t)g * bytes, (size_t)(last - g) * bytes,
                                              cudaMemcpyDeviceToDevice, gp_cuda_stream(n->c))))
            return false;
    }
    return true;
}

/* Layer and direction `side`: gates are in cuDNN's order (i f g o; r z n), w_ih's before w_hh's, two biases a gate. */
static bool put_side(gp_rnn_run *n, cudnnHandle_t h, const plan *p, cudnnTensorDescriptor_t any[2], int side, char *space) {
    const gp_rnn *r = &n->r;
    int first = side * (r->biases ? 4 : 2);
    int64_t width = side < r->dirs ? r->input : r->dirs * r->hidden;
    for (int kind = 0; kind < 2; kind++) { /* of the input, of h */
        void *matrix[4], *bias[4];
        size_t row = (size_t)(r->hidden * n->size);
        for (int g = 0; g < r->gates; g++)
            if (!gp_dnn_ok(n->c, gp_dnn.cudnnGetRNNWeightParams(h, p->rnn, side, p->weights, space, kind * r->gates + g,
                                                                any[0], &matrix[g], any[1], &bias[g])))
                return false;
        const char *w = gp_rnn_weights(n, first, kind), *b = r->biases ? gp_rnn_weights(n, first, 2 + kind) : NULL;
        if (!w || (r->biases && !b)) return false;
        if (!copy_gates(n, w, (char *const *)matrix, r->gates, row * (size_t)(kind ? r->hidden : width))) return false;
        if (b && !copy_gates(n, b, (char *const *)bias, r->gates, row)) return false;
    }
    return true;
}

static bool put_weights(gp_rnn_run *n, cudnnHandle_t h, const plan *p, char *space) {
    cudnnTensorDescriptor_t any[2] = {NULL, NULL}; /* shapes, which are known */
    bool ok = gp_cuda_ok(n->c, cudaMemsetAsync(space, 0, p->weights, gp_cuda_stream(n->c)));
    for (int i = 0; i < 2; i++) ok = ok && gp_dnn_ok(n->c, gp_dnn.cudnnCreateTensorDescriptor(&any[i]));
    for (int side = 0; ok && side < n->r.layers * n->r.dirs; side++) ok = put_side(n, h, p, any, side, space);
    for (int i = 0; i < 2; i++)
        if (any[i]) gp_dnn.cudnnDestroyTensorDescriptor(any[i]);
    return ok;
}

/* ---- a call ---- */

/* Scratch memory: x and y, the states before and after, weights, work. */
typedef struct places {
    char *x, *y, *before[2], *after[2], *weights, *work;
} places;

static bool find_places(const gp_rnn_run *n, const plan *p, places *k) {
    const gp_rnn *r = &n->r;
    int64_t states = r->layers * r->dirs * r->batch * r->hidden;
    for (int i = 0; i < r->states; i++)
        if (!(k->before[i] = gp_rnn_scratch(n, states)) || !(k->after[i] = gp_rnn_scratch(n, states))) return false;
    k->work = p->work ? (char *)gp_cuda_scratch(n->c, p->work) : NULL;
    return (k->work || !p->work) && (k->x = gp_rnn_scratch(n, r->steps * r->batch * r->input)) &&
           (k->y = gp_rnn_scratch(n, gp_rnn_plane(r))) && (k->weights = (char *)gp_cuda_scratch(n->c, p->weights));
}

static bool run(gp_rnn_run *n, cudnnHandle_t h, const plan *p, places *k) {
    const gp_rnn *r = &n->r;
    int64_t sides = r->layers * r->dirs, each = r->batch * r->hidden * n->size;
    bool ok = gp_rnn_get(n, gp_in(n->c, GP_RNN_X), k->x) && put_weights(n, h, p, k->weights);
    for (int s = 0; s < r->states; s++)
        for (int64_t i = 0; ok && i < sides; i++) ok = gp_rnn_initial(n, s, i, k->before[s] + i * each);
    ok = ok && gp_dnn_ok(n->c, gp_dnn.cudnnRNNForward(h, p->rnn, CUDNN_FWD_MODE_INFERENCE, NULL, p->x, k->x, p->y, k->y,
                                                      p->state, k->before[0], k->after[0], p->state, k->before[1],
                                                      k->after[1], p->weights, k->weights, p->work, k->work, 0, NULL)) &&
         gp_rnn_put(n, gp_out(n->c, 0), k->y);
    for (int s = 0; s < r->states; s++)
        for (int64_t i = 0; ok && i < sides; i++)
            ok = gp_rnn_put_state(n, gp_out(n->c, 1 + s), i, k->after[s] + i * each, r->hidden);
    return ok;
}

static bool shape_of(const gp_rnn_run *n, shape *s) {
    const gp_rnn *r = &n->r;
    memset(s, 0, sizeof *s);
    s->cell = r->cell, s->dtype = n->dtype, s->biases = r->biases, s->dirs = r->dirs, s->layers = r->layers;
    s->input = (int32_t)r->input, s->hidden = (int32_t)r->hidden, s->steps = (int32_t)r->steps;
    s->batch = (int32_t)r->batch, s->tf32 = gp_libs.tf32;
    cudaGetDevice(&s->device);
    return r->steps > 0 && r->input > 0 && r->hidden > 0 && r->steps * r->batch * r->input < INT_MAX &&
           gp_rnn_plane(r) < INT_MAX && r->layers * r->dirs * r->batch * r->hidden < INT_MAX;
}

bool gp_rnn_by_cudnn(gp_rnn_run *n, bool *done) {
    static _Atomic bool refused; /* a cuDNN that cannot be used here, or not for this: our own kernels can */
    shape s;
    *done = false;
    if (n->saved || n->r.dropped || refused || !shape_of(n, &s) || !gp_lib_there(GP_LIB_cudnn)) return true;
    gp_lib_lock();
    places k = {0};
    cudnnHandle_t h = gp_dnn_handle(n->c);
    plan *p = h ? plan_of(n->c, h, &s) : NULL;
    bool ok = p && find_places(n, p, &k) && run(n, h, p, &k);
    gp_lib_unlock();
    if (!p) {
        if (!h) refused = true;
        gp_error_clear();
        return true;
    }
    if (ok) gp_cuda_detail("cuDNN");
    return *done = ok;
}
#else
bool gp_rnn_by_cudnn(gp_rnn_run *n, bool *done) { return *done = false, true; }
#endif
