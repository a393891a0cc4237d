/* The walk over a mask, and nonzero, which lists where it is true. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/index/mask.h"
#include "kernels/cpu/runtime/nontemporal.h"

/* Sums of UNIT bytes fit into a byte, of which a vector holds more than of any wider type. */
static int64_t count_bytes(const uint8_t *m, int64_t n) {
    enum { UNIT = 192 };
    _Static_assert(UNIT <= UINT8_MAX, "a byte holds their sum");
    int64_t total = 0;
    for (; n >= UNIT; n -= UNIT, m += UNIT) {
        uint8_t part = 0;
        for (int i = 0; i < UNIT; i++) part += m[i] != 0;
        total += part;
    }
    for (int64_t i = 0; i < n; i++) total += m[i] != 0;
    return total;
}

static void each_piece(const gp_mask_walk *w, int64_t begin, int64_t end, gp_mask_walk_fn fn,
                       void *state) {
    const gp_nd_loop *l = &w->loop;
    int last = l->ndim - 1;
    int64_t width = l->dim[last];
    uint8_t truth[GP_BLOCK];
    char *p[GP_LOOP_MAX] = {NULL};
    gp_row_iter r;
    gp_row_iter_begin(&r, l, begin);
    for (int64_t at = begin; at < end; gp_row_iter_next(&r, l)) {
        int64_t first = at % width, stop = width - first < end - at ? width : first + end - at;
        for (int64_t i = first; i < stop; i += GP_BLOCK) {
            int64_t n = stop - i < GP_BLOCK ? stop - i : GP_BLOCK;
            for (int k = 0; k < l->n; k++) p[k] = r.p[k] + i * l->stride[k][last];
            int64_t step = l->stride[1][last];
            w->truth(truth, p[1], step, step ? n : 1);
            if (step == 0 && !truth[0]) continue; /* all the row is false */
            if (step == 0) memset(truth, 1, (size_t)n);
            fn(w, p, truth, at + i - first, n, state);
        }
        at += stop - first;
    }
}

static void add_count(const gp_mask_walk *w, char *const *p, const uint8_t *truth, int64_t at,
                      int64_t n, void *state) {
    *(int64_t *)state += count_bytes(truth, n);
}

int64_t gp_mask_walk_count(const gp_mask_walk *w, int64_t begin, int64_t end) {
    int64_t n = 0;
    if (begin < end) each_piece(w, begin, end, add_count, &n);
    return n;
}

static int64_t chunk_end(const gp_mask_walk *w, int64_t chunk) {
    return (chunk + 1) * GP_MASK_CHUNK < w->loop.numel ? (chunk + 1) * GP_MASK_CHUNK
                                                       : w->loop.numel;
}

void gp_mask_walk_chunk(const gp_mask_walk *w, int64_t chunk, gp_mask_walk_fn fn, void *state) {
    if (w->before[chunk + 1] > w->before[chunk])
        each_piece(w, chunk * GP_MASK_CHUNK, chunk_end(w, chunk), fn, state);
}

/* Contiguous elements are counted in place; sign: the bit that makes a zero -0.0. Lines `ahead`
 * bytes on are prefetched: the hardware stops at the end of a page. */
#define COUNT(T)                                                                                   \
    static int64_t count_##T(const char *p, int64_t n, const T sign, int64_t ahead) {              \
        enum { BYTES = 256, UNIT = BYTES / sizeof(T) };                                            \
        const T *x = (const T *)(const void *)p;                                                   \
        T total = 0;                                                                               \
        for (; n >= UNIT; n -= UNIT, x += UNIT) {                                                  \
            fetch_block((const char *)x + ahead, BYTES);                                           \
            for (int i = 0; i < UNIT; i++) total += (x[i] & ~sign) != 0;                           \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) total += (x[i] & ~sign) != 0;                              \
        return (int64_t)total;                                                                     \
    }
COUNT(uint16_t)
COUNT(uint32_t)
COUNT(uint64_t)

/* True elements of a chunk. */
static int64_t count_chunk(const gp_mask_walk *w, int64_t chunk) {
    int64_t from = chunk * GP_MASK_CHUNK, end = chunk_end(w, chunk);
    int64_t size = (int64_t)gp_dtype_size(w->tested), step = w->loop.stride[1][0];
    int64_t ahead = w->loop.numel * size < STREAM_BYTES ? 1024 : 8192; /* memory is further off */
    bool minus = gp_is_float(w->tested), plain = w->loop.ndim == 1 && step == size;
    const char *p = w->loop.data[1] + from * step;
    if (plain && size == 8) return count_uint64_t(p, end - from, (uint64_t)minus << 63, ahead);
    if (plain && size == 4) return count_uint32_t(p, end - from, (uint32_t)minus << 31, ahead);
    if (plain && size == 2) return count_uint16_t(p, end - from, (uint16_t)(minus << 15), ahead);
    if (plain) return count_bytes((const uint8_t *)p, end - from);
    return gp_mask_walk_count(w, from, end);
}

static void count_chunks(void *ctx, int64_t begin, int64_t end) {
    const gp_mask_walk *w = ctx;
    for (int64_t k = begin; k < end && !gp_stopped(); k++) w->before[k + 1] = count_chunk(w, k);
}

bool gp_mask_walk_begin(gp_mask_walk *w, const gp_array *shape, const gp_array *tested,
                        const gp_array *moved) {
    gp_array order = *shape;
    gp_row_major(&order);
    const gp_array *arrays[3] = {&order, tested, moved};
    gp_nd_loop_init(&w->loop, moved ? 3 : 2, arrays);
    w->tested = (gp_dtype)tested->dtype;
    w->truth = gp_nonzero_fn(w->tested);
    w->chunks = (shape->numel + GP_MASK_CHUNK - 1) / GP_MASK_CHUNK;
    w->before = calloc((size_t)w->chunks + 1, sizeof *w->before);
    if (!w->before) return gp_fail("out of memory");
    gp_parallel(w->chunks, 1, count_chunks, w);
    if (gp_stopped()) {
        free(w->before);
        return gp_fail("%s: interrupted", gp_running ? gp_running->name : "mask");
    }
    for (int64_t k = 0; k < w->chunks; k++) w->before[k + 1] += w->before[k];
    return true;
}

typedef struct list_state {
    int64_t *to; /* the next row of the output */
} list_state;

/* Rows of ndim coordinates, of which all but the last are `coord`, and the last found[i] -
 * begin. */
static inline __attribute__((always_inline)) void write_coordinates(int64_t *to, const int ndim,
                                                                    const int64_t *coord,
                                                                    const int32_t *found, int64_t n,
                                                                    int64_t begin) {
    for (int64_t i = 0; i < n; i++, to += ndim) {
        for (int d = 0; d < ndim - 1; d++) to[d] = coord[d];
        to[ndim - 1] = found[i] - begin;
    }
}

/* x's dims are joined in the walk: the coordinates of a true element follow from its number.
 * Elements of one row of the last dim share all other coordinates. */
static void list_piece(const gp_mask_walk *w, char *const *p, const uint8_t *truth, int64_t at,
                       int64_t n, void *state) {
    list_state *s = state;
    const gp_array *x = w->x;
    int ndim = x->ndim, last = ndim - 1;
    int32_t found[GP_BLOCK + 16];
    int64_t k = gp_true_at(truth, n, found), width = x->dim[last];
    for (int64_t i = 0, stop; i < k; i = stop) {
        int64_t coord[GP_MAX_DIM], row = (at + found[i]) / width, begin = row * width - at;
        for (int d = last - 1; d >= 0; d--) coord[d] = row % x->dim[d] + 1, row /= x->dim[d];
        for (stop = i + 1; stop < k && found[stop] < begin + width;) stop++;
        if (ndim == 2) write_coordinates(s->to, 2, coord, found + i, stop - i, begin - 1);
        else if (ndim == 3) write_coordinates(s->to, 3, coord, found + i, stop - i, begin - 1);
        else if (ndim == 4) write_coordinates(s->to, 4, coord, found + i, stop - i, begin - 1);
        else write_coordinates(s->to, ndim, coord, found + i, stop - i, begin - 1);
        s->to += (stop - i) * ndim;
    }
}

static void list_piece_1d(const gp_mask_walk *w, char *const *p, const uint8_t *truth, int64_t at,
                          int64_t n, void *state) {
    list_state *s = state;
    int32_t found[GP_BLOCK + 16];
    int64_t k = gp_true_at(truth, n, found);
    for (int64_t i = 0; i < k; i++) s->to[i] = at + found[i] + 1;
    s->to += k;
}

static void list_chunks(void *ctx, int64_t begin, int64_t end) {
    const gp_mask_walk *w = ctx;
    for (int64_t k = begin; k < end; k++) {
        list_state s = {.to = (int64_t *)(void *)w->out->data + w->before[k] * w->x->ndim};
        gp_mask_walk_chunk(w, k, w->x->ndim == 1 ? list_piece_1d : list_piece, &s);
    }
}

bool gp_mask_walk_count_is(const gp_call *c, const gp_mask_walk *w, int64_t n) {
    if (w->before[w->chunks] == n) return true;
    return gp_fail("%s: the mask was changed while it was used: %lld true elements, then %lld",
                   c->op->name, (long long)n, (long long)w->before[w->chunks]);
}

bool CPU(nonzero)(const gp_call *c) {
    gp_mask_walk w = {.x = gp_in(c, 0), .out = gp_out(c, 0)};
    if (!gp_mask_walk_begin(&w, w.x, w.x, NULL)) return false;
    bool ok = gp_mask_walk_count_is(c, &w, w.out->dim[0]);
    if (ok && w.x->ndim) ok = gp_parallel_op(c, w.chunks, 1, list_chunks, &w);
    free(w.before);
    return ok;
}
