/* Writes at computed offsets: scatter, index_put, index_add and the other ops that write by index.
 * For any number of threads, the last of several writes to an element in row-major order stays, and
 * sums run in that order (but see scatter_privatized.c). Threads share out a dim that is not
 * indexed, or the entries of a table that never falls, as nonzero's coordinates make it. Without
 * either a single thread writes: finding one's own writes takes as long as writing them all. */
#include <math.h>

#include "kernels/cpu/index/gather.h"
#include "kernels/cpu/index/scatter.h"
#include "kernels/cpu/runtime/scratch.h"

enum { ENTRIES = 8192, SOME = 512, LONG = 1 << 18 };

/* A scatter: the type that it computes in, and its arrays. */
typedef struct job {
    const gp_call *c;
    gp_scatter_op how;
    const gp_array *index; /* along a dim, d: there is no table */
    int d;
    bool few; /* see gp_scatter_few; else offsets are computed from the index: */
    gp_offsets offsets;
    bool mean, include_self;
    gp_array target; /* out; or `wide`, without gaps, in the dtype that is computed in */
    gp_array values;
    gp_array counts; /* mean: how many values each place has, of target's layout and dtype */
    uint64_t number; /* what values points to where they are a number */
} job;

/* ---- the loop ---- */

typedef struct writes {
    gp_moves m;
    gp_scatter_row row;
    gp_offsets *offsets; /* computed from indices instead of the table; NULL: there is a table */
    int split;           /* a dim that each thread has a part of; -1: none */
} writes;

/* n writes without p's table: by indices at `at`, step bytes apart. */
static void write_indices(const writes *w, const gp_scatter_at *p, const char *at, int64_t step,
                          int64_t n) {
    int64_t t[SOME], most = step ? SOME : n;
    gp_scatter_at q = *p;
    q.t = t, q.ts = step != 0;
    for (int64_t i = 0; i < n && !gp_stopped(); i += most) {
        int64_t some = n - i < most ? n - i : most;
        q.x = p->x + i * q.xs, q.f = p->f + i * q.fs;
        if (!gp_offsets_make(w->offsets, at + i * step, step, step ? some : 1, t)) continue;
        w->row(&q, some);
    }
}

/* n writes by the table. */
static void write_row(const writes *w, gp_scatter_at p, int64_t n) {
    for (int64_t some; n > 0 && !gp_stopped(); n -= some) {
        some = n < LONG ? n : LONG;
        w->row(&p, some);
        p.x += some * p.xs, p.t += some * p.ts, p.f += some * p.fs;
    }
}

static void loop_over(gp_nd_loop *l, const gp_moves *m) {
    const gp_array *arrays[4] = {&m->order, &m->flat, &m->x, &m->table};
    gp_nd_loop_init(l, 4, arrays);
}

/* The row of the loop whose addresses are p. */
static gp_scatter_at row_at(const gp_nd_loop *l, char *const *p) {
    int last = l->ndim - 1;
    return (gp_scatter_at){.x = p[2],
                           .xs = l->stride[2][last],
                           .t = (const int64_t *)(void *)p[3],
                           .ts = l->stride[3][last] / 8,
                           .f = p[1],
                           .fs = l->stride[1][last]};
}

static void write_all(const writes *w, const gp_moves *m) {
    gp_nd_loop l;
    gp_row_iter r;
    if (m->order.numel == 0) return;
    loop_over(&l, m);
    int last = l.ndim - 1;
    int64_t width = l.dim[last];
    gp_row_iter_begin(&r, &l, 0);
    for (int64_t at = 0; at < l.numel && !gp_stopped(); at += width, gp_row_iter_next(&r, &l)) {
        gp_scatter_at p = row_at(&l, r.p);
        if (w->offsets) write_indices(w, &p, r.p[3], l.stride[3][last], width);
        else write_row(w, p, width);
    }
}

/* a, with dim d cut to [begin, end). */
static void cut(gp_array *a, int d, int64_t begin, int64_t end) {
    if (a->data) a->data += begin * a->stride[d] * (int64_t)gp_dtype_size((gp_dtype)a->dtype);
    a->dim[d] = end - begin;
    gp_array_update(a);
}

/* Parts [begin, end) of the dim that is split. */
static void write_parts(void *ctx, int64_t begin, int64_t end) {
    const writes *w = ctx;
    gp_moves m = w->m;
    cut(&m.order, w->split, begin, end);
    cut(&m.flat, w->split, begin, end);
    cut(&m.x, w->split, begin, end);
    cut(&m.table, w->split, begin, end);
    write_all(w, &m);
}

/* ---- tables that never fall ---- */

typedef struct entries {
    const writes *w;
    gp_scatter_at all; /* of the n entries */
    int64_t n;
    _Atomic bool falls;
} entries;

/* Compares entries [begin, end) with those that follow them. */
static void compare_entries(void *ctx, int64_t begin, int64_t end) {
    entries *e = ctx;
    const int64_t *t = e->all.t;
    if (end == e->n) end--;
    for (int64_t i = begin; i < end && !e->falls; i += SOME) {
        int64_t stop = end - i < SOME ? end : i + SOME, falls = 0;
        for (int64_t k = i; k < stop; k++) falls |= t[k] > t[k + 1];
        if (falls) e->falls = true;
    }
}

/* The first entry from i on whose element the entry before does not have. */
static int64_t run_end(const entries *e, int64_t i) {
    if (i > 0)
        while (i < e->n && e->all.t[i] == e->all.t[i - 1]) i++;
    return i;
}

/* All writes to an element are one thread's, in their order. */
static void write_entries(void *ctx, int64_t begin, int64_t end) {
    const entries *e = ctx;
    gp_scatter_at p = e->all;
    begin = run_end(e, begin), end = run_end(e, end);
    p.t += begin, p.f += begin * p.fs;
    if (begin < end) write_row(e->w, p, end - begin);
}

/* Shares out the entries of a table that never falls; false: it falls, or is not all that says
 * where elements are. */
static bool write_ascending(const writes *w) {
    gp_nd_loop l;
    if (gp_threads() == 1 || w->offsets || w->m.order.numel < 2 * ENTRIES) return false;
    loop_over(&l, &w->m);
    entries e = {.w = w, .all = row_at(&l, l.data), .n = l.numel};
    if (l.ndim > 1 || e.all.xs || e.all.ts != 1) return false;
    gp_parallel(e.n, ENTRIES, compare_entries, &e);
    if (e.falls) return false;
    gp_parallel(e.n, ENTRIES, write_entries, &e);
    return true;
}

/* ---- parts ---- */

/* The largest dim of x that is not indexed, if its parts are far enough apart: threads that write
 * the same cache line slow each other down. */
static int split_dim(const gp_gather_dims *l, size_t size) {
    int best = -1;
    for (int d = 0; d < l->ndim; d++) {
        int64_t stride = l->x[d] < 0 ? -l->x[d] : l->x[d];
        if (stride == 0 || l->dim[d] * stride * (int64_t)size < 1024) continue;
        if (best < 0 || l->dim[d] > l->dim[best]) best = d;
    }
    return best;
}

/* Writes values to target at the table's offsets, or at those of the job's index. */
static void write_values(job *j, const gp_gather_dims *l, const gp_array *target,
                         const gp_array *values, gp_scatter_op how) {
    writes w = {.row = gp_scatter_fn((gp_dtype)target->dtype, how),
                .offsets = j->index ? &j->offsets : NULL};
    if (j->few) {
        if (!gp_scatter_few(target, j->d, j->index, values)) j->offsets.bad = true;
        return;
    }
    gp_indexed_moves(&w.m, l, values, target, j->index ? j->index : j->c->tmpa[0]);
    int64_t n = w.m.order.numel;
    w.split = split_dim(l, gp_dtype_size((gp_dtype)target->dtype));
    if (w.split < 0 || n < GP_GRAIN) {
        if (!write_ascending(&w)) write_all(&w, &w.m);
    } else {
        int64_t most = l->dim[w.split];
        gp_parallel(most, (GP_GRAIN / 2 * most + n - 1) / n, write_parts, &w);
    }
}

/* ---- jobs ---- */

/* a's dims without gaps, of dtype dt, at p. */
static gp_array dense(const gp_array *a, gp_dtype dt, char *p) {
    gp_array r = *a;
    r.data = p;
    r.dtype = (uint8_t)dt;
    int64_t step = 1;
    for (int d = r.ndim - 1; d >= 0; d--) r.stride[d] = step, step *= r.dim[d];
    gp_array_update(&r);
    return r;
}

/* Bytes of a's elements in dt, up to a full line of the cache. */
static size_t bytes_of(const gp_array *a, gp_dtype dt) {
    return ((size_t)a->numel * gp_dtype_size(dt) + 63) / 64 * 64;
}

/* The type of sums: 16-bit floats in f32, to be rounded once; integers' means in i64. */
static gp_dtype wide_type(const job *j, gp_dtype dt) {
    if (gp_is_float(dt)) return gp_dtype_size(dt) == 2 ? GP_f32 : dt;
    return j->mean ? GP_i64 : dt;
}

/* Sets target and values (argument i; a number, or gp_values(c, i, 1)). Copies identity_of yet. */
static bool begin(job *j, int i) {
    const gp_call *c = j->c;
    const gp_array *out = gp_out(c, 0);
    gp_dtype dt = (gp_dtype)out->dtype, wide = j->how == GP_ASSIGN ? dt : wide_type(j, dt);
    bool number = c->arg[i].kind == GP_NUMBER;
    j->values = number ? gp_number_array(&c->arg[i], wide, &j->number) : *gp_values(c, i, 1);
    j->target = *out;
    if (wide == dt && !j->mean) return true;
    bool convert = j->values.dtype != wide;
    size_t tn = bytes_of(out, wide), vn = convert ? bytes_of(&j->values, wide) : 0;
    char *p = gp_scratch(GP_SCRATCH_CALL, tn + vn + (j->mean ? tn : 0));
    if (!p) return gp_fail("%s: out of memory", c->op->name);
    j->target = dense(out, wide, p);
    if (j->mean) j->counts = dense(out, wide, p + tn + vn);
    if (!convert) return true;
    gp_array v = dense(&j->values, wide, p + tn);
    gp_copy_array(&v, &j->values);
    j->values = v;
    return true;
}

#define AVERAGE(T, QUOTIENT)                                                                       \
    for (int64_t i = 0; i < n; i++) {                                                              \
        const T s = ((const T *)s_)[i], k = ((const T *)k_)[i];                                    \
        if (k > 1) ((T *)s_)[i] = QUOTIENT;                                                        \
    }

/* Sums over counts; integers are rounded down. */
static void average(const job *j) {
    void *s_ = j->target.data;
    const void *k_ = j->counts.data;
    int64_t n = j->target.numel;
    if (j->target.dtype == GP_f32) {
        AVERAGE(float, s / k)
    } else if (j->target.dtype == GP_f64) {
        AVERAGE(double, s / k)
    } else {
        AVERAGE(int64_t, s / k - (s % k < 0))
    }
}

/* s, stored in *room, expanded over everything. */
static gp_array constant(const job *j, gp_scalar s, uint64_t *number) {
    gp_value v = {.kind = GP_NUMBER, .is_float = s.is_float, .i = s.i};
    if (s.is_float) v.f = s.f;
    return gp_number_array(&v, (gp_dtype)j->target.dtype, number);
}

/* The identity of a reduction: its start where the target's own element does not count. */
static gp_scalar identity_of(gp_dtype dt, gp_scatter_op how) {
    gp_scalar s = {.i = how == GP_MUL};
    if (how != GP_MIN && how != GP_MAX) return s;
    if (gp_is_float(dt))
        return (gp_scalar){.is_float = true, .f = how == GP_MIN ? INFINITY : -INFINITY};
    bool is_signed = dt != GP_bool && dt != GP_u8;
    int bits = dt == GP_bool ? 1 : (int)gp_dtype_size(dt) * 8 - is_signed;
    int64_t most = (int64_t)(((uint64_t)1 << bits) - 1);
    s.i = how == GP_MIN ? most : is_signed ? -most - 1 : 0;
    return s;
}

/* The table is filled, or not needed: copies, writes, and brings the result to the output. */
static bool finish(job *j, const gp_gather_dims *l) {
    const gp_array *out = gp_out(j->c, 0), *x = gp_in(j->c, 0);
    bool wide = j->target.data != out->data;
    uint64_t number, one_number;
    if (j->target.data != x->data) gp_copy_array(&j->target, x);
    if (!j->include_self) {
        gp_array v = constant(j, identity_of((gp_dtype)j->target.dtype, j->how), &number);
        write_values(j, l, &j->target, &v, GP_ASSIGN);
    }
    write_values(j, l, &j->target, &j->values, j->how);
    if (!gp_check_interrupt(j->c)) return false;
    if (j->index && !gp_offsets_good(j->c, &j->offsets)) return false;
    if (j->mean) {
        gp_array one = constant(j, (gp_scalar){.i = 1}, &one_number),
                 self = constant(j, (gp_scalar){.i = j->include_self}, &number);
        gp_copy_array(&j->counts, &self);
        write_values(j, l, &j->counts, &one, GP_ADD);
        average(j);
    }
    if (wide) gp_copy_array(out, &j->target);
    return gp_check_interrupt(j->c);
}

/* A job that writes values by `how`; the target's own elements count. */
static job plain(const gp_call *c, gp_scatter_op how) {
    return (job){.c = c, .how = how, .include_self = true};
}

/* A job that writes by argument i, the number that infer made of `reduce`. */
static job reducing(const gp_call *c, int i) {
    job j = plain(c, gp_given(c, i) ? (gp_scatter_op)c->arg[i].i : GP_ASSIGN);
    if (j.how == GP_MEAN) j.how = GP_ADD, j.mean = true;
    return j;
}

/* ---- the ops ---- */

/* src (argument 3) may be larger than index: the part that index covers is taken. In place
 * identity_of may be written before all indices are checked, so there is a table. */
static bool along(job *j) {
    const gp_call *c = j->c;
    const gp_array *index = gp_in(c, 2);
    gp_gather_dims l;
    gp_call covered = *c;
    gp_array src;
    if (c->arg[3].kind != GP_NUMBER) {
        src = *gp_values(c, 3, 1);
        for (int i = 0; i < src.ndim; i++) src.dim[i] = index->dim[i];
        gp_array_update(&src);
        covered.arg[3].a = &src;
        covered.ntmp = 1;
        j->c = &covered;
    }
    if (!begin(j, 3)) return false;
    j->d = (int)c->arg[1].i - 1;
    j->few = j->how == GP_ADD && j->include_self &&
             gp_scatter_is_few(&j->target, j->d, index, &j->values);
    if (c->into && !j->few)
        return gp_indexed_along(c, &j->target, index, j->d, true, &l) && finish(j, &l);
    j->index = index;
    gp_offsets_along(&j->offsets, &j->target, index, j->d, &l);
    return finish(j, &l);
}

bool CPU(scatter)(const gp_call *c) {
    job j = reducing(c, 4);
    return along(&j);
}

bool CPU(scatter_add)(const gp_call *c) {
    job j = plain(c, GP_ADD);
    return along(&j);
}

bool CPU(scatter_reduce)(const gp_call *c) {
    job j = reducing(c, 4);
    j.include_self = c->arg[5].i;
    return along(&j);
}

static bool along_one(job j) {
    gp_gather_dims l;
    return begin(&j, 3) && gp_indexed_one(j.c, &j.target, (int)j.c->arg[1].i - 1, true, &l) &&
           finish(&j, &l);
}

bool CPU(index_add)(const gp_call *c) { return along_one(plain(c, GP_ADD)); }
bool CPU(index_copy)(const gp_call *c) { return along_one(plain(c, GP_ASSIGN)); }
bool CPU(index_fill)(const gp_call *c) { return along_one(plain(c, GP_ASSIGN)); }

bool CPU(index_put)(const gp_call *c) {
    gp_gather_dims l;
    job j = plain(c, gp_given(c, 3) && c->arg[3].i ? GP_ADD : GP_ASSIGN);
    return begin(&j, 2) && gp_indexed_by_list(c, &j.target, 4, true, &l) && finish(&j, &l);
}

bool CPU(scatter_nd)(const gp_call *c) {
    gp_gather_dims l;
    job j = reducing(c, 3);
    return begin(&j, 2) && gp_indexed_tuples(c, &j.target, 0, true, &l) && finish(&j, &l);
}
