/* Packing a recurrent layer's weights for cuDNN, and its gradients back. Packed weights are kept by
 * where ours are and the write that they stem from: inference packs them once, training once a
 * step, on whatever streams. */
#include "kernels/cuda/rnn/rnn.h"
#include "kernels/cuda/runtime/device.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/memory/alloc.h"

#if __has_include(<cudnn.h>)
#include <stdlib.h>

#include "kernels/cuda/rnn/weights.h"

/* ---- layout ---- */

/* cuDNN's address of each gate, for one of our weights or biases. */
typedef struct gates {
    char *matrix[4], *bias[4];
} gates;

/* kind: of the input, of h. Gates are in cuDNN's order (i f g o; r z n), w_ih's before w_hh's, two
 * biases per gate. */
static bool find_gates(const gp_rnn_run *n, cudnnHandle_t h, const gp_rnn_space *p, int side,
                       int kind, char *space, gates *at) {
    cudnnTensorDescriptor_t any[2] = {NULL, NULL}; /* shapes, which are known */
    bool ok = true;
    for (int i = 0; i < 2; i++)
        ok = ok && gp_dnn_ok(n->c, gp_dnn.cudnnCreateTensorDescriptor(&any[i]));
    for (int g = 0; ok && g < n->r.gates; g++) {
        void *matrix, *bias;
        ok = gp_dnn_ok(n->c, gp_dnn.cudnnGetRNNWeightParams(h, p->rnn, side, p->bytes, space,
                                                            kind * n->r.gates + g, any[0], &matrix,
                                                            any[1], &bias));
        at->matrix[g] = (char *)matrix, at->bias[g] = (char *)bias;
    }
    for (int i = 0; i < 2; i++)
        if (any[i]) gp_dnn.cudnnDestroyTensorDescriptor(any[i]);
    return ok;
}

/* Copies the gates of one of our weights or biases to cuDNN's addresses, or back; contiguous ones
 * in one copy. */
static bool copy_gates(const gp_rnn_run *n, char *ours, char *const *at, size_t bytes, bool back) {
    for (int g = 0, last; g < n->r.gates; g = last) {
        for (last = g + 1; last < n->r.gates && at[last] == at[last - 1] + bytes;) last++;
        char *own = ours + (size_t)g * bytes;
        if (!gp_cuda_ok(n->c, cudaMemcpyAsync(back ? own : at[g], back ? at[g] : own,
                                              (size_t)(last - g) * bytes, cudaMemcpyDeviceToDevice,
                                              gp_cuda_stream(n->c))))
            return false;
    }
    return true;
}

/* Bytes of one gate's matrix. */
static size_t gate_bytes(const gp_rnn *r, int64_t size, int side, int kind) {
    int64_t width = kind ? r->hidden : side < r->dirs ? r->input : r->dirs * r->hidden;
    return (size_t)(r->hidden * width * size);
}

static bool pack(gp_rnn_run *n, cudnnHandle_t h, const gp_rnn_space *p, char *space) {
    const gp_rnn *r = &n->r;
    bool ok = gp_cuda_ok(n->c, cudaMemsetAsync(space, 0, p->bytes, gp_cuda_stream(n->c)));
    for (int i = 0; ok && i < 2 * r->layers * r->dirs; i++) {
        int side = i / 2, kind = i % 2, first = side * (r->biases ? 4 : 2);
        gates at;
        const char *w = gp_rnn_weights(n, first, kind),
                   *b = r->biases ? gp_rnn_weights(n, first, 2 + kind) : NULL;
        ok = w && (b || !r->biases) && find_gates(n, h, p, side, kind, space, &at) &&
             copy_gates(n, (char *)w, at.matrix, gate_bytes(r, n->size, side, kind), false) &&
             (!b || copy_gates(n, (char *)b, at.bias, (size_t)(r->hidden * n->size), false));
    }
    return ok;
}

bool gp_rnn_unpack(gp_rnn_run *n, cudnnHandle_t h, const gp_rnn_space *p, char *space, char *to) {
    const gp_rnn *r = &n->r;
    size_t row = (size_t)(r->hidden * n->size), all = (size_t)r->gates;
    for (int side = 0; side < r->layers * r->dirs; side++) {
        gates at[2];
        for (int kind = 0; kind < 2; kind++) {
            size_t bytes = gate_bytes(r, n->size, side, kind);
            if (!find_gates(n, h, p, side, kind, space, &at[kind]) ||
                !copy_gates(n, to, at[kind].matrix, bytes, true))
                return false;
            to += all * bytes;
        }
        for (int kind = 0; r->biases && kind < 2; kind++, to += all * row)
            if (!copy_gates(n, to, at[kind].bias, row, true)) return false;
    }
    return true;
}

/* ---- keeping them ---- */

enum { KEPT = 32 };

/* One weight as it was packed: the write that its value is from cannot come again. Bytes between
 * the fields are 0. */
typedef struct source {
    const char *data;
    const gp_stream *writer;
    uint64_t seq, version;
} source;

typedef struct packed {
    gp_storage *space; /* used on any stream, in the order of a tensor's; NULL: none is kept here */
    char *key;         /* the caller's key, then a source for each weight */
    size_t key_bytes, bytes;
    uint64_t used; /* when; the one not used for longest is replaced */
} packed;
static packed kept[KEPT]; /* with gp_lib_lock held */
static uint64_t uses;

/* What n's weights are and stem from, malloc'd; NULL where that is not known, or without memory. */
static char *key_of(const gp_rnn_run *n, const gp_rnn_space *p, size_t *bytes) {
    const gp_value *w = &n->c->arg[GP_RNN_WEIGHTS];
    if (!n->c->tensors || gp_cuda_building()) return NULL;
    char *key = (char *)calloc(1, *bytes = p->key_bytes + (size_t)w->n * sizeof(source));
    if (key) memcpy(key, p->key, p->key_bytes);
    for (int i = 0; key && i < w->n; i++) {
        const gp_storage *st = w->list[i]->storage;
        source s = {w->list[i]->a.data, st->last_writer, st->write_seq, st->version};
        bool known = w->list[i]->a.contiguous && w->list[i]->a.dtype == n->dtype &&
                     st->last_writer && st->size_class >= 0;
        if (!known) free(key), key = NULL;
        else memcpy(key + p->key_bytes + (size_t)i * sizeof s, &s, sizeof s);
    }
    return key;
}

static void forget(packed *k) {
    gp_storage *space = k->space;
    free(k->key);
    memset(k, 0, sizeof *k);
    gp_storage_unref(space);
}

/* The space that was packed for the key, with a reference, or NULL. */
static gp_storage *find(const char *key, size_t key_bytes, size_t bytes) {
    for (int i = 0; i < KEPT; i++) {
        packed *k = &kept[i];
        if (!k->space || k->key_bytes != key_bytes || k->bytes != bytes ||
            memcmp(k->key, key, key_bytes))
            continue;
        k->used = ++uses;
        return gp_storage_ref(k->space);
    }
    return NULL;
}

/* Whether k is of the same weights as key, perhaps of other values. */
static bool same_weights(const packed *k, const gp_rnn_space *p, const char *key, size_t bytes) {
    if (k->key_bytes != bytes || memcmp(k->key, key, p->key_bytes)) return false;
    for (size_t at = p->key_bytes; at < bytes; at += sizeof(source))
        if (memcmp(k->key + at, key + at, offsetof(source, writer))) return false;
    return true;
}

/* The space that the same weights were packed in before, with its reference: they are packed again
 * where they were, so that graphs find them there. NULL: there is none. */
static gp_storage *take_earlier(const gp_rnn_space *p, const char *key, size_t key_bytes) {
    for (int i = 0; i < KEPT; i++) {
        packed *k = &kept[i];
        if (!k->space || k->bytes != p->bytes || !same_weights(k, p, key, key_bytes)) continue;
        gp_storage *space = gp_storage_ref(k->space);
        forget(k);
        return space;
    }
    return NULL;
}

/* Keeps space, with a reference, in the place of what was not used for longest. Takes over the key.
 */
static void keep(const gp_rnn_space *p, char *key, size_t key_bytes, gp_storage *space) {
    packed *to = &kept[0];
    for (int i = 1; i < KEPT; i++)
        if (kept[i].used < to->used) to = &kept[i];
    if (to->space) forget(to);
    *to = (packed){gp_storage_ref(space), key, key_bytes, p->bytes, ++uses};
}

/* Packs n's weights in space, after the work on other streams that uses it. */
static bool fill(gp_rnn_run *n, cudnnHandle_t h, const gp_rnn_space *p, gp_storage *space) {
    gp_stream *s = n->c->stream;
    if (!gp_order_write(space, s) || !pack(n, h, p, space->data)) return false;
    space->last_writer = s;
    space->write_seq = atomic_load_explicit(&s->issued, memory_order_relaxed) + 1;
    return true;
}

char *gp_rnn_packed(gp_rnn_run *n, cudnnHandle_t h, const gp_rnn_space *p) {
    size_t key_bytes = 0;
    gp_stream *s = n->c->stream;
    char *key = key_of(n, p, &key_bytes);
    gp_storage *space = key ? find(key, key_bytes, p->bytes) : NULL;
    bool fresh = !space;
    if (fresh && key) space = take_earlier(p, key, key_bytes);
    if (!space) space = gp_cuda_storage(n->c, p->bytes);
    char *to = space ? (char *)gp_cuda_hold(n->c, space) : NULL;
    bool ok = to && (fresh ? fill(n, h, p, space) : gp_order_read(space, s));
    if (ok) gp_storage_use(space, s);
    if (ok && fresh && key) keep(p, key, key_bytes, space);
    else free(key);
    return ok ? to : NULL;
}

void gp_cuda_shed(gp_device *dev) {
    gp_lib_lock();
    for (int i = 0; i < KEPT; i++)
        if (kept[i].space && kept[i].space->dev == dev) forget(&kept[i]);
    gp_rnn_shed_staging(dev);
    gp_lib_unlock();
}
#else
void gp_cuda_shed(gp_device *dev) {}
#endif
