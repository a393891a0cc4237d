/* Tests of the stand-in for CUPTI: one subscriber, callbacks of calls, activity records with their
 * correlation and clock, dropped records. */
#include <cupti.h>
#include <stdlib.h>
#include <time.h>

#include <mutex>
#include <vector>

#include "cuda_runtime.h"
#include "fake_cuda.h"
#include "tap.h"

struct call {
    cudaError_t err;
};
static cudaStream_t gp_cuda_stream(call *) { return NULL; }
static bool gp_cuda_ok(call *c, cudaError_t err) { return (c->err = err) == cudaSuccess; }
__global__ void nothing(int *p) { *p = 1; }

static int entered, left;
static uint64_t carried;
static void on_call(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                    const void *data) {
    const CUpti_CallbackData *d = (const CUpti_CallbackData *)data;
    if (domain != CUPTI_CB_DOMAIN_RUNTIME_API ||
        id != CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020)
        return;
    if (d->callbackSite == CUPTI_API_ENTER) *d->correlationData = 77, ++*(int *)userdata;
    else carried = *d->correlationData, left += !strcmp(d->functionName, "cudaDeviceSynchronize");
}

static void subscribers(void) {
    CUpti_SubscriberHandle one, two;
    tap_is_int(cuptiSubscribe(&one, on_call, &entered), CUPTI_SUCCESS, "a subscriber");
    tap_is_int(cuptiSubscribe(&two, on_call, NULL), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
               "and no other");
    cudaDeviceSynchronize();
    tap_is_int(entered, 0, "it hears of nothing that it has not asked for");
    cuptiEnableCallback(1, one, CUPTI_CB_DOMAIN_RUNTIME_API,
                        CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020);
    cudaDeviceSynchronize();
    tap_ok(entered == 1 && left == 1 && carried == 77,
           "and of the beginning and end of what it has");
    cuptiUnsubscribe(one);
    cudaDeviceSynchronize();
    tap_is_int(entered, 1, "until it leaves");
    tap_is_int(cuptiSubscribe(&two, on_call, &entered), CUPTI_SUCCESS, "then another may come");
    cuptiUnsubscribe(two);
    fakeFault("cupti=busy");
    tap_is_int(cuptiSubscribe(&one, on_call, NULL), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
               "on order it is taken");
    fakeFault("cupti=permission");
    tap_is_int(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
               "or forbidden");
    fakeFault("cupti=");
}

static std::vector<CUpti_ActivityKernel9> kernels;
static std::vector<CUpti_ActivityMemcpy5> copies;
static std::vector<CUpti_ActivityExternalCorrelation> links;
static std::vector<CUpti_ActivitySynchronization> waits;
static size_t dropped;
static std::mutex lock; /* buffers come from several threads */

static void request(uint8_t **buffer, size_t *size, size_t *most) {
    *buffer =
        (uint8_t *)malloc(*size = 1024); /* for a few records only: buffers are exchanged often */
    *most = 0;
}
static void complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t, size_t valid) {
    std::lock_guard<std::mutex> held(lock);
    CUpti_Activity *r = NULL;
    while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS) {
        if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
            kernels.push_back(*(CUpti_ActivityKernel9 *)r);
        if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) copies.push_back(*(CUpti_ActivityMemcpy5 *)r);
        if (r->kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)
            waits.push_back(*(CUpti_ActivitySynchronization *)r);
        if (r->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)
            links.push_back(*(CUpti_ActivityExternalCorrelation *)r);
    }
    size_t n = 0;
    cuptiActivityGetNumDroppedRecords(context, stream, &n);
    dropped += n;
    free(buffer);
}
static uint64_t my_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* n launches, each under an external id from first on, and a copy under none. */
static void work(int n, int first) {
    call c = {cudaSuccess};
    int *d, host;
    cudaMalloc(&d, 4);
    for (int i = 0; i < n; i++) {
        uint64_t last;
        cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                               (uint64_t)(first + i));
        GP_LAUNCH(&c, nothing, 1, 32, 0, d);
        cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
    }
    cudaMemcpy(&host, d, 4, cudaMemcpyDeviceToHost);
    cudaFree(d);
    cudaDeviceSynchronize();
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

/* The number of kernels that carry the correlation of a link to ids first, first + 1 …, in this
 * order. */
static int linked(int first) {
    int n = 0;
    for (const auto &k : kernels)
        for (const auto &l : links)
            n += l.correlationId == k.correlationId &&
                 l.externalId == (uint64_t)(first + (int)(&k - kernels.data()));
    return n;
}

static void activities(void) {
    cuptiActivityRegisterCallbacks(request, complete);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION),
        cuptiActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    work(2, 1);
    tap_ok(kernels.size() == 2 && links.empty(),
           "no link is reported without the calls' own records");
    tap_ok(waits.size() == 1 &&
               waits[0].type == CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE &&
               waits[0].end >= waits[0].start && waits[0].correlationId > kernels[1].correlationId,
           "the wait for the device has a record");
    kernels.clear(), copies.clear();
    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME);
    uint64_t t0 = my_clock();
    work(20, 100);
    tap_ok(kernels.size() == 20 && copies.size() == 1 && dropped == 0,
           "a record of each kernel and copy");
    tap_is_int(linked(100), 20, "linked to what was pushed on the thread that launched");
    tap_ok(kernels[0].start > t0 + 1000000000000ull, "on a clock of CUPTI's own");
    tap_ok(!strcmp(kernels[0].name, "nothing") && kernels[0].blockX == 32, "with name and shape");
    tap_ok(copies[0].copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOH && copies[0].dstKind == 1 &&
               copies[0].srcKind == 3 && copies[0].bytes == 4,
           "the copy's direction and kinds of memory");
    cuptiActivityRegisterTimestampCallback(my_clock);
    kernels.clear(), links.clear();
    t0 = my_clock();
    work(2, 500);
    tap_ok(kernels.size() == 2 && kernels[0].start >= t0 && kernels[0].end <= kernels[1].start &&
               kernels[1].end <= my_clock(),
           "or on the caller's clock");
    kernels.clear(), links.clear();
    cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME);
    fakeFault("cupti_drop=2-4");
    work(5, 900);
    fakeFault("cupti_drop=0");
    tap_is_int((long long)dropped, 3, "what is dropped is counted");
    tap_is_int((long long)(kernels.size() + copies.size() + waits.size()), 5 + 3 + 4 - 3,
               "and not there");
}

static int *detach;
static void detach_at_end(void *, CUpti_CallbackDomain, CUpti_CallbackId, const void *data) {
    if (detach && ((const CUpti_CallbackData *)data)->callbackSite == CUPTI_API_EXIT)
        *detach = cuptiFinalize(), detach = NULL;
}

static void detaching(void) {
    CUpti_SubscriberHandle s;
    int version, result = -1;
    kernels.clear();
    cuptiSubscribe(&s, detach_at_end, NULL);
    cuptiEnableCallback(1, s, CUPTI_CB_DOMAIN_RUNTIME_API,
                        CUPTI_RUNTIME_TRACE_CBID_cudaRuntimeGetVersion_v3020);
    detach = &result;
    cudaRuntimeGetVersion(&version);
    tap_ok(result == CUPTI_SUCCESS && fakeCount("CUPTI detached") == 1 &&
               fakeCount("CUPTI detached outside a call") == 0,
           "CUPTI can be detached at the end of a call");
    work(1, 1);
    tap_is_int((long long)kernels.size(), 0, "then nothing is recorded");
    tap_is_int(cuptiSubscribe(&s, on_call, NULL), CUPTI_SUCCESS, "and nobody is subscribed");
    cuptiFinalize();
    tap_is_int(fakeCount("CUPTI detached outside a call"), 1, "elsewhere that is counted");
}

int main(void) {
    subscribers();
    activities();
    detaching();
    return tap_done();
}
