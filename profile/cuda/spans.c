/* Spans: the ops and copies that queued the work of CUDA devices, and, where CUPTI cannot be used,
 * their times from pairs of events. Also NVTX ranges, by which Nsight shows ops by name. */
#include <cuda_runtime.h>

#include <stdlib.h>

#include "profile/cuda/trace.h"
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

enum {
    MAX_RECORDS = 4 << 20,
    READ_EVERY = 128
}; /* records of a list; spans between reads of times */

static struct gp_cuda_trace *const trace = &gp_cuda_trace;
struct gp_cuda_trace gp_cuda_trace = {.lock = PTHREAD_MUTEX_INITIALIZER};
const gp_cuda_runtime *gp_cuda_rt;
atomic_int gp_cuda_watch;
_Thread_local int gp_cuda_own_calls;
_Thread_local cuda_span *gp_cuda_in_span;

bool gp_cuda_grow(void **at, size_t n, size_t *capacity, size_t size) {
    if (n < *capacity) return true;
    size_t more = *capacity ? *capacity * 2 : 1024;
    void *p = n < MAX_RECORDS ? realloc(*at, more * size) : NULL;
    if (!p) return trace->lost++, false;
    *at = p, *capacity = more;
    return true;
}

/* An event of the pool, recorded on s; NULL, without a message, when there is none. */
static void *record_event(gp_stream *s) {
    void *event = gp_cuda_rt->event_acquire(s->dev);
    if (event &&
        cudaEventRecord((cudaEvent_t)event, (cudaStream_t)gp_cuda_rt->stream(s)) == cudaSuccess)
        return event;
    if (event) gp_cuda_rt->event_release(s->dev, event);
    gp_error_clear();
    cudaGetLastError();
    return NULL;
}

span_record *gp_cuda_span_of(uint64_t number) {
    uint64_t first = trace->reported + 1;
    bool known = number >= first && number - first < trace->spans.n;
    return known ? &trace->spans.at[number - first] : NULL;
}

void gp_cuda_read_times(void) {
    for (; trace->timed < trace->spans.n; trace->timed++) {
        span_record *p = &trace->spans.at[trace->timed];
        if (!p->from) continue;
        if (!p->to) return; /* its span is still open */
        p->t0 = gp_cuda_rt->event_ns(p->s->dev, p->from);
        p->t1 = p->t0 ? gp_cuda_rt->event_ns(p->s->dev, p->to) : 0;
        if (!p->t1) return;
        gp_cuda_rt->event_release(p->s->dev, p->from);
        gp_cuda_rt->event_release(p->s->dev, p->to);
        p->from = p->to = NULL;
    }
}

void gp_cuda_span_begin(cuda_span *sp, gp_stream *s, const gp_op *op, const char *kind, uint64_t id,
                        size_t bytes) {
    int watch = atomic_load(&gp_cuda_watch);
    *sp =
        (cuda_span){.outer = gp_cuda_in_span, .s = s, .op = op, .issued = atomic_load(&s->issued)};
    gp_cuda_in_span = sp;
    if ((sp->named = watch & CUDA_WATCH_NVTX)) RANGE_PUSH(op ? op->name : kind);
    if (!(watch & CUDA_WATCH_WORK)) return;
    void *event = trace->by_events ? record_event(s) : NULL;
    pthread_mutex_lock(&trace->lock);
    span_record *p = trace->on ? CUDA_APPEND(trace->spans) : NULL;
    if (p) *p = (span_record){s, op, kind, NULL, id, bytes, event, NULL, 0, 0};
    sp->number = p ? trace->reported + trace->spans.n : 0;
    if (trace->by_events && !event) trace->lost++;
    if (trace->by_events && trace->spans.n % READ_EVERY == 0) gp_cuda_read_times();
    pthread_mutex_unlock(&trace->lock);
    if (!p && event) gp_cuda_rt->event_release(s->dev, event);
    if (sp->number && !trace->by_events) gp_cupti_push(sp->number);
}

void gp_cuda_span_end(cuda_span *sp) {
    if (sp->number && !trace->by_events) gp_cupti_pop();
    /* Nothing was queued: the copy was deferred. */
    bool nothing = !sp->op && atomic_load(&sp->s->issued) == sp->issued;
    void *event = sp->number && trace->by_events ? record_event(sp->s) : NULL;
    pthread_mutex_lock(&trace->lock);
    span_record *p = gp_cuda_span_of(sp->number);
    if (p && p->from && event) {
        void *from = p->from;
        if (nothing) p->from = NULL;
        else p->to = event;
        event = nothing ? event : NULL;
        if (nothing) gp_cuda_rt->event_release(sp->s->dev, from);
    }
    pthread_mutex_unlock(&trace->lock);
    if (event) gp_cuda_rt->event_release(sp->s->dev, event);
    if (sp->named) RANGE_POP();
    gp_cuda_in_span = sp->outer;
}

void gp_cuda_detail(const char *text) {
    if (!gp_cuda_in_span || !gp_cuda_in_span->number) return;
    pthread_mutex_lock(&trace->lock);
    span_record *p = gp_cuda_span_of(gp_cuda_in_span->number);
    if (p) p->detail = text;
    pthread_mutex_unlock(&trace->lock);
}

/* For regions, which may end in any order and on any thread: these ranges are not on the stack of
 * ops' ranges. */
__attribute__((visibility("default"))) uint64_t gp_cuda_range(const char *name, uint64_t range) {
    if (name) return RANGE_START(name);
    RANGE_END(range);
    return 0;
}
