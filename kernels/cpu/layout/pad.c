/* pad and roll: rows copied, with their margins. */
#include <string.h>

#include "kernels/cpu/runtime/kernel.h"

enum { GRAIN = 32768 };

typedef enum mode { CONSTANT, REFLECT, REPLICATE, CIRCULAR } mode;

typedef struct padding {
    const gp_array *x, *out;
    mode mode;
    const int64_t *before; /* for each dim, elements added in front; negative: left out */
    size_t size;
    char value[8]; /* of CONSTANT */
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

/* Fills [from, to) of a padded row, outside of x's n elements, step bytes apart; o: the address of
 * `from`. */
static void margin(const padding *p, char *o, const char *row, int64_t step, int64_t from,
                   int64_t to, int64_t n) {
    if (p->mode == CONSTANT) {
        fill(o, to - from, p->value, p->size);
        return;
    }
    for (int64_t i = from; i < to; i++, o += p->size)
        memcpy(o, row + shown(p->mode, i, n) * step, p->size);
}

/* Row r of the result; the result is contiguous. */
static void pad_row(const padding *p, int64_t r) {
    const gp_array *x = p->x, *out = p->out;
    int last = out->ndim - 1;
    int64_t width = out->dim[last], n = x->dim[last], size = (int64_t)p->size;
    const char *row = x->data;
    char *o = p->out->data + r * width * size;
    for (int d = last - 1; d >= 0; d--) {
        int64_t i = shown(p->mode, r % out->dim[d] - p->before[d], x->dim[d]);
        if (i < 0) {
            fill(o, width, p->value, p->size);
            return;
        }
        row += i * x->stride[d] * size;
        r /= out->dim[d];
    }
    int64_t from = -p->before[last], to = from + width, step = x->stride[last] * size;
    int64_t a = from > 0 ? from : 0, b = to < n ? to : n; /* places that are x's own */
    if (b < a) a = b = from < 0 ? (to < 0 ? to : 0) : from;
    if (from < a) margin(p, o, row, step, from, a, n);
    gp_move_row(o + (a - from) * size, size, row + a * step, step, b - a, p->size);
    if (to > b) margin(p, o + (b - from) * size, row, step, b, to, n);
}

static void pad_rows(void *ctx, int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; r++) pad_row(ctx, r);
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
    int64_t width = p.out->dim[p.out->ndim - 1];
    return gp_parallel_op(c, p.out->numel / width, 1 + GRAIN / width, pad_rows, &p);
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
    uint64_t rolled = 0;
    for (int d = 0; d < x.ndim; d++) rolled |= (uint64_t)(shift[d] != 0) << d;
    uint64_t wrapped = 0;
    do { /* every subset of the rolled dims */
        roll_piece(&out, &x, shift, wrapped);
        wrapped = (wrapped - rolled) & rolled;
    } while (wrapped);
    return true;
}
