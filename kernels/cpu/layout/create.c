/* Ops that create tensors: fill, full, empty, range, linspace, eye; and copy, which converts dtypes
 * and layouts. Columns of few planes are worth 5.1 at 3x256x256 to channels last, streaming 1.6 at
 * copies and 1.7 to 2.8 at fills of 20 MB and more, halves in turn 1.2 at f64 to bf16 of 1e7 with
 * AVX2 (one thread of an Emerald Rapids with AVX-512). */
#include <string.h>

#include "kernels/cpu/runtime/nontemporal.h"
#include "kernels/cpu/layout/transpose.h"
#include "kernels/cpu/runtime/kernel.h"

enum { TILE = GP_TRANSPOSE_TILE };

typedef struct fill_ctx {
    gp_nd_loop loop;
    char value[8];
    size_t size;
    bool stream; /* one row that is too large for a cache */
} fill_ctx;

static void fill_row(char *p, int64_t step, int64_t n, const char *value, size_t size) {
    if (size == 4 && step == 4) {
        uint32_t v;
        memcpy(&v, value, 4);
        for (int64_t i = 0; i < n; i++) ((uint32_t *)p)[i] = v;
    } else if (size == 8 && step == 8) {
        uint64_t v;
        memcpy(&v, value, 8);
        for (int64_t i = 0; i < n; i++) ((uint64_t *)p)[i] = v;
    } else if (size == 1 && step == 1) {
        memset(p, value[0], (size_t)n);
    } else {
        for (int64_t i = 0; i < n; i++) memcpy(p + i * step, value, size);
    }
}

/* The whole of one row, a block of values at a time. */
static void fill_stream(const fill_ctx *f, int64_t begin, int64_t end) {
    _Alignas(64) char values[GP_BLOCK * 8];
    fill_row(values, (int64_t)f->size, GP_BLOCK, f->value, f->size);
    for (int64_t at = begin; at < end; at += GP_BLOCK)
        stream_out(f->loop.data[0] + at * (int64_t)f->size, values,
                   (size_t)(end - at < GP_BLOCK ? end - at : GP_BLOCK) * f->size, NULL, 0);
    stream_end();
}

/* Rows [begin, end) of the output. */
static void fill_rows(void *ctx, int64_t begin, int64_t end) {
    fill_ctx *f = ctx;
    int last = f->loop.ndim - 1;
    int64_t width = f->loop.dim[last];
    if (f->stream) {
        fill_stream(f, begin, end);
        return;
    }
    for (int64_t at = begin; at < end;) {
        char *p[GP_LOOP_MAX];
        int64_t n = width - at % width < end - at ? width - at % width : end - at;
        gp_nd_loop_at(&f->loop, at, p);
        fill_row(p[0], f->loop.stride[0][last], n, f->value, f->size);
        at += n;
    }
}

static bool fill_with(const gp_call *c, const gp_value *v) {
    const gp_array *out = gp_out(c, 0);
    fill_ctx f = {.size = gp_dtype_size((gp_dtype)out->dtype)};
    gp_scalar s = {.is_float = v->is_float};
    if (v->is_float) s.f = v->f;
    else s.i = v->i;
    gp_scalar_store((gp_dtype)out->dtype, f.value, s);
    gp_nd_loop_init(&f.loop, 1, &out);
    f.stream = out->contiguous && out->numel * (int64_t)f.size >= STREAM_BYTES;
    return gp_parallel_op(c, out->numel, 2 * GP_GRAIN, fill_rows, &f);
}

bool CPU(fill)(const gp_call *c) { return fill_with(c, &c->arg[1]); }
bool CPU(full)(const gp_call *c) { return fill_with(c, &c->arg[1]); }
bool CPU(zeros)(const gp_call *c) { return fill_with(c, &(gp_value){.i = 0}); }
bool CPU(ones)(const gp_call *c) { return fill_with(c, &(gp_value){.i = 1}); }
bool CPU(empty)(const gp_call *c) { return true; }

bool CPU(eye)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    size_t size = gp_dtype_size((gp_dtype)out->dtype);
    char one[8];
    gp_scalar_store((gp_dtype)out->dtype, one, (gp_scalar){.i = 1});
    memset(out->data, 0, (size_t)out->numel * size);
    for (int64_t i = 0; i < out->dim[0] && i < out->dim[1]; i++)
        memcpy(out->data + (i * out->dim[1] + i) * (int64_t)size, one, size);
    return true;
}

typedef struct range_ctx {
    const gp_call *c;
    gp_store store;
    bool integers;
} range_ctx;

static double as_double(const gp_value *v) { return v->is_float ? v->f : (double)v->i; }

/* Elements [begin, end); integers are exact, floats are first + i * step, not a running sum. */
static void range_part(void *ctx, int64_t begin, int64_t end) {
    range_ctx *a = ctx;
    const gp_array *out = gp_out(a->c, 0);
    const gp_value *first = &a->c->arg[0], *step = &a->c->arg[2];
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)out->dtype);
    union {
        double f[GP_BLOCK];
        int64_t i[GP_BLOCK];
    } buf;
    for (int64_t at = begin; at < end; at += GP_BLOCK) {
        int64_t n = end - at < GP_BLOCK ? end - at : GP_BLOCK;
        for (int64_t k = 0; k < n; k++)
            if (a->integers) buf.i[k] = first->i + (at + k) * step->i;
            else buf.f[k] = as_double(first) + (double)(at + k) * as_double(step);
        a->store(out->data + at * size, size, &buf, n);
    }
}

bool CPU(range)(const gp_call *c) {
    range_ctx a = {.c = c, .integers = !c->arg[0].is_float && !c->arg[2].is_float};
    a.store = gp_store_fn(a.integers ? GP_CT_i64 : GP_CT_f64, (gp_dtype)gp_out(c, 0)->dtype);
    return gp_parallel_op(c, gp_out(c, 0)->numel, 2 * GP_GRAIN, range_part, &a);
}

/* ---- linspace, logspace ---- */

typedef struct spaced_ctx {
    const gp_array *out;
    gp_store store;
    double first, last, step, base; /* base 0: the numbers themselves, else base raised to them */
} spaced_ctx;

/* From both ends to the middle, so that the numbers are symmetric and the last one is exact. */
static double spaced_at(const spaced_ctx *s, int64_t i) {
    int64_t n = s->out->numel;
    return i < (n + 1) / 2 ? s->first + s->step * (double)i
                           : s->last - s->step * (double)(n - 1 - i);
}

static void spaced_part(void *ctx, int64_t begin, int64_t end) {
    spaced_ctx *s = ctx;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)s->out->dtype);
    double buf[GP_BLOCK];
    for (int64_t at = begin; at < end; at += GP_BLOCK) {
        int64_t n = end - at < GP_BLOCK ? end - at : GP_BLOCK;
        for (int64_t k = 0; k < n; k++) {
            buf[k] = spaced_at(s, at + k);
            if (s->base != 0) buf[k] = pow(s->base, buf[k]);
        }
        s->store(s->out->data + at * size, size, buf, n);
    }
}

static bool spaced(const gp_call *c, double base) {
    const gp_array *out = gp_out(c, 0);
    spaced_ctx s = {.out = out, .base = base};
    s.first = as_double(&c->arg[0]), s.last = as_double(&c->arg[1]);
    s.step = out->numel > 1 ? (s.last - s.first) / (double)(out->numel - 1) : 0;
    s.store = gp_store_fn(GP_CT_f64, (gp_dtype)out->dtype);
    return gp_parallel_op(c, out->numel, 2 * GP_GRAIN, spaced_part, &s);
}

bool CPU(linspace)(const gp_call *c) { return spaced(c, 0); }
bool CPU(logspace)(const gp_call *c) { return spaced(c, c->arg[3].f); }

/* ---- copy ---- */

/* Rows of fewer bytes are not streamed: their partial lines at both ends are too large a share. */
enum { STREAM_ROW = 2048 };

typedef struct copy_ctx {
    gp_nd_loop loop;
    size_t size;    /* of an element of the output, in bytes */
    gp_store store; /* NULL: same dtype; else through a compute type */
    gp_load load;   /* NULL: elements are contiguous and of compute type already */
    bool stream;    /* long rows to long rows, too large for a cache */
} copy_ctx;

#define T uint8_t
#include "kernels/cpu/layout/move_row.inc"
#define T uint16_t
#include "kernels/cpu/layout/move_row.inc"
#define T uint32_t
#include "kernels/cpu/layout/move_row.inc"
#define T uint64_t
#include "kernels/cpu/layout/move_row.inc"

void gp_move_row(char *d, int64_t ds, const char *s, int64_t ss, int64_t n, size_t size) {
    if (ds == (int64_t)size && ss == (int64_t)size) memcpy(d, s, (size_t)n * size);
    else if (size == 4) move_uint32_t(d, ds, s, ss, n);
    else if (size == 8) move_uint64_t(d, ds, s, ss, n);
    else if (size == 2) move_uint16_t(d, ds, s, ss, n);
    else move_uint8_t(d, ds, s, ss, n);
}

/* Blocks end with a line of d: a line that two of them shared would be written twice. */
static void copy_stream(char *d, const char *s, int64_t bytes) {
    int64_t block = GP_BLOCK * 4 - (int64_t)((uintptr_t)d & 63);
    for (int64_t at = 0, n; at < bytes; at += n, block = GP_BLOCK * 4) {
        const char *next = s + at + block;
        n = bytes - at < block ? bytes - at : block;
        stream_out(d + at, s + at, (size_t)n, &next, 1);
    }
}

static void convert(const copy_ctx *k, char *d, const char *s, int64_t n) {
    int last = k->loop.ndim - 1;
    int64_t ds = k->loop.stride[0][last], ss = k->loop.stride[1][last];
    if (!k->load) {
        k->store(d, ds, s, n);
        return;
    }
    char buf[GP_BLOCK * 8];
    for (int64_t i = 0; i < n; i += GP_BLOCK) {
        int64_t m = n - i < GP_BLOCK ? n - i : GP_BLOCK;
        k->load(buf, s + i * ss, ss, m);
        k->store(d + i * ds, ds, buf, m);
    }
}

/* The two halves of a long row in turn, TURN bytes of each: a core reads two streams of memory
 * faster than one. */
static void convert_halves(const copy_ctx *k, char *d, const char *s, int64_t n) {
    enum { TURN = 1024, FAR = 16 << 20 };
    int last = k->loop.ndim - 1;
    int64_t ds = k->loop.stride[0][last], ss = k->loop.stride[1][last];
    int64_t some = ss > 0 && ss <= 8 ? TURN / ss : 0, half = 0;
    if (some && n * ss >= FAR) half = n / 2 / some * some;
    for (int64_t i = 0; i < half; i += some) {
        convert(k, d + i * ds, s + i * ss, some);
        convert(k, d + (half + i) * ds, s + (half + i) * ss, some);
    }
    convert(k, d + 2 * half * ds, s + 2 * half * ss, n - 2 * half);
}

static void copy_row(const copy_ctx *k, char *d, const char *s, int64_t n) {
    int last = k->loop.ndim - 1;
    if (k->stream) copy_stream(d, s, n * (int64_t)k->size);
    else if (k->store) convert_halves(k, d, s, n);
    else gp_move_row(d, k->loop.stride[0][last], s, k->loop.stride[1][last], n, k->size);
}

/* Rows [begin, end), converted on the way. */
static void copy_rows(void *ctx, int64_t begin, int64_t end) {
    copy_ctx *k = ctx;
    int64_t width = k->loop.dim[k->loop.ndim - 1];
    int last = k->loop.ndim - 1;
    gp_row_iter r;
    gp_row_iter_begin(&r, &k->loop, begin);
    for (int64_t at = begin, i = begin % width, n; at < end; i = 0, at += n) {
        n = width - i < end - at ? width - i : end - at;
        copy_row(k, r.p[0] + i * k->loop.stride[0][last], r.p[1] + i * k->loop.stride[1][last], n);
        gp_row_iter_next(&r, &k->loop);
    }
    if (k->stream) stream_end();
}

/* Rows so short that columns are longer go column by column, as when an image's few planes become
 * its pixels' channels. A unit is a band of GP_BLOCK rows of the last two dims. */
static void copy_planes(void *ctx, int64_t begin, int64_t end) {
    copy_ctx *k = ctx;
    gp_nd_loop *l = &k->loop;
    int inner = l->ndim - 1, outer = l->ndim - 2;
    int64_t rows = l->dim[outer], bands = (rows + GP_BLOCK - 1) / GP_BLOCK;
    for (int64_t b = begin; b < end; b++) {
        char *p[GP_LOOP_MAX];
        int64_t r = b % bands * GP_BLOCK, n = rows - r < GP_BLOCK ? rows - r : GP_BLOCK;
        gp_nd_loop_at(l, b / bands * rows * l->dim[inner], p);
        p[0] += r * l->stride[0][outer], p[1] += r * l->stride[1][outer];
        for (int64_t c = 0; c < l->dim[inner]; c++)
            gp_move_row(p[0] + c * l->stride[0][inner], l->stride[0][outer],
                        p[1] + c * l->stride[1][inner], l->stride[1][outer], n, k->size);
    }
}

/* A unit is a band of TILE rows of the last two dims. */
static void copy_transposed(void *ctx, int64_t begin, int64_t end) {
    copy_ctx *k = ctx;
    gp_nd_loop *l = &k->loop;
    int inner = l->ndim - 1, outer = l->ndim - 2;
    int64_t rows = l->dim[outer], cols = l->dim[inner], bands = (rows + TILE - 1) / TILE;
    for (int64_t b = begin; b < end; b++) {
        int64_t r = b % bands * TILE;
        char *p[GP_LOOP_MAX];
        gp_nd_loop_at(l, (b / bands) * rows * cols, p);
        gp_transpose(p[0] + r * l->stride[0][outer], l->stride[0][outer],
                     p[1] + r * l->stride[1][outer], l->stride[1][inner],
                     rows - r < TILE ? rows - r : TILE, cols, k->size,
                     l->numel * (int64_t)k->size >= STREAM_BYTES);
    }
}

static bool transposed(const copy_ctx *k) {
    const gp_nd_loop *l = &k->loop;
    int inner = l->ndim - 1;
    int64_t size = (int64_t)k->size;
    return !k->store && l->ndim >= 2 && l->dim[inner] >= 8 && l->dim[inner - 1] >= 8 &&
           l->stride[0][inner] == size && l->stride[1][inner] != size &&
           l->stride[1][inner - 1] == size;
}

static bool planar(const copy_ctx *k) {
    const gp_nd_loop *l = &k->loop;
    int inner = l->ndim - 1;
    return !k->store && l->ndim >= 2 && l->dim[inner] < 8 && l->dim[inner - 1] >= 8;
}

/* c may be NULL: then nothing interrupts it. */
bool gp_copy_op(const gp_call *c, const gp_array *out, const gp_array *in) {
    const gp_array *arrays[2] = {out, in};
    gp_dtype to = (gp_dtype)arrays[0]->dtype, from = (gp_dtype)arrays[1]->dtype;
    if (arrays[0]->numel == 0) return true;
    copy_ctx k = {.size = gp_dtype_size(to)};
    gp_nd_loop_init(&k.loop, 2, arrays);
    int64_t size = (int64_t)k.size;
    int last = k.loop.ndim - 1;
    if (to != from) {
        gp_ctype ct = gp_cast_type(from, to);
        bool as_is = from == gp_ctype_dtype[ct] && k.loop.stride[1][last] == gp_ctype_size[ct];
        if (!as_is) k.load = gp_load_fn(from, ct);
        k.store = gp_store_fn(ct, to);
    }
    k.stream = !k.store && k.loop.stride[0][last] == size && k.loop.stride[1][last] == size &&
               k.loop.dim[last] * size >= STREAM_ROW && k.loop.numel * size >= STREAM_BYTES;
    gp_body body = copy_rows;
    int64_t units = arrays[0]->numel, grain = 2 * GP_GRAIN;
    if (transposed(&k)) {
        int64_t rows = k.loop.dim[k.loop.ndim - 2], cols = k.loop.dim[k.loop.ndim - 1];
        units = k.loop.numel / (rows * cols) * ((rows + TILE - 1) / TILE);
        grain = 1 + 2 * GP_GRAIN / (TILE * cols);
        body = copy_transposed;
    } else if (planar(&k)) {
        int64_t rows = k.loop.dim[k.loop.ndim - 2], cols = k.loop.dim[k.loop.ndim - 1];
        units = k.loop.numel / (rows * cols) * ((rows + GP_BLOCK - 1) / GP_BLOCK);
        grain = 1 + 2 * GP_GRAIN / (GP_BLOCK * cols);
        body = copy_planes;
    }
    if (c) return gp_parallel_op(c, units, grain, body, &k);
    gp_parallel(units, grain, body, &k);
    return true;
}

void gp_copy_array(const gp_array *out, const gp_array *in) { gp_copy_op(NULL, out, in); }

bool CPU(copy)(const gp_call *c) { return gp_copy_op(c, gp_out(c, 0), gp_in(c, 0)); }
