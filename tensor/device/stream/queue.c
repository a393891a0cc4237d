/* Streams that are a worker thread with a queue: all of sim's, and the cpu's beside the caller's
 * own. */
#include "tensor/device/stream/queue.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tensor/call.h"
#include "tensor/device/stream/replay.h"
#include "tensor/device/stream/failure.h"
#include "tensor/device/stream/recovery.h"
#include "tensor/device/stream/thread.h"
#include "tensor/base/env.h"
#include "tensor/base/interrupt.h"
#include "tensor/memory/alloc.h"
#include "tensor/op.h"

enum { QUEUE = 1024, ARRAYS = 8, POLL_NS = 50000 };

typedef enum kind { KERNEL, COPY, REPLAY, RECORD, WAIT, NOTHING } kind;

typedef struct command {
    kind kind;
    gp_stream *of; /* a player's: the stream that it is of, and its number there; else NULL */
    uint64_t number;
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
        gp_replay_values *replay; /* REPLAY: one block of memory, malloc'd */
        struct {
            gp_stream *on; /* WAIT: stream and ticket to wait for; RECORD: stamp only */
            uint64_t ticket;
            void *stamp;
        };
    };
} command;

typedef struct queue {
    gp_stream *stream;
    gp_stream *of;        /* a player's: the stream that the next command is of; else NULL */
    _Atomic uint64_t let; /* tickets up to this one may begin; UINT64_MAX: all, but for a player */
    pthread_t thread;
    pthread_mutex_t lock; /* producers, and the two conditions */
    pthread_cond_t work, done;
    bool asleep;             /* the worker waits on `work` */
    _Atomic uint64_t wanted; /* the least ticket that threads on `done` wait for; UINT64_MAX */
    uintptr_t host_bits;     /* of a device address: those of the host address */
    uint64_t poll_ns;        /* for which threads that wait for or on it poll before they sleep */
    _Atomic bool ends; /* `thread` runs what is left, then ends; a deferred stream has it then */
    command ring[QUEUE];
} queue;

static _Thread_local gp_stream *own; /* the deferred stream whose commands this thread runs */

/* ---- worker thread ---- */

static void fail(gp_stream *s, const gp_call *c, uint64_t at, bool broke) {
    char text[512];
    gp_srcloc loc = gp_failed_at.file ? gp_failed_at : c->loc;
    if (loc.file)
        snprintf(text, sizeof text, "%s (queued at %s:%d on %s)", gp_error(), loc.file, loc.line,
                 s->dev->name);
    else snprintf(text, sizeof text, "%s (on %s)", gp_error(), s->dev->name);
    gp_failure_add(s, at, at, broke, text);
    if (gp_was_interrupted) gp_failure_told(s, at);
}

/* On the worker: reports that the command it runs has failed, with gp_error(). */
static void fail_command(gp_stream *s, const command *cmd, const gp_call *c, bool broke) {
    uint64_t at = atomic_load_explicit(&s->completed, memory_order_relaxed);
    fail(cmd->of ? cmd->of : s, c, cmd->of ? cmd->number : at + 1, broke);
}

typedef void (*device_hook)(const gp_activity *);

/* The host's clock as a worker sees it, which may stand still, and go on from there. */
static uint64_t now_after(uint64_t t0) {
    uint64_t t = gp_now_ns();
    return t > t0 ? t : t0;
}

/* Takes reports of what s ran; NULL: nothing does. */
static device_hook hook_of(gp_stream *s) { return ((queue *)s->impl)->of ? NULL : GP_HOOK(device); }

_Thread_local uint64_t gp_activity_waited, gp_activity_began;

static uint64_t min_ns(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* On the worker: runs the cpu's kernel, with host addresses in the arrays. */
static void run_kernel(gp_stream *s, command *cmd) {
    device_hook hook = hook_of(s);
    uint64_t t0 = hook ? gp_now_ns() : 0;
    gp_running = &cmd->call;
    gp_activity_waited = gp_activity_began = 0;
    if (!gp_cpu_kernels[gp_op_id(cmd->call.op)](&cmd->call))
        fail_command(s, cmd, &cmd->call, false);
    gp_running = NULL;
    uint64_t t1 = hook ? now_after(t0) : 0;
    if (gp_activity_began) t0 = min_ns(t0, gp_activity_began);
    if (hook)
        hook(&(gp_activity){.s = s,
                            .op = cmd->call.op,
                            .id = cmd->call.id,
                            .t0 = t0,
                            .t1 = t1,
                            .waited = min_ns(gp_activity_waited, t1 - t0)});
    free(cmd->more);
}

/* Releases the host side of a copy, held since it was queued: it may be written or freed from here
 * on. */
static void let_go(command *cmd) {
    if (!cmd->pinned) return;
    atomic_fetch_sub(&cmd->pinned->readers, 1);
    gp_storage_unref(cmd->pinned);
}

static void *host_address(const void *address, uintptr_t bits) {
    return (void *)((uintptr_t)address & bits);
}

static void run_copy(gp_stream *s, command *cmd) {
    device_hook hook = hook_of(s);
    uint64_t t0 = hook ? gp_now_ns() : 0;
    uintptr_t bits = ((queue *)s->impl)->host_bits;
    memcpy(host_address(cmd->dst, bits), host_address(cmd->src, bits), cmd->bytes);
    if (hook)
        hook(&(gp_activity){.s = s,
                            .kind = gp_copy_name(cmd->direction),
                            .id = cmd->id,
                            .t0 = t0,
                            .t1 = now_after(t0),
                            .bytes = cmd->bytes});
    let_go(cmd);
}

static bool reached(gp_stream *s, uint64_t ticket) {
    return atomic_load_explicit(&s->completed, memory_order_acquire) >= ticket;
}

static void run_own(bool interruptible);

/* Blocks the calling thread until s has completed ticket commands: runs its deferred ones, on which
 * s may depend, polls a little, then sleeps. False when interruptible and interrupted. */
static bool wait_ticket(gp_stream *s, uint64_t ticket, bool interruptible) {
    queue *q = s->impl;
    if (reached(s, ticket)) return true;
    run_own(interruptible);
    for (uint64_t t0 = gp_real_ns(); gp_real_ns() - t0 < q->poll_ns;)
        if (reached(s, ticket)) return true;
    bool ok = true;
    gp_lock(&q->lock);
    for (;;) {
        if (ticket < atomic_load(&q->wanted)) atomic_store(&q->wanted, ticket);
        if (atomic_load(&s->completed) >= ticket) break;
        if (interruptible && gp_interrupted) {
            ok = gp_fail("interrupted while waiting for %s", s->dev->name);
            break;
        }
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += 20000000;
        if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
        pthread_cond_timedwait(&q->done, &q->lock, &until);
    }
    gp_unlock(&q->lock);
    return ok;
}

/* On the worker: runs a captured function's calls, up to one that fails. */
static void run_replay(gp_stream *s, command *cmd) {
    device_hook hook = GP_HOOK(device);
    gp_replay_values *v = cmd->replay;
    for (int i = 0; i < v->n; i++) {
        uint64_t t0 = hook ? gp_now_ns() : 0;
        const gp_call *c = v->by->call(v, i);
        bool ok = (!gp_thread_stopped() || gp_fail("interrupted!")) && v->by->run(v, i);
        if (!ok) fail_command(s, cmd, c, false);
        if (hook) hook(&(gp_activity){.s = s, .op = c->op, .t0 = t0, .t1 = gp_now_ns()});
        if (!ok) break;
    }
    v->by->done(v);
}

/* On the worker. */
static void execute(gp_stream *s, command *cmd) {
    gp_was_interrupted = false;
    gp_failed_at = (gp_srcloc){0};
    switch (cmd->kind) {
    case KERNEL: run_kernel(s, cmd); break;
    case COPY: run_copy(s, cmd); break;
    case REPLAY: run_replay(s, cmd); break;
    case WAIT: wait_ticket(cmd->on, cmd->ticket, false); break;
    case RECORD: gp_queue_stamp(cmd->stamp, gp_now_ns()); break;
    case NOTHING: break;
    }
}

static bool may_begin(queue *q, uint64_t at) {
    return atomic_load_explicit(&q->stream->issued, memory_order_acquire) > at &&
           atomic_load_explicit(&q->let, memory_order_relaxed) > at;
}

/* The next command: polls for it, then sleeps. NULL: there is none, and will be none. */
static command *next_command(queue *q, uint64_t at) {
    for (uint64_t t0 = gp_real_ns(); gp_real_ns() - t0 < q->poll_ns && !atomic_load(&q->ends);)
        if (may_begin(q, at)) return &q->ring[at % QUEUE];
    gp_lock(&q->lock);
    while (!may_begin(q, at)) {
        if (atomic_load(&q->ends)) return gp_unlock(&q->lock), NULL;
        q->asleep = true;
        pthread_cond_wait(&q->work, &q->lock);
        q->asleep = false;
    }
    gp_unlock(&q->lock);
    return &q->ring[at % QUEUE];
}

/* completed is advanced only after all effects of a command, so that whoever sees the number sees
 * them, too. Waking a thread takes longer than a small kernel: none is before its ticket. */
static void complete(queue *q, uint64_t at) {
    atomic_store(&q->stream->completed, at + 1);
    if (at + 1 < atomic_load(&q->wanted)) return;
    gp_lock(&q->lock);
    atomic_store(&q->wanted, UINT64_MAX);
    pthread_cond_broadcast(&q->done);
    gp_unlock(&q->lock);
}

/* Marks the command that crashed as failed: the next wait of the host raises that. Nothing of a
 * kernel or a copy remains but what it wrote. */
static void crashed(queue *q, const char *text) {
    gp_stream *s = q->stream;
    uint64_t at = atomic_load(&s->completed);
    command *cmd = &q->ring[at % QUEUE];
    gp_running = NULL;
    if (cmd->kind == COPY) let_go(cmd);
    if (cmd->kind == KERNEL) free(cmd->more);
    if (cmd->kind == REPLAY) cmd->replay->by->done(cmd->replay);
    gp_fail(
        "the worker of %s %s; results are lost, and it may have damaged other memory: save your "
        "work and restart",
        s->dev->name, text);
    fail_command(s, cmd, &(gp_call){.loc = {0}}, true);
    complete(q, at);
}

/* Runs the calling thread's deferred commands; where it may be interrupted and was, those that are
 * left remain. Meanwhile the stream is nobody's: a command that waits runs none of them. */
static void run_own(bool interruptible) {
    gp_stream *s = own;
    if (!s) return;
    queue *q = s->impl;
    const gp_call *running = gp_running;
    own = NULL;
    for (uint64_t at = s->completed; at < s->issued; at++) {
        command *cmd = &q->ring[at % QUEUE];
        if (interruptible && gp_thread_stopped()) break;
        if (cmd->kind != WAIT) execute(s, cmd);
        else if (!wait_ticket(cmd->on, cmd->ticket, interruptible)) break;
        complete(q, at);
    }
    gp_running = running;
    own = s;
}

void gp_queue_run_own(void) { run_own(true); }
gp_stream *gp_queue_own(void) { return own; }

/* A worker's thread: runs commands in order. */
static void *work(void *arg) {
    queue *q = arg;
    gp_rescue here;
    char name[20]; /* for a debugger, and shell/crash.c */
    snprintf(name, sizeof name, "%.8s stream", q->stream->dev->name);
    pthread_setname_np(pthread_self(), name);
    gp_thread_is_worker();
    if (sigsetjmp(here.out, 0)) crashed(q, here.text);
    else gp_rescue_begin(&here);
    for (uint64_t at = atomic_load(&q->stream->completed);; at++) {
        command *cmd = next_command(q, at);
        if (!cmd) return gp_rescue_end(), NULL;
        execute(q->stream, cmd);
        complete(q, at);
    }
}

/* ---- host side ---- */

/* None where the user wants idle threads to leave their core to others. */
static uint64_t poll_ns(void) {
    const char *policy = gp_env_text(GP_ENV_OMP_WAIT_POLICY);
    return policy && !strcasecmp(policy, "passive") ? 0 : POLL_NS;
}

/* q lives until stream_close: the worker and every waiter on `done` use it. of: the stream that it
 * plays first; NULL where it is none's player. */
static bool open_queue(gp_stream *s, uintptr_t host_bits, gp_stream *of) {
    queue *q = calloc(1, sizeof *q);
    if (!q) return gp_fail("out of memory");
    q->stream = s, q->host_bits = host_bits, q->of = of;
    q->poll_ns = of ? 0 : poll_ns(), q->wanted = UINT64_MAX;
    atomic_store(&q->let, of ? 0 : UINT64_MAX);
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->work, NULL);
    pthread_cond_init(&q->done, NULL);
    s->impl = q;
    if (!s->deferred && !gp_thread_start(&q->thread, work, q))
        return free(q), s->impl = NULL, gp_fail("%s: no thread for a stream", s->dev->name);
    return true;
}

bool gp_queue_open(gp_stream *s, uintptr_t host_bits) { return open_queue(s, host_bits, NULL); }

gp_stream *gp_queue_player(gp_stream *of, uintptr_t host_bits) {
    gp_stream *s = calloc(1, sizeof *s);
    if (!s) return gp_fail_null("out of memory");
    s->dev = of->dev;
    s->async = true;
    if (!open_queue(s, host_bits, of)) return free(s), NULL;
    return s;
}

void gp_queue_play(gp_stream *player, gp_stream *of) { ((queue *)player->impl)->of = of; }

void gp_queue_finish(gp_stream *s) {
    queue *q = s->impl;
    if (q->of) {
        gp_lock(&q->lock);
        atomic_store(&q->let, s->issued);
        if (q->asleep) pthread_cond_signal(&q->work);
        gp_unlock(&q->lock);
    }
    wait_ticket(s, s->issued, false);
}

/* A free slot in the queue, with the lock held; submit() releases it. */
static command *reserve(gp_stream *s) {
    queue *q = s->impl;
    gp_lock(&q->lock);
    while (gp_stream_queued(s) >=
           QUEUE - 1) { /* launchers make room before; this covers what they did not foresee */
        gp_unlock(&q->lock);
        if (q->of) gp_queue_finish(s);
        else wait_ticket(s, s->issued - QUEUE / 2, false);
        gp_lock(&q->lock);
    }
    return &q->ring[s->issued % QUEUE];
}

/* Makes the reserved command visible and releases the lock. */
static void submit(gp_stream *s) {
    queue *q = s->impl;
    command *cmd = &q->ring[s->issued % QUEUE];
    cmd->of = q->of, cmd->number = q->of ? q->of->issued + 1 : 0;
    atomic_fetch_add_explicit(&s->issued, 1, memory_order_release);
    if (q->asleep) pthread_cond_signal(&q->work);
    gp_unlock(&q->lock);
}

void gp_queue_set_own(gp_stream *s) {
    queue *q = s ? s->impl : NULL;
    if (q && q->ends) pthread_join(q->thread, NULL), q->ends = false;
    own = s;
}

void gp_queue_hand_over(void) {
    queue *q = own->impl;
    if (!gp_stream_queued(own)) return;
    q->ends = true;
    if (gp_thread_start(&q->thread, work, q)) return;
    q->ends = false;
    run_own(false);
}

/* Ends the worker after all that is queued. */
void gp_queue_close(gp_stream *s) {
    queue *q = s->impl;
    if (!q) return;
    bool runs = !s->deferred || q->ends;
    gp_lock(&q->lock);
    q->ends = true;
    if (q->asleep) pthread_cond_signal(&q->work);
    gp_unlock(&q->lock);
    if (runs) pthread_join(q->thread, NULL);
    s->impl = NULL;
    free(q);
}

/* Copies the call and every array it refers to into cmd; those beyond ARRAYS into `more`. */
static bool copy_call(gp_stream *s, command *cmd, const gp_call *c) {
    int need = gp_call_arrays(c);
    cmd->more = NULL;
    if (need > ARRAYS && !(cmd->more = malloc((size_t)need * sizeof *cmd->more)))
        return gp_fail("out of memory");
    gp_call_copy(&cmd->call, c, cmd->more ? cmd->more : cmd->arrays, ((queue *)s->impl)->host_bits);
    return true;
}

/* Queues c's kernel. c's own memory may be freed when this returns. */
bool gp_queue_launch(gp_stream *s, gp_call *c) {
    command *cmd = reserve(s);
    cmd->kind = KERNEL;
    bool ok = copy_call(s, cmd, c);
    if (!ok) cmd->kind = NOTHING; /* the slot is taken: an empty command keeps the queue going */
    submit(s);
    return ok;
}

bool gp_queue_replay(gp_stream *s, const gp_replay_values *values) {
    gp_replay_values *copy = values->by->copy(values);
    if (!copy) return false;
    command *cmd = reserve(s);
    cmd->kind = REPLAY;
    cmd->replay = copy;
    submit(s);
    return true;
}

/* pinned: the host side, or NULL; held, and counted as read, until the worker has copied. */
bool gp_queue_copy(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind direction,
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

bool gp_queue_busy(gp_stream *s) { return gp_stream_queued(s) > 0; }
bool gp_queue_full(gp_stream *s) { return gp_stream_queued(s) >= QUEUE - 8; }
bool gp_queue_drain(gp_stream *s) { return wait_ticket(s, s->issued, true); }
bool gp_queue_drain_half(gp_stream *s) { return wait_ticket(s, s->issued - QUEUE / 2, true); }

/* A ticket of the stream; the stamp is shared with the worker, which writes the time. */
gp_event *gp_queue_event_record(gp_stream *s, bool timed) {
    gp_event *e = gp_queue_event_new(s, 2);
    if (!e) return NULL;
    command *cmd = reserve(s);
    cmd->kind = RECORD;
    cmd->stamp = e->impl;
    e->ticket = s->issued + 1;
    submit(s);
    return e;
}

bool gp_queue_event_done(gp_event *e) { return reached(e->stream, e->ticket); }
bool gp_queue_event_drain(gp_event *e) { return wait_ticket(e->stream, e->ticket, true); }

/* Makes s wait until e's stream has reached it. The worker of s blocks, not the host. */
bool gp_queue_event_wait(gp_stream *s, gp_event *e) {
    if (gp_queue_event_done(e)) return true;
    command *cmd = reserve(s);
    cmd->kind = WAIT;
    cmd->on = e->stream;
    cmd->ticket = e->ticket;
    submit(s);
    return true;
}
