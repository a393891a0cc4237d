/* What the stand-in's runtime tells its CUPTI (tests/fake_cuda): calls as they begin and end, and what devices did. */
#ifndef FAKE_HOOKS_H
#define FAKE_HOOKS_H

#include "cuda_runtime_api.h"

/* The calls that CUPTI's callbacks know, by its ids of the runtime domain; 0: not shown. */
enum {
    FAKE_CBID_none = 0,
    FAKE_CBID_cudaRuntimeGetVersion = 2,
    FAKE_CBID_cudaMalloc = 20,
    FAKE_CBID_cudaFree = 22,
    FAKE_CBID_cudaMallocHost = 25,
    FAKE_CBID_cudaFreeHost = 26,
    FAKE_CBID_cudaHostAlloc = 27,
    FAKE_CBID_cudaMemcpy = 31,
    FAKE_CBID_cudaMemcpy2D = 32,
    FAKE_CBID_cudaMemcpyAsync = 41,
    FAKE_CBID_cudaMemcpy2DAsync = 44,
    FAKE_CBID_cudaMemset = 49,
    FAKE_CBID_cudaMemsetAsync = 51,
    FAKE_CBID_cudaStreamSynchronize = 131,
    FAKE_CBID_cudaStreamQuery = 132,
    FAKE_CBID_cudaEventRecord = 135,
    FAKE_CBID_cudaEventSynchronize = 137,
    FAKE_CBID_cudaEventQuery = 138,
    FAKE_CBID_cudaStreamWaitEvent = 147,
    FAKE_CBID_cudaHostRegister = 152,
    FAKE_CBID_cudaHostUnregister = 153,
    FAKE_CBID_cudaMemcpyPeer = 160,
    FAKE_CBID_cudaMemcpyPeerAsync = 161,
    FAKE_CBID_cudaDeviceSynchronize = 165,
    FAKE_CBID_cudaStreamDestroy = 201,
    FAKE_CBID_cudaStreamCreateWithPriority = 202,
    FAKE_CBID_cudaMallocManaged = 206,
    FAKE_CBID_cudaLaunchKernel = 211,
    FAKE_CBID_cudaLaunchHostFunc = 284,
    FAKE_CBID_cudaMallocAsync = 373,
    FAKE_CBID_cudaFreeAsync = 375,
    FAKE_CBID_cudaMemPoolTrimTo = 377
};

enum { FAKE_KERNEL = 1, FAKE_COPY, FAKE_SET, FAKE_SYNC, FAKE_EVENT };

typedef struct fake_call {
    int id;
    const char *name;
    unsigned correlation; /* unique in the process */
    int dev;
    unsigned stream; /* id */
    cudaError_t result; /* on exit */
    unsigned long long data; /* the subscriber's, from entry to exit */
} fake_call;

typedef struct fake_activity {
    int kind;         /* FAKE_KERNEL …; 0: none */
    const char *name; /* kernels; as long as the process */
    unsigned correlation;
    int dev;
    unsigned stream;
    unsigned long long start, end; /* ns of CLOCK_MONOTONIC */
    unsigned long long queued;     /* when it was submitted */
    size_t bytes;
    enum cudaMemoryType from, to; /* copies; pageable is cudaMemoryTypeUnregistered */
    int sync;                     /* FAKE_SYNC: 1 event, 2 stream waits for event, 3 stream, 4 context */
    unsigned grid[3], block[3];
    size_t shared;
} fake_activity;

typedef struct fake_hooks {
    void (*enter)(fake_call *c);
    void (*leave)(fake_call *c);
    void (*queued)(const fake_activity *a); /* with the runtime's lock */
    void (*record)(const fake_activity *a); /* on the stream's thread, or the caller's for FAKE_SYNC */
} fake_hooks;

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif
/* NULL: nobody listens. */
void fakeHooks(const fake_hooks *h);
/* The environment's word on CUPTI ("" if none), and whether the next activity record is to be dropped. */
const char *fakeCuptiMode(void);
/* Adds one to fakeCount(what). */
void fakeCounted(const char *what);
/* n bytes at p, a variable of a module, are memory of the current device. */
void fakeDeviceMemory(void *p, size_t n);
int fakeCuptiDrop(void);
#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop

#endif
