/* Ops that walk a mask in order: nonzero, count_nonzero, masked_select, masked_put. Chunks are
 * counted first, so each knows where its part begins. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/keys.h"

enum { CHUNK = 32768 };

static int64_t count_bytes(const uint8_t *m, int64_t n) {
    int64_t total = 0;
    for (int64_t i = 0; i < n;) {
        int64_t stop =
            n - i < 4096 ? n : i + 4096; /* 32-bit partial sums keep the inner loop narrow */
        uint32_t part = 0;
        for (; i < stop; i++) part += m[i];
        total += part;
    }
    return total;
}

/* A walk over elements in row-major order, in chunks whose counts of true ones are known. */
typedef struct walk {
    gp_loop loop; /* 0: nothing, in row-major order; 1: what is tested; 2: what is moved along, if
                     anything */
    gp_truth truth;
    int64_t chunks;
    int64_t *before; /* chunks + 1: true elements before each chunk */
    const gp_array *x, *out, *values;
    size_t size;
} walk;

/* Calls per piece of a row: p at the pieces' first elements, at most GP_BLOCK of them, and their
 * truths. */
typedef void (*piece_fn)(const walk *w, char *const *p, const uint8_t *truth, int64_t at, int64_t n,
                         void *state);

static void each_piece(const walk *w, int64_t begin, int64_t end, piece_fn fn, void *state) {
    const gp_loop *l = &w->loop;
    int last = l->ndim - 1;
    int64_t width = l->dim[last];
    uint8_t truth[GP_BLOCK];
    gp_rows r;
    gp_rows_begin(&r, l, begin);
    for (int64_t at = begin; at < end; gp_rows_next(&r, l)) {
        int64_t first = at % width, stop = width - first < end - at ? width : first + end - at;
        for (int64_t i = first; i < stop; i += GP_BLOCK) {
            int64_t n = stop - i < GP_BLOCK ? stop - i : GP_BLOCK;
            char *p[GP_LOOP_MAX];
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

static void add_count(const walk *w, char *const *p, const uint8_t *truth, int64_t at, int64_t n,
                      void *state) {
    *(int64_t *)state += count_bytes(truth, n);
}

static int64_t chunk_end(const walk *w, int64_t chunk) {
    return (chunk + 1) * CHUNK < w->loop.numel ? (chunk + 1) * CHUNK : w->loop.numel;
}

static void count_chunks(void *ctx, int64_t begin, int64_t end) {
    const walk *w = ctx;
    for (int64_t k = begin; k < end; k++) {
        int64_t n = 0;
        each_piece(w, k * CHUNK, chunk_end(w, k), add_count, &n);
        w->before[k + 1] = n;
    }
}

/* Sets up a walk over `tested` (and `moved`) broadcast to shape's dims, and counts. False with a
 * message; the caller frees w->before. */
static bool begin_walk(walk *w, const gp_array *shape, const gp_array *tested,
                       const gp_array *moved) {
    gp_array order = *shape;
    gp_row_major(&order);
    const gp_array *arrays[3] = {&order, tested, moved};
    gp_loop_init(&w->loop, moved ? 3 : 2, arrays);
    w->truth = gp_truth_fn((gp_dtype)tested->dtype);
    w->chunks = (shape->numel + CHUNK - 1) / CHUNK;
    w->before = calloc((size_t)w->chunks + 1, sizeof *w->before);
    if (!w->before) return gp_fail("out of memory");
    gp_parallel(w->chunks, 1, count_chunks, w);
    for (int64_t k = 0; k < w->chunks; k++) w->before[k + 1] += w->before[k];
    return true;
}

/* ---- count_nonzero ---- */

typedef struct tally {
    const gp_array *x;
    gp_array kept, reduced; /* x seen as an array of arrays */
    int64_t *out;
} tally;

static void tally_outputs(void *ctx, int64_t begin, int64_t end) {
    const tally *t = ctx;
    gp_array part = t->reduced, order = part;
    gp_row_major(&order);
    const gp_array *kept = &t->kept, *arrays[2] = {&order, &part};
    for (int64_t i = begin; i < end; i++) {
        walk w = {.truth = gp_truth_fn((gp_dtype)t->x->dtype)};
        gp_loop_init(&w.loop, 2, arrays);
        int64_t at = i;
        char *p = t->x->data;
        for (int d = kept->ndim - 1; d >= 0; d--)
            p += at % kept->dim[d] * kept->stride[d] * gp_dtype_sizes[t->x->dtype],
                at /= kept->dim[d];
        w.loop.data[1] = p;
        t->out[i] = 0;
        if (part.numel) each_piece(&w, 0, part.numel, add_count, &t->out[i]);
    }
}

static void tally_split(tally *t, uint64_t mask) {
    t->kept = t->reduced = *t->x;
    t->kept.ndim = t->reduced.ndim = 0;
    t->kept.numel = t->reduced.numel = 1;
    for (int d = 0; d < t->x->ndim; d++) {
        gp_array *a = mask >> d & 1 ? &t->reduced : &t->kept;
        a->dim[a->ndim] = t->x->dim[d];
        a->stride[a->ndim++] = t->x->stride[d];
        a->numel *= t->x->dim[d];
    }
}

bool CPU(count_nonzero)(const gp_call *c) {
    tally t = {.x = gp_in(c, 0), .out = (int64_t *)(void *)gp_out(c, 0)->data};
    tally_split(&t, (uint64_t)c->arg[1].i);
    if (t.kept.numel != 1) {
        gp_parallel(t.kept.numel, 1 + CHUNK / (t.reduced.numel + 1), tally_outputs, &t);
        return true;
    }
    walk w = {0};
    if (!begin_walk(&w, t.x, t.x, NULL)) return false;
    t.out[0] = w.before[w.chunks];
    free(w.before);
    return true;
}

/* ---- nonzero ---- */

typedef struct list_state {
    int64_t *to; /* the next row of the output */
} list_state;

/* Moves coord (from 1, inside dim) on by `by` elements in row-major order. */
static void advance(const gp_array *x, int64_t *coord, int64_t by) {
    int d = x->ndim - 1;
    coord[d] += by;
    for (; coord[d] > x->dim[d];
         d--) { /* positions lie inside x, so the first dim does not overflow */
        int64_t over = (coord[d] - 1) / x->dim[d];
        coord[d] -= over * x->dim[d];
        coord[d - 1] += over;
    }
}

/* x's dims are joined in the walk: where each true element is in them follows from its number. */
static void list_piece(const walk *w, char *const *p, const uint8_t *truth, int64_t at, int64_t n,
                       void *state) {
    list_state *s = state;
    const gp_array *x = w->x;
    int nd = x->ndim;
    int64_t found[GP_BLOCK + 1], k = 0, coord[GP_MAX_DIM], *to = s->to;
    for (int64_t i = 0; i < n; i++) {
        found[k] = i;
        k += truth[i];
    }
    if (k == 0) return;
    for (int d = nd - 1; d >= 0; d--) coord[d] = at % x->dim[d] + 1, at /= x->dim[d];
    for (int64_t i = 0, from = 0; i < k; from = found[i++], to += nd) {
        advance(x, coord, found[i] - from);
        for (int d = 0; d < nd; d++) to[d] = coord[d];
    }
    s->to = to;
}

/* One dim: no carry to look after, and every index is written, kept or not. */
static void list_piece_1d(const walk *w, char *const *p, const uint8_t *truth, int64_t at,
                          int64_t n, void *state) {
    list_state *s = state;
    int64_t found[GP_BLOCK + 1], k = 0;
    for (int64_t i = 0; i < n; i++) {
        found[k] = at + i + 1;
        k += truth[i];
    }
    memcpy(s->to, found, (size_t)k * sizeof *found);
    s->to += k;
}

static void list_chunks(void *ctx, int64_t begin, int64_t end) {
    const walk *w = ctx;
    for (int64_t k = begin; k < end; k++) {
        list_state s = {.to = (int64_t *)(void *)w->out->data + w->before[k] * w->x->ndim};
        if (w->before[k + 1] > w->before[k])
            each_piece(w, k * CHUNK, chunk_end(w, k), w->x->ndim == 1 ? list_piece_1d : list_piece,
                       &s);
    }
}

/* The count that shaped the output was taken from the same memory; what changed it since must not
 * make the kernel write further. */
static bool count_is(const gp_call *c, const walk *w, int64_t n) {
    if (w->before[w->chunks] == n) return true;
    return gp_fail("%s: the mask was changed while it was used: %lld true elements, then %lld",
                   c->op->name, (long long)n, (long long)w->before[w->chunks]);
}

bool CPU(nonzero)(const gp_call *c) {
    walk w = {.x = gp_in(c, 0), .out = gp_out(c, 0)};
    if (!begin_walk(&w, w.x, w.x, NULL)) return false;
    bool ok = count_is(c, &w, w.out->dim[0]);
    if (ok && w.x->ndim) gp_parallel(w.chunks, 1, list_chunks, &w);
    free(w.before);
    return ok;
}

/* ---- masked_select ---- */

#define COMPRESS(T)                                                                                \
    static int64_t compress_##T(char *to, const char *from, int64_t step, const uint8_t *truth,    \
                                int64_t n) {                                                       \
        T kept[GP_BLOCK + 1];                                                                      \
        int64_t k = 0;                                                                             \
        for (int64_t i = 0; i < n; i++) {                                                          \
            kept[k] = *(const T *)(from + i * step);                                               \
            k += truth[i];                                                                         \
        }                                                                                          \
        memcpy(to, kept, (size_t)k * sizeof(T));                                                   \
        return k * (int64_t)sizeof(T);                                                             \
    }
COMPRESS(uint8_t)
COMPRESS(uint16_t)
COMPRESS(uint32_t)
COMPRESS(uint64_t)

static void select_piece(const walk *w, char *const *p, const uint8_t *truth, int64_t at, int64_t n,
                         void *state) {
    char **to = state;
    int64_t step = w->loop.stride[2][w->loop.ndim - 1];
    if (w->size == 4) *to += compress_uint32_t(*to, p[2], step, truth, n);
    else if (w->size == 8) *to += compress_uint64_t(*to, p[2], step, truth, n);
    else if (w->size == 2) *to += compress_uint16_t(*to, p[2], step, truth, n);
    else *to += compress_uint8_t(*to, p[2], step, truth, n);
}

static void select_chunks(void *ctx, int64_t begin, int64_t end) {
    const walk *w = ctx;
    for (int64_t k = begin; k < end; k++) {
        char *to = w->out->data + w->before[k] * (int64_t)w->size;
        if (w->before[k + 1] > w->before[k])
            each_piece(w, k * CHUNK, chunk_end(w, k), select_piece, &to);
    }
}

/* The shape that two arrays broadcast to. */
static gp_array broadcast_shape(const gp_array *a, const gp_array *b) {
    if (a->ndim < b->ndim) return broadcast_shape(b, a);
    gp_array s = *a;
    s.numel = 1;
    for (int d = 0; d < s.ndim; d++) {
        int j = d - (a->ndim - b->ndim);
        if (j >= 0 && s.dim[d] == 1) s.dim[d] = b->dim[j];
        s.numel *= s.dim[d];
    }
    return s;
}

bool CPU(masked_select)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *mask = gp_in(c, 1);
    gp_array shape = broadcast_shape(x, mask);
    walk w = {.out = gp_out(c, 0), .size = gp_dtype_size((gp_dtype)x->dtype)};
    if (!begin_walk(&w, &shape, mask, x)) return false;
    bool ok = count_is(c, &w, w.out->numel);
    if (ok) gp_parallel(w.chunks, 1, select_chunks, &w);
    free(w.before);
    return ok;
}

/* ---- masked_put ---- */

/* True element number r of the mask takes values' row r (its only one, if there is one): the part
 * of x behind the mask's dims. */
typedef struct put {
    walk w;
    gp_array part, value; /* of x and of values, both of the shape of the part */
    int64_t value_step;   /* bytes from row to row of values */
} put;

typedef struct put_state {
    const put *p;
    const char *from;
} put_state;

static void put_part(const put *p, char *to, const char *from) {
    gp_array d = p->part, s = p->value;
    d.data = to;
    s.data = (char *)(uintptr_t)from;
    if (d.ndim) gp_copy_array(&d, &s);
    else memcpy(to, from, p->w.size);
}

static void put_piece(const walk *w, char *const *p, const uint8_t *truth, int64_t at, int64_t n,
                      void *state) {
    put_state *s = state;
    int64_t step = w->loop.stride[2][w->loop.ndim - 1];
    for (int64_t i = 0; i < n; i++) {
        if (!truth[i]) continue;
        put_part(s->p, p[2] + i * step, s->from);
        s->from += s->p->value_step;
    }
}

static void put_chunks(void *ctx, int64_t begin, int64_t end) {
    const put *p = ctx;
    for (int64_t k = begin; k < end; k++) {
        put_state s = {.p = p, .from = p->w.values->data + p->w.before[k] * p->value_step};
        if (p->w.before[k + 1] > p->w.before[k])
            each_piece(&p->w, k * CHUNK, chunk_end(&p->w, k), put_piece, &s);
    }
}

/* Splits x behind the mask's dims; lays values over the part. */
static void put_layout(put *p, const gp_array *x, int nmask, gp_array *head) {
    const gp_array *v = p->w.values;
    int rest = x->ndim - nmask;
    *head = p->part = p->value = *x;
    head->ndim = (uint8_t)nmask;
    p->part.ndim = p->value.ndim = (uint8_t)rest;
    for (int i = 0; i < rest; i++) {
        int j = v->ndim - rest + i;
        p->part.dim[i] = p->value.dim[i] = x->dim[nmask + i];
        p->part.stride[i] = x->stride[nmask + i];
        p->value.stride[i] = j < 0 || v->dim[j] == 1 ? 0 : v->stride[j];
    }
    gp_array_update(head);
    gp_array_update(&p->part);
    gp_array_update(&p->value);
    p->value_step = v->ndim > rest && v->dim[0] != 1 ? v->stride[0] * (int64_t)p->w.size : 0;
}

bool CPU(masked_put)(const gp_call *c) {
    const gp_array *mask = gp_in(c, 1), *out = gp_out(c, 0);
    put p = {.w = {.values = gp_values(c, 2, 0), .size = gp_dtype_size((gp_dtype)out->dtype)}};
    gp_array head;
    put_layout(&p, out, mask->ndim, &head);
    if (!begin_walk(&p.w, mask, mask, &head)) return false;
    int64_t have = p.w.values->ndim > p.part.ndim ? p.w.values->dim[0] : 1,
            want = p.w.before[p.w.chunks];
    bool ok = have == want || have == 1 ||
              gp_fail("%s: %lld values given for %lld true elements of the mask", c->op->name,
                      (long long)have, (long long)want);
    if (ok && out->data != gp_in(c, 0)->data) gp_copy_array(out, gp_in(c, 0));
    if (ok && p.part.numel) gp_parallel(p.w.chunks, 1, put_chunks, &p);
    free(p.w.before);
    return ok;
}
