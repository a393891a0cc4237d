/* Programs: written as drafts, counted by reference, run by the op `fused` or by their single
 * ops. */
#include "tensor/fuse/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/autograd/tape.h"
#include "tensor/base/intern.h"

/* ---- lifetime ---- */

gp_program *gp_program_ref(gp_program *p) {
    atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

static void free_program(gp_program *p);

static void free_derivatives(gp_program *p) {
    for (gp_derivative *d = p->derivatives, *next; d; d = next) {
        next = d->next;
        gp_program_unref(d->whole);
        for (int i = 0; i < d->nparts; i++) gp_program_unref(d->part[i].p);
        free(d);
    }
    p->derivatives = NULL;
    gp_program_unref(p->values);
    gp_program_unref(p->ties);
}

static void free_program(gp_program *p) {
    for (int i = 0; i < GP_PREPARED; i++) {
        void *prepared = atomic_load(&p->prepared[i]);
        if (prepared) atomic_load (&p->unprepare[i])(prepared);
    }
    free(p->issued);
    free(p);
}

enum { STREAMS = GP_MAX_DEVICES * GP_MAX_STREAMS };

static void count_issued(gp_device *dev, void *ctx) {
    uint64_t *issued = ctx;
    for (int i = 0; i < atomic_load(&dev->nstreams); i++)
        issued[dev->slot * GP_MAX_STREAMS + i] = atomic_load(&dev->streams[i]->issued);
}

/* Whether a command that was queued when p died has not run; without memory for issued, whether any
 * has not. */
typedef struct waiting {
    const uint64_t *issued; /* NULL */
    bool some;
} waiting;
static void still_queued(gp_device *dev, void *ctx) {
    waiting *w = ctx;
    for (int i = 0; i < atomic_load(&dev->nstreams); i++) {
        gp_stream *s = dev->streams[i];
        uint64_t until = w->issued ? w->issued[dev->slot * GP_MAX_STREAMS + i] : s->issued;
        w->some |= atomic_load(&s->completed) < until;
    }
}

/* Dead programs of this thread that a queue may still hold. */
static _Thread_local gp_program *dead;

static void sweep(void) {
    for (gp_program **at = &dead, *p; (p = *at);) {
        waiting w = {.issued = p->issued};
        gp_device_each(still_queued, &w);
        if (w.some) {
            at = &p->next;
        } else {
            *at = p->next;
            free_program(p);
        }
    }
}

static void any_async(gp_device *dev, void *ctx) {
    *(bool *)ctx |= !dev->vt->on_host || atomic_load(&dev->nstreams) > 1;
}

void gp_program_unref(void *program) {
    gp_program *p = program;
    bool async = false;
    if (!p || atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) > 1) return;
    free_derivatives(p);
    gp_device_each(any_async, &async);
    if (!async) {
        free_program(p);
        return;
    }
    sweep();
    p->issued = calloc(STREAMS, sizeof *p->issued);
    if (p->issued) gp_device_each(count_issued, p->issued);
    p->next = dead;
    dead = p;
    sweep();
}

/* ---- drafts ---- */

void gp_draft_begin(gp_draft *d) {
    d->ninputs = d->nsteps = d->nrandom = 0;
    d->fold = (gp_fold){.op = NULL};
    d->ready_made = false;
}

int gp_draft_input(gp_draft *d, gp_dtype dt) {
    if (d->ninputs == GP_PROGRAM_INPUTS) return -1;
    d->dtype[d->ninputs] = (uint8_t)dt;
    return d->ninputs++;
}

/* Steps are numbered from here on, so that inputs may be added later. */
enum { FIRST = GP_PROGRAM_INPUTS };

gp_dtype gp_draft_dtype(const gp_draft *d, int v) {
    return (gp_dtype)(v < FIRST ? d->dtype[v] : d->step[v - FIRST].dtype);
}

static uint32_t inputs_of(const gp_draft *d, int v) {
    return v < FIRST ? 1u << v : d->step[v - FIRST].inputs;
}

int gp_draft_step(gp_draft *d, const gp_op *op, gp_dtype compute, gp_dtype dt, int nin, int nargs,
                  const gp_value *arg) {
    if (d->nsteps == GP_PROGRAM_STEPS || nargs > GP_PROGRAM_ARGS) return -1;
    gp_step *s = &d->step[d->nsteps];
    *s = (gp_step){.op = op,
                   .compute = (uint8_t)compute,
                   .dtype = (uint8_t)dt,
                   .nin = (uint8_t)nin,
                   .nargs = (uint8_t)nargs};
    memcpy(s->arg, arg, (size_t)nargs * sizeof *arg);
    for (int i = 0; i < nargs; i++)
        if (arg[i].kind == GP_TENSOR) s->inputs |= inputs_of(d, (int)arg[i].i);
    if (op->fuses == GP_FUSE_DROP && op->random) s->random = (uint8_t)d->nrandom++;
    return FIRST + d->nsteps++;
}

/* "mul+add+relu", or the first and last ones of many. */
static const char *name_of(const gp_program *p) {
    char text[96];
    size_t at = 0;
    int n = p->nsteps + (p->fold.op != NULL);
    for (int i = 0; i < n; i++) {
        if (n > 6 && i == 3) at += (size_t)snprintf(text + at, sizeof text - at, "+...");
        if (n > 6 && i >= 3 && i < n - 2) continue;
        const char *op = i < p->nsteps ? p->step[i].op->name : p->fold.op->name;
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.16s", i ? "+" : "", op);
    }
    return gp_intern_text(text);
}

/* Marks what the outputs need: bits of live by value. */
static void mark(const gp_draft *d, const uint16_t *out, int nout, bool *live) {
    memset(live, 0, (FIRST + GP_PROGRAM_STEPS) * sizeof *live);
    for (int i = 0; i < nout; i++) live[out[i]] = true;
    for (int k = d->nsteps - 1; k >= 0; k--) {
        const gp_step *s = &d->step[k];
        for (int i = 0; live[FIRST + k] && i < s->nargs; i++)
            if (s->arg[i].kind == GP_TENSOR) live[s->arg[i].i] = true;
    }
}

/* Copies step k of d, with the new numbers of values. A random step keeps its number: the
 * derivative draws what the forward drew. */
static void copy_step(gp_step *to, const gp_step *from, const uint16_t *number) {
    *to = *from;
    to->inputs = 0;
    for (int v = 0; v < GP_PROGRAM_INPUTS; v++)
        if (from->inputs >> v & 1) to->inputs |= 1u << number[v];
    for (int i = 0; i < to->nargs; i++)
        if (to->arg[i].kind == GP_TENSOR) to->arg[i].i = number[to->arg[i].i];
}

gp_program *gp_draft_finish(const gp_draft *d, const uint16_t *out, int nout, uint8_t *used) {
    bool live[FIRST + GP_PROGRAM_STEPS];
    uint16_t number[FIRST + GP_PROGRAM_STEPS] = {0};
    int n = 0, k = 0;
    mark(d, out, nout, live);
    for (int i = 0; i < d->nsteps; i++) n += live[FIRST + i];
    gp_program *p = calloc(1, sizeof *p + (size_t)n * sizeof *p->step);
    if (!p) return gp_fail_null("fuse: out of memory");
    for (int i = 0; i < d->ninputs; i++) {
        if (!live[i]) continue;
        p->dtype[p->ninputs] = d->dtype[i];
        used[p->ninputs] = (uint8_t)i;
        number[i] = (uint16_t)p->ninputs++;
    }
    for (int i = 0; i < d->nsteps; i++) {
        if (!live[FIRST + i]) continue;
        number[FIRST + i] = (uint16_t)(p->ninputs + k);
        copy_step(&p->step[k++], &d->step[i], number);
    }
    p->nsteps = n, p->nout = nout, p->nrandom = d->nrandom;
    for (int i = 0; i < nout; i++) p->out[i] = number[out[i]];
    p->fold = d->fold, p->ready_made = d->ready_made;
    atomic_init(&p->refs, 1);
    if (!(p->name = name_of(p))) return free(p), gp_fail_null("fuse: out of memory");
    return p;
}

/* ---- running ---- */

static bool shape_of(gp_tensor *const *in, uint32_t inputs, gp_shape *s) {
    s->ndim = 0;
    for (int i = 0; inputs >> i; i++) {
        if (!(inputs >> i & 1)) continue;
        gp_shape one = gp_tensor_shape(in[i]);
        if (!gp_shape_broadcast("fused", s, &one)) return false;
    }
    return true;
}

static bool same_shapes(const gp_program *p, gp_tensor *const *in) {
    for (int i = 1; i < p->ninputs; i++) {
        if (in[i]->a.ndim != in[0]->a.ndim) return false;
        for (int k = 0; k < in[0]->a.ndim; k++)
            if (in[i]->a.dim[k] != in[0]->a.dim[k]) return false;
    }
    return true;
}

bool gp_program_fits(const gp_program *p, gp_tensor *const *in) {
    uint32_t all = (uint32_t)((UINT64_C(1) << p->ninputs) - 1);
    gp_shape whole, part;
    if (same_shapes(p, in)) return true;
    if (!shape_of(in, all, &whole)) return gp_error_clear(), false;
    if (p->fold.op && p->fold.mask >> whole.ndim) return false;
    for (int k = 0; k < p->nout; k++) {
        uint32_t inputs = p->step[p->out[k] - p->ninputs].inputs;
        if (inputs == all) continue;
        if (!shape_of(in, inputs, &part)) return gp_error_clear(), false;
        if (!gp_shape_equal(&whole, &part)) return false;
    }
    return true;
}

static void step_call(gp_call *c, const gp_step *s, gp_tensor *const *value, const gp_rng *rng) {
    gp_call_begin(c, s->op);
    for (int i = 0; i < s->nargs; i++) {
        c->arg[i] = s->arg[i];
        if (s->arg[i].kind == GP_TENSOR)
            c->arg[i] = (gp_value){.kind = GP_TENSOR, .t = value[s->arg[i].i]};
    }
    c->nargs = s->nargs;
    if (s->op->fuses == GP_FUSE_DROP && !s->op->random && rng) {
        gp_call_int(c, (int64_t)rng->seed);
        gp_call_int(c, (int64_t)(rng->counter + s->random));
    }
}

static gp_tensor *run_fold(const gp_fold *f, gp_tensor *x) {
    gp_call c;
    int64_t dims[GP_MAX_DIM];
    int n = 0;
    for (int i = 0; i < x->a.ndim; i++)
        if (f->mask >> i & 1) dims[n++] = i + 1;
    gp_call_begin(&c, f->op);
    gp_call_tensor(&c, x);
    if (n && n < x->a.ndim) gp_call_ints(&c, dims, n);
    else gp_call_none(&c);
    c.arg[c.nargs++] = (gp_value){.kind = GP_BOOL, .i = f->keep};
    c.arg[c.nargs++] = (gp_value){.kind = f->typed ? GP_DTYPE : GP_NONE, .i = f->dtype};
    return gp_call_one(&c);
}

bool gp_program_run_steps(const gp_program *p, gp_tensor *const *in, gp_tensor **out,
                          const gp_rng *forward, gp_derive derive, void *ctx) {
    gp_tensor *value[GP_PROGRAM_INPUTS + GP_PROGRAM_STEPS];
    gp_call c;
    bool ok = true;
    int done = 0;
    memcpy(value, in, (size_t)p->ninputs * sizeof *value);
    for (; ok && done < p->nsteps; done++) {
        const gp_step *s = &p->step[done];
        step_call(&c, s, value, forward);
        bool derived = derive && s->op->kind == GP_GRAD;
        gp_tensor *t = derived ? derive(ctx, s, c.arg) : gp_call_one(&c);
        if (!(value[p->ninputs + done] = t)) ok = false, done--;
    }
    for (int i = 0; ok && i < p->nout; i++) {
        gp_tensor *t = value[p->out[i]];
        out[i] = p->fold.op ? run_fold(&p->fold, t) : gp_tensor_ref(t);
        if (out[i]) continue;
        ok = false;
        while (i-- > 0) gp_tensor_unref(out[i]);
        break;
    }
    for (int i = 0; i < done; i++) gp_tensor_unref(value[p->ninputs + i]);
    return ok;
}

/* Whether the device has a kernel for p. */
static bool runs_fused(gp_program *p, gp_tensor *const *in) {
    gp_device *dev = in[0]->storage->dev;
    for (int i = 1; i < p->ninputs; i++)
        if (in[i]->storage->dev != dev) return false;
    return p->nout <= GP_MAX_OUT && (!dev->vt->fuses || dev->vt->fuses(dev, p, in));
}

bool gp_program_run(gp_program *p, gp_tensor *const *in, gp_tensor **out, const gp_rng *forward) {
    if (!gp_program_fits(p, in) || !runs_fused(p, in))
        return gp_program_run_steps(p, in, out, forward, NULL, NULL);
    gp_call c;
    gp_call_begin(&c, GP_OP(fused));
    c.name = p->name;
    c.arg[0] = (gp_value){.kind = GP_PROGRAM, .program = p};
    c.arg[1] = (gp_value){.kind = GP_LIST, .n = p->ninputs, .list = (gp_tensor **)in};
    c.nargs = 2;
    if (forward && p->nrandom) {
        gp_call_int(&c, (int64_t)forward->seed);
        gp_call_int(&c, (int64_t)forward->counter);
    }
    if (!gp_op_run(&c)) return false;
    memcpy(out, c.out, (size_t)p->nout * sizeof *out);
    return true;
}
