/* gpush doctor on CUDA: the driver, the plug-in and what it was compiled for, each card, on which a
 * kernel is launched, NVIDIA's libraries and NCCL. What is missing comes with the command that
 * brings it here: packages of Python for the plug-in's CUDA, in a clone a build. */
#include "shell/doctor.h"

#include "tensor/base/env.h"
#include "tensor/base/error.h"
#include "tensor/device/backends.h"
#include "tensor/device/plugin_api.h"
#ifndef GP_WITHOUT_DIST
#include "kernels/nccl/nccl.h"
#endif

#include <dlfcn.h>
#include <lauxlib.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- this system ---- */

/* Whether python3 on PATH is the system's, where it refuses packages that are not. */
static bool python_is_managed(void) {
    char path[PATH_MAX];
    const char *list = gp_env_text(GP_ENV_PATH);
    while (list && *list) {
        int n = (int)strcspn(list, ":");
        snprintf(path, sizeof path, "%.*s/python3", n, list);
        if (!access(path, X_OK))
            return (!strncmp(list, "/usr/bin", 8) || !strncmp(list, "/bin", 4)) &&
                   gp_doctor_any_file("/usr/lib*/python3*/EXTERNALLY-MANAGED", NULL);
        list += n + (list[n] == ':');
    }
    return false;
}

/* The command that brings Python's package `name` for that CUDA, in a buffer of its own. */
static const char *pip(const char *name, int cuda, bool always_numbered) {
    static char text[4 * PATH_MAX + 200];
    char number[20] = "";
    if (cuda < 13 || always_numbered) snprintf(number, sizeof number, "-cu%d", cuda);
    const char *python = gp_doctor_python();
    bool managed = !strcmp(python, "python3") && python_is_managed();
    snprintf(text, sizeof text, "%s -m pip install %s%s%s", python,
             managed ? "--user --break-system-packages " : "", name, number);
    return text;
}

/* Prints what brings a plug-in that was built here and now, after the command `first` or NULL; for
 * the CUDA of that major number where it is a wheel. */
static void fix_by_build(const char *first, int cuda) {
    static const char in_clone[] = "scripts/gpush --cuda";
    switch (gp_doctor_origin()) {
    case GP_CLONE:
        gp_doctor_fix("%s%s%s", first ? first : "", first ? " && " : "", in_clone);
        return;
    case GP_WHEEL:
        gp_doctor_fix(
            "%s%s%s -m pip install gpush_cuda%d-%s-*.whl, made in a clone of gpush: %s && "
            "scripts/dev/wheel --cuda%d build/cuda/lib/libgpush_cuda.so",
            first ? first : "", first ? ", then " : "", gp_doctor_python(), cuda, GPUSH_VERSION,
            in_clone, cuda);
        return;
    default:
        gp_doctor_fix("%s%sin a clone of gpush: %s && cp build/default/lib/libgpush_cuda.so "
                      "%s/lib/gpush/",
                      first ? first : "", first ? ", then " : "", in_clone, gp_doctor_root_word());
    }
}

/* CUDA's major number for the driver's, as in 13000, or 0 where there is none. */
static int major_for(int driver) { return driver && driver < 13000 ? 12 : 13; }

/* ---- the driver ---- */

static void fix_driver(void) {
    static const char *const names[GP_MANAGERS] = {"nvidia-driver", "akmod-nvidia", "nvidia",
                                                   "nvidia-open-driver-G06-signed-kmp-default",
                                                   NULL};
    char text[200];
    if (gp_doctor_any_file("/proc/sys/kernel/osrelease", "icrosoft"))
        gp_doctor_fix("install NVIDIA's driver for Windows: WSL2 shares it");
    else if (!access("/.dockerenv", F_OK) || !access("/run/.containerenv", F_OK))
        gp_doctor_fix("start the container with the card: docker run --gpus all, with NVIDIA's "
                      "container toolkit");
    else if (gp_doctor_install(names, text, sizeof text)) gp_doctor_fix("%s", text);
    else gp_doctor_fix("install NVIDIA's driver");
}

/* The driver's CUDA, as in 13000; 0 where there is none. */
static int check_driver(void) {
    int n = 0;
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    int (*version)(int *) = lib ? (int (*)(int *))dlsym(lib, "cuDriverGetVersion") : NULL;
    bool card =
        gp_doctor_any_file("/sys/bus/pci/devices/*/vendor", "0x10de") || !access("/dev/dxg", F_OK);
    if (version && !version(&n)) {
        gp_doctor_say(GP_WORKS, "CUDA driver", "for CUDA %d.%d", n / 1000, n % 1000 / 10);
        return n;
    }
    gp_doctor_say(GP_ABSENT, "CUDA driver", "libcuda.so.1 is not here: no NVIDIA driver%s",
                  card ? ", though there is a card" : ", and no NVIDIA card is seen");
    if (card) fix_driver();
    return 0;
}

/* ---- the plug-in and its cards ---- */

/* In a clone, how the plug-in's build ended, which scripts/gpush begins: lib.sh writes it. */
static void check_build(void) {
    char path[PATH_MAX + 40], line[600] = "";
    snprintf(path, sizeof path, "%s/build/cuda/status", gp_doctor_root());
    FILE *f = gp_doctor_origin() == GP_CLONE ? fopen(path, "re") : NULL;
    if (!f) return;
    bool told = fgets(line, sizeof line, f) && !strstr(line, " is built");
    fclose(f);
    line[strcspn(line, "\n")] = 0;
    if (!told) return;
    gp_doctor_say(GP_ABSENT, "build", "%s", line);
    if (strstr(line, "could not")) gp_doctor_fix("scripts/gpush --cuda tries it again");
}

/* Checks the plug-in; NULL where there is none. */
static void *check_plugin(int driver) {
    char why[600] = "";
    void *so = gp_cuda_plugin(why, sizeof why);
    check_build();
    if (!so) {
        gp_doctor_say(GP_ABSENT, "plug-in", "%s", why);
        fix_by_build(NULL, major_for(driver));
        gp_doctor_say(
            GP_ABSENT, "libraries",
            "cuBLAS, cuDNN, cuSOLVER, cuFFT, NVRTC and CUPTI are looked for by the plug-in");
    }
    return so;
}

/* Runs a kernel on card i; NULL, or the error. */
static const char *launch(lua_State *L, int i, double *left) {
    static char why[600];
    lua_pushfstring(L,
                    "local gpush, on = require 'gpush', {device = 'cuda:%d'}\n"
                    "assert((gpush.ones(10, on) * 2):sum():item() == 20, 'a wrong result')\n"
                    "return gpush.memory(on.device).limit",
                    i);
    const char *text = lua_tostring(L, -1);
    bool ok = luaL_loadbuffer(L, text, strlen(text), "=doctor") == LUA_OK &&
              lua_pcall(L, 0, 1, 0) == LUA_OK;
    if (ok) *left = lua_tonumber(L, -1);
    else snprintf(why, sizeof why, "%s", lua_isstring(L, -1) ? lua_tostring(L, -1) : "an error");
    char *hint = ok ? NULL : strstr(why, "; gpush doctor says");
    if (hint) *hint = 0;
    lua_pop(L, 2);
    return ok ? NULL : why;
}

static void show_code(int fits, const char *code, int driver) {
    if (fits < 0) return;
    gp_doctor_say(fits ? GP_WORKS : GP_ABSENT, "code", "for %s%s", code,
                  fits ? "" : ": the driver compiles it for this card at each file's first use");
    if (!fits) fix_by_build(NULL, major_for(driver));
}

/* The card's line, and whether the plug-in has code for it. A driver compiles no PTX of a newer
 * CUDA than its own, of a newer minor version, too. */
static void check_card(lua_State *L, void *so, int i, int driver) {
    char name[20], code[300] = "";
    double left = 0;
    gp_cuda_code_fn *tell = (gp_cuda_code_fn *)dlsym(so, "gp_cuda_code");
    int fits = tell ? tell(i, code, sizeof code) : -1;
    const char *why = launch(L, i, &left);
    snprintf(name, sizeof name, "cuda:%d", i);
    if (!why) {
        gp_doctor_say(GP_WORKS, name, "runs a kernel; %.1f GiB of its memory are free",
                      left / 1073741824);
        return show_code(fits, code, driver);
    }
    gp_doctor_say(GP_BROKEN, name, "runs no kernel: %s%s%s", why,
                  *code ? "; the plug-in has code for " : "", code);
    if (strstr(why, "cudaErrorUnsupportedPtxVersion") && driver)
        gp_doctor_fix("the driver compiles PTX of CUDA %d.%d and older", driver / 1000,
                      driver % 1000 / 10);
    if (strstr(why, "cudaErrorUnsupportedPtxVersion") ||
        strstr(why, "cudaErrorNoKernelImageForDevice"))
        fix_by_build(NULL, major_for(driver));
}

/* Which card "cuda" is, where that is not simply the first and only one. */
static void show_own(int cards) {
    const char *visible = gp_env_text(GP_ENV_CUDA_VISIBLE_DEVICES);
    gp_own_card own = gp_cuda_own_card();
    char rank[100] = "of several ranks each takes the card of its local rank";
    if (own.from) snprintf(rank, sizeof rank, "local rank %d by %s", own.local, own.from);
    else if (cards < 2 && !visible) return;
    gp_doctor_say(GP_WORKS, "ranks", "\"cuda\" is cuda:%d here; %s%s%s", own.index, rank,
                  visible ? "; CUDA_VISIBLE_DEVICES=" : "", visible ? visible : "");
}

static void check_cards(lua_State *L, void *so, int driver) {
    char text[4000] = "";
    int n = gp_cuda_devices(text, sizeof text), i = 0;
    gp_cuda_vt(); /* gives the reason, where a device cannot be used */
    if (n && *gp_error()) gp_doctor_say(GP_ABSENT, "plug-in", "%s", gp_error());
    else if (!n) {
        gp_doctor_say(GP_ABSENT, "plug-in", "built, but no device: %s", text);
        bool old = strstr(text, "update the driver");
        if (old && gp_doctor_origin() != GP_CLONE) fix_by_build(NULL, major_for(driver));
        else if (old)
            gp_doctor_fix("scripts/dev/cuda-plugins FOLDER, with a toolkit of the driver's CUDA");
    }
    bool usable = n && !*gp_error();
    gp_error_clear();
    for (char *line = n ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
        gp_doctor_say(GP_WORKS, "plug-in", "finds %s", line);
    for (; usable && i < n; i++) check_card(L, so, i, driver);
    if (usable) show_own(n);
}

/* ---- NVIDIA's libraries ---- */

/* What needs the library, and Python's package of it. */
static const struct {
    const char *name, *for_what, *package;
    bool numbered; /* the package has CUDA's number in its name, from CUDA 13 on, too */
} uses[] = {{"cuBLAS", "matmul", "nvidia-cublas", false},
            {"cuBLASLt", "matmul", "nvidia-cublas", false},
            {"cuDNN", "fast convolutions, attention, batch_norm and recurrent layers",
             "nvidia-cudnn", true},
            {"cuSOLVER", "linalg", "nvidia-cusolver", false},
            {"cuFFT", "fft", "nvidia-cufft", false},
            {"NVRTC", "fused functions", "nvidia-cuda-nvrtc", false},
            {"NCCL", "dist, several cards", "nvidia-nccl", true},
            {"CUPTI", "device times in profiles", "nvidia-cuda-cupti", false}};

/* CUDA's major number, by the text on the plug-in's runtime, which is library 0. */
static int cuda_of(gp_cuda_library_fn *library) {
    const char *name;
    char text[200] = "";
    return library && library(0, &name, text, sizeof text) > 0 ? atoi(text) : 0;
}

static void fix_library(const char *name, const char *text, int cuda) {
    for (size_t u = 0; u < sizeof uses / sizeof *uses; u++) {
        if (strcmp(uses[u].name, name)) continue;
        const char *install = pip(uses[u].package, cuda, uses[u].numbered);
        if (strstr(text, "compiled without cudnn.h")) fix_by_build(install, cuda);
        else gp_doctor_fix("for %s: %s", uses[u].for_what, install);
    }
}

/* Checks NVIDIA's libraries as the plug-in searches for them (kernels/cuda/runtime/find.c). */
static void check_libraries(void *plugin) {
    gp_cuda_library_fn *library =
        plugin ? (gp_cuda_library_fn *)dlsym(plugin, "gp_cuda_library") : NULL;
    const char *name;
    char text[1500];
    int cuda = cuda_of(library);
    if (plugin && !library) {
        gp_doctor_say(GP_ABSENT, "plug-in", "it is of another version");
        fix_by_build(NULL, 13);
    }
    for (int i = 0, ok; library && (ok = library(i, &name, text, sizeof text)) >= 0; i++) {
        if (!strcmp(name, "CUDA driver")) continue; /* it has its line */
        gp_doctor_say(ok ? GP_WORKS : GP_ABSENT, name, "%s", text);
        if (!ok) fix_library(name, text, cuda);
    }
}

/* What collectives on cuda need beside the library. */
static void check_nccl(void *plugin) {
#ifndef GP_WITHOUT_DIST
    char why[600] = "", version[40] = "?";
    void *so = gp_nccl_plugin(why, sizeof why);
    gp_nccl_header_fn *header = so ? (gp_nccl_header_fn *)dlsym(so, "gp_nccl_header") : NULL;
    if (header) header(version, sizeof version);
    if (so)
        gp_doctor_say(GP_WORKS, "plug-in", "for NCCL, by the header of %s: collectives on cuda",
                      version);
    else {
        int cuda = cuda_of((gp_cuda_library_fn *)dlsym(plugin, "gp_cuda_library"));
        const char *install = pip("nvidia-nccl", cuda, true);
        gp_doctor_say(GP_ABSENT, "plug-in", "for NCCL: %s", why);
        if (gp_doctor_origin() == GP_CLONE) fix_by_build(install, cuda);
        else
            gp_doctor_fix("for collectives on cuda, with %s, in a clone of gpush: scripts/gpush "
                          "--cuda && cp build/default/lib/libgpush_{mpi,nccl}.so %s/lib/gpush/",
                          install, gp_doctor_root_word());
    }
#endif
}

/* The driver may restrict hardware counters to the administrator. Device times are CUPTI's activity
 * records, which are no counters; a profile says so where CUPTI refuses them. */
static void check_counters(void) {
    FILE *f = fopen("/proc/driver/nvidia/params", "re");
    char line[200];
    bool kept = false;
    if (!f) return;
    while (fgets(line, sizeof line, f))
        if (!strncmp(line, "RmProfilingAdminOnly: 1", 23)) kept = geteuid() != 0;
    fclose(f);
    gp_doctor_say(GP_WORKS, "counters", "%s",
                  kept ? "kept for the administrator (RmProfilingAdminOnly); device times are not "
                         "counters"
                       : "the driver lets this user profile");
}

void gp_doctor_cuda(lua_State *L) {
    int driver = check_driver();
    void *plugin = check_plugin(driver);
    if (plugin) check_cards(L, plugin, driver);
    check_libraries(plugin);
    if (plugin) check_nccl(plugin);
    if (driver) check_counters();
    if (gp_env_text(GP_ENV_CUDA_LAUNCH_BLOCKING)) {
        gp_doctor_say(
            GP_ABSENT, "launches",
            "CUDA_LAUNCH_BLOCKING=%s: they wait until they are done, and nothing overlaps",
            gp_env_text(GP_ENV_CUDA_LAUNCH_BLOCKING));
        gp_doctor_fix("unset CUDA_LAUNCH_BLOCKING");
    }
    gp_doctor_say(GP_ABSENT, "cuda",
                  "has run on an NVIDIA H200 and an H100%s; elsewhere on a stand-in made of the "
                  "processor",
                  gp_doctor_origin() == GP_CLONE ? " (tests/gpu/REPORT.md)" : "");
}
