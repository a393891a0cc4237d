/* Random access by index tensors. First every index tuple is checked and turned into a byte offset
   in a table (c->tmp[0]); then elements are moved between x at those offsets and a flat side, in
   row-major order, so that of several writes to one place the last one stays. */
#include <string.h>

#include "kernels/kernel.h"
#include "tensor/infer.h"

enum { GRAIN = 32768 };

/* ---- the table ---- */

typedef struct wrap_ctx {
    gp_loop loop; /* the table, and an index tensor broadcast to it */
    gp_load load; /* NULL: i64 side by side */
    int64_t size, step;
    bool first;
    _Atomic bool bad;
} wrap_ctx;

static const int64_t *index_block(const wrap_ctx *w, const char *p, int64_t n, int64_t *buf) {
    if (!w->load) return (const int64_t *)(const void *)p;
    w->load(buf, p, w->loop.stride[1][w->loop.ndim - 1], n);
    return buf;
}

/* Adds step times each index, counted from 0, to the table. */
static bool wrap_block(const wrap_ctx *w, int64_t *o, const int64_t *v, int64_t n) {
    int64_t size = w->size, step = w->step;
    bool bad = false;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = v[i] < 0 ? v[i] + size : v[i] - 1;
        bad |= (uint64_t)at >= (uint64_t)size;
        o[i] = (w->first ? 0 : o[i]) + at * step;
    }
    return !bad;
}

static void wrap_rows(void *ctx, int64_t begin, int64_t end) {
    wrap_ctx *w = ctx;
    int last = w->loop.ndim - 1;
    int64_t width = w->loop.dim[last], buf[GP_BLOCK];
    gp_rows r;
    gp_rows_begin(&r, &w->loop, begin);
    for (int64_t at = begin; at < end; gp_rows_next(&r, &w->loop)) {
        int64_t i = at % width, stop = width - i < end - at ? width : i + end - at;
        at += stop - i;
        for (; i < stop; i += GP_BLOCK) {
            int64_t n = stop - i < GP_BLOCK ? stop - i : GP_BLOCK;
            const int64_t *v = index_block(w, r.p[1] + i * w->loop.stride[1][last], n, buf);
            if (!wrap_block(w, (int64_t *)(void *)r.p[0] + i, v, n)) w->bad = true;
        }
    }
}

/* The first bad index in row-major order, whatever thread met one. */
static bool tell_bad(const gp_call *c, const gp_array *index, int64_t size, int dim) {
    gp_load load = gp_load_fn((gp_dtype)index->dtype, GP_CT_i64);
    for (int64_t i = 0; i < index->numel; i++) {
        int64_t rest = i, v;
        const char *p = index->data;
        for (int d = index->ndim - 1; d >= 0; d--)
            p += rest % index->dim[d] * index->stride[d] * gp_dtype_sizes[index->dtype],
                rest /= index->dim[d];
        load(&v, p, 0, 1);
        if (v == 0 || v > size || v < -size)
            return size ? gp_fail("%s: index %lld is out of range for dim %d of size %lld "
                                  "(expected 1 to %lld, or -%lld to -1)",
                                  c->op->name, (long long)v, dim, (long long)size, (long long)size,
                                  (long long)size)
                        : gp_fail("%s: index %lld is out of range for dim %d of size 0",
                                  c->op->name, (long long)v, dim);
    }
    return gp_fail("%s: indices were changed while they were used", c->op->name);
}

/* Makes `index` part of the table: it runs over dim (from 1) of the array, which has `size`
 * elements `stride` apart. */
static bool add_index(const gp_call *c, const gp_array *index, int64_t size, int64_t stride,
                      int dim, bool first) {
    const gp_array *table = c->tmpa[0], *arrays[2] = {table, index};
    wrap_ctx w = {.size = size,
                  .step = stride * (int64_t)gp_dtype_size((gp_dtype)gp_in(c, 0)->dtype),
                  .first = first};
    if (table->numel == 0) return true;
    gp_loop_init(&w.loop, 2, arrays);
    bool plain = index->dtype == GP_i64 &&
                 (w.loop.stride[1][w.loop.ndim - 1] == 8 || w.loop.dim[w.loop.ndim - 1] == 1);
    w.load = plain ? NULL : gp_load_fn((gp_dtype)index->dtype, GP_CT_i64);
    gp_parallel(table->numel, GRAIN, wrap_rows, &w);
    return !w.bad || tell_bad(c, index, size, dim);
}

/* ---- moving ---- */

/* Dims of what is moved, with the strides (elements) of x and of the table in each. */
typedef struct layout {
    int ndim;
    int64_t dim[GP_MAX_DIM], x[GP_MAX_DIM], table[GP_MAX_DIM];
} layout;

static void add_dim(layout *l, int64_t dim, int64_t x, int64_t table) {
    l->dim[l->ndim] = dim;
    l->x[l->ndim] = x;
    l->table[l->ndim++] = table;
}

typedef struct mover {
    gp_loop loop; /* row-major order, the flat side, x, the table */
    size_t size;
    bool put;
    gp_ctype ct; /* accumulate: load, add, store */
    gp_load load;
    gp_store store;
} mover;

#define MOVE(T)                                                                                    \
    static void get_##T(char *f, int64_t fs, const char *x, int64_t xs, const int64_t *t,          \
                        int64_t ts, int64_t n) {                                                   \
        _Pragma("omp simd") for (int64_t i = 0; i < n; i++) * (T *)(f + i * fs) =                  \
            *(const T *)(x + i * xs + t[i * ts]);                                                  \
    }                                                                                              \
    static void put_##T(const char *f, int64_t fs, char *x, int64_t xs, const int64_t *t,          \
                        int64_t ts, int64_t n) {                                                   \
        for (int64_t i = 0; i < n; i++) *(T *)(x + i * xs + t[i * ts]) = *(const T *)(f + i * fs); \
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

static void put_row(size_t size, const char *f, int64_t fs, char *x, int64_t xs, const int64_t *t,
                    int64_t ts, int64_t n) {
    if (ts == 0) gp_move_row(x + *t, xs, f, fs, n, size);
    else if (size == 4) put_uint32_t(f, fs, x, xs, t, ts, n);
    else if (size == 8) put_uint64_t(f, fs, x, xs, t, ts, n);
    else if (size == 2) put_uint16_t(f, fs, x, xs, t, ts, n);
    else put_uint8_t(f, fs, x, xs, t, ts, n);
}

static void add_row(const mover *m, const char *f, int64_t fs, char *x, int64_t xs,
                    const int64_t *t, int64_t ts, int64_t n) {
    union {
        float f32;
        double f64;
        int32_t i32;
        int64_t i64;
    } a, b;
    for (int64_t i = 0; i < n; i++) {
        char *to = x + i * xs + t[i * ts];
        m->load(&a, to, 0, 1);
        m->load(&b, f + i * fs, 0, 1);
        if (m->ct == GP_CT_f32) a.f32 += b.f32;
        else if (m->ct == GP_CT_f64) a.f64 += b.f64;
        else if (m->ct == GP_CT_i32) a.i32 += b.i32;
        else a.i64 += b.i64;
        m->store(to, 0, &a, 1);
    }
}

static void move_rows(void *ctx, int64_t begin, int64_t end) {
    const mover *m = ctx;
    const gp_loop *l = &m->loop;
    int last = l->ndim - 1;
    int64_t width = l->dim[last], fs = l->stride[1][last], xs = l->stride[2][last],
            ts = l->stride[3][last] / 8;
    gp_rows r;
    gp_rows_begin(&r, l, begin);
    for (int64_t at = begin; at < end; gp_rows_next(&r, l)) {
        int64_t i = at % width, n = width - i < end - at ? width - i : end - at;
        char *f = r.p[1] + i * fs, *x = r.p[2] + i * xs;
        const int64_t *t = (const int64_t *)(void *)r.p[3] + i * ts;
        if (m->load) add_row(m, f, fs, x, xs, t, ts, n);
        else if (m->put) put_row(m->size, f, fs, x, xs, t, ts, n);
        else get_row(m->size, f, fs, x, xs, t, ts, n);
        at += n;
    }
}

/* An array of l's dims over a's memory. */
static gp_array lay(const layout *l, const gp_array *a, const int64_t *stride) {
    gp_array r = *a;
    r.ndim = (uint8_t)l->ndim;
    memcpy(r.dim, l->dim, sizeof l->dim);
    memcpy(r.stride, stride, sizeof l->dim);
    gp_array_update(&r);
    return r;
}

/* The strides of `a`, broadcast to l's dims. */
static void broadcast_strides(const layout *l, const gp_array *a, int64_t *stride) {
    for (int d = 0; d < l->ndim; d++) {
        int j = d - (l->ndim - a->ndim);
        stride[d] = j < 0 || a->dim[j] == 1 ? 0 : a->stride[j];
    }
}

static void run_moves(mover *m, const gp_call *c, const layout *l, const gp_array *x,
                      const gp_array *flat) {
    gp_shape shape = {.ndim = l->ndim};
    memcpy(shape.dim, l->dim, sizeof l->dim);
    int64_t stride[GP_MAX_DIM];
    gp_shape_strides(&shape, stride);
    gp_array none = {.data = NULL, .dtype = GP_u8};
    gp_array order = lay(l, &none, stride), xs = lay(l, x, l->x),
             table = lay(l, c->tmpa[0], l->table);
    broadcast_strides(l, flat, stride);
    gp_array fs = lay(l, flat, stride);
    const gp_array *arrays[4] = {&order, &fs, &xs, &table};
    if (order.numel == 0) return;
    gp_loop_init(&m->loop, 4, arrays);
    if (m->put) move_rows(m, 0, order.numel);
    else gp_parallel(order.numel, GRAIN, move_rows, m);
}

/* out = x at the offsets. */
static bool get(const gp_call *c, const layout *l) {
    mover m = {.size = gp_dtype_size((gp_dtype)gp_out(c, 0)->dtype)};
    run_moves(&m, c, l, gp_in(c, 0), gp_out(c, 0));
    return true;
}

/* out = x, but argument i's values at the offsets. Argument i is a number or a tensor that
 * broadcasts to l's dims. */
static bool put(const gp_call *c, const layout *l, int i, bool accumulate) {
    const gp_array *out = gp_out(c, 0), *x = gp_in(c, 0);
    gp_dtype dt = (gp_dtype)out->dtype;
    mover m = {.size = gp_dtype_size(dt), .put = true, .ct = gp_compute_type(dt)};
    if (accumulate) m.load = gp_load_fn(dt, m.ct), m.store = gp_store_fn(m.ct, dt);
    int64_t room;
    bool number = c->arg[i].kind == GP_NUMBER;
    gp_array value = number ? gp_number_array(&c->arg[i], dt, &room) : *gp_values(c, i, 1);
    if (out->data != x->data) gp_copy_array(out, x);
    run_moves(&m, c, l, out, &value);
    return true;
}

/* ---- the ops ---- */

/* gather, scatter: all dims of index; x's own but for dim d. */
static bool along_dim(const gp_call *c, const gp_array *x, layout *l) {
    const gp_array *index = gp_in(c, 2), *in = gp_in(c, 0);
    int d = (int)c->arg[1].i - 1;
    int64_t size = x->ndim ? x->dim[d] : 1, stride = x->ndim ? x->stride[d] : 0;
    l->ndim = 0;
    for (int i = 0; i < index->ndim; i++)
        add_dim(l, index->dim[i], i == d ? 0 : x->stride[i], c->tmpa[0]->stride[i]);
    return in && add_index(c, index, size, stride, d + 1, true);
}

bool CPU(gather)(const gp_call *c) {
    layout l;
    return along_dim(c, gp_in(c, 0), &l) && get(c, &l);
}

/* src may be larger than index: the part that index covers is taken. */
bool CPU(scatter)(const gp_call *c) {
    layout l;
    if (!along_dim(c, gp_out(c, 0), &l)) return false;
    if (c->arg[3].kind == GP_NUMBER) return put(c, &l, 3, false);
    gp_call cut = *c;
    gp_array src = *gp_values(c, 3, 1);
    for (int i = 0; i < src.ndim; i++) src.dim[i] = l.dim[i];
    gp_array_update(&src);
    cut.arg[3].a = &src;
    cut.ntmp = 1;
    return put(&cut, &l, 3, false);
}

bool CPU(index_select)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *index = gp_in(c, 2);
    int d = (int)c->arg[1].i - 1;
    layout l = {.ndim = 0};
    for (int i = 0; i < x->ndim; i++)
        add_dim(&l, i == d ? index->numel : x->dim[i], i == d ? 0 : x->stride[i], i == d);
    return add_index(c, index, x->dim[d], x->stride[d], d + 1, true) && get(c, &l);
}

bool CPU(gather_nd)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *indices = gp_in(c, 1), *table = c->tmpa[0];
    int batch = (int)c->arg[2].i, lead = indices->ndim - 1, depth = (int)indices->dim[lead];
    layout l = {.ndim = 0};
    for (int i = 0; i < lead; i++)
        add_dim(&l, indices->dim[i], i < batch ? x->stride[i] : 0, table->stride[i]);
    for (int i = batch + depth; i < x->ndim; i++) add_dim(&l, x->dim[i], x->stride[i], 0);
    if (depth == 0) memset(table->data, 0, (size_t)table->numel * 8);
    for (int k = 0; k < depth; k++) {
        gp_array column = *indices;
        column.ndim = (uint8_t)lead;
        column.data += k * indices->stride[lead] * (int64_t)gp_dtype_size((gp_dtype)indices->dtype);
        gp_array_update(&column);
        if (!add_index(c, &column, x->dim[batch + k], x->stride[batch + k], batch + k + 1, k == 0))
            return false;
    }
    return get(c, &l);
}

/* index, index_put: the table's dims stand where gp_index_place says, among x's dims that are not
 * indexed. */
static bool by_indices(const gp_call *c, const gp_array *x, int dims_at, layout *l) {
    int n;
    const int64_t *dims = gp_ints(c, dims_at, &n);
    const gp_array *table = c->tmpa[0];
    uint64_t mask = 0;
    for (int k = 0; k < n; k++) {
        mask |= (uint64_t)1 << dims[k];
        if (!add_index(c, c->arg[1].arrays[k], x->dim[dims[k]], x->stride[dims[k]],
                       (int)dims[k] + 1, k == 0))
            return false;
    }
    int place = gp_index_place(x->ndim, mask);
    bool placed = false;
    l->ndim = 0;
    for (int d = 0; d <= x->ndim; d++) {
        if (!placed && l->ndim == place) {
            for (int i = 0; i < table->ndim; i++) add_dim(l, table->dim[i], 0, table->stride[i]);
            placed = true;
        }
        if (d < x->ndim && !(mask >> d & 1)) add_dim(l, x->dim[d], x->stride[d], 0);
    }
    return true;
}

bool CPU(index)(const gp_call *c) {
    layout l;
    return by_indices(c, gp_in(c, 0), 2, &l) && get(c, &l);
}

bool CPU(index_put)(const gp_call *c) {
    layout l;
    return by_indices(c, gp_out(c, 0), 4, &l) && put(c, &l, 2, gp_given(c, 3) && c->arg[3].i);
}

/* The table says for each index of the output which one of x's dim it repeats. */
static bool fill_repeats(const gp_call *c, int64_t n, int64_t step) {
    const gp_value *r = &c->arg[1];
    const gp_array *table = c->tmpa[0], *reps = r->kind == GP_NUMBER ? NULL : r->a;
    int64_t *to = (int64_t *)(void *)table->data, at = 0, k = r->i;
    gp_load load = reps ? gp_load_fn((gp_dtype)reps->dtype, GP_CT_i64) : NULL;
    int64_t rstep = reps && reps->ndim && reps->dim[0] != 1
                        ? reps->stride[0] * (int64_t)gp_dtype_size((gp_dtype)reps->dtype)
                        : 0;
    for (int64_t i = 0; i < n; i++) {
        if (reps) load(&k, reps->data + i * rstep, 0, 1);
        if (k < 0)
            return gp_fail("repeat_interleave: repeats has %lld at index %lld (expected 0 or more)",
                           (long long)k, (long long)i + 1);
        if (k > table->numel - at) break;
        for (int64_t j = 0; j < k; j++) to[at++] = i * step;
        if (i == n - 1 && at == table->numel) return true;
    }
    return (n == 0 && table->numel == 0) ||
           gp_fail("repeat_interleave: the repeats do not add up to the output's size %lld",
                   (long long)table->numel);
}

bool CPU(repeat_interleave)(const gp_call *c) {
    const gp_array *x = c->ntmp > 1 ? c->tmpa[1] : gp_in(c, 0);
    int d = (int)c->arg[2].i - 1;
    layout l = {.ndim = 0};
    mover m = {.size = gp_dtype_size((gp_dtype)x->dtype)};
    if (!fill_repeats(c, x->dim[d], x->stride[d] * (int64_t)m.size)) return false;
    for (int i = 0; i < x->ndim; i++)
        add_dim(&l, i == d ? c->tmpa[0]->numel : x->dim[i], i == d ? 0 : x->stride[i], i == d);
    run_moves(&m, c, &l, x, gp_out(c, 0));
    return true;
}
