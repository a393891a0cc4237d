/* Writing backward functions: the arguments of a vjp, and ops by short format strings. */
#ifndef GP_GRAD_H
#define GP_GRAD_H

#include "tensor/autograd/tape.h"

/* One backward step. fn reads g (a gradient for each output, NULL where none came), x and y (what
 * the rule saves), and sets dx[i] where need[i]. A gradient may be larger than the input by
 * broadcasting, and of another float dtype: the caller sums and converts. All tensors that the
 * functions below return are borrowed: they live until fn is done. They return NULL with a message,
 * and accept NULL for failed operands, so fn need only check at the end. */
enum { GP_POOL = 32 };
struct gp_vjp {
    gp_node *node;
    const gp_value *arg; /* as the user gave them; see gp_vjp_arg */
    gp_tensor *g[GP_MAX_OUT];
    gp_tensor **x, *y[GP_MAX_OUT];
    gp_tensor **dx;
    bool *need;
    bool failed;
    int npool, cap;
    gp_tensor **pool; /* used first, until it is full */
    gp_tensor *first[GP_POOL];
};

/* Runs an op. fmt has a letter for each argument: t tensor, l list (gp_tensor **, int), i int64_t,
 * n double (a number operand), f double (a float), b int (bool), v ints (const int64_t *, int), d
 * dtype (int), s string, o tensor or NULL for none, a the forward's argument of that number (int;
 * not a list of tensors), - absent. */
gp_tensor *gp_do(gp_vjp *v, const gp_op *op, const char *fmt, ...);
/* The same in place: writes `into`. */
gp_tensor *gp_do_in(gp_vjp *v, gp_tensor *into, const gp_op *op, const char *fmt, ...);
/* The same; out gets all outputs. */
bool gp_do_all(gp_vjp *v, gp_tensor **out, const gp_op *op, const char *fmt, ...);
#define DO(op, ...) gp_do(v, GP_OP(op), __VA_ARGS__)

/* Keeps t until the step is done: takes over the reference. Returns t. */
gp_tensor *gp_keep(gp_vjp *v, gp_tensor *t);

/* Zeros of the shape, dtype and device of input i. */
gp_tensor *gp_zeros_like_input(gp_vjp *v, int i);
/* Zeros of shape s, of the dtype and device of input i. */
gp_tensor *gp_zeros_shaped(gp_vjp *v, const gp_shape *s, int i);
/* 1, 2 … n as i64 on dev. */
gp_tensor *gp_count_to(gp_vjp *v, int64_t n, gp_device *dev);
/* The gradient of output i, zeros if none came. */
gp_tensor *gp_g(gp_vjp *v, int i);
/* t summed to shape s: the backward of broadcasting. */
gp_tensor *gp_sum_to(gp_vjp *v, gp_tensor *t, const gp_shape *s);
/* t in shape s. */
gp_tensor *gp_reshape(gp_vjp *v, gp_tensor *t, const gp_shape *s);
gp_tensor *gp_expand(gp_vjp *v, gp_tensor *t, const gp_shape *s);
/* t with dims a and b (from the end: 1 is the last) exchanged; conj is not needed. */
gp_tensor *gp_mT(gp_vjp *v, gp_tensor *t);

/* Argument i of the forward call: given, as integer, float (with its default filled in). */
static inline bool gp_has(const gp_vjp *v, int i) {
    return i < v->node->nargs && v->node->arg[i].kind != GP_NONE;
}
static inline int64_t gp_int_arg(const gp_vjp *v, int i) { return v->node->arg[i].i; }
static inline double gp_float_arg(const gp_vjp *v, int i) {
    const gp_value *a = &v->node->arg[i];
    return a->kind == GP_FLOAT || a->is_float ? a->f : (double)a->i;
}
static inline const int64_t *gp_ints_arg(const gp_vjp *v, int i, int *n) {
    *n = v->node->arg[i].n;
    return v->node->ints + v->node->arg[i].i;
}
/* The input that argument a is, by number; -1 where it is not a tensor. */
static inline int gp_input_of(const gp_vjp *v, int a) {
    return gp_has(v, a) && v->node->arg[a].kind == GP_TENSOR ? (int)v->node->arg[a].i : -1;
}
/* The saved tensor of argument a; NULL where it has none. */
static inline gp_tensor *gp_saved(const gp_vjp *v, int a) {
    int i = gp_input_of(v, a);
    return i < 0 ? NULL : v->x[i];
}
/* Whether argument a is an input that needs a gradient. */
static inline bool gp_needs(const gp_vjp *v, int a) {
    int i = gp_input_of(v, a);
    return i >= 0 && v->need[i];
}
/* Sets the gradient of argument a where it needs one. */
static inline void gp_give(gp_vjp *v, int a, gp_tensor *g) {
    if (gp_needs(v, a)) v->dx[gp_input_of(v, a)] = g;
}
/* Shape of input i. */
static inline const gp_shape *gp_in_shape(const gp_vjp *v, int i) { return &v->node->in[i].shape; }
/* The (0-based) dim in argument a for an input with ndim dims; the forward has checked it. */
int gp_dim_arg(const gp_vjp *v, int a, int ndim);

/* Rules of elementwise rows and reductions, made from their formulas, and of the ops that these
 * formulas define. */
extern const gp_rule gp_rule_elementwise, gp_rule_reduce, gp_rule_formula;
/* Of rows whose results have no gradient, because they are integers, bools or new tensors, or are
 * written in place while nothing is recorded; and of rows that only backward runs, which fail with
 * a message when differentiated, as their ops compose a second derivative. */
extern const gp_rule gp_rule_none, gp_rule_once;
/* Rules for a write through a view into its base, and for a view of a written base (tape.c uses
 * them). */
extern const gp_rule gp_rule_slice_write;

/* Every row that says vjp has its rule in its family's file of tensor/ops, with a case in
 * tests/tensor/autograd/autograd.lua. */
#define VIEW(n, ...) extern const gp_rule vjp_##n;
#define RANDOM(n, ...) extern const gp_rule vjp_##n;
#define CUSTOM(n, ...) extern const gp_rule vjp_##n;
#include "tensor/ops/table/ops.def"

/* ---- backward.c ---- */

typedef struct gp_backward_opts {
    bool retain, create;      /* keep the tape; record the backward as well */
    gp_tensor *const *inputs; /* the tensors whose gradients are wanted, or NULL: all leaves */
    gp_tensor **out;          /* their gradients: new references, NULL where none came */
    int ninputs;
} gp_backward_opts;
/* Computes the gradients of roots (each times grads[i], or 1 for a NULL of a one-element root) into
 * the leaves' grad, or into opts->out. False with a message; leaves keep what they had. */
bool gp_backward(gp_tensor *const *roots, gp_tensor *const *grads, int n,
                 const gp_backward_opts *opts);
/* Calls fn once the walk under way on this thread is over, and its gradients are in their leaves;
 * ok: whether it succeeded. Where fn returns false, with a message, gp_backward fails. False, doing
 * nothing, where there is no walk, or another fn. */
bool gp_backward_after(bool (*fn)(void *ctx, bool ok), void *ctx);
/* Whether the walk under way has opts->inputs: leaves keep what they have. */
extern _Thread_local bool gp_grads_separate;
#endif
