/* The op that runs a program: its shape and dtype rule, and its gradient, which is a program,
 * too. */
#include "tensor/autograd/compose.h"
#include "tensor/autograd/formula.h"
#include "tensor/fuse/program.h"
#include "tensor/infer.h"

#include <math.h>
#include <string.h>

/* Draws the numbers of the random steps: as many counters as single ops would. */
static void draw(gp_call *c, const gp_program *p) {
    if (gp_given(c, 2)) {
        c->seed = (uint64_t)c->arg[2].i, c->counter = (uint64_t)c->arg[3].i;
        return;
    }
    c->seed = gp_generator.seed, c->counter = gp_generator.counter;
    gp_generator.counter += (uint64_t)p->nrandom;
}

/* The shape of all inputs together: gp_program_fits has compared it with the outputs'. */
static bool whole_shape(const gp_call *c, gp_shape *s) {
    gp_tensor *const *x = c->arg[1].list;
    *s = gp_tensor_shape(x[0]);
    for (int i = 1; i < c->arg[1].n; i++) {
        gp_shape one = gp_tensor_shape(x[i]);
        if (!gp_shape_equal(s, &one) && !gp_shape_broadcast(c->name, s, &one)) return false;
    }
    return true;
}

static void fold_shape(const gp_fold *f, gp_shape *s) {
    gp_shape x = *s;
    s->ndim = 0;
    for (int d = 0; d < x.ndim; d++) {
        bool reduced = f->mask >> d & 1;
        if (!reduced || f->keep) s->dim[s->ndim++] = reduced ? 1 : x.dim[d];
    }
}

/* Arguments: the program, its inputs, and for gradients the seed and the counter of the forward. */
bool infer_fused(gp_call *c, gp_meta *m) {
    const gp_program *p = c->arg[0].program;
    gp_shape s;
    if (!(m->dev = gp_infer_device(c)) || !whole_shape(c, &s)) return false;
    if (p->fold.op && p->fold.op->picks)
        for (int d = 0; d < s.ndim; d++)
            if (p->fold.mask >> d & 1 && s.dim[d] == 0)
                return gp_fail("%s: no elements to compare: a reduced dim has size 0",
                               p->fold.op->name);
    if (p->fold.op) fold_shape(&p->fold, &s);
    m->n = p->nout;
    for (int i = 0; i < m->n; i++) {
        m->out[i].shape = s;
        m->out[i].dtype =
            (gp_dtype)(p->fold.op ? p->fold.dtype : p->step[p->out[i] - p->ninputs].dtype);
    }
    if (p->nrandom) draw(c, p);
    return true;
}

/* ---- gradient ---- */

/* A derivative row composed of ops, as backward composes it where it is recorded. */
static gp_tensor *compose(void *ctx, const gp_step *s, const gp_value *arg) {
    gp_vjp *v = ctx;
    gp_formula_vars vars = {.n = 0};
    unsigned mentioned = gp_formula_variables(s->op);
    if (!gp_formula_composes(s->op->formula)) {
        gp_call c;
        gp_call_begin(&c, s->op);
        memcpy(c.arg, arg, s->nargs * sizeof *arg);
        c.nargs = s->nargs;
        return gp_call_one(&c);
    }
    for (int i = 0; i < s->nin; i++)
        if (!i || mentioned >> i & 1) gp_formula_set(&vars, s->op->vars[i], arg[i]);
    for (int i = s->nin, k = 0; k < 3; i++, k++) {
        bool given = i < s->nargs && arg[i].kind != GP_NONE;
        gp_value limit = {.kind = GP_FLOAT, .f = k ? INFINITY : -INFINITY};
        gp_formula_set(&vars, "pqr"[k], given ? arg[i] : limit);
    }
    gp_tensor *t = gp_formula(v, s->op->formula, &vars);
    return t ? gp_tensor_ref(t) : NULL;
}

/* t, of the shape of a reduction's result, with the reduced dims as size 1; *n: elements that each
 * was made of. */
static gp_tensor *kept(gp_vjp *v, const gp_fold *f, const gp_shape *s, gp_tensor *t, double *n) {
    gp_shape shape = *s;
    *n = 1;
    for (int d = 0; d < s->ndim; d++)
        if (f->mask >> d & 1) *n *= (double)s->dim[d], shape.dim[d] = 1;
    return gp_reshape(v, t, &shape);
}

/* g, the gradient of a reduction's result, as that of each element: of the reduced dims' size 1. */
static gp_tensor *unfolded(gp_vjp *v, const gp_program *p, const gp_shape *s, gp_tensor *g) {
    const gp_fold *f = &p->fold;
    double n;
    g = kept(v, f, s, g, &n);
    const gp_op *d = &gp_ops[f->op->grad];
    if (!strcmp(d->formula, "g") || gp_fold_reads(f)) return g;
    if (!gp_no_grad) {
        gp_formula_vars vars = {.n = 0};
        gp_formula_set(&vars, 'g', (gp_value){.kind = GP_TENSOR, .t = g});
        gp_formula_set(&vars, 'n', (gp_value){.kind = GP_FLOAT, .f = n});
        return g ? gp_formula(v, d->formula, &vars) : NULL;
    }
    return gp_do(v, d, "tttttn", g, g, g, g, g, n);
}

/* The shape that the program runs over. */
static bool run_shape(gp_vjp *v, gp_shape *s) {
    s->ndim = 0;
    for (int i = 0; i < v->node->nin; i++)
        if (!gp_shape_broadcast("fused", s, gp_in_shape(v, i))) return false;
    return true;
}

static gp_tensor *run_one(gp_vjp *v, gp_program *p, gp_tensor *const *in) {
    gp_tensor *y;
    return p && gp_program_run(p, in, &y, NULL) ? gp_keep(v, y) : NULL;
}

/* How many elements equal the result y. It does not change with them: nothing is recorded. */
static gp_tensor *ties(gp_vjp *v, gp_program *p, gp_tensor *const *x, gp_tensor *y) {
    gp_tensor *in[GP_PROGRAM_INPUTS];
    memcpy(in, x, (size_t)p->ninputs * sizeof *in);
    in[p->ninputs] = y;
    gp_no_grad++;
    gp_tensor *m = y ? run_one(v, gp_program_ties(p), in) : NULL;
    m = DO(to, "t-d", m, y ? (int)y->a.dtype : GP_f32);
    gp_no_grad--;
    return m;
}

/* Adds what the derivative of the reduction reads to in, which has x and g; or replaces g by g y,
 * to be divided by each element. */
static bool add_read(gp_vjp *v, gp_program *p, const gp_shape *s, gp_tensor **in, bool *divides) {
    const gp_fold *f = &p->fold;
    unsigned reads = gp_fold_reads(f);
    int n = p->ninputs + 1;
    double count;
    gp_tensor *g = in[p->ninputs], *y = NULL, *gy;
    if (f->op->by_quotient && f->mask && gp_may_divide(g)) {
        y = kept(v, f, s, run_one(v, p, in), &count);
        if ((gy = gp_dividend(v, y, g))) return in[p->ninputs] = gy, *divides = true;
    }
    if (reads & (GP_READS_RESULT | GP_READS_TIES)) y = kept(v, f, s, v->y[0], &count);
    if (reads & GP_READS_RESULT) in[n++] = y;
    if (reads & GP_READS_TIES) in[n++] = ties(v, p, in, y);
    if (reads & GP_READS_OTHERS)
        in[n++] = gp_others(v, run_one(v, gp_program_values(p), in), f->mask);
    for (int i = p->ninputs; i < n; i++)
        if (!in[i]) return false;
    return !v->failed;
}

/* Sets the inputs of the derivative, x and then g; and which gradients are given. */
static bool inputs(gp_vjp *v, gp_program *p, const gp_shape *s, gp_tensor **in, uint32_t *have,
                   bool *divides) {
    int n = p->ninputs;
    *have = 0;
    memcpy(in, v->x, (size_t)n * sizeof *in);
    for (int i = 0; i < p->nout; i++) {
        gp_tensor *g = v->g[i];
        if (!g) continue;
        *have |= 1u << i;
        int dt = p->step[p->out[i] - p->ninputs].dtype;
        bool narrow = gp_dtype_sizes[g->a.dtype] < gp_dtype_sizes[dt]; /* its quotient by n, too */
        if (narrow && !(g = DO(to, "t-d", g, dt))) return false;
        if (p->fold.op && !(g = unfolded(v, p, s, g))) return false;
        if (g->a.dtype != dt && !(g = DO(to, "t-d", g, dt))) return false;
        in[n++] = g;
    }
    return !*have || !gp_fold_reads(&p->fold) || add_read(v, p, s, in, divides);
}

static bool run_part(gp_vjp *v, const struct gp_derivative_part *part, gp_tensor *const *in,
                     const gp_rng *rng) {
    gp_tensor *at[GP_PROGRAM_INPUTS], *out[GP_MAX_OUT];
    for (int i = 0; i < part->p->ninputs; i++) at[i] = in[part->used[i]];
    if (!gp_program_run(part->p, at, out, rng)) return false;
    for (int i = 0; i < part->p->nout; i++) v->dx[part->dx[i]] = gp_keep(v, out[i]);
    return !v->failed;
}

static bool run_whole(gp_vjp *v, const gp_derivative *d, gp_tensor *const *in, const gp_rng *rng) {
    gp_tensor *at[GP_PROGRAM_INPUTS], *out[GP_PROGRAM_OUTS];
    if (!d->whole) return true;
    for (int i = 0; i < d->whole->ninputs; i++) at[i] = in[d->used[i]];
    if (!gp_program_run_steps(d->whole, at, out, rng, compose, v)) return false;
    for (int i = 0; i < d->whole->nout; i++) gp_keep(v, out[i]);
    for (int i = 0; i < v->node->nin; i++)
        if (d->at[i] >= 0) v->dx[i] = out[d->at[i]];
    return !v->failed;
}

/* t in shape s; itself where it has it: of a view, backward would make a copy. */
static gp_tensor *expanded(gp_vjp *v, gp_tensor *t, const gp_shape *s) {
    gp_shape has = gp_tensor_shape(t);
    return gp_shape_equal(&has, s) ? t : gp_expand(v, t, s);
}

static bool fused(gp_vjp *v) {
    gp_program *p = v->arg[0].program;
    gp_tensor *in[GP_PROGRAM_INPUTS + GP_MAX_OUT];
    gp_shape s;
    uint32_t need = 0, have;
    bool divides = false;
    for (int i = 0; i < v->node->nin; i++) need |= (uint32_t)v->need[i] << i;
    if (!run_shape(v, &s) || !inputs(v, p, &s, in, &have, &divides)) return false;
    const gp_derivative *d = gp_program_derivative(p, need, have, divides);
    if (!d) return false;
    gp_rng rng = {v->node->seed, v->node->counter};
    bool ok = true;
    if (!gp_no_grad) ok = run_whole(v, d, in, &rng);
    else
        for (int i = 0; ok && i < d->nparts; i++) ok = run_part(v, &d->part[i], in, &rng);
    for (int i = 0, k = p->ninputs, at[GP_MAX_OUT]; ok && i < v->node->nin; i++) {
        for (int o = 0, n = k; o < p->nout; o++) at[o] = have >> o & 1 ? n++ : -1;
        if (d->same[i] >= 0) v->dx[i] = in[at[d->same[i]]];
        if (d->like[i] >= 0) v->dx[i] = v->dx[d->like[i]];
        if (v->dx[i] && p->fold.op) ok = (v->dx[i] = expanded(v, v->dx[i], &s)) != NULL;
    }
    return ok && !v->failed;
}
const gp_rule vjp_fused = {fused, "*"};

/* Of some reductions the result is saved, too. */
static void keep(gp_node *n, gp_program *p) {
    static const gp_rule with_result = {fused, "*y"};
    n->ctx = gp_program_ref(p), n->drop = gp_program_unref;
    if (gp_fold_reads(&p->fold) & (GP_READS_RESULT | GP_READS_TIES)) n->rule = &with_result;
}
__attribute__((constructor)) static void register_keep(void) { gp_keep_program = keep; }
