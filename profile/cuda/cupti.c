/* What CUDA devices did and when, for the record: from CUPTI's activity records, or, where another
 * profiler has CUPTI or it is not there or not allowed, from a pair of events round each op. Also
 * the calls inside NVIDIA's libraries that make the host wait, and NVTX ranges by which Nsight
 * shows ops under the same names. */
#include <cuda_runtime.h>
#include <cupti.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/cuda/cupti.h"
#include "tensor/op.h"
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define RANGE_PUSH(name) nvtxRangePushA(name)
#define RANGE_POP() nvtxRangePop()
#define RANGE_START(name) nvtxRangeStartA(name)
#define RANGE_END(range) nvtxRangeEnd(range)
#else
#define RANGE_PUSH(name) ((void)(name))
#define RANGE_POP() ((void)0)
#define RANGE_START(name) ((void)(name), 0)
#define RANGE_END(range) ((void)(range))
#endif

/* A span's work. Its number, 1 + its place here + `base`, is the external correlation id that CUPTI
 * gets. */
typedef struct span {
    gp_stream *s;
    const gp_op *op;
    const char *kind, *detail; /* of a copy; how an op does it, or NULL */
    uint64_t id;
    size_t bytes;
    void *from, *to; /* events, where CUPTI is not used; NULL once their times were read: */
    uint64_t t0, t1; /* 0: unknown */
} span;

typedef struct activity { /* what ran on a device, or held the host up */
    uint64_t t0, t1;
    const char *what; /* kernel's name …; NULL: of a copy */
    uint32_t correlation;
    bool held;
} activity;
typedef struct correlation_id { /* which span queued it */
    uint32_t correlation;
    uint64_t number;
} correlation_id;

typedef struct stall { /* host time that CUPTI saw go elsewhere */
    const char *what;
    bool first;
    uint64_t t0, t1;
} stall;

/* A list that grows; under lock. */
#define LIST(T)                                                                                    \
    struct {                                                                                       \
        T *at;                                                                                     \
        size_t n, room;                                                                            \
    }
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static LIST(span) spans;
static LIST(activity) activities;
static LIST(correlation_id) correlations;
static LIST(stall) stalls;
static uint64_t base, lost;
static size_t timed; /* spans[0 … timed-1] have their times */
static bool on, by_events, calls_seen;
static char how[256],
    blind[256]; /* why times are from events; why calls inside of libraries are not seen */
enum { MOST = 4 << 20, BUFFER = 1 << 20, TIME_EVERY = 128 };

static const gp_cuda_runtime *runtime; /* the plug-in's, once it is open */
atomic_int gp_cuda_watch;
_Thread_local int gp_cuda_own_calls;
static _Thread_local cuda_span *inside;

/* Room for one more, or NULL. */
#define GROW(list)                                                                                 \
    (grow((void **)&(list).at, (list).n, &(list).room, sizeof *(list).at) ? &(list).at[(list).n++] \
                                                                          : NULL)
static bool grow(void **at, size_t n, size_t *room, size_t size) {
    if (n < *room) return true;
    size_t more = *room ? *room * 2 : 1024;
    void *p = n < MOST ? realloc(*at, more * size) : NULL;
    if (!p) return lost++, false;
    *at = p, *room = more;
    return true;
}

/* ---- CUPTI ---- */

/* clang-format off */
#define FUNCTIONS(F)                                                                               \
    F(cuptiSubscribe) F(cuptiUnsubscribe) F(cuptiEnableCallback) F(cuptiActivityRegisterCallbacks) \
    F(cuptiActivityRegisterTimestampCallback) F(cuptiActivityEnable) F(cuptiActivityDisable)       \
    F(cuptiActivityFlushAll) F(cuptiActivityGetNextRecord) F(cuptiActivityGetNumDroppedRecords)    \
    F(cuptiActivityPushExternalCorrelationId) F(cuptiActivityPopExternalCorrelationId)             \
    F(cuptiGetResultString)
/* clang-format on */
#define POINTER(name) __typeof__(&name) name;
#define NAME(name) #name,
static struct { FUNCTIONS(POINTER) } cupti;
static const char *const names[] = {FUNCTIONS(NAME)};
static CUpti_SubscriberHandle subscriber;

/* Calls' own records (RUNTIME, DRIVER) are not read, but an external id is told only in front of
 * one. */
static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                           CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMCPY2,
                                           CUPTI_ACTIVITY_KIND_MEMSET,
                                           CUPTI_ACTIVITY_KIND_OVERHEAD,
                                           CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                           CUPTI_ACTIVITY_KIND_RUNTIME,
                                           CUPTI_ACTIVITY_KIND_DRIVER};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Calls that block or may, which libraries make; ours are timed where they are made. */
#define RUNTIME(name)                                                                              \
    { CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_##name }
#define DRIVER(name)                                                                               \
    { CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_##name }
static const struct {
    CUpti_CallbackDomain domain;
    CUpti_CallbackId id;
} calls[] = {RUNTIME(cudaMalloc_v3020),
             RUNTIME(cudaFree_v3020),
             RUNTIME(cudaHostAlloc_v3020),
             RUNTIME(cudaFreeHost_v3020),
             RUNTIME(cudaMemcpy_v3020),
             RUNTIME(cudaMemcpy2D_v3020),
             RUNTIME(cudaStreamSynchronize_v3020),
             RUNTIME(cudaEventSynchronize_v3020),
             RUNTIME(cudaDeviceSynchronize_v3020),
             DRIVER(cuCtxSynchronize),
             DRIVER(cuEventSynchronize),
             DRIVER(cuStreamSynchronize),
             DRIVER(cuMemAlloc_v2),
             DRIVER(cuMemFree_v2),
             DRIVER(cuMemcpyHtoD_v2),
             DRIVER(cuMemcpyDtoH_v2)};

static uint64_t CUPTIAPI clock_now(void) { return gp_now_ns(); }

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most) {
    *buffer = aligned_alloc(64, BUFFER);
    *size = *buffer ? BUFFER : 0;
    *most = 0;
}

static void ran(uint64_t t0, uint64_t t1, uint32_t correlation, const char *what) {
    activity *a = t1 ? GROW(activities) : NULL; /* a time of 0 is one that CUPTI could not take */
    if (a) *a = (activity){t0, t1, what, correlation, false};
    else if (!t1) lost++;
}

static void held(uint64_t t0, uint64_t t1, uint32_t correlation, const char *what) {
    activity *a = GROW(activities);
    if (a) *a = (activity){t0, t1, what, correlation, true};
}

static void took(const CUpti_ActivityOverhead3 *o) {
    stall s = {"CUPTI's own work", false, o->start, o->end}, *kept = GROW(stalls);
    if (o->overheadKind == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL)
        s.what = "full launch queue";
    if (o->overheadKind == CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER)
        s.what = "compiling of kernels", s.first = true;
    if (o->overheadKind == CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING)
        s.what = "loading of kernels", s.first = true;
    if (kept) *kept = s;
    held(o->start, o->end, o->correlationId, s.what);
}

/* Waits inside of libraries, in the main: gpush's own poll. Both versions of the record begin
 * alike. */
static void synchronized(const CUpti_ActivitySynchronization *y) {
    static const char *const what[] = {"synchronization", "synchronization with an event", NULL,
                                       "synchronization with a stream",
                                       "synchronization with the device"};
    if (y->type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT)
        return; /* holds up no host */
    bool known = y->type > 0 && (size_t)y->type < sizeof what / sizeof *what;
    held(y->start, y->end, y->correlationId, what[known ? y->type : 0]);
}

static void take_record(const CUpti_Activity *r) {
    switch (r->kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const CUpti_ActivityExternalCorrelation *e = (const void *)r;
        correlation_id *l = GROW(correlations);
        if (l) *l = (correlation_id){e->correlationId, e->externalId};
        break;
    }
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const CUpti_ActivityKernel9 *k = (const void *)r;
        ran(k->start, k->end, k->correlationId, gp_cuda_kernel_text(k->name));
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
        const CUpti_ActivityMemcpy5 *m = (const void *)r;
        ran(m->start, m->end, m->correlationId, "memcpy");
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
        const CUpti_ActivityMemcpyPtoP4 *m = (const void *)r;
        ran(m->start, m->end, m->correlationId, "memcpy between devices");
        break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
        const CUpti_ActivityMemset4 *m = (const void *)r;
        ran(m->start, m->end, m->correlationId, "memset");
        break;
    }
    case CUPTI_ACTIVITY_KIND_OVERHEAD: took((const void *)r); break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: synchronized((const void *)r); break;
    default: break;
    }
}

/* On any thread. */
static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                 size_t valid) {
    size_t dropped = 0;
    CUpti_Activity *r = NULL;
    pthread_mutex_lock(&lock);
    while (valid && cupti.cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS)
        take_record(r);
    if (cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
        lost += dropped;
    pthread_mutex_unlock(&lock);
    free(buffer);
}

/* A call that an op's library made on this thread; the runtime's call of the driver's is not told
 * twice. */
static void CUPTIAPI on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data) {
    static _Thread_local int depth;
    static _Thread_local uint64_t since;
    const CUpti_CallbackData *d = data;
    if (!inside || gp_cuda_own_calls) return;
    if (d->callbackSite == CUPTI_API_ENTER) {
        if (depth++ == 0) since = gp_now_ns();
        return;
    }
    if (depth == 0 || --depth) return;
    const char *text = gp_cuda_call_text(inside->op ? inside->op->name : "copy", d->functionName);
    if (text) runtime->called(inside->s->dev, text, false, since);
}

/* ---- beginning ---- */

static const char *result_text(CUptiResult r) {
    const char *text = NULL;
    if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return "another profiler is attached";
    if (r == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
        return "no permission to profile (the driver's NVreg_RestrictProfilingToAdminUsers)";
    cupti.cuptiGetResultString(r, &text);
    return text ? text : "it failed";
}

/* From here on on_call is told of calls that may block. */
static CUptiResult subscribe(void) {
    if (subscriber) return CUPTI_SUCCESS;
    CUptiResult r = cupti.cuptiSubscribe(&subscriber, on_call, NULL);
    if (r != CUPTI_SUCCESS) return subscriber = NULL, r;
    for (size_t i = 0; i < sizeof calls / sizeof *calls && r == CUPTI_SUCCESS; i++)
        r = cupti.cuptiEnableCallback(1, subscriber, calls[i].domain, calls[i].id);
    return r;
}

static CUptiResult cupti_begin(void) {
    CUptiResult r = subscribe();
    if (r == CUPTI_SUCCESS) r = cupti.cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
    if (r == CUPTI_SUCCESS) r = cupti.cuptiActivityRegisterTimestampCallback(clock_now);
    for (int i = 0; i < KINDS && r == CUPTI_SUCCESS; i++) r = cupti.cuptiActivityEnable(kinds[i]);
    return r;
}

/* Nothing is left behind: another profiler may want CUPTI. */
static void cupti_end(void) {
    for (int i = 0; i < KINDS; i++) cupti.cuptiActivityDisable(kinds[i]);
    if (subscriber && !calls_seen) cupti.cuptiUnsubscribe(subscriber), subscriber = NULL;
}

/* What start gives, or why CUPTI cannot be used at all; NULL: all is well. */
static const char *with_cupti(CUptiResult (*start)(void)) {
    if (!runtime->cupti(names, sizeof names / sizeof *names, (void **)&cupti)) return gp_error();
    CUptiResult r = start();
    return r == CUPTI_SUCCESS ? NULL : result_text(r);
}

static void begin(void) {
    if (on) return;
    on = true;
    how[0] = 0;
    const char *why = with_cupti(cupti_begin);
    by_events = why != NULL;
    if (why)
        snprintf(how, sizeof how, "times are of whole ops, from CUDA events, because of CUPTI: %s",
                 why);
    if (why && cupti.cuptiUnsubscribe) cupti_end();
    gp_error_clear();
    atomic_fetch_or(&gp_cuda_watch, CUDA_WATCH_WORK);
}

static const char *see_calls(void) {
    if (calls_seen) return NULL;
    const char *why = with_cupti(subscribe);
    if (why)
        snprintf(blind, sizeof blind,
                 "waits inside of NVIDIA's libraries are not seen, because of CUPTI: %s", why);
    gp_error_clear();
    calls_seen = !why;
    if (calls_seen) atomic_fetch_or(&gp_cuda_watch, CUDA_WATCH_CALLS);
    return why ? blind : NULL;
}

/* ---- spans ---- */

static void *mark(gp_stream *s) {
    void *event = runtime->event_take(s->dev);
    if (event &&
        cudaEventRecord((cudaEvent_t)event, (cudaStream_t)runtime->stream(s)) == cudaSuccess)
        return event;
    if (event) runtime->event_give(s->dev, event);
    gp_error_clear();
    cudaGetLastError();
    return NULL;
}

/* Reads the times of events that were passed and gives them back, oldest first. With the lock. */
static void read_times(void) {
    for (; timed < spans.n; timed++) {
        span *p = &spans.at[timed];
        if (!p->from) continue;
        if (!p->to) return; /* its span is open */
        p->t0 = runtime->event_ns(p->s->dev, p->from);
        p->t1 = p->t0 ? runtime->event_ns(p->s->dev, p->to) : 0;
        if (!p->t1) return;
        runtime->event_give(p->s->dev, p->from);
        runtime->event_give(p->s->dev, p->to);
        p->from = p->to = NULL;
    }
}

void gp_cuda_span_begin(cuda_span *sp, gp_stream *s, const gp_op *op, const char *kind, uint64_t id,
                        size_t bytes) {
    int watch = atomic_load(&gp_cuda_watch);
    *sp = (cuda_span){.outer = inside, .s = s, .op = op, .issued = atomic_load(&s->issued)};
    inside = sp;
    if ((sp->named = watch & CUDA_WATCH_NVTX)) RANGE_PUSH(op ? op->name : kind);
    if (!(watch & CUDA_WATCH_WORK)) return;
    void *event = by_events ? mark(s) : NULL;
    pthread_mutex_lock(&lock);
    span *p = on ? GROW(spans) : NULL;
    if (p) *p = (span){s, op, kind, NULL, id, bytes, event, NULL, 0, 0};
    sp->number = p ? base + spans.n : 0;
    if (by_events && !event) lost++;
    if (by_events && spans.n % TIME_EVERY == 0) read_times();
    pthread_mutex_unlock(&lock);
    if (!p && event) runtime->event_give(s->dev, event);
    if (sp->number && !by_events)
        cupti.cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                                     sp->number);
}

void gp_cuda_span_end(cuda_span *sp) {
    uint64_t last;
    if (sp->number && !by_events)
        cupti.cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
    bool nothing =
        !sp->op && atomic_load(&sp->s->issued) == sp->issued; /* a copy that was put off */
    void *event = sp->number && by_events ? mark(sp->s) : NULL;
    pthread_mutex_lock(&lock);
    span *p =
        sp->number > base && sp->number <= base + spans.n ? &spans.at[sp->number - base - 1] : NULL;
    if (p && p->from && event) {
        void *from = p->from;
        if (nothing) p->from = NULL;
        else p->to = event;
        event = nothing ? event : NULL;
        if (nothing) runtime->event_give(sp->s->dev, from);
    }
    pthread_mutex_unlock(&lock);
    if (event) runtime->event_give(sp->s->dev, event);
    if (sp->named) RANGE_POP();
    inside = sp->outer;
}

void gp_cuda_detail(const char *text) {
    if (!inside || !inside->number) return;
    pthread_mutex_lock(&lock);
    if (inside->number > base && inside->number <= base + spans.n)
        spans.at[inside->number - base - 1].detail = text;
    pthread_mutex_unlock(&lock);
}

/* ---- telling ---- */

typedef struct attributed {
    const span *p; /* NULL: of no span */
    uint64_t t0, t1;
    const char *what;
    bool held;
} attributed;

static int by_correlation(const void *a, const void *b) {
    uint32_t x = ((const correlation_id *)a)->correlation,
             y = ((const correlation_id *)b)->correlation;
    return x < y ? -1 : x > y;
}
static int by_time(const void *a, const void *b) {
    uint64_t x = ((const attributed *)a)->t0, y = ((const attributed *)b)->t0;
    return x < y ? -1 : x > y;
}

/* What ran, with what queued it, in the order of time. Work that nothing of ours queued is left
 * out. */
static size_t gather(attributed *out) {
    size_t n = 0;
    for (size_t i = 0; i < spans.n; i++) {
        const span *p = &spans.at[i];
        if (p->t1) out[n++] = (attributed){p, p->t0, p->t1, NULL, false};
        else if (p->from) lost++;
    }
    if (correlations.n)
        qsort(correlations.at, correlations.n, sizeof *correlations.at, by_correlation);
    for (size_t i = 0; i < activities.n; i++) {
        const activity *a = &activities.at[i];
        correlation_id key = {a->correlation, 0};
        const correlation_id *l = correlations.n ? bsearch(&key, correlations.at, correlations.n,
                                                           sizeof key, by_correlation)
                                                 : NULL;
        bool ours = l && l->number > base && l->number <= base + spans.n;
        if (ours || a->held)
            out[n++] = (attributed){ours ? &spans.at[l->number - base - 1] : NULL, a->t0, a->t1,
                                    a->what, a->held};
    }
    qsort(out, n, sizeof *out, by_time);
    return n;
}

/* A thread of its own: devices' events are on tracks of threads that are workers. With the lock
 * held by its starter. */
static void *teller(void *of) {
    static const span nobody = {.kind = "nothing of gpush's"};
    gp_device *dev = of;
    gp_thread_is_worker();
    attributed *out = malloc((spans.n + activities.n + 1) * sizeof *out);
    size_t n = out ? gather(out) : 0;
    for (size_t i = 0; i < n; i++) {
        const attributed *y = &out[i];
        const span *p = y->p ? y->p : &nobody;
        void (*hook)(const gp_activity *) = GP_HOOK(device);
        const char *what = p->detail && !y->held
                               ? gp_cuda_call_text(p->detail, y->what ? y->what : "all of it")
                               : y->what;
        gp_activity ran = {y->p ? p->s : dev->streams[0],
                           p->op,
                           p->kind,
                           what,
                           p->id,
                           y->t0,
                           y->t1,
                           p->bytes,
                           y->held};
        if (hook && ran.s) hook(&ran);
    }
    free(out);
    void (*call)(gp_device *, const char *, bool, uint64_t, uint64_t) = GP_HOOK(call);
    for (size_t i = 0; call && i < stalls.n; i++)
        call(dev, stalls.at[i].what, stalls.at[i].first, stalls.at[i].t0, stalls.at[i].t1);
    return NULL;
}

/* Everything that is known is told and forgotten. */
static void tell(gp_device *dev, uint64_t *told_lost) {
    if (!by_events) cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    pthread_mutex_lock(&lock);
    read_times();
    pthread_t t;
    if ((spans.n || stalls.n) && !pthread_create(&t, NULL, teller, dev)) pthread_join(t, NULL);
    for (size_t i = timed; i < spans.n; i++) {
        span *p = &spans.at[i];
        if (p->from) runtime->event_give(p->s->dev, p->from);
        if (p->to) runtime->event_give(p->s->dev, p->to);
    }
    base += spans.n;
    spans.n = activities.n = correlations.n = stalls.n = timed = 0;
    if (told_lost) *told_lost += lost;
    lost = 0;
    pthread_mutex_unlock(&lock);
}

const char *gp_cuda_observe(gp_device *dev, gp_trace_cmd look, uint64_t *told_lost) {
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one);
    runtime->enter(dev);
    const char *why = NULL;
    if (look == GP_TRACE_CALLS) why = see_calls();
    else if (look == GP_TRACE_BEGIN) begin();
    else if (on) {
        if (look == GP_TRACE_END) atomic_fetch_and(&gp_cuda_watch, ~CUDA_WATCH_WORK);
        tell(dev, told_lost);
        if (look == GP_TRACE_END && !by_events) cupti_end();
        if (look == GP_TRACE_END) on = false;
    }
    pthread_mutex_unlock(&one);
    return look == GP_TRACE_CALLS ? why : how[0] ? how : NULL;
}

/* Nsight has its tools put this into the environment of what it starts. */
void gp_cuda_cupti_open(const gp_cuda_runtime *of) {
    runtime = of;
    if (getenv("NVTX_INJECTION64_PATH")) atomic_fetch_or(&gp_cuda_watch, CUDA_WATCH_NVTX);
}

/* Regions, which may end in any order and on any thread: not on the stack that ops' ranges are on.
 */
__attribute__((visibility("default"))) uint64_t gp_cuda_range(const char *name, uint64_t range) {
    if (name) return RANGE_START(name);
    RANGE_END(range);
    return 0;
}
