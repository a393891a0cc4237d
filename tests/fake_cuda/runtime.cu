/* Tests of the stand-in for CUDA itself: a block's threads, memory, streams and events, injected
 * faults. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <vector>

#include "cuda_bf16.h"
#include "cuda_fp16.h"
#include "cuda_runtime.h"
#include "fake_cuda.h"
#include "tap.h"

/* What GP_LAUNCH gets from kernels/cuda/runtime/kernel.h. */
struct call {
    cudaStream_t stream;
    cudaError_t err;
};
static cudaStream_t gp_cuda_stream(const call *c) { return c->stream; }
static bool gp_cuda_ok(call *c, cudaError_t err) { return (c->err = err) == cudaSuccess; }

template <class T> static T *device(size_t n) {
    T *p = NULL;
    if (cudaMalloc(&p, n * sizeof(T)) != cudaSuccess) exit(2);
    return p;
}
template <class T> static std::vector<T> host(const T *p, size_t n) {
    std::vector<T> v(n);
    cudaMemcpy(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost);
    return v;
}
static void sleep_ms(int ms) {
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

/* Sums of blocks by a tree over shared memory, static and of the launch's size; grids of three
 * dimensions. */
__global__ void tree(const int *x, int *sums, int n) {
    __shared__ int part[256];
    GP_DYNAMIC_SHARED(int, copy);
    int block = (int)(blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z));
    int t = (int)(threadIdx.x + blockDim.x * threadIdx.y), i = block * 256 + t;
    copy[255 - t] = i < n ? x[i] : 0;
    __syncthreads();
    part[t] = copy[255 - t];
    for (int step = 128; step; step /= 2) {
        __syncthreads();
        if (t < step) part[t] += part[t + step];
    }
    if (t == 0) sums[block] = part[0];
}

static void barriers(void) {
    int n = 24 * 256 - 5;
    std::vector<int> x((size_t)n);
    for (int i = 0; i < n; i++) x[(size_t)i] = i * 7 % 1001;
    int *d = device<int>((size_t)n), *sums = device<int>(24);
    cudaMemcpy(d, x.data(), (size_t)n * 4, cudaMemcpyHostToDevice);
    call c = {NULL, cudaSuccess};
    tap_ok(GP_LAUNCH(&c, tree, dim3(2, 3, 4), dim3(64, 4), 1024, d, sums, n),
           "a launch of a grid of 2x3x4 blocks");
    std::vector<int> got = host(sums, 24);
    int wrong = 0;
    for (int b = 0; b < 24; b++) {
        int want = 0;
        for (int i = b * 256; i < n && i < b * 256 + 256; i++) want += x[(size_t)i];
        wrong += got[(size_t)b] != want;
    }
    tap_is_int(wrong, 0, "sums over shared memory and barriers");
    cudaFree(d), cudaFree(sums);
}

__global__ void votes(int *out) {
    int t = (int)threadIdx.x;
    int any = __syncthreads_or(t == 77), none = __syncthreads_or(0),
        all = __syncthreads_and(t >= 0);
    int not_all = __syncthreads_and(t != 3), count = __syncthreads_count(t % 3 == 0);
    if (t == 0) out[0] = any, out[1] = none, out[2] = all, out[3] = not_all, out[4] = count;
}

/* Each lane's results of the warp's functions: 8 a lane. */
__global__ void warps(int *out) {
    int l = (int)threadIdx.x & 31, *o = out + threadIdx.x * 8;
    o[0] = __shfl_sync(0xffffffffu, l * 10, 5);
    o[1] = __shfl_up_sync(0xffffffffu, l, 3);
    o[2] = __shfl_down_sync(0xffffffffu, l, 3, 8);
    o[3] = __shfl_xor_sync(0xffffffffu, l, 17);
    o[4] = (int)__ballot_sync(0xffffffffu, l % 4 == 1);
    o[5] = __reduce_add_sync(0xffffffffu, l);
    /* Two halves that diverge and synchronise among themselves. */
    if (l < 16) o[6] = __shfl_sync(0x0000ffffu, l, 15 - l);
    else o[6] = __shfl_sync(0xffff0000u, l, 16);
    __syncwarp();
    o[7] = __popc(__match_any_sync(0xffffffffu, l / 10)) * 100 +
           __any_sync(0xffffffffu, l == 9) * 10 + __all_sync(0xffffffffu, l < 31);
}

static void warp_functions(void) {
    call c = {NULL, cudaSuccess};
    int *d = device<int>(64 * 8);
    GP_LAUNCH(&c, votes, 1, 96, 0, d);
    std::vector<int> v = host(d, 5);
    tap_ok(v[0] == 1 && v[1] == 0 && v[2] == 1 && v[3] == 0 && v[4] == 32,
           "__syncthreads_or, _and and _count");
    GP_LAUNCH(&c, warps, 1, 64, 0, d);
    v = host(d, 64 * 8);
    int wrong[8] = {0};
    for (int t = 0; t < 64; t++) {
        int l = t & 31, *o = &v[(size_t)t * 8];
        wrong[0] += o[0] != 50;
        wrong[1] += o[1] != (l < 3 ? l : l - 3);
        wrong[2] += o[2] != (l % 8 + 3 > 7 ? l : l + 3);
        wrong[3] += o[3] != (l ^ 17);
        wrong[4] += o[4] != 0x22222222;
        wrong[5] += o[5] != 31 * 16;
        wrong[6] += o[6] != (l < 16 ? 15 - l : 16);
        wrong[7] += o[7] != (l < 30 ? 10 : 2) * 100 + 10;
    }
    static const char *const names[] = {
        "shfl",   "shfl_up",    "shfl_down of width 8",     "shfl_xor",
        "ballot", "reduce_add", "shfl of two halves apart", "match_any, any and all"};
    for (int i = 0; i < 8; i++) tap_is_int(wrong[i], 0, "%s", names[i]);
    cudaFree(d);
}

__global__ void count(unsigned long long *sum, int *most, float *f, unsigned *wrap) {
    atomicAdd(sum, 1);
    atomicMax(most, (int)(blockIdx.x * blockDim.x + threadIdx.x));
    atomicAdd(f, 0.5f);
    atomicInc(wrap, 4u);
    atomicCAS(&sum[1], 0ull, 9ull);
}

static void atomics(void) {
    call c = {NULL, cudaSuccess};
    cudaStream_t s[2];
    char *d = device<char>(64);
    cudaMemset(d, 0, 64);
    cudaDeviceSynchronize();
    unsigned long long *sum = (unsigned long long *)d;
    for (int i = 0; i < 2; i++) {
        cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking);
        c.stream = s[i];
        GP_LAUNCH(&c, count, 50, 128, 0, sum, (int *)(d + 16), (float *)(d + 20),
                  (unsigned *)(d + 24));
    }
    cudaDeviceSynchronize();
    std::vector<char> v = host(d, 64);
    unsigned long long n;
    int most;
    float f;
    unsigned wrap;
    memcpy(&n, &v[0], 8), memcpy(&most, &v[16], 4), memcpy(&f, &v[20], 4), memcpy(&wrap, &v[24], 4);
    tap_is_int((long long)n, 12800, "atomicAdd from two streams");
    tap_ok(most == 6399 && f == 6400 && wrap == 12800 % 5, "atomicMax, of floats, atomicInc");
    memcpy(&n, &v[8], 8);
    tap_is_int((long long)n, 9, "atomicCAS");
    for (int i = 0; i < 2; i++) cudaStreamDestroy(s[i]);
    cudaFree(d);
}

/* Every half and bfloat16 in both directions, ties, overflow and subnormal numbers. */
static void conversions(void) {
    int wrong = 0;
    for (int i = 0; i < 65536; i++) {
        half h = __ushort_as_half((unsigned short)i);
        nv_bfloat16 b = __ushort_as_bfloat16((unsigned short)i);
        if (!isnan((float)h)) wrong += __half_as_ushort(__float2half((float)h)) != i;
        if (!isnan((float)b)) wrong += __bfloat16_as_ushort(__float2bfloat16((float)b)) != i;
    }
    tap_is_int(wrong, 0, "every half and bfloat16 there and back");
    tap_ok((float)half(2049.0f) == 2048 && (float)half(2051.0f) == 2052 &&
               (float)half(65519.0f) == 65504 && isinf((float)half(65520.0f)) &&
               (float)half(0x1.8p-24f) == 0x1p-23f && (float)half(0x1p-25f) == 0,
           "half: ties to even, overflow, subnormal ones");
    tap_ok((float)nv_bfloat16(257.0f) == 256 && (float)nv_bfloat16(259.0f) == 260 &&
               isnan((float)nv_bfloat16(NAN)),
           "bfloat16: ties to even, NaN");
    tap_ok((float)half(1 + 0x1p-11 + 0x1p-40) == 1 + 0x1p-10f, "a double is rounded once");
}

__global__ void stuck(int *out) {
    if (threadIdx.x >= 32) return;
    __syncthreads();
    out[0] = 1;
}
__global__ void lost(int *out) {
    if (threadIdx.x & 1) out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
    __syncthreads();
}
__global__ void fine(int *out) { out[threadIdx.x] = (int)threadIdx.x; }

static void divergence(void) {
    call c = {NULL, cudaSuccess};
    int *d = device<int>(64);
    GP_LAUNCH(&c, stuck, 1, 64, 0, d);
    tap_is_int(cudaDeviceSynchronize(), cudaErrorLaunchFailure,
               "threads that do not all reach a barrier fail the launch");
    tap_is_int(cudaGetLastError(), cudaErrorLaunchFailure, "the error stays");
    tap_ok(!GP_LAUNCH(&c, fine, 1, 64, 0, d) && c.err == cudaErrorLaunchFailure,
           "for launches, too");
    cudaDeviceReset();
    GP_LAUNCH(&c, lost, 1, 32, 0, d);
    tap_is_int(cudaDeviceSynchronize(), cudaErrorLaunchFailure,
               "lanes that wait for others which wait at a barrier");
    cudaDeviceReset();
    GP_LAUNCH(&c, fine, 1, 64, 0, d);
    tap_ok(cudaDeviceSynchronize() == cudaSuccess && host(d, 64)[63] == 63,
           "the next kernel runs as ever");
    tap_ok(!GP_LAUNCH(&c, fine, 1, 1025, 0, d) && c.err == cudaErrorInvalidConfiguration,
           "1025 threads are refused");
    tap_ok(!GP_LAUNCH(&c, fine, 1, 1, 60000, d) && c.err == cudaErrorInvalidValue,
           "60000 bytes of shared memory are refused");
    cudaFuncSetAttribute(fine, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);
    tap_ok(GP_LAUNCH(&c, fine, 1, 1, 60000, d), "unless the function allows it");
    tap_ok(GP_LAUNCH(&c, fine, 0, 64, 0, d) && cudaGetLastError() == cudaSuccess,
           "a grid of no blocks does nothing");
    cudaFree(d);
}

static std::atomic<bool> gate;
static std::atomic<int> seen;
static void wait_gate(void *) {
    while (!gate) sleep_ms(1);
}
static void see(void *p) { seen = *(int *)p; }

__global__ void store(int *p, int v) { *p = v; }
__global__ void add(int *p, int v) { *p += v; }
__global__ void twice(int *p) { *p *= 2; }

static void streams(void) {
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking),
        cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    call ca = {a, cudaSuccess}, cb = {b, cudaSuccess};
    int *d = device<int>(4), *pinned;
    cudaMallocHost(&pinned, 64);
    gate = false;
    cudaLaunchHostFunc(a, wait_gate, NULL);
    GP_LAUNCH(&ca, store, 1, 1, 0, d, 3);
    cudaMemcpyAsync(pinned, d, 4, cudaMemcpyDeviceToHost, a);
    pinned[0] = -1;
    tap_ok(cudaStreamQuery(a) == cudaErrorNotReady && pinned[0] == -1,
           "launches and copies to pinned memory return at once");
    cudaEvent_t e;
    cudaEventCreate(&e);
    cudaEventRecord(e, a);
    cudaStreamWaitEvent(b, e, 0);
    GP_LAUNCH(&cb, twice, 1, 1, 0, d);
    tap_ok(cudaEventQuery(e) == cudaErrorNotReady && cudaStreamQuery(b) == cudaErrorNotReady,
           "a stream waits for another's event");
    gate = true;
    cudaStreamSynchronize(b);
    tap_ok(host(d, 1)[0] == 6 && pinned[0] == 3, "and goes on after it");

    /* Pageable memory: small copies to the device are staged, larger ones and those from it
     * wait. */
    gate = false;
    int small = 5;
    cudaLaunchHostFunc(a, wait_gate, NULL);
    cudaMemcpyAsync(d, &small, 4, cudaMemcpyHostToDevice, a);
    small = 7;
    tap_is_int(cudaStreamQuery(a), cudaErrorNotReady,
               "a small copy from pageable memory does not wait");
    cudaMemcpyAsync(d + 1, pinned, 4, cudaMemcpyHostToDevice, a);
    pinned[0] = 8;
    gate = true;
    int out = 0;
    cudaMemcpyAsync(&out, d, 4, cudaMemcpyDeviceToHost, a);
    tap_is_int(out, 5, "it took what was there; a copy to pageable memory waits");
    tap_is_int(host(d + 1, 1)[0], 8,
               "a copy from pinned memory takes what is there when its turn comes");
    cudaEventDestroy(e), cudaStreamDestroy(a), cudaStreamDestroy(b), cudaFreeHost(pinned),
        cudaFree(d);
}

/* The legacy default stream and the blocking streams wait for each other; a non-blocking one does
 * not. */
static void legacy(void) {
    cudaStream_t blocking, free_;
    cudaStreamCreate(&blocking), cudaStreamCreateWithFlags(&free_, cudaStreamNonBlocking);
    call c = {blocking, cudaSuccess}, def = {NULL, cudaSuccess};
    int *d = device<int>(1);
    gate = false;
    cudaLaunchHostFunc(blocking, wait_gate, NULL);
    GP_LAUNCH(&c, store, 1, 1, 0, d, 5);
    GP_LAUNCH(&def, twice, 1, 1, 0, d);
    GP_LAUNCH(&c, add, 1, 1, 0, d, 1);
    static int one = 1;
    cudaLaunchHostFunc(free_, see, &one);
    cudaStreamSynchronize(free_);
    tap_ok(seen == 1 && cudaStreamQuery(NULL) == cudaErrorNotReady,
           "a non-blocking stream passes by");
    gate = true;
    cudaStreamSynchronize(blocking);
    tap_is_int(host(d, 1)[0], 11, "blocking, default, blocking: in this order");
    cudaStreamDestroy(blocking), cudaStreamDestroy(free_), cudaFree(d);
}

static void memory(void) {
    struct cudaPointerAttributes a;
    float *d = device<float>(100), stack;
    std::vector<float> v = host(d, 100);
    tap_ok(isnan(v[0]) && isnan(v[99]), "fresh memory is full of NaN");
    cudaPointerGetAttributes(&a, d + 50);
    tap_ok(a.type == cudaMemoryTypeDevice && a.device == 0, "an address inside a device block");
    cudaPointerGetAttributes(&a, d + 100);
    tap_ok(a.type != cudaMemoryTypeDevice || a.devicePointer != d, "one after it is not");
    cudaPointerGetAttributes(&a, &stack);
    tap_is_int(a.type, cudaMemoryTypeUnregistered, "pageable memory");
    tap_is_int(cudaMemcpy(d + 90, v.data(), 44, cudaMemcpyHostToDevice), cudaErrorInvalidValue,
               "a copy beyond the end is refused");
    tap_is_int(cudaMemcpy(v.data(), v.data(), 4, cudaMemcpyDeviceToHost), cudaErrorInvalidValue,
               "and one in the wrong direction");
    tap_is_int(cudaGetLastError(), cudaErrorInvalidValue, "the last error is kept");
    tap_is_int(cudaGetLastError(), cudaSuccess, "once");
    static char mine[8192];
    tap_is_int(cudaHostRegister(mine, sizeof mine, 0), cudaSuccess,
               "registering the caller's memory");
    cudaPointerGetAttributes(&a, mine + 100);
    tap_is_int(a.type, cudaMemoryTypeHost, "pins it");
    tap_is_int(cudaHostRegister(mine + 10, 10, 0), cudaErrorHostMemoryAlreadyRegistered,
               "once only");
    tap_ok(cudaHostUnregister(mine) == cudaSuccess &&
               cudaHostUnregister(mine) == cudaErrorHostMemoryNotRegistered,
           "and back");
    size_t before, after, total;
    cudaMemGetInfo(&before, &total);
    void *p, *q;
    tap_is_int(cudaMalloc(&p, total), cudaErrorMemoryAllocation, "more than there is is refused");
    cudaGetLastError();
    cudaMallocAsync(&p, 1 << 20, NULL), cudaMallocAsync(&q, 1 << 20, NULL);
    cudaMemGetInfo(&after, &total);
    tap_is_int((long long)(before - after), 2 << 20,
               "what a pool took is gone from the free memory");
    cudaFreeAsync(p, NULL), cudaFreeAsync(q, NULL);
    cudaDeviceSynchronize();
    cudaMemPool_t pool;
    cudaDeviceGetDefaultMemPool(&pool, 0);
    cudaMemPoolTrimTo(pool, 0);
    cudaMemGetInfo(&after, &total);
    tap_is_int((long long)before, (long long)after, "until it is trimmed");
    cudaFree(d);
}

static void times(void) {
    cudaEvent_t from, to;
    cudaEventCreate(&from), cudaEventCreate(&to);
    float ms = 0;
    tap_is_int(cudaEventElapsedTime(&ms, from, to), cudaErrorInvalidResourceHandle,
               "events that were not recorded have no time");
    call c = {NULL, cudaSuccess};
    int *d = device<int>(64);
    fakeFault("slow=1:300");
    cudaEventRecord(from, NULL);
    GP_LAUNCH(&c, fine, 1, 64, 0, d);
    cudaEventRecord(to, NULL);
    tap_is_int(cudaEventElapsedTime(&ms, from, to), cudaErrorNotReady,
               "nor those that are to come");
    cudaEventSynchronize(to);
    tap_ok(cudaEventElapsedTime(&ms, from, to) == cudaSuccess && ms >= 300 && ms < 60000,
           "a slow kernel takes its time");
    cudaEventDestroy(from), cudaEventDestroy(to), cudaFree(d);
    cudaGetLastError();
}

static void nested(void *p) { *(cudaError_t *)p = cudaStreamQuery(NULL); }

static void faults(void) {
    call c = {NULL, cudaSuccess};
    int *d = device<int>(64);
    void *p;
    tap_is_int(fakeFault("oom=2 nonsense=1"), -1, "a fault that is not known is said so");
    fakeFault("oom=2-3");
    cudaError_t e1 = cudaMalloc(&p, 8), e2, e3, e4;
    cudaFree(p);
    e2 = cudaMalloc(&p, 8), e3 = cudaMallocAsync(&p, 8, NULL), e4 = cudaMalloc(&p, 8);
    cudaFree(p);
    tap_ok(!e1 && e2 == cudaErrorMemoryAllocation && e3 == e2 && !e4,
           "out of memory at allocations 2 and 3");
    cudaGetLastError();
    fakeFault("launch=2:98");
    bool l1 = GP_LAUNCH(&c, fine, 1, 64, 0, d), l2 = GP_LAUNCH(&c, fine, 1, 64, 0, d);
    tap_ok(l1 && !l2 && c.err == cudaErrorInvalidDeviceFunction, "launch 2 is refused");
    tap_is_int(cudaDeviceSynchronize(), cudaSuccess, "which does not stick");
    fakeFault("late=1:500");
    cudaEvent_t e;
    cudaEventCreate(&e);
    cudaEventRecord(e, NULL);
    sleep_ms(5);
    tap_is_int(cudaEventQuery(e), cudaErrorNotReady, "a late event is late");
    tap_is_int(cudaEventSynchronize(e), cudaSuccess, "and comes");
    cudaError_t inside = cudaSuccess;
    cudaLaunchHostFunc(NULL, nested, &inside);
    cudaDeviceSynchronize();
    tap_is_int(inside, cudaErrorNotPermitted, "a callback may not call CUDA");
    fakeFault("sticky=1");
    GP_LAUNCH(&c, fine, 1, 64, 0, d);
    tap_is_int(cudaStreamSynchronize(NULL), cudaErrorIllegalAddress, "a kernel that goes wrong");
    tap_ok(cudaMalloc(&p, 8) == cudaErrorIllegalAddress &&
               cudaGetLastError() == cudaErrorIllegalAddress &&
               cudaGetLastError() == cudaErrorIllegalAddress,
           "takes the device with it");
    fakeFault("sticky=0");
    cudaDeviceReset();
    cudaEventDestroy(e), cudaFree(d);
}

static void twice_host(void *args) { *(*(int **)args) *= 2; }

static void libraries(void) {
    cudaStream_t s;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    call c = {s, cudaSuccess};
    int *d = device<int>(1);
    GP_LAUNCH(&c, store, 1, 1, 0, d, 21);
    tap_is_int(fakeEnqueue(s, "twice", twice_host, &d, sizeof d), cudaSuccess, "a library's work");
    cudaStreamSynchronize(s);
    tap_is_int(host(d, 1)[0], 42, "takes its turn");
    cudaStreamDestroy(s), cudaFree(d);
}

/* Every thread stores its number, before and after a barrier: which is the last? */
__global__ void last_one(int *to) {
    int me = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    to[0] = me;
    __syncthreads();
    to[1 + blockIdx.x] = me;
}

static void order(void) {
    call c = {NULL, cudaSuccess};
    int *d = device<int>(4);
    GP_LAUNCH(&c, last_one, 3, 64, 0, d);
    std::vector<int> forward = host(d, 4);
    fakeFault("order=backward");
    GP_LAUNCH(&c, last_one, 3, 64, 0, d);
    std::vector<int> backward = host(d, 4);
    fakeFault("order=forward");
    tap_ok(forward[0] == 191 && backward[0] == 0, "blocks and threads run forward or backward");
    tap_ok(forward[2] != backward[2], "after a barrier, too");
}

static void two_devices(void) {
    cudaStream_t s;
    if (cudaSetDevice(1) != cudaSuccess) return;
    cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);
    cudaSetDevice(0);
    call c = {s, cudaSuccess};
    int *d = device<int>(1);
    tap_ok(!GP_LAUNCH(&c, fine, 1, 1, 0, d) && c.err == cudaErrorInvalidResourceHandle,
           "a launch into another device's stream is refused");
    cudaSetDevice(1);
    cudaStreamDestroy(s);
    cudaSetDevice(0);
    cudaFree(d);
}

int main(void) {
    setenv("GPUSH_FAKE_DEVICES", "2", 1);
    barriers();
    order();
    two_devices();
    warp_functions();
    atomics();
    conversions();
    divergence();
    streams();
    legacy();
    memory();
    times();
    faults();
    libraries();
    return tap_done();
}
