/* Events: positions in a stream that others wait for, with the times at which they were reached. */
#include <time.h>

#include <algorithm>

#include "state.h"

namespace fake {
void record(const fake_activity &a);
}
using namespace fake;

/* s waits for e, one of which is of a capture: s joins it, as a fork, or goes on after e, too. With
 * the lock. */
static cudaError_t follow_captured(CUstream_st *s, CUevent_st *e) {
    std::shared_ptr<CUgraph_st> g = e->capture;
    if (!g) return capturing(s), (cudaError_t)STREAM_CAPTURE_ISOLATION;
    if (g->over)
        return s->capture ? (capturing(s), (cudaError_t)STREAM_CAPTURE_ISOLATION) : cudaSuccess;
    if (s->legacy || s->dev != g->dev)
        return g->invalid = true, (cudaError_t)STREAM_CAPTURE_IMPLICIT;
    if (s->capture && s->capture != g) {
        g->invalid = s->capture->invalid = true;
        return (cudaError_t)STREAM_CAPTURE_MERGE;
    }
    if (!s->capture) s->ends.clear(), g->streams.push_back(s);
    s->capture = g;
    for (size_t n : e->ends)
        if (std::find(s->ends.begin(), s->ends.end(), n) == s->ends.end()) s->ends.push_back(n);
    return cudaSuccess;
}

/* Whether the host asks about e while that is of a capture, which is invalid then. */
static bool captured(CUevent_st *e) {
    if (!e->capture || e->capture->over) return false;
    return e->capture->invalid = true;
}

extern "C" {

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    *e = new CUevent_st{flags, current_device, nullptr, nullptr, {}};
    return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t *e) { return cudaEventCreateWithFlags(e, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t e) {
    if (!e) return done(cudaErrorInvalidResourceHandle);
    delete e; /* a waiter for its last record holds that */
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t h) {
    API(cudaEventRecord, h);
    cudaError_t err = forbidden();
    if (!err && !e) err = cudaErrorInvalidResourceHandle;
    if (err) return api_(err);
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    if (!s || s->dev != e->dev) return api_(cudaErrorInvalidResourceHandle);
    e->capture = s->capture, e->ends = s->ends;
    if (s->capture) return api_(cudaSuccess);
    rt().counts["event"]++;
    if (!(e->flags & cudaEventDisableTiming)) rt().counts["timed event"]++;
    int late = 50;
    if (!faulty(F_LATE, &late)) late = 0;
    auto r = std::make_shared<event_record>();
    task t;
    t.what = activity(0, NULL, s);
    t.run = [r, late] {
        struct timespec ms = {late / 1000, late % 1000 * 1000000L};
        if (late) nanosleep(&ms, NULL);
        r->ns = clock_ns();
    };
    r->dev = s->dev;
    r->when = submit(l, s, std::move(t));
    e->last = r;
    return api_(cudaSuccess);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t h, cudaEvent_t e, unsigned) {
    API(cudaStreamWaitEvent, h);
    cudaError_t err = forbidden();
    if (!err && !e) err = cudaErrorInvalidResourceHandle;
    if (err) return api_(err);
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    if (!s) return api_(cudaErrorInvalidResourceHandle);
    if (s->capture || e->capture) return api_(follow_captured(s, e));
    if (!e->last) return api_(cudaSuccess);
    task t;
    t.what = activity(0, NULL, s);
    t.after.push_back(e->last->when);
    submit(l, s, std::move(t));
    return api_(cudaSuccess);
}

cudaError_t cudaEventQuery(cudaEvent_t e) {
    API(cudaEventQuery);
    cudaError_t err = forbidden();
    if (!err && !e) err = cudaErrorInvalidResourceHandle;
    if (err) return api_(err);
    locked l(rt().lock);
    if (captured(e)) return api_((cudaError_t)CAPTURED_EVENT);
    std::shared_ptr<event_record> r = e->last;
    int d = e->dev;
    return api_(!r || asked(l, r->when) ? rt().devices[(size_t)d]->sticky.load()
                                        : cudaErrorNotReady);
}

cudaError_t cudaEventSynchronize(cudaEvent_t e) {
    API(cudaEventSynchronize);
    cudaError_t err = forbidden();
    if (!err && !e) err = cudaErrorInvalidResourceHandle;
    if (err) return api_(err);
    locked l(rt().lock);
    if (captured(e)) return api_((cudaError_t)CAPTURED_EVENT);
    rt().counts["sync"]++;
    fake_activity a = activity(FAKE_SYNC, NULL, rt().devices[(size_t)e->dev]->legacy);
    a.sync = 1, a.start = clock_ns();
    std::shared_ptr<event_record> r = e->last;
    int d = e->dev;
    if (r) wait_for(l, r->when);
    a.end = clock_ns();
    err = rt().devices[(size_t)d]->sticky;
    l.unlock();
    record(a);
    return api_(err);
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    locked l(rt().lock);
    if (!from || !to || !from->last || !to->last ||
        (from->flags | to->flags) & cudaEventDisableTiming || from->dev != to->dev)
        return done(cudaErrorInvalidResourceHandle);
    if (!from->last->when.passed() || !to->last->when.passed()) return done(cudaErrorNotReady);
    *ms = (float)((double)((int64_t)to->last->ns - (int64_t)from->last->ns) / 1e6);
    return cudaSuccess;
}
}
