/* Finds and opens NVIDIA's libraries, and keeps their handles. None is linked: the plug-in opens
 * each at its first use, looking in Python's packages, CUDA's toolkits and the system's paths, and
 * says why a library that is there was not taken. A library of another major version of CUDA is
 * refused, since its dependencies would be loaded beside ours. Handles are kept for each device and
 * stream. */
#include "kernels/cuda/runtime/libs.h"

#include <dlfcn.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
    const char *name, *file, *before[3], *version; /* version: the function that returns it */
    void *so;
    bool looked;
    char path[PATH_MAX], why[1024];
} library;

static library libraries[GP_LIBS] = {
    [GP_LIB_cublas] = {"cuBLAS",
                       "libcublas.so." SAME,
                       {"libcublasLt.so." SAME},
                       "cublasGetProperty"},
    [GP_LIB_cublasLt] = {"cuBLASLt", "libcublasLt.so." SAME, {0}, "cublasLtGetVersion"},
    [GP_LIB_cusolver] = {"cuSOLVER",
                         "libcusolver.so." BEHIND,
                         {"libnvJitLink.so." MATCHES, "libcusparse.so.12", "libcublas.so." SAME},
                         "cusolverGetVersion"},
    [GP_LIB_cufft] = {"cuFFT",
                      "libcufft.so." BEHIND,
                      {"libnvJitLink.so." MATCHES},
                      "cufftGetVersion"},
    [GP_LIB_cudnn] = {"cuDNN",
                      "libcudnn.so.9",
                      {"libcublasLt.so." SAME, "libcublas.so." SAME, "libnvrtc.so." MATCHES},
                      "cudnnGetVersion"},
    [GP_LIB_cupti] = {"CUPTI", "libcupti.so." SAME, {0}, "cuptiGetVersion"},
    [GP_LIB_nccl] = {"NCCL", "libnccl.so.2", {0}, "ncclGetVersion"},
    [GP_LIB_nvrtc] = {"NVRTC", "libnvrtc.so." MATCHES, {0}, "nvrtcVersion"},
    [GP_LIB_driver] = {"CUDA driver", "libcuda.so.1", {0}, "cuDriverGetVersion"},
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

/* ---- search path ---- */

/* Whether the library is for another major version of CUDA: cuDNN's soname is the same for all. It
 * would open that version's cuBLAS beside ours. Then `why` says so. */
static bool of_other_cuda(library *l, void *so, const char *path) {
    size_t (*built_for)(void) = (size_t(*)(void))dlsym(so, "cudnnGetCudartVersion");
    int cuda = l == &libraries[GP_LIB_cudnn] && built_for ? (int)(built_for() / 1000) : 0;
    if (!cuda || cuda == CUDART_VERSION / 1000) return false;
    snprintf(l->why, sizeof l->why, "%.800s is for CUDA %d (expected one for CUDA %d)", path, cuda,
             CUDART_VERSION / 1000);
    return true;
}

/* Whether folder, nvidia/cudnn/lib of Python's packages, is that of the package for another version
 * of CUDA, by the package's name: nothing of it is opened then, as its parts would stay. */
static bool wheel_of_other_cuda(const char *folder, size_t length) {
    static const char end[] = "/nvidia/cudnn/lib";
    char pattern[PATH_MAX];
    glob_t g;
    if (length < sizeof end || memcmp(folder + length - (sizeof end - 1), end, sizeof end - 1))
        return false;
    snprintf(pattern, sizeof pattern, "%.*s/nvidia_cudnn_cu*-*.dist-info",
             (int)(length - (sizeof end - 1)), folder);
    if (glob(pattern, 0, NULL, &g)) return false;
    bool ours = false;
    for (size_t i = 0; i < g.gl_pathc; i++)
        ours |= strstr(g.gl_pathv[i], "nvidia_cudnn_cu" MATCHES "-") != NULL;
    globfree(&g);
    return !ours;
}

/* Tries folder/file; false where there is none. If the file exists but does not open, `why` says
 * so. */
static bool try_folder(library *l, const char *file, const char *folder, size_t length, void **so) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, file);
    if (access(path, R_OK)) return false;
    if (wheel_of_other_cuda(folder, length)) {
        snprintf(l->why, sizeof l->why, "%.800s is for another CUDA (expected one for CUDA %s)",
                 path, MATCHES);
        return false;
    }
    *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*so) {
        const char *text = dlerror();
        snprintf(l->why, sizeof l->why, "%.900s", text ? text : path);
    } else if (file == l->file && of_other_cuda(l, *so, path)) {
        dlclose(*so);
        *so = NULL;
    } else if (file == l->file) snprintf(l->path, sizeof l->path, "%s", path);
    return *so != NULL;
}

static bool try_list(library *l, const char *file, const char *list, void **so) {
    while (list && *list) {
        size_t n = strcspn(list, ":");
        if (n && try_folder(l, file, list, n, so)) return true;
        list += n + (list[n] == ':');
    }
    return false;
}

static bool try_glob(library *l, const char *file, const char *pattern, void **so) {
    glob_t g;
    bool found = false;
    if (glob(pattern, 0, NULL, &g)) return false;
    for (size_t i = 0; i < g.gl_pathc && !found; i++)
        found = try_folder(l, file, g.gl_pathv[i], strlen(g.gl_pathv[i]), so);
    globfree(&g);
    return found;
}

/* The packages nvidia-* under a Python's prefix. */
static bool try_python(library *l, const char *file, const char *prefix, void **so) {
    static const char *const packages[] = {
        "lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages",
        "lib/python3/dist-packages", "local/lib/python3*/dist-packages"};
    char pattern[PATH_MAX];
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        snprintf(pattern, sizeof pattern, "%s/%s/nvidia/*/lib", prefix, packages[i]);
        if (try_glob(l, file, pattern, so)) return true;
    }
    return false;
}

/* The folder two levels above `path`: a program's prefix. False where there is none. */
static bool prefix_of(const char *path, char *prefix) {
    snprintf(prefix, PATH_MAX, "%s", path);
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(prefix, '/');
        if (!slash || slash == prefix) return false;
        *slash = 0;
    }
    return true;
}

/* Under python3 on PATH, by its name and by its link's target, and in the user's own packages. */
static bool try_pythons(library *l, const char *file, void **so) {
    char path[PATH_MAX], real[PATH_MAX], prefix[PATH_MAX];
    const char *list = getenv("PATH"), *home = getenv("HOME");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        snprintf(path, sizeof path, "%.*s/python3", (int)n, list);
        list += n + (list[n] == ':');
        if (access(path, X_OK)) continue;
        if (prefix_of(path, prefix) && try_python(l, file, prefix, so)) return true;
        if (realpath(path, real) && prefix_of(real, prefix) && try_python(l, file, prefix, so))
            return true;
        break;
    }
    if (!home) return false;
    snprintf(prefix, sizeof prefix, "%s/.local", home);
    return try_python(l, file, prefix, so);
}

/* In a toolkit's folder; NVIDIA's installer leaves CUPTI in one of its own there. */
static bool try_toolkit(library *l, const char *file, const char *home, void **so) {
    static const char *const folders[] = {"lib64", "lib", "extras/CUPTI/lib64"};
    char path[PATH_MAX];
    for (size_t i = 0; home && *home && i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", home, folders[i]);
        if (try_folder(l, file, path, strlen(path), so)) return true;
    }
    return false;
}

/* By the system's paths. */
static bool try_system(library *l, const char *file, void **so) {
    *so = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!*so || file != l->file || !of_other_cuda(l, *so, file)) return *so != NULL;
    dlclose(*so);
    return *so = NULL, false;
}

static void *find(library *l, const char *file) {
    void *so = NULL;
    bool found = try_list(l, file, getenv("GPUSH_CUDA_LIBRARIES"), &so) ||
                 try_toolkit(l, file, getenv("CUDA_HOME"), &so) ||
                 try_toolkit(l, file, getenv("CUDA_PATH"), &so) || try_pythons(l, file, &so) ||
                 try_system(l, file, &so) || try_toolkit(l, file, "/usr/local/cuda", &so);
    return found ? so : NULL;
}

static const char *set_to(const char *name) {
    const char *v = getenv(name);
    return v && *v ? v : "not set";
}

static void open_library(library *l) {
    Dl_info at;
    l->looked = true;
    for (int i = 0; i < 3 && l->before[i]; i++) find(l, l->before[i]);
    l->why[0] = 0;
    l->so = find(l, l->file);
    if (!l->so) {
        if (!l->why[0])
            snprintf(l->why, sizeof l->why,
                     "%s was not found (looked in GPUSH_CUDA_LIBRARIES (%.200s), CUDA_HOME "
                     "(%.200s), CUDA_PATH (%.200s), the nvidia packages of Python, the system's "
                     "library paths, /usr/local/cuda)",
                     l->file, set_to("GPUSH_CUDA_LIBRARIES"), set_to("CUDA_HOME"),
                     set_to("CUDA_PATH"));
        return;
    }
    void *any = dlsym(l->so, l->version);
    if (!l->path[0] && any && dladdr(any, &at) && at.dli_fname)
        snprintf(l->path, sizeof l->path, "%s", at.dli_fname);
}

static library *opened(gp_lib lib) {
    library *l = &libraries[lib];
    pthread_mutex_lock(&mutex);
    if (!l->looked) open_library(l);
    pthread_mutex_unlock(&mutex);
    return l;
}

bool gp_lib_there(gp_lib lib) { return opened(lib)->so != NULL; }

bool gp_lib_functions(gp_lib lib, const char *op, const char *const *names, int n, int optional,
                      void **table) {
    library *l = opened(lib);
    if (!l->so) return gp_fail("%s: needs %s: %s", op, l->name, l->why);
    for (int i = 0; i < n; i++) {
        table[i] = dlsym(l->so, names[i]);
        if (table[i] || i >= n - optional) continue;
        memset(table, 0, (size_t)n * sizeof *table); /* a caller takes what is there for usable */
        return gp_fail("%s: needs %s: %s has no function %s", op, l->name, l->path, names[i]);
    }
    return true;
}

/* ---- versions ---- */

/* Each library has its own way to report it. */
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
    case GP_LIB_cupti: ((int (*)(uint32_t *))fn)(&u), v = (int)u; break;
    case GP_LIB_nvrtc:
        ((int (*)(int *, int *))fn)(&part[0], &part[1]);
        v = part[0] * 1000 + part[1] * 10;
        break;
    default: ((int (*)(int *))fn)(&v);
    }
    if (lib == GP_LIB_cudnn || lib == GP_LIB_cublasLt || lib == GP_LIB_nccl)
        snprintf(text, size, "%d.%d.%d", v / 10000, v / 100 % 100, v % 100);
    else if (lib == GP_LIB_cupti) snprintf(text, size, "%d", v);
    else snprintf(text, size, "%d.%d.%d", v / 1000, v / 100 % 10, v % 100);
}

bool gp_lib_describe(gp_lib lib, const char **name, char *text, size_t size) {
    library *l = opened(lib);
    char version[40] = "?";
    *name = l->name;
    if (!l->so) {
        snprintf(text, size, "%s", l->why);
        return false;
    }
    void *fn = dlsym(l->so, l->version);
    if (fn) version_of(lib, fn, version, sizeof version);
    snprintf(text, size, "%s, %s", version, l->path[0] ? l->path : l->file);
    return true;
}

/* For `gpush doctor` (tensor/device/plugin_api.h). */
__attribute__((visibility("default"))) int gp_cuda_library(int i, const char **name, char *text,
                                                           size_t size);
int gp_cuda_library(int i, const char **name, char *text, size_t size) {
    if (i < 0 || i > GP_LIBS) return -1;
    if (i > 0) return gp_lib_describe((gp_lib)(i - 1), name, text, size);
    *name = "CUDA runtime";
    snprintf(text, size, "%d.%d, linked into the plug-in", CUDART_VERSION / 1000,
             CUDART_VERSION % 1000 / 10);
    return 1;
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
