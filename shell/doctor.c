/* gpush doctor: what works on this machine and what does not, why, and what to do about it. */
#include "shell/doctor.h"
#include "shell/shell.h"

#include "bindings/bind.h"
#include "kernels/blas/blas.h"
#include "kernels/cpu/runtime/isa.h"
#include "profile/show/fit.h"
#include "shell/editor/history.h"
#include "shell/editor/screen.h"
#include "tensor/base/env.h"
#include "tensor/base/safe_text.h"
#include "tensor/memory/hostmem.h"
#ifndef GP_WITHOUT_DIST
#include "tensor/dist/dist.h"
#endif
#ifndef GP_WITHOUT_CAPTURE
#include "tensor/fuse/object.h"
#endif

#include <langinfo.h>
#include <lauxlib.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GIB 1073741824.0
#define LEFT_OUT "left out of this build: CMake's option %s=ON brings it"

static int broken;   /* number of failures that gpush cannot do without */
static bool foreign; /* the last one is of a file in LD_LIBRARY_PATH: no installing mends it */

/* Whether text is the loader's on a library in one of LD_LIBRARY_PATH's folders; says so. */
static bool is_foreign(const char *text) {
    const char *list = gp_env_text(GP_ENV_LD_LIBRARY_PATH);
    for (int n; list && *list; list += n + (list[n] == ':')) {
        n = (int)strcspn(list, ":;");
        char folder[PATH_MAX];
        snprintf(folder, sizeof folder, "%.*s/", n, list);
        const char *at = n ? strstr(text, folder) : NULL;
        if (!at || at[strcspn(at, ": ")] != ':') continue;
        gp_doctor_fix("LD_LIBRARY_PATH brings that file: take %.*s out of it", n, list);
        return true;
    }
    return false;
}

void gp_doctor_say(gp_finding finding, const char *what, const char *fmt, ...) {
    static const char *const marks[] = {"ok", "--", "!!"};
    char given[4000], text[2 * sizeof given]; /* variables and paths may contain any byte */
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(given, sizeof given, fmt, ap);
    va_end(ap);
    gp_safe_text(given, text, sizeof text);
    int at = printf("%s  %-12s ", marks[finding], what);
    gp_fit_fold(stdout, text, at, gp_fit_columns());
    broken += finding == GP_BROKEN;
    foreign = false;
    foreign = finding != GP_WORKS && is_foreign(given);
}

void gp_doctor_fix(const char *fmt, ...) {
    if (foreign) return; /* which was said */
    char given[1000], text[2 * sizeof given];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(given, sizeof given, fmt, ap);
    va_end(ap);
    gp_safe_text(given, text, sizeof text);
    gp_fit_fold(stdout, text, printf("                 "), gp_fit_columns());
}

/* Runs Lua text that should return true; if it does not, says why. */
static bool proves(lua_State *L, gp_finding failed, const char *what, const char *text) {
    int top = lua_gettop(L);
    bool ok = luaL_loadbuffer(L, text, strlen(text), "=doctor") == LUA_OK &&
              lua_pcall(L, 0, 1, 0) == LUA_OK;
    const char *why = ok ? "a wrong result" : lua_tostring(L, -1);
    if (!ok && why && !strncmp(why, "doctor:1: ", 10)) why += 10;
    ok = ok && lua_toboolean(L, -1);
    if (!ok) gp_doctor_say(failed, what, "%s", why ? why : "an error");
    lua_settop(L, top);
    return ok;
}

/* ---- this system ---- */

/* The tool that installs packages here, and its place in the lists of names. */
static const char *const managers[] = {"apt-get", "dnf", "pacman", "zypper", "apk"};
static const char *const installs[] = {"apt-get install", "dnf install", "pacman -S",
                                       "zypper install", "apk add"};

const char *gp_doctor_install(const char *const names[GP_MANAGERS], char *text, size_t size) {
    char path[64];
    for (int i = 0; i < GP_MANAGERS; i++)
        for (int k = 0; k < 2; k++) {
            snprintf(path, sizeof path, "%s/%s", k ? "/sbin" : "/usr/bin", managers[i]);
            if (!names[i] || access(path, X_OK)) continue;
            bool sudo = !access("/usr/bin/sudo", X_OK) || !access("/bin/sudo", X_OK);
            snprintf(text, size, "%s%s %s",
                     !geteuid() ? ""
                     : sudo     ? "sudo "
                                : "as root: ",
                     installs[i], names[i]);
            return text;
        }
    return NULL;
}

/* ---- Processor ---- */

/* The processor's level, as kernels are compiled for them. */
static const char *processor(void) {
#if defined(__x86_64__)
    if (gp_isa_v4()) return "x86-64-v4 (AVX-512)";
    if (gp_isa_v3()) return "x86-64-v3 (AVX2)";
    return __builtin_cpu_supports("sse4.2") ? "x86-64-v2 (SSE4.2)" : "x86-64, older than v2";
#else
    return "no special instructions known";
#endif
}

/* Whether kernels for the processor's own level were left out of this build. */
static bool lesser_kernels(void) {
#if defined(__x86_64__)
    const char *own = gp_isa_v4() ? "v4" : gp_isa_v3() ? "v3" : "base";
    return strcmp(own, gp_cpu_level()) != 0;
#else
    return false;
#endif
}

/* Products of f64 are OpenBLAS's, those of f32 oneDNN's. */
#define PRODUCT(dtype)                                                                             \
    "local x = require 'gpush'.ones(99, 99, {dtype = '" dtype "'}) "                               \
    "return x:matmul(x):sum():item() == 99^3"

static void check_blas(lua_State *L) {
    if (!proves(L, GP_BROKEN, "BLAS", PRODUCT("f64"))) {
        gp_doctor_reinstall(NULL);
        return;
    }
    gp_doctor_say(GP_WORKS, "BLAS", "core %s; %s", gp_blas->openblas_get_corename(),
                  gp_blas->openblas_get_config());
    if (!gp_env_text(GP_ENV_OPENBLAS_CORETYPE)) return;
    gp_doctor_say(GP_ABSENT, "BLAS core",
                  "OPENBLAS_CORETYPE=%s chooses it, perhaps not the fastest",
                  gp_env_text(GP_ENV_OPENBLAS_CORETYPE));
    gp_doctor_fix("unset OPENBLAS_CORETYPE");
}

static void check_dnnl(lua_State *L) {
    if (!proves(L, GP_BROKEN, "oneDNN", PRODUCT("f32"))) return;
    const dnnl_version_t *v = gp_blas->dnnl_version();
    gp_doctor_say(GP_WORKS, "oneDNN", "%d.%d.%d", v->major, v->minor, v->patch);
}

static void check_threads(lua_State *L) {
    lua_getglobal(L, "threads");
    int ok = lua_pcall(L, 0, 1, 0) == LUA_OK, n = ok ? (int)lua_tointeger(L, -1) : 0;
    lua_pop(L, 1);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    const char *bf16 = gp_cpu_bf16();
    gp_doctor_say(GP_WORKS, "processor", "%s%s%s, %ld cores, %d threads for kernels", processor(),
                  bf16 ? ", bf16 by " : "", bf16 ? bf16 : "", cores, n);
    if (gp_env_text(GP_ENV_GPUSH_ISA)) {
        gp_doctor_say(GP_ABSENT, "kernels",
                      "GPUSH_ISA chooses those of %s, perhaps not the fastest", gp_cpu_level());
        gp_doctor_fix("unset GPUSH_ISA");
    } else if (lesser_kernels()) {
        gp_doctor_say(GP_ABSENT, "kernels", "are those of %s: this build has none for more",
                      gp_cpu_level());
        gp_doctor_fix(
            "%scmake --preset default -DGPUSH_ISAS='v3;v4' && cmake --build build/default",
            gp_doctor_origin() == GP_CLONE ? "" : "in its clone: ");
    }
    if (n <= cores) return;
    gp_doctor_say(GP_ABSENT, "threads", "more than cores: kernels will be slow");
    gp_doctor_fix("unset OMP_NUM_THREADS, or threads(n)");
}

static void check_memory(void) {
    double page = (double)sysconf(_SC_PAGESIZE), all = page * (double)sysconf(_SC_PHYS_PAGES);
    size_t left = gp_host_free_bytes();
    char more[80] = "";
    if (left < SIZE_MAX)
        snprintf(more, sizeof more, ", of which tensors can have %.1f more", (double)left / GIB);
    gp_doctor_say(GP_WORKS, "memory", "%.1f GiB%s", all / GIB, more);
}

static void check_sim(lua_State *L) {
    if (proves(L, GP_BROKEN, "sim",
               "local g = require 'gpush' return (g.ones(10, {device = 'sim'}) * 2):sum():item() "
               "== 20"))
        gp_doctor_say(GP_WORKS, "sim",
                      "the simulated device computes (with the processor) and waits as a GPU does");
}

/* Fused functions run without; a compiler makes long chains faster. */
#ifdef GP_WITHOUT_CAPTURE
static void check_compiler(lua_State *L) {
    gp_doctor_say(GP_ABSENT, "fuse", LEFT_OUT, "GPUSH_CAPTURE");
}
#else
static void mend_compiler(void) {
    static const char *const names[GP_MANAGERS] = {"gcc", "gcc", "gcc", "gcc", "gcc"};
    char text[200];
    const char *install = gp_doctor_install(names, text, sizeof text);
    if (install) gp_doctor_fix("long chains run faster with a gcc, first in PATH: %s", install);
}

/* Has a formula compiled as one that runs often is; why not, or NULL. */
static const char *compile(lua_State *L) {
    static gp_object_counts n;
    gp_object_begin_trial();
    gp_object_set_compiling(GP_COMPILE_WAIT);
    if (!proves(L, GP_BROKEN, "fuse",
                "local g = require 'gpush' "
                "local f, x = g.fuse(function(x) return (x * 2 + 1):relu() end), g.ones(99) "
                "f(x) return f(x):sum():item() == 297"))
        return "a fused formula is wrong";
    gp_object_count(&n);
    return n.failed ? n.why : n.compiled ? NULL : "nothing was compiled";
}

static void check_compiler(lua_State *L) {
    char text[4500];
    if (gp_object_compiling() == GP_COMPILE_OFF) {
        gp_doctor_say(GP_ABSENT, "fuse", "compiles nothing: GPUSH_FUSE_COMPILE is 0");
        return;
    }
    bool there = gp_object_describe(text, sizeof text);
    const char *why = there ? compile(L) : text;
    if (!why) gp_doctor_say(GP_WORKS, "fuse", "%s", text);
    else if (!there) gp_doctor_say(GP_ABSENT, "fuse", "%s", text);
    else {
        char *end = strstr(text, " compiles what runs often");
        gp_doctor_say(GP_ABSENT, "fuse", "%.*s: %s", end ? (int)(end - text) : 200, text, why);
    }
    if (!there && *text == '/')
        gp_doctor_fix("make that writable, or set XDG_CACHE_HOME to a folder that is");
    if (why && (there || strstr(text, "no gcc"))) mend_compiler();
}
#endif

/* ---- many processes ---- */

#ifdef GP_WITHOUT_DIST
static void check_mpi(void) { gp_doctor_say(GP_ABSENT, "dist", LEFT_OUT, "GPUSH_DIST"); }
#else
static bool is_mpich(const char *engine) { return strstr(engine, "MPICH") != NULL; }

/* The command that says whether that MPI's own launcher is there, as gpush run looks for it. */
static const char *launcher_of(const char *engine) {
    return is_mpich(engine) ? "{ for x in mpiexec.hydra mpirun.mpich mpirun; do $x --version; done "
                              "| grep -qE 'HYDRA|MPICH'; } 2>/dev/null"
                            : "{ for x in mpirun.openmpi mpirun; do $x --version; done | "
                              "grep -qE 'Open MPI|OpenRTE'; } 2>/dev/null";
}

static void mend_mpi(void) {
    static const char *const names[] = {"libopenmpi-dev openmpi-bin", "openmpi-devel", "openmpi",
                                        "openmpi4-devel", "openmpi-dev"};
    char text[200];
    const char *install = gp_doctor_install(names, text, sizeof text);
    if (!install) install = "install an MPI with its headers";
    if (gp_doctor_origin() == GP_CLONE)
        gp_doctor_fix("for dist, many processes: %s && cmake --preset default && cmake --build "
                      "build/default --target plugins",
                      install);
    else
        gp_doctor_fix("for dist, many processes: %s, build gpush in a clone (scripts/gpush), and "
                      "copy its build/default/lib/libgpush_mpi.so to %s/lib/gpush",
                      install, gp_doctor_root_word());
}

/* MPI is not started: only its version is asked for. */
static void check_mpi(void) {
    char text[600] = "";
    if (!gp_mpi_engine(text, sizeof text)) {
        gp_doctor_say(GP_ABSENT, "MPI", "%s", text);
        mend_mpi();
        return;
    }
    bool starts = system(launcher_of(text)) == 0;
    gp_doctor_say(starts ? GP_WORKS : GP_ABSENT, "MPI", "%s%s", text,
                  starts ? ": gpush run -n 2 script"
                         : "; there is no mpirun of it to start processes with");
    const char *const open[] = {"openmpi-bin", "openmpi", "openmpi", "openmpi4", "openmpi"};
    const char *const mpich[] = {"mpich", "mpich", NULL, "mpich", "mpich"};
    if (!starts && gp_doctor_install(is_mpich(text) ? mpich : open, text, sizeof text))
        gp_doctor_fix("%s", text);
}
#endif

/* ---- The terminal ---- */

static void check_terminal(void) {
    const char *term = gp_env_text(GP_ENV_TERM), *no = gp_env_text(GP_ENV_NO_COLOR);
    locale_t user = gp_screen_locale();
    const char *codes = user ? nl_langinfo_l(CODESET, user) : "ASCII";
    bool utf8 = !strcmp(codes, "UTF-8");
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
        gp_doctor_say(GP_ABSENT, "terminal", "input or output is not one: lines are read plainly");
    else if (!term || !*term || !strcmp(term, "dumb"))
        gp_doctor_say(GP_ABSENT, "terminal",
                      "TERM=%s cannot move its cursor: lines are read plainly", term ? term : "");
    else
        gp_doctor_say(GP_WORKS, "terminal", "%s, %d columns, %s", term, gp_screen_columns(),
                      no && *no ? "no colours (NO_COLOR)" : "colours");
    if (utf8) gp_doctor_say(GP_WORKS, "characters", "UTF-8");
    else {
        gp_doctor_say(GP_ABSENT, "characters", "%s: plots and other scripts' letters will not show",
                      codes);
        gp_doctor_fix("set LC_ALL to a UTF-8 locale, such as C.UTF-8");
    }
    if (user) freelocale(user);
}

static void check_history(void) {
    const char *path;
    gp_history_open();
    const char *error = gp_history_error(&path);
    if (!path) {
        gp_doctor_say(GP_ABSENT, "history", "lasts for a session: there is no folder for its file");
        gp_doctor_fix("set HOME");
    } else if (error) {
        gp_doctor_say(GP_ABSENT, "history", "lasts for a session: %s: %s", path, error);
        gp_doctor_fix("make that writable, or set XDG_STATE_HOME to a folder that is");
    } else {
        gp_doctor_say(GP_WORKS, "history", "%s, %d inputs", path, gp_history_count());
    }
    gp_history_close();
}

void gp_doctor_begin(void) {
    gp_doctor_say(GP_WORKS, "gpush", "%s, %s", GPUSH_VERSION, LUA_RELEASE);
    gp_doctor_files();
    fflush(stdout);
}

int gp_doctor(lua_State *L) {
    check_threads(L);
    check_memory();
    check_blas(L);
    check_dnnl(L);
    check_sim(L);
    check_compiler(L);
    gp_doctor_cuda(L);
    check_mpi();
    gp_doctor_notebook();
    check_terminal();
    check_history();
    putchar('\n');
    gp_fit_fold(stdout,
                broken ? "!! must be fixed: gpush does not work correctly."
                       : "Everything that gpush needs works. (-- is missing, and not needed.)",
                0, gp_fit_columns());
    return broken ? 1 : 0;
}
