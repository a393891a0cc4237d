/* softmax and log_softmax along any dim: each row, or a tile of adjacent columns, is read once and
 * completed in the cache. Transposed tiles are worth 4.7 at 100000x10; tiles in place 2.2 and
 * joined rows 8.6, along dim 1 of 10000x1000 and of 100000x4; streaming 1.15 at 8x12x1024x1024 (one
 * thread of an Emerald Rapids with AVX-512). */
#include <string.h>

#include "kernels/cpu/elementwise/math.h"

#include "kernels/cpu/runtime/scratch.h"
#include "kernels/cpu/runtime/nontemporal.h"
#include "kernels/cpu/layout/transpose.h"
#include "kernels/cpu/runtime/kernel.h"

enum { SHORT = 40, TILE = 64, ROWS = 64, TILE_BYTES = 1 << 15, LANES = 16 };
enum { WIDEST = LANES * LANES }; /* columns of a tile: of TILE, or of LANES joined rows */

typedef struct softmax_job {
    gp_nd_loop loop; /* out and x without the dim of the sum */
    int64_t n;       /* its size */
    int64_t xs, os;  /* its strides in bytes */
    gp_ctype ct;
    gp_load load;
    gp_store store;
    bool stream;                         /* the result is too large to stay in a cache */
    bool take_log, x_direct, out_direct; /* direct: of compute type and contiguous along the dim */
    int64_t width;                       /* columns of a tile */
    bool turned;                         /* the tile's columns are rows in memory */
    bool in_place;                       /* tiles are worked on where they lie, not in a buffer */
    int64_t join;                        /* rows of a tile's buffer that are worked on as one */
    _Atomic bool no_memory;
} softmax_job;

/* n rows of w columns of compute type, whose lines are `line` elements apart; y may be x. */
typedef struct tile {
    const void *x;
    void *y;
    int64_t xline, yline, n, w;
    bool take_log;
} tile;

#define TEMPLATE "kernels/cpu/norm/softmax.inc"
#include "kernels/common/floats.inc"

/* A line whose elements are contiguous, or gathered into buf: n of compute type. */
static void one_row(const softmax_job *r, const char *x, char *out, char *buf) {
    const void *from = x;
    void *to = r->out_direct && !r->stream ? out : buf;
    size_t bytes = (size_t)r->n * gp_ctype_size[r->ct];
    if (!r->x_direct) r->load(buf, x, r->xs, r->n), from = buf;
    (r->ct == GP_CT_f32 ? row_f32 : row_f64)(from, to, r->n, r->take_log);
    if (!r->out_direct) r->store(out, r->os, buf, r->n);
    else if (r->stream) stream_out(out, buf, bytes, &(const char *){x + bytes}, r->x_direct);
}

static void columns(const softmax_job *r, const tile *t) {
    if (r->ct == GP_CT_f32) columns_f32(t, r->join);
    else columns_f64(t, r->join);
}

static tile in_buffer(const softmax_job *r, int64_t w, char *buf) {
    return (tile){buf, buf, w, w, r->n, w, r->take_log};
}

/* w adjacent lines along another dim than the last; buf: n x w of compute type. */
static void one_tile(const softmax_job *r, const char *x, char *out, int64_t w, char *buf) {
    int last = r->loop.ndim - 1;
    int64_t line = w * gp_ctype_size[r->ct], xs = r->loop.stride[1][last],
            os = r->loop.stride[0][last];
    bool x_whole = r->xs == w * xs, out_whole = r->os == w * os; /* rows follow each other */
    tile t = in_buffer(r, w, buf);
    for (int64_t i = 0; i < (x_whole ? 1 : r->n); i++)
        r->load(buf + i * line, x + i * r->xs, xs, x_whole ? r->n * w : w);
    columns(r, &t);
    for (int64_t i = 0; i < (out_whole ? 1 : r->n); i++)
        r->store(out + i * r->os, os, buf + i * line, out_whole ? r->n * w : w);
}

/* Lines that are contiguous, of compute type and too long for a cache need no buffer, but rows that
 * are joined must have no gaps. */
static bool in_place(const softmax_job *r, int64_t w) {
    int64_t row = w * gp_ctype_size[r->ct];
    return r->in_place && (r->join == 1 || (r->xs == row && r->os == row));
}
static void tile_in_place(const softmax_job *r, const char *x, char *out, int64_t w) {
    int64_t size = gp_ctype_size[r->ct];
    columns(r, &(tile){x, out, r->xs / size, r->os / size, r->n, w, r->take_log});
}

/* w adjacent, contiguous, short lines: such a tile after a transpose. */
static void turned_tile(const softmax_job *r, const char *x, char *out, int64_t w, char *buf) {
    int last = r->loop.ndim - 1;
    int64_t size = gp_ctype_size[r->ct], line = w * size;
    tile t = in_buffer(r, w, buf);
    gp_transpose(buf, line, x, r->loop.stride[1][last], r->n, w, (size_t)size, false);
    columns(r, &t);
    gp_transpose(out, r->loop.stride[0][last], buf, line, w, r->n, (size_t)size, false);
}

/* How many tiles (or rows, of width 1) lie along the last dim of the lines. */
static int64_t across(const softmax_job *r) {
    return (r->loop.dim[r->loop.ndim - 1] + r->width - 1) / r->width;
}

/* Tiles [begin, end), or rows where the width is 1. */
static void run_part(void *ctx, int64_t begin, int64_t end) {
    softmax_job *r = ctx;
    int last = r->loop.ndim - 1;
    int64_t length = r->loop.dim[last], each = across(r);
    int64_t lines = r->in_place && r->join == 1 ? 0 : r->width;
    char *buf = gp_scratch(GP_SCRATCH_PART, 1 + (size_t)(r->n * lines) * gp_ctype_size[r->ct]);
    if (!buf) {
        r->no_memory = true;
        return;
    }
    for (int64_t at = begin; at < end; at++) {
        char *p[GP_LOOP_MAX];
        int64_t first = at % each * r->width, left = length - first,
                w = left < r->width ? left : r->width;
        gp_nd_loop_at(&r->loop, at / each * length + first, p);
        if (r->width == 1) one_row(r, p[1], p[0], buf);
        else if (in_place(r, w)) tile_in_place(r, p[1], p[0], w);
        else if (r->turned) turned_tile(r, p[1], p[0], w, buf);
        else one_tile(r, p[1], p[0], w, buf);
    }
    if (r->stream) stream_end();
}

/* a without dim d. */
static gp_array without(const gp_array *a, int d) {
    gp_array r = *a;
    r.ndim--;
    r.numel /= a->dim[d];
    for (int i = d; i < r.ndim; i++) r.dim[i] = a->dim[i + 1], r.stride[i] = a->stride[i + 1];
    return r;
}

/* Adjacent columns make a tile: 16, 32 … of them, however long they are, and fewer of them where
 * threads would get none. What decides about the order of sums depends on neither. */
static void choose_tiles(softmax_job *r, int64_t lines, bool same_type, int64_t osize) {
    int last = r->loop.ndim - 1;
    int64_t length = r->loop.dim[last], size = gp_ctype_size[r->ct],
            most = TILE_BYTES / (r->n * size) / 16 * 16;
    r->turned = r->x_direct && r->out_direct && r->n > 1 && r->n <= SHORT && length >= 16;
    r->in_place = !r->turned && most < 16 && same_type && osize == size &&
                  r->loop.stride[0][last] == size && r->loop.stride[1][last] == size;
    r->join = length < LANES && r->n >= LANES * LANES ? LANES : 1;
    r->width = !r->turned && r->os == osize && r->n > 1 ? 1
               : most > TILE || r->in_place             ? TILE
               : most < 16                              ? 16
                                                        : most;
    int64_t rows = lines / length, threads = gp_threads(),
            fair = (length * rows / threads + 15) / 16 * 16;
    if (r->width > fair && fair >= 16) r->width = fair;
}

/* Arguments: x, dim (0-based from infer on), dtype, which is out's. */
static bool softmax(const gp_call *c, bool take_log) {
    gp_array out = *gp_out(c, 0), x = *gp_in(c, 0);
    int d = (int)c->arg[1].i;
    if (out.numel == 0) return true;
    if (out.ndim == 0)
        out.ndim = x.ndim = 1, out.dim[0] = x.dim[0] = out.stride[0] = x.stride[0] = 1;
    int64_t xsize = (int64_t)gp_dtype_size((gp_dtype)x.dtype),
            osize = (int64_t)gp_dtype_size((gp_dtype)out.dtype);
    softmax_job r = {.n = out.dim[d],
                     .xs = x.stride[d] * xsize,
                     .os = out.stride[d] * osize,
                     .take_log = take_log};
    r.ct = x.dtype == GP_f64 || out.dtype == GP_f64 ? GP_CT_f64 : GP_CT_f32;
    r.load = gp_load_fn((gp_dtype)x.dtype, r.ct);
    r.store = gp_store_fn(r.ct, (gp_dtype)out.dtype);
    r.x_direct = x.dtype == gp_ctype_dtype[r.ct] && (r.xs == xsize || r.n == 1);
    r.out_direct = out.dtype == gp_ctype_dtype[r.ct] && (r.os == osize || r.n == 1);
    gp_array o1 = without(&out, d), x1 = without(&x, d);
    gp_nd_loop_init(&r.loop, 2, (const gp_array *[]){&o1, &x1});
    choose_tiles(&r, o1.numel, x.dtype == out.dtype, osize);
    r.stream = r.width == 1 && r.out_direct && stream_rows(r.n * osize, out.numel * osize);
    int64_t tiles = o1.numel / r.loop.dim[r.loop.ndim - 1] * across(&r);
    return gp_parallel_op(c, tiles, 1 + GP_GRAIN / (r.n * r.width), run_part, &r) &&
           (!r.no_memory || gp_fail("%s: out of memory", c->op->name));
}

bool CPU(softmax)(const gp_call *c) { return softmax(c, false); }
bool CPU(log_softmax)(const gp_call *c) { return softmax(c, true); }
