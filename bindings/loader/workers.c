/* The threads of a data loader: see workers.h. */
#include "bindings/loader/workers.h"

#include <lauxlib.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bindings/bind.h"
#include "bindings/loader/computed.h"
#include "bindings/memory.h"
#include "bindings/stop.h"
#include "profile/record/record.h"
#include "tensor/base/error.h"
#include "tensor/infer.h"
#include "tensor/device/stream/thread.h"
#include "tensor/op.h"
#include "tensor/device/stream/recovery.h"

/* Stops the Lua code that a worker runs. Ignored by default, so that late ones do nothing. */
enum { STOP_SIGNAL = SIGURG, POLL_NS = 20000000, CHUNKS = 4 /* parts of a batch per worker */ };

typedef struct worker {
    gp_worker_pool *pool;
    pthread_t thread;
    lua_State *L;        /* while it lives */
    bool ended, crashed; /* crashed: it sleeps forever */
    uint64_t busy, computed, idle, open;
} worker;

struct gp_worker_pool {
    gp_worker_pool_opts opts;
    gp_serial program;
    pthread_mutex_t lock;
    pthread_mutex_t shaping;    /* for gp_making: held while a batch's memory is allocated */
    pthread_cond_t work, ready; /* for the workers; for the taker */
    atomic_bool stop;
    bool waiting;      /* someone is taking a batch that was not finished on arrival */
    char failed[1024]; /* why a worker could not start; "": all could. It needs no memory */
    char crash[700];   /* how the first crashed worker crashed */
    worker *worker;
    int started; /* threads that are not joined yet */
    gp_loader_batch **ring;
    int head, count;
    gp_worker_pool_stats stats;
    gp_computed here;             /* without workers: of the thread that takes batches */
    uint64_t begun, number, made; /* number: from 1 on; made: the last batch, on a counted clock */
    struct gp_worker_pool *next;  /* list of pools with threads */
};

/* ---- pools with threads, stopped when the program ends ---- */

static gp_worker_pool *pools;
static _Atomic uint32_t numbers = 1;
static int signals; /* pools that use STOP_SIGNAL's handler */
static struct sigaction before;
static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;

static void on_stop_signal(int sig) {
    gp_thread_stop();
    gp_stop_now();
}

/* At exit: workers may be inside Lua code or waiting, and must end before the devices do. */
static void stop_all(void) {
    gp_lock(&pools_lock);
    gp_worker_pool *c = pools;
    gp_unlock(&pools_lock);
    for (gp_worker_pool *next; c; c = next) {
        next = c->next;
        gp_worker_pool_stop(c);
    }
}

static void register_exit(void) { atexit(stop_all); }

/* The first pool sets STOP_SIGNAL's handler, which ends reads, the last one restores what was. */
static void enlist(gp_worker_pool *c) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_exit);
    gp_lock(&pools_lock);
    c->next = pools;
    pools = c;
    if (signals++ == 0) {
        struct sigaction sa = {.sa_handler = on_stop_signal, .sa_flags = SA_ONSTACK};
        sigemptyset(&sa.sa_mask);
        sigaction(STOP_SIGNAL, &sa, &before);
    }
    gp_unlock(&pools_lock);
}

/* A second call is harmless: a pool may be stopped by its own end and by stop_all. */
static void discharge(gp_worker_pool *c) {
    gp_lock(&pools_lock);
    gp_worker_pool **p = &pools;
    while (*p && *p != c) p = &(*p)->next;
    if (*p) {
        *p = c->next;
        if (--signals == 0) sigaction(STOP_SIGNAL, &before, NULL);
    }
    gp_unlock(&pools_lock);
}

/* ---- a worker ---- */

/* Makes the worker find modules where the main state does. */
static void set_path(lua_State *L, const char *name, const char *path) {
    if (!path || lua_getglobal(L, "package") != LUA_TTABLE) return;
    lua_pushstring(L, path);
    lua_setfield(L, -2, name);
    lua_pop(L, 1);
}

/* os.exit in a worker: the program's exit handlers must not run beside its other threads. */
static int l_exit(lua_State *L) {
    return luaL_error(L, "os.exit: a loader's worker cannot end the program: raise an error");
}

/* Opens the libraries and returns the program, prepared. */
static int l_open(lua_State *L) {
    const worker *w = lua_touserdata(L, 1);
    const gp_worker_pool_opts *o = &w->pool->opts;
    lua_gc(L, LUA_GCSTOP); /* there is no garbage yet */
    o->open(L, o->kind);
    lua_getglobal(L, "os");
    lua_pushcfunction(L, l_exit);
    lua_setfield(L, -2, "exit");
    lua_pop(L, 1);
    lua_gc(L, LUA_GCINC, 140, 1000, 0);
    gp_default_dtype = o->dtype;
    set_path(L, "path", o->path);
    set_path(L, "cpath", o->cpath);
    lua_settop(L, 1);
    gp_deserialize(L, &w->pool->program);
    lua_getfield(L, 2, "prepare");
    lua_pushvalue(L, 2);
    lua_call(L, 1, 1);
    lua_gc(L, LUA_GCRESTART);
    return 1;
}

static int l_traceback(lua_State *L) {
    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    return 1;
}

/* Keeps why the first worker that failed could not start; NULL: for lack of memory. */
static void fail(gp_worker_pool *c, const char *why) {
    gp_lock(&c->lock);
    if (!*c->failed) snprintf(c->failed, sizeof c->failed, "%s", why ? why : "out of memory");
    pthread_cond_broadcast(&c->ready);
    gp_unlock(&c->lock);
}

/* Leaves the prepared program on the stack; false: c->failed says why. */
static bool open_program(worker *w, lua_State *L) {
    lua_pushcfunction(L, l_traceback);
    lua_pushcfunction(L, l_open);
    lua_pushlightuserdata(L, w);
    bool ok = lua_pcall(L, 1, 1, 1) == LUA_OK;
    if (!ok) fail(w->pool, lua_tostring(L, -1));
    return ok;
}

/* The first batch with samples that no worker has taken. */
static gp_loader_batch *open_batch(gp_worker_pool *c) {
    for (int i = 0; i < c->count; i++) {
        gp_loader_batch *b = c->ring[(c->head + i) % c->opts.prefetch];
        if (b->next < b->n) return b;
    }
    return NULL;
}

/* Several workers share a batch, so that the first is ready early; in smaller parts towards its
 * end, so that they finish together. */
static int chunk(const gp_worker_pool *c, const gp_loader_batch *b) {
    int workers = c->opts.workers, n = b->n / (CHUNKS * workers),
        rest = (b->n - b->next) / (2 * workers);
    if (rest < n) n = rest;
    return !c->opts.stacked ? b->n : n > 0 ? n : 1;
}

/* With the lock held, which is released meanwhile: lets a taker whose batch is finished run first.
 * Where workers keep every processor busy, the scheduler would let it wait for its next tick, up to
 * 4 ms, longer than making a sample takes. */
static void give_way(gp_worker_pool *c) {
    if (!c->waiting || c->count == 0 || c->ring[c->head]->left > 0) return;
    gp_unlock(&c->lock);
    sched_yield();
    gp_lock(&c->lock);
}

/* Makes samples until the pool is stopped. The program is at index 2. */
static void serve(worker *w, lua_State *L) {
    gp_worker_pool *c = w->pool;
    gp_making how = {
        .seed = c->opts.seed, .epoch = c->opts.epoch, .lock = &c->shaping, .stop = &c->stop};
    gp_computed clock = gp_computed_open(false);
    gp_lock(&c->lock);
    while (!atomic_load(&c->stop)) {
        gp_loader_batch *b = open_batch(c);
        uint64_t t0 = gp_real_ns();
        if (!b) {
            pthread_cond_wait(&c->work, &c->lock);
            if (!gp_clock_op_ns()) w->idle += gp_real_ns() - t0;
            continue;
        }
        int from = b->next, n = chunk(c, b);
        int to = b->next = from + n < b->n ? from + n : b->n;
        gp_unlock(&c->lock);
        gp_region r = gp_region_begin(GP_LOADER_MAKE, sizeof GP_LOADER_MAKE - 1, b->name);
        gp_computed_begin(&clock);
        gp_loader_batch_make(L, 2, b, from, to, &how);
        uint64_t computed = gp_computed_end(&clock);
        bool counted = gp_clock_op_ns() != 0; /* then these times are another clock's */
        r.computed = counted ? 0 : computed;
        gp_region_end(&r);
        uint64_t t1 = gp_real_ns();
        gp_lock(&c->lock);
        if (!counted) w->busy += t1 - t0, w->computed += computed;
        if ((b->left -= to - from) == 0) pthread_cond_broadcast(&c->ready);
        give_way(c);
    }
    gp_unlock(&c->lock);
    gp_computed_close(&clock);
}

/* ---- a worker that crashed ---- */

static struct {
    _Atomic int workers;
    _Atomic int64_t bytes;
} lost;

int gp_worker_pool_crashed(int64_t *bytes) {
    *bytes = atomic_load(&lost.bytes);
    return atomic_load(&lost.workers);
}

/* Abandons the crashed worker's Lua state and all that it held. The thread does not end: what it
 * would release may be damaged, and others may use what is on its stack. */
static _Noreturn void abandon(worker *w, const char *text) {
    gp_worker_pool *c = w->pool;
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    gp_running = NULL;
    int64_t bytes = w->L ? (int64_t)lua_gc(w->L, LUA_GCCOUNT) << 10 : 0; /* only reads a number */
    atomic_fetch_add(&lost.bytes, bytes);
    atomic_fetch_add(&lost.workers, 1);
    gp_lock(&c->lock);
    if (c->stats.crashed++ == 0) {
        snprintf(c->crash, sizeof c->crash,
                 "worker %d %s; its memory is lost, and it may have damaged other memory: save "
                 "your work and restart",
                 (int)(w - c->worker) + 1, text);
    }
    w->ended = w->crashed = true;
    pthread_cond_broadcast(&c->ready);
    gp_unlock(&c->lock);
    for (;;) pause();
}

/* Runs a worker from opening its Lua state to closing it. */
static void live(worker *w) {
    gp_worker_pool *c = w->pool;
    uint64_t t0 = gp_real_ns();
    lua_State *L = w->L = gp_lua_newstate();
    if (L) {
        gp_stop_begin(L);
        bool ok = open_program(w, L);
        gp_lock(&c->lock);
        if (!gp_clock_op_ns()) w->open = gp_real_ns() - t0;
        gp_unlock(&c->lock);
        if (ok) serve(w, L);
        gp_stop_end(L);
        gp_lua_closestate(L);
    } else {
        fail(c, "no memory for a Lua state");
    }
    gp_lua_state = NULL;
    gp_lock(&c->lock);
    w->ended = true;
    pthread_cond_broadcast(&c->ready);
    gp_unlock(&c->lock);
}

/* A worker's thread; the pool owns w. */
static void *work(void *arg) {
    worker *w = arg;
    gp_rescue here;
    char name[20]; /* for a debugger, and shell/crash.c */
    snprintf(name, sizeof name, "loader %d", (int)(w - w->pool->worker) + 1);
    pthread_setname_np(pthread_self(), name);
    gp_thread_is_loader();
    if (sigsetjmp(here.out, 0)) abandon(w, here.text);
    gp_rescue_begin(&here);
    live(w);
    gp_rescue_end();
    return NULL;
}

/* ---- the pool ---- */

/* Starts the threads with signals blocked, which go to the earlier threads; only the stop signal is
 * for workers. */
static bool start(gp_worker_pool *c) {
    sigset_t stop, old;
    gp_signals_block(&old);
    sigemptyset(&stop);
    sigaddset(&stop, STOP_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
    bool ok = true;
    for (int i = 0; ok && i < c->opts.workers; i++) {
        c->worker[i].pool = c;
        ok = pthread_create(&c->worker[i].thread, NULL, work, &c->worker[i]) == 0;
        if (ok) c->started++;
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return ok ? true : gp_fail("data.Loader: no thread for worker %d", c->started + 1);
}

gp_worker_pool *gp_worker_pool_new(const gp_worker_pool_opts *opts, gp_serial *program) {
    gp_worker_pool *c = calloc(1, sizeof *c);
    worker *w = calloc((size_t)opts->workers + 1, sizeof *w);
    gp_loader_batch **ring = calloc((size_t)opts->prefetch, sizeof *ring);
    if (!c || !w || !ring) return free(c), free(w), free(ring), gp_fail_null("out of memory");
    c->opts = *opts;
    c->worker = w, c->ring = ring;
    c->program = *program;
    *program = (gp_serial){0};
    c->begun = gp_now_ns();
    c->number = atomic_fetch_add(&numbers, 1) & 0xffffff;
    c->stats.workers = opts->workers;
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->shaping, NULL);
    pthread_cond_init(&c->work, NULL);
    pthread_cond_init(&c->ready, NULL);
    if (opts->workers == 0) return c->here = gp_computed_open(true), c;
    enlist(c);
    if (start(c)) return c;
    gp_worker_pool_free(c);
    return NULL;
}

bool gp_worker_pool_accepts(gp_worker_pool *c) { return c->count < c->opts.prefetch; }

bool gp_worker_pool_add(gp_worker_pool *c, const int64_t *index, int n) {
    gp_loader_batch *b = gp_loader_batch_new(c->stats.batches + c->count + 1, index, n,
                                             c->opts.stacked, c->opts.pin);
    if (!b) return false;
    b->name = (int64_t)(c->number << 32) | b->number;
    gp_lock(&c->lock);
    c->ring[(c->head + c->count++) % c->opts.prefetch] = b;
    pthread_cond_broadcast(&c->work);
    gp_unlock(&c->lock);
    return true;
}

static void sleep_a_little(pthread_cond_t *cond, pthread_mutex_t *lock, long ns) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ns;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_cond_timedwait(cond, lock, &until);
}

static void any_busy(gp_device *dev, void *busy) {
    for (int i = 0; i < dev->nstreams; i++) *(bool *)busy |= dev->vt->busy(dev->streams[i]);
}

static void note_wait(gp_worker_pool *c, uint64_t t0) {
    uint64_t ns = gp_now_ns() - t0;
    bool busy = false;
    gp_device_each(any_busy, &busy);
    c->stats.wait += ns;
    if (busy) c->stats.covered += ns;
    c->stats.waits++;
}

/* Waits, with the lock held, until the batch is made. On the record each take is a region. */
static bool wait_for(gp_worker_pool *c, const gp_loader_batch *b) {
    uint64_t t0 = gp_now_ns();
    gp_region r = gp_region_begin(GP_LOADER_TAKE, sizeof GP_LOADER_TAKE - 1, b->name);
    bool ok = true, waits = c->waiting = b->left > 0;
    while (ok && b->left > 0) {
        if (c->stats.crashed) ok = gp_fail("data.Loader: %s", c->crash);
        else if (*c->failed) ok = gp_fail("data.Loader: a worker could not start: %s", c->failed);
        else if (gp_interrupted || gp_stop_requested())
            ok = gp_fail("interrupted while waiting for a batch");
        else sleep_a_little(&c->ready, &c->lock, POLL_NS);
    }
    c->waiting = false;
    if (ok && c->opts.workers) {
        c->made = gp_loader_batch_wait_on_clock(b, c->made, c->opts.workers);
        c->stats.busy += gp_loader_batch_counted(b),
            c->stats.computed += gp_loader_batch_counted(b);
    }
    gp_region_end(&r);
    if (gp_clock_op_ns()) waits = gp_now_ns() > t0;
    if (waits) note_wait(c, t0);
    return ok;
}

/* Makes the batch on this thread. Where the host's time is counted, all of it is computing. */
static void make_here(gp_worker_pool *c, gp_loader_batch *b, lua_State *L, int program) {
    gp_making how = {
        .seed = c->opts.seed, .epoch = c->opts.epoch, .lock = &c->shaping, .stop = &c->stop};
    uint64_t t0 = gp_now_ns();
    gp_region r = gp_region_begin(GP_LOADER_MAKE, sizeof GP_LOADER_MAKE - 1, b->name);
    gp_computed_begin(&c->here);
    gp_loader_batch_make_on_clock(L, program, b, &how);
    r.computed = gp_clock_op_ns() ? gp_now_ns() - t0 + 1 : gp_computed_end(&c->here);
    c->stats.computed += r.computed;
    gp_region_end(&r);
    b->next = b->n;
    b->left = 0;
    note_wait(c, t0);
    c->stats.busy += gp_now_ns() - t0;
}

gp_loader_batch *gp_worker_pool_next(gp_worker_pool *c, lua_State *L, int program) {
    if (c->count == 0) return gp_fail_null("data.Loader: no batch was asked for");
    gp_loader_batch *b = c->ring[c->head];
    gp_lua_enter(L);
    if (c->opts.workers == 0) make_here(c, b, L, program);
    gp_lock(&c->lock);
    bool ok = wait_for(c, b);
    if (ok) {
        c->head = (c->head + 1) % c->opts.prefetch;
        c->count--;
        c->stats.batches++;
        c->stats.samples += b->n;
        c->stats.elapsed = gp_now_ns() - c->begun;
        if (c->stats.batches == 1)
            c->stats.first = c->stats.elapsed, c->stats.first_wait = c->stats.wait;
    }
    gp_unlock(&c->lock);
    return ok ? b : NULL;
}

void gp_worker_pool_get_stats(gp_worker_pool *c, gp_worker_pool_stats *out) {
    gp_lock(&c->lock);
    *out = c->stats;
    for (int i = 0; i < c->opts.workers; i++) {
        out->busy += c->worker[i].busy;
        out->computed += c->worker[i].computed;
        out->idle += c->worker[i].idle;
        out->open += c->worker[i].open;
    }
    gp_unlock(&c->lock);
}

void gp_worker_pool_stop(gp_worker_pool *c) {
    gp_lock(&c->lock);
    atomic_store(&c->stop, true);
    pthread_cond_broadcast(&c->work);
    for (int i = 0; i < c->started; i++) {
        worker *w = &c->worker[i];
        bool self = pthread_equal(w->thread, pthread_self()); /* os.exit in a dataset */
        /* Sends the signal again, since one may arrive just before a read, but at growing
         * intervals: the handler walks all open calls, and a deep recursion must make progress in
         * between. */
        for (long pause = POLL_NS / 4; !w->ended && !self;
             pause += pause < POLL_NS * 20 ? pause : 0) {
            pthread_kill(w->thread, STOP_SIGNAL);
            sleep_a_little(&c->ready, &c->lock, pause);
        }
        gp_unlock(&c->lock);
        if (!self && !w->crashed) pthread_join(w->thread, NULL);
        gp_lock(&c->lock);
    }
    c->started = 0;
    gp_unlock(&c->lock);
    discharge(c);
}

void gp_worker_pool_free(gp_worker_pool *c) {
    if (!c) return;
    gp_worker_pool_stop(c);
    if (c->stats.crashed) return;
    if (c->opts.workers == 0) gp_computed_close(&c->here);
    for (int i = 0; i < c->count; i++)
        gp_loader_batch_free(c->ring[(c->head + i) % c->opts.prefetch]);
    gp_serial_clear(&c->program);
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->shaping);
    pthread_cond_destroy(&c->work);
    pthread_cond_destroy(&c->ready);
    free(c->opts.path);
    free(c->opts.cpath);
    free(c->ring);
    free(c->worker);
    free(c);
}
