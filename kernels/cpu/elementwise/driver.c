/* The driver of elementwise loops: it passes them blocks of operands of any layout and dtype. On
 * Emerald Rapids a number per row is worth 1.5, short rows 4.2 at 10 columns, transposed ones 3. */
#include "kernels/cpu/elementwise/elementwise.h"

#include <string.h>
#include "kernels/cpu/elementwise/math.h"
#include "kernels/cpu/runtime/nontemporal.h"
#include "kernels/cpu/layout/transpose.h"

#undef bool /* a row of dtype.def */

_Thread_local int cpu_fault;

enum { MOST_IN = GP_MAX_IN, MIN_SCALAR_ROW = 16 /* worth a row-scalar loop */ };

typedef struct operand {
    gp_load load;   /* NULL: elements are contiguous and of compute type already */
    int64_t step;   /* bytes between elements in a row */
    _Bool constant; /* the block holds one value for the whole row */
    _Bool same;     /* elements are of compute type */
} operand;

typedef struct elementwise_job {
    gp_nd_loop loop;
    gp_block_fn fn;
    int nin;
    gp_dtype type; /* of a block's elements: of compute type, or narrow (see gp_narrow_loop) */
    int64_t size;  /* of one, in bytes */
    int64_t block; /* elements of a block */
    gp_row_scalar_fn row_scalar; /* for rows where one operand is a number per row; or NULL */
    _Bool stream;                /* the output is too large to stay in a cache */
    _Bool ahead;                 /* … or the operands are, and the output is not streamed */
    gp_store store;              /* NULL: fn writes the output itself */
    operand in[MOST_IN];
    gp_scalar par[3];
    char numbers[MOST_IN][8]; /* number operands, in compute type */
    _Atomic int fault;
} elementwise_job;

/* Sets the addresses of operands that fn reads in place, at element i; returns their number. */
static int in_place(const elementwise_job *r, char *const *p, int64_t i, const char **at) {
    int n = 0;
    for (int k = 0; k < r->nin; k++)
        if (!r->in[k].constant && !r->in[k].load) at[n++] = p[k + 1] + i * r->in[k].step;
    return n;
}

/* Computes elements i … i+n of a row whose operands begin at p. */
static void run_block(const elementwise_job *r, char *const *p, int64_t i, int64_t n,
                      char (*buf)[GP_BLOCK * 8]) {
    const void *in[MOST_IN];
    for (int k = 0; k < r->nin; k++) {
        const operand *o = &r->in[k];
        if (o->constant) {
            in[k] = buf[k];
        } else if (o->load) {
            o->load(buf[k], p[k + 1] + i * o->step, o->step, n);
            in[k] = buf[k];
        } else {
            in[k] = p[k + 1] + i * o->step;
        }
    }
    int64_t ostep = r->loop.stride[0][r->loop.ndim - 1];
    if (!r->store) {
        char *out = p[0] + i * ostep;
        const char *next[MOST_IN];
        int found = in_place(r, p, i + n, next);
        for (int k = 0; r->ahead && k < found; k++) fetch_block(next[k], n * r->size);
        r->fn(n, r->stream ? buf[MOST_IN] : out, in, r->par);
        if (!r->stream) return;
        stream_out(out, buf[MOST_IN], (size_t)(n * ostep), next, found);
        return;
    }
    r->fn(n, buf[MOST_IN], in, r->par);
    r->store(p[0] + i * ostep, ostep, buf[MOST_IN], n);
}

#define REPEAT(T)                                                                                  \
    static void repeat_##T(void *buf, int64_t n) {                                                 \
        T *o = buf, v = *o;                                                                        \
        for (int64_t i = 1; i < n; i++) o[i] = v;                                                  \
    }
REPEAT(uint8_t)
REPEAT(uint16_t)
REPEAT(uint32_t)
REPEAT(uint64_t)

static void repeat(void *buf, int64_t size, int64_t n) {
    if (size == 4) repeat_uint32_t(buf, n);
    else if (size == 8) repeat_uint64_t(buf, n);
    else if (size == 2) repeat_uint16_t(buf, n);
    else repeat_uint8_t(buf, n);
}

/* Fills the blocks of operands that do not change along a row. */
static void fill_constants(const elementwise_job *r, char *const *p, int64_t n,
                           char (*buf)[GP_BLOCK * 8]) {
    for (int k = 0; k < r->nin; k++) {
        if (!r->in[k].constant) continue;
        if (r->in[k].load) r->in[k].load(buf[k], p[k + 1], 0, 1);
        else memcpy(buf[k], p[k + 1], (size_t)r->size);
        repeat(buf[k], r->size, n);
    }
}

static void run_rows(void *ctx, int64_t begin, int64_t end) {
    elementwise_job *r = ctx;
    _Alignas(64) char buf[MOST_IN + 1][GP_BLOCK * 8];
    int64_t width = r->loop.dim[r->loop.ndim - 1];
    gp_row_iter g;
    gp_row_iter_begin(&g, &r->loop, begin);
    cpu_fault = 0;
    for (int64_t at = begin, i = begin % width, stop; at < end;
         i = 0, gp_row_iter_next(&g, &r->loop)) {
        stop = end - at < width - i ? i + end - at : width;
        at += stop - i;
        fill_constants(r, g.p, stop - i < r->block ? stop - i : r->block, buf);
        for (; i < stop; i += r->block)
            run_block(r, g.p, i, stop - i < r->block ? stop - i : r->block, buf);
    }
    if (r->stream) stream_end();
    if (cpu_fault) r->fault |= cpu_fault;
}

/* Rows [begin, end) where one operand is a number per row and the other is read in place. */
static void run_row_scalar(void *ctx, int64_t begin, int64_t end) {
    const elementwise_job *r = ctx;
    gp_nd_loop groups = r->loop; /* of rows, which its last dim counts */
    const int last = --groups.ndim - 1;
    int64_t among = groups.dim[last], step[3];
    gp_row_iter g;
    for (int k = 0; k < 3; k++) step[k] = groups.stride[k][last];
    gp_row_iter_begin(&g, &groups, begin);
    for (int64_t at = begin, i = begin % among, n; at < end;
         at += n, i = 0, gp_row_iter_next(&g, &groups)) {
        char *p[3];
        n = among - i < end - at ? among - i : end - at;
        for (int k = 0; k < 3; k++) p[k] = g.p[k] + i * step[k];
        r->row_scalar(n, r->loop.dim[last + 1], p, step);
    }
}

/* ---- short rows: as many at a time as a block holds ---- */

/* Repeats each of n values `width` times, in steps of 8: up to 7 more follow the last. */
#define SPREAD(T)                                                                                  \
    static void spread_##T(void *to, const void *from, int64_t width, int64_t n) {                 \
        const T *s = from;                                                                         \
        T *o = to;                                                                                 \
        for (int64_t j = 0; j < n; j++, o += width)                                                \
            for (int64_t i = 0; i < width; i += 8)                                                 \
                for (int64_t q = 0; q < 8; q++) o[i + q] = s[j];                                   \
    }
SPREAD(uint8_t)
SPREAD(uint16_t)
SPREAD(uint32_t)
SPREAD(uint64_t)

static void spread(void *to, const void *from, int64_t size, int64_t width, int64_t n) {
    if (size == 4) spread_uint32_t(to, from, width, n);
    else if (size == 8) spread_uint64_t(to, from, width, n);
    else if (size == 2) spread_uint16_t(to, from, width, n);
    else spread_uint8_t(to, from, width, n);
}

static void load_row(const elementwise_job *r, const operand *o, char *to, const char *p,
                     int64_t n) {
    if (o->load) o->load(to, p, o->step, n);
    else memcpy(to, p, (size_t)(n * r->size));
}

/* Operand k in n rows, `skip` bytes apart, the first at p: in place, or converted into `to` through
 * `room`. */
static const void *rows_of(const elementwise_job *r, int k, const char *p, int64_t skip, int64_t n,
                           char *to, char *buffer) {
    const operand *o = &r->in[k];
    int64_t width = r->loop.dim[r->loop.ndim - 1], row = width * r->size;
    if (!o->constant && !o->load && skip == row) return p;
    if (o->constant) {
        if (o->load) o->load(buffer, p, skip, n);
        else gp_move_row(buffer, r->size, p, skip, n, (size_t)r->size);
        spread(to, buffer, r->size, width, n);
        return to;
    }
    int64_t made = skip ? n : 1;
    for (int64_t j = 0; j < made; j++) load_row(r, o, to + j * row, p + j * skip, width);
    for (int64_t more; made < n; made += more) {
        more = made < n - made ? made : n - made;
        memcpy(to + made * row, to, (size_t)(more * row));
    }
    return to;
}

/* A converted block of an operand, reused for rows that begin at the same address. */
typedef struct made {
    const char *from;
    int64_t n; /* rows */
} made;

static void short_block(const elementwise_job *r, char *const *p, int64_t n,
                        char (*buf)[GP_BLOCK * 8], made *m) {
    const gp_nd_loop *l = &r->loop;
    const int last = l->ndim - 1;
    const void *in[MOST_IN];
    for (int k = 0; k < r->nin; k++) {
        const char *from = p[k + 1];
        in[k] = buf[k];
        if (m[k].from == from && n <= m[k].n) continue;
        in[k] = rows_of(r, k, from, l->stride[k + 1][last - 1], n, buf[k], buf[MOST_IN]);
        if (in[k] == buf[k]) m[k] = (made){from, n};
    }
    n *= l->dim[last];
    r->fn(n, r->store ? buf[MOST_IN] : p[0], in, r->par);
    if (r->store) r->store(p[0], l->stride[0][last], buf[MOST_IN], n);
}

static void run_short_rows(void *ctx, int64_t begin, int64_t end) {
    elementwise_job *r = ctx;
    gp_nd_loop groups = r->loop; /* of rows, which its last dim counts */
    gp_row_iter g;
    _Alignas(64) char buf[MOST_IN + 1][GP_BLOCK * 8];
    made m[MOST_IN] = {{NULL, 0}};
    int last = --groups.ndim - 1;
    /* 7 fewer: what spread writes past its block would overwrite the next one. */
    int64_t among = groups.dim[last], most = (r->block - 7) / groups.dim[last + 1];
    gp_row_iter_begin(&g, &groups, begin);
    cpu_fault = 0;
    for (int64_t at = begin, n; at < end; at += n) {
        char *p[GP_LOOP_MAX];
        int64_t i = at % among;
        if (i == 0 && at > begin) gp_row_iter_next(&g, &groups);
        n = among - i < end - at ? among - i : end - at;
        if (n > most) n = most;
        for (int k = 0; k <= r->nin; k++) p[k] = g.p[k] + i * groups.stride[k][last];
        short_block(r, p, n, buf, m);
    }
    if (cpu_fault) r->fault |= cpu_fault;
}

/* ---- operands that are transposed: tile by tile ---- */

enum { LINE = 64, ACROSS = 128 }; /* bytes of a tile down, its elements across: it fills a block */
_Static_assert(LINE *ACROSS == GP_BLOCK * 8, "a tile fills a block of 8-byte elements");

/* Whether operand k is transposed: stored by columns, unlike the output. */
static _Bool is_transposed(const elementwise_job *r, int k) {
    return r->in[k].load && !r->in[k].constant && r->in[k].same &&
           r->loop.stride[k + 1][r->loop.ndim - 2] == r->size;
}

/* h rows of at most ACROSS elements, operands and output at p. */
static void run_tile(const elementwise_job *r, char *const *p, int64_t h, int64_t n,
                     char (*buf)[GP_BLOCK * 8]) {
    const int outer = r->loop.ndim - 2;
    const void *in[MOST_IN];
    for (int k = 0; k < r->nin; k++)
        if (is_transposed(r, k))
            gp_transpose(buf[k], n * r->size, p[k + 1], r->in[k].step, h, n, (size_t)r->size,
                         false);
    for (int64_t i = 0; i < h; i++) {
        for (int k = 0; k < r->nin; k++) {
            const operand *o = &r->in[k];
            int64_t down = r->loop.stride[k + 1][outer];
            const char *at = p[k + 1] + i * down;
            in[k] = is_transposed(r, k)      ? buf[k] + i * n * r->size
                    : o->load || o->constant ? buf[k]
                                             : at;
            if (is_transposed(r, k) || (i && !down)) continue;
            if (o->load) o->load(buf[k], at, o->step, n);
            else if (o->constant) memcpy(buf[k], at, (size_t)r->size), repeat(buf[k], r->size, n);
        }
        r->fn(n, p[0] + i * r->loop.stride[0][outer], in, r->par);
    }
}

static int64_t bands(const elementwise_job *r) {
    int64_t rows = r->loop.dim[r->loop.ndim - 2], h = LINE / r->size;
    return (rows + h - 1) / h;
}

static void run_tiles(void *ctx, int64_t begin, int64_t end) {
    elementwise_job *r = ctx;
    const gp_nd_loop *l = &r->loop;
    _Alignas(64) char buf[MOST_IN + 1][GP_BLOCK * 8];
    int inner = l->ndim - 1, outer = l->ndim - 2;
    int64_t rows = l->dim[outer], cols = l->dim[inner], h = LINE / r->size, many = bands(r);
    cpu_fault = 0;
    for (int64_t b = begin; b < end; b++) {
        char *p[GP_LOOP_MAX];
        int64_t first = b % many * h, high = rows - first < h ? rows - first : h;
        gp_nd_loop_at(l, b / many * rows * cols, p);
        for (int k = 0; k <= r->nin; k++) p[k] += first * l->stride[k][outer];
        for (int64_t c = 0; c < cols; c += ACROSS) {
            run_tile(r, p, high, cols - c < ACROSS ? cols - c : ACROSS, buf);
            for (int k = 0; k <= r->nin; k++) p[k] += ACROSS * l->stride[k][inner];
        }
    }
    if (cpu_fault) r->fault |= cpu_fault;
}

static _Bool tiles(const elementwise_job *r) {
    const gp_nd_loop *l = &r->loop;
    _Bool any = false;
    if (r->store || l->ndim < 2 || l->dim[l->ndim - 1] < 8 || l->dim[l->ndim - 2] < 8) return false;
    for (int k = 0; k < r->nin; k++) any |= is_transposed(r, k);
    return any;
}

/* Whether rows are so short that a call of fn costs more than its work, in an output without gaps
 * between them. */
static _Bool short_rows(const gp_nd_loop *l) {
    enum { SHORT = 128, FEW = 4 };
    int last = l->ndim - 1;
    return last > 0 && l->dim[last] <= SHORT && l->dim[last - 1] >= FEW &&
           l->stride[0][last - 1] == l->dim[last] * l->stride[0][last];
}

/* Sets the row-scalar loop: one of two operands is constant along a row, the other is contiguous
 * and of compute type. */
static void set_row_scalar(elementwise_job *r, const gp_op *op, gp_ctype ct) {
    int which = r->in[0].constant ? 0 : 1;
    const operand *o = &r->in[which];
    if (r->nin != 2 || !o->constant || o->load || r->in[1 - which].constant ||
        r->in[1 - which].load || r->store || r->loop.ndim == 1)
        return;
    r->row_scalar = gp_row_scalar_loop(op, ct, which);
}

_Bool gp_check_faults(const gp_call *c, int fault) {
    if (fault & FAULT_DIV_ZERO) return gp_fail("%s: integer division by zero", c->op->name);
    if (fault & FAULT_NEG_POW)
        return gp_fail(
            "%s: an integer raised to a negative integer; convert to a float dtype first",
            c->op->name);
    if (fault & FAULT_CHANCE)
        return gp_fail("%s: a probability is not between 0 and 1", c->op->name);
    return true;
}

static gp_scalar number_of(const gp_value *v) {
    gp_scalar s = {.is_float = v->is_float};
    if (v->is_float) s.f = v->f;
    else s.i = v->i;
    return s;
}

/* Writes n copies of a number as `type`, of `size` bytes. */
static void fill_number(void *buf, gp_dtype type, int64_t size, const gp_value *v, int64_t n) {
    gp_scalar s = number_of(v);
    if (n == 0) return;
    if (type == GP_f32) *(float *)buf = s.is_float ? (float)s.f : (float)s.i;
    else gp_scalar_store(type, buf, s);
    repeat(buf, size, n);
}

/* Number operands take part as arrays of one element that never moves. */
static void number_operand(elementwise_job *r, int k, const gp_value *v, gp_array *a) {
    gp_scalar_store(r->type, r->numbers[k], number_of(v));
    *a = (gp_array){
        .data = r->numbers[k], .numel = 1, .dtype = (uint8_t)r->type, .contiguous = true};
}

/* All operands contiguous, of compute type and one shape, or numbers: one call, no set-up. */
static _Bool run_plain(const elementwise_job *r, const gp_call *c, const gp_array *out,
                       gp_dtype result) {
    _Alignas(64) char numbers[2][GP_BLOCK * 8];
    const void *in[MOST_IN];
    int filled = 0;
    if (out->numel > GP_GRAIN || !out->contiguous || out->dtype != result) return false;
    for (int k = 0; k < r->nin; k++) {
        const gp_value *v = &c->arg[k];
        if (v->kind == GP_NUMBER && out->numel <= GP_BLOCK && filled < 2) {
            fill_number(numbers[filled], r->type, r->size, v, out->numel);
            in[k] = numbers[filled++];
            continue;
        }
        if (v->kind != GP_TENSOR) return false;
        const gp_array *a = v->a;
        if (a->dtype != r->type || !a->contiguous || a->numel != out->numel) return false;
        in[k] = a->data;
    }
    cpu_fault = 0;
    r->fn(out->numel, out->data, in, r->par);
    return true;
}

static void move_1(void *dst, const char *src, int64_t step, int64_t n) {
    gp_move_row(dst, 1, src, step, n, 1);
}
static void move_2(void *dst, const char *src, int64_t step, int64_t n) {
    gp_move_row(dst, 2, src, step, n, 2);
}
static void store_1(char *dst, int64_t step, const void *src, int64_t n) {
    gp_move_row(dst, step, src, 1, n, 1);
}
static void store_2(char *dst, int64_t step, const void *src, int64_t n) {
    gp_move_row(dst, step, src, 2, n, 2);
}

/* The loop for operands that are all of a narrow type, as the result is; numbers only where it has
 * them. */
static gp_block_fn narrow_loop(const gp_call *c, int nin, const gp_array *out, _Bool compare) {
    gp_dtype dt = (gp_dtype)c->compute;
    gp_block_fn fn = gp_narrow_loop(c->op, dt);
    if (!fn || out->dtype != (compare ? GP_bool : dt)) return NULL;
    for (int k = 0; k < nin; k++) {
        const gp_value *v = &c->arg[k];
        if (v->kind == GP_TENSOR && v->a->dtype != dt) return NULL;
        if (v->kind == GP_TENSOR) continue;
        if (v->kind != GP_NUMBER || v->is_float) return NULL;
        int64_t low = dt == GP_i8 ? INT8_MIN : dt == GP_i16 ? INT16_MIN : 0;
        int64_t high = dt == GP_bool ? 1
                       : dt == GP_u8 ? UINT8_MAX
                       : dt == GP_i8 ? INT8_MAX
                                     : INT16_MAX;
        if (v->i < low || v->i > high) return NULL;
    }
    return fn;
}

static void set_up(elementwise_job *r, const gp_call *c, const gp_array *out, gp_dtype result,
                   gp_ctype ct) {
    gp_array number[MOST_IN];
    const gp_array *arrays[1 + MOST_IN] = {out};
    for (int k = 0; k < r->nin; k++) {
        if (c->arg[k].kind == GP_NUMBER) number_operand(r, k, &c->arg[k], &number[k]);
        arrays[k + 1] = c->arg[k].kind == GP_NUMBER ? &number[k] : c->arg[k].a;
    }
    gp_nd_loop_init(&r->loop, 1 + r->nin, arrays);
    int last = r->loop.ndim - 1;
    _Bool narrow = r->size < 4;
    for (int k = 0; k < r->nin; k++) {
        operand *o = &r->in[k];
        gp_dtype dt = (gp_dtype)arrays[k + 1]->dtype;
        o->step = r->loop.stride[k + 1][last];
        o->constant = o->step == 0;
        o->same = dt == r->type;
        if (dt == r->type && (o->constant || o->step == r->size)) o->load = NULL;
        else o->load = !narrow ? gp_load_fn(dt, ct) : r->size == 1 ? move_1 : move_2;
    }
    _Bool direct =
        out->dtype == result &&
        (r->loop.stride[0][last] == (int64_t)gp_dtype_size(result) || r->loop.dim[last] == 1);
    if (direct) r->store = NULL;
    else if (narrow) r->store = gp_dtype_size(result) == 1 ? store_1 : store_2;
    else r->store = result == GP_bool ? NULL : gp_store_fn(ct, (gp_dtype)out->dtype);
}

/* Only the lowest bit of an inverted bool counts: ~1 is -2 in compute type. */
static void store_inverted(char *dst, int64_t step, const void *src, int64_t n) {
    const int32_t *s = src;
    for (int64_t i = 0; i < n; i++) *(uint8_t *)(dst + i * step) = s[i] & 1;
}

static gp_scalar parameter(const gp_call *c, int i, double absent) {
    if (!gp_given(c, i)) return (gp_scalar){.is_float = true, .f = absent};
    const gp_value *v = &c->arg[i];
    if (v->kind == GP_FLOAT || v->is_float) return (gp_scalar){.is_float = true, .f = v->f};
    return (gp_scalar){.i = v->i};
}

_Bool gp_run_elementwise(const gp_call *c, const gp_block_fn *fns, int nin, _Bool compare) {
    const gp_array *out = gp_out(c, 0);
    gp_ctype ct = gp_compute_type((gp_dtype)c->compute);
    if (out->numel == 0) return true;
    elementwise_job r; /* set member by member: clearing it all would take longer than 16 numbers */
    r.nin = nin, r.fn = narrow_loop(c, nin, out, compare);
    _Bool narrow = r.fn != NULL;
    r.type = narrow ? (gp_dtype)c->compute : (gp_dtype)gp_ctype_dtype[ct];
    r.size = (int64_t)gp_dtype_size(r.type);
    r.block = narrow ? GP_BLOCK * 8 / r.size : GP_BLOCK;
    if (!narrow) r.fn = fns[ct];
    gp_dtype result = compare ? GP_bool : r.type;
    if (c->op->kind == GP_PARAM || c->op->kind == GP_GRAD)
        for (int i = 0; i < 3; i++) r.par[i] = parameter(c, nin + i, i ? INFINITY : -INFINITY);
    if (run_plain(&r, c, out, result)) return gp_check_faults(c, cpu_fault);
    r.row_scalar = NULL, r.fault = 0;
    set_up(&r, c, out, result, ct);
    if (compare && !narrow &&
        (out->dtype != GP_bool ||
         (r.loop.stride[0][r.loop.ndim - 1] != 1 && r.loop.dim[r.loop.ndim - 1] != 1)))
        r.store = gp_bool_store((gp_dtype)out->dtype);
    if (c->op->lowest_bit && c->compute == GP_bool && !narrow) r.store = store_inverted;
    /* In place, the line is cached already: nothing is saved by streaming. */
    r.stream = !c->into && !r.store && r.loop.dim[r.loop.ndim - 1] >= GP_BLOCK &&
               out->numel * (int64_t)gp_dtype_size(result) >= STREAM_BYTES;
    r.ahead = FETCH_OPERANDS && !r.stream && !r.store && out->numel * r.size >= STREAM_BYTES;
    int64_t width = r.loop.dim[r.loop.ndim - 1];
    if (tiles(&r))
        return gp_parallel_op(c, out->numel / (width * r.loop.dim[r.loop.ndim - 2]) * bands(&r),
                              1 + GP_GRAIN / (LINE * width), run_tiles, &r) &&
               gp_check_faults(c, r.fault);
    if (!narrow && width >= MIN_SCALAR_ROW) set_row_scalar(&r, c->op, ct);
    if (r.row_scalar && !r.stream)
        return gp_parallel_op(c, out->numel / width, 1 + GP_GRAIN / width, run_row_scalar, &r);
    if (short_rows(&r.loop))
        return gp_parallel_op(c, out->numel / width, 1 + GP_GRAIN / width, run_short_rows, &r) &&
               gp_check_faults(c, r.fault);
    return gp_parallel_op(c, out->numel, GP_GRAIN, run_rows, &r) && gp_check_faults(c, r.fault);
}
