/* Runs what was planned: programs, and single ops between them. */
#include "tensor/fuse/replay.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/autocast.h"
#include "tensor/autograd/tape.h"

enum { FEW = 64 };

/* The values while it runs, the owned ones of which are references. */
typedef struct run {
    const gp_replay *r;
    gp_tensor **value;
    bool *own;
} run;

/* Call k on the values, its lists in `room`. */
static void build(const run *w, const gp_traced *k, gp_call *c, gp_tensor **capacity) {
    const gp_trace *t = &w->r->trace;
    gp_call_begin(c, k->op);
    c->nargs = k->nargs;
    memcpy(c->arg, k->arg, (size_t)k->nargs * sizeof *c->arg);
    if (k->nints) memcpy(c->ints, t->ints + k->first, (size_t)k->nints * sizeof *c->ints);
    c->nints = k->nints;
    for (int i = 0; i < k->nargs; i++) {
        gp_value *v = &c->arg[i];
        if (v->kind == GP_TENSOR) v->t = w->value[k->arg[i].i];
        if (v->kind != GP_LIST) continue;
        for (int j = 0; j < v->n; j++) capacity[j] = w->value[t->list[k->arg[i].i + j]];
        v->list = capacity;
        capacity += v->n;
    }
    if (k->into >= 0) c->into = w->value[k->into];
}

static bool run_single(const run *w, const gp_fuse_step *part, gp_tensor **out) {
    gp_call c;
    gp_tensor *few[FEW],
        **capacity = part->nin <= FEW ? few : malloc(sizeof *capacity * (size_t)part->nin);
    if (!capacity) return gp_fail("fuse: out of memory");
    build(w, &w->r->trace.call[part->call], &c, capacity);
    bool ok = gp_op_run(&c);
    if (ok) memcpy(out, c.out, (size_t)c.nout * sizeof *out);
    if (capacity != few) free(capacity);
    return ok;
}

static bool run_program(const run *w, const gp_fuse_step *part, gp_tensor **out) {
    gp_tensor *in[GP_PROGRAM_INPUTS];
    for (int i = 0; i < part->nin; i++) in[i] = w->value[part->in[i]];
    return part->single ? gp_program_run_steps(part->program, in, out, NULL, NULL, NULL)
                        : gp_program_run(part->program, in, out, NULL);
}

/* Takes over the reference. In place, the value is there already. */
static void set(const run *w, int v, gp_tensor *t) {
    if (w->own[v] || w->value[v]) {
        gp_tensor_unref(t);
        return;
    }
    w->value[v] = t;
    w->own[v] = true;
}

static void release_read(const run *w, const gp_fuse_step *part, int at) {
    for (int i = 0; i < part->nin + part->nout; i++) {
        int v = part->in[i];
        if (!w->own[v] || w->r->last[v] != at) continue;
        gp_tensor_unref(w->value[v]);
        w->value[v] = NULL;
        w->own[v] = false;
    }
}

static bool run_part(const run *w, int at) {
    const gp_fuse_step *part = &w->r->part[at];
    gp_tensor *out[GP_PROGRAM_OUTS + GP_MAX_OUT];
    int off = gp_no_grad;
    if (part->no_grad) gp_no_grad = off ? 0 : 1;
    bool ok = part->program ? run_program(w, part, out) : run_single(w, part, out);
    gp_no_grad = off;
    for (int i = 0; ok && i < part->nout; i++) set(w, part->out[i], out[i]);
    if (ok) release_read(w, part, at);
    return ok;
}

/* One program that reads the inputs and gives the results, in order: no values need be kept. */
static bool run_one(const gp_replay *r, gp_tensor *const *inputs, gp_tensor **out) {
    const gp_fuse_step *part = &r->part[0];
    gp_tensor *in[GP_PROGRAM_INPUTS];
    for (int i = 0; i < part->nin; i++) {
        int v = part->in[i];
        in[i] = v < r->trace.ninputs ? inputs[v] : r->trace.value[v];
    }
    return gp_program_run(part->program, in, out, NULL);
}

static bool is_one(const gp_replay *r) {
    const gp_fuse_step *part = r->part;
    return r->nparts == 1 && part->program && !part->single && !part->no_grad &&
           part->nout == r->nresults &&
           !memcmp(part->out, r->result, (size_t)r->nresults * sizeof *r->result);
}

static bool run_parts(const gp_replay *r, gp_tensor *const *inputs, gp_tensor **out) {
    const gp_trace *t = &r->trace;
    gp_tensor *few[FEW];
    bool few_own[FEW];
    int n = t->nvalues;
    run w = {.r = r, .value = few, .own = few_own};
    if (n > FEW) {
        w.value = malloc((size_t)n * (sizeof *w.value + sizeof *w.own));
        if (!w.value) return gp_fail("fuse: out of memory");
        w.own = (bool *)(w.value + n);
    }
    memset(w.own, 0, (size_t)n * sizeof *w.own);
    memcpy(w.value, t->value, (size_t)n * sizeof *w.value);
    memcpy(w.value, inputs, (size_t)t->ninputs * sizeof *inputs);
    bool ok = true;
    for (int i = 0; ok && i < r->nparts; i++) ok = run_part(&w, i);
    for (int i = 0; ok && i < r->nresults; i++) out[i] = gp_tensor_ref(w.value[r->result[i]]);
    for (int v = 0; v < n; v++)
        if (w.own[v]) gp_tensor_unref(w.value[v]);
    if (w.value != few) free(w.value);
    return ok;
}

/* Autocast is paused: what it converts is among the traced calls. */
bool gp_replay_run(const gp_replay *r, gp_tensor *const *inputs, gp_tensor **out) {
    gp_autocast_pause();
    bool ok = is_one(r) ? run_one(r, inputs, out) : run_parts(r, inputs, out);
    gp_autocast_resume();
    return ok;
}
