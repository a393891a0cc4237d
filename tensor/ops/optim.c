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

static int count_lists(const gp_call *c) {
    int n = 0;
    while (n < c->nargs && (c->arg[n].kind == GP_LIST || c->arg[n].kind == GP_NONE)) n++;
    return n;
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
    if (c->arg[list].kind == GP_NONE) return true;
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
static bool apart(const gp_call *c, int lists) {
    int n = 0;
    piece *p = malloc((size_t)(lists * c->arg[0].n) * sizeof *p);
    if (!p) return gp_fail("out of memory");
    for (int i = 0; i < lists; i++)
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
    int lists = count_lists(c);
    uint32_t writes = gp_list_writes(c->op);
    m->n = 0;
    if (c->arg[0].n == 0) return gp_fail("%s: expected at least one tensor", c->op->name);
    for (int i = 0; i < lists; i++) c->arg[i].written = writes >> i & 1;
    for (int i = 0; i < lists; i++)
        if (!check_list(c, i)) return false;
    return (m->dev = gp_infer_device(c)) && apart(c, lists);
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

bool infer_sgd_step(gp_call *c, gp_meta *m) { return has_buffers(c, 2, 4) && check_lists(c, m); }
bool infer_rmsprop_step(gp_call *c, gp_meta *m) {
    return has_buffers(c, 4, 9) && check_lists(c, m);
}
bool infer_adam_step(gp_call *c, gp_meta *m) { return first_step(c, 5) && check_lists(c, m); }
bool infer_adagrad_step(gp_call *c, gp_meta *m) { return first_step(c, 3) && check_lists(c, m); }
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
