// A stand-in for what is used of the driver: modules, of the "code" that nvrtc.cpp makes, and the
// launch of their kernels. A module is not unloaded, as a queue may hold what it is made of.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "cuda_runtime.h"
#include "fake_cuda.h"
#include "hooks.h"

typedef void entry(void **args, std::function<void()> *to);
struct kernel {
    entry *bind;
    std::string name;
};

// Keeps it until the end of the process: activities have its name, queues its function.
static kernel *keep(kernel *k) {
    static std::mutex m;
    static auto &all = *new std::vector<kernel *>;
    std::lock_guard<std::mutex> held(m);
    all.push_back(k);
    return k;
}

enum { NO_CONTEXT = 201 }; // CUDA_ERROR_INVALID_CONTEXT

#pragma GCC visibility push(default)
extern "C" {
int cuModuleLoadData(void **module, const void *image) {
    uint64_t size;
    if (!fakeHasContext()) return NO_CONTEXT;
    const char *bytes = (const char *)image;
    if (memcmp(bytes, "FAKECODE", 8)) return 200; // CUDA_ERROR_INVALID_IMAGE
    memcpy(&size, bytes + 8, sizeof size);
    /* each has a name of its own, by which the loader tells them apart */
    std::string path = (std::filesystem::temp_directory_path() / "fake-module.XXXXXX").string();
    int fd = mkstemp(path.data());
    if (fd < 0 || ::write(fd, bytes + 16, size) != (ssize_t)size) return 2;
    close(fd);
    *module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    unlink(path.c_str());
    fakeCounted("module");
    return *module ? 0 : 200;
}
int cuModuleUnload(void *) {
    if (!fakeHasContext()) return NO_CONTEXT;
    return fakeCounted("module unloaded"), 0;
}

int cuModuleGetFunction(void **function, void *module, const char *name) {
    void *bind = dlsym(module, (std::string("fake_entry_") + name).c_str());
    if (!bind) return 500; // CUDA_ERROR_NOT_FOUND
    *function = keep(new kernel{(entry *)bind, name});
    return 0;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, cudaStream_t s, void **args, void **) {
    kernel *k = (kernel *)function;
    std::function<void()> body;
    if (!fakeHasContext()) return NO_CONTEXT;
    k->bind(args, &body);
    return fake::launch((void *)k->bind, k->name.c_str(), dim3(gx, gy, gz), dim3(bx, by, bz),
                        shared, s, body);
}
int cuModuleGetGlobal_v2(uint64_t *p, size_t *bytes, void *module, const char *name) {
    void *at = dlsym(module, (std::string("fake_global_") + name).c_str());
    if (!fakeHasContext()) return NO_CONTEXT;
    if (!at) return 500;
    void *to = ((void *(*)(size_t *))at)(bytes);
    fakeDeviceMemory(to, *bytes);
    return *p = (uint64_t)to, 0;
}

/* CUfunction_attribute: 0 threads of a block, 1 shared, 3 local memory, 4 registers, 8 the most
 * dynamic shared memory. */
int cuFuncGetAttribute(int *value, int which, void *function) {
    cudaFuncAttributes a;
    if (cudaFuncGetAttributes(&a, (void *)((kernel *)function)->bind)) return 400;
    *value = which == 0   ? a.maxThreadsPerBlock
             : which == 1 ? (int)a.sharedSizeBytes
             : which == 3 ? (int)a.localSizeBytes
             : which == 4 ? a.numRegs
             : which == 8 ? a.maxDynamicSharedSizeBytes
                          : -1;
    return *value < 0; /* CUDA_ERROR_INVALID_VALUE */
}
int cuFuncSetAttribute(void *function, int which, int value) {
    if (which != 8) return 1;
    return cudaFuncSetAttribute((const void *)((kernel *)function)->bind,
                                cudaFuncAttributeMaxDynamicSharedMemorySize, value);
}
int cuOccupancyMaxPotentialBlockSize(int *grid, int *block, void *, size_t (*)(int), size_t, int) {
    return *grid = 8, *block = 512, 0;
}
int cuDriverGetVersion(int *version) { return cudaDriverGetVersion(version); }
}
#pragma GCC visibility pop
