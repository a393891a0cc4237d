/* Recording: the calls that gp_op_run launches while a function runs, and the storages that they
 * use. */
#include <stdlib.h>
#include <string.h>

#include "tensor/call.h"
#include "tensor/capture/list.h"
#include "tensor/fuse/program.h"
#include "tensor/memory/alloc.h"
#include "tensor/intercept.h"
#include "tensor/sig.h"

enum { BUCKETS = 4096 };

_Thread_local gp_capture *gp_capturing;

/* Makes room for one more in an array of entries of that size. */
static bool reserve(void *array, int n, int *capacity, size_t size) {
    void **at = array;
    if (n < *capacity) return true;
    int more = *capacity ? 2 * *capacity : 32;
    void *to = realloc(*at, (size_t)more * size);
    if (!to) return gp_fail("capture: out of memory");
    *at = to;
    *capacity = more;
    return true;
}
#define RESERVE(array, n, capacity) reserve(&(array), n, &(capacity), sizeof *(array))

/* ---- storages ---- */

static unsigned bucket_of(const gp_storage *st) {
    uint64_t h = (uint64_t)(uintptr_t)st * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(h >> 52) % BUCKETS;
}

static int find(const gp_capture *k, const gp_storage *st) {
    int i = k->bucket[bucket_of(st)];
    while (i >= 0 && k->slot[i].st != st) i = k->slot[i].next;
    return i;
}

/* Adds a slot for st, which has none. -1 with a message. */
static int add(gp_capture *k, gp_storage *st, gp_capture_slot_kind kind, bool made) {
    if (!RESERVE(k->slot, k->nslots, k->slots_capacity)) return -1;
    unsigned b = bucket_of(st);
    k->slot[k->nslots] = (gp_capture_slot){.kind = (uint8_t)kind,
                                           .made = made,
                                           .first = -1,
                                           .last = -1,
                                           .lane = -1,
                                           .writer = -1,
                                           .st = st,
                                           .dev = st->dev,
                                           .data = st->data,
                                           .bytes = st->bytes,
                                           .dynamic = -1,
                                           .next = k->bucket[b]};
    memset(k->slot[k->nslots].reader, -1, sizeof k->slot->reader);
    return k->bucket[b] = k->nslots++;
}

/* Its memory is as it is in each replay. */
static void fix(gp_capture_slot *s) {
    if (s->kind != GP_SLOT_OURS) return;
    s->kind = GP_SLOT_FIXED;
    gp_storage_ref(s->st);
}

/* The slot of st, which is there from before the recording where it has none yet. */
static int slot_of(gp_capture *k, gp_storage *st) {
    int i = find(k, st);
    if (i >= 0) return i;
    i = add(k, st, GP_SLOT_FIXED, false);
    if (i >= 0) gp_storage_ref(st);
    return i;
}

static bool note_made(gp_capture *k, gp_storage *st) {
    if (add(k, st, GP_SLOT_OURS, true) < 0) k->failed = true;
    return true;
}

static bool note_dropped(gp_capture *k, gp_storage *st) {
    int i = find(k, st), *at = &k->bucket[bucket_of(st)];
    if (i < 0) return true;
    while (*at != i) at = &k->slot[*at].next;
    *at = k->slot[i].next;
    k->slot[i].dead = true;
    k->slot[i].st = NULL;
    return true;
}

/* ---- calls ---- */

static bool covers(const gp_array *a, const gp_storage *st) {
    size_t bytes = (size_t)a->numel * gp_dtype_size((gp_dtype)a->dtype);
    return a->contiguous && bytes >= st->asked;
}

/* What the host has put into a tensor is there only once: a call must not change it and read it
 * again. */
static bool may_write(const gp_call *c, const gp_capture_slot *s) {
    if (s->kind != GP_SLOT_FIXED || !s->made || !s->read) return true;
    return gp_fail("%s: writes in place to a tensor that the captured function makes from values "
                   "of the host: a replay would not make it again; make it by an op (zeros, full, "
                   "arange), or before the call",
                   c->name);
}

/* Notes that r, the next call, uses s. */
static void note_use(gp_capture *k, gp_recorded *r, gp_capture_slot *s) {
    gp_capture_follow(k, r, s->writer);
    s->lane = s->lane < 0 || s->lane == r->lane ? r->lane : GP_CAPTURE_LANES;
    s->last = k->ncalls;
    if (s->first < 0) s->first = k->ncalls;
}

/* Notes that r reads st. */
static bool note_read(gp_capture *k, gp_recorded *r, gp_storage *st, int *slot) {
    if ((*slot = slot_of(k, st)) < 0) return false;
    gp_capture_slot *s = &k->slot[*slot];
    if (!s->filled && s->made) fix(s);
    s->read = true;
    note_use(k, r, s);
    s->reader[r->lane] = k->ncalls;
    return true;
}

static bool note_write(gp_capture *k, gp_recorded *r, const gp_tensor *t, int *slot) {
    if ((*slot = slot_of(k, t->storage)) < 0) return false;
    gp_capture_slot *s = &k->slot[*slot];
    if (!s->read && !s->written && covers(&t->a, t->storage)) s->filled = true;
    if (!s->filled && s->made) fix(s);
    if (!may_write(&r->call, s)) return false;
    s->written = true;
    s->writes++;
    note_use(k, r, s);
    for (int i = 0; i < k->nlanes; i++) gp_capture_follow(k, r, s->reader[i]);
    s->writer = k->ncalls;
    return true;
}

/* Notes the tensors of c in the order of its copy's arrays; reads come before writes. */
static bool note_arrays(gp_capture *k, const gp_call *c, gp_recorded *r) {
    int n = c->nout, ok = 1;
    int *slot = r->slot;
    for (int i = 0; i < r->narrays; i++) slot[i] = -1;
    for (int i = 0; ok && i < c->ntmp; i++) ok = note_read(k, r, c->tmp[i]->storage, &slot[n++]);
    for (int i = 0; ok && i < c->nargs; i++) {
        const gp_value *v = &c->arg[i];
        if (v->kind == GP_TENSOR) {
            if (!v->unread) ok = note_read(k, r, v->t->storage, &slot[n]);
            if (ok && v->written) ok = note_write(k, r, v->t, &slot[n]);
            n++;
        }
        if (v->kind != GP_LIST) continue;
        for (int j = 0; ok && j < v->n; j++) {
            ok = note_read(k, r, v->list[j]->storage, &slot[n + j]);
            if (ok && v->written) ok = note_write(k, r, v->list[j], &slot[n + j]);
        }
        n += 2 * v->n; /* the list's pointers follow its arrays */
    }
    for (int i = 0; ok && i < c->nout; i++) ok = note_write(k, r, c->out[i], &slot[i]);
    return ok;
}

/* The argument of c that is a seed, followed by the counter: of gradients of random ops. */
static int seed_of(const gp_call *c) {
    gp_sig sig;
    if (!strstr(c->op->sig, " seed") || !gp_sig_parse(c->op->sig, &sig)) return 0;
    for (int i = 1; i + 1 < c->nargs; i++)
        if (!strcmp(sig.p[i].name, "seed") && c->arg[i].kind == GP_INT) return i;
    return 0;
}

/* Whether a call in this recording has drawn, or begun from, these numbers. */
static bool drawn_here(const gp_capture *k, uint64_t seed, uint64_t counter) {
    return seed == k->rng.seed && counter - k->rng.counter < k->draws;
}

/* c as a replay needs it: relative to the generator. */
static void make_relative(gp_capture *k, gp_recorded *r) {
    gp_call *c = &r->call;
    uint64_t drawn = gp_generator.counter - k->rng.counter;
    if (gp_generator.seed == k->rng.seed && drawn > k->draws) k->draws = drawn;
    r->draws = drawn_here(k, c->seed, c->counter);
    r->drawn = c->counter - k->rng.counter;
    int i = seed_of(c);
    if (!i || !drawn_here(k, (uint64_t)c->arg[i].i, (uint64_t)c->arg[i + 1].i)) return;
    r->seed = i;
    r->counter = (uint64_t)c->arg[i + 1].i - k->rng.counter;
}

static bool one_device(gp_capture *k, const gp_call *c) {
    if (!k->stream) {
        k->stream = c->stream;
        k->loc = gp_srcloc_here();
        gp_capture_add_home(k, c->stream->dev);
    }
    return k->stream->dev == c->stream->dev ||
           gp_fail("%s: runs on %s, other ops of the captured function on %s: it keeps to one "
                   "device",
                   c->name, c->stream->dev->name, k->stream->dev->name);
}

static gp_recorded *copy_of(const gp_call *c) {
    int n = gp_call_arrays(c);
    gp_recorded *r = calloc(1, sizeof *r + (size_t)n * (sizeof *r->array + sizeof *r->slot));
    if (!r) return gp_fail_null("capture: out of memory");
    gp_call_copy(&r->call, c, r->array, ~(uintptr_t)0);
    r->call.loc = gp_srcloc_here();
    r->single = c->stream->async && c->stream->dev->vt->on_host;
    r->narrays = n;
    r->slot = (int *)(r->array + n);
    for (int i = 0; i < c->nargs; i++)
        if (c->arg[i].kind == GP_PROGRAM) gp_program_ref(c->arg[i].program);
    return r;
}

static void free_call(gp_recorded *r) {
    for (int i = 0; i < r->call.nargs; i++)
        if (r->call.arg[i].kind == GP_PROGRAM) gp_program_unref(r->call.arg[i].program);
    free(r->fixup);
    free(r);
}

/* Whether c, of a fork, is less work than handing it to another thread, and needs nothing of one:
 * the caller runs it, as it did. */
static bool small_at_home(const gp_capture *k, const gp_call *c) {
    if (!c->stream->dev->vt->on_host || !gp_op_is_small(c)) return false;
    for (int i = 0; i < c->nargs + c->ntmp; i++) {
        const gp_tensor *t = i >= c->nargs                 ? c->tmp[i - c->nargs]
                             : c->arg[i].kind == GP_TENSOR ? c->arg[i].t
                                                           : NULL;
        int s = t ? find(k, t->storage) : -1;
        if (s >= 0 && k->slot[s].writer >= 0 && k->call[k->slot[s].writer]->lane) return false;
        if (i < c->nargs && c->arg[i].kind == GP_LIST) return false;
    }
    return true;
}

static bool note_call(const gp_call *c) {
    gp_capture *k = gp_capturing;
    gp_recorded *r =
        one_device(k, c) && RESERVE(k->call, k->ncalls, k->calls_capacity) ? copy_of(c) : NULL;
    if (!r) return k->failed = true, false;
    gp_capture_begin_call(k, r, small_at_home(k, c) ? k->lane[0] : c->stream);
    if (!note_arrays(k, c, r)) return free_call(r), k->failed = true, false;
    make_relative(k, r);
    k->call[k->ncalls++] = r;
    return true;
}

/* The argument of c that its signature calls name, if it is a number; -1. */
static int argument(const gp_call *c, const char *name) {
    gp_sig sig;
    if (!gp_sig_parse(c->op->sig, &sig)) return -1;
    for (int i = 0; i < c->nargs; i++)
        if (!strcmp(sig.p[i].name, name) && c->arg[i].kind == GP_FLOAT) return i;
    return -1;
}

bool gp_capture_number(const char *name, double value, bool *found) {
    gp_capture *k = gp_capturing;
    gp_recorded *r = k->ncalls ? k->call[k->ncalls - 1] : NULL;
    int i = r ? argument(&r->call, name) : -1;
    *found = i >= 0 && r->call.arg[i].f == value;
    if (!*found) return true;
    if (!RESERVE(k->number, k->nnumbers, k->numbers_capacity)) return k->failed = true, false;
    if (!r->nnumbers++) r->numbers = k->nnumbers;
    k->number[k->nnumbers++] = i;
    return true;
}

/* ---- what else a function does ---- */

bool gp_capture_refuse_draw(const char *what) {
    if (gp_capturing) gp_capturing->failed = true;
    return gp_fail("%s: a function that is captured or fused draws no numbers of Lua's generator: "
                   "its next call would not draw again; use rand, or pass them as tensors",
                   what);
}

/* For memory, or for what other streams and ranks compute, a captured function waits: that decides
 * nothing. */
static bool may_wait(gp_why why) {
    return why == GP_WHY_alloc || why == GP_WHY_join || why == GP_WHY_reuse ||
           why == GP_WHY_collective;
}

static bool refuse(const char *what) {
    gp_capturing->failed = true;
    return gp_fail("%s: a captured function cannot read the values of tensors, or wait: a replay "
                   "would not decide by them again; use where to choose by elements, or return "
                   "the tensor and read it after the call",
                   what);
}

static bool note_rng(gp_capture *k) {
    int most = sizeof k->seen / sizeof *k->seen;
    k->seen[k->nseen++ % most] = gp_generator.counter;
    return true;
}

/* The generator's state may be set to one that this call of the function read. */
static bool may_seed(const gp_rng *state, const char *what) {
    gp_capture *k = gp_capturing;
    int most = sizeof k->seen / sizeof *k->seen;
    for (int i = 0; i < k->nseen && i < most; i++)
        if (state->seed == k->rng.seed && state->counter == k->seen[i]) return true;
    k->failed = true;
    return gp_fail("%s: a captured function cannot set the generator, but to a state that it has "
                   "read itself: do it before the call",
                   what);
}

static bool note_leaf(gp_leaf *l, bool writes) {
    gp_capture *k = gp_capturing;
    for (int i = 0; i < k->nleaves; i++)
        if (k->leaf[i].leaf == l) return true;
    if (!RESERVE(k->leaf, k->nleaves, k->leaves_capacity)) return false;
    gp_captured_leaf *c = &k->leaf[k->nleaves++];
    *c = (gp_captured_leaf){.leaf = l, .input = -1, .read = !writes, .loc = gp_srcloc_here()};
    l->refs++;
    if (l->grad) c->before = gp_tensor_ref(l->grad);
    for (int i = 0; i < k->ninputs; i++)
        if (k->input[i]->leaf == l) c->input = i;
    return true;
}

/* ---- beginning and end ---- */

static bool note_input(gp_capture *k, int i, gp_tensor *t, int arg) {
    int s = find(k, t->storage);
    if (s < 0) {
        if ((s = add(k, t->storage, GP_SLOT_INPUT, false)) < 0) return false;
        k->slot[s].data = t->a.data;
    }
    gp_tensor_node(t);
    k->like[i].a = t->a;
    k->like[i].requires_grad = t->requires_grad;
    k->like[i].storage = t->storage;
    k->input[i] = gp_tensor_ref(t);
    k->input_slot[i] = s;
    k->arg[i] = arg;
    k->ninputs++;
    return true;
}

static bool at(gp_moment m, const char *what, void *of) {
    gp_capture *k = gp_capturing;
    switch (m) {
    case GP_AT_LAUNCH: return note_call(of);
    case GP_AT_WAIT: return may_wait(*(gp_why *)of) || refuse(what);
    case GP_AT_READ:
    case GP_AT_COPY: return refuse(what);
    case GP_AT_DRAW: return gp_capture_refuse_draw(what);
    case GP_AT_SEED: return may_seed(of, what);
    case GP_AT_RNG: return note_rng(k);
    case GP_AT_GRAD_READ:
    case GP_AT_GRAD_WRITE: return note_leaf(of, m == GP_AT_GRAD_WRITE);
    case GP_AT_MAKE: return note_made(k, of);
    case GP_AT_DROP: return note_dropped(k, of);
    case GP_AT_SHAPE:
    case GP_AT_WRITE:
    case GP_AT_ORDER: break;
    }
    return true;
}

static _Thread_local gp_interceptor interceptor = {
    .order = 30, .keeps = GP_KEEPS_LAUNCHES, .at = at};

gp_capture *gp_capture_begin(gp_tensor *const *inputs, const int *arg, int n) {
    gp_capture *k = calloc(1, sizeof *k);
    if (!k || !(k->bucket = malloc(BUCKETS * sizeof *k->bucket)))
        return free(k), gp_fail_null("capture: out of memory");
    for (int i = 0; i < BUCKETS; i++) k->bucket[i] = -1;
    k->no_grad = gp_no_grad;
    gp_capture_note_homes(k);
    k->rng = gp_generator;
    for (int i = 0; i < n; i++)
        if (!note_input(k, i, inputs[i], arg[i])) return gp_capture_free(k), NULL;
    gp_intercept(&interceptor, true);
    return gp_capturing = k;
}

void gp_capture_stop(gp_capture *k) {
    if (gp_capturing != k) return;
    gp_capturing = NULL;
    gp_intercept(&interceptor, false);
}

/* Empties g. */
static void drop_given(gp_capture_output *g) {
    if (g->how == GP_GIVE_SAME) gp_tensor_unref(g->same);
    g->how = GP_GIVE_NONE;
}

static void free_now(gp_capture *k) {
    gp_capture_graphs_free(k);
    gp_capture_free_lanes(k);
    for (int i = 0; i < k->ncalls; i++) free_call(k->call[i]);
    for (int i = 0; i < k->nslots; i++)
        if (k->slot[i].kind == GP_SLOT_FIXED && k->slot[i].st) gp_storage_unref(k->slot[i].st);
    for (int i = 0; i < GP_CAPTURE_RESULTS; i++) drop_given(&k->result[i]);
    for (int i = 0; i < GP_CAPTURE_INPUTS; i++) gp_tensor_unref(k->input[i]);
    for (int i = 0; i < k->nleaves; i++) {
        gp_leaf_unref(k->leaf[i].leaf);
        gp_tensor_unref(k->leaf[i].before);
        drop_given(&k->leaf[i].after);
    }
    if (k->block) gp_storage_unref(k->block);
    free(k->call);
    free(k->slot);
    free(k->bucket);
    free(k->leaf);
    free(k->number);
    free(k->dynamic);
    free(k->outside);
    free(k);
}

void gp_capture_free(gp_capture *k) {
    static _Thread_local gp_capture *waiting;
    if (k) {
        gp_capture_stop(k);
        k->dead = waiting;
        waiting = k;
    }
    for (gp_capture **at = &waiting; *at;) {
        gp_capture *d = *at;
        if (atomic_load_explicit(&d->queued, memory_order_acquire) || !gp_capture_graphs_done(d)) {
            at = &d->dead;
            continue;
        }
        *at = d->dead;
        free_now(d);
    }
}
