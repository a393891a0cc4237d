/* Divides the host's time among its ops: those that queue work for a device, those that it computes
 * itself, what is set up, a loader's batches, and the script around them. A first pass over each
 * thread finds out which ops enclose one that queues work, a second one which of them set something
 * up in their first run, a third one notes the changes. */
#include "profile/replay/host.h"

#include <stdlib.h>
#include <string.h>

#include "profile/replay/timeline.h"
#include "profile/show/usage.h"
#include "tensor/base/group.h"
#include "tensor/base/sort.h"

/* An event of a thread that can be open. */
typedef struct entry {
    const gp_rec *rec;
    uint64_t end;
    int up;               /* the one around it; -1: none */
    int queues, encloses; /* what it queued; and what it did and those within it */
    bool loader;          /* it is a loader's, or within one of those */
    bool recurs;          /* it is a call that comes again in the steps */
    bool sets_up;         /* it is of GP_HOST_SETUP */
    bool fresh;         /* it, or one within it, launched a kernel for the first time; or it is the
                           first call of its name, and launched none */
    uint64_t own, idle; /* its time, of ops outside of ops, waits and calls of the set-up in it; of
                           that, while no device worked */
    uint64_t usual;     /* of a call: the median time of those of its name that are not fresh */
} entry;

/* At t a thread went from one part to another. */
typedef struct change {
    uint64_t t;
    const gp_rec *rec;
    gp_host_activity from, to;
    bool computes;
    int order; /* of changes at one time */
} change;

typedef struct builder {
    const gp_timeline *t;
    const gp_queueing *by;
    entry *entry; /* of one thread at a time */
    entry **op;   /* its ops by name, in the order of time */
    uint64_t *own;
    gp_run *run;
    uint64_t *step; /* when the record's steps begin */
    change *change;
    int n, nchanges, nsteps;
    bool has_ops, has_device, ok;
} builder;

int gp_queued_where(const gp_rec *work) {
    return gp_rec_runs_on_host(work) ? GP_QUEUED_HOST : GP_QUEUED_DEVICE;
}

static bool is_loader(const gp_rec *r) {
    return r->kind == GP_REC_REGION && (gp_is_batch_request(r) || !strcmp(r->name, GP_LOADER_MAKE));
}

/* Whether r is one of kineto/build.c's regions for first uses, or torch.compile's own time. */
static bool is_first_use(const builder *b, const gp_rec *r) {
    static const char first[] = "first use: ", timed[] = "(dynamo_timed)";
    if (!b->t->p->foreign || (r->kind != GP_REC_REGION && r->kind != GP_REC_OP)) return false;
    size_t n = strlen(r->name), m = sizeof timed - 1;
    return !strncmp(r->name, first, sizeof first - 1) || (n > m && !strcmp(r->name + n - m, timed));
}

/* Whether r is one of its regions for the profiler's own work. */
static bool is_profiler(const builder *b, const gp_rec *r) {
    return b->t->p->foreign && r->kind == GP_REC_REGION && !strncmp(r->name, "profiler: ", 10);
}

/* Whether r is one of its regions for functions of the user's that an op calls. */
static bool is_script(const builder *b, const gp_rec *r) {
    return b->t->p->foreign && r->kind == GP_REC_REGION && !strncmp(r->name, "script: ", 8);
}

static bool opens(const builder *b, const gp_rec *r) {
    if (r->kind == GP_REC_REGION)
        return is_loader(r) || is_first_use(b, r) || is_profiler(b, r) || is_script(b, r);
    bool queues = r->kind == GP_REC_COPY && r->t1 > r->t0; /* the host's time is counted */
    return r->kind == GP_REC_OP || r->kind == GP_REC_CALL || r->kind == GP_REC_WAIT || queues;
}

/* Whether an op computes something: of a trace only PyTorch's own do, but for those that make
 * memory or name what there is of it. */
static bool computes(const builder *b, const char *name) {
    static const char aten[] = "aten::", *const without[] = {
                                             "empty",        "resize",  "as_strided", "view",
                                             "_unsafe_view", "reshape", "slice",      "transpose",
                                             "select",       "expand",  "permute",    "detach",
                                             "unsqueeze",    "alias",   "squeeze"};
    if (!b->t->p->foreign) return true;
    if (strncmp(name, aten, sizeof aten - 1) != 0) return false;
    name += sizeof aten - 1;
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (*name == *without[i] && !strncmp(name, without[i], strlen(without[i]))) return false;
    return strcmp(name, "t") != 0;
}

static bool is_op(const entry *e) { return e->rec->kind == GP_REC_OP; }

static int by_time(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->rec->t0 != y->rec->t0) return x->rec->t0 < y->rec->t0 ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    return x->rec < y->rec ? -1 : x->rec > y->rec;
}

/* In b->by->event; -1: it is not there. */
static int event_of(const builder *b, const gp_rec *r) {
    return r->id ? gp_event_by_id(b->by->event, b->by->n, r->id) : -1;
}

static void gather(builder *b, const gp_track *track) {
    gp_cursor at = gp_first(track);
    b->n = 0;
    for (gp_rec *r; (r = gp_next(&at));) {
        if (!opens(b, r)) continue;
        int event = event_of(b, r);
        uint64_t end = gp_rec_end(b->t->p, r);
        b->entry[b->n++] = (entry){.rec = r,
                                   .end = end,
                                   .up = -1,
                                   .queues = event < 0 ? 0 : b->by->queues[event],
                                   .loader = is_loader(r),
                                   .fresh = event >= 0 && b->by->fresh[event],
                                   .sets_up = is_first_use(b, r),
                                   .own = end - r->t0,
                                   .idle = gp_timeline_idle(b->t, r->t0, end)};
    }
    gp_sort(b->entry, (size_t)b->n, sizeof *b->entry, by_time);
}

static int compare_times(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The innermost event that is open at t, from `last`, which was so before. */
static int open_at(const builder *b, int last, uint64_t t) {
    while (last >= 0 && b->entry[last].end <= t) last = b->entry[last].up;
    return last;
}

static void find_enclosing(builder *b) {
    int last = -1;
    for (int i = 0; i < b->n; i++) {
        entry *e = &b->entry[i];
        e->up = last = open_at(b, last, e->rec->t0);
        if (last >= 0) e->loader |= b->entry[last].loader;
        if (last >= 0) e->sets_up |= b->entry[last].sets_up;
        last = i;
        for (int up = e->up; e->fresh && up >= 0 && !b->entry[up].fresh; up = b->entry[up].up)
            b->entry[up].fresh = true;
        if (!e->queues) continue;
        for (int up = i; up >= 0 && (e->queues & ~b->entry[up].encloses); up = b->entry[up].up)
            b->entry[up].encloses |= e->queues;
    }
}

/* ---- what is set up ---- */

static uint64_t less(uint64_t a, uint64_t b) { return a > b ? a - b : 0; }

/* The innermost op around b->entry[i], itself included; -1: none. */
static int op_around(const builder *b, int i) {
    while (i >= 0 && !is_op(&b->entry[i])) i = b->entry[i].up;
    return i;
}

/* Whether a call of CUDA's or HIP's runtime makes memory, a stream or a graph, or loads code. */
static bool makes(const char *call) {
    static const char *const words[] = {"Malloc",       "HostAlloc",   "StreamCreate",
                                        "ModuleLoad",   "LibraryLoad", "GraphInstantiate",
                                        "LinkComplete", "MemCreate"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(call, words[i]) && !strstr(call, "Async")) return true;
    return false;
}

/* Whether a call makes memory or gives it back, but for that of a pool. */
static bool is_memory(const char *call) {
    static const char *const words[] = {"Malloc", "HostAlloc", "MemCreate", "HostRegister", "Free"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(call, words[i]) && !strstr(call, "Async")) return true;
    return false;
}

/* A call beside which no device worked, and which is long for the first time, or makes something:
 * memory for the first time, others each time. */
static bool is_setup_call(const entry *e) {
    if (e->rec->kind != GP_REC_CALL || 2 * e->idle <= e->own) return false;
    if (is_memory(e->rec->name)) return !e->recurs;
    bool slow = e->own >= GP_SETUP_NS && e->own / GP_FIRST_USE >= e->usual;
    return (slow && e->fresh && !e->recurs) || makes(e->rec->name);
}

static void note_recurring(const gp_run *run, void *with) {
    ((builder *)with)->entry[run->of].recurs = true;
}

/* What comes again in the steps is no first use. Calls are told from others of their name by the
 * outermost op around. */
static void find_recurring(builder *b) {
    int n = 0;
    for (int i = 0; i < b->n; i++) {
        const entry *e = &b->entry[i];
        bool memory = e->rec->kind == GP_REC_CALL && is_memory(e->rec->name);
        if (!memory && !is_setup_call(e)) continue;
        int outer = i;
        for (int up = e->up; up >= 0; up = b->entry[up].up)
            if (is_op(&b->entry[up])) outer = up;
        b->run[n++] = (gp_run){b->entry[outer].rec, e->rec->name, e->rec->t0, e->own, i};
    }
    gp_steps steps = {b->step, b->nsteps, b->t->p->t0, b->t->done};
    gp_find_recurring(b->run, n, &steps, note_recurring, b);
}

/* Leaves out of each op's own time the ops, waits, functions of the script and calls of the set-up
 * within it, and long ones that set nothing up: no shape makes them long. */
static void find_own_times(builder *b) {
    for (int i = 0; i < b->n; i++) {
        const entry *e = &b->entry[i];
        bool call = is_setup_call(e) || (e->rec->kind == GP_REC_CALL && e->own >= GP_SETUP_NS);
        bool script = is_script(b, e->rec);
        if (!is_op(e) && e->rec->kind != GP_REC_WAIT && !call && !script) continue;
        int op = op_around(b, e->up);
        if (op < 0) continue;
        uint64_t end = e->end < b->entry[op].end ? e->end : b->entry[op].end;
        b->entry[op].own = less(b->entry[op].own, end - e->rec->t0);
        b->entry[op].idle = less(b->entry[op].idle, gp_timeline_idle(b->t, e->rec->t0, end));
    }
}

/* Names and shapes are interned. */
static const char *name_of(const void *e) { return ((const entry *)e)->rec->name; }
static uint64_t hash_name(const void *e) { return gp_hash(1, (uintptr_t)name_of(e)); }
static bool has_name(const void *a, const void *b) { return name_of(a) == name_of(b); }
static uint64_t hash_op(const void *e) {
    return gp_hash(hash_name(e), (uintptr_t)((const entry *)e)->rec->shapes);
}
static bool has_shapes(const void *a, const void *b) {
    return has_name(a, b) && ((const entry *)a)->rec->shapes == ((const entry *)b)->rec->shapes;
}

/* Of the n runs of one op, by shapes: the first one with its shapes sets something up where its own
 * time, with the device idle, is far above that of the others. */
static void find_first_uses(const builder *b, entry **op, int n) {
    if (n < 2) return;
    for (int i = 0; i < n; i++) b->own[i] = op[i]->own;
    gp_sort(b->own, (size_t)n, sizeof *b->own, compare_times);
    uint64_t usual = b->own[(n - 1) / 2];
    for (int i = 0; i < n; i++) {
        bool first = i == 0 || op[i]->rec->shapes != op[i - 1]->rec->shapes;
        bool slow = op[i]->idle >= GP_SETUP_NS && op[i]->idle / GP_FIRST_USE >= usual;
        if (first && slow && op[i]->encloses & GP_QUEUED_DEVICE) op[i]->sets_up = true;
    }
}

static void note_op(const gp_run *first, uint64_t extra, void *with) {
    (void)extra;
    ((builder *)with)->entry[first->of].sets_up = true;
}

/* The same for ops that the host computes, beside those that they are like. */
static void find_first_runs(builder *b) {
    int n = 0;
    if (b->t->p->midway) return;
    for (int i = 0; i < b->n; i++) {
        const entry *e = &b->entry[i];
        if (is_op(e) && !e->encloses && computes(b, e->rec->name))
            b->run[n++] = (gp_run){e->rec, NULL, e->rec->t0, e->own, i};
    }
    b->ok = b->ok && gp_find_first_runs(b->run, n, note_op, b);
}

/* A call that launches nothing is fresh as the first of its name, or as the outermost op around. */
static void find_fresh_calls(builder *b) {
    int n = 0;
    for (int i = 0; i < b->n; i++)
        if (b->entry[i].rec->kind == GP_REC_CALL && !b->entry[i].queues) b->op[n++] = &b->entry[i];
    b->ok = b->ok && gp_group((const void **)b->op, (size_t)n, hash_name, has_name);
    for (int i = 0; i < n; i++) {
        entry *e = b->op[i];
        e->fresh |= !i || b->op[i - 1]->rec->name != e->rec->name;
        for (int up = e->up; up >= 0; up = b->entry[up].up)
            if (is_op(&b->entry[up])) e->fresh |= b->entry[up].fresh;
    }
}

/* Of n calls of one name. */
static void set_usual(const builder *b, entry **call, int n) {
    int known = 0;
    for (int i = 0; i < n; i++)
        if (!call[i]->fresh) b->own[known++] = call[i]->own;
    gp_sort(b->own, (size_t)known, sizeof *b->own, compare_times);
    for (int i = 0; i < n && known; i++) call[i]->usual = b->own[(known - 1) / 2];
}

static void find_usual_calls(builder *b) {
    int n = 0;
    for (int i = 0; i < b->n; i++)
        if (b->entry[i].rec->kind == GP_REC_CALL) b->op[n++] = &b->entry[i];
    b->ok = b->ok && gp_group((const void **)b->op, (size_t)n, hash_name, has_name);
    for (int i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && b->op[k]->rec->name == b->op[i]->rec->name;) k++;
        set_usual(b, b->op + i, k - i);
    }
}

static void find_setups(builder *b) {
    int n = 0;
    find_fresh_calls(b);
    find_usual_calls(b);
    find_recurring(b);
    find_own_times(b);
    find_first_runs(b);
    for (int i = 0; i < b->n; i++)
        if (is_op(&b->entry[i])) b->op[n++] = &b->entry[i];
    b->ok = b->ok && gp_group((const void **)b->op, (size_t)n, hash_op, has_shapes) &&
            gp_group((const void **)b->op, (size_t)n, hash_name, has_name);
    for (int i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && b->op[k]->rec->name == b->op[i]->rec->name;) k++;
        find_first_uses(b, b->op + i, k - i);
    }
    for (int i = 0; i < b->n; i++) {
        entry *e = &b->entry[i];
        int op = op_around(b, i), event = event_of(b, e->rec);
        if (e->rec->kind == GP_REC_CALL || e->rec->kind == GP_REC_COPY)
            e->sets_up |= op >= 0 && b->entry[op].sets_up;
        e->sets_up |= is_setup_call(e);
        if (event >= 0 && e->sets_up) b->by->sets_up[event] = true;
    }
}

/* ---- parts ---- */

static gp_host_activity part_of(const builder *b, int i) {
    while (i >= 0 && b->entry[i].rec->kind == GP_REC_WAIT) i = b->entry[i].up;
    const entry *e = i < 0 ? NULL : &b->entry[i];
    if (!e) return GP_HOST_SCRIPT;
    if (is_profiler(b, e->rec)) return GP_HOST_PROFILER;
    if (e->loader) return GP_HOST_LOADER;
    if (e->recurs && is_memory(e->rec->name)) return GP_HOST_MEMORY;
    if (e->sets_up) return GP_HOST_SETUP;
    if (is_script(b, e->rec)) return GP_HOST_SCRIPT;
    if (!is_op(e)) return GP_HOST_LAUNCH;
    bool quick = e->end - e->rec->t0 < GP_CPU_OP_NS || !computes(b, e->rec->name);
    if (e->queues == GP_QUEUED_HOST) return GP_HOST_COLLECTIVE;
    bool launches = e->encloses & GP_QUEUED_DEVICE || (b->has_device && quick);
    return launches ? GP_HOST_LAUNCH : GP_HOST_CPU;
}

/* From t on the innermost open event of the thread is `to`, where it was `from`. */
static void go_on(builder *b, uint64_t t, int from, int to) {
    while (to >= 0 && b->entry[to].rec->kind == GP_REC_WAIT) to = b->entry[to].up;
    gp_host_activity part = part_of(b, to);
    int named = to; /* a launch says less than the op that it is in */
    while (part == GP_HOST_LAUNCH && b->entry[named].rec->kind != GP_REC_OP &&
           b->entry[named].up >= 0)
        named = b->entry[named].up;
    const entry *e = to < 0 ? NULL : &b->entry[named];
    b->change[b->nchanges] =
        (change){.t = t,
                 .rec = e ? e->rec : NULL,
                 .from = part_of(b, from),
                 .to = part,
                 .computes = e && e->rec->kind == GP_REC_OP && !e->queues && !b->t->p->foreign,
                 .order = b->nchanges};
    b->nchanges++;
}

/* Ends what is over at t; returns the innermost event that is still open. */
static int close_until(builder *b, int last, uint64_t t) {
    while (last >= 0 && b->entry[last].end <= t) {
        uint64_t end = b->entry[last].end;
        int to = open_at(b, last, end);
        go_on(b, end, last, to);
        last = to;
    }
    return last;
}

/* Each event opens once and closes at most once: two changes. */
static void add_thread(builder *b, const gp_track *track) {
    int last = -1;
    gather(b, track);
    find_enclosing(b);
    find_setups(b);
    for (int i = 0; i < b->n; i++) {
        last = close_until(b, last, b->entry[i].rec->t0);
        go_on(b, b->entry[i].rec->t0, last, i);
        last = i;
    }
    close_until(b, last, UINT64_MAX);
}

static int compare_changes(const void *a, const void *b) {
    const change *x = a, *y = b;
    if (x->t != y->t) return x->t < y->t ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static gp_host_activity first_of(const builder *b, const int *threads) {
    static const gp_host_activity order[] = {GP_HOST_LOADER,  GP_HOST_SETUP, GP_HOST_MEMORY,
                                             GP_HOST_LAUNCH,  GP_HOST_CPU,   GP_HOST_COLLECTIVE,
                                             GP_HOST_PROFILER};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (threads[order[i]] > 0) return order[i];
    return b->has_ops || !b->has_device ? GP_HOST_SCRIPT : GP_HOST_BETWEEN;
}

/* Puts the threads' changes in the order of time; returns how many parts they make. */
static int merge(builder *b, gp_host_part *part) {
    int threads[GP_HOST_ACTIVITIES] = {0}, n = 0;
    gp_sort(b->change, (size_t)b->nchanges, sizeof *b->change, compare_changes);
    for (int i = 0; i < b->nchanges; i++) {
        const change *c = &b->change[i];
        threads[c->from]--, threads[c->to]++;
        gp_host_part now = {c->t, c->rec, first_of(b, threads), c->computes};
        const gp_host_part *last = n ? &part[n - 1] : NULL;
        if (now.part != c->to) /* another thread's */
            now.rec = last && last->part == now.part ? last->rec : NULL, now.computes = false;
        if (!last || last->part != now.part || last->rec != now.rec) part[n++] = now;
    }
    return n;
}

bool gp_rec_is_step(const gp_rec *r) {
    return r->kind == GP_REC_REGION &&
           (!strncmp(r->name, "step ", 5) || !strcmp(r->name, "ProfilerStep*"));
}

static void read_steps(builder *b) {
    for (int i = 0; i < b->t->nhost; i++)
        if (gp_rec_is_step(b->t->host[i])) b->step[b->nsteps++] = b->t->host[i]->t0;
}

gp_host_part *gp_host_parts(const gp_timeline *t, const gp_queueing *by, int *n) {
    size_t most = 1;
    builder b = {.t = t, .by = by, .has_ops = !t->p->foreign};
    for (int i = 0; i < t->nhost; i++) b.has_ops |= t->host[i]->kind == GP_REC_OP;
    for (int i = 0; i < t->ncommands; i++) b.has_device |= !gp_rec_runs_on_host(t->command[i].rec);
    for (const gp_track *track = t->p->host; track; track = track->next)
        for (gp_cursor at = gp_first(track); gp_timeline_has(t, track) && gp_next(&at);) most++;
    b.entry = malloc(most * sizeof *b.entry);
    b.op = malloc(most * sizeof *b.op);
    b.own = malloc(most * sizeof *b.own);
    b.run = malloc(most * sizeof *b.run);
    b.step = malloc(most * sizeof *b.step);
    b.change = malloc(2 * most * sizeof *b.change);
    b.ok = b.entry && b.op && b.own && b.run && b.step && b.change;
    if (b.step) read_steps(&b);
    gp_host_part *part = b.ok ? malloc(2 * most * sizeof *part) : NULL;
    for (const gp_track *track = part ? t->p->host : NULL; track && b.ok; track = track->next) {
        if (!gp_timeline_has(t, track)) continue;
        add_thread(&b, track);
        if (!t->p->foreign) break;
    }
    *n = part ? merge(&b, part) : 0;
    free(b.entry);
    free(b.op);
    free(b.own);
    free(b.run);
    free(b.step);
    free(b.change);
    if (!b.ok) return free(part), NULL;
    return part;
}
