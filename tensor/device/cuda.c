/* Finds the CUDA plug-in and gets its device table, on first use. */
#include <dlfcn.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tensor/device/backends.h"
#include "tensor/device/plugin_api.h"
#include "tensor/ops/simt.h"
#include "tensor/base/process.h"
#include "tensor/base/env.h"
#include "tensor/base/error.h"
#include "tensor/io/library.h"
#include "tensor/io/own_file.h"

static char reason[512];

/* Fails with the reason why there is no CUDA device, and what to write instead. */
static bool fail_without(const char *why) {
    if (!strncmp(why, "cuda: ", 6)) why += 6;
    return gp_fail("no CUDA device here (%s); device = \"gpu\" is cuda where there is one and the "
                   "simulated device elsewhere",
                   why);
}

/* The plug-ins, best first: one of an older CUDA serves where the driver is too old for the newer
 * one's. */
enum { PLUGINS = 2 };
static const char *const names[PLUGINS] = {"libgpush_cuda.so", "libgpush_cuda12.so"};

/* The path of plug-in i: from GPUSH_CUDA_PLUGIN, a list with : between, else in the folder of the
 * program or module, else, of the first, for the linker to find. False where there is none. */
static bool plugin_path(int i, char *path, size_t size) {
    const char *env = gp_env_text(GP_ENV_GPUSH_CUDA_PLUGIN);
    for (int k = 0; env && k < i; k++) env = strchr(env, ':') ? strchr(env, ':') + 1 : "";
    if (env) return snprintf(path, size, "%.*s", (int)strcspn(env, ":"), env) > 0;
    return gp_own_library_path(names[i], path, size) || i == 0;
}

/* Whether the plug-in's driver is there and cannot be used; then text says why. */
static bool unusable(void *so, char *text, size_t size) {
    gp_cuda_probe_fn *probe = so ? (gp_cuda_probe_fn *)dlsym(so, "gp_cuda_probe") : NULL;
    return probe && probe(text, size) < 0;
}

/* NULL where it does not open, with the reason in why if there is such a file. */
static void *open_file(const char *path, char *why, size_t size) {
    const char *text;
    void *so = gp_library_open(path, RTLD_NOW | RTLD_LOCAL, &text);
    if (!so && !access(path, F_OK))
        snprintf(why, size, "cuda: the plug-in cannot be loaded: %s", text);
    return so;
}

/* Asks the driver only where there is a choice. */
static void *open_plugin(char *why, size_t size) {
    char path[PATH_MAX + 64], other[PATH_MAX + 64], text[300];
    void *so = plugin_path(0, path, sizeof path) ? open_file(path, why, size) : NULL;
    if (!plugin_path(1, other, sizeof other) || (so && !unusable(so, text, sizeof text))) return so;
    void *older = open_file(other, why, size);
    return older && !(so && unusable(older, text, sizeof text)) ? older : so;
}

bool gp_cuda_build(char *text, size_t size, bool *runs) {
    const char *name = gp_env_text(GP_ENV_GPUSH_CUDA_BUILD);
    FILE *f = name ? fopen(name, "re") : NULL;
    bool ok = f && fgets(text, (int)size, f);
    if (ok) text[strcspn(text, "\n")] = 0;
    *runs = ok && strstr(text, "being built");
    if (f) fclose(f);
    return ok;
}

void *gp_cuda_plugin(char *why, size_t size) {
    static void *so; /* stays open: it is linked not to be unloaded */
    char build[200], path[PATH_MAX + 64];
    bool runs;
    if (so) return so;
    *why = 0;
    if ((so = open_plugin(why, size)) || *why) return so;
    if (gp_cuda_build(build, sizeof build, &runs)) snprintf(why, size, "cuda: %s", build);
    else if (plugin_path(0, path, sizeof path))
        snprintf(why, size, "cuda: the plug-in is not there (%s)", path);
    return so;
}

static void note_cuda(gp_device *dev, void *found) {
    if (!strcmp(dev->vt->kind, "cuda")) *(bool *)found = true;
}

bool gp_cuda_opened(void) {
    bool found = false;
    gp_device_each(note_cuda, &found);
    return found;
}

int gp_cuda_devices(char *text, size_t size) {
    void *so = gp_cuda_plugin(text, size);
    gp_cuda_probe_fn *probe = so ? (gp_cuda_probe_fn *)dlsym(so, "gp_cuda_probe") : NULL;
    if (so && !probe) snprintf(text, size, "cuda: the plug-in is of another version");
    int n = probe ? probe(text, size) : 0;
    return n > 0 ? n : 0;
}

void gp_cuda_warn_unusable(void) {
    static bool warned;
    char text[300] = "";
    void *so = warned ? NULL : gp_cuda_plugin(text, sizeof text);
    warned = true;
    int rank;
    bool tell = so ? unusable(so, text, sizeof text) : gp_env_text(GP_ENV_GPUSH_CUDA_BUILD) != NULL;
    if (tell && gp_process.warns(text, &rank))
        fprintf(stderr, "gpush: \"gpu\" is the simulated device here: %s\n", text);
}

int gp_cuda_setting(const char *name, int value) {
    char why[300] = "";
    void *so = gp_cuda_plugin(why, sizeof why);
    gp_cuda_setting_fn *set = so ? (gp_cuda_setting_fn *)dlsym(so, "gp_cuda_setting") : NULL;
    int now = set ? set(name, value) : -1;
    if (now < 0 && so) gp_fail("cuda: no such setting");
    else if (now < 0) fail_without(why);
    return now;
}

int gp_cuda_routes(const char *text, char *source, size_t size, const char **used) {
    char why[300] = "";
    void *so = gp_cuda_plugin(why, sizeof why);
    gp_cuda_routes_fn *routes = so ? (gp_cuda_routes_fn *)dlsym(so, "gp_cuda_routes") : NULL;
    if (!routes) return fail_without(why), -1;
    int n = routes(text, source, size, used);
    if (n < 0) gp_fail("%s", source);
    return n;
}

bool gp_card_prepare(gp_device *dev, gp_card_kernel *k, gp_card_info *info) {
    char why[300] = "";
    void *so = strcmp(dev->vt->kind, "cuda") ? NULL : gp_cuda_plugin(why, sizeof why);
    gp_cuda_prepare_fn *prepare = so ? (gp_cuda_prepare_fn *)dlsym(so, "gp_cuda_prepare") : NULL;
    if (!prepare) return gp_fail("no kernels are compiled for %s", dev->name);
    return prepare(dev, k, info);
}

static _Atomic(gp_cuda_range_fn *) ranges; /* where a tool watches; else NULL */

bool gp_cuda_ranges(void) { return atomic_load(&ranges) != NULL; }

uint64_t gp_cuda_range_begin(const char *name) {
    gp_cuda_range_fn *f = atomic_load(&ranges);
    return f ? f(name, 0) : 0;
}

void gp_cuda_range_end(uint64_t range) {
    gp_cuda_range_fn *f = atomic_load(&ranges);
    if (f) f(NULL, range);
}

static const gp_device_vt *load(void) {
    void *so = gp_cuda_plugin(reason, sizeof reason);
    if (!so) return NULL;
    gp_cuda_open_fn *open = (gp_cuda_open_fn *)dlsym(so, "gp_cuda_open");
    if (!open) snprintf(reason, sizeof reason, "cuda: the plug-in is of another version");
    const gp_device_vt *vt = open ? open(gp_core_table(), reason, sizeof reason) : NULL;
    if (vt && gp_env_text(
                  GP_ENV_NVTX_INJECTION64_PATH)) /* Nsight sets this for programs that it starts */
        atomic_store(&ranges, (gp_cuda_range_fn *)dlsym(so, "gp_cuda_range"));
    return vt;
}

const gp_device_vt *gp_cuda_vt(void) {
    static const gp_device_vt *vt;
    static bool asked;
    if (!asked) vt = load(), asked = true;
    if (!vt) fail_without(reason);
    return vt;
}
