/* The gradients of a program's inputs as programs: the steps again, then the derivative rows of
 * each in reverse order, added up in the order in which backward would. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/autograd/tape.h"
#include "tensor/fuse/program.h"

typedef struct writer {
    const gp_program *p;
    gp_draft d;
    uint32_t need;
    bool full;                                       /* the draft's limits are reached */
    bool divides;                                    /* as in gp_derivative */
    int first[GP_MAX_OUT];                           /* the draft's inputs for gradients, or -1 */
    int value[GP_PROGRAM_INPUTS + GP_PROGRAM_STEPS]; /* the draft's values by p's */
    int grad[GP_PROGRAM_INPUTS + GP_PROGRAM_STEPS];  /* gradients so far; -1 */
} writer;

static gp_value of_value(int v) { return (gp_value){.kind = GP_TENSOR, .i = v}; }

static int step(writer *w, const gp_op *op, gp_dtype compute, gp_dtype dt, int nin, int nargs,
                const gp_value *arg) {
    int v = w->full ? -1 : gp_draft_step(&w->d, op, compute, dt, nin, nargs, arg);
    if (v < 0) w->full = true;
    return v;
}

/* v as dtype dt. */
static int converted(writer *w, int v, gp_dtype dt) {
    if (w->full || gp_draft_dtype(&w->d, v) == dt) return v;
    gp_value arg[3] = {of_value(v), {.kind = GP_NONE}, {.kind = GP_DTYPE, .i = dt}};
    return step(w, GP_OP(to), dt, dt, 1, 3, arg);
}

/* Repeats p's steps. One that draws random numbers draws those of the forward again. */
static void repeat(writer *w) {
    const gp_program *p = w->p;
    for (int k = 0; k < p->nsteps && !w->full; k++) {
        const gp_step *s = &p->step[k];
        gp_value arg[GP_PROGRAM_ARGS];
        for (int i = 0; i < s->nargs; i++)
            arg[i] = s->arg[i].kind == GP_TENSOR ? of_value(w->value[s->arg[i].i]) : s->arg[i];
        bool draws = s->op->fuses == GP_FUSE_DROP;
        const gp_op *op = draws ? GP_OP(dropout_grad) : s->op;
        int v = step(w, op, (gp_dtype)s->compute, (gp_dtype)s->dtype, s->nin, s->nargs, arg);
        w->value[p->ninputs + k] = v;
        if (draws && v >= 0) w->d.step[w->d.nsteps - 1].random = s->random;
    }
}

static gp_dtype dtype_of(const gp_program *p, int v) {
    return (gp_dtype)(v < p->ninputs ? p->dtype[v] : p->step[v - p->ninputs].dtype);
}

/* Adds g to the gradient of p's value v, in v's dtype. */
static void give(writer *w, int v, int g) {
    gp_dtype dt = dtype_of(w->p, v);
    g = converted(w, g, dt);
    if (w->full) return;
    gp_value arg[2] = {of_value(w->grad[v]), of_value(g)};
    w->grad[v] = w->grad[v] < 0 ? g : step(w, GP_OP(add), dt, dt, 2, 2, arg);
}

/* Operand number i - 1 of s, or its result, as a derivative of dtype dt reads it. */
static gp_value variable(writer *w, int k, int i, gp_dtype dt) {
    const gp_step *s = &w->p->step[k];
    if (i <= s->nin && s->arg[i - 1].kind != GP_TENSOR) return s->arg[i - 1];
    int v = i > s->nin ? w->p->ninputs + k : (int)s->arg[i - 1].i;
    return of_value(converted(w, w->value[v], dt));
}

/* The gradient of operand `of` of step k by its row's derivative. */
static void derive(writer *w, int k, int of) {
    const gp_step *s = &w->p->step[k];
    const gp_op *d = &gp_ops[s->op->grad + of];
    int g = w->grad[w->p->ninputs + k], v = (int)s->arg[of].i, n = 0;
    gp_dtype dt = gp_draft_dtype(&w->d, g);
    gp_value arg[GP_PROGRAM_ARGS];
    if (!strcmp(d->formula, "g")) {
        give(w, v, g);
        return;
    }
    unsigned mentioned = gp_formula_variables(d);
    for (int i = 0; i < d->ntensors && !w->full; i++)
        arg[n++] = i && mentioned >> i & 1 ? variable(w, k, i, dt) : of_value(g);
    for (int i = s->nin; i < s->nargs; i++) arg[n++] = s->arg[i];
    g = step(w, d, dt, dt, d->ntensors, n, arg);
    if (!w->full) give(w, v, g);
}

/* Of `where`: g where the condition is as the operand asks, 0 elsewhere. */
static void derive_where(writer *w, int k, int of) {
    const gp_step *s = &w->p->step[k];
    int g = w->grad[w->p->ninputs + k];
    gp_dtype dt = gp_draft_dtype(&w->d, g);
    gp_value zero = {.kind = GP_NUMBER}, arg[3] = {of_value(w->value[s->arg[0].i])};
    arg[of] = of_value(g), arg[3 - of] = zero;
    g = step(w, GP_OP(where), dt, dt, 3, 3, arg);
    if (!w->full) give(w, (int)s->arg[of].i, g);
}

static void derive_drop(writer *w, int k) {
    const gp_step *s = &w->p->step[k];
    int g = w->grad[w->p->ninputs + k];
    gp_dtype dt = gp_draft_dtype(&w->d, g);
    gp_value arg[3] = {of_value(g), s->arg[1], s->arg[2]};
    g = step(w, GP_OP(dropout_grad), dt, dt, 1, 3, arg);
    if (w->full) return;
    w->d.step[w->d.nsteps - 1].random = s->random;
    give(w, (int)s->arg[0].i, g);
}

static void derive_step(writer *w, int k, const bool *wanted) {
    const gp_step *s = &w->p->step[k];
    gp_fuse_form form = (gp_fuse_form)s->op->fuses;
    for (int i = 0; i < s->nin && !w->full; i++) {
        if (s->arg[i].kind != GP_TENSOR || !wanted[s->arg[i].i]) continue;
        if (form == GP_FUSE_WHERE && i > 0) derive_where(w, k, i);
        if (form == GP_FUSE_DROP) derive_drop(w, k);
        if (form == GP_FUSE_CONVERT) give(w, (int)s->arg[0].i, w->grad[w->p->ninputs + k]);
        if (!form && i < s->op->ngrads) derive(w, k, i);
    }
}

unsigned gp_fold_reads(const gp_fold *f) {
    return f->op ? gp_formula_variables(&gp_ops[f->op->grad]) & 0x1e : 0;
}

/* The gradient of each element that is reduced, from that of the result, g. */
static int unfold(writer *w, int g) {
    const gp_op *d = &gp_ops[w->p->fold.op->grad];
    unsigned reads = gp_fold_reads(&w->p->fold);
    gp_dtype dt = dtype_of(w->p, w->p->out[0]);
    gp_value x = of_value(w->value[w->p->out[0]]), arg[GP_PROGRAM_ARGS];
    if (w->divides) return step(w, GP_OP(div), dt, dt, 2, 2, (gp_value[]){of_value(g), x});
    for (int i = 0; i < d->ntensors; i++) {
        arg[i] = i == 1 ? x : of_value(g);
        if (i > 1 && reads >> i & 1) arg[i].i = gp_draft_input(&w->d, dt);
        w->full |= arg[i].i < 0;
    }
    return step(w, d, dt, dt, d->ntensors, d->ntensors, arg);
}

/* Which values a gradient is wanted of: floats that depend on an input that needs one. */
static void find_wanted(const writer *w, bool *wanted) {
    const gp_program *p = w->p;
    for (int v = 0; v < p->ninputs + p->nsteps; v++) {
        uint32_t inputs = v < p->ninputs ? 1u << v : p->step[v - p->ninputs].inputs;
        wanted[v] = (inputs & w->need) && gp_is_float(dtype_of(p, v));
    }
}

/* Writes the draft; w->grad of p's inputs are the results. */
static void write_draft(writer *w, uint32_t have) {
    const gp_program *p = w->p;
    bool wanted[GP_PROGRAM_INPUTS + GP_PROGRAM_STEPS];
    gp_draft_begin(&w->d);
    w->d.ready_made = p->ready_made;
    find_wanted(w, wanted);
    for (int v = 0; v < p->ninputs + p->nsteps; v++) w->grad[v] = -1;
    for (int i = 0; i < p->ninputs; i++) w->value[i] = gp_draft_input(&w->d, (gp_dtype)p->dtype[i]);
    for (int i = 0; i < p->nout; i++) {
        w->first[i] = have >> i & 1 ? gp_draft_input(&w->d, dtype_of(p, p->out[i])) : -1;
        w->full |= (have >> i & 1) && w->first[i] < 0;
    }
    repeat(w);
    for (int i = 0; i < p->nout && !w->full; i++)
        if (w->first[i] >= 0 && wanted[p->out[i]])
            give(w, p->out[i], gp_fold_reads(&p->fold) ? unfold(w, w->first[i]) : w->first[i]);
    for (int k = p->nsteps - 1; k >= 0 && !w->full; k--)
        if (w->grad[p->ninputs + k] >= 0) derive_step(w, k, wanted);
}

/* ---- programs ---- */

/* Gradients that have one shape can be results of one program: those that read a gradient of p's
 * whole shape, and of the others those that read the same inputs. */
static uint32_t shape_class(const writer *w, int v) {
    uint32_t inputs = w->d.step[v - GP_PROGRAM_INPUTS].inputs;
    bool whole = !w->p->fold.op && inputs >> w->p->ninputs;
    return whole ? 0 : inputs;
}

/* Divides the gradients among programs of at most GP_MAX_OUT. */
static bool make_parts(writer *w, gp_derivative *x) {
    uint32_t done = 0;
    for (int i = 0; i < w->p->ninputs; i++) {
        uint16_t out[GP_MAX_OUT];
        int n = 0;
        if (x->at[i] < 0 || done >> i & 1) continue;
        struct gp_derivative_part *part = &x->part[x->nparts];
        for (int k = i; k < w->p->ninputs && n < GP_MAX_OUT; k++) {
            if (x->at[k] < 0 || done >> k & 1) continue;
            if (shape_class(w, w->grad[k]) != shape_class(w, w->grad[i])) continue;
            part->dx[n] = (uint8_t)k;
            out[n++] = (uint16_t)w->grad[k];
            done |= 1u << k;
        }
        if (!(part->p = gp_draft_finish(&w->d, out, n, part->used))) return false;
        x->nparts++;
    }
    return true;
}

static bool make(writer *w, gp_derivative *x) {
    uint16_t out[GP_PROGRAM_INPUTS];
    int n = 0;
    for (int i = 0; i < w->p->ninputs; i++) {
        x->same[i] = x->at[i] = -1;
        int g = x->need >> i & 1 ? w->grad[i] : -1;
        for (int k = 0; k < w->p->nout; k++)
            if (g >= 0 && g == w->first[k]) x->same[i] = (int8_t)k;
        x->like[i] = -1;
        for (int k = 0; k < i && x->like[i] < 0; k++)
            if (g >= 0 && x->at[k] >= 0 && g == w->grad[k]) x->like[i] = (int8_t)k;
        if (g < 0 || x->same[i] >= 0 || x->like[i] >= 0) continue;
        x->at[i] = (int8_t)n;
        out[n++] = (uint16_t)g;
    }
    if (!n) return true;
    w->d.nrandom = w->p->nrandom;
    return (x->whole = gp_draft_finish(&w->d, out, n, x->used)) && make_parts(w, x);
}

const gp_derivative *gp_program_derivative(gp_program *p, uint32_t need, uint32_t have,
                                           bool divides) {
    for (gp_derivative *d = p->derivatives; d; d = d->next)
        if (d->need == need && d->have == have && d->divides == divides) return d;
    writer *w = malloc(sizeof *w);
    gp_derivative *x = calloc(1, sizeof *x);
    if (!w || !x) return free(w), free(x), gp_fail_null("fuse: out of memory");
    w->p = p, w->need = need, w->full = false, w->divides = divides;
    x->need = need, x->have = have, x->divides = divides;
    write_draft(w, have);
    if (w->full) gp_fail("fuse: the gradients of %s take too many steps", p->name);
    if (w->full || !make(w, x)) {
        gp_program_unref(x->whole);
        for (int i = 0; i < x->nparts; i++) gp_program_unref(x->part[i].p);
        free(w), free(x);
        return NULL;
    }
    free(w);
    x->next = p->derivatives;
    return p->derivatives = x;
}

/* ---- what a reduction's derivative reads ---- */

/* p's steps, with what `more` adds, as a program without p's reduction. NULL with a message. */
static gp_program *values_and(const gp_program *p, void (*more)(writer *w, uint16_t *out)) {
    writer *w = malloc(sizeof *w);
    uint8_t used[GP_PROGRAM_INPUTS];
    if (!w) return gp_fail_null("fuse: out of memory");
    w->p = p, w->full = false;
    gp_draft_begin(&w->d);
    for (int i = 0; i < p->ninputs; i++) w->value[i] = gp_draft_input(&w->d, (gp_dtype)p->dtype[i]);
    repeat(w);
    uint16_t out = (uint16_t)w->value[p->out[0]];
    if (more) more(w, &out);
    gp_program *made = w->full ? gp_fail_null("fuse: %s has too many inputs", p->name)
                               : gp_draft_finish(&w->d, &out, 1, used);
    free(w);
    return made;
}

gp_program *gp_program_values(gp_program *p) {
    return p->values ? p->values : (p->values = values_and(p, NULL));
}

static void count_equal(writer *w, uint16_t *out) {
    gp_dtype dt = dtype_of(w->p, w->p->out[0]);
    int y = gp_draft_input(&w->d, dt);
    w->full |= y < 0;
    int equal = step(w, GP_OP(eq), dt, GP_bool, 2, 2, (gp_value[]){of_value(*out), of_value(y)});
    *out = (uint16_t)(equal < 0 ? 0 : equal);
    w->d.fold = (gp_fold){.op = GP_OP(sum),
                          .compute = GP_i64,
                          .dtype = GP_i64,
                          .keep = true,
                          .mask = w->p->fold.mask};
}

gp_program *gp_program_ties(gp_program *p) {
    return p->ties ? p->ties : (p->ties = values_and(p, count_equal));
}
