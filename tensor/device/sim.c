/* The simulated GPU: streams are worker threads with queues, the host cannot address its memory,
 * and its kernels are the CPU's. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/memory/alloc.h"
#include "tensor/device/backends.h"
#include "tensor/device/failure.h"
#include "tensor/call.h"
#include "tensor/memory/hostmem.h"
#include "tensor/op.h"
#include "tensor/device/recovery.h"
#include "tensor/device/thread.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
/* The leak checker does not recognise a device address as a pointer; a lost tensor shows by its
 * structs. */
#define NOT_LOST(p) __lsan_ignore_object(p)
#else
#define NOT_LOST(p) ((void)(p))
#endif

/* Device addresses are host addresses with this bit set: the host cannot follow them. Only a worker
 * clears it. */
#define DEVICE_BIT ((uintptr_t)1 << 62)
_Static_assert(sizeof(uintptr_t) == 8, "no host address has that bit");

enum { QUEUE = 1024, ARRAYS = 8, SPIN_NS = 50000 };

typedef enum kind { KERNEL, COPY, RECORD, WAIT, NOTHING, STOP } kind;

/* Shared by the recorder and the worker that writes it. */
typedef struct stamp {
    atomic_int refs;
    _Atomic uint64_t ns; /* 0 until reached */
} stamp;

typedef struct command {
    kind kind;
    union {
        struct {
            gp_call call;
            gp_array arrays[ARRAYS]; /* what call's arguments point to */
            gp_array *more; /* arrays beyond ARRAYS, and the pointers of lists; malloc'd or NULL */
        };
        struct {
            void *dst;
            const void *src;
            size_t bytes;
            gp_copy_kind direction;
            gp_storage *pinned; /* host side of a copy that is not waited for; one reference */
            uint64_t id;
        };
        struct {
            gp_stream *on; /* WAIT: stream and ticket to wait for; RECORD: stamp only */
            uint64_t ticket;
            stamp *stamp;
        };
    };
} command;

typedef struct sim_stream {
    gp_stream *stream;
    pthread_t thread;
    pthread_mutex_t lock; /* producers, and the two conditions */
    pthread_cond_t work, done;
    bool asleep;         /* the worker waits on `work` */
    _Atomic int waiters; /* threads waiting on `done` */
    command queue[QUEUE];
} sim_stream;

static void *to_device(void *host) { return (void *)((uintptr_t)host | DEVICE_BIT); }
static void *to_host(const void *device) { return (void *)((uintptr_t)device & ~DEVICE_BIT); }

static void *mem_alloc(gp_device *dev, size_t bytes) {
    void *p = gp_host_alloc(bytes);
    if (p) NOT_LOST(p);
    return p ? to_device(p) : NULL;
}
static void mem_free(gp_device *dev, void *p, size_t bytes) { gp_host_free(to_host(p), bytes); }

int gp_sim_count(void) {
    const char *env = getenv("GPUSH_SIM_DEVICES");
    int n = env ? atoi(env) : 1;
    return n < 1 ? 1 : n > 8 ? 8 : n;
}

/* GPUSH_SIM_MEMORY in MiB; a quarter of the host's by default. */
static size_t capacity(gp_device *dev) {
    const char *env = getenv("GPUSH_SIM_MEMORY");
    long long mib = env ? atoll(env) : 0;
    return mib > 0 ? (size_t)mib << 20 : gp_host_capacity() / 4;
}

/* ---- worker thread ---- */

/* On the worker: reports that the command it runs has failed, with gp_error(). */
static void fail_command(gp_stream *s, const gp_call *c, bool broke) {
    char text[512];
    uint64_t at = atomic_load_explicit(&s->completed, memory_order_relaxed) + 1;
    if (c->loc.file)
        snprintf(text, sizeof text, "%s (queued at %s:%d on %s)", gp_error(), c->loc.file,
                 c->loc.line, s->dev->name);
    else snprintf(text, sizeof text, "%s (on %s)", gp_error(), s->dev->name);
    gp_failure_add(s, at, at, broke, text);
}

typedef void (*device_hook)(const gp_activity *);

/* On the worker: runs the cpu's kernel, with host addresses in the arrays. */
static void run_kernel(gp_stream *s, command *cmd) {
    device_hook hook = GP_HOOK(device);
    uint64_t t0 = hook ? gp_now_ns() : 0;
    gp_running = &cmd->call;
    if (!gp_cpu_kernels[gp_op_id(cmd->call.op)](&cmd->call)) fail_command(s, &cmd->call, false);
    gp_running = NULL;
    if (hook)
        hook(&(gp_activity){
            .s = s, .op = cmd->call.op, .id = cmd->call.id, .t0 = t0, .t1 = gp_now_ns()});
    free(cmd->more);
}

/* Releases the host side of a copy, held since it was queued: it may be written or freed from here
 * on. */
static void let_go(command *cmd) {
    if (!cmd->pinned) return;
    atomic_fetch_sub(&cmd->pinned->readers, 1);
    gp_storage_unref(cmd->pinned);
}

static void run_copy(gp_stream *s, command *cmd) {
    static const char *const names[] = {"copy D2D", "copy H2D", "copy D2H"};
    _Static_assert(GP_COPY_D2D == 0 && GP_COPY_H2D == 1 && GP_COPY_D2H == 2, "names by number");
    device_hook hook = GP_HOOK(device);
    uint64_t t0 = hook ? gp_now_ns() : 0;
    memcpy(to_host(cmd->dst), to_host(cmd->src), cmd->bytes);
    if (hook)
        hook(&(gp_activity){.s = s,
                            .kind = names[cmd->direction],
                            .id = cmd->id,
                            .t0 = t0,
                            .t1 = gp_now_ns(),
                            .bytes = cmd->bytes});
    let_go(cmd);
}

static void stamp_unref(stamp *st) {
    if (atomic_fetch_sub(&st->refs, 1) == 1) free(st);
}

static bool reached(gp_stream *s, uint64_t ticket) {
    return atomic_load_explicit(&s->completed, memory_order_acquire) >= ticket;
}

/* Blocks the calling thread until s has completed ticket commands: polls a little, then sleeps.
 * False when interruptible and interrupted. */
static bool wait_ticket(gp_stream *s, uint64_t ticket, bool interruptible) {
    sim_stream *ss = s->impl;
    for (uint64_t t0 = gp_now_ns(); gp_now_ns() - t0 < SPIN_NS;)
        if (reached(s, ticket)) return true;
    bool ok = true;
    gp_lock(&ss->lock);
    atomic_fetch_add(&ss->waiters, 1);
    while (!reached(s, ticket)) {
        if (interruptible && gp_interrupted) {
            ok = gp_fail("interrupted while waiting for %s", s->dev->name);
            break;
        }
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 20000000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&ss->done, &ss->lock, &until);
    }
    atomic_fetch_sub(&ss->waiters, 1);
    gp_unlock(&ss->lock);
    return ok;
}

/* On the worker. */
static void execute(gp_stream *s, command *cmd) {
    switch (cmd->kind) {
    case KERNEL: run_kernel(s, cmd); break;
    case COPY: run_copy(s, cmd); break;
    case WAIT: wait_ticket(cmd->on, cmd->ticket, false); break;
    case RECORD:
        atomic_store(&cmd->stamp->ns, gp_now_ns());
        stamp_unref(cmd->stamp);
        break;
    case NOTHING:
    case STOP: break;
    }
}

/* The next command: polls for it, then sleeps. */
static command *next_command(sim_stream *ss, uint64_t at) {
    gp_stream *s = ss->stream;
    for (uint64_t t0 = gp_now_ns(); gp_now_ns() - t0 < SPIN_NS;)
        if (atomic_load_explicit(&s->issued, memory_order_acquire) > at)
            return &ss->queue[at % QUEUE];
    gp_lock(&ss->lock);
    while (atomic_load(&s->issued) <= at) {
        ss->asleep = true;
        pthread_cond_wait(&ss->work, &ss->lock);
        ss->asleep = false;
    }
    gp_unlock(&ss->lock);
    return &ss->queue[at % QUEUE];
}

/* completed is advanced only after all effects of a command, so that whoever sees the number sees
 * them, too. */
static void complete(sim_stream *ss, uint64_t at) {
    atomic_store(&ss->stream->completed, at + 1);
    if (!atomic_load(&ss->waiters)) return;
    gp_lock(&ss->lock);
    pthread_cond_broadcast(&ss->done);
    gp_unlock(&ss->lock);
}

/* Marks the command that crashed as failed: the next wait of the host raises that. Nothing of a
 * kernel or a copy remains but what it wrote. */
static void crashed(sim_stream *ss, const char *text) {
    gp_stream *s = ss->stream;
    uint64_t at = atomic_load(&s->completed);
    command *cmd = &ss->queue[at % QUEUE];
    gp_running = NULL;
    if (cmd->kind == COPY) let_go(cmd);
    if (cmd->kind == KERNEL) free(cmd->more);
    gp_fail(
        "the worker of %s %s; results are lost, and it may have damaged other memory: save your "
        "work and restart",
        s->dev->name, text);
    fail_command(s, &(gp_call){.loc = {0}}, true);
    complete(ss, at);
}

/* A worker's thread: runs commands in order until STOP. */
static void *work(void *arg) {
    sim_stream *ss = arg;
    gp_rescue here;
    char name[20]; /* for a debugger, and shell/crash.c */
    snprintf(name, sizeof name, "%.8s stream", ss->stream->dev->name);
    pthread_setname_np(pthread_self(), name);
    gp_thread_is_worker();
    if (sigsetjmp(here.out, 0)) crashed(ss, here.text);
    else gp_rescue_begin(&here);
    for (uint64_t at = atomic_load(&ss->stream->completed);; at++) {
        command *cmd = next_command(ss, at);
        kind k = cmd->kind;
        execute(ss->stream, cmd);
        if (k == STOP) gp_rescue_end(&here); /* after complete() ss may be freed */
        complete(ss, at);
        if (k == STOP) return NULL;
    }
}

/* ---- host side ---- */

/* ss lives until stream_close: the worker and every waiter on `done` use it. */
static bool stream_open(gp_stream *s) {
    sim_stream *ss = calloc(1, sizeof *ss);
    if (!ss) return gp_fail("out of memory");
    ss->stream = s;
    pthread_mutex_init(&ss->lock, NULL);
    pthread_cond_init(&ss->work, NULL);
    pthread_cond_init(&ss->done, NULL);
    s->impl = ss;
    if (!gp_thread_start(&ss->thread, work, ss))
        return free(ss), gp_fail("%s: no thread for a stream", s->dev->name);
    return true;
}

/* A free slot in the queue, with the lock held; submit() releases it. */
static command *reserve(gp_stream *s) {
    sim_stream *ss = s->impl;
    gp_lock(&ss->lock);
    while (gp_stream_queued(s) >=
           QUEUE - 1) { /* launchers make room before; this covers what they did not foresee */
        gp_unlock(&ss->lock);
        wait_ticket(s, s->issued - QUEUE / 2, false);
        gp_lock(&ss->lock);
    }
    return &ss->queue[s->issued % QUEUE];
}

/* Makes the reserved command visible and releases the lock. */
static void submit(gp_stream *s) {
    sim_stream *ss = s->impl;
    atomic_fetch_add_explicit(&s->issued, 1, memory_order_release);
    if (ss->asleep) pthread_cond_signal(&ss->work);
    gp_unlock(&ss->lock);
}

/* Ends the worker after all that is queued. */
static void stream_close(gp_stream *s) {
    sim_stream *ss = s->impl;
    if (!ss) return;
    reserve(s)->kind = STOP;
    submit(s);
    pthread_join(ss->thread, NULL);
    s->impl = NULL;
    free(ss);
}

/* Copies the call and every array it refers to into cmd; those beyond ARRAYS into `more`. */
static bool copy_call(command *cmd, const gp_call *c) {
    int need = gp_call_arrays(c);
    cmd->more = NULL;
    if (need > ARRAYS && !(cmd->more = malloc((size_t)need * sizeof *cmd->more)))
        return gp_fail("out of memory");
    gp_call_copy(&cmd->call, c, cmd->more ? cmd->more : cmd->arrays, ~DEVICE_BIT);
    return true;
}

/* Queues c's kernel. c's own memory may be freed when this returns. */
static bool launch(gp_stream *s, gp_call *c) {
    command *cmd = reserve(s);
    cmd->kind = KERNEL;
    bool ok = copy_call(cmd, c);
    if (!ok) cmd->kind = NOTHING; /* the slot is taken: an empty command keeps the queue going */
    submit(s);
    return ok;
}

/* pinned: the host side, or NULL; held, and counted as read, until the worker has copied. */
static bool copy(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind direction,
                 gp_storage *pinned, uint64_t id) {
    if (pinned) {
        gp_storage_ref(pinned);
        atomic_fetch_add(&pinned->readers, 1);
    }
    command *cmd = reserve(s);
    *cmd = (command){.kind = COPY,
                     .dst = dst,
                     .src = src,
                     .bytes = bytes,
                     .direction = direction,
                     .pinned = pinned,
                     .id = id};
    submit(s);
    return true;
}

static bool busy(gp_stream *s) { return gp_stream_queued(s) > 0; }
static bool full(gp_stream *s) { return gp_stream_queued(s) >= QUEUE - 8; }
static bool drain(gp_stream *s) { return wait_ticket(s, s->issued, true); }
static bool drain_room(gp_stream *s) { return wait_ticket(s, s->issued - QUEUE / 2, true); }

/* A ticket of the stream; the stamp is shared with the worker, which writes the time. */
static gp_event *event_record(gp_stream *s) {
    gp_event *e = calloc(1, sizeof *e);
    stamp *st = calloc(1, sizeof *st);
    if (!e || !st) return free(e), free(st), gp_fail_null("out of memory");
    atomic_store(&st->refs, 2);
    command *cmd = reserve(s);
    cmd->kind = RECORD;
    cmd->stamp = st;
    e->stream = s;
    e->ticket = s->issued + 1;
    e->impl = st;
    submit(s);
    return e;
}

static bool event_done(gp_event *e) { return reached(e->stream, e->ticket); }
static bool event_drain(gp_event *e) { return wait_ticket(e->stream, e->ticket, true); }

/* Makes s wait until e's stream has reached it. The worker of s blocks, not the host. */
static bool event_wait(gp_stream *s, gp_event *e) {
    if (event_done(e)) return true;
    command *cmd = reserve(s);
    cmd->kind = WAIT;
    cmd->on = e->stream;
    cmd->ticket = e->ticket;
    submit(s);
    return true;
}

static double event_time(gp_event *e) {
    uint64_t ns = atomic_load(&((stamp *)e->impl)->ns);
    return ns ? (double)ns * 1e-9 : NAN;
}

static void event_free(gp_event *e) {
    stamp_unref(e->impl);
    free(e);
}

const gp_device_vt gp_sim_vt = {
    .kind = "sim",
    .async = true,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .launch = launch,
    .copy = copy,
    .capacity = capacity,
    .busy = busy,
    .full = full,
    .drain = drain,
    .drain_room = drain_room,
    .event_record = event_record,
    .event_done = event_done,
    .event_drain = event_drain,
    .event_wait = event_wait,
    .event_time = event_time,
    .event_free = event_free,
};
