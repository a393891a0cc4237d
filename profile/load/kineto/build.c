/* Makes a record of a trace of torch.profiler: who enclosed, queued and waited for what, which the
 * trace says only by times and correlation ids. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/load/kineto/kineto.h"
#include "profile/load/kineto/map.h"
#include "profile/load/devices.h"
#include "profile/show/usage.h"
#include "profile/show/waves.h"

enum { DEPTH = 1024 }; /* of nested host events; deeper ones enclose nothing */

/* An open event of the host. */
typedef struct open_event {
    const kineto_event *e;
    gp_rec *rec;                  /* of an op or a region */
    const gp_stack *base, *stack; /* PYTHON: the lines that called, and with its own */
    const char *module;           /* PYTHON: "Net_0.Linear_1", the module that runs; NULL */
    int python, region;           /* the innermost open ones, itself included; -1: none */
    bool reads;                   /* OP: it has been noted as what would wait on a card */
} open_event;

typedef struct builder {
    kineto *k;
    gp_prof *p;
    int rank;
    bool several;
    int64_t shift;
    uint64_t *ids;
    kineto_map calls, work, syncs,
        ops;           /* by correlation; ops: by external id, where work needs them */
    kineto_map first;  /* the first run of each op, by its name */
    int64_t last_sync; /* when the host began to wait for a whole device last */
    int64_t last_op;   /* when the last op, or call that queues work, was over */
    bool runs;         /* there are any */
    bool has_work;     /* a device ran something */
    int *order;        /* events: of the host by thread and time, then the devices' */
    int *thread;       /* threads in the order of their tracks */
    const char *kind;
    gp_device *device[64]; /* by number, those that were met */
    gp_track *track;
    open_event open[DEPTH];
    int depth;
    gp_stream *last;  /* of the last work that the thread queued; NULL */
    const char *copy; /* the last copy that it queued, NULL: none; and when */
    int64_t copied_at;
    int batches;  /* that loaders handed out */
    int printing; /* as gp_kineto_printing */
} builder;

static bool no_memory(builder *b) { return gp_json_fail(b->k->j, "out of memory"); }
static int64_t end_of(const kineto_event *e) { return e->t0 + e->dur; }
static bool is_work(const kineto_event *e) {
    return e->kind == KINETO_KERNEL || e->kind == KINETO_COPY;
}

/* ---- devices and streams ---- */

/* device -1: the host's own. NULL after a failure. */
static gp_device *device_at(builder *b, int device) {
    char name[16];
    if (device == -1) return gp_loaded_device(b->p->devices, "cpu", true, 0, "cpu");
    if (device < 0) device = 0;
    bool known = device < (int)(sizeof b->device / sizeof *b->device);
    if (known && b->device[device]) return b->device[device];
    if (b->several) snprintf(name, sizeof name, "r%d/%s:%d", b->rank, b->kind, device);
    else snprintf(name, sizeof name, "%s:%d", b->kind, device);
    gp_device *dev = gp_loaded_device(b->p->devices, b->kind, false, device, name);
    if (!dev) gp_json_fail(b->k->j, "more than %d devices, or out of memory", GP_LOADED_MAX);
    return known ? (b->device[device] = dev) : dev;
}

/* stream -1: of a wait for all of a device. NULL after a failure. */
static gp_stream *stream_at(builder *b, int device, int stream) {
    gp_device *dev = device_at(b, device < 0 ? 0 : device);
    gp_stream *s = dev ? gp_loaded_stream(b->p->devices, dev, stream < -1 ? 0 : stream) : NULL;
    if (dev && !s) gp_json_fail(b->k->j, "more than %d streams, or out of memory", GP_LOADED_MAX);
    return s;
}

/* ---- correlation ---- */

/* Notes when each op ran first, and when the last of them was over; without any nothing is. */
static void note_ops(builder *b) {
    const kineto *k = b->k;
    int64_t last = INT64_MIN;
    for (int i = 0; i < k->n; i++) {
        const kineto_event *e = &k->event[i];
        bool queues = e->kind == KINETO_CALL && kineto_map_get(&b->work, e->correlation) >= 0;
        bool syncs = e->kind == KINETO_CALL && gp_kineto_awaited(e->name) == KINETO_DEVICE;
        if (syncs && e->t0 > b->last_sync) b->last_sync = e->t0;
        b->runs |= queues || e->kind == KINETO_OP;
        if (queues && e->t0 > last) last = e->t0;
        if (e->kind != KINETO_OP) continue;
        if (end_of(e) > last) last = end_of(e);
        int64_t name = (int64_t)(uintptr_t)e->name;
        int before = kineto_map_get(&b->first, name);
        if (before < 0) kineto_map_add(&b->first, name, i);
        else if (e->t0 < k->event[before].t0) *kineto_map_at(&b->first, name) = i + 1;
    }
    if (b->runs) b->last_op = last;
}

static bool make_maps(builder *b) {
    const kineto *k = b->k;
    if (!kineto_map_new(&b->calls, k->n) || !kineto_map_new(&b->work, k->n) ||
        !kineto_map_new(&b->syncs, k->n) || !kineto_map_new(&b->ops, k->n) ||
        !kineto_map_new(&b->first, k->n))
        return no_memory(b);
    b->last_op = INT64_MAX, b->last_sync = INT64_MIN;
    for (int i = 0; i < k->n; i++) {
        const kineto_event *e = &k->event[i];
        if (e->kind == KINETO_CALL) kineto_map_add(&b->calls, e->correlation, i);
        if (e->kind == KINETO_SYNC) kineto_map_add(&b->syncs, e->correlation, i);
        if (is_work(e)) kineto_map_add(&b->work, e->correlation, i), b->has_work = true;
    }
    note_ops(b);
    for (int i = 0; i < k->n; i++) { /* external ids of older versions are correlation ids */
        const kineto_event *e = &k->event[i];
        bool lost = is_work(e) && kineto_map_get(&b->calls, e->correlation) < 0;
        if (lost && e->external != e->correlation) kineto_map_add(&b->ops, e->external, i);
    }
    return true;
}

/* ---- the host ---- */

static gp_rec *append(builder *b, gp_track *t, const kineto_event *e, gp_rec_kind kind) {
    gp_rec *r = gp_track_append(t);
    if (!r) return no_memory(b), NULL;
    *r = (gp_rec){.t0 = (uint64_t)(e->t0 + b->shift),
                  .t1 = (uint64_t)(end_of(e) + b->shift),
                  .name = e->name,
                  .kind = (uint8_t)kind};
    if (r->t1 > b->p->t1) b->p->t1 = r->t1;
    return r;
}

static const open_event *top(const builder *b) { return b->depth ? &b->open[b->depth - 1] : NULL; }

/* The innermost frame of Python that runs at t, of the first `depth` open events; -1: none. Under a
 * region, which may end later than the frame that opened it, lie frames that have ended. */
static int python_at(const builder *b, int depth, int64_t t) {
    int i = depth ? b->open[depth - 1].python : -1;
    while (i >= 0 && end_of(b->open[i].e) <= t) i = i ? b->open[i - 1].python : -1;
    return i;
}

/* The function that the line `from`, of what opens at t, is in: the innermost that runs there. */
static const char *caller(const builder *b, const gp_stack *from, int64_t t) {
    for (int i = python_at(b, b->depth, t); i >= 0; i = python_at(b, i, t)) {
        const gp_stack *own = b->open[i].e->stack;
        if (own && own->frame[0].file == from->frame[0].file) return own->frame[0].function;
    }
    return NULL;
}

/* As gp_kineto_join, which has failed without memory. */
static const gp_stack *join(builder *b, const gp_stack *add, const char *function,
                            const char *module, const gp_stack *under) {
    if (!add && !module) return under;
    const gp_stack *kept = gp_kineto_join(b->p->names, add, function, module, under);
    if (!kept) no_memory(b);
    return kept;
}

/* Opens e. Where the trace knows the lines that called, a function's own line, where it begins, is
 * only the innermost one's. */
static void push(builder *b, const kineto_event *e, gp_rec *rec) {
    const open_event *up = top(b);
    if (b->depth == DEPTH) return;
    open_event *o = &b->open[b->depth];
    *o = (open_event){.e = e,
                      .rec = rec,
                      .python = python_at(b, b->depth, e->t0),
                      .region = up ? up->region : -1};
    if (rec && rec->kind == GP_REC_REGION) o->region = b->depth;
    if (e->kind == KINETO_PYTHON) {
        const open_event *in = o->python >= 0 ? &b->open[o->python] : NULL;
        const gp_stack *under = in ? in->base : NULL;
        const char *own = e->stack ? e->stack->frame[0].function : NULL;
        bool lines = b->k->has_lines;
        const gp_stack *add = lines ? e->from : e->stack;
        o->base = join(b, add, lines && add ? caller(b, add, e->t0) : own, NULL, under);
        o->module = gp_kineto_module(b->k, in ? in->module : NULL, e->name);
        o->stack = join(b, lines ? e->stack : NULL, own, o->module, o->base);
        o->python = b->depth;
    }
    b->depth++;
}

static void set_source(const builder *b, const kineto_event *e, gp_rec *r) {
    int python = python_at(b, b->depth, e->t0);
    r->stack = e->stack ? e->stack : python >= 0 ? b->open[python].stack : NULL;
    if (!r->stack || !r->stack->n) return;
    r->file = r->stack->frame[0].file;
    r->line = r->stack->frame[0].line;
}

/* A name for r that is "KIND: NAME". */
static bool set_kind(builder *b, const char *kind, gp_rec *r) {
    char text[200];
    int n = snprintf(text, sizeof text, "%s: %s", kind, r->name);
    n = n < (int)sizeof text ? n : (int)sizeof text - 1;
    return (r->name = gp_intern_add(b->p->names, text, (size_t)n)) || no_memory(b);
}

static bool is_first_use_frame(const char *frame) { return gp_kineto_first_use(frame) != NULL; }

/* Whether a frame of Python for which is() holds runs at t. */
static bool runs_in(const builder *b, bool (*is)(const char *), int64_t t) {
    for (int i = python_at(b, b->depth, t); i >= 0; i = python_at(b, i, t))
        if (is(b->open[i].e->name)) return true;
    return false;
}

/* Whether PyTorch writes a tensor as text at t. */
static bool prints(const builder *b, int64_t t) {
    return b->printing >= KINETO_PRINTS || runs_in(b, gp_kineto_is_print, t);
}

/* torch.profiler waits for devices when it stops, after all that the script did, also after its
 * own last wait for them. */
static bool is_profilers(const builder *b, const kineto_event *e, kineto_awaits what) {
    bool last = e->t0 >= b->last_op && e->t0 >= b->last_sync;
    return what == KINETO_DEVICE && (last || runs_in(b, gp_kineto_is_profiler, e->t0));
}

/* Makes r, a call, a wait: its reason is that of the outermost op that has one. own: the copy that
 * it made, NULL: none. */
static bool set_reason(builder *b, const kineto_event *e, const char *own, gp_rec *r) {
    r->kind = GP_REC_WAIT;
    r->why = GP_WHY_explicit;
    if (is_profilers(b, e, gp_kineto_awaited(e->name))) {
        r->stack = NULL, r->file = NULL, r->line = 0;
        return set_kind(b, "profiler", r);
    }
    if (runs_in(b, is_first_use_frame, e->t0)) return set_kind(b, "first use", r);
    if (prints(b, e->t0)) return gp_kineto_reason("print", NULL, r);
    for (int i = 0; i < b->depth; i++) {
        const kineto_event *op = b->open[i].e;
        const char *copy = b->copy && b->copied_at >= op->t0 ? b->copy : NULL;
        bool runs = op->kind == KINETO_OP && end_of(op) > e->t0;
        if (runs && gp_kineto_reason(op->name, copy, r)) return true;
    }
    gp_kineto_reason(r->name, own, r);
    return true;
}

/* Whether e, which gives memory back, does so in the first run of an op: a library begins there.
 * Emptying the cache of memory is called by no op, or by one that makes memory. */
static bool is_first_use(const builder *b, const kineto_event *e) {
    int i = b->depth - 1;
    if (gp_kineto_awaited(e->name) != KINETO_FREE) return false;
    while (i >= 0 && b->open[i].e->kind != KINETO_OP) i--;
    const kineto_event *op = i < 0 ? NULL : b->open[i].e;
    if (!op || gp_kineto_makes_memory(op->name)) return false;
    return op == &b->k->event[kineto_map_get(&b->first, (int64_t)(uintptr_t)op->name)];
}

/* The stream that a call waited for: the device's own report says it, or it is that of the last
 * work that this thread queued. */
static gp_stream *awaited_stream(builder *b, const kineto_event *e, kineto_awaits what) {
    int i = kineto_map_get(&b->syncs, e->correlation);
    const kineto_event *sync = i < 0 ? NULL : &b->k->event[i];
    int device = sync ? sync->device : b->last ? b->last->dev->index : 0;
    bool all = what == KINETO_DEVICE || what == KINETO_FREE;
    if (sync && !all && sync->stream >= 0) return stream_at(b, device, sync->stream);
    if (sync && what == KINETO_STREAM && sync->bytes >= 0 && sync->bytes <= INT_MAX)
        return stream_at(b, device, (int)sync->bytes);
    if (all || !b->last) return stream_at(b, device, -1);
    return b->last;
}

/* Whether work that is queued within e and in no op has its name. */
static bool names_work(const kineto_event *e) {
    return (e->kind == KINETO_OP || e->kind == KINETO_REGION) && !gp_kineto_is_step(e->name);
}

static bool add_call(builder *b, kineto_event *e) {
    int i = kineto_map_get(&b->work, e->correlation);
    const kineto_event *work = i < 0 ? NULL : &b->k->event[i];
    kineto_awaits what = is_first_use(b, e) ? KINETO_NOTHING : gp_kineto_awaited(e->name);
    gp_rec *r = append(b, b->track, e, GP_REC_CALL);
    if (!r) return false;
    if (work) {
        r->id = (uint64_t)(e->at = (int64_t)++ * b->ids);
        if (!(b->last = stream_at(b, work->device, work->stream))) return false;
    }
    const char *copy = work && work->kind == KINETO_COPY ? work->name : NULL;
    if (copy) b->copy = copy, b->copied_at = e->t0;
    for (int k = b->depth - 1; k >= 0 && !e->op; k--)
        if (names_work(b->open[k].e)) e->op = b->open[k].rec->name;
    set_source(b, e, r);
    if (what || (work && gp_kineto_waits_for_copy(e, work))) {
        if (!set_reason(b, e, copy, r)) return false;
        r->where = what && !work ? awaited_stream(b, e, what) : b->last;
        if (!r->where) return false;
    }
    push(b, e, r);
    return true;
}

/* Where no device ran anything: e reads what the host has computed, and its reason is that of the
 * outermost op around it that has one, which is counted once. */
static bool add_read(builder *b, const kineto_event *e) {
    gp_rec found = {.name = e->name};
    open_event *outer = NULL;
    for (int i = 0; i < b->depth; i++) {
        open_event *up = &b->open[i];
        bool runs = end_of(up->e) > e->t0;
        if (!runs) continue;
        if (gp_kineto_reads_within(up->e->name)) return true;
        bool op = up->e->kind == KINETO_OP;
        if (!outer && op && gp_kineto_reason(up->e->name, NULL, &found)) outer = up;
    }
    if (outer ? outer->reads : !gp_kineto_reason(e->name, NULL, &found)) return true;
    if (outer) outer->reads = true;
    if (prints(b, e->t0)) gp_kineto_reason("print", NULL, &found);
    gp_rec *r = append(b, b->track, e, GP_REC_READ);
    if (!r) return false;
    r->t1 = r->t0;
    r->name = found.name, r->why = found.why;
    set_source(b, e, r);
    return true;
}

/* Whether an op runs at t. */
static bool in_op(const builder *b, int64_t t) {
    for (int i = 0; i < b->depth; i++)
        if (b->open[i].e->kind == KINETO_OP && end_of(b->open[i].e) > t) return true;
    return false;
}

static bool add_op(builder *b, kineto_event *e) {
    if (!in_op(b, e->t0)) b->printing = gp_kineto_printing(b->printing, e->name);
    if (!b->has_work && gp_kineto_reads(e->name) && !add_read(b, e)) return false;
    gp_rec *r = append(b, b->track, e, GP_REC_OP);
    if (!r) return false;
    r->shapes = e->shapes;
    if (kineto_map_get(&b->ops, e->external) >= 0) r->id = (uint64_t)(e->at = (int64_t)++ * b->ids);
    set_source(b, e, r);
    push(b, e, r);
    return true;
}

static bool add_region(builder *b, const kineto_event *e) {
    gp_rec *r = append(b, b->track, e, GP_REC_REGION);
    const open_event *up = top(b);
    if (!r) return false;
    if (gp_kineto_is_step(r->name)) r->name = "ProfilerStep*"; /* as in torch's table */
    if (up && up->region >= 0) r->where = b->open[up->region].rec;
    if (gp_kineto_is_loader(r->name)) r->bytes = ((int64_t)b->rank + 1) << 32 | ++b->batches;
    set_source(b, e, r);
    push(b, e, r);
    return true;
}

/* A frame of Python: the outermost one of a first use is a region. */
static bool add_python(builder *b, const kineto_event *e) {
    const char *first = gp_kineto_first_use(e->name);
    gp_rec *r = NULL;
    if (first && !runs_in(b, is_first_use_frame, e->t0)) {
        const open_event *up = top(b);
        if (!(r = append(b, b->track, e, GP_REC_REGION))) return false;
        r->name = first;
        if (up && up->region >= 0) r->where = b->open[up->region].rec;
        set_source(b, e, r);
    }
    push(b, e, r);
    return !b->k->j->failed;
}

static bool add_memory(builder *b, const kineto_event *e) {
    gp_rec *r = append(b, b->track, e, GP_REC_ALLOC);
    if (!r) return false;
    r->name = "memory";
    r->bytes = e->bytes;
    r->id = (uint64_t)e->at;
    return (r->where = device_at(b, e->device)) != NULL;
}

static bool add_host(builder *b, kineto_event *e) {
    while (b->depth && end_of(top(b)->e) <= e->t0) b->depth--;
    switch (e->kind) {
    case KINETO_OP: return add_op(b, e);
    case KINETO_CALL: return add_call(b, e);
    case KINETO_REGION: return add_region(b, e);
    case KINETO_MEMORY: return add_memory(b, e);
    default: return add_python(b, e);
    }
}

/* The track of a thread; the first of a profile is there already. */
static gp_track *new_track(builder *b, const kineto_thread *t) {
    char name[200];
    gp_prof *p = b->p;
    gp_track *track = p->host->first || p->host->name ? gp_prof_add_host(p) : p->host;
    if (!track) return NULL;
    int64_t id; /* of 32 bits without a sign, which older versions wrote with one */
    gp_json_text tid = {.p = t->tid, .n = strlen(t->tid)};
    if (gp_json_text_int(&tid, &id) && id < 0 && id >= INT32_MIN)
        snprintf(name, sizeof name, "thread %u", (unsigned)id);
    else snprintf(name, sizeof name, "thread %s", t->tid);
    track->name = t->name ? t->name : gp_intern_add(p->names, name, strlen(name));
    track->rank = b->rank;
    b->depth = 0;
    b->last = NULL;
    b->copy = NULL;
    b->printing = 0;
    return track->name ? track : NULL;
}

/* The events of one thread, from order[i] on; *i becomes the next thread's first. */
static bool add_thread(builder *b, int *i) {
    const kineto *k = b->k;
    int thread = k->event[b->order[*i]].thread;
    if (!(b->track = new_track(b, &k->thread[thread]))) return no_memory(b);
    for (; *i < k->n; (*i)++) {
        kineto_event *e = &k->event[b->order[*i]];
        if (!gp_kineto_on_host(e) || e->thread != thread) break;
        if (gp_prof_stops((uint64_t)*i)) return gp_json_fail(k->j, "interrupted");
        if (!add_host(b, e)) return false;
        uint64_t end = (uint64_t)(end_of(e) + b->shift);
        if (end > b->p->done) b->p->done = end;
    }
    return true;
}

/* ---- the devices ---- */

static bool add_work(builder *b, gp_track *t, const kineto_event *e) {
    int i = kineto_map_get(&b->calls, e->correlation);
    bool by_op = i < 0 && e->external != e->correlation;
    gp_rec *r = append(b, t, e, e->kind == KINETO_COPY ? GP_REC_MOVED : GP_REC_KERNEL);
    if (!r || !(r->where = stream_at(b, e->device, e->stream))) return false;
    const kineto_event *from = i < 0 ? NULL : &b->k->event[i];
    if (by_op && (i = kineto_map_get(&b->ops, e->external)) >= 0) from = &b->k->event[i];
    if (from) r->id = (uint64_t)from->at;
    r->bytes = e->bytes ? e->bytes : from && e->kind == KINETO_COPY ? from->bytes : 0;
    if (r->kind == GP_REC_MOVED) return true;
    r->kernel = e->name;
    if (from) r->name = from->kind == KINETO_OP ? from->name : from->op ? from->op : r->name;
    if (gp_rec_is_collective(r)) return true; /* which have few blocks, however much they send */
    return gp_waves_add(b->p, e->name, (uint64_t)e->dur, e->at, e->occupancy) || no_memory(b);
}

/* Ops whose id work needs: the map leads to them once they have one. */
static void find_ops(builder *b) {
    for (int i = 0; i < b->k->n; i++) {
        const kineto_event *e = &b->k->event[i];
        if (e->kind == KINETO_OP && e->at) *kineto_map_at(&b->ops, e->external) = i + 1;
    }
}

static bool add_all(builder *b) {
    const kineto *k = b->k;
    int i = 0;
    while (i < k->n && gp_kineto_on_host(&k->event[b->order[i]]))
        if (!add_thread(b, &i)) return false;
    find_ops(b);
    gp_track *t = i < k->n ? gp_prof_add_worker(b->p) : NULL;
    if (i < k->n && !t) return no_memory(b);
    if (t) t->rank = b->rank;
    for (; i < k->n; i++) {
        const kineto_event *e = &k->event[b->order[i]];
        if (gp_prof_stops((uint64_t)i)) return gp_json_fail(k->j, "interrupted");
        if (is_work(e) && !add_work(b, t, e)) return false;
    }
    return gp_kineto_orders(b->k, b->p, t, b->shift);
}

bool gp_kineto_build(kineto *k, gp_prof *p, int rank, bool several, int64_t shift, uint64_t *ids) {
    builder *b = calloc(1, sizeof *b);
    if (!b) return gp_json_fail(k->j, "out of memory");
    b->k = k;
    b->p = p;
    b->rank = rank;
    b->several = several;
    b->shift = shift;
    b->ids = ids;
    b->kind = k->hip || (k->device && strstr(k->device, "AMD")) ? "hip" : "cuda";
    bool sorted = gp_kineto_sort(k, &b->order, &b->thread) || no_memory(b);
    bool ok = sorted && make_maps(b) && add_all(b);
    p->opts.shapes |= k->has_shapes;
    if (k->has_stacks) p->opts.stack = GP_STACK_DEPTH;
    p->opts.memory |= k->has_memory;
    kineto_map_free(&b->calls);
    kineto_map_free(&b->work);
    kineto_map_free(&b->syncs);
    kineto_map_free(&b->ops);
    kineto_map_free(&b->first);
    free(b->order);
    free(b->thread);
    free(b);
    return ok;
}
