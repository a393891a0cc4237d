/* Reads at computed offsets: gather, take, index and the other ops that read by index. */
#include "kernels/cpu/index/gather.h"

/* AHEAD: rows; FETCH: bytes of one, beyond which the hardware prefetches by itself. */
enum { SOME = 512, AHEAD = 8, FETCH = 1024 };

typedef struct mover {
    gp_nd_loop loop; /* row-major order, the flat side, x, the table (or the index) */
    size_t size;
    gp_offsets *offsets; /* NULL: there is a table */
} mover;

/* One by one: a gather instruction takes longer than the loads that it is made of. */
#define MOVE(T)                                                                                    \
    __attribute__((optimize("no-tree-vectorize"))) static void get_##T(                            \
        char *f, int64_t fs, const char *x, int64_t xs, const int64_t *t, int64_t ts, int64_t n) { \
        if (fs == (int64_t)sizeof(T) && xs == 0 && ts == 1) {                                      \
            for (int64_t i = 0; i < n; i++) ((T *)(void *)f)[i] = *(const T *)(x + t[i]);          \
            return;                                                                                \
        }                                                                                          \
        for (int64_t i = 0; i < n; i++) *(T *)(f + i * fs) = *(const T *)(x + i * xs + t[i * ts]); \
    }
MOVE(uint8_t)
MOVE(uint16_t)
MOVE(uint32_t)
MOVE(uint64_t)

static void get_row(size_t size, char *f, int64_t fs, const char *x, int64_t xs, const int64_t *t,
                    int64_t ts, int64_t n) {
    if (ts == 0) gp_move_row(f, fs, x + *t, xs, n, size);
    else if (size == 4) get_uint32_t(f, fs, x, xs, t, ts, n);
    else if (size == 8) get_uint64_t(f, fs, x, xs, t, ts, n);
    else if (size == 2) get_uint16_t(f, fs, x, xs, t, ts, n);
    else get_uint8_t(f, fs, x, xs, t, ts, n);
}

/* The same from n indices at p, ps bytes apart. */
static void get_indices(const mover *m, char *f, int64_t fs, const char *x, int64_t xs,
                        const char *p, int64_t ps, int64_t n) {
    int64_t t[SOME];
    if (ps == 0) {
        if (gp_offsets_make(m->offsets, p, 0, 1, t)) get_row(m->size, f, fs, x, xs, t, 0, n);
        return;
    }
    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < SOME ? n - i : SOME;
        if (gp_offsets_make(m->offsets, p + i * ps, ps, some, t))
            get_row(m->size, f + i * fs, fs, x + i * xs, xs, t, 1, some);
    }
}

static void move_rows(void *ctx, int64_t begin, int64_t end) {
    const mover *m = ctx;
    const gp_nd_loop *l = &m->loop;
    int last = l->ndim - 1;
    int64_t width = l->dim[last], fs = l->stride[1][last], xs = l->stride[2][last],
            ts = l->stride[3][last];
    gp_row_iter r;
    gp_row_iter_begin(&r, l, begin);
    for (int64_t at = begin; at < end; gp_row_iter_next(&r, l)) {
        int64_t i = at % width, n = width - i < end - at ? width - i : end - at;
        char *f = r.p[1] + i * fs, *x = r.p[2] + i * xs, *t = r.p[3] + i * ts;
        if (m->offsets) get_indices(m, f, fs, x, xs, t, ts, n);
        else get_row(m->size, f, fs, x, xs, (const int64_t *)(void *)t, ts / 8, n);
        at += n;
    }
}

/* Prefetches by hand: the hardware cannot predict the next of random rows. */
static inline __attribute__((always_inline)) void
copy_rows(char *to, const char *x, const int64_t *from, int64_t n, const size_t bytes) {
    for (int64_t i = 0; i < n; i++) {
        const char *next = x + from[i + AHEAD < n ? i + AHEAD : n - 1];
        for (size_t k = 0; k < bytes && k < FETCH; k += 64) __builtin_prefetch(next + k);
        memcpy(to + (size_t)i * bytes, x + from[i], bytes);
    }
}

void gp_gather_rows(char *to, const char *x, const int64_t *from, int64_t n, size_t bytes) {
    switch (bytes) { /* a copy of a known length is a few instructions */
    case 4: copy_rows(to, x, from, n, 4); return;
    case 8: copy_rows(to, x, from, n, 8); return;
    case 16: copy_rows(to, x, from, n, 16); return;
    case 32: copy_rows(to, x, from, n, 32); return;
    case 64: copy_rows(to, x, from, n, 64); return;
    case 128: copy_rows(to, x, from, n, 128); return;
    default: copy_rows(to, x, from, n, bytes);
    }
}

static void move_whole_rows(void *ctx, int64_t begin, int64_t end) {
    const mover *m = ctx;
    const gp_nd_loop *l = &m->loop;
    const int64_t *table = (const int64_t *)(const void *)l->data[3];
    gp_gather_rows(l->data[1] + begin * l->stride[1][0], l->data[2], table + begin, end - begin,
                   (size_t)l->stride[1][0]);
}

/* Whether the table has an entry for each row, and rows have no gaps. */
static bool whole_rows(const mover *m) {
    const gp_nd_loop *l = &m->loop;
    int64_t size = (int64_t)m->size;
    return !m->offsets && l->ndim == 2 && l->stride[1][1] == size && l->stride[2][1] == size &&
           l->stride[3][1] == 0 && l->stride[3][0] == 8 && l->stride[2][0] == 0 &&
           l->stride[1][0] == l->dim[1] * size;
}

/* out = x at the offsets of the table, or at those of o. */
static bool get_at(const gp_call *c, const gp_gather_dims *l, const gp_array *x,
                   const gp_array *out, gp_offsets *o) {
    mover m = {.size = gp_dtype_size((gp_dtype)out->dtype), .offsets = o};
    gp_moves a;
    gp_indexed_moves(&a, l, out, x, o ? o->index : c->tmpa[0]);
    const gp_array *arrays[4] = {&a.order, &a.flat, &a.x, &a.table};
    if (a.order.numel == 0) return true;
    if (!gp_prefault_outputs(c)) return false;
    gp_nd_loop_init(&m.loop, 4, arrays);
    if (whole_rows(&m))
        return gp_parallel_op(c, m.loop.dim[0], 1 + GP_GRAIN / m.loop.dim[1], move_whole_rows, &m);
    return gp_parallel_op(c, a.order.numel, GP_GRAIN, move_rows, &m) &&
           (!o || gp_offsets_good(c, o));
}

static bool get(const gp_call *c, const gp_gather_dims *l, const gp_array *x, const gp_array *out) {
    return get_at(c, l, x, out, NULL);
}

bool CPU(gather)(const gp_call *c) {
    gp_gather_dims l;
    gp_offsets o;
    const gp_array *x = gp_in(c, 0);
    gp_offsets_along(&o, x, gp_in(c, 2), (int)c->arg[1].i - 1, &l);
    return get_at(c, &l, x, gp_out(c, 0), &o);
}

/* x seen as one dim: c->tmp[1] is x without gaps. So are the table and the output, which have the
 * index's elements in its order. */
static bool gather_flat(const gp_call *c, const gp_array *index) {
    const gp_array *table = c->tmpa[0], *x = c->tmpa[1];
    gp_gather_dims l = {.ndim = 1, .dim = {table->numel}, .table = {1}};
    gp_array out = *gp_out(c, 0);
    out.ndim = 1, out.dim[0] = out.numel, out.stride[0] = 1;
    return gp_index_to_offsets(c, index, x->numel, (int64_t)gp_dtype_size((gp_dtype)x->dtype), 1,
                               true, false) &&
           get(c, &l, x, &out);
}

bool CPU(take)(const gp_call *c) { return gather_flat(c, gp_in(c, 1)); }

bool CPU(take_along_dim)(const gp_call *c) {
    if (c->ntmp > 1) return gather_flat(c, gp_in(c, 1));
    gp_gather_dims l;
    return gp_indexed_along(c, gp_in(c, 0), gp_in(c, 1), (int)c->arg[2].i - 1, false, &l) &&
           get(c, &l, gp_in(c, 0), gp_out(c, 0));
}

bool CPU(index_select)(const gp_call *c) {
    gp_gather_dims l;
    const gp_array *x = gp_in(c, 0);
    return gp_indexed_one(c, x, (int)c->arg[1].i - 1, false, &l) && get(c, &l, x, gp_out(c, 0));
}

bool CPU(gather_nd)(const gp_call *c) {
    gp_gather_dims l;
    const gp_array *x = gp_in(c, 0);
    return gp_indexed_tuples(c, x, (int)c->arg[2].i, false, &l) && get(c, &l, x, gp_out(c, 0));
}

bool CPU(index)(const gp_call *c) {
    gp_gather_dims l;
    const gp_array *x = gp_in(c, 0);
    return gp_indexed_by_list(c, x, 2, false, &l) && get(c, &l, x, gp_out(c, 0));
}

/* Fills the table: for each index of the output, the index of x's dim that it repeats. */
static bool fill_repeats(const gp_call *c, int64_t n, int64_t step) {
    const gp_value *r = &c->arg[1];
    const gp_array *table = c->tmpa[0], *reps = r->kind == GP_NUMBER ? NULL : r->a;
    int64_t *to = (int64_t *)(void *)table->data, at = 0, k = r->i;
    gp_load load = reps ? gp_load_fn((gp_dtype)reps->dtype, GP_CT_i64) : NULL;
    int64_t rstep = reps && reps->ndim && reps->dim[0] != 1
                        ? reps->stride[0] * (int64_t)gp_dtype_size((gp_dtype)reps->dtype)
                        : 0;
    bool more = false;
    for (int64_t i = 0; i < n; i++) {
        if (reps) load(&k, reps->data + i * rstep, 0, 1);
        if (k < 0)
            return gp_fail("repeat_interleave: repeats has %lld at index %lld (expected 0 or more)",
                           (long long)k, (long long)i + 1);
        more = more || k > table->numel - at;
        for (int64_t j = 0; j < k && !more; j++) to[at++] = i * step;
    }
    return (!more && at == table->numel) ||
           gp_fail("repeat_interleave: the repeats do not add up to the output's size %lld",
                   (long long)table->numel);
}

bool CPU(repeat_interleave)(const gp_call *c) {
    const gp_array *x = c->ntmp > 1 ? c->tmpa[1] : gp_in(c, 0);
    int d = (int)c->arg[2].i - 1;
    gp_gather_dims l = {.ndim = 0};
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    if (!fill_repeats(c, x->dim[d], x->stride[d] * size)) return false;
    for (int i = 0; i < x->ndim; i++)
        gp_gather_dims_add(&l, i == d ? c->tmpa[0]->numel : x->dim[i], i == d ? 0 : x->stride[i],
                           i == d);
    return get(c, &l, x, gp_out(c, 0));
}
