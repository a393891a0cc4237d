/* gpush doctor: what works on this machine and what does not, why, and what to do about it. CUDA's
 * libraries are only looked up, by name, so that none is required. */
#include "shell/shell.h"

#include "bindings/bind.h"
#include "kernels/blas/blas.h"
#include "kernels/cpu/runtime/isa.h"
#include "bindings/paths.h"
#include "profile/show/fit.h"
#include "shell/editor/history.h"
#include "shell/editor/screen.h"
#include "tensor/device/backends.h"
#include "tensor/device/plugin_api.h"
#include "tensor/base/env.h"
#include "tensor/base/safe_text.h"
#ifndef GP_WITHOUT_DIST
#include "kernels/nccl/nccl.h"
#include "tensor/dist/dist.h"
#endif
#ifndef GP_WITHOUT_CAPTURE
#include "tensor/fuse/object.h"
#endif

#include <dlfcn.h>
#include <langinfo.h>
#include <lauxlib.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LEFT_OUT "left out of this build: CMake's option %s=ON brings it"

static int broken; /* number of failures that gpush cannot do without */

/* WORKS; ABSENT: does not work here, and nothing else is affected; BROKEN: must be fixed. */
typedef enum state { WORKS, ABSENT, BROKEN } state;

__attribute__((format(printf, 3, 4))) static void say(state s, const char *what, const char *fmt,
                                                      ...) {
    static const char *const marks[] = {"ok", "--", "!!"};
    char given[4000], text[2 * sizeof given]; /* variables and paths may contain any byte */
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(given, sizeof given, fmt, ap);
    va_end(ap);
    gp_safe_text(given, text, sizeof text);
    int at = printf("%s  %-12s ", marks[s], what);
    gp_fit_fold(stdout, text, at, gp_fit_columns());
    broken += s == BROKEN;
}

static void fix(const char *text) {
    gp_fit_fold(stdout, text, printf("                 "), gp_fit_columns());
}

/* Runs Lua text that should return true; false prints why not. */
static bool proves(lua_State *L, const char *what, const char *text) {
    int top = lua_gettop(L);
    bool ok = luaL_loadstring(L, text) == LUA_OK && lua_pcall(L, 0, 1, 0) == LUA_OK;
    const char *why = ok ? "a wrong result" : lua_tostring(L, -1);
    ok = ok && lua_toboolean(L, -1);
    if (!ok) say(BROKEN, what, "%s", why ? why : "an error");
    lua_settop(L, top);
    return ok;
}

/* ---- Processor ---- */

static void check_lua(lua_State *L) {
    const char *dir = gp_scripts_dir();
    char path[4200];
    snprintf(path, sizeof path, "%s/init.lua", dir ? dir : "");
    say(WORKS, "gpush", "%s, %s", GPUSH_VERSION, LUA_RELEASE);
    if (!access(path, R_OK)) say(WORKS, "scripts", "%s", dir);
    else {
        say(BROKEN, "scripts", "%s cannot be read", path);
        fix("install gpush whole: program and share/gpush");
    }
}

static const char *processor(void) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")) return "AVX-512";
    return __builtin_cpu_supports("avx2") ? "AVX2" : "SSE4.2 or less";
#else
    return "no special instructions known";
#endif
}

/* Products of f64 are OpenBLAS's, those of f32 oneDNN's. */
#define PRODUCT(dtype)                                                                             \
    "local x = require 'gpush'.ones(99, 99, {dtype = '" dtype "'}) "                               \
    "return x:matmul(x):sum():item() == 99^3"

static void check_blas(lua_State *L) {
    if (!proves(L, "BLAS", PRODUCT("f64"))) return;
    say(WORKS, "BLAS", "core %s; %s", gp_blas->openblas_get_corename(),
        gp_blas->openblas_get_config());
    if (!gp_env_text(GP_ENV_OPENBLAS_CORETYPE)) return;
    say(ABSENT, "BLAS core", "OPENBLAS_CORETYPE=%s chooses it, perhaps not the fastest",
        gp_env_text(GP_ENV_OPENBLAS_CORETYPE));
    fix("unset OPENBLAS_CORETYPE");
}

static void check_dnnl(lua_State *L) {
    if (!proves(L, "oneDNN", PRODUCT("f32"))) return;
    const dnnl_version_t *v = gp_blas->dnnl_version();
    say(WORKS, "oneDNN", "%d.%d.%d", v->major, v->minor, v->patch);
}

static void check_threads(lua_State *L) {
    lua_getglobal(L, "threads");
    int ok = lua_pcall(L, 0, 1, 0) == LUA_OK, n = ok ? (int)lua_tointeger(L, -1) : 0;
    lua_pop(L, 1);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const char *bf16 = gp_cpu_bf16();
    say(WORKS, "processor", "%s%s%s, %ld cores, %d threads for kernels", processor(),
        bf16 ? ", bf16 by " : "", bf16 ? bf16 : "", cores, n);
    if (gp_env_text(GP_ENV_GPUSH_ISA)) {
        say(ABSENT, "kernels", "GPUSH_ISA chooses those of %s, perhaps not the fastest",
            gp_cpu_level());
        fix("unset GPUSH_ISA");
    }
    if (n <= cores) return;
    say(ABSENT, "threads", "more than cores: kernels will be slow");
    fix("unset OMP_NUM_THREADS, or threads(n)");
}

static void check_memory(void) {
    double page = (double)sysconf(_SC_PAGESIZE) / (1 << 30);
    double all = page * (double)sysconf(_SC_PHYS_PAGES),
           left = page * (double)sysconf(_SC_AVPHYS_PAGES);
    say(WORKS, "memory", "%.1f GiB, %.1f GiB unused", all, left);
}

static void check_sim(lua_State *L) {
    if (proves(L, "sim",
               "local g = require 'gpush' return (g.ones(10, {device = 'sim'}) * 2):sum():item() "
               "== 20"))
        say(WORKS, "sim",
            "the simulated device computes (with the processor) and waits as a GPU does");
}

/* Fused functions run without; a compiler makes long chains faster. */
static void check_compiler(void) {
#ifdef GP_WITHOUT_CAPTURE
    say(ABSENT, "fuse", LEFT_OUT, "GPUSH_CAPTURE");
#else
    char text[4500];
    if (gp_object_compiling() == GP_COMPILE_OFF)
        say(ABSENT, "fuse", "compiles nothing: GPUSH_FUSE_COMPILE is 0");
    else say(gp_object_describe(text, sizeof text) ? WORKS : ABSENT, "fuse", "%s", text);
#endif
}

/* ---- many processes ---- */

#ifdef GP_WITHOUT_DIST
static void check_mpi(void) { say(ABSENT, "dist", LEFT_OUT, "GPUSH_DIST"); }
static void check_nccl(void *cuda) {}
#else
static bool is_mpich(const char *engine) { return strstr(engine, "MPICH") != NULL; }

/* The command that says whether that MPI's own launcher is there, as gpush run looks for it. */
static const char *launcher_of(const char *engine) {
    return is_mpich(engine) ? "for x in mpiexec.hydra mpirun.mpich mpirun; do $x --version; done "
                              "2>/dev/null | grep -qE 'HYDRA|MPICH'"
                            : "for x in mpirun.openmpi mpirun; do $x --version; done 2>/dev/null | "
                              "grep -qE 'Open MPI|OpenRTE'";
}

/* MPI is not started: only its version is asked for. */
static void check_mpi(void) {
    char text[600] = "";
    if (!gp_mpi_engine(text, sizeof text)) {
        say(ABSENT, "MPI", "%s", text);
        fix("for dist, many processes: apt-get install libopenmpi-dev openmpi-bin, or "
            "libmpich-dev, "
            "then build again");
        return;
    }
    bool starts = system(launcher_of(text)) == 0;
    say(starts ? WORKS : ABSENT, "MPI", "%s%s", text,
        starts ? ": gpush run -n 2 script" : "; there is no mpirun of it to start processes with");
    if (!starts) fix(is_mpich(text) ? "apt-get install mpich" : "apt-get install openmpi-bin");
}

/* What collectives on cuda need beside the library. */
static void check_nccl(void *cuda) {
    char why[600] = "", version[40] = "?";
    if (!cuda) return;
    void *so = gp_nccl_plugin(why, sizeof why);
    gp_nccl_header_fn *header = so ? (gp_nccl_header_fn *)dlsym(so, "gp_nccl_header") : NULL;
    if (header) header(version, sizeof version);
    if (so) {
        say(WORKS, "plug-in", "for NCCL, by the header of %s: collectives on cuda", version);
        return;
    }
    say(ABSENT, "plug-in", "for NCCL: %s", why);
    fix("for dist on cuda: apt-get install libnccl-dev, or pip install nvidia-nccl-cu13 (-cu12) "
        "and set NCCL_HOME, then build again");
}
#endif

/* ---- CUDA ---- */

/* Opens the first of the names; the caller handles its version, by a function int (*)(int *) or
 * size_t (*)(void). */
static void *open_any(const char *const *names, const char **found) {
    for (; *names; names++) {
        void *lib = dlopen(*names, RTLD_LAZY | RTLD_LOCAL);
        if (lib) return *found = *names, lib;
    }
    return NULL;
}

static bool check_driver(void) {
    static const char *const names[] = {"libcuda.so.1", NULL};
    const char *name;
    int n = 0;
    void *lib = open_any(names, &name);
    int (*version)(int *) = lib ? (int (*)(int *))dlsym(lib, "cuDriverGetVersion") : NULL;
    if (!version || version(&n)) {
        say(ABSENT, "CUDA driver", "libcuda.so.1 is not here: no NVIDIA driver");
        fix("install NVIDIA's driver, where there is an NVIDIA GPU");
        return false;
    }
    say(WORKS, "CUDA driver", "for CUDA %d.%d", n / 1000, n % 1000 / 10);
    return true;
}

/* Checks the plug-in and its devices; NULL where there is no plug-in. */
static void *check_plugin(void) {
    char why[600] = "", text[4000] = "";
    void *so = gp_cuda_plugin(why, sizeof why);
    if (!so) {
        say(ABSENT, "plug-in", "%s", why);
        fix("install the CUDA toolkit and build again: cmake --build, or scripts/gpush");
        say(ABSENT, "libraries",
            "cuBLAS, cuDNN, cuSOLVER, cuFFT and CUPTI are looked for by the plug-in");
        return NULL;
    }
    int n = gp_cuda_devices(text, sizeof text);
    gp_cuda_vt(); /* gives the reason, where a device cannot be used */
    if (n && *gp_error()) say(ABSENT, "plug-in", "%s", gp_error());
    else if (!n) say(ABSENT, "plug-in", "built, but no device: %s", text);
    for (char *line = n ? strtok(text, "\n") : NULL; line; line = strtok(NULL, "\n"))
        say(WORKS, "plug-in", "finds %s", line);
    gp_error_clear();
    return so;
}

/* Checks NVIDIA's libraries as the plug-in searches for them: in GPUSH_CUDA_LIBRARIES, CUDA_HOME,
 * Python's wheels, the system. */
static void check_libraries(void *plugin) {
    static const struct {
        const char *name, *text;
    } fixes[] = {
        {"cuBLAS", "matmul on a GPU needs it: the CUDA toolkit, or pip install nvidia-cublas"},
        {"cuBLASLt", "matmul on a GPU needs it: the CUDA toolkit, or pip install nvidia-cublas"},
        {"cuDNN", "convolutions on a GPU are slow without it, batch_norm and recurrent layers "
                  "slower: NVIDIA's cuDNN 9, or pip install nvidia-cudnn-cu13 (-cu12)"},
        {"cuSOLVER", "linalg on a GPU needs it: the CUDA toolkit, or pip install nvidia-cusolver"},
        {"cuFFT", "fft on a GPU needs it: the CUDA toolkit, or pip install nvidia-cufft"},
        {"CUPTI",
         "device times in profiles need it: the CUDA toolkit, or pip install nvidia-cuda-cupti"}};
    gp_cuda_library_fn *library =
        plugin ? (gp_cuda_library_fn *)dlsym(plugin, "gp_cuda_library") : NULL;
    const char *name;
    char text[1000];
    if (plugin && !library)
        say(ABSENT, "plug-in", "it is of another version"), fix("cmake --build");
    for (int i = 0, ok; library && (ok = library(i, &name, text, sizeof text)) >= 0; i++) {
        say(ok ? WORKS : ABSENT, name, "%s", text);
        for (size_t f = 0; !ok && f < sizeof fixes / sizeof *fixes; f++)
            if (!strcmp(fixes[f].name, name)) fix(fixes[f].text);
    }
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
    if (!kept) {
        say(WORKS, "counters", "the driver lets this user profile");
        return;
    }
    say(WORKS, "counters",
        "kept for the administrator (RmProfilingAdminOnly); device times are not counters");
}

static void check_cuda(void) {
    bool driver = check_driver();
    void *plugin = check_plugin();
    check_libraries(plugin);
    check_nccl(plugin);
    if (driver) check_counters();
    if (gp_env_text(GP_ENV_CUDA_LAUNCH_BLOCKING)) {
        say(ABSENT, "launches",
            "CUDA_LAUNCH_BLOCKING=%s: they wait until they are done, and nothing overlaps",
            gp_env_text(GP_ENV_CUDA_LAUNCH_BLOCKING));
        fix("unset CUDA_LAUNCH_BLOCKING");
    }
    say(ABSENT, "cuda",
        "has run on an NVIDIA H200 and an H100 (tests/gpu/REPORT.md); elsewhere on a stand-in made "
        "of the processor");
}

/* ---- The terminal ---- */

static void check_terminal(void) {
    const char *term = gp_env_text(GP_ENV_TERM), *no = gp_env_text(GP_ENV_NO_COLOR);
    locale_t user = gp_screen_locale();
    const char *codes = user ? nl_langinfo_l(CODESET, user) : "ASCII";
    bool utf8 = !strcmp(codes, "UTF-8");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        say(ABSENT, "terminal", "input or output is not one: lines are read plainly");
    else if (!term || !*term || !strcmp(term, "dumb"))
        say(ABSENT, "terminal", "TERM=%s cannot move its cursor: lines are read plainly",
            term ? term : "");
    else
        say(WORKS, "terminal", "%s, %d columns, %s", term, gp_screen_columns(),
            no && *no ? "no colours (NO_COLOR)" : "colours");
    if (utf8) say(WORKS, "characters", "UTF-8");
    else {
        say(ABSENT, "characters", "%s: plots and other scripts' letters will not show", codes);
        fix("set LC_ALL to a UTF-8 locale, such as C.UTF-8");
    }
    if (user) freelocale(user);
}

static void check_history(void) {
    const char *path;
    gp_history_open();
    int error = gp_history_error(&path);
    if (!path) {
        say(ABSENT, "history", "lasts for a session: there is no folder for its file");
        fix("set HOME");
    } else if (error) {
        say(ABSENT, "history", "lasts for a session: %s: %s", path, strerror(error));
    } else {
        say(WORKS, "history", "%s, %d inputs", path, gp_history_count());
    }
    gp_history_close();
}

int gp_doctor(lua_State *L) {
    check_lua(L);
    check_threads(L);
    check_memory();
    check_blas(L);
    check_dnnl(L);
    check_sim(L);
    check_compiler();
    check_cuda();
    check_mpi();
    check_terminal();
    check_history();
    putchar('\n');
    gp_fit_fold(stdout,
                broken ? "!! must be fixed: gpush does not work correctly."
                       : "Everything that gpush needs works. (-- is missing, and not needed.)",
                0, gp_fit_columns());
    return broken ? 1 : 0;
}
