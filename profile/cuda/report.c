/* Reports the activity of CUDA devices to the record: activities attributed to the spans that
 * queued them, and the calls and waits that CUPTI saw. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/cuda/trace.h"
#include "tensor/op.h"

static struct gp_cuda_trace *const trace = &gp_cuda_trace;
/* Why times are from events; why calls inside libraries are not seen. */
static char by_events_why[256], no_calls_why[256];

typedef struct attributed {
    const span_record *p; /* NULL: of no span */
    uint64_t t0, t1;
    const char *what;
    bool held;
} attributed;

static int by_correlation(const void *a, const void *b) {
    uint32_t x = ((const correlation_record *)a)->correlation,
             y = ((const correlation_record *)b)->correlation;
    return x < y ? -1 : x > y;
}
static int by_time(const void *a, const void *b) {
    uint64_t x = ((const attributed *)a)->t0, y = ((const attributed *)b)->t0;
    return x < y ? -1 : x > y;
}

static const correlation_record *correlation_of(uint32_t id) {
    correlation_record key = {id, 0};
    if (!trace->correlations.n) return NULL;
    return bsearch(&key, trace->correlations.at, trace->correlations.n, sizeof key, by_correlation);
}

/* Activities with the spans that queued them, in order of time, which are then no longer in the
 * list; and of the first `past` spans the times that events have. What is left over was queued by
 * no span of ours, or CUPTI has not yet told by which. */
static size_t attribute(attributed *out, size_t past) {
    size_t n = 0, left = 0;
    for (size_t i = 0; i < past; i++) {
        const span_record *p = &trace->spans.at[i];
        if (p->t1) out[n++] = (attributed){p, p->t0, p->t1, NULL, false};
        else if (p->from) trace->lost++;
    }
    if (trace->correlations.n)
        qsort(trace->correlations.at, trace->correlations.n, sizeof *trace->correlations.at,
              by_correlation);
    for (size_t i = 0; i < trace->activities.n; i++) {
        const activity_record *a = &trace->activities.at[i];
        const correlation_record *c = correlation_of(a->correlation);
        const span_record *p = c ? gp_cuda_span_of(c->number) : NULL;
        if (p || a->held) out[n++] = (attributed){p, a->t0, a->t1, a->what, a->held};
        else trace->activities.at[left++] = *a;
    }
    trace->activities.n = left;
    qsort(out, n, sizeof *out, by_time);
    return n;
}

static void report_activity(gp_device *dev, const attributed *y) {
    static const span_record no_span = {.kind = "nothing of gpush's"};
    const span_record *p = y->p ? y->p : &no_span;
    void (*hook)(const gp_activity *) = GP_HOOK(device);
    const char *what = p->detail && !y->held
                           ? gp_cuda_call_text(p->detail, y->what ? y->what : "all of it")
                           : y->what;
    gp_activity ran = {.s = y->p ? p->s : dev->streams[0],
                       .op = p->op,
                       .kind = p->kind,
                       .kernel = what,
                       .id = p->id,
                       .t0 = y->t0,
                       .t1 = y->t1,
                       .bytes = p->bytes,
                       .held = y->held};
    if (hook && ran.s) hook(&ran);
}

/* What a report covers. */
typedef struct extent {
    gp_device *dev;
    size_t past; /* the first spans, which are done or given up: none of their work is seen later */
} extent;

/* A separate thread, because the record puts devices' activities on the tracks of worker threads.
 * Its starter holds the lock. */
static void *report_thread(void *of) {
    const extent *e = of;
    gp_thread_is_worker();
    attributed *out = malloc((e->past + trace->activities.n + 1) * sizeof *out);
    size_t n = out ? attribute(out, e->past) : 0;
    if (!out) trace->lost += trace->activities.n, trace->activities.n = 0;
    for (size_t i = 0; i < n; i++) report_activity(e->dev, &out[i]);
    free(out);
    void (*call)(gp_device *, const char *, bool, uint64_t, uint64_t) = GP_HOOK(call);
    for (size_t i = 0; call && i < trace->stalls.n; i++) {
        const stall_record *st = &trace->stalls.at[i];
        call(e->dev, st->what, st->first, st->t0, st->t1);
    }
    return NULL;
}

/* Forgets the first n spans and what is known of them; the others keep their numbers. */
static void drop(size_t n) {
    size_t left = 0, unread = trace->timed < n ? trace->timed : n;
    for (size_t i = unread; i < n; i++) {
        span_record *p = &trace->spans.at[i];
        if (p->from) gp_cuda_rt->event_release(p->s->dev, p->from);
        if (p->to) gp_cuda_rt->event_release(p->s->dev, p->to);
    }
    trace->reported += n;
    trace->spans.n -= n;
    trace->timed -= unread;
    if (n) memmove(trace->spans.at, trace->spans.at + n, trace->spans.n * sizeof *trace->spans.at);
    for (size_t i = 0; i < trace->correlations.n; i++)
        if (trace->correlations.at[i].number > trace->reported)
            trace->correlations.at[left++] = trace->correlations.at[i];
    trace->correlations.n = left;
}

static void note_busy(gp_device *dev, void *busy) {
    for (int i = 0; i < dev->nstreams && !strcmp(dev->vt->kind, "cuda"); i++)
        if (dev->vt->busy(dev->streams[i])) *(bool *)busy = true;
}

/* Reports what is recorded. Of work that is still under way, which CUPTI delivers in a later
 * report, the spans stay, unless this is the last one. */
static void report(gp_device *dev, bool last, uint64_t *lost) {
    pthread_mutex_lock(&trace->lock);
    extent e = {dev, trace->spans.n};
    pthread_mutex_unlock(&trace->lock);
    bool busy = false;
    gp_device_each(note_busy, &busy);
    if (!trace->by_events) gp_cupti_flush(last || !busy);
    pthread_mutex_lock(&trace->lock);
    gp_cuda_read_times();
    if (last) e.past = trace->spans.n;
    else if (trace->by_events) e.past = trace->timed;
    else if (busy) e.past = 0;
    pthread_t t;
    if ((trace->spans.n || trace->stalls.n) && !pthread_create(&t, NULL, report_thread, &e))
        pthread_join(t, NULL);
    drop(e.past);
    if (!busy) trace->activities.n = 0;
    trace->stalls.n = 0;
    if (lost) *lost += trace->lost, trace->lost = 0;
    pthread_mutex_unlock(&trace->lock);
}

/* Attaching CUPTI and detaching it take about 12 ms, so that it stays for a while. */
enum { LINGERS_NS = 300000000 };
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static uint64_t ended_ns;
atomic_bool gp_cuda_lingers;

static void begin(void) {
    if (trace->on) return;
    atomic_store(&gp_cuda_lingers, false);
    trace->on = true;
    by_events_why[0] = 0;
    const char *why = gp_cupti_begin();
    trace->by_events = why != NULL;
    if (why)
        snprintf(by_events_why, sizeof by_events_why,
                 "times are of whole ops, from CUDA events, because of CUPTI: %s", why);
    gp_error_clear();
    atomic_fetch_or(&gp_cuda_watch, CUDA_WATCH_WORK);
}

/* What CUPTI delivers at its end came after the last report: nothing of it is in the record. */
static void end(void) {
    if (!trace->by_events) {
        gp_cupti_end();
        ended_ns = gp_now_ns();
        atomic_store(&gp_cuda_lingers, true);
    }
    pthread_mutex_lock(&trace->lock);
    trace->activities.n = trace->correlations.n = trace->stalls.n = 0;
    pthread_mutex_unlock(&trace->lock);
    trace->on = false;
}

void gp_cuda_trace_idle(void) {
    if (pthread_mutex_trylock(&one)) return;
    if (atomic_load(&gp_cuda_lingers) && gp_now_ns() - ended_ns >= LINGERS_NS) {
        atomic_store(&gp_cuda_lingers, false);
        gp_cupti_leave();
    }
    pthread_mutex_unlock(&one);
}

static const char *watch_calls(void) {
    const char *why = gp_cupti_watch_calls();
    if (!why) return atomic_fetch_or(&gp_cuda_watch, CUDA_WATCH_CALLS), NULL;
    snprintf(no_calls_why, sizeof no_calls_why,
             "waits inside of NVIDIA's libraries are not seen, because of CUPTI: %s", why);
    gp_error_clear();
    return no_calls_why;
}

const char *gp_cuda_observe(gp_device *dev, gp_trace_cmd cmd, uint64_t *lost) {
    pthread_mutex_lock(&one);
    gp_cuda_rt->enter(dev);
    const char *no_calls = NULL;
    if (cmd == GP_TRACE_CALLS) no_calls = watch_calls();
    else if (cmd == GP_TRACE_BEGIN) begin();
    else if (trace->on) {
        if (cmd == GP_TRACE_END) atomic_fetch_and(&gp_cuda_watch, ~CUDA_WATCH_WORK);
        report(dev, cmd == GP_TRACE_END, lost);
        if (cmd == GP_TRACE_END) end();
    }
    pthread_mutex_unlock(&one);
    return cmd == GP_TRACE_CALLS ? no_calls : by_events_why[0] ? by_events_why : NULL;
}

void gp_cuda_cupti_open(const gp_cuda_runtime *runtime) {
    gp_cuda_rt = runtime;
    /* Nsight sets this in the environment of the programs that it starts. */
    if (getenv("NVTX_INJECTION64_PATH")) atomic_fetch_or(&gp_cuda_watch, CUDA_WATCH_NVTX);
}
