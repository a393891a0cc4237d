/* Opens NVIDIA's libraries, and keeps their handles. None is linked: the plug-in opens each at its
 * first use (kernels/cuda/runtime/find.c), and says why a library that is there was not taken. A
 * library of another major version of CUDA is refused, since its dependencies would be loaded
 * beside ours. Handles are kept for each device and stream. */
#include "kernels/cuda/runtime/libs.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cuda/runtime/find.h"
#include "tensor/base/error.h"

void (*gp_lib_first_use)(const char *what, int64_t begin_ns, int64_t end_ns);
gp_lib_settings gp_libs = {.deterministic = true, .conv_elements = INT32_MAX};

/* Sonames depend on the CUDA version that the plug-in is built for. */
#if CUDART_VERSION >= 13000
#define SAME "13"   /* cuBLAS and CUPTI have CUDA's number; */
#define BEHIND "12" /* cuSOLVER, cuFFT and cuSPARSE the one below */
#define MATCHES "13"
#else
#define SAME "12"
#define BEHIND "11"
#define MATCHES "12"
#endif

/* `before`: libraries that it depends on; opened first, so that it finds them in any folder. */
typedef struct library {
    const char *name, *version; /* version: the function that returns it */
    gp_search at;
    const char *before[4];
    bool looked;
} library;

#define JIT_LINK "libnvJitLink.so." MATCHES
#define BLAS_LT "libcublasLt.so." SAME
#define BLAS "libcublas.so." SAME
static library libraries[GP_LIBS] = {
    [GP_LIB_cublas] = {"cuBLAS", "cublasGetProperty", {BLAS}, {BLAS_LT}},
    [GP_LIB_cublasLt] = {"cuBLASLt", "cublasLtGetVersion", {BLAS_LT}, {0}},
    [GP_LIB_cusolver] = {"cuSOLVER",
                         "cusolverGetVersion",
                         {"libcusolver.so." BEHIND},
                         {JIT_LINK, BLAS_LT, BLAS, "libcusparse.so.12"}},
    [GP_LIB_cufft] = {"cuFFT", "cufftGetVersion", {"libcufft.so." BEHIND}, {JIT_LINK}},
    [GP_LIB_cudnn] = {"cuDNN",
                      "cudnnGetVersion",
                      {"libcudnn.so.9",
                       {"libcudnn_graph.so.9", "libcudnn_ops.so.9", "libcudnn_*.so.9"}},
                      {BLAS_LT, BLAS, "libnvrtc.so." MATCHES}},
    [GP_LIB_cupti] = {"CUPTI", "cuptiGetVersion", {"libcupti.so." SAME}, {0}},
    [GP_LIB_nccl] = {"NCCL", "ncclGetVersion", {"libnccl.so.2"}, {0}},
    [GP_LIB_nvrtc] = {"NVRTC",
                      "nvrtcVersion",
                      {"libnvrtc.so." MATCHES, {"libnvrtc-builtins.so.*"}},
                      {0}},
    [GP_LIB_driver] = {"CUDA driver", "cuDriverGetVersion", {"libcuda.so.1"}, {0}},
};

/* Locks: for opening; for the table of handles, whose creation opens; and for the use of a handle,
 * which may be nested: when scratch memory is short the collector runs finalisers, and these may
 * run ops. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, table = PTHREAD_MUTEX_INITIALIZER,
                       in_use = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
void gp_lib_lock(void) { pthread_mutex_lock(&in_use); }
void gp_lib_unlock(void) { pthread_mutex_unlock(&in_use); }

int64_t gp_lib_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* ---- opening ---- */

static void open_first(const char *file) {
    gp_search s = {.file = file};
    for (int i = 0; i < GP_LIBS; i++)
        if (!strcmp(libraries[i].at.file, file)) s = libraries[i].at;
    gp_lib_find(&s);
}

static void open_library(library *l) {
    Dl_info at;
    l->looked = true;
    for (int i = 0; i < 4 && l->before[i]; i++) open_first(l->before[i]);
    if (!gp_lib_find(&l->at)) return;
    void *any = dlsym(l->at.so, l->version);
    if (!l->at.path[0] && any && dladdr(any, &at) && at.dli_fname)
        snprintf(l->at.path, sizeof l->at.path, "%s", at.dli_fname);
}

static library *opened(gp_lib lib) {
    library *l = &libraries[lib];
    pthread_mutex_lock(&mutex);
    if (!l->looked) open_library(l);
    pthread_mutex_unlock(&mutex);
    return l;
}

const gp_search *gp_lib_search(gp_lib lib, const char **name, const char **version) {
    const library *l = opened(lib);
    *name = l->name, *version = l->version;
    return &l->at;
}

bool gp_lib_there(gp_lib lib) { return opened(lib)->at.so != NULL; }

bool gp_lib_functions(gp_lib lib, const char *op, const char *const *names, int n, int optional,
                      void **table) {
    library *l = opened(lib);
    if (!l->at.so) return gp_fail("%s: needs %s: %s", op, l->name, l->at.why);
    for (int i = 0; i < n; i++) {
        table[i] = dlsym(l->at.so, names[i]);
        if (table[i] || i >= n - optional) continue;
        memset(table, 0, (size_t)n * sizeof *table); /* a caller takes what is there for usable */
        return gp_fail("%s: needs %s: %s has no function %s", op, l->name, l->at.path, names[i]);
    }
    return true;
}

/* ---- handles ---- */

typedef struct handle {
    gp_lib lib;
    int device;
    cudaStream_t stream;
    void *value;
} handle;

static struct {
    handle *of;
    int n, capacity;
} handles;

void gp_lib_book(gp_lib lib, int64_t begin) {
    if (gp_lib_first_use) gp_lib_first_use(libraries[lib].name, begin, gp_lib_now());
}

static void *known(gp_lib lib, int device, cudaStream_t s) {
    for (int i = 0; i < handles.n; i++) {
        handle *h = &handles.of[i];
        if (h->lib == lib && h->device == device && h->stream == s) return h->value;
    }
    return NULL;
}

static bool remember(handle h) {
    if (handles.n == handles.capacity) {
        int capacity = handles.capacity ? 2 * handles.capacity : 16;
        handle *more = (handle *)realloc(handles.of, (size_t)capacity * sizeof *more);
        if (!more) return gp_fail("%s: out of memory for a handle", libraries[h.lib].name);
        handles.of = more, handles.capacity = capacity;
    }
    handles.of[handles.n++] = h;
    return true;
}

/* ---- statuses ---- */

/* As cublas_api.h, cusolver_common.h and cufft.h number them, in every version. */
static const char *const blas_names[] = {
    [1] = "NOT_INITIALIZED", [3] = "ALLOC_FAILED",   [7] = "INVALID_VALUE",
    [8] = "ARCH_MISMATCH",   [11] = "MAPPING_ERROR", [13] = "EXECUTION_FAILED",
    [14] = "INTERNAL_ERROR", [15] = "NOT_SUPPORTED", [16] = "LICENSE_ERROR"};
static const char *const solver_names[] = {
    [1] = "NOT_INITIALIZED", [2] = "ALLOC_FAILED",  [3] = "INVALID_VALUE",
    [4] = "ARCH_MISMATCH",   [5] = "MAPPING_ERROR", [6] = "EXECUTION_FAILED",
    [7] = "INTERNAL_ERROR",  [9] = "NOT_SUPPORTED", [8] = "MATRIX_TYPE_NOT_SUPPORTED",
    [10] = "ZERO_PIVOT"};
static const char *const fft_names[] = {
    [1] = "INVALID_PLAN",    [2] = "ALLOC_FAILED",   [3] = "INVALID_TYPE",
    [4] = "INVALID_VALUE",   [5] = "INTERNAL_ERROR", [6] = "EXEC_FAILED",
    [7] = "SETUP_FAILED",    [8] = "INVALID_SIZE",   [9] = "UNALIGNED_DATA",
    [11] = "INVALID_DEVICE", [13] = "NO_WORKSPACE",  [14] = "NOT_IMPLEMENTED",
    [16] = "NOT_SUPPORTED"};
#define NAMES(prefix, names)                                                                       \
    { prefix, names, sizeof names / sizeof *names }
static const struct {
    const char *prefix, *const *name;
    size_t n;
} statuses[GP_LIBS] = {[GP_LIB_cublas] = NAMES("CUBLAS_STATUS_", blas_names),
                       [GP_LIB_cublasLt] = NAMES("CUBLAS_STATUS_", blas_names),
                       [GP_LIB_cusolver] = NAMES("CUSOLVER_STATUS_", solver_names),
                       [GP_LIB_cufft] = NAMES("CUFFT_", fft_names)};

const char *gp_lib_status(gp_lib lib, int status) {
    static _Thread_local char text[60];
    size_t i = (size_t)status;
    const char *name = i < statuses[lib].n ? statuses[lib].name[i] : NULL;
    if (name) snprintf(text, sizeof text, "%s%s", statuses[lib].prefix, name);
    else snprintf(text, sizeof text, "status %d", status);
    return text;
}

/* ---- handles, by call ---- */

cudaStream_t gp_cuda_stream(const gp_call *c);

void *gp_lib_handle(const gp_call *c, gp_lib lib, gp_lib_create create) {
    handle h = {.lib = lib, .stream = gp_cuda_stream(c)};
    cudaGetDevice(&h.device);
    pthread_mutex_lock(&table);
    h.value = known(lib, h.device, h.stream);
    if (!h.value) {
        int64_t begin = gp_lib_now();
        if (!create(c, h.stream, &h.value) || !remember(h)) h.value = NULL;
        else gp_lib_book(lib, begin);
    }
    pthread_mutex_unlock(&table);
    return h.value;
}
