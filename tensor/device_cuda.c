/* What the CUDA plug-in knows of this machine: which NVIDIA devices work, or why none does. */
#include <cuda_runtime_api.h>
#include <stddef.h>
#include <stdio.h>

/* The reasons that people meet, in words that say what to do; others keep the runtime's own text.
 */
static const char *reason(cudaError_t err) {
    switch (err) {
    case cudaErrorNoDevice: return "the driver sees no NVIDIA device";
    case cudaErrorInsufficientDriver:
        return "the NVIDIA driver is missing or older than this CUDA runtime";
    case cudaErrorSystemDriverMismatch:
        return "the NVIDIA driver's kernel and user parts differ in version; a restart may be due";
    case cudaErrorDevicesUnavailable: return "all NVIDIA devices are in use by others";
    default: return cudaGetErrorString(err);
    }
}

/* Appends "NAME, MAJOR.MINOR, N GiB" for device i to text[used..size); the new length, or used
 * where the device does not answer. */
static size_t describe(int i, char *text, size_t size, size_t used) {
    struct cudaDeviceProp p;
    if (cudaGetDeviceProperties(&p, i) != cudaSuccess || used >= size) return used;
    int n = snprintf(text + used, size - used, "%scuda:%d %s, compute capability %d.%d, %.1f GiB",
                     used ? "\n" : "", i, p.name, p.major, p.minor,
                     (double)p.totalGlobalMem / (1 << 30));
    return n < 0 ? used : used + (size_t)n;
}

/* How many CUDA devices can be used. With some, text receives a line for each: its name, compute
   capability and memory; with none (0), the reason. Cut at size bytes, always terminated. Creates
   no context and waits for nothing. */
__attribute__((visibility("default"))) int gp_cuda_probe(char *text, size_t size);
int gp_cuda_probe(char *text, size_t size) {
    int n = 0;
    if (size) text[0] = 0;
    cudaError_t err = cudaGetDeviceCount(&n);
    if (err == cudaSuccess && n == 0) err = cudaErrorNoDevice;
    if (err != cudaSuccess) {
        snprintf(text, size, "%s (CUDA error %d)", reason(err), (int)err);
        return 0;
    }
    size_t used = 0;
    for (int i = 0; i < n; i++) used = describe(i, text, size, used);
    return n;
}
