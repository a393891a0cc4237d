/* gp_op_run, the only place where an op runs. In this order: the row's infer function checks the
 * arguments and gives the shapes; outputs are allocated; the call is ordered after work of other
 * streams on the same storages; it is launched on the device; it is recorded for autograd.
 * Interceptors (intercept.h), such as autocast, see the call first. Views run no kernel. A small op
 * on an idle cpu stream runs on the caller's thread. */
#include "tensor/op.h"

#include <math.h>
#include <string.h>

#include "tensor/call.h"
#include "tensor/memory/alloc.h"
#include "tensor/autograd/grad.h"
#include "tensor/device/card/card.h"
#include "tensor/device/stream/failure.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/intercept.h"
#include "tensor/overlap.h"

_Thread_local const gp_call *gp_running;

_Static_assert(GP_DTYPES <= UINT8_MAX && GP_CUSTOM <= UINT8_MAX && GP_PROGRAM <= UINT8_MAX &&
                   GP_MAX_DIM <= UINT8_MAX,
               "dtypes, kinds and dims are stored in bytes");
_Static_assert(sizeof(gp_value) == 16 && sizeof(gp_array) == 24 + 16 * GP_MAX_DIM,
               "the same in C++, which reads them (kernels/cuda/runtime/loop.cuh)");
_Static_assert(GP_MAX_ARGS <= 32, "gp_list_writes has a bit for each argument");

_Thread_local gp_rng gp_generator = {.seed = 0x5eed};

void gp_manual_seed(uint64_t seed) { gp_generator = (gp_rng){.seed = seed}; }

/* Rows that libraries have added; any thread reads them. */
enum { MAX_ADDED = 512 };
static const gp_op *added[MAX_ADDED];
static atomic_int nadded;

const gp_op *gp_op_row(int i) {
    if (i < GP_ROWS) return &gp_ops[i];
    return i - GP_ROWS < atomic_load(&nadded) ? added[i - GP_ROWS] : NULL;
}

bool gp_op_add(const gp_op *first, size_t size, int n) {
    int have = atomic_load(&nadded);
    if (n > MAX_ADDED - have)
        return gp_fail("%s: libraries have added %d ops, and may add %d", first->name, have,
                       MAX_ADDED);
    for (int i = 0; i < n; i++)
        added[have + i] = (const gp_op *)((const char *)first + (size_t)i * size);
    atomic_store(&nadded, have + n);
    return true;
}

const gp_op *gp_op_find(const char *name) {
    const gp_op *op;
    for (int i = 0; (op = gp_op_row(i)); i++)
        if (!strcmp(op->name, name)) return op;
    return NULL;
}

uint32_t gp_list_writes(const gp_op *op) {
    uint32_t bits = 0;
    const char *s = strncmp(op->sig, "tensors!", 8) ? NULL : op->sig;
    for (int i = 0; s && *s; i++) {
        size_t n = strcspn(s, " ");
        if (s[n - 1] == '!') bits |= 1u << i;
        if ((s = strchr(s, ','))) s += 2;
    }
    return bits;
}

/* Releases the temporaries that infer made: a queued kernel's memory is reused only after it, on
 * its own stream. */
static void drop_tmp(gp_call *c) {
    for (int i = 0; i < c->ntmp; i++) gp_tensor_unref(c->tmp[i]);
    c->ntmp = 0;
}

static void drop_out(gp_call *c) {
    for (int i = 0; i < c->nout; i++) gp_tensor_unref(c->out[i]);
    c->nout = 0;
}

/* Whether both are the same elements in the same order: then each is read before it is written. */
static bool same_view(const gp_array *a, const gp_array *b) {
    if (a->data != b->data || a->dtype != b->dtype || a->ndim != b->ndim) return false;
    for (int i = 0; i < a->ndim; i++)
        if (a->dim[i] != b->dim[i] || (a->dim[i] > 1 && a->stride[i] != b->stride[i])) return false;
    return true;
}

/* Whether an op may write `out` while it reads `in`: only if they are the same elements in the same
 * order, or share none. */
static bool overlap_ok(const gp_call *c, const gp_tensor *out, const gp_tensor *in, int arg) {
    if (out->storage != in->storage || same_view(&out->a, &in->a)) return true;
    if (!gp_arrays_overlap(&out->a, &in->a)) return true;
    return gp_fail("%s_: argument %d shares memory with the tensor that is written, in another "
                   "order; use :clone() on one of them",
                   c->name, arg + 1);
}

/* In place: c->into takes the result. Its shape must be the result's, and its dtype must be able to
 * hold it. */
static bool check_into(gp_call *c, const gp_meta *m) {
    gp_tensor *into = c->into;
    gp_shape have = gp_tensor_shape(into);
    char a[160], b[160];
    if (m->n != 1) return gp_fail("%s: has %d results and no in-place form", c->name, m->n);
    if (into->storage->dev != m->dev)
        return gp_fail("%s_: the result is on %s, the tensor that is written on %s", c->name,
                       m->dev->name, into->storage->dev->name);
    if (!gp_shape_equal(&have, &m->out[0].shape))
        return gp_fail("%s_: the result has shape %s, which does not fit in a tensor of shape %s",
                       c->name, gp_shape_text(&m->out[0].shape, a, sizeof a),
                       gp_shape_text(&have, b, sizeof b));
    if (gp_dtype_kind(m->out[0].dtype) > gp_dtype_kind((gp_dtype)into->a.dtype) && !c->op->converts)
        return gp_fail("%s_: a %s result does not fit in a %s tensor", c->name,
                       gp_dtype_name(m->out[0].dtype), gp_dtype_name((gp_dtype)into->a.dtype));
    if (gp_array_self_overlaps(&into->a))
        return gp_fail("%s_: several elements of the tensor share one place in memory (it was "
                       "expanded or unfolded); use :clone() first",
                       c->name);
    for (int i = 0; i < c->nargs; i++)
        if (c->arg[i].kind == GP_TENSOR && !overlap_ok(c, into, c->arg[i].t, i)) return false;
    return true;
}

/* Adds the op's name to a failure to make a result, if the shape caused it. */
static bool name_shape(const gp_call *c, const gp_shape *s) {
    int64_t numel;
    char text[160];
    return gp_shape_numel(s, &numel)
               ? false
               : gp_fail(
                     "%s: the result has shape %s, which is more elements than a tensor may have",
                     c->name, gp_shape_text(s, text, sizeof text));
}

/* Records the line of the write: backward names it where a tensor that it needs was overwritten. */
static bool begin_write(gp_call *c, gp_tensor *t) {
    gp_storage *st = t->storage;
    if (!gp_at(GP_AT_WRITE, c->name, st)) return false;
    st->version++;
    if (gp_grad_live && !c->loc.file) c->loc = gp_srcloc_here();
    atomic_store_explicit(&st->write_file, c->loc.file, memory_order_relaxed);
    atomic_store_explicit(&st->write_line, c->loc.line, memory_order_relaxed);
    return gp_order_host_write(t->storage, c->name);
}

/* Arguments that the kernel updates besides its results. */
static bool begin_writes(gp_call *c) {
    for (int i = 0; i < c->nargs; i++) {
        gp_value *v = &c->arg[i];
        if ((v->kind != GP_TENSOR && v->kind != GP_LIST) || !v->written) continue;
        if (v->kind == GP_TENSOR && !begin_write(c, v->t)) return false;
        for (int k = 0; v->kind == GP_LIST && k < v->n; k++)
            if (!begin_write(c, v->list[k])) return false;
    }
    return true;
}

/* Makes outputs of m's shapes, with a reference each, in c->out; c->into replaces a new one. */
static bool make_outputs(gp_call *c, const gp_meta *m) {
    if (c->into) {
        if (!check_into(c, m)) return false;
        c->out[c->nout++] = gp_tensor_ref(c->into);
        return begin_write(c, c->into);
    }
    for (int i = 0; i < m->n; i++)
        if (!(c->out[c->nout] = gp_tensor_new(m->dev, m->out[i].dtype, &m->out[i].shape)))
            return name_shape(c, &m->out[i].shape);
        else c->nout++;
    return true;
}

/* Lets s use t's storage from here on, after the work of other streams on it. */
static bool order_tensor(gp_tensor *t, gp_stream *s, bool write) {
    if (!(write ? gp_order_write(t->storage, s) : gp_order_read(t->storage, s))) return false;
    gp_storage_use(t->storage, s);
    return true;
}

/* Orders this call after other streams' work on what it reads and writes, and records its use of
 * other streams' storages, so that freeing them waits for it. New outputs are this stream's own
 * memory. */
static bool order_call(gp_call *c) {
    gp_stream *s = c->stream;
    for (int i = 0; i < c->nargs; i++) {
        const gp_value *v = &c->arg[i];
        if (v->kind == GP_TENSOR && !order_tensor(v->t, s, v->written)) return false;
        for (int j = 0; v->kind == GP_LIST && j < v->n; j++)
            if (!order_tensor(v->list[j], s, v->written)) return false;
    }
    for (int i = 0; i < c->ntmp; i++)
        if (!order_tensor(c->tmp[i], s, false)) return false;
    return !c->into || order_tensor(c->into, s, true);
}

static void note_read(gp_tensor **t, int n) {
    for (int i = 0; i < n; i++) gp_failure_log_read(t[i]->storage);
}

/* Whether a write of t leaves nothing of what its storage held. */
static bool covers_storage(const gp_tensor *t) {
    size_t bytes = (size_t)t->a.numel * gp_dtype_size((gp_dtype)t->a.dtype);
    return t->a.contiguous && bytes >= t->storage->asked;
}

/* From here on, readers on other streams wait for what was just queued. */
static void note_written(gp_call *c, gp_tensor **t, int n, bool checked) {
    for (int i = 0; i < n; i++) {
        gp_storage *st = t[i]->storage;
        gp_order_written(st, c->stream);
        bool whole = covers_storage(t[i]);
        gp_failure_log_write(st, (whole ? GP_WRITE_WHOLE : 0) | (checked ? GP_WRITE_CHECKED : 0));
    }
}

/* Whether the op checks all indices before it writes: ops that write in place at indices and are
 * not formulas. What backward writes so is a gradient in the making, of no use without it. */
static bool checks_first(const gp_call *c) {
    return c->into && c->op->kind == GP_CUSTOM && !c->op->random && !gp_srcloc_of_backward();
}

/* Records what was just queued, after `before` commands of its stream: what it reads, then what it
 * writes. */
static bool note_call(gp_call *c, uint64_t before) {
    gp_failure_log(c->stream, before);
    for (int i = 0; i < c->nargs; i++) {
        gp_value *v = &c->arg[i];
        if (v->kind == GP_TENSOR && !v->unread) note_read(&v->t, 1);
        else if (v->kind == GP_LIST) note_read(v->list, v->n);
    }
    note_read(c->tmp, c->ntmp);
    note_written(c, c->out, c->nout, checks_first(c));
    for (int i = 0; i < c->nargs; i++) {
        gp_value *v = &c->arg[i];
        if (v->kind == GP_TENSOR && v->written) note_written(c, &v->t, 1, false);
        else if (v->kind == GP_LIST && v->written) note_written(c, v->list, v->n, false);
    }
    return gp_failure_log_end();
}

/* Runs c's kernel on the calling thread. */
static bool run_here(gp_call *c) {
    gp_running = c;
    bool ok = gp_cpu_kernels[gp_op_id(c->op)](c);
    gp_running = NULL;
    return ok;
}

/* Whether the host may read what the call reads; and, of what it writes, write. */
static bool host_may(const gp_call *c, gp_tensor *t, bool write) {
    gp_storage *st = t->storage;
    if (write && !gp_host_may_write(st, GP_WHY_join, c->name)) return false;
    return gp_host_ready(st, GP_WHY_join, c->name);
}

/* Waits for the streams that still write what c reads, or use what it writes. */
static bool join_call(const gp_call *c) {
    for (int i = 0; i < c->nargs; i++) {
        const gp_value *v = &c->arg[i];
        if (v->kind == GP_TENSOR && !v->unread && !host_may(c, v->t, v->written)) return false;
        for (int j = 0; v->kind == GP_LIST && j < v->n; j++)
            if (!host_may(c, v->list[j], v->written)) return false;
    }
    for (int i = 0; i < c->ntmp; i++)
        if (!host_may(c, c->tmp[i], false)) return false;
    return !c->into || gp_host_may_write(c->into->storage, GP_WHY_join, c->name);
}

/* Runs c on the host, next to other streams of its device. A tensor that is overwritten as a whole
 * is good again, whatever failed before. */
static bool launch_beside(gp_call *c) {
    if (!join_call(c) || !run_here(c)) return false;
    gp_tensor *t = c->into;
    if (t && covers_storage(t)) gp_failure_forget(t->storage);
    return true;
}

bool gp_op_is_small(const gp_call *c) {
    enum { FEW = 1024 };
    if (c->op->kind >= GP_VIEW || c->into || !c->nout) return false;
    for (int i = 0; i < c->nargs; i++)
        if (c->arg[i].kind == GP_TENSOR && (c->arg[i].written || c->arg[i].t->a.numel > FEW))
            return false;
    return c->out[0]->a.numel <= FEW;
}

/* On an idle stream of the cpu the caller runs a small op itself, once it is ordered: whether it
 * did. One that fails is queued all the same, so that a fork's errors come where its waits are. */
static bool run_small(gp_call *c) {
    gp_stream *s = c->stream;
    if (!s->dev->vt->on_host || gp_stream_queued(s) || !gp_op_is_small(c)) return false;
    bool ok = run_here(c);
    if (!ok) gp_error_clear();
    return ok;
}

/* Order first, launch next, record last: a reader on another stream must not find the record before
 * the work. The line is that of the op, for errors that the next wait raises. */
static bool launch_async(gp_call *c) {
    gp_stream *s = c->stream;
    if (gp_thread_loader())
        return gp_fail(
            "%s: a loader's workers compute on the cpu, not on %s; the batch goes there as "
            "a whole",
            c->name, s->dev->name);
    if (atomic_load_explicit(&gp_failures_unread, memory_order_relaxed) >= GP_FAILURES_UNREAD &&
        gp_failure_collect(s, UINT64_MAX))
        return false;
    if (s->dev->vt->full(s) && !gp_wait_not_full(s)) return false;
    if (!c->loc.file) c->loc = gp_srcloc_here();
    atomic_store_explicit(&s->last_op, c->name, memory_order_relaxed);
    atomic_store_explicit(&s->last_file, c->loc.file, memory_order_relaxed);
    atomic_store_explicit(&s->last_line, c->loc.line, memory_order_relaxed);
    void (*hook)(gp_stream *) = GP_HOOK(launch);
    if (hook) hook(s);
    if (!order_call(c)) return false;
    if (run_small(c) || (s->here && s->here(c, run_here))) return true;
    uint64_t before = atomic_load_explicit(&s->issued, memory_order_relaxed);
    c->tensors = !(gp_kept() & GP_KEEPS_LAUNCHES);
    if (!s->dev->vt->launch(s, c)) return false;
    atomic_store_explicit(&s->last_id, c->id, memory_order_relaxed);
    return note_call(c, before);
}

static void op_end(gp_call *c, bool ok) {
    void (*hook)(gp_call *, bool) = GP_HOOK(op_end);
    if (hook) hook(c, ok);
}

/* Links a view to the tensor that it is a view of: a write into one is a write into the other. */
static void link_base(gp_call *c) {
    gp_tensor *x = c->arg[0].t, *base = x->base ? x->base : x;
    if (c->op->separate) return;
    for (int i = 0; i < c->nout; i++) {
        gp_tensor *t = c->out[i];
        if (t == x || t->storage != x->storage || t->base) continue;
        t->base = gp_tensor_ref(base);
        t->writes = base->writes;
    }
}

/* Runs views, and other ops that need no kernel of their own. */
static bool run_view(gp_call *c) {
    bool ok = c->op->view(c);
    if (c->id) op_end(c, ok);
    if (!ok) drop_out(c);
    else link_base(c);
    return ok;
}

/* Infer, allocate, launch: the body of gp_op_run. The caller owns the outputs' references; on
 * failure there are none, and only version numbers were changed. */
static bool run_call(gp_call *c) {
    const gp_op *op = c->op;
    c->nout = c->ntmp = 0;
    c->loc = (gp_srcloc){0};
    c->seed = c->counter = 0;
    void (*begin)(gp_call *) = GP_HOOK(op_begin);
    c->id = begin ? gp_next_id() : 0;
    if (begin) begin(c);
    if (op->kind == GP_VIEW) return run_view(c);
    gp_meta m;
    bool ok = op->infer(c, &m) && make_outputs(c, &m) && begin_writes(c);
    if (ok) {
        c->stream = gp_stream_current(m.dev);
        gp_host_count(c);
        if (op->random) {
            c->seed = gp_generator.seed;
            c->counter = gp_generator.counter++;
        }
        ok = atomic_load_explicit(&c->stream->alone, memory_order_relaxed) ? run_here(c)
             : c->stream->async                                            ? launch_async(c)
                                                                           : launch_beside(c);
    }
    if (c->id) op_end(c, ok);
    ok = ok && gp_at(GP_AT_LAUNCH, c->name, c);
    drop_tmp(c);
    if (!ok) drop_out(c);
    return ok;
}

/* Runs c and records it. Ops that an op runs while it infers are not recorded: they are its own
 * business. */
static bool run_recorded(gp_call *c) {
    gp_node *node;
    if (!gp_tape_begin(c, &node)) return false;
    if (node && c->op->recorded) c->op = &gp_ops[c->op->recorded];
    gp_no_grad++;
    bool ok = run_call(c);
    gp_no_grad--;
    if (!node) return ok;
    if (!ok) return gp_node_unref(node), false;
    if (gp_tape_end(node, c)) return true;
    drop_out(c);
    return false;
}

static bool run_given(gp_call *c) {
    return gp_grad_live && !gp_no_grad ? run_recorded(c) : run_call(c);
}

static bool run_by(const gp_interceptor *i, gp_call *c) {
    while (i && !i->run) i = i->next;
    return i ? i->run(i, c) : run_given(c);
}

bool gp_op_run_below(const gp_interceptor *self, gp_call *c) { return run_by(self->next, c); }

bool gp_op_run(gp_call *c) { return gp_intercepted() ? run_by(gp_intercepting, c) : run_given(c); }

void gp_call_begin(gp_call *c, const gp_op *op) {
    c->op = op;
    c->name = op->name;
    c->into = NULL;
    c->requires_grad = c->replayed = false;
    c->nargs = c->nints = 0;
}

void gp_call_tensor(gp_call *c, gp_tensor *t) {
    c->arg[c->nargs++] = (gp_value){.kind = t ? GP_TENSOR : GP_NONE, .t = t};
}
void gp_call_int(gp_call *c, int64_t i) { c->arg[c->nargs++] = (gp_value){.kind = GP_INT, .i = i}; }
void gp_call_none(gp_call *c) { c->arg[c->nargs++] = (gp_value){.kind = GP_NONE}; }

void gp_call_number(gp_call *c, gp_scalar s) {
    gp_value *v = &c->arg[c->nargs++];
    *v = (gp_value){.kind = GP_NUMBER, .is_float = s.is_float};
    if (s.is_float) v->f = s.f;
    else v->i = s.i;
}

void gp_call_ints(gp_call *c, const int64_t *v, int n) {
    c->arg[c->nargs++] = (gp_value){.kind = GP_INTS, .n = n, .i = c->nints};
    memcpy(c->ints + c->nints, v, (size_t)n * sizeof *v);
    c->nints += n;
}

gp_tensor *gp_call_one(gp_call *c) {
    if (!gp_op_run(c)) return NULL;
    for (int i = 1; i < c->nout; i++) gp_tensor_unref(c->out[i]);
    return c->out[0];
}
