/* The device side as host code: a thread's coordinates, barriers, warps, atomics. The functions that let a thread wait
 * for others switch to another fiber of its block (runtime/fiber.cpp). */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include <string.h>

#include "vector_types.h"

#pragma GCC visibility push(default)
/* Set when a fiber goes on; blockDim and gridDim are dim3 in CUDA, which converts. */
#define FAKE_TLS extern __thread __attribute__((tls_model("initial-exec")))
FAKE_TLS uint3 threadIdx, blockIdx, blockDim, gridDim;
static const int warpSize = 32;

namespace fake {
/* Memory of the launch's size, filled with garbage for every block. */
char *dynamic_shared();
enum vote { VOTE_SYNC, VOTE_OR, VOTE_AND, VOTE_COUNT };
/* Waits for the block's threads; what vote makes of their values. A block of which threads have ended while others
 * wait fails the launch, as compute-sanitizer's synccheck has it. */
int barrier(vote kind, int value);
/* Waits for the lanes in mask (those that have ended excepted), all calling with this mask. all[i] becomes lane i's
 * value, garbage where lane i takes no part; returns the lanes that did. */
unsigned exchange(unsigned mask, uint64_t value, uint64_t all[32]);
/* The same of one value: that of lane from. */
uint64_t shuffle(unsigned mask, uint64_t value, int from);
int lane();
void yield();
/* An atomic on the memory of the whole system: on a card it may cross the bus, one at a time. */
void system_atomic();
[[noreturn]] void trap(const char *why);
uint64_t clock_ns();

template <class T> static inline uint64_t bits(T v) {
    static_assert(sizeof(T) <= 8, "a shuffle moves 8 bytes at most");
    uint64_t u = 0;
    memcpy(&u, &v, sizeof v);
    return u;
}
template <class T> static inline T value(uint64_t u) {
    T v;
    memcpy(&v, &u, sizeof v);
    return v;
}
} // namespace fake
#pragma GCC visibility pop

static inline void __syncthreads() { fake::barrier(fake::VOTE_SYNC, 0); }
static inline int __syncthreads_or(int p) { return fake::barrier(fake::VOTE_OR, p); }
static inline int __syncthreads_and(int p) { return fake::barrier(fake::VOTE_AND, p); }
static inline int __syncthreads_count(int p) { return fake::barrier(fake::VOTE_COUNT, p); }
namespace fake {
#ifdef __SANITIZE_THREAD__ /* TSan knows no fences: its atomic operations do what theirs do beside one */
enum { ORDER = __ATOMIC_SEQ_CST };
static inline void fence() {}
#else
enum { ORDER = __ATOMIC_RELAXED };
static inline void fence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#endif
} // namespace fake
static inline void __threadfence() { fake::fence(); }
static inline void __threadfence_block() { fake::fence(); }
static inline void __threadfence_system() { fake::fence(); }
static inline void __nanosleep(unsigned) { fake::yield(); }
[[noreturn]] static inline void __trap() { fake::trap("__trap()"); }

static inline void __syncwarp(unsigned mask = 0xffffffffu) { fake::shuffle(mask, 0, fake::lane()); }
static inline unsigned __ballot_sync(unsigned mask, int p) {
    uint64_t all[32];
    unsigned there = fake::exchange(mask, p != 0, all), r = 0;
    for (int i = 0; i < 32; i++)
        if (there >> i & 1 && all[i]) r |= 1u << i;
    return r;
}
static inline int __any_sync(unsigned mask, int p) { return __ballot_sync(mask, p) != 0; }
static inline int __all_sync(unsigned mask, int p) { return __ballot_sync(mask, !p) == 0; }
/* Lanes run one after the other here: of those that are together now, this one is sure. */
static inline unsigned __activemask() { return 1u << fake::lane(); }

template <class T> static inline T __shfl_sync(unsigned mask, T v, int from, int width = 32) {
    int base = fake::lane() & ~(width - 1);
    return fake::value<T>(fake::shuffle(mask, fake::bits(v), base + (from & (width - 1))));
}
template <class T> static inline T __shfl_up_sync(unsigned mask, T v, unsigned by, int width = 32) {
    int l = fake::lane(), from = l - (int)by;
    return fake::value<T>(fake::shuffle(mask, fake::bits(v), from < (l & ~(width - 1)) ? l : from));
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32) {
    int l = fake::lane(), from = l + (int)by;
    return fake::value<T>(fake::shuffle(mask, fake::bits(v), from > (l | (width - 1)) ? l : from));
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T v, int by, int width = 32) {
    int l = fake::lane(), from = l ^ by;
    return fake::value<T>(fake::shuffle(mask, fake::bits(v), from > (l | (width - 1)) ? l : from));
}
template <class T> static inline unsigned __match_any_sync(unsigned mask, T v) {
    uint64_t all[32];
    unsigned there = fake::exchange(mask, fake::bits(v), all), r = 0;
    for (int i = 0; i < 32; i++)
        if (there >> i & 1 && all[i] == fake::bits(v)) r |= 1u << i;
    return r;
}
#define FAKE_REDUCE(name, combine) \
    template <class T> static inline T __reduce_##name##_sync(unsigned mask, T v) { \
        uint64_t all[32]; \
        unsigned there = fake::exchange(mask, fake::bits(v), all); \
        bool first = true; \
        T a = v; \
        for (int i = 0; i < 32; i++) { \
            if (!(there >> i & 1)) continue; \
            T b = fake::value<T>(all[i]); \
            a = first ? b : (T)(combine), first = false; \
        } \
        return a; \
    }
FAKE_REDUCE(add, a + b)
FAKE_REDUCE(min, b < a ? b : a)
FAKE_REDUCE(max, b > a ? b : a)
FAKE_REDUCE(and, a & b)
FAKE_REDUCE(or, a | b)
FAKE_REDUCE(xor, a ^ b)
#undef FAKE_REDUCE

/* Atomics: other streams are other OS threads, so they are real. */
namespace fake {
template <class T, class F> static inline T update(T *p, F f) {
    T old, next;
    __atomic_load(p, &old, ORDER);
    do next = f(old);
    while (!__atomic_compare_exchange(p, &old, &next, false, ORDER, ORDER));
    return old;
}
template <class T> struct same { typedef T type; };
} // namespace fake
#define FAKE_ATOMIC(name, expression) \
    template <class T> static inline T atomic##name(T *p, typename fake::same<T>::type v) { \
        return fake::update(p, [v](T old) -> T { return expression; }); \
    } \
    template <class T> static inline T atomic##name##_system(T *p, typename fake::same<T>::type v) { \
        fake::system_atomic(); \
        return atomic##name(p, v); \
    } \
    template <class T> static inline T atomic##name##_block(T *p, typename fake::same<T>::type v) { \
        return atomic##name(p, v); \
    }
FAKE_ATOMIC(Add, (T)(old + v))
FAKE_ATOMIC(Sub, (T)(old - v))
FAKE_ATOMIC(Min, v < old ? v : old)
FAKE_ATOMIC(Max, v > old ? v : old)
FAKE_ATOMIC(And, old & v)
FAKE_ATOMIC(Or, old | v)
FAKE_ATOMIC(Xor, old ^ v)
FAKE_ATOMIC(Exch, ((void)old, v))
FAKE_ATOMIC(Inc, old >= v ? 0 : old + 1)
FAKE_ATOMIC(Dec, old == 0 || old > v ? v : old - 1)
#undef FAKE_ATOMIC
template <class T>
static inline T atomicCAS(T *p, typename fake::same<T>::type expected, typename fake::same<T>::type v) {
    __atomic_compare_exchange(p, &expected, &v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}
template <class T>
static inline T atomicCAS_system(T *p, typename fake::same<T>::type expected, typename fake::same<T>::type v) {
    fake::system_atomic();
    return atomicCAS(p, expected, v);
}

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
