/* Runs kernels that cannot be stopped (a LAPACK factorization, a library's product) on threads that
 * Ctrl-C abandons. The caller passes a copy of the call and waits; after Ctrl-C it returns at once,
 * and the thread runs the kernel to its end on memory that the copy keeps alive. Only a few
 * abandoned calls may run at a time; the next one waits for one of them. Idle threads stay for a
 * while, with their workspaces. */
#include "tensor/device/offload.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensor/device/backends.h"
#include "tensor/memory/alloc.h"
#include "tensor/call.h"
#include "tensor/tensor.h"
#include "tensor/device/stream/thread.h"

enum {
    WORK = 550000000, /* operations, about 70 ms for slow ones as in eig */
    MOST_LEFT = 2,    /* a further call waits for one of them to end */
    POLL_MS = 10,     /* between checks of gp_interrupted */
    IDLE_MS = 1000,
    HELD = GP_MAX_ARGS + GP_MAX_OUT + GP_MAX_TMP
};

/* A thread, and the call that it runs. When idle it stays for a while, with its workspace and its
 * thread pool. */
typedef struct runner {
    struct runner *next;
    pthread_cond_t work, done;
    bool loader;         /* for a data loader's thread: computes alone */
    bool busy, ok, left; /* left: abandoned, it ends with its call */
    gp_call call;
    gp_array *arrays;       /* of call; malloc'd; owned by the runner once left */
    gp_storage *held[HELD]; /* once left: one reference each */
    int nheld, nread;       /* the first nread are read; each counts in gp_storage.readers */
    char error[1024];
} runner;

atomic_int gp_offload_abandoned;

static pthread_mutex_t lock =
    PTHREAD_MUTEX_INITIALIZER; /* guards all that follows, and the runners */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER; /* signalled when an abandoned call ends */
static runner *running, *idle;
static _Thread_local bool separate;

static void unlist(runner **list, const runner *r) {
    while (*list && *list != r) list = &(*list)->next;
    if (*list) *list = r->next;
}

static void enlist(runner **list, runner *r) {
    r->next = *list;
    *list = r;
}

/* With the lock held. False on a time-out. */
static bool sleep_at_most(pthread_cond_t *cond, int ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += ms / 1000;
    until.tv_nsec += ms % 1000 * 1000000L;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    return pthread_cond_timedwait(cond, &lock, &until) != ETIMEDOUT;
}

/* ---- the thread's side, with the lock held ---- */

/* Runs the kernel, without the lock meanwhile. */
static void run_kernel(runner *r) {
    gp_unlock(&lock);
    gp_error_clear();
    gp_running = &r->call;
    bool ok = gp_cpu_kernels[gp_op_id(r->call.op)](&r->call);
    gp_running = NULL;
    gp_lock(&lock);
    r->ok = ok;
    snprintf(r->error, sizeof r->error, "%s", gp_error());
}

/* Releases what an abandoned call holds. Storages are released without the lock: hooks are
 * called. */
static void let_go(runner *r) {
    gp_unlock(&lock);
    for (int i = 0; i < r->nread; i++) atomic_fetch_sub(&r->held[i]->readers, 1);
    for (int i = 0; i < r->nheld; i++) gp_storage_unref(r->held[i]);
    gp_lock(&lock);
    unlist(&running, r);
    atomic_fetch_sub(&gp_offload_abandoned, 1);
    pthread_cond_broadcast(&ended);
}

static void *work(void *arg) {
    runner *r = arg;
    pthread_setname_np(pthread_self(), "apart op"); /* for a debugger, and shell/crash.c */
    separate = true;
    if (r->loader) gp_thread_is_loader();
    gp_lock(&lock);
    while (r->busy || sleep_at_most(&r->work, IDLE_MS) || r->busy) {
        if (!r->busy) continue;
        run_kernel(r);
        r->busy = false;
        pthread_cond_signal(&r->done);
        if (r->left) break;
    }
    if (r->left) let_go(r);
    else unlist(&idle, r);
    gp_unlock(&lock);
    pthread_cond_destroy(&r->work);
    pthread_cond_destroy(&r->done);
    if (r->left) free(r->arrays);
    free(r);
    return NULL;
}

/* ---- the caller's side ---- */

static runner *start(bool loader) {
    pthread_t thread;
    runner *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->loader = loader;
    pthread_cond_init(&r->work, NULL);
    pthread_cond_init(&r->done, NULL);
    if (!gp_thread_start(&thread, work, r)) return free(r), NULL;
    pthread_detach(thread);
    return r;
}

/* With the lock held: waits until at most `most` abandoned calls are running. */
static bool wait_left(int most, const char *name) {
    while (atomic_load(&gp_offload_abandoned) > most) {
        if (gp_thread_stopped())
            return gp_fail("%s: interrupted while waiting for an interrupted op to end", name);
        sleep_at_most(&ended, POLL_MS);
    }
    return true;
}

bool gp_offload_wait(const char *name) {
    gp_lock(&lock);
    bool ok = wait_left(0, name);
    gp_unlock(&lock);
    return ok;
}

/* Abandons r's call. c is the same call, with tensors. */
static void leave(runner *r, const gp_call *c) {
    for (int i = 0; i < c->nargs; i++)
        if (c->arg[i].kind == GP_TENSOR) r->held[r->nheld++] = c->arg[i].t->storage;
    r->nread = r->nheld;
    for (int i = 0; i < c->nout; i++) r->held[r->nheld++] = c->out[i]->storage;
    for (int i = 0; i < c->ntmp; i++) r->held[r->nheld++] = c->tmp[i]->storage;
    for (int i = 0; i < r->nheld; i++) gp_storage_ref(r->held[i]);
    for (int i = 0; i < r->nread; i++) atomic_fetch_add(&r->held[i]->readers, 1);
    r->left = true;
    atomic_fetch_add(&gp_offload_abandoned, 1);
}

/* With the lock held: r runs its copy of c, and the caller waits. */
static bool finish(runner *r, const gp_call *c, const char *name) {
    r->busy = true;
    enlist(&running, r);
    pthread_cond_signal(&r->work);
    while (r->busy) {
        if (gp_thread_stopped()) return leave(r, c), gp_fail("%s: interrupted", name);
        sleep_at_most(&r->done, POLL_MS);
    }
    unlist(&running, r);
    return r->ok || gp_fail("%s", r->error);
}

/* With the lock held: an idle thread, or a new one; NULL if none can be started. */
static runner *claim(void) {
    bool loader = gp_thread_loader();
    runner *r = idle;
    while (r && r->loader != loader) r = r->next;
    if (!r) return start(loader);
    unlist(&idle, r);
    return r;
}

bool gp_offload_wanted(const gp_call *c, double ops) {
    if (ops < WORK || separate || gp_thread_worker() || c->into) return false;
    for (int i = 0; i < c->nargs; i++)
        if (c->arg[i].kind == GP_LIST || c->arg[i].written) return false;
    return true;
}

bool gp_offload_run(const gp_call *c, const char *name) {
    bool ok = false;
    gp_array *arrays = malloc((size_t)gp_call_arrays(c) * sizeof *arrays);
    if (!arrays) return gp_fail("%s: out of memory", name);
    gp_lock(&lock);
    runner *r = wait_left(MOST_LEFT - 1, name) ? claim() : NULL;
    if (!r) {
        if (!gp_thread_stopped()) gp_fail("%s: no thread to run on", name);
    } else {
        gp_call_copy(&r->call, c, arrays, ~(uintptr_t)0);
        r->arrays = arrays;
        ok = finish(r, c, name);
        if (r->left) arrays = NULL;
        else enlist(&idle, r);
    }
    gp_unlock(&lock);
    free(arrays);
    return ok;
}

bool gp_cpu_run_here(const gp_call *c) {
    separate = true; /* for good: no call on such a thread can be left to run on */
    gp_error_clear();
    gp_running = c;
    bool ok = gp_cpu_kernels[gp_op_id(c->op)](c);
    gp_running = NULL;
    return ok;
}

bool gp_offload_is_abandoned(void) {
    if (atomic_load_explicit(&gp_offload_abandoned, memory_order_relaxed) == 0 || !gp_running)
        return false;
    gp_lock(&lock);
    bool mine = false;
    for (runner *r = running; r; r = r->next) mine |= &r->call == gp_running && r->left;
    gp_unlock(&lock);
    return mine;
}
