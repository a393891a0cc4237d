/* pad and roll: rows copied, with their margins. Streaming is worth 1.5 at 8x10x256x256, rolling by
 * rows 1.4 at 10000x1000 and 2.1 at 8x10x256x256 (one thread of an Emerald Rapids with AVX-512). */
#include <string.h>

#include "kernels/cpu/runtime/kernel.h"
#include "kernels/cpu/runtime/nontemporal.h"

/* HELD: bytes that are put together in the first-level cache before they are streamed. */
enum { HELD = 2048 };

typedef enum mode { CONSTANT, REFLECT, REPLICATE, CIRCULAR } mode;

typedef struct padding {
    const gp_array *x, *out;
    mode mode;
    const int64_t *before; /* for each dim, elements added in front; negative: left out */
    size_t size;
    char value[8]; /* of CONSTANT */
    bool stream;   /* the result is too large for a cache, x's rows have no gaps */
} padding;

/* The index in a dim of size n that padded index i shows (0: the first element); -1: the padding
 * value. */
static int64_t shown(mode mode, int64_t i, int64_t n) {
    if (i >= 0 && i < n) return i;
    switch (mode) {
    case REFLECT: return i < 0 ? -i : 2 * (n - 1) - i;
    case REPLICATE: return i < 0 ? 0 : n - 1;
    case CIRCULAR: return i < 0 ? i + n : i - n;
    default: return -1;
    }
}

static void fill(char *o, int64_t n, const char *value, size_t size) {
    switch (size) {
    case 1: memset(o, value[0], (size_t)n); return;
    case 2:
        for (int64_t i = 0; i < n; i++) memcpy(o + 2 * i, value, 2);
        return;
    case 4:
        for (int64_t i = 0; i < n; i++) memcpy(o + 4 * i, value, 4);
        return;
    default:
        for (int64_t i = 0; i < n; i++) memcpy(o + 8 * i, value, 8);
    }
}

/* Fills [from, to) of a padded row, on one side of x's n elements, step bytes apart; o: the address
 * of `from`. */
static void margin(const padding *p, char *o, const char *row, int64_t step, int64_t from,
                   int64_t to, int64_t n) {
    if (p->mode == CONSTANT) {
        fill(o, to - from, p->value, p->size);
        return;
    }
    int64_t along = p->mode == REFLECT ? -step : p->mode == REPLICATE ? 0 : step;
    if (to - from == 1 && p->size == 4) { /* a call would take longer than the copy */
        memcpy(o, row + shown(p->mode, from, n) * step, 4);
        return;
    }
    gp_move_row(o, (int64_t)p->size, row + shown(p->mode, from, n) * step, along, to - from,
                p->size);
}

/* A row of the result: its index in each dim but the last, and x's row that it shows. */
typedef struct pad_row {
    int64_t at[GP_MAX_DIM];
    const char *row; /* NULL: the padding value */
} pad_row;

static void find_row(const padding *p, pad_row *w) {
    int64_t size = (int64_t)p->size;
    w->row = p->x->data;
    for (int d = 0; d < p->out->ndim - 1; d++) {
        int64_t i = shown(p->mode, w->at[d] - p->before[d], p->x->dim[d]);
        if (i < 0) {
            w->row = NULL;
            return;
        }
        w->row += i * p->x->stride[d] * size;
    }
}

static void first_row(const padding *p, pad_row *w, int64_t r) {
    for (int d = p->out->ndim - 2; d >= 0; d--) w->at[d] = r % p->out->dim[d], r /= p->out->dim[d];
    find_row(p, w);
}

static void next_row(const padding *p, pad_row *w) {
    int d = p->out->ndim - 2;
    bool inside = w->row && d >= 0 && w->at[d] >= p->before[d] &&
                  w->at[d] - p->before[d] + 1 < p->x->dim[d] && w->at[d] + 1 < p->out->dim[d];
    if (inside) {
        w->at[d]++;
        w->row += p->x->stride[d] * (int64_t)p->size;
        return;
    }
    for (; d >= 0; d--) {
        if (++w->at[d] < p->out->dim[d]) break;
        w->at[d] = 0;
    }
    find_row(p, w);
}

/* Elements [from, to) of a row of the result, written to o. */
static void pad_part(const padding *p, const pad_row *w, int64_t from, int64_t to, char *o) {
    int last = p->out->ndim - 1;
    int64_t n = p->x->dim[last], size = (int64_t)p->size, step = p->x->stride[last] * size;
    if (!w->row) {
        fill(o, to - from, p->value, p->size);
        return;
    }
    from -= p->before[last], to -= p->before[last];
    int64_t a = from > 0 ? from : 0, b = to < n ? to : n; /* places that are x's own */
    if (b < a) a = b = from < 0 ? (to < 0 ? to : 0) : from;
    if (from < a) margin(p, o, w->row, step, from, a, n);
    gp_move_row(o + (a - from) * size, size, w->row + a * step, step, b - a, p->size);
    if (to > b) margin(p, o + (b - from) * size, w->row, step, b, to, n);
}

/* Rows of a result that is too large for a cache: rows that end within a line are put together
 * first, then streamed in whole lines. */
static void pad_streamed(const padding *p, pad_row *w, int64_t begin, int64_t end) {
    _Alignas(64) char held[HELD];
    int64_t width = p->out->dim[p->out->ndim - 1], size = (int64_t)p->size;
    char *to = p->out->data + begin * width * size;
    int64_t used = 0, free_bytes = HELD - (int64_t)((uintptr_t)to & 63);
    for (int64_t r = begin; r < end; r++, next_row(p, w))
        for (int64_t c = 0, n; c < width; c += n) {
            n = width - c < (free_bytes - used) / size ? width - c : (free_bytes - used) / size;
            pad_part(p, w, c, c + n, held + used);
            used += n * size;
            if (used < free_bytes) continue;
            const char *next = w->row ? w->row + (c + n) * size : p->x->data;
            stream_out(to, held, (size_t)used, &next, 1);
            to += used, used = 0, free_bytes = HELD;
        }
    stream_out(to, held, (size_t)used, NULL, 0);
    stream_end();
}

static void pad_rows(void *ctx, int64_t begin, int64_t end) {
    const padding *p = ctx;
    int64_t width = p->out->dim[p->out->ndim - 1], bytes = width * (int64_t)p->size;
    pad_row w;
    first_row(p, &w, begin);
    if (p->stream) {
        pad_streamed(p, &w, begin, end);
        return;
    }
    for (int64_t r = begin; r < end; r++, next_row(p, &w))
        pad_part(p, &w, 0, width, p->out->data + r * bytes);
}

/* Circular: what is left out does not wrap around, so x is cut first. */
static void leave_out(const gp_array *out, gp_array *x, int64_t *before) {
    for (int d = 0; d < x->ndim; d++) {
        int64_t after = out->dim[d] - x->dim[d] - before[d], first = before[d] < 0 ? -before[d] : 0;
        x->data += first * x->stride[d] * (int64_t)gp_dtype_size((gp_dtype)x->dtype);
        x->dim[d] -= first + (after < 0 ? -after : 0);
        before[d] += first;
    }
}

/* Arguments: x, the padding (for each dim, elements in front), the mode, the value. */
bool CPU(pad)(const gp_call *c) {
    gp_array x = *gp_in(c, 0);
    padding p = {.x = &x, .out = gp_out(c, 0), .mode = (mode)c->arg[2].i};
    gp_dtype dt = (gp_dtype)p.out->dtype;
    int64_t before[GP_MAX_DIM];
    int n;
    memcpy(before, gp_ints(c, 1, &n), (size_t)x.ndim * sizeof *before);
    p.before = before;
    p.size = gp_dtype_size(dt);
    if (p.out->numel == 0) return true;
    if (p.out->ndim == 0) return gp_copy_array(p.out, p.x), true;
    gp_number_array(&c->arg[3], dt, p.value);
    if (p.mode == CIRCULAR) leave_out(p.out, &x, before);
    int last = p.out->ndim - 1;
    int64_t width = p.out->dim[last];
    p.stream = p.out->numel * (int64_t)p.size >= STREAM_BYTES && x.stride[last] == 1;
    return gp_parallel_op(c, p.out->numel / width, 1 + GP_GRAIN / width, pad_rows, &p);
}

/* ---- roll ---- */

/* Copies one piece: in each dim either the part that wraps to the front, or the rest. */
static void roll_piece(const gp_array *out, const gp_array *x, const int64_t *shift,
                       uint64_t wrapped) {
    gp_array o = *out, in = *x;
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    for (int d = 0; d < x->ndim; d++) {
        int64_t s = shift[d], n = x->dim[d];
        bool w = wrapped >> d & 1;
        o.dim[d] = in.dim[d] = w ? s : n - s;
        if (w) in.data += (n - s) * in.stride[d] * size;
        else o.data += s * o.stride[d] * size;
    }
    gp_array_update(&o), gp_array_update(&in);
    gp_copy_array(&o, &in);
}

/* Rows of fewer bytes take longer than columns do; longer ones are shared out as pieces. */
enum { SHORT_ROW = 512, LONG_ROW = 1 << 16 };

/* By rows of the result, each from the last rolled dim on: padding on one side that wraps around,
 * as much left out on the other. False: not laid out for it, or Ctrl-C; *done says which. */
static bool roll_rows(const gp_call *c, const gp_array *out, const gp_array *x,
                      const int64_t *shift, bool *done) {
    gp_array o = *out, in = *x;
    int64_t before[GP_MAX_DIM], size = (int64_t)gp_dtype_size((gp_dtype)x->dtype);
    int last = x->ndim - 1;
    memcpy(before, shift, (size_t)x->ndim * sizeof *before);
    for (; last > 0 && shift[last] == 0; last--) {
        in.dim[last - 1] *= in.dim[last], before[last - 1] *= in.dim[last];
        in.stride[last - 1] = 1;
    }
    int64_t width = in.dim[last], bytes = width * size;
    *done = x->contiguous && bytes >= SHORT_ROW && bytes <= LONG_ROW;
    if (!*done) return false;
    o.ndim = in.ndim = last + 1, o.dim[last] = width, o.stride[last] = 1;
    padding p = {.x = &in, .out = &o, .mode = CIRCULAR, .before = before, .size = (size_t)size};
    p.stream = o.numel * size >= STREAM_BYTES;
    return gp_parallel_op(c, o.numel / width, 1 + GP_GRAIN / width, pad_rows, &p);
}

/* Arguments: x, a shift for each dim, from 0 to below its size. Flattened: shift of the
 * temporary. */
bool CPU(roll)(const gp_call *c) {
    gp_array out = *gp_out(c, 0), x = *gp_in(c, 0);
    int n;
    const int64_t *shift = gp_ints(c, 1, &n);
    if (out.numel == 0) return true;
    if (c->ntmp) {
        x = *c->tmpa[0];
        x.ndim = out.ndim = 1;
        x.dim[0] = out.dim[0] = x.numel, x.stride[0] = out.stride[0] = 1;
    }
    bool done = false, ok = out.ndim && roll_rows(c, &out, &x, shift, &done);
    if (done) return ok;
    uint64_t rolled = 0;
    for (int d = 0; d < x.ndim; d++) rolled |= (uint64_t)(shift[d] != 0) << d;
    uint64_t wrapped = 0;
    do { /* every subset of the rolled dims */
        roll_piece(&out, &x, shift, wrapped);
        wrapped = (wrapped - rolled) & rolled;
    } while (wrapped);
    return true;
}
