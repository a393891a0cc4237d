/* Converts index tensors to byte offsets and ops to layouts: see gather.h. */
#include "kernels/cpu/index/gather.h"
#include "tensor/ops/index/index.h"

enum { LOOK = 1 << 18 };

/* ---- the table ---- */

typedef struct wrap_ctx {
    gp_nd_loop loop; /* the table, and an index tensor broadcast to it */
    gp_load load;    /* NULL: contiguous i64 */
    int64_t size, step;
    bool first;
    _Atomic bool bad;
} wrap_ctx;

static const int64_t *index_block(const wrap_ctx *w, const char *p, int64_t n, int64_t *buf) {
    if (!w->load) return (const int64_t *)(const void *)p;
    w->load(buf, p, w->loop.stride[1][w->loop.ndim - 1], n);
    return buf;
}

/* Step times each index, counted from 0, for the table; false if one is out of range. */
static inline __attribute__((always_inline)) bool
offsets(int64_t *o, const int64_t *v, int64_t n, int64_t size, int64_t step, const bool add) {
    int64_t bad = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = v[i] < 0 ? v[i] + size : v[i] - 1;
        bad |= (uint64_t)at >= (uint64_t)size;
        o[i] = (add ? o[i] : 0) + at * step;
    }
    return !bad;
}

static bool wrap_block(const wrap_ctx *w, int64_t *o, const int64_t *v, int64_t n) {
    if (w->first) return offsets(o, v, n, w->size, w->step, false);
    return offsets(o, v, n, w->size, w->step, true);
}

/* Entries [begin, end) of the table, from 1-based indices that may count from the end; a bad one is
 * noted. */
static void wrap_rows(void *ctx, int64_t begin, int64_t end) {
    wrap_ctx *w = ctx;
    int last = w->loop.ndim - 1;
    int64_t width = w->loop.dim[last], buf[GP_BLOCK];
    gp_row_iter r;
    gp_row_iter_begin(&r, &w->loop, begin);
    for (int64_t at = begin; at < end; gp_row_iter_next(&r, &w->loop)) {
        int64_t i = at % width, stop = width - i < end - at ? width : i + end - at;
        at += stop - i;
        for (; i < stop; i += GP_BLOCK) {
            int64_t n = stop - i < GP_BLOCK ? stop - i : GP_BLOCK;
            const int64_t *v = index_block(w, r.p[1] + i * w->loop.stride[1][last], n, buf);
            if (!wrap_block(w, (int64_t *)(void *)r.p[0] + i, v, n)) w->bad = true;
        }
    }
}

/* Reports the first bad index in row-major order, whichever thread found one. */
static bool report_bad(const gp_call *c, const gp_array *index, int64_t size, int dim) {
    gp_load load = gp_load_fn((gp_dtype)index->dtype, GP_CT_i64);
    char range[80];
    for (int64_t i = 0; i < index->numel; i++) {
        int64_t rest = i, v;
        const char *p = index->data;
        for (int d = index->ndim - 1; d >= 0; d--)
            p += rest % index->dim[d] * index->stride[d] * gp_dtype_sizes[index->dtype],
                rest /= index->dim[d];
        load(&v, p, 0, 1);
        if (v == 0 || v > size || v < -size)
            return gp_fail("%s: index %lld is out of range for dim %d of size %lld (%s)",
                           c->op->name, (long long)v, dim, (long long)size,
                           gp_index_range(size, range, sizeof range));
    }
    return gp_fail("%s: indices were changed while they were used", c->op->name);
}

/* Whether samples of an index never fall, as where nonzero made it; writes by it are shared out
 * (scatter.c) if all its entries are so. */
static bool seems_ascending(const gp_array *index) {
    enum { SAMPLES = 32 };
    gp_load load = gp_load_fn((gp_dtype)index->dtype, GP_CT_i64);
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)index->dtype), v, before = INT64_MIN;
    if (index->ndim != 1 && !index->contiguous) return false;
    int64_t step = index->ndim == 1 ? index->stride[0] * size : size, last = index->numel - 1;
    for (int64_t k = 0; k < SAMPLES && last > 0; k++, before = v) {
        load(&v, index->data + last * k / (SAMPLES - 1) * step, 0, 1);
        if (v < before) return false;
    }
    return true;
}

bool gp_index_to_offsets(const gp_call *c, const gp_array *index, int64_t size, int64_t step,
                         int dim, bool first, bool alone) {
    const gp_array *table = c->tmpa[0], *arrays[2] = {table, index};
    wrap_ctx w = {.size = size, .step = step, .first = first};
    if (table->numel == 0) return true;
    gp_nd_loop_init(&w.loop, 2, arrays);
    bool plain = index->dtype == GP_i64 &&
                 (w.loop.stride[1][w.loop.ndim - 1] == 8 || w.loop.dim[w.loop.ndim - 1] == 1);
    w.load = plain ? NULL : gp_load_fn((gp_dtype)index->dtype, GP_CT_i64);
    int64_t n = table->numel;
    for (int64_t at = 0; alone && at < n && !gp_stopped(); at += LOOK)
        wrap_rows(&w, at, n - at < LOOK ? n : at + LOOK);
    if (alone ? !gp_check_interrupt(c) : !gp_parallel_op(c, n, GP_GRAIN / 4, wrap_rows, &w))
        return false;
    return !w.bad || report_bad(c, index, size, dim);
}

bool gp_offsets_make(gp_offsets *o, const char *p, int64_t stride, int64_t n, int64_t *to) {
    const int64_t *v = to;
    if (o->index->dtype == GP_i64 && stride == 8) v = (const int64_t *)(const void *)p;
    else o->load(to, p, stride, n);
    bool good = offsets(to, v, n, o->size, o->step, false);
    if (!good) o->bad = true;
    return good;
}

bool gp_offsets_good(const gp_call *c, const gp_offsets *o) {
    return !o->bad || report_bad(c, o->index, o->size, o->dim);
}

/* ---- layouts ---- */

static int64_t bytes(const gp_array *x, int64_t elements) {
    return elements * (int64_t)gp_dtype_size((gp_dtype)x->dtype);
}

/* The table's dims; x's own but for dim d, where x or the index may be broadcast. */
bool gp_indexed_along(const gp_call *c, const gp_array *x, const gp_array *index, int d,
                      bool written, gp_gather_dims *l) {
    const gp_array *table = c->tmpa[0];
    l->ndim = 0;
    for (int i = 0; i < table->ndim; i++)
        gp_gather_dims_add(l, table->dim[i], i == d || x->dim[i] == 1 ? 0 : x->stride[i],
                           table->stride[i]);
    return gp_index_to_offsets(c, index, x->ndim ? x->dim[d] : 1,
                               x->ndim ? bytes(x, x->stride[d]) : 0, d + 1, true,
                               written && !seems_ascending(index));
}

void gp_offsets_along(gp_offsets *o, const gp_array *x, const gp_array *index, int d,
                      gp_gather_dims *l) {
    *o = (gp_offsets){.index = index,
                      .load = gp_load_fn((gp_dtype)index->dtype, GP_CT_i64),
                      .size = x->ndim ? x->dim[d] : 1,
                      .step = x->ndim ? bytes(x, x->stride[d]) : 0,
                      .dim = d + 1};
    l->ndim = 0;
    for (int i = 0; i < index->ndim; i++)
        gp_gather_dims_add(l, index->dim[i], i == d ? 0 : x->stride[i], index->stride[i]);
}

bool gp_indexed_one(const gp_call *c, const gp_array *x, int d, bool written, gp_gather_dims *l) {
    const gp_array *index = gp_in(c, 2);
    l->ndim = 0;
    for (int i = 0; i < x->ndim; i++)
        gp_gather_dims_add(l, i == d ? index->numel : x->dim[i], i == d ? 0 : x->stride[i], i == d);
    bool one = x->ndim == 0; /* counts as one dim of size 1 */
    if (one) gp_gather_dims_add(l, index->numel, 0, 1);
    return gp_index_to_offsets(c, index, one ? 1 : x->dim[d], one ? 0 : bytes(x, x->stride[d]),
                               d + 1, true, written && !seems_ascending(index));
}

bool gp_indexed_tuples(const gp_call *c, const gp_array *x, int batch, bool written,
                       gp_gather_dims *l) {
    const gp_array *indices = gp_in(c, 1), *table = c->tmpa[0];
    int lead = indices->ndim - 1, depth = (int)indices->dim[lead];
    l->ndim = 0;
    for (int i = 0; i < lead; i++)
        gp_gather_dims_add(l, indices->dim[i], i < batch ? x->stride[i] : 0, table->stride[i]);
    for (int i = batch + depth; i < x->ndim; i++) gp_gather_dims_add(l, x->dim[i], x->stride[i], 0);
    if (depth == 0) memset(table->data, 0, (size_t)table->numel * 8);
    bool alone = written;
    for (int k = 0; k < depth; k++) {
        gp_array column = *indices;
        column.ndim = (uint8_t)lead;
        column.data += bytes(indices, k * indices->stride[lead]);
        gp_array_update(&column);
        if (k == 0) alone = written && !seems_ascending(&column);
        if (!gp_index_to_offsets(c, &column, x->dim[batch + k], bytes(x, x->stride[batch + k]),
                                 batch + k + 1, k == 0, alone))
            return false;
    }
    return true;
}

bool gp_indexed_by_list(const gp_call *c, const gp_array *x, int dims_at, bool written,
                        gp_gather_dims *l) {
    int n;
    const int64_t *dims = gp_ints(c, dims_at, &n);
    const gp_array *table = c->tmpa[0];
    bool alone = written && n > 0 && !seems_ascending(c->arg[1].arrays[0]);
    uint64_t mask = 0;
    for (int k = 0; k < n; k++) {
        mask |= (uint64_t)1 << dims[k];
        if (!gp_index_to_offsets(c, c->arg[1].arrays[k], x->dim[dims[k]],
                                 bytes(x, x->stride[dims[k]]), (int)dims[k] + 1, k == 0, alone))
            return false;
    }
    int position = gp_index_position(x->ndim, mask);
    bool done = false;
    l->ndim = 0;
    for (int d = 0; d <= x->ndim; d++) {
        if (!done && l->ndim == position) {
            for (int i = 0; i < table->ndim; i++)
                gp_gather_dims_add(l, table->dim[i], 0, table->stride[i]);
            done = true;
        }
        if (d < x->ndim && !(mask >> d & 1)) gp_gather_dims_add(l, x->dim[d], x->stride[d], 0);
    }
    return true;
}

/* ---- moves ---- */

/* An array of l's dims over a's memory. */
static gp_array lay(const gp_gather_dims *l, const gp_array *a, const int64_t *stride) {
    gp_array r = *a;
    r.ndim = (uint8_t)l->ndim;
    memcpy(r.dim, l->dim, sizeof l->dim);
    memcpy(r.stride, stride, sizeof l->dim);
    gp_array_update(&r);
    return r;
}

/* The strides of `a`, broadcast to l's dims. */
static void broadcast_strides(const gp_gather_dims *l, const gp_array *a, int64_t *stride) {
    for (int d = 0; d < l->ndim; d++) {
        int j = d - (l->ndim - a->ndim);
        stride[d] = j < 0 || a->dim[j] == 1 ? 0 : a->stride[j];
    }
}

void gp_indexed_moves(gp_moves *m, const gp_gather_dims *l, const gp_array *flat, const gp_array *x,
                      const gp_array *table) {
    gp_shape shape = {.ndim = l->ndim};
    memcpy(shape.dim, l->dim, sizeof l->dim);
    int64_t stride[GP_MAX_DIM];
    gp_shape_strides(&shape, stride);
    m->order = lay(l, &(gp_array){.data = NULL, .dtype = GP_u8}, stride);
    broadcast_strides(l, flat, stride);
    m->flat = lay(l, flat, stride);
    m->x = lay(l, x, l->x);
    m->table = lay(l, table, l->table);
}
