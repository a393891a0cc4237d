/* Adds the events of the host's threads to a record that is made of a trace: which enclosed which,
 * where the script was, and which calls waited for what. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/load/kineto/builder.h"

typedef kineto_open open_event;
typedef kineto_builder builder;

static bool no_memory(builder *b) { return kineto_no_memory(b); }
static int64_t end_of(const kineto_event *e) { return kineto_end(e); }

static const open_event *top(const builder *b) { return b->depth ? &b->open[b->depth - 1] : NULL; }

/* The function that the line `from`, of what opens at t, is in: the innermost that runs there. */
static const char *caller(const builder *b, const gp_stack *from, int64_t t) {
    for (int i = kineto_python_at(b, b->depth, t); i >= 0; i = kineto_python_at(b, i, t)) {
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
    if (b->depth == KINETO_DEPTH) return;
    open_event *o = &b->open[b->depth];
    *o = (open_event){.e = e,
                      .rec = rec,
                      .python = kineto_python_at(b, b->depth, e->t0),
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
        if (!e->stack) o->library = in && in->library ? in->library : gp_kineto_library(e->name);
        o->profiles = (in && in->profiles) || gp_kineto_is_profiling(e->name);
    }
    b->depth++;
}

static void set_source(const builder *b, const kineto_event *e, gp_rec *r) {
    int python = kineto_python_at(b, b->depth, e->t0);
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

bool kineto_runs_in(const builder *b, bool (*is)(const char *), int64_t t) {
    for (int i = kineto_python_at(b, b->depth, t); i >= 0; i = kineto_python_at(b, i, t))
        if (is(b->open[i].e->name)) return true;
    return false;
}

/* Whether PyTorch writes a tensor as text at t. */
static bool prints(const builder *b, int64_t t) {
    return b->printing >= KINETO_PRINTS || kineto_runs_in(b, gp_kineto_is_print, t);
}

/* Whether the script asks for a wait at t: by torch.cuda.synchronize(), or within a step. */
static bool is_asked_for(const builder *b, int64_t t) {
    for (int i = 0; i < b->depth; i++)
        if (gp_kineto_is_step(b->open[i].e->name) && end_of(b->open[i].e) > t) return true;
    return kineto_runs_in(b, gp_kineto_is_synchronize, t);
}

/* torch.profiler waits for devices when it stops, after all that the script did, also after its
 * own last wait for them, and after its last step. */
static bool is_profilers(const builder *b, const kineto_event *e, kineto_awaits what) {
    bool last = e->t0 >= b->last_op && e->t0 >= b->last_sync && !is_asked_for(b, e->t0);
    return what == KINETO_DEVICE && (last || kineto_runs_in(b, gp_kineto_is_profiler, e->t0));
}

/* A number, a condition or a size that an op reads itself, as torch.cov by torch.equal, is no call
 * of the script's: r, whose reason is that of open op n, is named after the outermost one. */
static void name_outermost(const builder *b, int n, int64_t t, gp_rec *r) {
    bool reads = r->why == GP_WHY_item || r->why == GP_WHY_branch || r->why == GP_WHY_shape;
    for (int i = 0; reads && i < n; i++) {
        const kineto_event *op = b->open[i].e;
        bool calls = op->kind == KINETO_OP && end_of(op) > t && gp_kineto_is_aten(op->name);
        if (calls) {
            r->name = op->name;
            return;
        }
    }
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
    if (kineto_runs_in(b, is_first_use_frame, e->t0)) return set_kind(b, "first use", r);
    if (prints(b, e->t0)) return gp_kineto_reason("print", NULL, r);
    int python = kineto_python_at(b, b->depth, e->t0);
    const char *library = python < 0 ? NULL : b->open[python].library;
    if (library && gp_kineto_reason(library, NULL, r)) return true;
    if (kineto_runs_in(b, gp_kineto_is_scaler, e->t0))
        return gp_kineto_reason("GradScaler", NULL, r);
    if (kineto_runs_in(b, gp_kineto_is_scheduler, e->t0))
        return gp_kineto_reason("scheduler.step", NULL, r);
    for (int i = 0; i < b->depth; i++) {
        const kineto_event *op = b->open[i].e;
        const char *copy = b->copy && b->copied_at >= op->t0 ? b->copy : NULL;
        bool runs = op->kind == KINETO_OP && end_of(op) > e->t0;
        if (!runs || !gp_kineto_reason(op->name, copy, r)) continue;
        name_outermost(b, i, e->t0, r);
        return true;
    }
    bool number = !own && r->where == b->number && strstr(e->name, "StreamSynchronize");
    gp_kineto_reason(number ? "copy of a number" : r->name, own, r);
    return true;
}

/* Whether work is a copy of a number to the host. Ops of PyTorch's own traces, where these have
 * any, say what they read: what waits there for such a copy outside of them is the script. */
static bool copies_number(const builder *b, const kineto_event *work) {
    enum { NUMBER = 16 }; /* bytes, of a complex one */
    return (b->k->writer || !b->has_ops) && work && work->kind == KINETO_COPY && work->bytes > 0 &&
           work->bytes <= NUMBER && gp_copy_direction(work->name) == GP_COPY_D2H;
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
    if (sync && !all && sync->stream >= 0) return kineto_stream_at(b, device, sync->stream);
    if (sync && what == KINETO_STREAM && sync->bytes >= 0 && sync->bytes <= INT_MAX)
        return kineto_stream_at(b, device, (int)sync->bytes);
    if (all || !b->last) return kineto_stream_at(b, device, -1);
    return b->last;
}

/* Whether work that is queued within e and in no op has its name. */
static bool names_work(const kineto_event *e) {
    return (e->kind == KINETO_OP || e->kind == KINETO_REGION) && !gp_kineto_is_step(e->name);
}

/* From the end of a step of the profiler's to t it worked itself, where nothing else happened: it
 * begins the next one, starts or stops. With frames of Python these say so. */
static bool add_profiling(builder *b, int64_t t) {
    bool known = kineto_python_at(b, b->depth, t) >= 0;
    if (known || b->step_end == INT64_MIN || t <= b->step_end || b->last_end > b->step_end)
        return true;
    const kineto_event gap = {.t0 = b->step_end, .dur = t - b->step_end, .name = "profiler: step"};
    return kineto_append(b, b->track, &gap, GP_REC_REGION) != NULL;
}

static bool add_call(builder *b, kineto_event *e) {
    int i = kineto_map_get(&b->work, e->correlation);
    const kineto_event *work = i < 0 ? NULL : &b->k->event[i];
    kineto_awaits what = is_first_use(b, e) ? KINETO_NOTHING : gp_kineto_awaited(e->name);
    bool stops = what && is_profilers(b, e, what);
    if (stops && !add_profiling(b, e->t0)) return false;
    gp_rec *r = kineto_append(b, b->track, e, GP_REC_CALL);
    if (!r) return false;
    if (work) {
        r->id = (uint64_t)(e->at = (int64_t)++ * b->ids);
        if (!(b->last = kineto_stream_at(b, work->device, work->stream))) return false;
    }
    const char *copy = work && work->kind == KINETO_COPY ? work->name : NULL;
    if (copy) b->copy = copy, b->copied_at = e->t0;
    for (int k = b->depth - 1; k >= 0 && !e->op; k--)
        if (names_work(b->open[k].e)) e->op = b->open[k].rec->name;
    set_source(b, e, r);
    if (what || (work && gp_kineto_waits_for_copy(e, work))) {
        r->where = what && !work ? awaited_stream(b, e, what) : b->last;
        if (!r->where || !set_reason(b, e, copy, r)) return false;
    }
    b->number = copies_number(b, work) ? b->last : NULL;
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
    name_outermost(b, outer ? (int)(outer - b->open) : b->depth, e->t0, &found);
    if (prints(b, e->t0)) gp_kineto_reason("print", NULL, &found);
    gp_rec *r = kineto_append(b, b->track, e, GP_REC_READ);
    if (!r) return false;
    r->t1 = r->t0;
    r->name = found.name, r->why = found.why;
    set_source(b, e, r);
    return true;
}

/* Whether what is read at t lies on the host, wherever the script's tensors are: it is a loader's,
 * or a seed that one has drawn, torch.empty((), dtype=torch.int64).random_().item(). */
static bool is_loaders(const builder *b, int64_t t) {
    for (int i = 0; i < b->depth; i++)
        if (gp_kineto_is_loader(b->open[i].e->name) && end_of(b->open[i].e) > t) return true;
    bool drawn = b->op_before && !strcmp(b->op_before, "aten::random_");
    return (drawn && !strcmp(b->op, "aten::item")) || kineto_runs_in(b, gp_kineto_is_data, t);
}

/* Whether an op runs at t. */
static bool in_op(const builder *b, int64_t t) {
    for (int i = 0; i < b->depth; i++)
        if (b->open[i].e->kind == KINETO_OP && end_of(b->open[i].e) > t) return true;
    return false;
}

static bool add_op(builder *b, kineto_event *e) {
    bool outer = !in_op(b, e->t0);
    if (outer) b->printing = gp_kineto_printing(b->printing, e->name);
    if (outer) b->op_before = b->op, b->op = e->name;
    if (!b->has_work && gp_kineto_reads(e->name) && !is_loaders(b, e->t0) && !add_read(b, e))
        return false;
    gp_rec *r = kineto_append(b, b->track, e, GP_REC_OP);
    if (!r) return false;
    r->shapes = e->shapes;
    if (kineto_map_get(&b->ops, e->external) >= 0) r->id = (uint64_t)(e->at = (int64_t)++ * b->ids);
    set_source(b, e, r);
    push(b, e, r);
    return true;
}

/* A step begins at t, in a call of the profiler's: what it has begun is not its own work. */
static void end_profiling(builder *b, int64_t t) {
    for (int i = 0; i < b->depth; i++) {
        const open_event *o = &b->open[i];
        bool profiles = o->rec && gp_kineto_is_profiling(o->e->name);
        if (profiles && end_of(o->e) > t) o->rec->t1 = (uint64_t)(t + b->shift);
    }
}

/* r is where a loader hands out its next batch. */
static void add_batch(builder *b, gp_rec *r) {
    gp_rec *last = b->batch;
    r->bytes = ((int64_t)b->rank + 1) << 32 | ++b->batches;
    if (last && r->t0 > last->t1) r->between = r->t0 - last->t1;
    if (last && !last->between) last->between = r->between;
    b->batch = r;
}

static bool add_region(builder *b, const kineto_event *e) {
    bool step = gp_kineto_is_step(e->name);
    if (step && !add_profiling(b, e->t0)) return false;
    if (step) {
        b->p->midway |= b->step_end == INT64_MIN && atoi(strchr(e->name, '#') + 1) > 0;
        b->step_end = end_of(e), end_profiling(b, e->t0);
    }
    gp_rec *r = kineto_append(b, b->track, e, GP_REC_REGION);
    const open_event *up = top(b);
    if (!r) return false;
    if (step) r->name = "ProfilerStep*"; /* as in torch's table */
    if (!step && up && up->region >= 0) r->where = b->open[up->region].rec;
    if (gp_kineto_is_loader(r->name)) add_batch(b, r);
    set_source(b, e, r);
    push(b, e, r);
    return true;
}

/* "KIND: step", of the frame "torch/profiler/profiler.py(1520): step"; NULL without memory. */
static const char *named(builder *b, const char *kind, const char *frame) {
    const char *function = strstr(frame, "): ");
    char text[200];
    int n = snprintf(text, sizeof text, "%s: %s", kind, function ? function + 3 : frame);
    n = n < (int)sizeof text ? n : (int)sizeof text - 1;
    const char *name = gp_intern_add(b->p->names, text, (size_t)n);
    if (!name) no_memory(b);
    return name;
}

/* A frame of Python: the outermost one of a first use is a region, and so are that of the
 * profiler's own work, and one of the user's that an op calls, which is the script again. */
static bool add_python(builder *b, const kineto_event *e) {
    const char *name = gp_kineto_first_use(e->name);
    gp_rec *r = NULL;
    if (name && kineto_runs_in(b, is_first_use_frame, e->t0)) name = NULL;
    bool profiles =
        gp_kineto_is_profiling(e->name) && !kineto_runs_in(b, gp_kineto_is_profiling, e->t0);
    bool script = !name && !profiles && e->stack && kineto_in_op(b, e->t0);
    if (b->is_main && ++b->frames > b->p->frames) b->p->frames = b->frames;
    if (profiles || script) name = named(b, profiles ? "profiler" : "script", e->name);
    if ((profiles || script) && !name) return false;
    if (name) {
        const open_event *up = top(b);
        if (!kineto_script_flush(b) || !(r = kineto_append(b, b->track, e, GP_REC_REGION)))
            return false;
        r->name = name;
        bool ends = profiles && b->step_end > e->t0 && b->step_end < end_of(e);
        if (ends) r->t0 = (uint64_t)(b->step_end + b->shift); /* a step, whose time that is */
        if (!ends && up && up->region >= 0) r->where = b->open[up->region].rec;
        set_source(b, e, r);
    }
    push(b, e, r);
    return !b->k->j->failed;
}

static bool add_memory(builder *b, const kineto_event *e) {
    gp_rec *r = kineto_append(b, b->track, e, GP_REC_ALLOC);
    if (!r) return false;
    r->name = "memory";
    r->bytes = e->bytes;
    r->id = (uint64_t)e->at;
    return (r->where = kineto_device_at(b, e->device)) != NULL;
}

/* A wait for a collective that another thread runs. */
static bool add_join(builder *b, const kineto_event *e) {
    gp_rec *r = kineto_append(b, b->track, e, GP_REC_WAIT);
    if (!r) return false;
    r->why = GP_WHY_collective;
    set_source(b, e, r);
    b->at = end_of(e); /* nothing else happens meanwhile */
    return (r->where = kineto_stream_at(b, e->device, e->stream)) != NULL;
}

/* Ends what is over at t. */
static bool close_until(builder *b, int64_t t) {
    for (; b->depth && end_of(top(b)->e) <= t; b->depth--) {
        if (!kineto_script_until(b, end_of(top(b)->e))) return false;
        if (top(b)->rec && !kineto_script_flush(b)) return false;
    }
    return true;
}

bool kineto_end_host(builder *b) { return close_until(b, INT64_MAX) && kineto_script_flush(b); }

static bool add(builder *b, kineto_event *e) {
    switch (e->kind) {
    case KINETO_OP: return add_op(b, e);
    case KINETO_CALL: return add_call(b, e);
    case KINETO_REGION: return add_region(b, e);
    case KINETO_MEMORY: return add_memory(b, e);
    case KINETO_JOIN: return add_join(b, e);
    default: return add_python(b, e);
    }
}

bool kineto_add_host(builder *b, kineto_event *e) {
    bool frame = e->kind == KINETO_PYTHON || e->kind == KINETO_MEMORY;
    if (e->kind == KINETO_OTHER) return true;
    if (!close_until(b, e->t0) || !kineto_script_until(b, e->t0)) return false;
    if (!frame && !kineto_script_flush(b)) return false;
    bool ok = add(b, e);
    if (!frame && end_of(e) > b->last_end) b->last_end = end_of(e);
    return ok;
}
