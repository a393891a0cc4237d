/* Finds NVIDIA's libraries: in GPUSH_CUDA_LIBRARIES, CUDA_HOME, CUDA_PATH, Python's packages,
 * conda's folder, the system's paths, /usr/local/cuda. What is found is opened by its path. */
#include "kernels/cuda/runtime/find.h"

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime.h>

#include "tensor/io/library.h"

/* Whether the library is for another major version of CUDA: cuDNN's soname is the same for all. It
 * would open that version's cuBLAS beside ours. Then `why` says so. */
static bool of_other_cuda(gp_search *s, void *so, const char *path) {
    size_t (*built_for)(void) = (size_t(*)(void))dlsym(so, "cudnnGetCudartVersion");
    int cuda = built_for ? (int)(built_for() / 1000) : 0;
    if (!cuda || cuda == CUDART_VERSION / 1000) return false;
    snprintf(s->why, sizeof s->why, "%.800s is for CUDA %d (expected one for CUDA %d)", path, cuda,
             CUDART_VERSION / 1000);
    return true;
}

/* Whether folder is nvidia/NAME/lib of Python's packages for another version of CUDA: by its name,
 * cu13, or by that of the package, nvidia_NAME_cu12. Nothing of it is opened then, as its parts
 * would stay. */
static bool wheel_of_other_cuda(const char *folder, size_t length) {
    char path[PATH_MAX], pattern[PATH_MAX + 64];
    char ours[64];
    glob_t g;
    snprintf(path, sizeof path, "%.*s", (int)length, folder);
    char *name = strstr(path, "/nvidia/"), *end = name ? strchr(name + 8, '/') : NULL;
    if (!end || strcmp(end, "/lib") || end - name > 40) return false;
    *name = *end = 0;
    name += 8;
    if (!strncmp(name, "cu", 2) && name[2] >= '0' && name[2] <= '9')
        return atoi(name + 2) != CUDART_VERSION / 1000;
    snprintf(pattern, sizeof pattern, "%s/nvidia_%s_cu*-*.dist-info", path, name);
    snprintf(ours, sizeof ours, "/nvidia_%s_cu%d-", name, CUDART_VERSION / 1000);
    if (glob(pattern, 0, NULL, &g)) return false;
    bool found = false;
    for (size_t i = 0; i < g.gl_pathc; i++) found |= strstr(g.gl_pathv[i], ours) != NULL;
    globfree(&g);
    return !found;
}

/* Whether LD_LIBRARY_PATH has a file of that name: the linker would take it. */
static bool is_shadowed(const char *file) {
    char path[PATH_MAX];
    for (const char *list = getenv("LD_LIBRARY_PATH"); list && *list;) {
        size_t n = strcspn(list, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)n, list, file);
        if (n && !access(path, R_OK)) return true;
        list += n + (list[n] == ':');
    }
    return false;
}

/* Opens those parts, in the library's own folder, that it would find elsewhere when it opens them
 * by name. */
static void open_parts(const gp_search *s, const char *folder, size_t length) {
    char pattern[PATH_MAX];
    glob_t g;
    for (int p = 0; p < GP_SEARCH_PARTS && s->parts[p]; p++) {
        snprintf(pattern, sizeof pattern, "%.*s/%s", (int)length, folder, s->parts[p]);
        if (glob(pattern, 0, NULL, &g)) continue;
        for (size_t i = 0; i < g.gl_pathc; i++)
            if (is_shadowed(strrchr(g.gl_pathv[i], '/') + 1))
                dlopen(g.gl_pathv[i], RTLD_LAZY | RTLD_LOCAL);
        globfree(&g);
    }
}

/* Tries folder/file; false where there is none. If the file exists but does not open, `why` says
 * so. */
static bool try_folder(gp_search *s, const char *folder, size_t length) {
    char path[PATH_MAX];
    const char *text;
    snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, s->file);
    if (access(path, R_OK)) return false;
    if (wheel_of_other_cuda(folder, length)) {
        snprintf(s->why, sizeof s->why, "%.800s is for another CUDA (expected one for CUDA %d)",
                 path, CUDART_VERSION / 1000);
        return false;
    }
    open_parts(s, folder, length);
    s->so = gp_library_open(path, RTLD_NOW | RTLD_LOCAL, &text);
    if (!s->so) snprintf(s->why, sizeof s->why, "%.900s", text);
    else if (of_other_cuda(s, s->so, path)) {
        dlclose(s->so);
        s->so = NULL;
    } else snprintf(s->path, sizeof s->path, "%s", path);
    return s->so != NULL;
}

static bool try_list(gp_search *s, const char *list) {
    while (list && *list) {
        size_t n = strcspn(list, ":");
        if (n && try_folder(s, list, n)) return true;
        list += n + (list[n] == ':');
    }
    return false;
}

static bool try_glob(gp_search *s, const char *pattern) {
    glob_t g;
    bool found = false;
    if (glob(pattern, 0, NULL, &g)) return false;
    for (size_t i = 0; i < g.gl_pathc && !found; i++)
        found = try_folder(s, g.gl_pathv[i], strlen(g.gl_pathv[i]));
    globfree(&g);
    return found;
}

/* The packages nvidia-* under a Python's prefix, a pattern. */
static bool try_python(gp_search *s, const char *prefix) {
    static const char *const packages[] = {
        "lib/python3*/site-packages", "lib64/python3*/site-packages", "lib/python3*/dist-packages",
        "lib/python3/dist-packages", "local/lib/python3*/dist-packages"};
    char pattern[PATH_MAX + 64];
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        snprintf(pattern, sizeof pattern, "%s/%s/nvidia/*/lib", prefix, packages[i]);
        if (try_glob(s, pattern)) return true;
    }
    return false;
}

/* The folder two levels above `path`: a program's prefix. Of pyenv's scripts, which start a Python
 * of its own, a pattern for all of those. False where there is none. */
static bool prefix_of(const char *path, char *prefix) {
    snprintf(prefix, PATH_MAX, "%s", path);
    bool shims = false;
    for (int i = 0; i < 2; i++) {
        char *slash = strrchr(prefix, '/');
        if (!slash || slash == prefix) return false;
        shims = !strcmp(slash, "/shims");
        *slash = 0;
    }
    size_t n = strlen(prefix);
    if (shims) snprintf(prefix + n, PATH_MAX - n, "/versions/*");
    return true;
}

/* Under python3 on PATH, by its name and by its link's target, and in the user's own packages. */
static bool try_pythons(gp_search *s) {
    char path[PATH_MAX], real[PATH_MAX], prefix[PATH_MAX];
    const char *list = getenv("PATH"), *home = getenv("HOME");
    while (list && *list) {
        size_t n = strcspn(list, ":");
        snprintf(path, sizeof path, "%.*s/python3", (int)n, list);
        list += n + (list[n] == ':');
        if (access(path, X_OK)) continue;
        if (prefix_of(path, prefix) && try_python(s, prefix)) return true;
        if (realpath(path, real) && prefix_of(real, prefix) && try_python(s, prefix)) return true;
        break;
    }
    if (!home) return false;
    snprintf(prefix, sizeof prefix, "%s/.local", home);
    return try_python(s, prefix);
}

/* Under the prefix where the plug-in itself is, in PREFIX/lib/gpush: what brought it there brings
 * these, too, and the environment need not be on PATH. */
static bool try_own_prefix(gp_search *s) {
    char path[PATH_MAX], prefix[PATH_MAX];
    Dl_info own;
    if (!dladdr((void *)try_own_prefix, &own) || !realpath(own.dli_fname, path)) return false;
    *strrchr(path, '/') = 0;
    return prefix_of(path, prefix) && try_python(s, prefix);
}

/* In a toolkit's folder, or conda's; NVIDIA's installer leaves CUPTI in one of its own there. */
static bool try_toolkit(gp_search *s, const char *home) {
    static const char *const folders[] = {"lib64", "lib", "extras/CUPTI/lib64",
                                          "targets/x86_64-linux/lib", "targets/sbsa-linux/lib"};
    char path[PATH_MAX];
    for (size_t i = 0; home && *home && i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", home, folders[i]);
        if (try_folder(s, path, strlen(path))) return true;
    }
    return false;
}

/* By the system's paths. */
static bool try_system(gp_search *s) {
    s->so = dlopen(s->file, RTLD_NOW | RTLD_LOCAL);
    if (!s->so || !of_other_cuda(s, s->so, s->file)) return s->so != NULL;
    dlclose(s->so);
    return s->so = NULL, false;
}

static const char *set_to(const char *name) {
    const char *v = getenv(name);
    return v && *v ? v : "not set";
}

bool gp_lib_find(gp_search *s) {
    s->so = NULL, s->why[0] = s->path[0] = 0;
    if (try_list(s, getenv("GPUSH_CUDA_LIBRARIES")) || try_toolkit(s, getenv("CUDA_HOME")) ||
        try_toolkit(s, getenv("CUDA_PATH")) || try_own_prefix(s) || try_pythons(s) ||
        try_toolkit(s, getenv("CONDA_PREFIX")) || try_system(s) ||
        try_toolkit(s, "/usr/local/cuda"))
        return true;
    if (!s->why[0])
        snprintf(s->why, sizeof s->why,
                 "%s was not found (looked in GPUSH_CUDA_LIBRARIES (%.200s), CUDA_HOME (%.200s), "
                 "CUDA_PATH (%.200s), the nvidia packages of Python, CONDA_PREFIX (%.200s), the "
                 "system's library paths, /usr/local/cuda)",
                 s->file, set_to("GPUSH_CUDA_LIBRARIES"), set_to("CUDA_HOME"), set_to("CUDA_PATH"),
                 set_to("CONDA_PREFIX"));
    return false;
}
