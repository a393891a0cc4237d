/* Checks of optimizer steps and of clipping: ops whose first arguments are lists of tensors, where
 * tensors k of all lists have one shape; some lists are written (`tensors!`). */
#include <stdlib.h>

#include "tensor/infer.h"
#include "tensor/overlap.h"
#include "tensor/sig.h"

/* Tensor number `at` of list argument `list`, and its address range. */
typedef struct piece {
    const char *lo, *hi;
    const gp_tensor *t;
    int list, at;
    bool written;
} piece;

/* The name of parameter i of c's op, for messages: stored in *sig. */
static const char *name_of(const gp_call *c, int i, gp_sig *sig) {
    return gp_sig_parse(c->op->sig, sig) ? sig->p[i].name : "?";
}

static bool check_tensor(const gp_call *c, int list, int k) {
    gp_sig sig;
    const gp_tensor *t = c->arg[list].list[k], *first = c->arg[0].list[k];
    gp_shape a = gp_tensor_shape(t), b = gp_tensor_shape(first);
    char have[200], want[200];
    if (!(GP_SET_FLOAT >> t->a.dtype & 1))
        return gp_infer_check(c, name_of(c, list, &sig), (gp_dtype)t->a.dtype, GP_SET_FLOAT);
    if (!gp_shape_equal(&a, &b))
        return gp_fail("%s: tensor %d of argument '%s' is %s, the first list's is %s", c->op->name,
                       k + 1, name_of(c, list, &sig), gp_tensor_text(t, have, sizeof have),
                       gp_tensor_text(first, want, sizeof want));
    if (c->arg[list].written && gp_array_self_overlaps(&t->a))
        return gp_fail("%s: several elements of tensor %d of argument '%s' share one place in "
                       "memory (it was expanded or unfolded); use :clone() first",
                       c->op->name, k + 1, name_of(c, list, &sig));
    return true;
}

static bool check_list(const gp_call *c, int list) {
    gp_sig sig;
    if (c->arg[list].kind != GP_LIST) return true;
    if (c->arg[list].n != c->arg[0].n)
        return gp_fail("%s: argument '%s' has %d tensors, the first list %d", c->op->name,
                       name_of(c, list, &sig), c->arg[list].n, c->arg[0].n);
    for (int k = 0; k < c->arg[list].n; k++)
        if (!check_tensor(c, list, k)) return false;
    return true;
}

static int by_address(const void *a, const void *b) {
    const char *p = ((const piece *)a)->lo, *q = ((const piece *)b)->lo;
    return (p > q) - (p < q);
}

static bool shared(const gp_call *c, const piece *a, const piece *b) {
    gp_sig sig;
    return gp_fail("%s: tensor %d of argument '%s' and tensor %d of argument '%s' share memory; "
                   "one of them is written",
                   c->op->name, a->at + 1, name_of(c, a->list, &sig), b->at + 1,
                   name_of(c, b->list, &(gp_sig){0}));
}

/* Checks that written tensors share no element with any other: sorted by address, only neighbours
 * need to be compared. */
static bool separate(const gp_call *c) {
    int n = 0, lists = 0;
    for (int i = 0; i < c->nargs; i++) lists += c->arg[i].kind == GP_LIST;
    piece *p = malloc((size_t)(lists * c->arg[0].n) * sizeof *p);
    if (!p) return gp_fail("out of memory");
    for (int i = 0; i < c->nargs; i++)
        for (int k = 0; c->arg[i].kind == GP_LIST && k < c->arg[i].n; k++, n++) {
            p[n] = (piece){.t = c->arg[i].list[k], .list = i, .at = k};
            p[n].written = c->arg[i].written;
            gp_array_extent(&p[n].t->a, &p[n].lo, &p[n].hi);
        }
    qsort(p, (size_t)n, sizeof *p, by_address);
    bool ok = true;
    for (int i = 0; ok && i < n; i++)
        for (int j = i + 1; ok && j < n && p[j].lo < p[i].hi; j++)
            if ((p[i].written || p[j].written) && gp_arrays_overlap(&p[i].t->a, &p[j].t->a))
                ok = shared(c, &p[i], &p[j]);
    free(p);
    return ok;
}

static bool check_lists(gp_call *c, gp_meta *m) {
    uint32_t writes = gp_list_writes(c->op);
    m->n = 0;
    if (c->arg[0].n == 0) return gp_fail("%s: expected at least one tensor", c->op->name);
    for (int i = 0; i < c->nargs; i++)
        if (c->arg[i].kind == GP_LIST) c->arg[i].written = writes >> i & 1;
    for (int i = 0; i < c->nargs; i++)
        if (!check_list(c, i)) return false;
    return (m->dev = gp_infer_device(c)) && separate(c);
}

static bool first_step(const gp_call *c, int i) {
    return c->arg[i].i >= 1 || gp_fail("%s: argument 'step' is %lld (steps count from 1)",
                                       c->op->name, (long long)c->arg[i].i);
}

/* Checks that momentum has its buffers. */
static bool has_buffers(const gp_call *c, int buffers, int momentum) {
    if (c->arg[momentum].f == 0 || gp_given(c, buffers)) return true;
    return gp_fail("%s: argument 'momentum_buffers': expected a list of tensors where momentum is "
                   "not 0",
                   c->op->name);
}

/* Checks argument i, absent or one element of dtype dt. */
static bool one_element(const gp_call *c, int i, gp_dtype dt) {
    gp_sig sig;
    char text[160];
    if (!gp_given(c, i)) return true;
    const gp_tensor *t = c->arg[i].t;
    return (t->a.numel == 1 && t->a.dtype == dt) ||
           gp_fail("%s: argument '%s' is %s (expected one element of %s)", c->op->name,
                   name_of(c, i, &sig), gp_tensor_text(t, text, sizeof text), gp_dtype_name(dt));
}

/* A step's lists, and its last arguments: steps, which the kernel counts up, grad_scale and
 * found_inf. */
static bool check_step(gp_call *c, gp_meta *m, int steps) {
    if (!check_lists(c, m) || !one_element(c, steps, GP_i64) ||
        !one_element(c, steps + 1, GP_f32) || !one_element(c, steps + 2, GP_f32))
        return false;
    if (gp_given(c, steps)) c->arg[steps].written = true;
    return true;
}

bool infer_sgd_step(gp_call *c, gp_meta *m) { return has_buffers(c, 2, 4) && check_step(c, m, 11); }
bool infer_rmsprop_step(gp_call *c, gp_meta *m) {
    return has_buffers(c, 4, 9) && check_step(c, m, 12);
}
bool infer_adam_step(gp_call *c, gp_meta *m) { return first_step(c, 5) && check_step(c, m, 14); }
bool infer_adagrad_step(gp_call *c, gp_meta *m) { return first_step(c, 3) && check_step(c, m, 10); }

/* Arguments: grads, scale, found_inf, check. */
bool infer_amp_unscale(gp_call *c, gp_meta *m) {
    if (!check_lists(c, m) || !one_element(c, 1, GP_f32) || !one_element(c, 2, GP_f32))
        return false;
    c->arg[0].written = !c->arg[3].i;
    c->arg[2].written = true;
    for (int k = 0; !c->arg[3].i && k < c->arg[0].n; k++)
        if (gp_dtype_size((gp_dtype)c->arg[0].list[k]->a.dtype) < sizeof(float))
            return gp_fail("amp_unscale: gradient %d is %s: divided by the scale in 16 bits, small "
                           "elements would become 0; leave it to the optimizer's step, which "
                           "divides in f32",
                           k + 1, gp_dtype_name((gp_dtype)c->arg[0].list[k]->a.dtype));
    return true;
}

/* Arguments: state, found_inf, growth_factor, backoff_factor, growth_interval. */
bool infer_amp_update_scale(gp_call *c, gp_meta *m) {
    char text[160];
    if (!check_lists(c, m) || !one_element(c, 1, GP_f32)) return false;
    if (c->arg[0].n != 2)
        return gp_fail("amp_update_scale: argument 'state' has %d tensors (expected scale and "
                       "growth_tracker)",
                       c->arg[0].n);
    for (int k = 0; k < 2; k++)
        if (c->arg[0].list[k]->a.dtype != GP_f32 || c->arg[0].list[k]->a.numel != 1)
            return gp_fail("amp_update_scale: tensor %d of argument 'state' is %s (expected one "
                           "element of f32)",
                           k + 1, gp_tensor_text(c->arg[0].list[k], text, sizeof text));
    return true;
}

bool infer_clip_grad_value(gp_call *c, gp_meta *m) { return check_lists(c, m); }

/* The norm is f32, or f64 if any gradient is. */
bool infer_clip_grad_norm(gp_call *c, gp_meta *m) {
    if (!check_lists(c, m)) return false;
    if (!(c->arg[2].f > 0))
        return gp_fail("clip_grad_norm: argument 'norm_type' is %g (expected a number above 0, or "
                       "math.huge for the largest element)",
                       c->arg[2].f);
    m->n = 1;
    m->out[0].dtype = GP_f32;
    m->out[0].shape.ndim = 0;
    for (int k = 0; k < c->arg[0].n; k++)
        if (c->arg[0].list[k]->a.dtype == GP_f64) m->out[0].dtype = GP_f64;
    return true;
}
