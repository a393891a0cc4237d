/* Plans a traced function: elementwise calls of one shape become programs, with a reduction at the
 * end; the others stay single calls. */
#include <stdlib.h>
#include <string.h>

#include "tensor/autograd/tape.h"
#include "tensor/fuse/replay.h"

/* Of a program before derivatives; limits, so that these have room (derivative.c). */
enum { STEPS = 40, INPUTS = 16 };

/* Calls that may become one program. */
typedef struct group {
    bool open, no_grad, random;
    gp_shape shape;
    gp_device *dev;
    int nmembers, member[STEPS]; /* values, in the order of the draft's steps */
    int step[STEPS];             /* the draft's values */
    int ninputs, input[INPUTS];  /* values */
    gp_draft draft;
    struct group *next;
} group;

typedef struct planner {
    gp_replay *r;
    gp_trace *t;
    int *last;      /* the call that reads a value last; ncalls: it is a result */
    group **holder; /* of a value: the open group that computes it */
    group *groups;
} planner;

static bool out_of_memory(void) { return gp_fail("fuse: out of memory"); }

/* ---- parts ---- */

static gp_fuse_step *add_part(planner *p, int nin, int nout) {
    gp_replay *r = p->r;
    if (r->nparts == r->capacity) {
        int capacity = r->capacity ? 2 * r->capacity : 8;
        gp_fuse_step *more = realloc(r->part, (size_t)capacity * sizeof *more);
        if (!more) return NULL;
        r->part = more, r->capacity = capacity;
    }
    gp_fuse_step *part = &r->part[r->nparts];
    *part = (gp_fuse_step){.nin = nin, .nout = nout};
    part->in = malloc((size_t)(nin + nout + 1) * sizeof *part->in);
    if (!part->in) return NULL;
    part->out = part->in + nin;
    r->nparts++;
    return part;
}

/* The values that call k reads, into in (where given); how many. */
static int reads(const gp_trace *t, const gp_traced *k, int *in) {
    int n = 0;
    for (int i = 0; i < k->nargs; i++) {
        const gp_value *v = &k->arg[i];
        if (v->kind == GP_TENSOR && in) in[n] = (int)v->i;
        n += v->kind == GP_TENSOR;
        for (int j = 0; v->kind == GP_LIST && j < v->n; j++, n++)
            if (in) in[n] = t->list[v->i + j];
    }
    if (k->into >= 0 && in) in[n] = k->into;
    return n + (k->into >= 0);
}

static bool add_single(planner *p, int call) {
    const gp_traced *k = &p->t->call[call];
    gp_fuse_step *part = add_part(p, reads(p->t, k, NULL), k->nout);
    if (!part) return out_of_memory();
    reads(p->t, k, part->in);
    memcpy(part->out, k->out, (size_t)k->nout * sizeof *part->out);
    part->call = call;
    part->no_grad = k->no_grad;
    return true;
}

/* ---- groups ---- */

/* The draft's value of v, an input if need be; -1 where there is no room. */
static int value_in(const planner *p, group *g, int v) {
    for (int i = 0; i < g->nmembers; i++)
        if (g->member[i] == v) return g->step[i];
    for (int i = 0; i < g->ninputs; i++)
        if (g->input[i] == v) return i;
    if (g->ninputs == INPUTS) return -1;
    g->input[g->ninputs++] = v;
    return gp_draft_input(&g->draft, (gp_dtype)p->t->value[v]->a.dtype);
}

/* A program of the members out[0 … n-1]. */
static bool add_program(planner *p, group *g, const int *out, int n, int result) {
    uint16_t step[STEPS];
    uint8_t used[GP_PROGRAM_INPUTS];
    for (int i = 0; i < n; i++) step[i] = (uint16_t)g->step[out[i]];
    gp_program *program = gp_draft_finish(&g->draft, step, n, used);
    if (!program) return false;
    gp_fuse_step *part = add_part(p, program->ninputs, n);
    if (!part) return gp_program_unref(program), out_of_memory();
    part->program = program;
    part->no_grad = g->no_grad;
    part->single = n > GP_MAX_OUT;
    for (int i = 0; i < program->ninputs; i++) part->in[i] = g->input[used[i]];
    for (int i = 0; i < n; i++) part->out[i] = result >= 0 ? result : g->member[out[i]];
    return true;
}

/* Ends g before call `now`: what is read from there on are its outputs. */
static bool close_group(planner *p, group *g, int now) {
    int out[STEPS], n = 0;
    if (!g->open) return true;
    g->open = false;
    for (int i = 0; i < g->nmembers; i++) {
        int v = g->member[i];
        p->holder[v] = NULL;
        if (p->last[v] >= now) out[n++] = i;
    }
    if (g->nmembers == 1 && n) return add_single(p, p->t->maker[g->member[0]]);
    int most = g->random ? STEPS : GP_MAX_OUT; /* random numbers are drawn once */
    for (int i = 0; i < n; i += most)
        if (!add_program(p, g, out + i, n - i < most ? n - i : most, -1)) return false;
    return n || !g->random || add_program(p, g, (int[]){g->nmembers - 1}, 1, -1);
}

static bool close_all(planner *p, int now, bool random_only) {
    bool ok = true;
    for (group *g = p->groups; g; g = g->next)
        if (!random_only || g->random) ok = ok && close_group(p, g, now);
    return ok;
}

/* Ends the other groups that compute what call k reads. */
static bool close_read(planner *p, const gp_traced *k, const group *but, int now) {
    int few[64], n = reads(p->t, k, NULL), *in = n <= 64 ? few : malloc((size_t)n * sizeof *in);
    bool ok = true;
    if (!in) return out_of_memory();
    reads(p->t, k, in);
    for (int i = 0; ok && i < n; i++) {
        group *g = p->holder[in[i]];
        if (g && g != but) ok = close_group(p, g, now);
    }
    if (in != few) free(in);
    return ok;
}

static group *new_group(planner *p, const gp_traced *k, const gp_shape *s, gp_device *dev) {
    group *g = malloc(sizeof *g);
    if (!g) return gp_fail_null("fuse: out of memory");
    g->open = true, g->random = false;
    g->no_grad = k->no_grad;
    g->shape = *s;
    g->dev = dev;
    g->nmembers = g->ninputs = 0;
    gp_draft_begin(&g->draft);
    g->next = p->groups;
    return p->groups = g;
}

/* ---- calls ---- */

static int operands(const gp_op *op) {
    switch ((gp_fuse_form)op->fuses) {
    case GP_FUSE_WHERE: return 3;
    case GP_FUSE_CONVERT:
    case GP_FUSE_DROP: return 1;
    default: return op->ntensors;
    }
}

/* Whether call k can be a step: what it reads and gives is on one device that runs programs. */
static bool is_step(const planner *p, const gp_traced *k) {
    if (!k->fusable || !gp_op_fuses(k->op) || k->barrier) return false;
    /* Elements that are an error are one, too, where nothing reads the result. */
    if (k->op->fault && (!gp_is_float((gp_dtype)k->compute) || p->last[k->out[0]] < 0))
        return false;
    const gp_tensor *y = p->t->value[k->out[0]];
    for (int i = 0; i < k->nargs; i++)
        if (k->arg[i].kind == GP_TENSOR &&
            p->t->value[k->arg[i].i]->storage->dev != y->storage->dev)
            return false;
    return y->a.numel != 0 || y->a.ndim != 0;
}

/* The arguments of k as a step has them: a conversion as the op `to`. */
static int step_args(const planner *p, const gp_traced *k, gp_value *arg) {
    int n = k->nargs;
    memcpy(arg, k->settled, (size_t)n * sizeof *arg);
    if (k->op->fuses != GP_FUSE_CONVERT) return n;
    arg[1] = (gp_value){.kind = GP_NONE};
    arg[2] = (gp_value){.kind = GP_DTYPE, .i = p->t->value[k->out[0]]->a.dtype};
    return 3;
}

/* Makes call k a step of g. False where g has no room. */
static bool join_group(planner *p, group *g, const gp_traced *k) {
    gp_value arg[GP_PROGRAM_ARGS];
    int n = step_args(p, k, arg);
    if (g->nmembers >= (g->random || k->op->random ? STEPS / 2 : STEPS)) return false;
    if (g->ninputs + operands(k->op) > INPUTS) return false;
    for (int i = 0; i < n; i++)
        if (arg[i].kind == GP_TENSOR) arg[i].i = value_in(p, g, (int)arg[i].i);
    gp_fuse_form form = (gp_fuse_form)k->op->fuses;
    gp_dtype dt = (gp_dtype)p->t->value[k->out[0]]->a.dtype;
    const gp_op *op = form == GP_FUSE_CONVERT ? GP_OP(to) : k->op;
    int v =
        gp_draft_step(&g->draft, op, form ? dt : (gp_dtype)k->compute, dt, operands(op), n, arg);
    g->step[g->nmembers] = v;
    g->member[g->nmembers++] = k->out[0];
    g->random |= k->op->random;
    p->holder[k->out[0]] = g;
    return true;
}

static bool plan_step(planner *p, int call) {
    const gp_traced *k = &p->t->call[call];
    const gp_tensor *y = p->t->value[k->out[0]];
    gp_shape s = gp_tensor_shape(y);
    group *g = p->groups;
    while (g && !(g->open && g->no_grad == k->no_grad && g->dev == y->storage->dev &&
                  gp_shape_equal(&g->shape, &s)))
        g = g->next;
    if (k->op->random)
        for (group *o = p->groups; o; o = o->next)
            if (o != g && o->random && !close_group(p, o, call)) return false;
    if (!close_read(p, k, g, call)) return false;
    if (g && g->open && join_group(p, g, k)) return true;
    if (g && !close_group(p, g, call)) return false;
    g = new_group(p, k, &s, y->storage->dev);
    return g && (join_group(p, g, k) || gp_fail("fuse: %s has too many operands", k->op->name));
}

/* Makes the reduction k the end of the group that computes its input, the group's only output;
 * *done: it was possible. */
static bool plan_fold(planner *p, int call, bool *done) {
    const gp_traced *k = &p->t->call[call];
    group *g = k->nargs && k->arg[0].kind == GP_TENSOR ? p->holder[k->arg[0].i] : NULL;
    int at = -1;
    *done = false;
    if (!g || !k->fusable || k->op->kind != GP_REDUCE || g->no_grad != k->no_grad || g->random)
        return true;
    for (int i = 0; i < g->nmembers; i++) {
        int v = g->member[i];
        if (v == (int)k->arg[0].i) at = i;
        if (v == (int)k->arg[0].i ? p->last[v] != call : p->last[v] >= call) return true;
    }
    const gp_tensor *y = p->t->value[k->out[0]];
    gp_fold fold = {.op = k->op,
                    .compute = k->compute,
                    .dtype = y->a.dtype,
                    .keep = k->nargs > 2 && k->arg[2].kind == GP_BOOL && k->arg[2].i,
                    .typed = k->nargs > 3 && k->arg[3].kind == GP_DTYPE,
                    .mask = (uint64_t)k->settled[1].i};
    /* Its derivative reads elements in the dtype that they are reduced in. */
    if (gp_fold_reads(&fold) && fold.typed) return true;
    g->draft.fold = fold;
    for (int i = 0; i < g->nmembers; i++) p->holder[g->member[i]] = NULL;
    g->open = false;
    *done = true;
    return add_program(p, g, &at, 1, k->out[0]);
}

/* Whether call k is a conversion to the dtype that its argument has: that argument is the result.
 */
static bool is_nothing(const planner *p, const gp_traced *k) {
    return k->op->fuses == GP_FUSE_CONVERT && k->nout == 1 && k->into < 0 &&
           k->arg[0].kind == GP_TENSOR && k->out[0] == (int)k->arg[0].i;
}

static bool plan_call(planner *p, int call) {
    const gp_traced *k = &p->t->call[call];
    bool done;
    if (is_nothing(p, k)) return true;
    if (is_step(p, k)) return plan_step(p, call);
    if (!plan_fold(p, call, &done)) return false;
    if (done) return true;
    if (k->barrier && !close_all(p, call, false)) return false;
    if (k->op->random && !close_all(p, call, true)) return false;
    return close_read(p, k, NULL, call) && add_single(p, call);
}

/* ---- the whole ---- */

static bool find_last(planner *p, const int *results, int n) {
    gp_trace *t = p->t;
    for (int v = 0; v < t->nvalues; v++) p->last[v] = -1;
    for (int c = 0; c < t->ncalls; c++) {
        int few[64], m = reads(t, &t->call[c], NULL),
                     *in = m <= 64 ? few : malloc(sizeof(int) * (size_t)m);
        if (!in) return out_of_memory();
        reads(t, &t->call[c], in);
        for (int i = 0; i < m; i++) p->last[in[i]] = c;
        if (in != few) free(in);
    }
    for (int i = 0; i < n; i++) p->last[results[i]] = t->ncalls;
    return true;
}

/* The part that reads each value last, so that it can be released. */
static bool find_last_parts(gp_replay *r) {
    r->last = malloc((size_t)(r->trace.nvalues + 1) * sizeof *r->last);
    if (!r->last) return out_of_memory();
    for (int v = 0; v < r->trace.nvalues; v++) r->last[v] = -1;
    for (int i = 0; i < r->nparts; i++) {
        const gp_fuse_step *part = &r->part[i];
        for (int j = 0; j < part->nout; j++) r->last[part->out[j]] = i;
        for (int j = 0; j < part->nin; j++) r->last[part->in[j]] = i;
    }
    for (int i = 0; i < r->nresults; i++) r->last[r->result[i]] = r->nparts;
    return true;
}

/* Releases the tensors that the trace made or was given. */
static void drop_values(gp_trace *t) {
    for (int v = 0; v < t->nvalues; v++) {
        if (v >= t->ninputs && t->maker[v] < 0) continue;
        gp_tensor_unref(t->value[v]);
        t->value[v] = NULL;
    }
}

static bool plan(planner *p, const int *results, int n) {
    gp_replay *r = p->r;
    p->last = malloc((size_t)(p->t->nvalues + 1) * sizeof *p->last);
    p->holder = calloc((size_t)p->t->nvalues + 1, sizeof *p->holder);
    r->result = malloc((size_t)(n + 1) * sizeof *r->result);
    if (!p->last || !p->holder || !r->result) return out_of_memory();
    memcpy(r->result, results, (size_t)n * sizeof *results);
    r->nresults = n;
    if (!find_last(p, results, n)) return false;
    for (int c = 0; c < p->t->ncalls; c++)
        if (!plan_call(p, c)) return false;
    return close_all(p, p->t->ncalls, false) && find_last_parts(r);
}

gp_replay *gp_replay_new(gp_trace *t, const int *results, int n) {
    gp_replay *r = calloc(1, sizeof *r);
    if (!r) return gp_trace_free(t), gp_fail_null("fuse: out of memory");
    r->trace = *t;
    memset(t, 0, sizeof *t);
    planner p = {.r = r, .t = &r->trace};
    bool ok = plan(&p, results, n);
    for (group *g = p.groups, *next; g; g = next) next = g->next, free(g);
    free(p.last);
    free(p.holder);
    if (!ok) return gp_replay_free(r), NULL;
    drop_values(&r->trace);
    return r;
}

void gp_replay_free(gp_replay *r) {
    if (!r) return;
    for (int i = 0; i < r->nparts; i++) {
        gp_program_unref(r->part[i].program);
        free(r->part[i].in);
    }
    free(r->part);
    free(r->last);
    free(r->result);
    gp_trace_free(&r->trace);
    free(r);
}
