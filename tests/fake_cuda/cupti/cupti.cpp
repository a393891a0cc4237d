/* CUPTI on the stand-in's runtime: activity records in the caller's buffers, callbacks of calls,
 * one subscriber. */
#include "cupti.h"

#include <pthread.h>
#include <string.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "cuda_runtime.h"
#include "hooks.h"

struct CUpti_Subscriber_st {
    CUpti_CallbackFunc fn;
    void *userdata;
};

namespace {
/* Guarded by the lock. The caller owns the buffer between request and complete. */
struct state {
    std::mutex lock;
    CUpti_Subscriber_st *subscriber = NULL;
    std::vector<CUpti_Subscriber_st *>
        all;                      /* none is freed: a call may be reporting one from earlier */
    std::set<unsigned> callbacks; /* of the runtime domain */
    std::set<int> kinds;
    std::set<int> silent; /* calls without records */
    CUpti_BuffersCallbackRequestFunc request = NULL;
    CUpti_BuffersCallbackCompleteFunc complete = NULL;
    std::map<unsigned, int> open; /* kinds of activities that are not done, by correlation */
    std::set<unsigned> delivered; /* those of them that a forced flush has given away */
    uint8_t *buffer = NULL;
    size_t size = 0, used = 0, dropped = 0;
};
state &st() {
    static state *s = new state();
    return *s;
}
thread_local std::vector<uint64_t> externals;
thread_local uint64_t correlation_data;
thread_local int ends; /* calls of this thread whose end CUPTI reports now */

bool mode(const char *what) { return !strcmp(fakeCuptiMode(), what); }

/* Returns the buffer, as CUPTI does from a thread of its own or in a flush. */
void hand_over(std::unique_lock<std::mutex> &l) {
    state &s = st();
    uint8_t *b = s.buffer;
    size_t size = s.size, used = s.used;
    s.buffer = NULL, s.used = 0;
    CUpti_BuffersCallbackCompleteFunc complete = s.complete;
    if (!b || !complete) return;
    l.unlock();
    complete(NULL, 0, b, size, used);
    l.lock();
}

/* A record takes 8-aligned bytes after its length. */
void put(const void *record, size_t bytes, int kind) {
    state &s = st();
    std::unique_lock<std::mutex> l(s.lock);
    if (!s.kinds.count(kind) || !s.request) return;
    l.unlock();
    bool drop = fakeCuptiDrop(); /* takes the runtime's lock */
    l.lock();
    if (drop) {
        s.dropped++;
        return;
    }
    size_t want = 8 + (bytes + 7) / 8 * 8;
    if (s.buffer && s.used + want > s.size) hand_over(l);
    if (!s.buffer) {
        size_t most = 0;
        s.request(&s.buffer, &s.size, &most);
    }
    if (!s.buffer || s.used + want > s.size) {
        s.dropped++;
        return;
    }
    uint64_t length = want;
    memcpy(s.buffer + s.used, &length, 8);
    memcpy(s.buffer + s.used + 8, record, bytes);
    s.used += want;
}

/* A clock of CUPTI's own, on which nothing else runs, unless the caller has set a clock. */
const uint64_t foreign = 1000000000000000ull;
std::atomic<uint64_t> offset{foreign};
uint64_t translate(uint64_t ns) { return ns + offset.load(); }

unsigned char memory_kind(cudaMemoryType t) {
    static const unsigned char kinds[] = {1, 2, 3, 5}; /* pageable, pinned, device, managed */
    return kinds[t];
}

void record_copy(const fake_activity *a) {
    CUpti_ActivityMemcpy6 r = {};
    r.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
    bool to = a->to >= cudaMemoryTypeDevice, from = a->from >= cudaMemoryTypeDevice;
    r.copyKind = to && from ? CUPTI_ACTIVITY_MEMCPY_KIND_DTOD
                 : to       ? CUPTI_ACTIVITY_MEMCPY_KIND_HTOD
                            : CUPTI_ACTIVITY_MEMCPY_KIND_DTOH;
    r.srcKind = memory_kind(a->from), r.dstKind = memory_kind(a->to);
    r.deviceId = (uint32_t)a->dev, r.streamId = a->stream, r.correlationId = a->correlation;
    r.bytes = a->bytes, r.start = translate(a->start), r.end = translate(a->end);
    put(&r, sizeof r, r.kind);
}

/* A kernel's code is loaded when it is first launched; here that takes almost no time. */
void record_loading(const fake_activity *a) {
    static std::set<const char *> loaded;
    {
        std::unique_lock<std::mutex> l(st().lock);
        if (!loaded.insert(a->name).second) return;
    }
    CUpti_ActivityOverhead3 r = {};
    r.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
    r.overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING;
    r.start = translate(a->queued), r.end = r.start + 1000, r.correlationId = a->correlation;
    put(&r, sizeof r, r.kind);
}

void record_kernel(const fake_activity *a) {
    record_loading(a);
    CUpti_ActivityKernel10 r = {};
    r.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
    r.deviceId = (uint32_t)a->dev, r.streamId = a->stream, r.correlationId = a->correlation;
    r.start = translate(a->start), r.end = translate(a->end), r.queued = translate(a->queued);
    r.name = a->name;
    r.gridX = (int32_t)a->grid[0], r.gridY = (int32_t)a->grid[1], r.gridZ = (int32_t)a->grid[2];
    r.blockX = (int32_t)a->block[0], r.blockY = (int32_t)a->block[1],
    r.blockZ = (int32_t)a->block[2];
    r.dynamicSharedMemory = (int32_t)a->shared;
    put(&r, sizeof r, r.kind);
}

/* Work is queued: its record lies in a buffer from now on, without times. */
void queued(const fake_activity *a) {
    std::unique_lock<std::mutex> l(st().lock);
    st().open[a->correlation] = a->kind;
}

/* Whether a's record is still there to be completed. */
bool complete_record(const fake_activity *a) {
    std::unique_lock<std::mutex> l(st().lock);
    st().open.erase(a->correlation);
    return !st().delivered.erase(a->correlation);
}

/* Records of what is not done, which will not come again. */
void put_unfinished(void) {
    std::map<unsigned, int> open;
    {
        std::unique_lock<std::mutex> l(st().lock);
        open.swap(st().open);
        for (auto &o : open) st().delivered.insert(o.first);
    }
    for (auto &o : open) {
        CUpti_ActivityKernel10 k = {};
        CUpti_ActivityMemset4 m = {};
        k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, k.correlationId = o.first;
        m.kind = CUPTI_ACTIVITY_KIND_MEMSET, m.correlationId = o.first;
        if (o.second == FAKE_KERNEL) put(&k, sizeof k, k.kind);
        else put(&m, sizeof m, m.kind);
    }
}

void record(const fake_activity *a) {
    if (a->kind != FAKE_SYNC && !complete_record(a)) return;
    if (a->kind == FAKE_KERNEL) record_kernel(a);
    else if (a->kind == FAKE_COPY) record_copy(a);
    else if (a->kind == FAKE_SET) {
        CUpti_ActivityMemset4 r = {};
        r.kind = CUPTI_ACTIVITY_KIND_MEMSET;
        r.deviceId = (uint32_t)a->dev, r.streamId = a->stream, r.correlationId = a->correlation;
        r.bytes = a->bytes, r.start = translate(a->start), r.end = translate(a->end);
        put(&r, sizeof r, r.kind);
    } else if (a->kind == FAKE_SYNC) {
        CUpti_ActivitySynchronization r = {};
        r.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
        r.type = (CUpti_ActivitySynchronizationType)a->sync, r.streamId = a->stream,
        r.correlationId = a->correlation;
        r.start = translate(a->start), r.end = translate(a->end);
        put(&r, sizeof r, r.kind);
    }
}

void tell(fake_call *c, CUpti_ApiCallbackSite site) {
    state &s = st();
    CUpti_Subscriber_st *to;
    {
        std::unique_lock<std::mutex> l(s.lock);
        to = s.callbacks.count((unsigned)c->id) ? s.subscriber : NULL;
    }
    if (!to) return;
    CUpti_CallbackData d = {};
    correlation_data = c->data;
    d.callbackSite = site, d.functionName = c->name, d.correlationId = c->correlation;
    d.correlationData = &correlation_data, d.functionReturnValue = &c->result;
    ends += site == CUPTI_API_EXIT;
    to->fn(to->userdata, CUPTI_CB_DOMAIN_RUNTIME_API, (CUpti_CallbackId)c->id, &d);
    ends -= site == CUPTI_API_EXIT;
    c->data = correlation_data;
}

bool wanted(int kind) {
    std::unique_lock<std::mutex> l(st().lock);
    return st().kinds.count(kind) != 0;
}

bool silent(int call) {
    std::unique_lock<std::mutex> l(st().lock);
    return st().silent.count(call) != 0;
}

void enter(fake_call *c) { tell(c, CUPTI_API_ENTER); }

/* The record of a call, preceded (only here) by the external id that its thread has pushed. */
void leave(fake_call *c) {
    tell(c, CUPTI_API_EXIT);
    if (!wanted(CUPTI_ACTIVITY_KIND_RUNTIME) || silent(c->id)) return;
    fakeCounted("call record");
    if (!externals.empty()) {
        CUpti_ActivityExternalCorrelation r = {};
        r.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
        r.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
        r.externalId = externals.back(), r.correlationId = c->correlation;
        put(&r, sizeof r, r.kind);
    }
    CUpti_ActivityAPI r = {};
    r.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
    r.threadId = (uint32_t)pthread_self();
    r.cbid = (uint32_t)c->id, r.correlationId = c->correlation, r.returnValue = (uint32_t)c->result;
    put(&r, sizeof r, r.kind);
}

const fake_hooks hooks = {enter, leave, queued, record};
} // namespace

extern "C" {

CUptiResult cuptiGetVersion(uint32_t *version) {
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult result, const char **text) {
    *text = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
            : result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                : "CUPTI_ERROR";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *ns) {
    *ns = translate(fake::clock_ns());
    return CUPTI_SUCCESS;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *h, CUpti_CallbackFunc fn, void *userdata) {
    if (mode("busy")) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    state &s = st();
    std::unique_lock<std::mutex> l(s.lock);
    if (s.subscriber) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    *h = s.subscriber = new CUpti_Subscriber_st{fn, userdata};
    s.all.push_back(s.subscriber);
    fakeHooks(&hooks);
    l.unlock(); /* kernels in flight take the locks the other way round */
    fakeCounted("CUPTI attached");
    return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle h) {
    state &s = st();
    std::unique_lock<std::mutex> l(s.lock);
    if (h != s.subscriber) return CUPTI_ERROR_INVALID_PARAMETER;
    s.subscriber = NULL;
    s.callbacks.clear();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle h, CUpti_CallbackDomain domain,
                                CUpti_CallbackId id) {
    state &s = st();
    std::unique_lock<std::mutex> l(s.lock);
    if (!h || h != s.subscriber) return CUPTI_ERROR_INVALID_PARAMETER;
    if (domain != CUPTI_CB_DOMAIN_RUNTIME_API)
        return CUPTI_SUCCESS; /* there is no driver API here */
    if (on) s.callbacks.insert(id);
    else s.callbacks.erase(id);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
    if (mode("permission")) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    state &s = st();
    std::unique_lock<std::mutex> l(s.lock);
    s.request = request, s.complete = complete;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc f) {
    offset = f ? f() - fake::clock_ns() : foreign;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
    if (mode("permission")) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
    state &s = st();
    std::unique_lock<std::mutex> l(s.lock);
    s.kinds.insert(kind);
    if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) s.silent.clear();
    fakeHooks(&hooks);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable) {
    state &s = st();
    std::unique_lock<std::mutex> l(s.lock);
    if (enable) s.silent.erase((int)cbid);
    else s.silent.insert((int)cbid);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
    state &s = st();
    std::unique_lock<std::mutex> l(s.lock);
    s.kinds.erase(kind);
    return CUPTI_SUCCESS;
}

/* A buffer that holds a record without its times is given away only by force. */
CUptiResult cuptiActivityFlushAll(uint32_t flags) {
    if (flags & CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) put_unfinished();
    std::unique_lock<std::mutex> l(st().lock);
    if (st().open.empty()) hand_over(l);
    return CUPTI_SUCCESS;
}

/* Records that were not flushed are lost, as are the caller's clock and callbacks. */
CUptiResult cuptiFinalize(void) {
    fakeCounted(ends ? "CUPTI detached" : "CUPTI detached outside a call");
    state &s = st();
    std::unique_lock<std::mutex> l(s.lock);
    s.subscriber = NULL;
    s.callbacks.clear(), s.kinds.clear(), s.silent.clear(), s.open.clear();
    if (s.buffer) s.used = 0, hand_over(l);
    s.request = NULL, s.complete = NULL;
    offset = foreign;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record) {
    uint8_t *at = buffer;
    if (*record) {
        uint64_t length;
        memcpy(&length, (uint8_t *)*record - 8, 8);
        at = (uint8_t *)*record - 8 + length;
    }
    if (!buffer || at + 8 >= buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(at + 8);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t *dropped) {
    state &s = st();
    std::unique_lock<std::mutex> l(s.lock);
    *dropped = s.dropped, s.dropped = 0; /* since it was last asked */
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t id) {
    externals.push_back(id);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, uint64_t *last) {
    if (externals.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
    if (last) *last = externals.back();
    externals.pop_back();
    return CUPTI_SUCCESS;
}
}
