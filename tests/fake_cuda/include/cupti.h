/* CUPTI as gpush uses it: NVIDIA's names and values, fewer members in the records (tests/fake_cuda). */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include "cuda.h"

#define CUPTI_API_VERSION 130001
#define CUPTIAPI
#ifdef __cplusplus
extern "C" {
#endif

typedef enum CUptiResult {
    CUPTI_SUCCESS = 0,
    CUPTI_ERROR_INVALID_PARAMETER = 1,
    CUPTI_ERROR_MAX_LIMIT_REACHED = 12,
    CUPTI_ERROR_NOT_INITIALIZED = 15,
    CUPTI_ERROR_QUEUE_EMPTY = 18,
    CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
    CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
    CUPTI_ERROR_UNKNOWN = 999
} CUptiResult;

typedef enum CUpti_ActivityKind {
    CUPTI_ACTIVITY_KIND_INVALID = 0,
    CUPTI_ACTIVITY_KIND_MEMCPY = 1,
    CUPTI_ACTIVITY_KIND_MEMSET = 2,
    CUPTI_ACTIVITY_KIND_DRIVER = 4,
    CUPTI_ACTIVITY_KIND_RUNTIME = 5,
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
    CUPTI_ACTIVITY_KIND_OVERHEAD = 17,
    CUPTI_ACTIVITY_KIND_MEMCPY2 = 22,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION = 38,
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION = 39
} CUpti_ActivityKind;
typedef enum CUpti_ExternalCorrelationKind { CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 = 3 } CUpti_ExternalCorrelationKind;
typedef enum CUpti_ActivityOverheadKind {
    CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER = 1,
    CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH = 1 << 16,
    CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING = 5 << 16,
    CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL = 6 << 16
} CUpti_ActivityOverheadKind;
enum { CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1 };
enum { CUPTI_ACTIVITY_MEMCPY_KIND_HTOD = 1, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH = 2, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD = 8 };

typedef struct CUpti_Activity {
    CUpti_ActivityKind kind;
} CUpti_Activity;
typedef struct CUpti_ActivityKernel10 {
    CUpti_ActivityKind kind;
    uint32_t deviceId, contextId, streamId, correlationId;
    uint64_t start, end, queued;
    const char *name;
    int32_t gridX, gridY, gridZ, blockX, blockY, blockZ, dynamicSharedMemory;
} CUpti_ActivityKernel10, CUpti_ActivityKernel9;
typedef struct CUpti_ActivityMemcpy6 {
    CUpti_ActivityKind kind;
    uint8_t copyKind, srcKind, dstKind, flags;
    uint32_t deviceId, contextId, streamId, correlationId;
    uint64_t bytes, start, end;
} CUpti_ActivityMemcpy6, CUpti_ActivityMemcpy5, CUpti_ActivityMemcpyPtoP4;
typedef struct CUpti_ActivityMemset4 {
    CUpti_ActivityKind kind;
    uint32_t deviceId, contextId, streamId, correlationId;
    uint64_t bytes, start, end;
} CUpti_ActivityMemset4;
typedef enum CUpti_ActivitySynchronizationType {
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE = 1,
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT = 2,
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE = 3,
    CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE = 4
} CUpti_ActivitySynchronizationType;
typedef struct CUpti_ActivitySynchronization {
    CUpti_ActivityKind kind;
    CUpti_ActivitySynchronizationType type;
    uint64_t start, end;
    uint32_t correlationId, contextId, streamId, cudaEventId;
} CUpti_ActivitySynchronization;
typedef struct CUpti_ActivityAPI {
    CUpti_ActivityKind kind;
    uint32_t cbid;
    uint64_t start, end;
    uint32_t processId, threadId, correlationId, returnValue;
} CUpti_ActivityAPI;
typedef struct CUpti_ActivityOverhead3 {
    CUpti_ActivityKind kind;
    CUpti_ActivityOverheadKind overheadKind;
    uint64_t start, end;
    uint32_t correlationId;
} CUpti_ActivityOverhead3, CUpti_ActivityOverhead2, CUpti_ActivityOverhead;
typedef struct CUpti_ActivityExternalCorrelation {
    CUpti_ActivityKind kind;
    CUpti_ExternalCorrelationKind externalKind;
    uint64_t externalId;
    uint32_t correlationId, reserved;
} CUpti_ActivityExternalCorrelation;

typedef enum CUpti_CallbackDomain {
    CUPTI_CB_DOMAIN_DRIVER_API = 1,
    CUPTI_CB_DOMAIN_RUNTIME_API = 2,
    CUPTI_CB_DOMAIN_SYNCHRONIZE = 4
} CUpti_CallbackDomain;
typedef uint32_t CUpti_CallbackId;
typedef enum CUpti_ApiCallbackSite { CUPTI_API_ENTER = 0, CUPTI_API_EXIT = 1 } CUpti_ApiCallbackSite;
typedef struct CUpti_CallbackData {
    CUpti_ApiCallbackSite callbackSite;
    const char *functionName;
    const void *functionParams;
    void *functionReturnValue;
    const char *symbolName;
    CUcontext context;
    uint32_t contextUid;
    uint64_t *correlationData;
    uint32_t correlationId;
} CUpti_CallbackData;
enum {
    CUPTI_RUNTIME_TRACE_CBID_cudaRuntimeGetVersion_v3020 = 2,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetLastError_v3020 = 10,
    CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020 = 17,
    CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020 = 20,
    CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020 = 22,
    CUPTI_RUNTIME_TRACE_CBID_cudaFreeHost_v3020 = 26,
    CUPTI_RUNTIME_TRACE_CBID_cudaHostAlloc_v3020 = 27,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy_v3020 = 31,
    CUPTI_RUNTIME_TRACE_CBID_cudaMemcpy2D_v3020 = 32,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamSynchronize_v3020 = 131,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamQuery_v3020 = 132,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventSynchronize_v3020 = 137,
    CUPTI_RUNTIME_TRACE_CBID_cudaEventQuery_v3020 = 138,
    CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020 = 165,
    CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize = 17,
    CUPTI_DRIVER_TRACE_CBID_cuEventQuery = 120,
    CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize = 121,
    CUPTI_DRIVER_TRACE_CBID_cuStreamQuery = 125,
    CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize = 126,
    CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2 = 243,
    CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2 = 245,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyHtoD_v2 = 276,
    CUPTI_DRIVER_TRACE_CBID_cuMemcpyDtoH_v2 = 278
};

typedef struct CUpti_Subscriber_st *CUpti_SubscriberHandle;
typedef void (*CUpti_CallbackFunc)(void *userdata, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void *data);
typedef void (*CUpti_BuffersCallbackRequestFunc)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*CUpti_BuffersCallbackCompleteFunc)(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                                                  size_t valid);
typedef uint64_t (*CUpti_TimestampCallbackFunc)(void);

#pragma GCC visibility push(default)
CUptiResult cuptiGetVersion(uint32_t *version);
CUptiResult cuptiGetResultString(CUptiResult result, const char **text);
CUptiResult cuptiGetTimestamp(uint64_t *ns);
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *s, CUpti_CallbackFunc fn, void *userdata);
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle s);
CUptiResult cuptiEnableCallback(uint32_t on, CUpti_SubscriberHandle s, CUpti_CallbackDomain domain, CUpti_CallbackId id);
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete);
CUptiResult cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc now);
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable);
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind);
CUptiResult cuptiActivityFlushAll(uint32_t flags);
CUptiResult cuptiFinalize(void);
CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record);
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped);
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id);
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t *last);
#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
