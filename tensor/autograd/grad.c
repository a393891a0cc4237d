/* What backward functions are written with: ops by short format strings, and the pool that holds
 * their results until the step is done. */
#include "tensor/autograd/grad.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

gp_tensor *gp_keep(gp_vjp *v, gp_tensor *t) {
    if (!t) return v->failed = true, NULL;
    if (v->npool == v->cap) {
        int cap = 2 * v->cap;
        gp_tensor **more = malloc((size_t)cap * sizeof *more);
        if (!more) return gp_tensor_unref(t), v->failed = true, gp_fail_null("out of memory");
        memcpy(more, v->pool, (size_t)v->npool * sizeof *more);
        if (v->pool != v->first) free(v->pool);
        v->pool = more, v->cap = cap;
    }
    return v->pool[v->npool++] = t;
}

static void add_number(gp_call *c, double x) {
    bool integer = x == floor(x) && fabs(x) < 0x1p53;
    gp_call_number(c,
                   integer ? (gp_scalar){.i = (int64_t)x} : (gp_scalar){.is_float = true, .f = x});
}

/* Appends argument a of the forward call. */
static bool repeat_arg(gp_vjp *v, gp_call *c, int a) {
    const gp_value *from = &v->node->arg[a];
    if (a >= v->node->nargs || from->kind == GP_NONE) gp_call_none(c);
    else if (from->kind == GP_INTS) gp_call_ints(c, v->node->ints + from->i, from->n);
    else if (from->kind == GP_TENSOR) gp_call_tensor(c, v->x[from->i]);
    else c->arg[c->nargs++] = *from;
    return c->arg[c->nargs - 1].kind != GP_LIST;
}

/* Appends one argument; false if it is an operand that could not be made. */
static bool add_arg(gp_vjp *vjp, gp_call *c, char letter, va_list *ap) {
    gp_value *v = &c->arg[c->nargs];
    switch (letter) {
    case 't': gp_call_tensor(c, va_arg(*ap, gp_tensor *)); return v->kind == GP_TENSOR;
    case 'o': gp_call_tensor(c, va_arg(*ap, gp_tensor *)); return true;
    case 'a': return repeat_arg(vjp, c, va_arg(*ap, int));
    case 'l':
        *v = (gp_value){.kind = GP_LIST};
        v->list = va_arg(*ap, gp_tensor **);
        v->n = va_arg(*ap, int);
        for (int i = 0; i < v->n; i++)
            if (!v->list[i]) return false;
        break;
    case 'i': gp_call_int(c, va_arg(*ap, int64_t)); return true;
    case 'n': add_number(c, va_arg(*ap, double)); return true;
    case 'f': *v = (gp_value){.kind = GP_FLOAT, .f = va_arg(*ap, double)}; break;
    case 'b': *v = (gp_value){.kind = GP_BOOL, .i = va_arg(*ap, int)}; break;
    case 'd': *v = (gp_value){.kind = GP_DTYPE, .i = va_arg(*ap, int)}; break;
    case 's': *v = (gp_value){.kind = GP_STR, .s = va_arg(*ap, const char *)}; break;
    case 'v': {
        const int64_t *ints = va_arg(*ap, const int64_t *);
        gp_call_ints(c, ints, va_arg(*ap, int));
        return true;
    }
    default: gp_call_none(c); return true;
    }
    c->nargs++;
    return true;
}

/* fmt: a letter for each argument, see grad.h. After a failure, nothing more runs in this step. */
static bool call_op(gp_vjp *v, gp_call *c, const char *fmt, va_list *ap) {
    if (v->failed) return false;
    for (; *fmt; fmt++)
        if (!add_arg(v, c, *fmt, ap)) return v->failed = true, false;
    for (int i = c->nargs; i < GP_MAX_ARGS; i++) c->arg[i] = (gp_value){.kind = GP_NONE};
    if (!gp_op_run(c)) return v->failed = true, false;
    return true;
}

gp_tensor *gp_do(gp_vjp *v, const gp_op *op, const char *fmt, ...) {
    gp_call c;
    va_list ap;
    gp_call_begin(&c, op);
    va_start(ap, fmt);
    bool ok = call_op(v, &c, fmt, &ap);
    va_end(ap);
    if (!ok) return NULL;
    for (int i = 1; i < c.nout; i++) gp_tensor_unref(c.out[i]);
    return gp_keep(v, c.out[0]);
}

gp_tensor *gp_do_in(gp_vjp *v, gp_tensor *into, const gp_op *op, const char *fmt, ...) {
    gp_call c;
    va_list ap;
    gp_call_begin(&c, op);
    c.into = into;
    va_start(ap, fmt);
    bool ok = into && call_op(v, &c, fmt, &ap);
    va_end(ap);
    return ok ? gp_keep(v, c.out[0]) : NULL;
}

bool gp_do_all(gp_vjp *v, gp_tensor **out, const gp_op *op, const char *fmt, ...) {
    gp_call c;
    va_list ap;
    gp_call_begin(&c, op);
    va_start(ap, fmt);
    bool ok = call_op(v, &c, fmt, &ap);
    va_end(ap);
    for (int i = 0; ok && i < c.nout; i++) out[i] = gp_keep(v, c.out[i]);
    return ok && !v->failed;
}

static bool has_shape(const gp_tensor *t, const gp_shape *s) {
    gp_shape have = gp_tensor_shape(t);
    return gp_shape_equal(&have, s);
}

/* A view would share t's storage, and a leaf keep a copy in place of t. */
gp_tensor *gp_reshape(gp_vjp *v, gp_tensor *t, const gp_shape *s) {
    return t && has_shape(t, s) ? t : DO(reshape, "tv", t, s->dim, s->ndim);
}

gp_tensor *gp_expand(gp_vjp *v, gp_tensor *t, const gp_shape *s) {
    return DO(expand, "tv", t, s->dim, s->ndim);
}

gp_tensor *gp_sum_to(gp_vjp *v, gp_tensor *t, const gp_shape *s) {
    if (!t) return NULL;
    if (has_shape(t, s)) return t;
    gp_shape have = gp_tensor_shape(t);
    int64_t dims[GP_MAX_DIM];
    int n = 0, extra = have.ndim - s->ndim;
    for (int i = 0; i < have.ndim; i++)
        if (i < extra || (s->dim[i - extra] == 1 && have.dim[i] != 1)) dims[n++] = i + 1;
    if (n) t = DO(sum, "tvb", t, dims, n, 1);
    return t ? gp_reshape(v, t, s) : NULL;
}

gp_tensor *gp_mT(gp_vjp *v, gp_tensor *t) {
    return DO(transpose, "tii", t, (int64_t)-1, (int64_t)-2);
}

/* Of shape s, in the pool. */
static gp_tensor *zeros(gp_vjp *v, const gp_shape *s, int dtype, gp_device *dev) {
    gp_call c;
    gp_call_begin(&c, GP_OP(zeros));
    gp_call_ints(&c, s->dim, s->ndim);
    c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = dtype};
    c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = dev};
    return gp_keep(v, gp_call_one(&c));
}

gp_tensor *gp_zeros_like_input(gp_vjp *v, int i) {
    const gp_input *in = &v->node->in[i];
    return zeros(v, &in->shape, in->dtype, in->dev);
}

gp_tensor *gp_zeros_shaped(gp_vjp *v, const gp_shape *s, int i) {
    return zeros(v, s, v->node->in[i].dtype, v->node->in[i].dev);
}

gp_tensor *gp_count_to(gp_vjp *v, int64_t n, gp_device *dev) {
    gp_call c;
    gp_call_begin(&c, GP_OP(range));
    for (int i = 0; i < 3; i++) gp_call_number(&c, (gp_scalar){.i = i == 1 ? n : 1});
    c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = GP_i64};
    c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = dev};
    return gp_keep(v, gp_call_one(&c));
}

gp_tensor *gp_g(gp_vjp *v, int i) {
    const gp_output *o = &v->node->out[i];
    return v->g[i] ? v->g[i] : zeros(v, &o->shape, o->dtype, o->dev);
}

int gp_dim_arg(const gp_vjp *v, int a, int ndim) {
    int dim = 0;
    gp_dim_wrap(v->node->op->name, gp_has(v, a) ? gp_int_arg(v, a) : 1, ndim, &dim);
    return dim;
}

/* ---- rows without a derivative ---- */

const gp_rule gp_rule_none = {NULL, NULL};

static bool once(gp_vjp *v) {
    return gp_fail(
        "backward: %s has no derivative of its own: there are no second derivatives through it",
        v->node->op->name);
}
const gp_rule gp_rule_once = {once, NULL};

/* Derivative columns with a function that is not an op, where the backward is recorded. */
static bool formula(gp_vjp *v) {
    return gp_fail("backward: %s, the derivative of a row of the op table, has no derivative of "
                   "its own: there are no second derivatives through it",
                   v->node->op->name);
}
const gp_rule gp_rule_formula = {formula, NULL};
