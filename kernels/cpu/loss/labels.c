/* Pixels in tiles, and class labels, for losses over classes. */
#include "kernels/cpu/loss/labels.h"

void gp_pixel_tiles_init(gp_pixel_tiles *p, int n, const gp_array *const *arrays, int64_t width) {
    gp_nd_loop_init(&p->loop, n, arrays);
    int64_t length = p->loop.dim[p->loop.ndim - 1];
    p->width = width < length ? width : length;
    if (p->width < 1) p->width = 1;
    p->a_row = (length + p->width - 1) / p->width;
    p->tiles = length ? p->loop.numel / length * p->a_row : 0;
}

int64_t gp_pixel_tiles_at(const gp_pixel_tiles *p, int64_t u, char **at) {
    int64_t length = p->loop.dim[p->loop.ndim - 1], from = u % p->a_row * p->width;
    gp_nd_loop_at(&p->loop, u / p->a_row * length + from, at);
    return length - from < p->width ? length - from : p->width;
}

void gp_label_reader_init(gp_label_reader *l, const gp_array *target, int64_t classes,
                          int64_t ignore) {
    *l = (gp_label_reader){.classes = classes, .ignore = ignore};
    if (target->dtype != GP_i64) l->load = gp_load_fn((gp_dtype)target->dtype, GP_CT_i64);
}

void gp_label_reader_read(gp_label_reader *l, const char *p, int64_t step, int64_t n,
                          int32_t *label) {
    int64_t buf[GP_BLOCK], classes = l->classes, ignore = l->ignore, bad = 0;
    for (int64_t at = 0; at < n; at += GP_BLOCK) {
        int64_t m = n - at < GP_BLOCK ? n - at : GP_BLOCK;
        const int64_t *v = (const int64_t *)(const void *)(p + at * step);
        if (l->load || step != 8) {
            gp_load load = l->load ? l->load : gp_load_fn(GP_i64, GP_CT_i64);
            load(buf, p + at * step, step, m);
            v = buf;
        }
        /* Prefetches the next labels: too much else is read between two tiles for the hardware to
         * do so. */
        for (int64_t i = 0; i < m * step; i += 64) __builtin_prefetch(p + (at + m) * step + i);
        for (int64_t i = 0; i < m; i++) {
            int64_t out = (uint64_t)(v[i] - 1) >= (uint64_t)classes, skip = v[i] == ignore;
            bad |= out & ~skip;
            label[at + i] = out | skip ? -1 : (int32_t)(v[i] - 1);
        }
    }
    if (bad) l->bad = true;
}

bool gp_label_reader_good(const gp_call *c, const gp_label_reader *l, const gp_array *target) {
    if (!l->bad) return true;
    gp_load load = gp_load_fn((gp_dtype)target->dtype, GP_CT_i64);
    for (int64_t i = 0; i < target->numel; i++) {
        int64_t rest = i, v;
        const char *p = target->data;
        for (int d = target->ndim - 1; d >= 0; d--)
            p += rest % target->dim[d] * target->stride[d] * gp_dtype_sizes[target->dtype],
                rest /= target->dim[d];
        load(&v, p, 0, 1);
        if ((v < 1 || v > l->classes) && v != l->ignore)
            return gp_fail(
                "%s: label %lld in argument 'target' is not a class (labels count from 1: "
                "expected 1 to %lld, or ignore_index, which is %lld; add 1 to labels that count "
                "from 0)",
                c->op->name, (long long)v, (long long)l->classes, (long long)l->ignore);
    }
    return gp_fail("%s: labels were changed while they were used", c->op->name);
}

void gp_class_weights(const gp_array *weight, gp_ctype ct, int64_t n, void *to) {
    gp_load load = gp_load_fn((gp_dtype)weight->dtype, ct);
    load(to, weight->data, weight->stride[0] * (int64_t)gp_dtype_sizes[weight->dtype], n);
}
