/* Replays: a capture's calls, launched again as they were resolved. A replay sets the addresses of
 * its inputs and results in the recorded calls, orders itself after the work of other streams on
 * the storages that it uses, and then runs lane by lane: on the caller's thread, as one command of
 * a stream's queue, or as graphs between copies of inputs and results. Afterwards it gives results,
 * gradients and versions as the function itself would have. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/call.h"
#include "tensor/capture/list.h"
#include "tensor/device/card/model.h"
#include "tensor/device/device.h"
#include "tensor/device/stream/failure.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/memory/alloc.h"

enum { FEW = 64 };

/* ---- one replay ---- */

typedef struct replay {
    gp_capture *k;
    gp_stream *stream;
    gp_tensor *const *in;
    gp_replay_values v;
    gp_storage **given; /* by dynamic: new storages; NULL for inputs */
    gp_tensor **after;  /* by leaf */
    gp_leaf **leaf;
    bool graphs;                       /* its calls run in graphs, at their addresses */
    uint64_t before[GP_CAPTURE_LANES]; /* by lane: commands of its stream */
} replay;

/* Sets in c, a copy of call i or that call itself, and in its arrays what differs in this
 * replay. */
static void set_call(const gp_replay_values *v, int i, gp_call *c, gp_array *array) {
    const gp_recorded *r = v->capture->call[i];
    uintptr_t bits = v->capture->stream->dev->vt->host_bits;
    for (int f = 0; f < r->nfixups; f++) {
        char *at = v->address[r->fixup[f].dynamic] + r->fixup[f].offset;
        array[r->fixup[f].array].data = bits ? (char *)((uintptr_t)at & bits) : at;
    }
    if (r->draws) c->seed = v->rng.seed, c->counter = v->rng.counter + r->drawn;
    for (int n = r->numbers; n < r->numbers + r->nnumbers; n++)
        c->arg[v->capture->number[n]].f = v->number[n];
    if (!r->seed) return;
    c->arg[r->seed].i = (int64_t)v->rng.seed;
    c->arg[r->seed + 1].i = (int64_t)(v->rng.counter + r->counter);
}

static bool run_call(const gp_replay_values *v, int i) {
    gp_recorded *r = v->capture->call[v->first + i];
    if (r->varies) set_call(v, v->first + i, &r->call, r->array);
    gp_running = &r->call;
    if (r->single) gp_thread_single(true);
    bool ok = r->kernel(&r->call);
    if (r->single) gp_thread_single(false);
    gp_running = NULL;
    return ok;
}

static const gp_call *call_of(const gp_replay_values *v, int i) {
    return &v->capture->call[v->first + i]->call;
}

static gp_replay_values *copy_values(const gp_replay_values *v) {
    size_t n = (size_t)v->capture->ndynamic, m = (size_t)v->capture->nnumbers;
    gp_replay_values *to = malloc(sizeof *to + n * sizeof *to->address + m * sizeof *to->number);
    if (!to) return gp_fail_null("capture: out of memory");
    *to = *v;
    to->address = (char **)(to + 1);
    if (n) memcpy(to->address, v->address, n * sizeof *to->address);
    if (m) to->number = memcpy(to->address + n, v->number, m * sizeof *to->number);
    atomic_fetch_add_explicit(&v->capture->queued, 1, memory_order_relaxed);
    return to;
}

static void free_values(gp_replay_values *v) {
    atomic_fetch_sub_explicit(&v->capture->queued, 1, memory_order_release);
    free(v);
}

static const gp_replayer replayer = {copy_values, free_values, call_of, run_call};

bool gp_capture_launch(const gp_replay_values *v, int i, gp_stream *s) {
    const gp_recorded *r = v->capture->call[i];
    void (*begin)(gp_call *) = GP_HOOK(op_begin);
    void (*end)(gp_call *, bool) = GP_HOOK(op_end);
    gp_call c;
    gp_array few[FEW],
        *array = r->narrays <= FEW ? few : malloc(sizeof *array * (size_t)r->narrays);
    if (!array) return gp_fail("capture: out of memory");
    gp_call_copy(&c, &r->call, array, ~(uintptr_t)0);
    set_call(v, i, &c, array);
    c.stream = s;
    c.replayed = true;
    c.id = begin ? gp_next_id() : 0;
    gp_srcloc_set_forward(r->call.loc);
    if (begin) begin(&c);
    gp_running = &c;
    bool ok = s->async ? s->dev->vt->launch(s, &c) : r->kernel(&c);
    atomic_store_explicit(&s->last_id, c.id, memory_order_relaxed);
    gp_running = NULL;
    if (end && c.id) end(&c, ok);
    gp_srcloc_set_forward((gp_srcloc){0});
    if (array != few) free(array);
    return ok;
}

/* The input whose storage that slot is. */
static gp_tensor *input_of(const replay *p, int slot) {
    int i = 0;
    while (p->k->input_slot[i] != slot) i++;
    return p->in[i];
}

static void release(replay *p, gp_tensor **out) {
    for (int i = 0; i < p->k->ndynamic; i++)
        if (p->given[i]) gp_storage_unref(p->given[i]);
    for (int i = 0; i < p->k->nleaves; i++) gp_tensor_unref(p->after[i]);
    for (int i = 0; i < p->k->nresults; i++) gp_tensor_unref(out[i]);
}

/* Sets the addresses of this replay, and makes the storages that it gives. */
static bool allocate(replay *p) {
    for (int i = 0; i < p->k->ndynamic; i++) {
        const gp_capture_slot *s = &p->k->slot[p->k->dynamic[i]];
        bool input = s->kind == GP_SLOT_INPUT;
        if (!input && (!p->graphs || s->result) &&
            !(p->given[i] = gp_storage_new(p->stream, s->bytes)))
            return false;
        if (p->graphs) continue;
        p->v.address[i] = input ? input_of(p, p->k->dynamic[i])->a.data : p->given[i]->data;
    }
    return true;
}

/* A tensor that the replay gives; a new reference. gradient: graphs give it where they write it. */
static gp_tensor *give(const replay *p, const gp_capture_output *g, bool gradient) {
    if (g->how == GP_GIVE_SAME) return gp_tensor_ref(g->same);
    if (g->how == GP_GIVE_INPUT) return gp_tensor_ref(p->in[g->input]);
    const gp_capture_slot *s = &p->k->slot[g->slot];
    gp_tensor *x = s->kind == GP_SLOT_INPUT ? input_of(p, g->slot) : NULL;
    gp_storage *st = x                       ? x->storage
                     : p->graphs && gradient ? p->k->graphs->own[s->dynamic]
                                             : p->given[s->dynamic];
    gp_tensor *t = gp_tensor_wrap(gp_storage_ref(st), (gp_dtype)g->a.dtype, &(gp_shape){0});
    if (!t) return NULL;
    t->a = g->a;
    t->a.data = (x ? p->v.address[s->dynamic] : st->data) + g->offset;
    if (!x) return t;
    t->base = gp_tensor_ref(x->base ? x->base : x);
    t->writes = t->base->writes;
    return t;
}

static bool give_all(replay *p, gp_tensor **out) {
    for (int i = 0; i < p->k->nresults; i++)
        if (!(out[i] = give(p, &p->k->result[i], false))) return false;
    for (int i = 0; i < p->k->nleaves; i++) {
        const gp_capture_output *g = &p->k->leaf[i].after;
        if (g->how != GP_GIVE_NONE && !(p->after[i] = give(p, g, true))) return false;
    }
    return true;
}

/* The gradients of the leaves are those of this replay from here on. */
static void set_leaves(replay *p) {
    for (int i = 0; i < p->k->nleaves; i++) {
        gp_leaf *l = p->leaf[i];
        gp_tensor *before = l->grad;
        l->grad = p->after[i];
        p->after[i] = NULL;
        gp_tensor_unref(before);
    }
}

/* Calls fn for each storage from outside that the calls use. */
static bool each_outside(replay *p,
                         bool (*fn)(replay *p, const gp_capture_slot *s, gp_storage *st)) {
    const gp_capture *k = p->k;
    for (int n = 0; n < k->noutside; n++) {
        const gp_capture_slot *s = &k->slot[k->outside[n]];
        if (s->first < 0) continue;
        gp_tensor *t = s->kind == GP_SLOT_INPUT ? input_of(p, k->outside[n]) : NULL;
        if (!fn(p, s, t ? t->storage : s->st)) return false;
    }
    return true;
}

/* What is written in place counts so for autograd. */
static bool count_writes(replay *p, const gp_capture_slot *s, gp_storage *st) {
    if (!s->writes || s->made) return true;
    st->version += (uint32_t)s->writes;
    gp_srcloc at = gp_grad_live ? gp_srcloc_here() : (gp_srcloc){0};
    atomic_store_explicit(&st->write_file, at.file, memory_order_relaxed);
    atomic_store_explicit(&st->write_line, at.line, memory_order_relaxed);
    return gp_order_host_write(st, "capture");
}

/* ---- on the host ---- */

static bool failed_at(const gp_call *c) {
    char text[900];
    snprintf(text, sizeof text, "%s", gp_error());
    return gp_fail("%s (in the captured function, %s:%d)", text, c->loc.file ? c->loc.file : "?",
                   c->loc.line);
}

static bool join_outside(replay *p, const gp_capture_slot *s, gp_storage *st) {
    if (s->written && !gp_host_may_write(st, GP_WHY_join, "capture")) return false;
    if (!s->filled && !gp_host_ready(st, GP_WHY_join, "capture")) return false;
    if (s->filled) gp_failure_forget(st);
    return true;
}

/* The calls of a part that the host runs itself. */
static bool run_part_here(const gp_replay_values *v, const gp_capture_span *e, gp_stream *s) {
    bool hooked = GP_HOOK(op_begin) != NULL;
    for (int i = e->first; i < e->first + e->n; i++) {
        if (gp_thread_stopped()) return gp_fail("interrupted!");
        if (!(hooked ? gp_capture_launch(v, i, s) : run_call(v, i)))
            return failed_at(&v->capture->call[i]->call);
    }
    return true;
}

/* ---- on a queue ---- */

static bool order_outside(replay *p, const gp_capture_slot *s, gp_storage *st) {
    bool ok = s->written ? gp_order_write(st, p->stream) && gp_order_read(st, p->stream)
                         : gp_order_read(st, p->stream);
    if (ok) gp_storage_use(st, p->stream);
    return ok;
}

static bool log_read(replay *p, const gp_capture_slot *s, gp_storage *st) {
    if (!s->filled) gp_failure_log_read(st);
    return true;
}

static bool log_write(replay *p, const gp_capture_slot *s, gp_storage *st) {
    if (!s->written) return true;
    gp_order_written(st, p->stream);
    gp_failure_log_write(st, s->filled ? GP_WRITE_WHOLE : 0);
    return true;
}

/* How much each lane's stream had queued before the replay. */
static void begin_log(replay *p) {
    for (int l = 1; l < p->k->nlanes; l++)
        p->before[l] = atomic_load_explicit(&p->k->lane[l]->issued, memory_order_relaxed);
}

/* What the lanes queued may have failed, and so all that the replay writes. */
static bool log_lanes(replay *p) {
    const gp_capture *k = p->k;
    bool ok = true;
    for (int l = 1; l < k->nlanes; l++) {
        if (k->lane[l] == p->stream) continue;
        gp_failure_log(k->lane[l], p->before[l]);
        for (int i = 0; i < k->noutside; i++) {
            const gp_capture_slot *s = &k->slot[k->outside[i]];
            if (s->first < 0 || !s->written) continue;
            gp_tensor *t = s->kind == GP_SLOT_INPUT ? input_of(p, k->outside[i]) : NULL;
            gp_failure_log_write(t ? t->storage : s->st, 0);
        }
        for (int i = 0; i < k->ndynamic; i++)
            if (p->given[i]) gp_failure_log_write(p->given[i], 0);
        ok = gp_failure_log_end() && ok;
    }
    return ok;
}

/* Records what was queued, after `before` commands. */
static bool note(replay *p, uint64_t before) {
    gp_failure_log(p->stream, before);
    each_outside(p, log_read);
    each_outside(p, log_write);
    for (int i = 0; i < p->k->ndynamic; i++) {
        bool given = p->k->slot[p->k->dynamic[i]].kind == GP_SLOT_GIVEN;
        gp_storage *st = given && p->graphs && !p->given[i] ? p->k->graphs->own[i] : p->given[i];
        if (!st) continue;
        gp_order_written(st, p->stream);
        gp_failure_log_write(st, GP_WRITE_WHOLE);
    }
    if (p->k->block) gp_order_written(p->k->block, p->stream);
    return gp_failure_log_end();
}

static bool order_block(replay *p) {
    gp_storage *st = p->k->block;
    if (!st) return true;
    if (!gp_order_write(st, p->stream) || !gp_order_read(st, p->stream)) return false;
    gp_storage_use(st, p->stream);
    return true;
}

static void set_last(gp_stream *s, const gp_call *c) {
    atomic_store_explicit(&s->last_op, c->name, memory_order_relaxed);
    atomic_store_explicit(&s->last_file, c->loc.file, memory_order_relaxed);
    atomic_store_explicit(&s->last_line, c->loc.line, memory_order_relaxed);
}

/* Runs the graphs, between copies of the inputs and of the results. */
static bool run_graphs(replay *p) {
    gp_capture *k = p->k;
    gp_storage **own = k->graphs->own;
    for (int i = 0; i < k->ninputs; i++) {
        const gp_capture_slot *s = &k->slot[k->input_slot[i]];
        const gp_tensor *t = p->in[i];
        size_t bytes = (size_t)t->a.numel * gp_dtype_size((gp_dtype)t->a.dtype);
        if (!gp_capture_graphs_copy(own[s->dynamic], t->storage, bytes,
                                    (size_t)(t->a.data - t->storage->data)))
            return false;
    }
    if (!gp_capture_graphs_launch(&p->v)) return false;
    for (int i = 0; i < k->ndynamic; i++) {
        if (k->slot[k->dynamic[i]].kind == GP_SLOT_GIVEN) gp_order_written(own[i], p->stream);
        if (p->given[i] &&
            !gp_capture_graphs_copy(p->given[i], own[i], k->slot[k->dynamic[i]].bytes, 0))
            return false;
    }
    k->graphs->upto = atomic_load_explicit(&p->stream->issued, memory_order_relaxed);
    return true;
}

/* Queues the calls of a part as one command, or one by one where an observer is to see each. */
static bool queue_part(const gp_replay_values *v, const gp_capture_span *e, gp_stream *s) {
    const gp_device_vt *vt = s->dev->vt;
    gp_recorded *const *call = v->capture->call;
    bool hooked = GP_HOOK(op_begin) != NULL;
    void (*hook)(gp_stream *) = GP_HOOK(launch);
    for (int i = e->first; (hooked || !vt->replay) && i < e->first + e->n; i++) {
        if (vt->full(s) && !gp_wait_not_full(s)) return false;
        set_last(s, &call[i]->call);
        if (hook) hook(s);
        if (!gp_capture_launch(v, i, s)) return false;
    }
    if (hooked || !vt->replay) return true;
    if (vt->full(s) && !gp_wait_not_full(s)) return false;
    set_last(s, &call[e->first + e->n - 1]->call);
    if (hook) hook(s);
    gp_replay_values part = *v;
    part.first = e->first, part.n = e->n;
    return vt->replay(s, &part);
}

static bool run_part(const gp_replay_values *v, const gp_capture_span *e, gp_stream *s) {
    return s->async ? queue_part(v, e, s) : run_part_here(v, e, s);
}

static bool run_here(replay *p) {
    bool alone = atomic_load_explicit(&p->stream->alone, memory_order_relaxed);
    if (!alone && !each_outside(p, join_outside)) return false;
    if (!alone && p->k->block && !gp_host_may_write(p->k->block, GP_WHY_join, "capture"))
        return false;
    if (p->k->nlanes <= 1) return run_part_here(&p->v, &p->k->part[0], p->stream);
    begin_log(p);
    bool ok = gp_capture_run_parts(&p->v, p->stream, run_part);
    return log_lanes(p) && ok;
}

static bool launch(replay *p) {
    gp_stream *s = p->stream;
    if (gp_thread_loader())
        return gp_fail("capture: a loader's workers compute on the cpu, not on %s", s->dev->name);
    if (atomic_load_explicit(&gp_failures_unread, memory_order_relaxed) >= GP_FAILURES_UNREAD &&
        gp_failure_collect(s, UINT64_MAX))
        return false;
    if (!each_outside(p, order_outside) || !order_block(p)) return false;
    uint64_t before = atomic_load_explicit(&s->issued, memory_order_relaxed);
    begin_log(p);
    gp_model_graph_begin();
    bool ok = p->graphs ? run_graphs(p) : gp_capture_run_parts(&p->v, s, run_part);
    gp_model_graph_end();
    return note(p, before) && (p->graphs || log_lanes(p)) && ok;
}

/* ---- the whole ---- */

static bool replay_calls(replay *p, gp_tensor **out) {
    gp_capture *k = p->k;
    if (!allocate(p) || !give_all(p, out)) return false;
    if (!k->ncalls) return true;
    if (!each_outside(p, count_writes)) return false;
    gp_generator.counter += k->draws;
    return p->stream->async ? launch(p) : run_here(p);
}

/* The body of gp_capture_replay, with room for what it needs. */
static bool replay_in(replay *p, void **memory, gp_tensor **out) {
    gp_capture *k = p->k;
    p->given = (gp_storage **)memory;
    p->after = (gp_tensor **)(memory + k->ndynamic);
    p->leaf = (gp_leaf **)(memory + k->ndynamic + k->nleaves);
    p->v.address = (char **)(memory + k->ndynamic + 2 * k->nleaves);
    if (!gp_capture_same_leaves(k, p->in, p->leaf)) return false;
    p->graphs = p->stream && gp_capture_graphs_ready(k, p->stream, p->leaf);
    if (p->graphs) p->v.address = k->graphs->address;
    bool ok = replay_calls(p, out);
    if (ok) set_leaves(p);
    else release(p, out);
    for (int i = 0; ok && i < k->ndynamic; i++)
        if (p->given[i]) gp_storage_unref(p->given[i]);
    return ok;
}

bool gp_capture_replay(gp_capture *k, gp_tensor *const *in, const double *numbers,
                       gp_tensor **out) {
    if (!gp_capture_same(k, in)) return false;
    size_t n = 2 * ((size_t)k->ndynamic + (size_t)k->nleaves);
    void *few[3 * FEW], **memory = n <= 3 * FEW ? few : malloc(n * sizeof *memory);
    if (!memory) return gp_fail("capture: out of memory");
    memset(memory, 0, n * sizeof *memory);
    memset(out, 0, (size_t)k->nresults * sizeof *out);
    replay p = {.k = k,
                .stream = k->stream ? gp_stream_current(k->stream->dev) : NULL,
                .in = in,
                .v = {.by = &replayer, .capture = k, .rng = gp_generator, .number = numbers}};
    bool ok = replay_in(&p, memory, out);
    if (memory != few) free(memory);
    return ok;
}
