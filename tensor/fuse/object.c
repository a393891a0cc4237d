/* Runs the compiler beside the program: its process is started, asked for now and then, and ended
 * with the program. */
#include "tensor/base/env.h"
#include "tensor/fuse/object.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tensor/device/device.h"
#include "tensor/device/offload.h"
#include "tensor/device/stream/thread.h"
#include "tensor/io/temporary.h"

extern char **environ;

enum {
    AT_ONCE = 2,  /* compilers */
    FAILURES = 3, /* one after another, after which none is tried */
    TRIAL = 30000 /* milliseconds that a compiler has in a trial */
};

struct gp_object {
    int fd;            /* the folder; -1 */
    int held;          /* the source, as gp_fuse_cache_create returns it; -1 */
    int slot;          /* in running, under its lock; -1 */
    _Atomic pid_t pid; /* the compiler; 0 */
    void *so;
    bool own;   /* of a source that a user wrote; then */
    char *said; /* is all that the compiler wrote, or why there is nothing */
    char name[GP_OBJECT_NAME], c[GP_OBJECT_NAME], so_name[GP_OBJECT_NAME], log[GP_OBJECT_NAME];
};

/* ---- what happened ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gp_object_counts counts;
static int in_a_row;
static gp_object *running[AT_ONCE];
static pid_t owner; /* of them */

static void note_failure(const char *why) {
    gp_lock(&lock);
    counts.failed++;
    in_a_row++;
    snprintf(counts.why, sizeof counts.why, "%s", why);
    gp_unlock(&lock);
}

static void note_made(int *which) {
    gp_lock(&lock);
    ++*which;
    in_a_row = 0;
    gp_unlock(&lock);
}

void gp_object_note(gp_object_state what, const char *why) {
    gp_lock(&lock);
    if (what == GP_OBJECT_READY) counts.compiled++;
    else if (what == GP_OBJECT_BUSY) counts.loaded++;
    else counts.failed++, snprintf(counts.why, sizeof counts.why, "%s", why);
    gp_unlock(&lock);
}

/* Whether compiling failed so often that it would again; then why has the last reason. */
static bool given_up(char *why, size_t size) {
    gp_lock(&lock);
    bool all = in_a_row >= FAILURES;
    snprintf(why, size, "%s", all ? counts.why : "");
    gp_unlock(&lock);
    return all;
}

void gp_object_count(gp_object_counts *n) {
    gp_lock(&lock);
    *n = counts;
    n->running = 0;
    for (int i = 0; i < AT_ONCE; i++) n->running += running[i] != NULL;
    gp_unlock(&lock);
}

static atomic_int compiling = -1; /* not set */

gp_compiling gp_object_compiling(void) {
    int now = atomic_load_explicit(&compiling, memory_order_relaxed);
    if (now >= 0) return (gp_compiling)now;
    gp_object_set_compiling(gp_env_is(GP_ENV_GPUSH_FUSE_COMPILE, "0")      ? GP_COMPILE_OFF
                            : gp_env_is(GP_ENV_GPUSH_FUSE_COMPILE, "wait") ? GP_COMPILE_WAIT
                                                                           : GP_COMPILE_ON);
    return (gp_compiling)atomic_load(&compiling);
}

void gp_object_set_compiling(gp_compiling c) { atomic_store(&compiling, (int)c); }

static bool trial;

void gp_object_begin_trial(void) { trial = true; }

/* ---- the compiler ---- */

/* The first gcc, or cc, in an absolute folder of PATH; of C++ g++, or c++. clang's code has other
 * bits than GCC's, and than its own in another loop: where it makes a maximum of a choice, both
 * zeros are the same. */
static bool find_compiler(bool cxx, char path[PATH_MAX], struct stat *st, const char **why) {
    static const char *const names[2][2] = {{"gcc", "cc"}, {"g++", "c++"}};
#ifdef __clang__
    *why = "this gpush was compiled by clang, and only GCC's gives the same bits in every loop";
    return false;
#endif
    *why = cxx ? "there is no g++ or c++ in PATH" : "there is no gcc or cc in PATH";
    for (int i = 0; i < 2; i++) {
        const char *list = gp_env_text(GP_ENV_PATH);
        for (size_t n; list && *list; list += n + (list[n] == ':')) {
            n = strcspn(list, ":");
            if (*list != '/' || n > PATH_MAX - 8) continue;
            snprintf(path, PATH_MAX, "%.*s/%s", (int)n, list, names[cxx][i]);
            if (!access(path, X_OK) && !stat(path, st) && S_ISREG(st->st_mode)) return true;
        }
    }
    return false;
}

/* Sets o->name by all that the object depends on; of the compiler what tells its versions apart. */
static void set_name(gp_object *o, const char *source, const char *flags, const char *compiler,
                     const struct stat *st) {
    char key[PATH_MAX + 1600];
    unsigned __int128 h = 0;
    snprintf(key, sizeof key, "1 %s %s %lld %lld %lld.%09ld", flags, compiler,
             (long long)st->st_ino, (long long)st->st_size, (long long)st->st_mtim.tv_sec,
             st->st_mtim.tv_nsec);
    gp_fuse_cache_hash("gpush", 5, &h);
    gp_fuse_cache_hash(key, strlen(key), &h);
    gp_fuse_cache_hash(source, strlen(source), &h);
    if (trial) gp_fuse_cache_hash(o->c, strlen(o->c), &h); /* as no other */
    snprintf(o->name, sizeof o->name, "%016llx%016llx.so", (unsigned long long)(h >> 64),
             (unsigned long long)h);
}

enum { FLAGS = 64 };

/* Splits flags, in text, into argv from n on. */
static int add_flags(char *text, char **argv, int n) {
    char *rest;
    for (char *s = strtok_r(text, " ", &rest); s && n < FLAGS; s = strtok_r(NULL, " ", &rest))
        argv[n++] = s;
    return n;
}

/* The environment but for its language: "error: " is looked for in what a compiler says. NULL: no
 * memory. */
static char **in_english(void) {
    static char english[] = "LC_ALL=C";
    size_t n = 0, to = 0;
    while (environ[n]) n++;
    char **list = malloc((n + 2) * sizeof *list);
    for (size_t i = 0; list && i < n; i++)
        if (strncmp(environ[i], "LC_ALL=", 7)) list[to++] = environ[i];
    if (list) list[to] = english, list[to + 1] = NULL;
    return list;
}

/* In the folder, and a group of its own: Ctrl-C is not for it. Its messages go to o->log. */
static int spawn(gp_object *o, char *compiler, const char *flags) {
    char text[1400], *argv[FLAGS + 8] = {compiler};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, all;
    snprintf(text, sizeof text, "%s", flags);
    int n = add_flags(text, argv, 1);
    argv[n++] = "-o", argv[n++] = o->so_name, argv[n++] = o->c, argv[n] = NULL;
    sigemptyset(&none), sigfillset(&all);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                        POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addfchdir_np(&files, o->fd);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 2, o->log, O_WRONLY | O_CREAT | O_EXCL, 0600);
    posix_spawn_file_actions_adddup2(&files, 2, 1);
    pid_t pid;
    char **list = in_english();
    int error = posix_spawn(&pid, compiler, &files, &attr, argv, list ? list : environ);
    free(list);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    if (error) return error;
    if (!o->own) setpriority(PRIO_PGRP, (id_t)pid, 10); /* nobody waits for it */
    o->pid = pid;
    return 0;
}

/* ---- its end ---- */

static void remove_temporaries(gp_object *o) {
    if (o->held >= 0) close(o->held);
    o->held = -1;
    unlinkat(o->fd, o->c, 0);
    unlinkat(o->fd, o->so_name, 0);
    unlinkat(o->fd, o->log, 0);
}

static void end_compiler(gp_object *o) {
    if (o->pid) {
        kill(-o->pid, SIGKILL);
        waitpid(o->pid, NULL, 0);
        remove_temporaries(o);
    }
    o->pid = 0;
}

static void leave(gp_object *o) {
    gp_lock(&lock);
    if (o->slot >= 0) running[o->slot] = NULL;
    o->slot = -1;
    gp_unlock(&lock);
}

/* Other threads may still run, so that nothing is freed. A fork of the program has no compilers. */
void gp_object_end_all(void) {
    gp_lock(&lock);
    for (int i = 0; i < AT_ONCE; i++)
        if (running[i] && owner == getpid()) end_compiler(running[i]);
    gp_unlock(&lock);
}

/* Whether the compiler at work for o has ended, and o's program was not run since. */
static bool unnoticed(const gp_object *o) {
    siginfo_t info = {.si_pid = 0};
    pid_t pid = atomic_load(&o->pid);
    return pid && !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

/* Takes one of the places for compilers. */
static bool enter(gp_object *o) {
    static bool registered;
    gp_lock(&lock);
    if (!registered) registered = !atexit(gp_object_end_all);
    owner = getpid();
    for (int i = 0; i < AT_ONCE && o->slot < 0; i++) {
        if (running[i] && unnoticed(running[i])) running[i]->slot = -1, running[i] = NULL;
        if (!running[i]) running[i] = o, o->slot = i;
    }
    bool found = o->slot >= 0;
    gp_unlock(&lock);
    return found;
}

/* All that the compiler wrote; malloc'd. */
static char *whole_log(const gp_object *o) {
    enum { MOST = 1 << 16 };
    char *text = calloc(1, MOST);
    int fd = text ? openat(o->fd, o->log, O_RDONLY | O_NOFOLLOW | O_CLOEXEC) : -1;
    ssize_t n = fd < 0 ? 0 : read(fd, text, MOST - 1);
    if (fd >= 0) close(fd);
    if (text) text[n > 0 ? n : 0] = 0;
    return text;
}

/* The compiler's first error, or its first line, or the status that it ended with. */
static void read_log(const gp_object *o, int status, char *why, size_t size) {
    char text[2000] = "";
    int fd = openat(o->fd, o->log, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof text - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
    char *at = strstr(text, "error: ");
    if (!at) at = text;
    at[strcspn(at, "\n")] = 0;
    if (*at) snprintf(why, size, "the C compiler failed: %.200s", at);
    else if (WIFSIGNALED(status))
        snprintf(why, size, "the C compiler failed: signal %d ended it", WTERMSIG(status));
    else
        snprintf(why, size, "the C compiler failed without a word, status %d", WEXITSTATUS(status));
}

/* ---- for programs ---- */

static gp_object *failed(gp_object *o, const char **why, const char *text) {
    static _Thread_local char kept[300];
    snprintf(kept, sizeof kept, "%s", text);
    *why = kept;
    if (!o || !o->own) note_failure(text);
    gp_object_free(o);
    return NULL;
}

static gp_object *begin(const gp_object_own *how, bool own, const char **why) {
    char compiler[PATH_MAX], text[300] = "", tag[GP_TEMPORARY_TAG];
    struct stat st;
    gp_object *o = calloc(1, sizeof *o);
    *why = NULL;
    if (!o) return failed(NULL, why, "out of memory");
    o->fd = o->slot = o->held = -1, o->own = own;
    if (!find_compiler(how->cxx, compiler, &st, why)) return failed(o, why, *why);
    if ((o->fd = gp_fuse_cache_open(text, sizeof text)) < 0) return failed(o, why, text);
    gp_temporary_tag(tag);
    snprintf(o->c, sizeof o->c, "tmp-%s.c", tag);
    set_name(o, how->source, how->flags, compiler, &st);
    if ((o->so = gp_fuse_cache_load(o->fd, o->name, text, sizeof text)))
        return note_made(&counts.loaded), o;
    if (*text || how->only_found) return failed(o, why, text);
    snprintf(o->so_name, sizeof o->so_name, "tmp-%s.so", tag);
    snprintf(o->log, sizeof o->log, "tmp-%s.log", tag);
    if (!own && given_up(text, sizeof text)) return failed(o, why, text);
    if (!enter(o)) return gp_object_free(o), NULL;
    o->held =
        gp_fuse_cache_create(o->fd, o->c, how->source, strlen(how->source), text, sizeof text);
    if (o->held < 0) return failed(o, why, text);
    int error = spawn(o, compiler, how->flags);
    if (!error) return o;
    remove_temporaries(o);
    snprintf(text, sizeof text, "%.200s: %s", compiler, strerror(error));
    return failed(o, why, text);
}

gp_object *gp_object_begin(const char *source, const char *flags, const char **why) {
    return begin(&(gp_object_own){.source = source, .flags = flags}, false, why);
}

gp_object *gp_object_begin_own(const gp_object_own *how, const char **why) {
    return begin(how, true, why);
}

const char *gp_object_log(const gp_object *o) { return o->said ? o->said : "out of memory"; }

char *gp_object_read(const gp_object *o, size_t *n) {
    char why[300];
    return gp_fuse_cache_read(o->fd, o->name, n, why, sizeof why);
}

/* The compiler has ended, with that status. */
static gp_object_state finish(gp_object *o, int status) {
    char text[300];
    bool ok = WIFEXITED(status) && !WEXITSTATUS(status);
    o->pid = 0;
    if (!ok) read_log(o, status, text, sizeof text);
    bool refused = !ok && o->own && (o->said = whole_log(o)) && strstr(o->said, "error");
    if (ok) ok = gp_fuse_cache_store(o->fd, o->so_name, o->name, text, sizeof text);
    if (ok && !(o->so = gp_fuse_cache_load(o->fd, o->name, text, sizeof text))) {
        ok = false;
        if (!*text) snprintf(text, sizeof text, "the compiled object has gone");
    }
    if (trial) unlinkat(o->fd, o->name, 0);
    remove_temporaries(o);
    leave(o);
    if (ok) return note_made(&counts.compiled), GP_OBJECT_READY;
    if (refused) return GP_OBJECT_FAILED;
    free(o->said);
    o->said = o->own ? strdup(text) : NULL;
    note_failure(text);
    return GP_OBJECT_FAILED;
}

/* It had its time. */
static gp_object_state end_late(gp_object *o) {
    end_compiler(o);
    leave(o);
    note_failure("the C compiler did not end in 30 seconds");
    return GP_OBJECT_FAILED;
}

gp_object_state gp_object_poll(gp_object *o, bool wait) {
    const struct timespec nap = {.tv_nsec = 1000000};
    int status = 0;
    if (o->so) return GP_OBJECT_READY;
    for (int n = 0;; n++) {
        pid_t got = waitpid(o->pid, &status, WNOHANG);
        if (got == o->pid) return finish(o, status);
        /* A host that ignores SIGCHLD, or waits for every child, has its status. */
        if (got < 0 && errno != EINTR) return finish(o, 0);
        if (trial && n == TRIAL) return end_late(o);
        if (!wait || gp_thread_stopped() || gp_offload_is_abandoned()) return GP_OBJECT_BUSY;
        nanosleep(&nap, NULL);
    }
}

void *gp_object_symbol(const gp_object *o, const char *name) { return dlsym(o->so, name); }

void gp_object_free(gp_object *o) {
    if (!o) return;
    end_compiler(o);
    leave(o);
    if (o->so) dlclose(o->so);
    if (o->fd >= 0) close(o->fd);
    free(o->said);
    free(o);
}

bool gp_object_describe(char *text, size_t size) {
    char compiler[PATH_MAX], why[300], folder[PATH_MAX], link[40];
    const char *missing;
    struct stat st;
    int64_t bytes;
    if (!find_compiler(false, compiler, &st, &missing))
        return snprintf(text, size, "%s", missing), false;
    int fd = gp_fuse_cache_open(why, sizeof why);
    if (fd < 0) return snprintf(text, size, "%s", why), false;
    int n = gp_fuse_cache_size(fd, &bytes);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = 0;
    close(fd);
    snprintf(text, size, "%s compiles what runs often; %d compiled, %.1f MB, in %s", compiler, n,
             (double)bytes / 1e6, folder);
    return true;
}
