/* Ops that move elements by a mask: masked_select, masked_put, masked_scatter. Packing whole
 * vectors is worth 1.4 at half of 1e6 numbers (one thread of an Emerald Rapids with AVX-512). */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/index/mask.h"

/* ---- masked_select ---- */

#define COMPRESS(T)                                                                                \
    static void compress_##T(char *to, const char *from, int64_t step, const int32_t *found,       \
                             int64_t k) {                                                          \
        for (int64_t i = 0; i < k; i++) ((T *)to)[i] = *(const T *)(from + found[i] * step);       \
    }
COMPRESS(uint8_t)
COMPRESS(uint16_t)
COMPRESS(uint32_t)
COMPRESS(uint64_t)

/* Where a chunk's elements go: memory past `end` is the next chunk's, which another thread may
 * write. */
typedef struct compacted {
    char *to, *end;
} compacted;

/* Packs contiguous elements of 4 or 8 bytes, 16 or 8 at a time, while a whole vector has room;
 * returns how many of n it looked at. */
static int64_t squeeze(compacted *o, const char *from, size_t size, const uint8_t *truth,
                       int64_t n) {
    int64_t i = 0;
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512VL__)
    for (; size == 8 && i + 8 <= n && o->end - o->to >= 64; i += 8) {
        __m128i t = _mm_loadl_epi64((const __m128i *)(const void *)(truth + i));
        __mmask8 m = (__mmask8)_mm_test_epi8_mask(t, t);
        __m512i v = _mm512_loadu_si512(from + i * 8);
        _mm512_storeu_si512(o->to, _mm512_maskz_compress_epi64(m, v));
        o->to += __builtin_popcount(m) * 8;
    }
    for (; size == 4 && i + 16 <= n && o->end - o->to >= 64; i += 16) {
        __m128i t = _mm_loadu_si128((const __m128i *)(const void *)(truth + i));
        __mmask16 m = _mm_test_epi8_mask(t, t);
        __m512i v = _mm512_loadu_si512(from + i * 4);
        _mm512_storeu_si512(o->to, _mm512_maskz_compress_epi32(m, v));
        o->to += __builtin_popcount(m) * 4;
    }
#endif
    return i;
}

static void select_piece(const gp_mask_walk *w, char *const *p, const uint8_t *truth, int64_t at,
                         int64_t n, void *state) {
    compacted *o = state;
    int64_t step = w->loop.stride[2][w->loop.ndim - 1];
    int32_t found[GP_BLOCK + 16];
    int64_t done = step == (int64_t)w->size ? squeeze(o, p[2], w->size, truth, n) : 0;
    int64_t k = gp_true_at(truth + done, n - done, found);
    const char *from = p[2] + done * step;
    if (w->size == 4) compress_uint32_t(o->to, from, step, found, k);
    else if (w->size == 8) compress_uint64_t(o->to, from, step, found, k);
    else if (w->size == 2) compress_uint16_t(o->to, from, step, found, k);
    else compress_uint8_t(o->to, from, step, found, k);
    o->to += k * (int64_t)w->size;
}

static void select_chunks(void *ctx, int64_t begin, int64_t end) {
    const gp_mask_walk *w = ctx;
    for (int64_t k = begin; k < end; k++) {
        int64_t size = (int64_t)w->size;
        compacted o = {w->out->data + w->before[k] * size, w->out->data + w->before[k + 1] * size};
        gp_mask_walk_chunk(w, k, select_piece, &o);
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

/* a with shape's dims: stride 0 where it is broadcast. */
static gp_array spread(const gp_array *a, const gp_array *shape) {
    gp_array r = *a;
    r.ndim = shape->ndim;
    for (int d = 0; d < r.ndim; d++) {
        int j = d - (shape->ndim - a->ndim);
        r.stride[d] = j < 0 || a->dim[j] == 1 ? 0 : a->stride[j];
        r.dim[d] = shape->dim[d];
    }
    gp_array_update(&r);
    return r;
}

/* The mask's last dims are broadcast: each true element stands for a part of x. */
typedef struct parts {
    gp_mask_walk
        w; /* over the mask's other dims, or over all; first, so that either walk takes it */
    gp_array part;
    char *packed; /* the parts of true elements, without gaps */
    bool back;    /* from there to x */
} parts;

typedef struct parts_state {
    const parts *p;
    char *packed;
} parts_state;

/* Elements of parts that lie `ps` bytes apart where they are packed, and at[i] steps of bytes apart
 * in x. */
typedef void (*move_fn)(char *packed, int64_t ps, char *x, int64_t step, const int32_t *at,
                        int64_t n);
#define MOVES(T)                                                                                   \
    static void collect_##T(char *packed, int64_t ps, char *x, int64_t step, const int32_t *at,    \
                            int64_t n) {                                                           \
        for (int64_t i = 0; i < n; i++) *(T *)(packed + i * ps) = *(T *)(x + at[i] * step);        \
    }                                                                                              \
    static void spread_##T(char *packed, int64_t ps, char *x, int64_t step, const int32_t *at,     \
                           int64_t n) {                                                            \
        for (int64_t i = 0; i < n; i++) *(T *)(x + at[i] * step) = *(T *)(packed + i * ps);        \
    }
MOVES(uint8_t)
MOVES(uint16_t)
MOVES(uint32_t)
MOVES(uint64_t)

static move_fn collect_or_spread(size_t size, bool back) {
    if (size == 4) return back ? spread_uint32_t : collect_uint32_t;
    if (size == 8) return back ? spread_uint64_t : collect_uint64_t;
    if (size == 2) return back ? spread_uint16_t : collect_uint16_t;
    return back ? spread_uint8_t : collect_uint8_t;
}

/* Packs parts of n elements that begin at[i] steps of bytes from x, or moves them back. Their
 * elements are not adjacent in x, so the first ones of all parts are moved, then the second ones,
 * … */
static void move_parts(const parts *p, char *packed, char *x, int64_t step, const int32_t *at,
                       int64_t n) {
    const gp_array *part = &p->part;
    move_fn move = collect_or_spread(p->w.size, p->back);
    int64_t size = (int64_t)p->w.size, idx[GP_MAX_DIM] = {0};
    for (int64_t j = 0; j < part->numel; j++) {
        move(packed + j * size, part->numel * size, x, step, at, n);
        for (int d = part->ndim - 1; d >= 0; d--) {
            x += part->stride[d] * size;
            if (++idx[d] < part->dim[d]) break;
            x -= part->dim[d] * part->stride[d] * size;
            idx[d] = 0;
        }
    }
}

/* Where parts are rows without gaps. */
static void copy_parts(const parts *p, char *packed, char *x, int64_t step, const int32_t *at,
                       int64_t n) {
    size_t bytes = (size_t)p->part.numel * p->w.size;
    for (int64_t i = 0; i < n; i++, packed += bytes)
        memcpy(p->back ? x + at[i] * step : packed, p->back ? packed : x + at[i] * step, bytes);
}

static void parts_piece(const gp_mask_walk *w, char *const *p, const uint8_t *truth, int64_t at,
                        int64_t n, void *state) {
    enum { FEW = 64 }; /* parts of FEW elements stay in the first-level cache while they fill */
    parts_state *s = state;
    int32_t found[GP_BLOCK + 16];
    int64_t step = w->loop.stride[2][w->loop.ndim - 1], k = gp_true_at(truth, n, found);
    int64_t bytes = s->p->part.numel * (int64_t)w->size;
    for (int64_t i = 0; i < k; i += FEW) {
        int64_t some = k - i < FEW ? k - i : FEW;
        if (s->p->part.contiguous) copy_parts(s->p, s->packed, p[2], step, found + i, some);
        else move_parts(s->p, s->packed, p[2], step, found + i, some);
        s->packed += some * bytes;
    }
}

static void parts_chunks(void *ctx, int64_t begin, int64_t end) {
    const parts *p = ctx;
    int64_t bytes = p->part.numel * (int64_t)p->w.size;
    for (int64_t k = begin; k < end; k++) {
        parts_state s = {.p = p, .packed = p->packed + p->w.before[k] * bytes};
        gp_mask_walk_chunk(&p->w, k, parts_piece, &s);
    }
}

/* The last dims that the mask is broadcast over; 0: they have one element. */
static int broadcast_dims(const gp_array *mask) {
    int rest = 0;
    int64_t part = 1;
    while (rest < mask->ndim && mask->stride[mask->ndim - 1 - rest] == 0)
        part *= mask->dim[mask->ndim - ++rest];
    return part > 1 ? rest : 0;
}

/* Sets up and counts parts of x, of its last `rest` dims; the mask has x's shape. The caller frees
 * p->w.before. */
static bool parts_begin(parts *p, gp_array x, gp_array mask, int rest) {
    int lead = x.ndim - rest;
    p->part = x;
    p->part.ndim = (uint8_t)rest;
    for (int i = 0; i < rest; i++)
        p->part.dim[i] = x.dim[lead + i], p->part.stride[i] = x.stride[lead + i];
    gp_array_update(&p->part);
    x.ndim = mask.ndim = (uint8_t)lead;
    gp_array_update(&x);
    gp_array_update(&mask);
    return gp_mask_walk_begin(&p->w, &x, &mask, &x);
}

bool CPU(masked_select)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *mask = gp_in(c, 1);
    gp_array shape = broadcast_shape(x, mask), ms = spread(mask, &shape);
    int rest = broadcast_dims(&ms);
    parts p = {.w = {.out = gp_out(c, 0), .size = gp_dtype_size((gp_dtype)x->dtype)},
               .packed = gp_out(c, 0)->data};
    bool ok = rest ? parts_begin(&p, spread(x, &shape), ms, rest)
                   : gp_mask_walk_begin(&p.w, &shape, mask, x);
    if (!ok) return false;
    ok = gp_mask_walk_count_is(c, &p.w, p.w.out->numel / (rest ? p.part.numel : 1)) &&
         gp_parallel_op(c, p.w.chunks, 1, rest ? parts_chunks : select_chunks, &p);
    free(p.w.before);
    return ok;
}

/* ---- masked_put ---- */

/* True element number r of the mask takes row r of values (or its only one): a row is the part of x
 * over the dims after the mask's. */
typedef struct store_job {
    gp_mask_walk w;
    gp_array part, value; /* of x and of values, both of the shape of the part */
    int64_t value_step;   /* bytes from row to row of values */
} store_job;

typedef struct put_state {
    const store_job *p;
    const char *from;
} put_state;

static void copy_part(const store_job *p, char *to, const char *from) {
    gp_array d = p->part, s = p->value;
    d.data = to;
    s.data = (char *)(uintptr_t)from;
    if (d.ndim) gp_copy_array(&d, &s);
    else memcpy(to, from, p->w.size);
}

static void store_piece(const gp_mask_walk *w, char *const *p, const uint8_t *truth, int64_t at,
                        int64_t n, void *state) {
    put_state *s = state;
    int64_t step = w->loop.stride[2][w->loop.ndim - 1];
    for (int64_t i = 0; i < n; i++) {
        if (!truth[i]) continue;
        copy_part(s->p, p[2] + i * step, s->from);
        s->from += s->p->value_step;
    }
}

static void store_chunks(void *ctx, int64_t begin, int64_t end) {
    const store_job *p = ctx;
    for (int64_t k = begin; k < end; k++) {
        put_state s = {.p = p, .from = p->w.values->data + p->w.before[k] * p->value_step};
        gp_mask_walk_chunk(&p->w, k, store_piece, &s);
    }
}

/* Splits x after the mask's dims; broadcasts values over the part. */
static void store_layout(store_job *p, const gp_array *x, int nmask, gp_array *head) {
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
    store_job p = {
        .w = {.values = gp_values(c, 2, 0), .size = gp_dtype_size((gp_dtype)out->dtype)}};
    gp_array head;
    store_layout(&p, out, mask->ndim, &head);
    if (!gp_mask_walk_begin(&p.w, mask, mask, &head)) return false;
    int64_t have = p.w.values->ndim > p.part.ndim ? p.w.values->dim[0] : 1,
            want = p.w.before[p.w.chunks];
    bool ok = have == want || have == 1 ||
              gp_fail("%s: %lld values given for %lld true elements of the mask", c->op->name,
                      (long long)have, (long long)want);
    if (ok && out->data != gp_in(c, 0)->data) gp_copy_array(out, gp_in(c, 0));
    if (ok && p.part.numel) ok = gp_parallel_op(c, p.w.chunks, 1, store_chunks, &p);
    free(p.w.before);
    return ok;
}

/* ---- masked_scatter ---- */

#define DEAL(T)                                                                                    \
    static int64_t deal_##T(char *to, int64_t step, const char *from, const uint8_t *truth,        \
                            int64_t n) {                                                           \
        const T *f = (const T *)(const void *)from;                                                \
        for (int64_t i = 0; i < n; i++)                                                            \
            if (truth[i]) *(T *)(to + i * step) = *f++;                                            \
        return (const char *)f - from;                                                             \
    }
DEAL(uint8_t)
DEAL(uint16_t)
DEAL(uint32_t)
DEAL(uint64_t)

static void deal_piece(const gp_mask_walk *w, char *const *p, const uint8_t *truth, int64_t at,
                       int64_t n, void *state) {
    const char **from = state;
    int64_t step = w->loop.stride[2][w->loop.ndim - 1];
    if (w->size == 4) *from += deal_uint32_t(p[2], step, *from, truth, n);
    else if (w->size == 8) *from += deal_uint64_t(p[2], step, *from, truth, n);
    else if (w->size == 2) *from += deal_uint16_t(p[2], step, *from, truth, n);
    else *from += deal_uint8_t(p[2], step, *from, truth, n);
}

static void deal_chunks(void *ctx, int64_t begin, int64_t end) {
    const gp_mask_walk *w = ctx;
    for (int64_t k = begin; k < end; k++) {
        const char *from = w->values->data + w->before[k] * (int64_t)w->size;
        gp_mask_walk_chunk(w, k, deal_piece, &from);
    }
}

/* The source is c->tmp[0], without gaps. */
bool CPU(masked_scatter)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0), *source = c->tmpa[0];
    gp_array mask = spread(gp_in(c, 1), out);
    int rest = broadcast_dims(&mask);
    parts p = {.w = {.values = source, .size = gp_dtype_size((gp_dtype)out->dtype)},
               .packed = source->data,
               .back = true};
    bool ok =
        rest ? parts_begin(&p, *out, mask, rest) : gp_mask_walk_begin(&p.w, out, gp_in(c, 1), out);
    if (!ok) return false;
    int64_t want = p.w.before[p.w.chunks] * (rest ? p.part.numel : 1);
    ok = want <= source->numel ||
         gp_fail("masked_scatter: source has %lld elements for %lld true ones of the mask",
                 (long long)source->numel, (long long)want);
    if (ok && out->data != x->data) gp_copy_array(out, x);
    if (ok) ok = gp_parallel_op(c, p.w.chunks, 1, rest ? parts_chunks : deal_chunks, &p);
    free(p.w.before);
    return ok;
}
