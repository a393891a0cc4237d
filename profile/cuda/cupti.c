/* CUPTI: its activity records of what CUDA devices did and when, and its callbacks for the calls
 * inside NVIDIA's libraries that make the host wait. */
#include <cuda_runtime.h>
#include <cupti.h>

#include <stdlib.h>

#include "profile/cuda/trace.h"
#include "tensor/op.h"

static struct gp_cuda_trace *const trace = &gp_cuda_trace;
static bool calls_watched;

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
typedef CUptiResult CUPTIAPI switch_records(CUpti_CallbackId call, uint8_t on);
static struct {
    FUNCTIONS(POINTER)
    switch_records *runtime_records, *driver_records; /* NULL in older versions */
    CUptiResult(CUPTIAPI *finalize)(void);            /* the same */
    CUptiResult(CUPTIAPI *version)(uint32_t *);
} cupti;
static const char *const names[] = {FUNCTIONS(NAME) "cuptiActivityEnableRuntimeApi",
                                    "cuptiActivityEnableDriverApi", "cuptiFinalize",
                                    "cuptiGetVersion"};
enum { OPTIONAL = 4, DETACHES = 24 /* CUPTI's version of CUDA 12.6 */ };
_Static_assert(sizeof cupti == sizeof names, "a pointer for each name");
static CUpti_SubscriberHandle subscriber;
static atomic_bool detaching; /* the next call of CUDA that is watched detaches CUPTI at its end */

/* Calls' own records (RUNTIME, DRIVER) are read only for the threads that made them, but CUPTI
 * reports an external id only before one. */
static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                           CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMCPY2,
                                           CUPTI_ACTIVITY_KIND_MEMSET,
                                           CUPTI_ACTIVITY_KIND_OVERHEAD,
                                           CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                           CUPTI_ACTIVITY_KIND_RUNTIME,
                                           CUPTI_ACTIVITY_KIND_DRIVER};
enum { BUFFER_BYTES = 1 << 20, KINDS = sizeof kinds / sizeof *kinds, CALLS = KINDS - 2 };

/* Calls by libraries that block or may block; our own are timed where they are made. */
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

/* Calls by which gpush looks whether work is done: a wait makes thousands of them, and CUPTI would
 * record each twice. */
static const CUpti_CallbackId runtime_polls[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020, CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020};
static const CUpti_CallbackId driver_polls[] = {CUPTI_DRIVER_TRACE_CBID_cuStreamQuery,
                                                CUPTI_DRIVER_TRACE_CBID_cuEventQuery};

static uint64_t CUPTIAPI clock_now(void) { return gp_now_ns(); }

static void CUPTIAPI buffer_requested(uint8_t **buffer, size_t *size, size_t *max_records) {
    *buffer = aligned_alloc(64, BUFFER_BYTES);
    *size = *buffer ? BUFFER_BYTES : 0;
    *max_records = 0;
}

static void ran(uint64_t t0, uint64_t t1, uint32_t correlation, const char *what) {
    activity_record *a = t1 ? CUDA_APPEND(trace->activities)
                            : NULL; /* a time of 0 means that CUPTI could not measure it */
    if (a) *a = (activity_record){t0, t1, what, correlation, false};
    else if (!t1) trace->lost++;
}

static void held(uint64_t t0, uint64_t t1, uint32_t correlation, const char *what) {
    activity_record *a = CUDA_APPEND(trace->activities);
    if (a) *a = (activity_record){t0, t1, what, correlation, true};
}

static void took(const CUpti_ActivityOverhead3 *o) {
    stall_record s = {"CUPTI's own work", false, o->start, o->end},
                 *kept = CUDA_APPEND(trace->stalls);
    if (o->overheadKind == CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL)
        s.what = "full launch queue";
    if (o->overheadKind == CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER)
        s.what = "compiling of kernels", s.first = true;
    if (o->overheadKind == CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING)
        s.what = "loading of kernels", s.first = true;
    if (kept) *kept = s;
    held(o->start, o->end, o->correlationId, s.what);
}

/* Waits inside libraries, chiefly: gpush itself polls. Both versions of the record begin alike. */
static void synchronized(const CUpti_ActivitySynchronization *y) {
    static const char *const what[] = {"synchronization", "synchronization with an event", NULL,
                                       "synchronization with a stream",
                                       "synchronization with the device"};
    if (y->type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT)
        return; /* does not block the host */
    bool known = y->type > 0 && (size_t)y->type < sizeof what / sizeof *what;
    held(y->start, y->end, y->correlationId, what[known ? y->type : 0]);
}

/* Guarded by the trace's lock: whether several threads have made calls of CUDA since the last
 * record began, of NVIDIA's libraries, too. */
static bool several_call;
static uint32_t caller; /* the first one; 0: none yet */

static void called_by(uint32_t thread) {
    if (!caller) caller = thread;
    several_call |= caller != thread;
}

/* Of what comes after a record only its calls count. */
static void read_record(const CUpti_Activity *r) {
    bool call = r->kind == CUPTI_ACTIVITY_KIND_RUNTIME || r->kind == CUPTI_ACTIVITY_KIND_DRIVER;
    if (!call && !trace->on) return;
    switch (r->kind) {
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const CUpti_ActivityExternalCorrelation *e = (const void *)r;
        correlation_record *l = CUDA_APPEND(trace->correlations);
        if (l) *l = (correlation_record){e->correlationId, e->externalId};
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
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER: called_by(((const CUpti_ActivityAPI *)r)->threadId); break;
    case CUPTI_ACTIVITY_KIND_OVERHEAD: took((const void *)r); break;
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: synchronized((const void *)r); break;
    default: break;
    }
}

/* Called on any thread. */
static void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
                                      size_t size, size_t valid) {
    size_t dropped = 0;
    CUpti_Activity *r = NULL;
    pthread_mutex_lock(&trace->lock);
    while (valid && cupti.cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS)
        read_record(r);
    if (cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
        trace->lost += dropped;
    pthread_mutex_unlock(&trace->lock);
    free(buffer);
}

/* A call by an op's library on this thread; the driver call inside a runtime call is not reported
 * again. */
static void CUPTIAPI on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                             const void *data) {
    static _Thread_local int depth;
    static _Thread_local uint64_t since;
    const CUpti_CallbackData *d = data;
    if (d->callbackSite == CUPTI_API_EXIT && atomic_exchange(&detaching, false)) {
        cupti.finalize();
        return;
    }
    if (!gp_cuda_in_span || gp_cuda_own_calls) return;
    if (d->callbackSite == CUPTI_API_ENTER) {
        if (depth++ == 0) since = gp_now_ns();
        return;
    }
    if (depth == 0 || --depth) return;
    const char *text = gp_cuda_call_text(gp_cuda_in_span->op ? gp_cuda_in_span->op->name : "copy",
                                         d->functionName);
    if (text) gp_cuda_rt->called(gp_cuda_in_span->s->dev, text, false, since);
}

/* ---- start ---- */

static const char *result_text(CUptiResult r) {
    const char *text = NULL;
    if (r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) return "another profiler is attached";
    if (r == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
        return "no permission to profile (the driver's NVreg_RestrictProfilingToAdminUsers)";
    cupti.cuptiGetResultString(r, &text);
    return text ? text : "it failed";
}

/* From here on on_call is called for calls that may block. */
static CUptiResult subscribe(void) {
    if (subscriber) return CUPTI_SUCCESS;
    CUptiResult r = cupti.cuptiSubscribe(&subscriber, on_call, NULL);
    if (r != CUPTI_SUCCESS) return subscriber = NULL, r;
    for (size_t i = 0; i < sizeof calls / sizeof *calls && r == CUPTI_SUCCESS; i++)
        r = cupti.cuptiEnableCallback(1, subscriber, calls[i].domain, calls[i].id);
    return r;
}

static CUptiResult start_records(void) {
    int unused;
    if (subscriber) cupti.cuptiActivityFlushAll(0); /* calls before this record */
    CUptiResult r = subscribe();
    pthread_mutex_lock(&trace->lock);
    caller = 0, several_call = false;
    pthread_mutex_unlock(&trace->lock);
    if (r == CUPTI_SUCCESS)
        r = cupti.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
    if (r == CUPTI_SUCCESS) r = cupti.cuptiActivityRegisterTimestampCallback(clock_now);
    for (int i = 0; i < KINDS && r == CUPTI_SUCCESS; i++) r = cupti.cuptiActivityEnable(kinds[i]);
    for (size_t i = 0; i < sizeof runtime_polls / sizeof *runtime_polls; i++)
        if (cupti.runtime_records) cupti.runtime_records(runtime_polls[i], 0);
    for (size_t i = 0; i < sizeof driver_polls / sizeof *driver_polls; i++)
        if (cupti.driver_records) cupti.driver_records(driver_polls[i], 0);
    if (r == CUPTI_SUCCESS) cudaRuntimeGetVersion(&unused); /* a call of this thread */
    return r;
}

/* What CUPTI has once recorded it goes on preparing for, in every call of CUDA, until it is
 * detached. That is safe at the end of a call, where no other thread is inside one: after records
 * in which several threads made calls (NCCL's, a host program's) it stays, and a later record may
 * detach it. Before CUDA 12.6 graphs did not survive it. Source: NVIDIA's documentation of CUPTI,
 * cuptiFinalize. */
static void detach(void) {
    uint32_t version = 0;
    int unused;
    if (several_call || !cupti.finalize || !cupti.version || cupti.version(&version) ||
        version < DETACHES) {
        cupti.cuptiUnsubscribe(subscriber);
        subscriber = NULL;
        return;
    }
    atomic_store(&detaching, true);
    cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API,
                              CUPTI_RUNTIME_TRACE_CBID_cudaRuntimeGetVersion_v3020);
    cudaRuntimeGetVersion(&unused);
    if (atomic_exchange(&detaching, false)) cupti.finalize();
    subscriber = NULL;
}

static void stop_records(int from, int to) {
    for (int i = from; i < to; i++) cupti.cuptiActivityDisable(kinds[i]);
    cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

void gp_cupti_end(void) { stop_records(0, CALLS); }

void gp_cupti_leave(void) {
    stop_records(CALLS, KINDS);
    if (subscriber) detach();
    if (calls_watched) subscribe();
}

/* Loads CUPTI and runs `start`: NULL, or why CUPTI cannot be used. */
static const char *with_cupti(CUptiResult (*start)(void)) {
    if (!gp_cuda_rt->cupti(names, sizeof names / sizeof *names, OPTIONAL, (void **)&cupti))
        return gp_error();
    CUptiResult r = start();
    return r == CUPTI_SUCCESS ? NULL : result_text(r);
}

const char *gp_cupti_begin(void) {
    const char *why = with_cupti(start_records);
    if (why && cupti.cuptiUnsubscribe) gp_cupti_end(), gp_cupti_leave();
    return why;
}

const char *gp_cupti_watch_calls(void) {
    const char *why = calls_watched ? NULL : with_cupti(subscribe);
    calls_watched = !why;
    return why;
}

void gp_cupti_flush(bool all) {
    cupti.cuptiActivityFlushAll(all ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
}

void gp_cupti_push(uint64_t number) {
    cupti.cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, number);
}

void gp_cupti_pop(void) {
    uint64_t last;
    cupti.cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}
