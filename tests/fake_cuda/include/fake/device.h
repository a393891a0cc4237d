/* The device side as host code: a thread's coordinates, barriers, warps, atomics. The functions that let a thread wait
 * for others switch to another fiber of its block (runtime/fiber.cpp). */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <string.h>

#include "kernels/common/simt/abi.h"
#include "vector_types.h"

#pragma GCC visibility push(default)
/* Set when a fiber goes on; blockDim and gridDim are dim3 in CUDA, which converts. */
#define FAKE_TLS extern __thread __attribute__((tls_model("initial-exec")))
FAKE_TLS uint3 threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

/* What kernels call where a thread waits for others, as those of users do that run on the processor. A block of which
 * threads have ended while others wait fails the launch, as compute-sanitizer's synccheck has it. */
extern const gp_simt_calls fake_calls;

namespace fake {
/* Memory of the launch's size, filled with garbage for every block. */
char *dynamic_shared();
void yield();
/* An atomic on the memory of the whole system: on a card it may cross the bus, one at a time. */
void system_atomic();
[[noreturn]] void trap(const char *why);
uint64_t clock_ns();
} // namespace fake
#pragma GCC visibility pop

namespace fake {
/* Apart from the rest: a text for NVRTC may bring names of these along. */
namespace lanes {
#define GP_STUB __attribute__((unused)) static inline
#define GP_FN GP_STUB
#define GP_QUICK GP_STUB
#define GP_CALLER NULL
#define GP_ATOMIC_ACCESS(p) ((void)0)
#define GP_SYSTEM_ACCESS() system_atomic()
#define GP_USES_WARPS
#define GP_USES_ATOMICS
#define gp_calls (&fake_calls)
GP_STUB int gp_barrier(int kind, int vote) { return gp_calls->barrier(kind, vote); }
#include "kernels/common/simt/lanes.inc"
#include "kernels/common/simt/lanes_cxx.inc"
#undef GP_STUB
#undef GP_FN
#undef GP_QUICK
#undef GP_LINE
#undef GP_CALLER
#undef GP_ATOMIC_ACCESS
#undef GP_SYSTEM_ACCESS
#undef GP_USES_WARPS
#undef GP_USES_ATOMICS
#undef gp_calls
#undef __activemask
} // namespace lanes

#ifdef __SANITIZE_THREAD__ /* TSan knows no fences: its atomic operations do what theirs do beside one */
static inline void fence() {}
#else
static inline void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif
} // namespace fake
using fake::lanes::__syncthreads, fake::lanes::__syncthreads_or, fake::lanes::__syncthreads_and,
    fake::lanes::__syncthreads_count, fake::lanes::__syncwarp, fake::lanes::__ballot_sync, fake::lanes::__any_sync,
    fake::lanes::__all_sync, fake::lanes::__match_any_sync, fake::lanes::__shfl_sync, fake::lanes::__shfl_up_sync,
    fake::lanes::__shfl_down_sync, fake::lanes::__shfl_xor_sync, fake::lanes::__reduce_add_sync,
    fake::lanes::__reduce_min_sync, fake::lanes::__reduce_max_sync, fake::lanes::__reduce_and_sync,
    fake::lanes::__reduce_or_sync, fake::lanes::__reduce_xor_sync, fake::lanes::atomicCAS,
    fake::lanes::atomicCAS_system;
#define FAKE_ATOMIC(name) using fake::lanes::name, fake::lanes::name##_block, fake::lanes::name##_system
FAKE_ATOMIC(atomicAdd);
FAKE_ATOMIC(atomicSub);
FAKE_ATOMIC(atomicMin);
FAKE_ATOMIC(atomicMax);
FAKE_ATOMIC(atomicAnd);
FAKE_ATOMIC(atomicOr);
FAKE_ATOMIC(atomicXor);
FAKE_ATOMIC(atomicExch);
FAKE_ATOMIC(atomicInc);
FAKE_ATOMIC(atomicDec);
#undef FAKE_ATOMIC
static inline unsigned __activemask() { return fake_calls.active(); }
static inline void __threadfence() { fake::fence(); }
static inline void __threadfence_block() { fake::fence(); }
static inline void __threadfence_system() { fake::fence(); }
static inline void __nanosleep(unsigned) { fake::yield(); }
[[noreturn]] static inline void __trap() { fake::trap("__trap()"); }

template <class T> static inline T __ldg(const T *p) { return *p; }
template <class T> static inline T __ldcs(const T *p) { return *p; }
template <class T> static inline T __ldcg(const T *p) { return *p; }
template <class T> static inline T __ldca(const T *p) { return *p; }
template <class T> static inline T __ldlu(const T *p) { return *p; }
template <class T> static inline void __stcs(T *p, T v) { *p = v; }
template <class T> static inline void __stcg(T *p, T v) { *p = v; }
template <class T> static inline void __stwt(T *p, T v) { *p = v; }
static inline long long clock64() { return (long long)fake::clock_ns(); }

#endif
