/* For CUDA kernels: access to a call's arguments, the launch, scratch memory, and the report of a
 * bad index. Read by C++ (.cu) and by C.
 *
 * The kernel of op `name` is `bool CUDA(name)(const gp_call *c)`: it runs on the host, queues its
 * work on gp_cuda_stream(c) and returns; it returns false with a message for failures that the host
 * can know. It never blocks, and calls nothing that may (only kernels/cuda/runtime/device.c does):
 * DESIGN 4. The same files are compiled as host code against tests/fake_cuda; hence GP_LAUNCH and
 * GP_DYNAMIC_SHARED instead of <<< >>> and extern __shared__, and no inline PTX without a plain
 * alternative. */
#ifndef GP_CUDA_KERNEL_H
#define GP_CUDA_KERNEL_H

#ifdef __CUDACC_RTC__ /* programs compiled later (kernels/cuda/fuse): device code only */
#include "kernels/cuda/fuse/device_only.h"
#else

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cuda_runtime.h>

#ifdef __cplusplus
#define GP_C extern "C"
extern "C" {
#else
#define GP_C
#endif

#include "tensor/base/error.h"
#include "tensor/op.h"

#define CUDA(name) cuda_##name

/* Output i, tensor argument i (NULL if absent) and gp_infer_values' result for argument i, as
 * arrays in device memory; a list's tensors are c->arg[i].arrays[0 … n-1]. */
static inline const gp_array *gp_out(const gp_call *c, int i) { return c->outa[i]; }
static inline const gp_array *gp_in(const gp_call *c, int i) {
    return gp_given(c, i) ? c->arg[i].a : NULL;
}
static inline const gp_array *gp_values(const gp_call *c, int i, int at) {
    return c->ntmp > at ? c->tmpa[at] : gp_in(c, i);
}

/* The CUDA stream that c runs on. */
cudaStream_t gp_cuda_stream(const gp_call *c);

/* Device memory for this call only, 256-byte aligned: allocated from the caching allocator in
 * stream order and freed when the kernel function returns, so that work queued later on this stream
 * may reuse it. NULL with a message. bytes may be 0. */
void *gp_cuda_scratch(const gp_call *c, size_t bytes);
/* The same in pinned host memory, which lives until the work queued so far is done: for tables that
 * a queued copy or kernel reads (a kernel may follow the pointer). */
void *gp_cuda_table(const gp_call *c, size_t bytes);

/* True if the last CUDA call or launch succeeded; else false with a message that names the op.
 * After every launch: `return gp_cuda_ok(c, cudaGetLastError())`; GP_LAUNCH does it. */
bool gp_cuda_ok(const gp_call *c, cudaError_t err);

/* Multiprocessors of the device that c runs on, for choosing a grid; its compute capability
 * (90: 9.0). */
int gp_cuda_sms(const gp_call *c);
int gp_cuda_arch(const gp_call *c);

/* A kernel that meets a bad index records it in pinned memory, where each launch has its own slot:
 * the host reads it when it waits, the error names op and line, and the context stays valid. Of the
 * threads that meet one only the first writes there: the others see in device memory that there is
 * an earlier one, as 10^8 writes over the bus would take a minute. */
typedef struct gp_fault {
    int code; /* written last: the number of the message in the launch's texts, from 1 */
    long long v[3];
} gp_fault;
typedef struct gp_fault_at {
    gp_fault *fault; /* device address of pinned memory */
    unsigned *seen;  /* device memory: the number of the slot's last launch with a fault */
    unsigned number; /* of this launch among those that used the slot, from 1 */
} gp_fault_at;
/* The slot of c's next launch. Without memory for slots its address is NULL, kernels record
 * nothing, and the call fails. texts: the messages for code 1 … n, each with up to three %lld;
 * static. They begin with the op's name, as the CPU's ("gather: index %lld is …"). */
gp_fault_at gp_cuda_fault(const gp_call *c, const char *const *texts, int n);
/* The same for a part of c that is of the line `loc`; no file: of c's own. together: the launch has
 * several slots, of which the first with a fault counts. */
gp_fault_at gp_cuda_fault_of(const gp_call *c, gp_srcloc loc, bool together,
                             const char *const *texts, int n);

#ifdef __cplusplus
}

#ifdef __CUDACC__
/* Queues kernel<<<grid, block, shared, stream of c>>>(...); false with a message. An empty grid
 * does nothing. cudaLaunchKernelEx takes a twentieth less of the host's time than <<< >>>, which
 * makes two calls more. */
#define GP_LAUNCH(c, kernel, grid, block, shared, ...)                                             \
    gp_cuda_launched(c, kernel, dim3(grid), dim3(block), (shared), __VA_ARGS__)
template <class... P, class... A>
static inline bool gp_cuda_launched(const gp_call *c, void (*kernel)(P...), dim3 grid, dim3 block,
                                    size_t shared, A &&...args) {
    cudaError_t err = cudaSuccess;
    cudaLaunchConfig_t how = {};
    how.gridDim = grid, how.blockDim = block, how.dynamicSmemBytes = shared;
    how.stream = gp_cuda_stream(c);
    if (grid.x && grid.y && grid.z) err = cudaLaunchKernelEx(&how, kernel, (A &&) args...);
    return gp_cuda_ok(c, err == cudaSuccess ? cudaGetLastError() : err);
}
/* Shared memory whose size the launch gives. */
#define GP_DYNAMIC_SHARED(T, name)                                                                 \
    extern __shared__ __align__(16) unsigned char name##_bytes[];                                  \
    T *const name = (T *)name##_bytes
#endif

/* Records a fault unless there is an earlier one. Kernels continue with a harmless index. */
__device__ static inline void gp_fault_note(gp_fault_at at, int code, long long a = 0,
                                            long long b = 0, long long d = 0) {
    if (!at.fault || *(volatile unsigned *)at.seen == at.number ||
        atomicExch(at.seen, at.number) == at.number)
        return;
    at.fault->v[0] = a, at.fault->v[1] = b, at.fault->v[2] = d;
    __threadfence_system();
    atomicExch_system(&at.fault->code, code); /* the host reads it while the kernel runs */
}
#endif

#endif
#endif
