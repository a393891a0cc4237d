/* Tracing: the calls of gp_op_run while a function runs, as a graph of values. It takes part as an
 * interceptor: each call is copied, with its tensors replaced by the numbers of the values that
 * they are, and then runs as usual, so that the first call of a fused function gives its results.
 * What a plan could not repeat, such as reading a tensor's value, ends the trace with a reason. */
#include "tensor/fuse/trace.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/autograd/tape.h"
#include "tensor/capture/capture.h"
#include "tensor/fuse/program.h"
#include "tensor/intercept.h"

_Thread_local gp_trace *gp_tracing;
static _Thread_local gp_interceptor interceptor;

/* Makes room for n more in the array of `size` bytes an entry. */
static bool reserve(void *array, int have, int n, int *capacity, size_t size) {
    void **at = array;
    if (have + n <= *capacity) return true;
    int more = *capacity ? 2 * *capacity : 32;
    while (more < have + n) more *= 2;
    void *to = realloc(*at, (size_t)more * size);
    if (!to) return gp_fail("fuse: out of memory");
    *at = to;
    *capacity = more;
    return true;
}
#define RESERVE(array, have, n, capacity) reserve(&(array), have, n, &(capacity), sizeof *(array))

/* The trace that is at work from here on; NULL: none. */
static void set_tracing(gp_trace *t) {
    gp_tracing = t;
    interceptor.keeps = t ? GP_KEEPS_CALLS : 0;
}

static int add_value(gp_trace *t, gp_tensor *x, int maker) {
    int capacity = t->values_capacity;
    if (!RESERVE(t->value, t->nvalues, 1, capacity)) return -1;
    if (!RESERVE(t->maker, t->nvalues, 1, t->values_capacity)) return -1;
    t->value[t->nvalues] = gp_tensor_ref(x);
    t->maker[t->nvalues] = maker;
    return t->nvalues++;
}

static int find_value(const gp_trace *t, const gp_tensor *x) {
    for (int i = t->nvalues - 1; i >= 0; i--)
        if (t->value[i] == x) return i;
    return -1;
}

/* Whether x, which no traced op made, shows what a traced one did: then its next value would be
 * missed. */
static bool is_unseen_view(const gp_trace *t, const gp_tensor *x) {
    for (int i = 0; i < t->nvalues; i++)
        if (t->value[i]->storage == x->storage && (i < t->ninputs || t->maker[i] >= 0)) return true;
    return false;
}

int gp_trace_value(gp_trace *t, gp_tensor *x) {
    int i = find_value(t, x);
    if (i >= 0) return i;
    if (is_unseen_view(t, x))
        return gp_fail("fuse: a view of an argument or a result is made in a way that fuse cannot "
                       "repeat (an argument given twice in two forms, or a mask as an index)"),
               -1;
    return add_value(t, x, -1);
}

bool gp_trace_begin(gp_trace *t, gp_tensor *const *inputs, int n) {
    if (gp_tracing) return gp_fail("fuse: a fused function is being traced already");
    memset(t, 0, sizeof *t);
    t->no_grad = gp_no_grad;
    for (int i = 0; i < n; i++)
        if (add_value(t, inputs[i], -1) < 0) return gp_trace_free(t), false;
    t->ninputs = n;
    set_tracing(t);
    gp_intercept(&interceptor, true);
    return true;
}

void gp_trace_end(gp_trace *t) {
    if (gp_tracing != t) return;
    set_tracing(NULL);
    gp_intercept(&interceptor, false);
}

void gp_trace_free(gp_trace *t) {
    gp_trace_end(t);
    for (int i = 0; i < t->nvalues; i++) gp_tensor_unref(t->value[i]);
    free(t->call);
    free(t->value);
    free(t->maker);
    free(t->list);
    free(t->ints);
    memset(t, 0, sizeof *t);
}

/* A size that the script reads: what is traced holds for these shapes only. */
static bool at(gp_moment m, const char *what, void *of) {
    if (gp_tracing && m == GP_AT_SHAPE) gp_tracing->shapes = true;
    if (gp_tracing && m == GP_AT_DRAW) return gp_capture_refuse_draw(what);
    if (!gp_tracing || (m != GP_AT_READ && m != GP_AT_WAIT)) return true;
    return gp_fail("%s: a function that fuse traces cannot read the values of tensors: its next "
                   "call would not read them again; use where to choose by elements, or return "
                   "the tensor and read it after the call",
                   what);
}

/* ---- calls ---- */

/* Replaces the tensors of v by their values' numbers. */
static bool number_arg(gp_trace *t, gp_traced *k, gp_value *v) {
    if (v->kind == GP_TENSOR) {
        int i = gp_trace_value(t, v->t);
        v->i = i;
        return i >= 0;
    }
    if (v->kind != GP_LIST) return true;
    int first = t->nlists;
    if (!RESERVE(t->list, first, v->n, t->lists_capacity)) return false;
    for (int j = 0; j < v->n; j++)
        if ((t->list[first + j] = gp_trace_value(t, v->list[j])) < 0) return false;
    t->nlists += v->n;
    v->i = first;
    return true;
}

static bool refused(const gp_call *c, gp_traced *k) {
    if (c->requires_grad)
        return gp_fail("%s: requires_grad in a function that fuse traces: make the leaf before the "
                       "call",
                       c->name);
    return true;
}

/* Copies c as it is given. */
static bool note_given(gp_trace *t, gp_traced *k, const gp_call *c) {
    *k = (gp_traced){.op = c->op, .nargs = c->nargs, .nints = c->nints, .into = -1};
    k->no_grad = (gp_no_grad > 0) != (t->no_grad > 0);
    k->loc = gp_srcloc_here();
    memcpy(k->arg, c->arg, (size_t)c->nargs * sizeof *k->arg);
    if (!refused(c, k) || !RESERVE(t->ints, t->nints, c->nints, t->ints_capacity)) return false;
    k->first = t->nints;
    if (c->nints) memcpy(t->ints + t->nints, c->ints, (size_t)c->nints * sizeof *t->ints);
    t->nints += c->nints;
    for (int i = 0; i < k->nargs; i++)
        if (!number_arg(t, k, &k->arg[i])) return false;
    if (c->into && (k->into = gp_trace_value(t, c->into)) < 0) return false;
    return true;
}

/* Whether the rule took the arguments as they were given: tensors are still tensors. */
static bool as_given(const gp_traced *k, const gp_call *c) {
    if (c->into || c->ntmp || c->nargs > GP_PROGRAM_ARGS || c->nout != 1) return false;
    for (int i = 0; i < k->nargs; i++)
        if ((k->arg[i].kind == GP_TENSOR) != (c->arg[i].kind == GP_TENSOR) ||
            k->arg[i].kind == GP_LIST)
            return false;
    return true;
}

static bool note_done(gp_trace *t, gp_traced *k, const gp_call *c) {
    bool same = k->op == c->op && as_given(k, c);
    k->compute = c->compute;
    k->barrier = k->into >= 0;
    for (int i = 0; i < c->nargs; i++) {
        k->settled[i] = c->arg[i];
        bool tensors = c->arg[i].kind == GP_TENSOR || c->arg[i].kind == GP_LIST;
        k->barrier |= tensors && c->arg[i].written;
        if (tensors) k->settled[i].i = i < k->nargs ? k->arg[i].i : -1;
    }
    k->nargs = c->nargs > k->nargs && same ? c->nargs : k->nargs;
    if (k->op->kind != GP_VIEW && c->nout) {
        if (t->stream && t->stream != c->stream)
            return gp_fail("%s: a function that fuse traces keeps to one stream", c->name);
        t->stream = c->stream;
    }
    k->nout = c->nout;
    for (int i = 0; i < c->nout; i++) {
        int v = find_value(t, c->out[i]);
        if (v >= 0) same = false; /* the op gave an argument back */
        if ((k->out[i] = v >= 0 ? v : add_value(t, c->out[i], t->ncalls)) < 0) return false;
    }
    k->fusable = same;
    return true;
}

/* Records c before and after it runs. */
static bool trace_call(const gp_interceptor *self, gp_call *c) {
    gp_trace *t = gp_tracing;
    if (!t) return gp_op_run_below(self, c);
    if (!RESERVE(t->call, t->ncalls, 1, t->calls_capacity)) return false;
    gp_traced *k = &t->call[t->ncalls];
    if (!note_given(t, k, c)) return false;
    set_tracing(NULL);
    bool ok = gp_op_run_below(self, c);
    set_tracing(t);
    if (!ok) return false;
    if (note_done(t, k, c)) return t->ncalls++, true;
    for (int i = 0; i < c->nout; i++) gp_tensor_unref(c->out[i]);
    c->nout = 0;
    return false;
}

static _Thread_local gp_interceptor interceptor = {.order = 20, .run = trace_call, .at = at};
