/* The record: events into one track per thread, from the hooks that the core calls. */
#include "profile/record/record.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profile/sync/sync.h"
#include "tensor/base/process.h"
#include "tensor/memory/alloc.h"
#include "tensor/device/backends.h"
#include "tensor/device/card/model.h"
#include "tensor/device/stream/thread.h"

/* Devices are drained before a profile starts and when it ends, so that no worker records an event
 * while tracks are added or removed, and workers' writes are ordered before the readers. Other
 * threads of the host, as a loader's workers, are guests: they count themselves in and out. */
static gp_prof *prof; /* guarded by lock; its own thread reads it without */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint64_t running; /* number of the profile, or 0 */
/* Events of other threads, and of threads for whose track there was no memory. */
static _Atomic uint64_t others, trackless;
static _Atomic int64_t
    in_use[GP_MAX_DEVICES]; /* bytes, by the device's slot, while memory is recorded */
static uint64_t numbers;
static pthread_t owner;

static _Atomic int inside; /* how many guests write to the record at this moment */

/* This thread's track in profile `number`. */
static _Thread_local struct {
    uint64_t number;
    gp_track *track; /* NULL: this thread is not recorded */
    bool guest; /* neither a device's nor the profiling one: it may write when that has ended */
} my;

int (*gp_record_stack)(gp_frame *frame, int max, const char **module);

/* A track for another thread of the host, by the name that debuggers see: "loader 2". */
static gp_track *add_guest(void) {
    char name[32] = "";
    gp_track *t = gp_prof_add_host(prof);
    pthread_getname_np(pthread_self(), name, sizeof name);
    if (t) t->name = gp_intern_text(*name ? name : "thread");
    return t;
}

/* The first event of this thread in a profile: adds its track. */
static void enter(uint64_t number) {
    gp_lock(&lock);
    if (prof && prof->number == number) {
        bool owns = pthread_equal(owner, pthread_self());
        my.guest = !gp_thread_worker() && !owns;
        my.track = my.guest ? add_guest() : owns ? prof->host : gp_prof_add_worker(prof);
        if (!my.guest) gp_track_watch(my.track);
        my.number = number;
    }
    gp_unlock(&lock);
}

/* A guest counts itself in, and then looks again whether the profile is there. */
static gp_track *guest_track(uint64_t number) {
    if (my.number != number || !my.track) {
        atomic_fetch_add_explicit(&others, 1, memory_order_relaxed);
        return NULL;
    }
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&running) == number) return my.track;
    atomic_fetch_sub(&inside, 1);
    return NULL;
}

static inline gp_track *track(void) {
    uint64_t number = atomic_load_explicit(&running, memory_order_acquire);
    if (!number) return NULL;
    if (my.number != number) enter(number);
    if (__builtin_expect(my.number != number || my.guest, 0)) return guest_track(number);
    if (__builtin_expect(!my.track, 0)) atomic_fetch_add(&trackless, 1);
    return my.track;
}

static inline void leave(gp_track *const *t) {
    if (*t && my.guest) atomic_fetch_sub(&inside, 1);
}
/* `TRACK t = track();` the track that this function may write to, NULL: none. */
#define TRACK __attribute__((cleanup(leave))) gp_track *

/* Waits until no guest writes to a profile that has ended; false where one has crashed in that. */
static bool guests_left(void) {
    enum { TIMES = 10000 };
    const struct timespec pause = {0, 100000};
    for (int i = 0; i < TIMES; i++) {
        if (!atomic_load(&inside)) return true;
        nanosleep(&pause, NULL);
    }
    atomic_store(&inside, 0);
    return false;
}

/* The current region: the last one of the innermost running coroutine that has any. */
static gp_rec *region_now(const gp_track *t) {
    gp_rec *now = NULL;
    int least = INT_MAX;
    for (int i = t->nregions - 1; i >= 0 && least > 0; i--) {
        int depth = gp_scope_depth ? gp_scope_depth(t->region[i].coroutine) : 0;
        if (depth >= 0 && depth < least) least = depth, now = t->region[i].rec;
    }
    return now;
}

/* Records that later events are in the current region. */
static void note_switch(gp_track *t) {
    gp_rec *now = region_now(t);
    if (now == t->region_now) return;
    t->region_now = now;
    gp_rec *r = gp_track_append(t);
    if (!r) return;
    *r = (gp_rec){.name = now ? now->name : "(no region)", .kind = GP_REC_SWITCH, .where = now};
    r->t0 = r->t1 = gp_now_ns();
}

/* A new event of this thread, in the current region. */
static gp_rec *append_here(gp_track *t) {
    if (t->nregions || t->region_now) note_switch(t);
    return gp_track_append(t);
}

void gp_record_switch(void) {
    TRACK t = track();
    if (t && !t->worker && t->nregions) note_switch(t);
}

/* Interned: a loop that returns to a line adds nothing. */
static const gp_stack *intern_stack(gp_track *t) {
    struct {
        gp_stack s;
        gp_frame frame[GP_STACK_DEPTH];
    } buf;
    _Static_assert(sizeof buf == sizeof buf.s + sizeof buf.frame, "s.frame is buf.frame");
    memset(&buf, 0, sizeof buf); /* padding is interned with the rest */
    if (gp_record_stack) buf.s.n = gp_record_stack(buf.s.frame, t->prof->opts.stack, &buf.s.module);
    return gp_intern_add(t->prof->names, &buf, sizeof buf.s + (size_t)buf.s.n * sizeof(gp_frame));
}

static const gp_cost *intern_cost(gp_track *t, const gp_call *c) {
    gp_cost cost = gp_call_cost(c);
    return gp_intern_add(t->prof->names, &cost, sizeof cost);
}

static void set_loc(gp_rec *r, gp_srcloc loc) { r->file = loc.file, r->line = loc.line; }

/* Reads the clock last, and op_end reads it first: recording's cost stays outside the op. */
static void op_begin(gp_call *c) {
    TRACK t = track();
    if (!t) return;
    gp_rec *r = append_here(t);
    if (t->depth < (int)(sizeof t->open / sizeof *t->open)) t->open[t->depth] = r;
    t->depth++;
    if (!r) return;
    c->loc = gp_srcloc_here();
    *r = (gp_rec){.id = c->id,
                  .name = c->name,
                  .file = c->loc.file,
                  .line = c->loc.line,
                  .kind = GP_REC_OP,
                  .inplace = c->into != NULL,
                  .replayed = c->replayed};
    if (t->prof->opts.stack) r->stack = intern_stack(t);
    if (t->prof->opts.shapes) r->shapes = gp_rec_keep_shapes(t->prof, c);
    r->t0 = gp_now_ns();
}

/* Reads the clock first: what follows is recording's own cost. */
static void op_end(gp_call *c, bool ok) {
    uint64_t t1 = gp_now_ns();
    TRACK t = track();
    if (!t || !t->depth) return;
    t->depth--;
    gp_rec *r = t->depth < (int)(sizeof t->open / sizeof *t->open) ? t->open[t->depth] : NULL;
    if (!r) return;
    r->t1 = t1;
    r->failed = !ok;
    if (ok && (t->prof->opts.flops || gp_model_card())) r->cost = intern_cost(t, c);
}

static _Atomic uint64_t busy;
static _Atomic bool busy_counted, busy_sim;

/* The track of what devices did on this thread, a host's: of modelled cards' activities and of
 * deferred ops. */
static gp_track *device_track(void) {
    static _Thread_local uint64_t number;
    static _Thread_local gp_track *t;
    uint64_t now = atomic_load_explicit(&running, memory_order_acquire);
    if (now != number) {
        gp_lock(&lock);
        t = prof && prof->number == now ? gp_prof_add_worker(prof) : NULL;
        gp_unlock(&lock);
        number = now;
    }
    if (now && !t) atomic_fetch_add(&trackless, 1);
    return now ? t : NULL;
}

static void device(const gp_activity *ran) {
    if (!ran->held && atomic_load_explicit(&busy_counted, memory_order_relaxed)) {
        atomic_fetch_add_explicit(&busy, ran->t1 - ran->t0, memory_order_relaxed);
        if (!strcmp(ran->s->dev->vt->kind, "sim")) atomic_store(&busy_sim, true);
    }
    TRACK own = track();
    gp_track *t = !own || gp_thread_worker() ? own : device_track();
    gp_rec *r = t ? gp_track_append(t) : NULL;
    if (!r) return;
    *r = (gp_rec){.t0 = ran->t0,
                  .t1 = ran->t1,
                  .id = ran->id,
                  .name = ran->op ? ran->op->name : ran->kind,
                  .kind = ran->held ? GP_REC_HELD
                          : ran->op ? GP_REC_KERNEL
                                    : GP_REC_MOVED,
                  .where = ran->s,
                  .bytes = (int64_t)(ran->op ? ran->waited : ran->bytes),
                  .kernel = ran->kernel};
}

static void memory(gp_device *dev, const gp_storage *block, int64_t bytes) {
    int64_t level = atomic_fetch_add(&in_use[dev->slot], bytes) + bytes;
    TRACK t = track();
    gp_rec *r = !t ? NULL : t->worker ? gp_track_append(t) : append_here(t);
    if (!r) return;
    *r = (gp_rec){.id = (uint64_t)level,
                  .name = "memory",
                  .kind = GP_REC_ALLOC,
                  .where = dev,
                  .bytes = bytes,
                  .block = block};
    r->t0 = r->t1 = gp_now_ns();
}

static void order(gp_stream *s, gp_stream *first, uint64_t id, bool done) {
    gp_track *t = track();
    if (!t || t != t->prof->host) return; /* other threads share the list */
    gp_prof_add_order(t->prof, &(gp_stream_order){.s = s,
                                                  .first = first,
                                                  .after = atomic_load(&s->last_id),
                                                  .id = id,
                                                  .t = gp_now_ns(),
                                                  .done = done});
}

void gp_record_wait(gp_stream *s, gp_why why, const char *what, const char *form, uint64_t t0,
                    uint64_t t1, uint64_t queued, gp_srcloc loc) {
    TRACK t = track();
    gp_rec *r = t ? append_here(t) : NULL;
    if (!r) return;
    *r = (gp_rec){.t0 = t0,
                  .t1 = t1,
                  .name = what,
                  .file = loc.file,
                  .line = loc.line,
                  .kind = s ? GP_REC_WAIT : GP_REC_READ,
                  .why = (uint8_t)why,
                  .where = s,
                  .bytes = (int64_t)queued,
                  .form = form};
    if (t->prof->opts.stack) r->stack = intern_stack(t);
}

uint64_t gp_record_copy(gp_stream *s, gp_copy_kind kind, size_t bytes) {
    TRACK t = track();
    gp_rec *r = t ? append_here(t) : NULL;
    if (!r) return 0;
    *r = (gp_rec){.id = gp_next_id(),
                  .name = gp_copy_name(kind),
                  .kind = GP_REC_COPY,
                  .where = s,
                  .bytes = (int64_t)bytes};
    set_loc(r, gp_srcloc_here());
    if (t->prof->opts.stack) r->stack = intern_stack(t);
    r->t1 = gp_now_ns(), r->t0 = r->t1 - gp_clock_op_ns(); /* counted a moment ago */
    return r->id;
}

bool gp_record_inside(void) {
    uint64_t number = atomic_load_explicit(&running, memory_order_relaxed);
    return number && my.number == number && my.track && my.track->depth > 0;
}

void gp_record_sample(const char *function, gp_srcloc at, unsigned periods, uint64_t t0) {
    TRACK t = track();
    const char *kept = t ? gp_intern_add(t->prof->names, function, strlen(function)) : NULL;
    gp_rec *r = kept ? append_here(t) : NULL;
    if (!r) return;
    *r = (gp_rec){.t0 = t0, .name = kept, .kind = GP_REC_SAMPLE, .bytes = periods};
    set_loc(r, at);
    if (t->prof->opts.stack) r->stack = intern_stack(t);
    r->t1 = gp_now_ns();
}

/* False when out of memory. */
static bool push_region(gp_track *t, gp_rec *rec) {
    if (t->nregions == t->capacity) {
        int capacity = t->capacity ? t->capacity * 2 : 16;
        struct gp_open *more = realloc(t->region, (size_t)capacity * sizeof *more);
        if (!more) return false;
        t->region = more;
        t->capacity = capacity;
    }
    t->region[t->nregions++] =
        (struct gp_open){rec, gp_scope_coroutine ? gp_scope_coroutine() : NULL};
    t->region_now = rec;
    return true;
}

/* Removes a region. Those of coroutines end in any order, most of them in the reverse one. */
static void pop_region(gp_track *t, gp_rec *rec) {
    int i = t->nregions - 1;
    while (i >= 0 && t->region[i].rec != rec) i--;
    if (i < 0) return;
    memmove(&t->region[i], &t->region[i + 1], (size_t)(--t->nregions - i) * sizeof *t->region);
    while (t->region_now && t->region_now->t1) t->region_now = t->region_now->where;
}

gp_region gp_region_begin(const char *name, size_t len, int64_t batch) {
    gp_region g = {.range = gp_cuda_range_begin(name)};
    TRACK t = track();
    if (!t) return g;
    const char *kept = gp_intern_add(t->prof->names, name, len);
    if (!kept) return t->dropped++, g;
    if (!(g.rec = append_here(t))) return g;
    g.number = my.number;
    *g.rec = (gp_rec){.name = kept, .kind = GP_REC_REGION, .where = t->region_now, .bytes = batch};
    set_loc(g.rec, gp_srcloc_here());
    if (t->prof->opts.stack) g.rec->stack = intern_stack(t);
    g.rec->t0 = gp_now_ns();
    if (!push_region(t, g.rec)) t->dropped++, g.rec->t1 = g.rec->t0, g.rec = NULL;
    return g;
}

void gp_region_end(gp_region *r) {
    uint64_t t1 = gp_now_ns();
    TRACK t = r->rec ? track() : NULL;
    if (t && my.number == r->number) {
        r->rec->t1 = t1;
        if (r->computed) r->rec->computed = r->computed;
        pop_region(t, r->rec);
    }
    r->rec = NULL;
    if (r->range) gp_cuda_range_end(r->range);
    r->range = 0;
}

/* ---- start and stop ---- */

static void note_in_use(gp_device *dev, void *unused) {
    gp_mem_stats m;
    gp_alloc_stats(dev, &m);
    atomic_store(&in_use[dev->slot], m.in_use);
}

/* A hook may still be running on another thread; without a track it does nothing. */
static void set_hooks(bool on, bool with_memory) {
    atomic_store(&gp_hook.op_begin, on ? op_begin : NULL);
    atomic_store(&gp_hook.op_end, on ? op_end : NULL);
    atomic_store(&gp_hook.memory, on && with_memory ? memory : NULL);
    atomic_store(&gp_hook.order, on ? order : NULL);
    atomic_store(&gp_hook.device, on || atomic_load(&busy_counted) ? device : NULL);
}

static bool drain_all(void) {
    gp_sync_quiet(1);
    bool ok = gp_wait_device(NULL, GP_WHY_explicit, "profile");
    gp_sync_quiet(-1);
    return ok;
}

/* Makes devices whose tools report late (cuda) report now. */
typedef struct observation {
    gp_trace_cmd at;
    uint64_t lost;
    const char *how;
} observation;
static void observe(gp_device *dev, void *ctx) {
    observation *o = ctx;
    const char *how = dev->vt->observe ? dev->vt->observe(dev, o->at, &o->lost) : NULL;
    if (how) o->how = how;
}
static observation observe_all(gp_trace_cmd at) {
    observation o = {.at = at};
    gp_device_each(observe, &o);
    return o;
}

static void device_busy(gp_device *dev, void *busy_one) {
    for (int i = 0; i < dev->nstreams; i++) *(bool *)busy_one |= dev->vt->busy(dev->streams[i]);
}

static int compare_ns(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Measures recording's cost: the median time outside of a few ops that do nothing. */
static void calibrate(gp_prof *p) {
    enum { TIMES = 31 };
    uint64_t begin[TIMES], end[TIMES];
    gp_call c = {.op = GP_OP(add), .name = "add"};
    for (int i = 0; i < TIMES; i++) {
        uint64_t before = gp_now_ns();
        op_begin(&c);
        op_end(&c, true);
        uint64_t after = gp_now_ns();
        gp_chunk *chunk = p->host->last;
        gp_rec *r = chunk && chunk->n ? &chunk->rec[chunk->n - 1] : NULL;
        begin[i] = r ? r->t0 - before : 0;
        end[i] = r ? after - r->t1 : 0;
        if (r) chunk->n--;
    }
    qsort(begin, TIMES, sizeof *begin, compare_ns), qsort(end, TIMES, sizeof *end, compare_ns);
    p->cost_begin = begin[TIMES / 2], p->cost_end = end[TIMES / 2];
}

bool gp_prof_start(const gp_prof_opts *opts) {
    if (!gp_prof_running() && !drain_all()) return false;
    gp_prof *p = gp_prof_new(opts);
    if (!p || (gp_model_card() && !gp_prof_note_model(p)))
        return gp_prof_free(p), gp_fail("profile: out of memory");
    gp_lock(&lock);
    bool first = prof == NULL || gp_prof_fail_running(prof);
    if (first) {
        prof = p;
        owner = pthread_self();
        p->number = ++numbers;
        atomic_store(&others, 0), atomic_store(&trackless, 0);
        atomic_store(&running, p->number);
    }
    gp_unlock(&lock);
    if (!first) return gp_prof_free(p), false;
    calibrate(p);
    for (int i = 0; i < GP_MAX_DEVICES; i++) atomic_store(&in_use[i], 0);
    gp_device_each(note_in_use, NULL);
    set_hooks(true, opts->memory);
    observe_all(GP_TRACE_BEGIN);
    p->processors = gp_clock_op_ns() ? 0 : gp_processors(), p->t0 = gp_now_ns();
    return true;
}

/* Keeps a profile whose workers may still write to it. */
static void keep(gp_prof *p) {
    static gp_prof *kept;
    p->next = kept, kept = p;
}

gp_prof *gp_prof_stop(void) {
    uint64_t done = gp_now_ns();
    if (!gp_prof_running()) return gp_fail_null("profile: none is running");
    if (!pthread_equal(owner, pthread_self()))
        return gp_fail_null("profile: the running one was started by another thread");
    gp_prof *p = prof;
    p->done = p->t1 = done;
    atomic_store(&gp_hook.op_begin, NULL), atomic_store(&gp_hook.op_end, NULL);
    bool queued = false, unfinished = false;
    gp_device_each(device_busy, &queued);
    bool ok = drain_all();
    if (queued) p->t1 = gp_now_ns();
    observation seen = observe_all(atomic_load(&busy_counted) ? GP_TRACE_NOW : GP_TRACE_END);
    p->lost = seen.lost, p->how = seen.how;
    set_hooks(false, false);
    gp_lock(&lock);
    atomic_store(&running, 0);
    prof = NULL;
    gp_unlock(&lock);
    gp_device_each(device_busy, &unfinished);
    if (!guests_left()) unfinished = true, gp_fail("profile: a thread crashed while it recorded");
    if (unfinished) return keep(p), NULL;
    if (!ok || !gp_prof_end_model(p)) return gp_prof_free(p), NULL;
    if (gp_process.size() > 1) p->rank = gp_process.rank(), p->size = gp_process.size();
    gp_prof_note_starved(p);
    p->others = atomic_load(&others), p->dropped = atomic_load(&trackless);
    for (gp_track *t = p->host; t; t = t->next) p->dropped += t->dropped;
    for (gp_track *t = p->workers; t; t = t->next) p->dropped += t->dropped;
    return p;
}

bool gp_prof_running(void) { return atomic_load_explicit(&running, memory_order_relaxed) != 0; }

void gp_busy_on(bool on) {
    atomic_store(&busy_counted, on);
    if (on) atomic_store(&gp_hook.device, device), observe_all(GP_TRACE_BEGIN);
    else if (!gp_prof_running()) observe_all(GP_TRACE_END), atomic_store(&gp_hook.device, NULL);
}

uint64_t gp_busy_ns(bool reset) {
    observe_all(GP_TRACE_NOW);
    return reset ? atomic_exchange(&busy, 0) : atomic_load(&busy);
}

bool gp_busy_sim(void) { return atomic_exchange(&busy_sim, false); }
