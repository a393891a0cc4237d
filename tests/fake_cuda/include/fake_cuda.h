/* The stand-in for CUDA in tests: how to steer it, and how stand-in libraries queue their work.
 *
 * libgpush_cuda.so compiled as host code against include/ and linked to libfakecudart.so (runtime/) is a CUDA device made of
 * the CPU: memory of its own bookkeeping, streams that are OS threads with a queue each, kernels whose blocks run one after
 * the other and whose threads are fibers. It is for tests only and never installed. It is slow, and says nothing of speed.
 *
 * What is as on a card: launches and copies from pinned memory return before they are done; copies of pageable memory wait as
 * CUDA's do (host to device up to 64 KiB is staged and returns); the legacy default stream and the blocking streams wait for
 * each other; cudaFree, cudaFreeHost and cudaHostUnregister wait for the device; a launch waits while 1024 are queued; copies
 * are checked against the allocations they touch; streams share 8 hardware queues (CUDA_DEVICE_MAX_CONNECTIONS, up to 32), in
 * which one's work waits for another's; a callback of cudaLaunchHostFunc may not call CUDA; sticky errors stay.
 * Fresh device memory is full of 0xff (NaN, -1), freed memory of 0xfb, shared memory of 0xfd. A launch whose threads do not
 * all reach a barrier fails with cudaErrorLaunchFailure and a line on stderr. The host
 * can read device memory while a device works, and crashes at most other times (with sanitizers never). What is not as on a card: threads that spin on each other's writes without __nanosleep() hang.
 *
 * Environment, read at the first call; fakeFault takes the same settings ("oom=1 late=2:50") at any time, and N then counts
 * from there. N is "3" (the third), "3+" (the third and all later ones) or "3-5"; "0" switches off:
 *   GPUSH_FAKE_DEVICES=n      how many devices (1); 0: cudaErrorNoDevice
 *   CUDA_VISIBLE_DEVICES=list those of them that are seen, by number; "MIG-1-0": a slice of card 1
 *   GPUSH_FAKE_MEMORY=bytes   memory of each (4 GiB)
 *   GPUSH_FAKE_OTHERS=file    bytes of each that other programs have, as the file says at the time
 *   GPUSH_FAKE_ARCH=90        compute capability
 *   GPUSH_FAKE_SMS=4          multiprocessors
 *   GPUSH_FAKE_DRIVER=13000   the driver's CUDA version; below 13000: cudaErrorInsufficientDriver
 *   GPUSH_FAKE_OOM=N          allocation N of device memory fails: cudaErrorMemoryAllocation
 *   GPUSH_FAKE_PINNED_OOM=N   allocation N of pinned memory fails
 *   GPUSH_FAKE_LAUNCH=N[:e]   launch N is refused: error e (701, cudaErrorLaunchOutOfResources); nothing sticks
 *   GPUSH_FAKE_STICKY=N[:e]   launch N goes wrong when it runs: error e (700, cudaErrorIllegalAddress) from then on
 *   GPUSH_FAKE_SLOW=N:ms      launch N takes ms longer; "slow=0" also ends those that do so now: a test that makes one take
 *                             a minute, looks and ends it depends on no time
 *   GPUSH_FAKE_WAIT=N         launch N first waits for its stream within the call, as NVIDIA's libraries do
 *   GPUSH_FAKE_WAIT_IN=names  what libraries do waits for its stream, as it may on a card: the names of their kernels here
 *                             (fake_gesvd), cufftMakePlanMany64 and cufftDestroy, between commas
 *   GPUSH_FAKE_ENGINE=N       cuDNN has no engine for graph N that it is asked of
 *   GPUSH_FAKE_OLDER=N        of graph N that cuDNN is asked of it knows the patterns of its older versions only
 *   GPUSH_FAKE_PLAN=N         cuDNN cannot make plan N of a graph
 *   GPUSH_FAKE_CHOICE=N       cuDNN has no algorithm for convolution or recurrent layer N that it is asked of
 *   GPUSH_FAKE_LIB_OOM=N      handle or plan N that a library makes finds no memory: its status for that. Handles take a few
 *                             MiB of the device, plans need them for a moment: without the order, too, they fail where it is full
 *   GPUSH_FAKE_REFUSE=N       cuDNN refuses convolution, bias, batch_norm or run of a recurrent layer N: CUDNN_STATUS_NOT_SUPPORTED
 *   GPUSH_FAKE_LATE=N:ms      event N of those recorded completes ms late
 *   GPUSH_FAKE_ORDER=backward blocks run from the last to the first, and so do a block's threads between two barriers ("forward"):
 *                             what depends on their order shows
 *   GPUSH_FAKE_CHANNELS_LAST=N  cuDNN has no algorithm for choice N of one with channels as the fastest dim
 *   GPUSH_FAKE_PEER=N:ms      call N that enables a peer's access takes ms
 *   GPUSH_FAKE_CUPTI=why      "permission": CUPTI refuses; "busy": another profiler subscribed; "absent": no version fits
 *   GPUSH_FAKE_CUPTI_DROP=N   activity record N is dropped and counted as
 * such */
#ifndef FAKE_CUDA_CONTROL_H
#define FAKE_CUDA_CONTROL_H

#include "cuda_runtime_api.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif
/* 0 if every setting is known. */
int fakeFault(const char *settings);
/* For stand-in libraries: is this the time that fault `name` was asked for? */
int fakeFaulty(const char *name);
/* For stand-in libraries: whether the device has these bytes for a handle or a plan; `keep`: they stay taken. */
int fakeLibraryMemory(size_t bytes, int keep);
/* How often things happened in this process: "malloc", "free", "launch", "copy", "copy on the device", "copy through the host" (from a peer without access), "peer access" (calls that enable it), "event", "timed event", "graph", "sync", "pinned", "pinned bytes" (held now), "system atomic", "library" (what libraries queued), "poll" (queries of streams and events), a function of the runtime that CUPTI knows ("cudaMemcpyAsync"); "context": devices with one; "call record": CUPTI's
 * of calls of the runtime; "range add": NVTX ranges of that
 * name; "open ranges". */
unsigned long long fakeCount(const char *what);

/* The addresses of kernels of our own that were launched since the last call of this, at most `most`; how many. */
int fakeKernels(const void **kernels, int most);

/* For the stand-in of the driver: whether this thread has a context. */
int fakeHasContext(void);

/* For stand-in libraries: waits for s where that was asked of `function`. */
void fakeWaits(const char *function, cudaStream_t s);

/* An NVTX range was opened; NULL: closed. */
void fakeRange(const char *name);

/* For stand-in libraries: queues fn(args) on s, in stream order, under the name of a kernel. bytes of args are copied. */
typedef void (*fakeWork)(void *args);
cudaError_t fakeEnqueue(cudaStream_t s, const char *kernel, fakeWork fn, const void *args, size_t bytes);
#ifdef __cplusplus
}
#include <functional>
namespace fake {
/* The same of a function object. */
cudaError_t enqueue(cudaStream_t s, const char *kernel, std::function<void()> work);
} // namespace fake
#endif
#pragma GCC visibility pop

#endif
