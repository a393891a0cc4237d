/* Gradients of libraries' ops: by another op of the table, or by a function of the library's that
 * composes them of such. Either way backward runs rows, so that gradients are on every device, and
 * may have gradients themselves. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tensor/call.h"
#include "tensor/ops/extension/extension.h"

static gpush_value *value(gp_tensor *t) { return (gpush_value *)t; }
static gp_tensor *tensor(gpush_value *v) { return (gp_tensor *)v; }

/* Whether t can be the gradient of argument a: it is of floats, and its shape is the argument's, or
 * is one that the argument was broadcast to. */
static bool check_gradient(const gp_vjp *v, const gp_extension *e, int a, const gp_tensor *t) {
    const gp_input *in = &v->node->in[gp_input_of(v, a)];
    gp_shape have = gp_tensor_shape(t);
    char got[160], want[160];
    int more = have.ndim - in->shape.ndim;
    bool ok = more >= 0 && gp_is_float((gp_dtype)t->a.dtype);
    for (int d = 0; ok && d < in->shape.ndim; d++)
        ok = in->shape.dim[d] == 1 || in->shape.dim[d] == have.dim[more + d];
    if (ok) return true;
    return gp_fail("backward: %s: library '%s' gives argument '%s', of shape %s, a gradient that "
                   "is %s %s",
                   e->op.name, e->library, e->sig.p[a].name,
                   gp_shape_text(&in->shape, want, sizeof want),
                   gp_dtype_name((gp_dtype)t->a.dtype), gp_shape_text(&have, got, sizeof got));
}

/* ---- by an op ---- */

/* Appends argument a of the forward call. */
static bool add_argument(gp_vjp *v, gp_call *c, int a) {
    const gp_value *from = &v->node->arg[a];
    if (!gp_has(v, a)) gp_call_none(c);
    else if (from->kind == GP_INTS) gp_call_ints(c, v->node->ints + from->i, from->n);
    else if (from->kind == GP_TENSOR) gp_call_tensor(c, v->x[from->i]);
    else c->arg[c->nargs++] = *from;
    return true;
}

static bool by_op(gp_vjp *v, const gp_extension *e) {
    gp_call c;
    gp_call_begin(&c, e->derivative);
    for (int i = 0; i < v->node->nout; i++) gp_call_tensor(&c, gp_g(v, i));
    for (int a = 0; a < e->sig.n; a++) add_argument(v, &c, a);
    for (int i = 0; i < v->node->nout; i++) gp_call_tensor(&c, v->y[i]);
    if (v->failed || !gp_op_run(&c)) return false;
    for (int i = 0; i < c.nout; i++) gp_keep(v, c.out[i]);
    for (int a = 0, k = 0; !v->failed && a < e->sig.n; a++) {
        int type = e->sig.p[a].type;
        if (type != GP_SIG_tensor && type != GP_SIG_operand) continue;
        gp_tensor *t = c.out[k++];
        if (gp_needs(v, a) && !check_gradient(v, e, a, t)) return false;
        gp_give(v, a, t);
    }
    return !v->failed;
}

/* ---- by a function ---- */

typedef struct work {
    gpush_gradient g; /* first: the library gives it back */
    gp_vjp *v;
    const gp_extension *e;
    bool failed; /* a message is set */
    gpush_arg arg[GP_MAX_ARGS];
    gpush_tensor shape[GP_MAX_ARGS];
    uint8_t wanted[GP_MAX_ARGS];
    gpush_value *x[GP_MAX_ARGS], *dx[GP_MAX_ARGS], *y[GP_MAX_OUT], *dy[GP_MAX_OUT];
} work;

int gp_extension_fail_gradient(gpush_gradient *g, const char *format, ...) {
    work *w = (work *)g;
    char text[512];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (!w->failed) gp_fail("backward: %s: %s", w->e->op.name, text);
    w->failed = true;
    return -1;
}

/* The number in an operand's place as a tensor, which v keeps. */
static gp_tensor *number(gp_vjp *v, const gp_value *a) {
    const gp_output *o = &v->node->out[0];
    gp_call c;
    gp_call_begin(&c, GP_OP(full));
    gp_call_ints(&c, &(int64_t){0}, 0);
    gp_call_number(&c, gp_value_scalar(a));
    c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = o->dtype};
    c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = o->dev};
    return gp_keep(v, gp_call_one(&c));
}

static void set_argument(work *w, int a) {
    const gp_node *n = w->v->node;
    const gp_value *from = &n->arg[a];
    int i = gp_input_of(w->v, a);
    w->arg[a] = (gpush_arg){.kind = GPUSH_NONE};
    if (!gp_has(w->v, a)) return;
    if (from->kind == GP_LIST) {
        w->arg[a] = (gpush_arg){.kind = GPUSH_TENSORS, .n = from->n};
        for (int k = 0; k < from->n; k++)
            if (w->v->need[from->i + k]) w->failed = true;
        if (w->failed)
            gp_fail("backward: %s: tensors in a list, as '%s', have no gradients: detach them",
                    w->e->op.name, w->e->sig.p[a].name);
        return;
    }
    if (i < 0) {
        w->arg[a] = gp_extension_arg(from, n->ints);
        if (w->e->sig.p[a].type == GP_SIG_operand) w->x[a] = value(number(w->v, from));
        return;
    }
    const gp_input *in = &n->in[i];
    w->shape[a] = (gpush_tensor){
        .numel = 1, .size = in->shape.dim, .ndim = in->shape.ndim, .dtype = in->dtype, .step = 1};
    for (int d = 0; d < in->shape.ndim; d++) w->shape[a].numel *= in->shape.dim[d];
    w->arg[a] = (gpush_arg){.kind = GPUSH_TENSOR, .n = 1, .tensor = &w->shape[a]};
    w->x[a] = value(w->v->x[i]);
    w->wanted[a] = w->v->need[i];
}

static bool by_function(gp_vjp *v, const gp_extension *e) {
    work w = {.v = v, .e = e};
    for (int a = 0; a < e->sig.n && !w.failed; a++) set_argument(&w, a);
    if (w.failed) return false;
    for (int i = 0; i < v->node->nout; i++) {
        w.y[i] = value(v->y[i]);
        w.dy[i] = value(gp_g(v, i));
    }
    if (v->failed) return false;
    w.g = (gpush_gradient){.nargs = e->sig.n,
                           .nresults = v->node->nout,
                           .arg = w.arg,
                           .x = w.x,
                           .y = w.y,
                           .dy = w.dy,
                           .wanted = w.wanted,
                           .dx = w.dx,
                           .gpush = &gp_extension_functions};
    int status = e->row.gradient(&w.g);
    if (w.failed || v->failed) return false;
    if (status)
        return gp_fail("backward: %s: its gradient returned %d without a message (library '%s')",
                       e->op.name, status, e->library);
    for (int a = 0; a < e->sig.n; a++) {
        if (!w.wanted[a]) continue;
        if (!w.dx[a])
            return gp_fail("backward: %s: its gradient gives argument '%s' none (library '%s')",
                           e->op.name, e->sig.p[a].name, e->library);
        if (!check_gradient(v, e, a, tensor(w.dx[a]))) return false;
        gp_give(v, a, tensor(w.dx[a]));
    }
    return true;
}

/* ---- gpush_run ---- */

/* Appends one argument, as its letter says; false where a tensor is NULL. */
static bool add(gp_call *c, char letter, va_list *ap) {
    gp_value *v = &c->arg[c->nargs];
    switch (letter) {
    case 't': gp_call_tensor(c, tensor(va_arg(*ap, gpush_value *))); return v->kind == GP_TENSOR;
    case 'i': gp_call_int(c, va_arg(*ap, int64_t)); return true;
    case 'n': *v = (gp_value){.kind = GP_NUMBER, .is_float = true, .f = va_arg(*ap, double)}; break;
    case 'b': *v = (gp_value){.kind = GP_BOOL, .i = va_arg(*ap, int) != 0}; break;
    case 'd': *v = (gp_value){.kind = GP_DTYPE, .i = va_arg(*ap, int)}; break;
    case 's': *v = (gp_value){.kind = GP_STR, .s = va_arg(*ap, const char *)}; break;
    case 'l':
        *v = (gp_value){.kind = GP_LIST, .list = (gp_tensor **)va_arg(*ap, gpush_value **)};
        v->n = va_arg(*ap, int);
        for (int i = 0; i < v->n; i++)
            if (!v->list[i]) return false;
        break;
    case 'v': {
        const int64_t *ints = va_arg(*ap, const int64_t *);
        int n = va_arg(*ap, int);
        if (n < 0 || n > GP_MAX_INTS - c->nints) n = 0;
        gp_call_ints(c, n ? ints : &(int64_t){0}, n);
        return true;
    }
    default: *v = (gp_value){.kind = GP_NONE}; break;
    }
    c->nargs++;
    return true;
}

/* Makes the value just appended the one that p takes: numbers are converted to its kind. */
static bool settle(gp_call *c, const gp_param *p) {
    gp_value *v = &c->arg[c->nargs - 1];
    if (v->kind == GP_NONE) {
        c->nargs--;
        gp_call_default(c, p);
        return p->optional || p->has_default;
    }
    bool is_float = v->kind == GP_NUMBER;
    double f = is_float ? v->f : (double)v->i;
    if (p->type == GP_SIG_float && (v->kind == GP_INT || is_float))
        *v = (gp_value){.kind = GP_FLOAT, .f = f};
    else if ((p->type == GP_SIG_number || p->type == GP_SIG_operand) && v->kind == GP_INT)
        *v = (gp_value){.kind = GP_NUMBER, .i = v->i};
    return gp_call_takes(p, v);
}

static bool read_call(work *w, gp_call *c, const gp_sig *sig, const char *format, va_list *ap) {
    for (int i = 0; i < sig->n; i++) {
        const gp_param *p = &sig->p[i];
        char letter = *format ? *format++ : '-';
        if (!add(c, letter, ap)) {
            gp_extension_fail_gradient(&w->g,
                                       "its gradient gives %s a tensor that it does not have "
                                       "as argument '%s'",
                                       c->op->name, p->name);
            return false;
        }
        if (!settle(c, p)) {
            gp_extension_fail_gradient(&w->g, "its gradient gives argument '%s' of %s as '%c'",
                                       p->name, c->op->name, letter);
            return false;
        }
    }
    if (!*format) return true;
    gp_extension_fail_gradient(&w->g, "its gradient gives %s more arguments than %d", c->op->name,
                               sig->n);
    return false;
}

gpush_value *gp_extension_do(gpush_gradient *g, const char *op, const char *format, ...) {
    work *w = (work *)g;
    gp_call c;
    gp_sig sig;
    va_list ap;
    const gp_op *row = gp_op_find(op);
    if (w->failed || w->v->failed) return NULL;
    if (!row || !*row->sig)
        return gp_extension_fail_gradient(g, "its gradient runs '%s', which is no row", op), NULL;
    gp_call_begin(&c, row);
    if (!gp_sig_parse(row->sig, &sig)) return w->failed = true, NULL;
    va_start(ap, format);
    bool ok = read_call(w, &c, &sig, format, &ap);
    va_end(ap);
    if (!ok) return w->failed |= w->v->failed, NULL;
    if (!gp_op_run(&c)) return w->failed = true, NULL;
    for (int i = 0; i < c.nout; i++) gp_keep(w->v, c.out[i]);
    return w->v->failed || !c.nout ? NULL : value(c.out[0]);
}

/* ---- the rule ---- */

static bool gradient(gp_vjp *v) {
    const gp_extension *e = gp_extension_of(v->node->op);
    return e->derivative ? by_op(v, e) : by_function(v, e);
}
const gp_rule vjp_extension = {gradient, "*y"};

static bool missing(gp_vjp *v) {
    const gp_extension *e = gp_extension_of(v->node->op);
    return gp_fail("backward: %s has no gradient: library '%s' gives none", e->op.name, e->library);
}
const gp_rule gp_rule_missing = {missing, NULL};
