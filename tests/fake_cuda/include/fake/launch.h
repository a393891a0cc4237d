/* How host code launches a kernel here: GP_LAUNCH and GP_DYNAMIC_SHARED of kernels/cuda/runtime/kernel.h, for g++. The kernel is
 * named so that its address can be taken: f<T, 4> and not f with its types left to be found. */
#ifndef FAKE_LAUNCH_H
#define FAKE_LAUNCH_H

#include <functional>
#include <tuple>
#include <type_traits>

#include "cuda_runtime_api.h"

#pragma GCC visibility push(default)
namespace fake {
/* Queues a grid; body is one thread. func and name: the kernel. The error also stays for cudaGetLastError. */
cudaError_t launch(const void *func, const char *name, dim3 grid, dim3 block, size_t shared,
                   cudaStream_t s, std::function<void()> body);

/* A file's own, as its types are: two files may both have a struct run. */
template <class... P, class... A>
static cudaError_t launch_kernel(void (*kernel)(P...), const char *name, dim3 grid, dim3 block, size_t shared,
                          cudaStream_t s, A &&...a) {
    static_assert(sizeof...(P) == sizeof...(A), "the kernel's number of arguments");
    static_assert((sizeof(P) + ... + 0) <= 4096, "a kernel's arguments take at most 4 KiB");
    static_assert((std::is_trivially_copyable<P>::value && ... && true), "arguments are copied as bytes");
    std::tuple<P...> args(static_cast<P>(a)...); /* as they are now, not when the queue gets there */
    return launch((const void *)kernel, name, grid, block, shared, s,
                  [kernel, args] { std::apply(kernel, args); });
}
} // namespace fake
#pragma GCC visibility pop

#define GP_LAUNCH(c, kernel, grid, block, shared, ...) \
    gp_fake_launched((c), dim3(grid), [&](dim3 grid_) { \
        return fake::launch_kernel((kernel), #kernel, grid_, dim3(block), (shared), gp_cuda_stream(c), \
                                   ##__VA_ARGS__); \
    })
template <class C, class F> static inline bool gp_fake_launched(C c, dim3 grid, F launch) {
    if (grid.x && grid.y && grid.z) launch(grid);
    return gp_cuda_ok(c, cudaGetLastError());
}
#define GP_DYNAMIC_SHARED(T, name) T *const name = (T *)fake::dynamic_shared()

#endif
