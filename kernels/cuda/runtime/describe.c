/* What the plug-in tells `gpush doctor`: the libraries that it found, their versions, whether it
 * can use them, and which cards it has code for. */
#include "kernels/cuda/runtime/find.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Each has its own way to report it. */
static void version_of(gp_lib lib, void *fn, char *text, size_t size) {
    int v = 0, part[3] = {0};
    uint32_t u = 0;
    switch (lib) {
    case GP_LIB_cublas:
        for (int i = 0; i < 3; i++) ((int (*)(int, int *))fn)(i, &part[i]);
        snprintf(text, size, "%d.%d.%d", part[0], part[1], part[2]);
        return;
    case GP_LIB_cublasLt:
    case GP_LIB_cudnn: v = (int)((size_t(*)(void))fn)(); break;
    case GP_LIB_cupti: /* without a driver the one of CUDA 13.2 crashes */
        if (!gp_lib_there(GP_LIB_driver)) return;
        ((int (*)(uint32_t *))fn)(&u), v = (int)u;
        break;
    case GP_LIB_nvrtc:
        ((int (*)(int *, int *))fn)(&part[0], &part[1]);
        v = part[0] * 1000 + part[1] * 100;
        break;
    default: ((int (*)(int *))fn)(&v);
    }
    if (lib == GP_LIB_cudnn || lib == GP_LIB_cublasLt || lib == GP_LIB_nccl)
        snprintf(text, size, "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
    else if (lib == GP_LIB_cupti) snprintf(text, size, "%d", v);
    else snprintf(text, size, "%d.%d.%d", v / 1000, v / 100 % 10, v % 100);
}

int gp_lib_nvrtc_newest(int most) {
    const char *name, *version;
    void *so = gp_lib_search(GP_LIB_nvrtc, &name, &version)->so;
    int (*count)(int *) = so ? (int (*)(int *))dlsym(so, "nvrtcGetNumSupportedArchs") : NULL;
    int (*list)(int *) = so ? (int (*)(int *))dlsym(so, "nvrtcGetSupportedArchs") : NULL;
    int n = 0, newest = 0;
    if (!count || !list || count(&n) || n < 1) return 0;
    int *archs = calloc((size_t)n, sizeof *archs);
    if (archs && !list(archs))
        for (int i = 0; i < n; i++)
            if (archs[i] <= most && archs[i] > newest) newest = archs[i];
    free(archs);
    return newest;
}

/* Why a library that is there is of no use, or what else there is to say of it. */
static bool add_note(gp_lib lib, char *text, size_t size) {
    int newest = lib == GP_LIB_nvrtc ? gp_lib_nvrtc_newest(9999) : 0;
    if (newest)
        snprintf(text, size, ", for cards of compute capability up to %d.%d", newest / 10,
                 newest % 10);
#if !__has_include(<cudnn.h>)
    if (lib == GP_LIB_cudnn) {
        snprintf(text, size, ", which is not used: the plug-in was compiled without cudnn.h");
        return false;
    }
#endif
    return true;
}

static bool describe(gp_lib lib, const char **name, char *text, size_t size) {
    const char *function;
    const gp_search *at = gp_lib_search(lib, name, &function);
    char version[40] = "?";
    if (!at->so) {
        snprintf(text, size, "%s", at->why);
        return false;
    }
    void *fn = dlsym(at->so, function);
    if (fn) version_of(lib, fn, version, sizeof version);
    snprintf(text, size, "%s, %s", version, at->path[0] ? at->path : at->file);
    return add_note(lib, text + strlen(text), size - strlen(text));
}

/* tensor/device/plugin_api.h describes both. */
EXPORT int gp_cuda_library(int i, const char **name, char *text, size_t size);
EXPORT int gp_cuda_code(int device, char *text, size_t size);

int gp_cuda_library(int i, const char **name, char *text, size_t size) {
    if (i < 0 || i > GP_LIBS) return -1;
    if (i > 0) return describe((gp_lib)(i - 1), name, text, size);
    Dl_info own;
    *name = "CUDA runtime";
    snprintf(text, size, "%d.%d, linked into %s", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10,
             dladdr((void *)gp_cuda_library, &own) ? own.dli_fname : "the plug-in");
    return 1;
}

/* CMake's GPUSH_CUDA_CARDS, as in "80 90". */
#ifndef GP_CUDA_CARDS
#define GP_CUDA_CARDS ""
#endif

/* Code for a capability runs on those of the same major number from it on. */
int gp_cuda_code(int device, char *text, size_t size) {
    struct cudaDeviceProp p;
    size_t at = 0;
    int fits = 0;
    if (cudaGetDeviceProperties(&p, device) != cudaSuccess) return cudaGetLastError(), -1;
    for (const char *s = GP_CUDA_CARDS; *s; s += strspn(s, " ")) {
        char *end;
        long card = strtol(s, &end, 10);
        if (end == s) break;
        s = end + strspn(end, "abcdefghijklmnopqrstuvwxyz");
        fits |= card / 10 == p.major && card % 10 <= p.minor;
        at += (size_t)snprintf(text + at, size - at, "%s%ld.%ld", at ? ", " : "", card / 10,
                               card % 10);
        if (at >= size) return fits;
    }
    snprintf(text + at, size - at, "%sPTX of CUDA %d.%d for others", at ? ", and " : "",
             CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return fits;
}
