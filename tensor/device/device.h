/* Devices and streams: the table of functions that a device is, the two calls that use it (launch,
 * wait), and the hooks of observers. */
#ifndef GP_DEVICE_H
#define GP_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/device/card/clock.h"
#include "tensor/tensor.h"

enum { GP_MAX_STREAMS = 64 }; /* of a device, at a time */
_Static_assert(GP_MAX_STREAMS <= 8 * sizeof((gp_storage){0}.used_by),
               "a storage has a bit for each stream");

struct gp_call;
struct gp_program;
struct gp_op;
struct gp_replay_values;

/* Why the host waits. */
typedef enum gp_why {
#define WHY(name) GP_WHY_##name,
#include "tensor/device/why.def"
    GP_WHYS
} gp_why;
/* The name of a reason in reports, as in why.def; static. */
const char *gp_why_name(gp_why why);

/* A place in a stream's queue. On cuda a cudaEvent_t, on sim a ticket. Freed by gp_event_free. */
typedef struct gp_event gp_event;

/* A queue of work on a device; created by gp_stream_new, lives until the program ends (indices are
 * reused). Owned by the device. */
struct gp_stream {
    gp_device *dev;
    int index;         /* 0 is the device's default stream, which is never given back */
    bool async;        /* launch returns before the work is done; else it is done by then */
    atomic_bool alone; /* not async, and the only one: there is nothing to order */
    atomic_int refs;   /* holders; at 0 the stream may be reused */
    bool collective;   /* it waits for other ranks (tensor/dist) */
    bool deferred;     /* no worker: the thread that queues on it runs it (gp_defer_begin) */
    /* Not NULL: tried before c is queued; true: c has run, by `run`, on the calling thread. */
    bool (*here)(struct gp_call *c, bool (*run)(struct gp_call *c));
    void *impl;                 /* owned by the device */
    _Atomic uint64_t issued;    /* commands queued so far */
    _Atomic uint64_t completed; /* those of them that are done */
    const char *_Atomic
        last_op; /* name and source line of the last op queued, for reports; file may be NULL */
    const char *_Atomic last_file;
    _Atomic int last_line;
    _Atomic uint64_t last_id; /* the correlation id of what was queued last; 0: it has none */
    _Atomic uint64_t synced_to[GP_MAX_STREAMS]; /* by stream index: commands of that stream that
                                       come before what is queued here now */
    uint64_t logged;                            /* commands up to this one are in failure.c's log */
};

typedef enum gp_copy_kind { GP_COPY_D2D, GP_COPY_H2D, GP_COPY_D2H } gp_copy_kind;
/* "copy D2D" … static. */
const char *gp_copy_name(gp_copy_kind kind);

/* For gp_device_vt.observe: begin; report now; report and end; or report what blocks inside
 * libraries, from now on. */
typedef enum gp_trace_cmd {
    GP_TRACE_BEGIN,
    GP_TRACE_NOW,
    GP_TRACE_END,
    GP_TRACE_CALLS
} gp_trace_cmd;

typedef struct gp_device_vt {
    const char *kind;          /* "cpu", "sim", "cuda" */
    bool on_host;              /* its memory is the host's, and its default stream not async */
    uintptr_t host_bits;       /* of a device address: those of the host's; 0: all */
    bool (*open)(gp_device *); /* fills dev->impl; false with a message. NULL: nothing to do */
    void *(*mem_alloc)(gp_device *, size_t bytes); /* 64-byte aligned; NULL when out of memory */
    void (*mem_free)(gp_device *, void *, size_t bytes);
    bool segments; /* these are slow: blocks are parts of larger segments */
    /* Frees memory that the device's functions keep to be faster. NULL: they keep none. */
    void (*shed)(gp_device *);
    bool (*stream_open)(gp_stream *); /* fills impl */
    void (*stream_close)(gp_stream *);
    /* Queues the call, on an async stream. Keeps no reference to c or its tensors' structs after
     * returning. */
    bool (*launch)(gp_stream *, struct gp_call *c);
    /* Whether the device can run the op `fused` on program p and these inputs, now: a device may
     * need time to compile it. Else its ops run one by one. NULL: always. */
    bool (*fuses)(gp_device *, struct gp_program *p, gp_tensor *const *in);
    /* Queues a captured function's calls as one command (tensor/capture); what `values` points to
     * is copied. NULL: they are launched one by one. */
    bool (*replay)(gp_stream *, const struct gp_replay_values *values);
    /* Calls that are launched on a stream between begin and end do not run, but become a graph, of
     * which a call needs neither bad data to be found nor the host. NULL: the device has none.
     * begin: false with a message; end: NULL where something does not fit into a graph. It is freed
     * once no queue holds it. */
    bool (*graph_begin)(gp_stream *);
    /* Between them: the calls from now on are part `part`, on lane `lane`, after the parts
     * after[0 … n-1]. A lane's parts run in order, lanes concurrently. False without a message
     * where the graph cannot have it. NULL: all calls run in order. */
    bool (*graph_part)(gp_stream *, int part, int lane, const int *after, int n);
    void *(*graph_end)(gp_stream *);
    bool (*graph_launch)(gp_stream *, void *graph);
    void (*graph_free)(gp_stream *, void *graph);
    /* Not of a device on_host. Queues a copy of bytes; host memory must stay valid until the copy
     * is done (the caller waits or pins it). id: for gp_hook.device. */
    bool (*copy)(gp_stream *, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                 gp_storage *pinned, uint64_t id);
    /* Elements of the output in which c, a layer's row to be differentiated, saves what its
     * backward needs, where this device has a layout of its own; 0: the row's layout. c->stream is
     * set, the outputs are not. NULL: always the row's. */
    int64_t (*saves)(const struct gp_call *c);
    size_t (*capacity)(gp_device *); /* bytes of device memory; 0: unknown */
    bool (*busy)(gp_stream *);       /* work queued and not done */
    bool (*full)(gp_stream *);       /* the queue has no room: the next launch would block */
    bool (*drain_half)(gp_stream *); /* waits until there is room again */
    bool (*drain)(gp_stream *);      /* waits until done; false with a message when interrupted */
    /* After everything queued so far. timed: event_time will be asked, which costs the device
     * more. */
    gp_event *(*event_record)(gp_stream *, bool timed);
    bool (*event_done)(gp_event *);
    bool (*event_drain)(gp_event *);             /* as drain, for a place in the queue */
    bool (*event_wait)(gp_stream *, gp_event *); /* the stream, not the host, waits */
    /* The queue of another library on the same device, as DLPack names it (a cudaStream_t), waits
     * for what s has queued so far, or the other way round. False with a message. NULL: others have
     * no queues there. */
    bool (*order_outside)(gp_stream *s, uintptr_t queue, bool first);
    double (*event_time)(
        gp_event *); /* seconds on gp_now()'s clock when it was reached; NAN before */
    void (*event_free)(gp_event *);
    /* Whether gp_hook.device is to be called for what runs. NULL: it always is. From GP_TRACE_BEGIN
     * on the device keeps its tools' reports; GP_TRACE_NOW and GP_TRACE_END, called with queues
     * drained, return once the hook was called for all of them. *lost is increased by the reports
     * that the tools dropped. Returns NULL, or a static text: how times are taken, and why, if they
     * are less exact than the device's own. Commands cover all devices of the kind. GP_TRACE_CALLS:
     * gp_hook.call is also called for what blocks inside libraries; returns NULL, or why that is
     * impossible. */
    const char *(*observe)(gp_device *, gp_trace_cmd, uint64_t *lost);
} gp_device_vt;

enum { GP_MAX_DEVICES = 32 }; /* open at a time */

struct gp_device {
    const gp_device_vt *vt;
    char name[16]; /* "cpu", "sim:0", "cuda:1" */
    int index;     /* among devices of its kind */
    int slot;      /* among all open devices */
    gp_stream *streams[GP_MAX_STREAMS];
    atomic_int nstreams;    /* read on any thread: a stream is stored before it is counted */
    struct gp_alloc *alloc; /* caching allocator */
    void *impl;
    _Atomic(const char *) dead; /* the error after which nothing runs on it; NULL while it works.
                                   Set once, by the device's own functions */
};

struct gp_event {
    gp_stream *stream;
    uint64_t ticket; /* cpu, sim: done when stream->completed >= ticket */
    void *impl;      /* cuda: cudaEvent_t; cpu, sim: where the worker writes the time */
    uint64_t id;     /* where the recorder noted it: stream->last_id then; else 0 */
};

/* The device called name: "cpu", "sim", "sim:1", "cuda", "cuda:0", "gpu" (cuda where one works,
 * else sim). NULL with a message. Opened on first use. */
gp_device *gp_device_get(const char *name);
/* The cpu. NULL with a message where the first call finds no memory: bindings/ makes that one. */
gp_device *gp_device_cpu(void);
/* True while dev works; else false with a message that begins with `what` and says which error
 * ended it. */
bool gp_device_alive(const gp_device *dev, const char *what);
/* Calls fn for every device that has been opened. */
void gp_device_each(void (*fn)(gp_device *, void *), void *ctx);
/* Gives all devices of one table of functions another one, for the same memory, and their streams
 * again, after waiting for them. False with a message: a failure, interrupted, or out of memory. */
bool gp_device_change(const gp_device_vt *from, const gp_device_vt *to);
/* Drains every queue, unrecorded; Ctrl-C does not interrupt it. For the end of a program. */
void gp_device_drain(void);
/* Drains every queue and stops worker threads; for the end of the program or when the module is
 * unloaded. */
void gp_device_shutdown(void);

/* A stream that has no other holder, with one reference: a released one, or a new one. NULL with a
 * message when a device's 64 are in use. */
gp_stream *gp_stream_acquire(gp_device *dev);
gp_stream *gp_stream_retain(gp_stream *s);
void gp_stream_release(gp_stream *s);
/* This thread's current stream on dev; the default stream until set. */
gp_stream *gp_stream_current(gp_device *dev);
void gp_stream_set_current(gp_stream *s);
/* From begin to end the calling thread queues what it would run at once on dev's default stream, a
 * device on_host: on a deferred stream, whose commands it runs itself, in order, whenever it waits
 * for anything, and at the end. So it can queue work for other streams first. Begin is false,
 * without a message, where that is impossible or has begun before. After an interrupt, end leaves
 * the rest to a thread. */
bool gp_defer_begin(gp_device *dev);
void gp_defer_end(void);
/* Runs what is deferred: gp_defer_run all of it, before a caller asks what streams have done;
 * gp_defer_relieve only where much is queued. */
void gp_defer_run(void);
void gp_defer_relieve(void);
/* Where work for s is queued now: s, or the stream that stands in for it, either way. */
gp_stream *gp_defer_stream(gp_stream *s);
/* Commands queued and not done. */
static inline uint64_t gp_stream_queued(gp_stream *s) {
    return atomic_load_explicit(&s->issued, memory_order_relaxed) -
           atomic_load_explicit(&s->completed, memory_order_acquire);
}

/* The only place where the host blocks on a device. `what` names the call that waits ("item",
 * "nonzero"). False with a message: refused by sync's error mode (without waiting), interrupted, or
 * a failure of the work waited for (failure.h), or a device that is dead, every time. With nothing
 * queued there is no wait and no record. */
bool gp_wait(gp_stream *s, gp_why why, const char *what);
/* The two halves of a wait for work that is queued in between: the first asks for permission (error
 * mode refuses here, before anything is queued), the second waits. For copies, which always end
 * with a wait. */
bool gp_wait_allowed(gp_stream *s, gp_why why, const char *what);
bool gp_wait_granted(gp_stream *s, gp_why why, const char *what);
/* Instead of the second: reports a wait, for one command, that the caller did itself, from t0 to t1
 * (ns of gp_now_ns). */
void gp_wait_over(gp_stream *s, gp_why why, const char *what, uint64_t t0, uint64_t t1);
bool gp_wait_event(gp_event *e, gp_why why, const char *what);
/* Waits until `first` has done `upto` of its commands, for an op that runs on the host itself: the
 * same as gp_wait_event, but for a stream with a queue (queue.h). */
bool gp_wait_ticket(gp_stream *first, uint64_t upto, gp_why why, const char *what);
/* All streams of dev; NULL: of all devices, of which dead ones raise only failures that nobody has
 * read. */
bool gp_wait_device(gp_device *dev, gp_why why, const char *what);

/* Makes room in a full queue: a host stall of its own kind (why = queue), recorded and never
 * refused. */
bool gp_wait_not_full(gp_stream *s);
/* Work queued on s from now on starts after e. The host waits where s is its own (the cpu's default
 * stream; why = join), and for events of another kind of device. */
bool gp_stream_wait_event(gp_stream *s, gp_event *e);

/* Number of threads CPU kernels may use; settable (1 … 256). Worker threads, of a device or of a
 * data loader, always use 1. Loops are divided by it. */
int gp_threads(void);
/* The same, less what would compete with the cpu's workers that are busy for a processor; at least
 * 1. A loop that begins now runs on that number of threads, whatever its parts. */
int gp_threads_free(void);
/* Processors that this process may run on. */
int gp_processors(void);
void gp_set_threads(int n);
/* Whether results on the cpu are to be the same bits for any number of threads; initially not.
 * What sums in an order that depends on the threads, BLAS and LAPACK, then uses one, and loops are
 * divided into the same parts. */
bool gp_deterministic(void);
void gp_set_deterministic(bool on);
/* Marks the calling thread as a device's worker: its parallel regions run on it alone. */
void gp_thread_is_worker(void);
bool gp_thread_worker(void);
/* Lets what the calling thread computes use one thread only, as on a worker, until it is called
 * with false. */
void gp_thread_single(bool on);
/* Stops what the calling thread computes: for the signal handler of a data loader's threads. */
void gp_thread_stop(void);
/* Whether the thread was stopped, or Ctrl-C came. A device's worker ignores both. */
bool gp_thread_stopped(void);
/* Marks the calling thread as a data loader's: its kernels run on it alone, and it queues nothing
 * on devices. */
void gp_thread_is_loader(void);
bool gp_thread_loader(void);

/* What an asynchronous device did between t0 and t1; or, where `held`, a call of its runtime that
 * held up the host. */
typedef struct gp_activity {
    gp_stream *s;
    const struct gp_op *op; /* NULL: a copy, */
    const char *kind;       /* whose name this is; also of what held up the host outside any op */
    const char
        *kernel;     /* name of the kernel, or of the call that held up the host; NULL: unknown */
    uint64_t id;     /* gp_call.id, the id that `copy` returned, or 0 */
    uint64_t t0, t1; /* ns */
    size_t bytes;    /* for copies */
    uint64_t waited; /* kernels: gp_activity_waited */
    bool held;
} gp_activity;
/* On a worker: ns of the running kernel in which it waited for other processes, before its data
 * were exchanged with theirs; 0: none; UINT64_MAX: all of it, the data came with them. */
extern _Thread_local uint64_t gp_activity_waited;
/* On a worker: when the running kernel began, in ns of gp_now_ns, if that was on another thread; 0
 * if not. */
extern _Thread_local uint64_t gp_activity_began;

/* The hooks of observers, set by profile/; any pointer may be NULL. Host-side hooks run on the
 * launching thread, `device` on the worker's. */
typedef struct gp_hooks {
    void (*_Atomic op_begin)(struct gp_call *c);
    void (*_Atomic op_end)(struct gp_call *c, bool ok);
    /* Something is about to be queued on s, a stream of an asynchronous device. */
    void (*_Atomic launch)(gp_stream *s);
    /* false refuses the wait (message set). wait_end: t1_ns = 0 where the host read at once. */
    bool (*_Atomic wait_begin)(gp_stream *s, gp_why why, const char *what);
    void (*_Atomic wait_end)(gp_stream *s, gp_why why, const char *what, uint64_t t0_ns,
                             uint64_t t1_ns, uint64_t queued);
    /* An asynchronous device ran a kernel or copy. */
    void (*_Atomic device)(const gp_activity *ran);
    /* What is queued on s from here on runs after what `first` has queued up to the command with
     * that id; or, with `done`, only after what it has done. */
    void (*_Atomic order)(gp_stream *s, gp_stream *first, uint64_t id, bool done);
    /* A copy is about to be queued; returns its correlation id, or 0. */
    uint64_t (*_Atomic copy)(gp_stream *s, gp_copy_kind kind, size_t bytes, bool pageable);
    /* A call of the device's runtime that may block took from t0 to t1 on this thread, perhaps
     * within a wait; `first`: it set something up on its first use. what: its name and details. */
    void (*_Atomic call)(gp_device *dev, const char *what, bool first, uint64_t t0_ns,
                         uint64_t t1_ns);
    _Atomic bool calls; /* devices opened from now on begin with GP_TRACE_CALLS */
    /* A block was allocated (bytes > 0) or is about to be freed (< 0). */
    void (*_Atomic memory)(gp_device *dev, const gp_storage *block, int64_t bytes);
} gp_hooks;
#ifdef GP_PLUGIN /* the program's, reached through the table of plugin_api.h */
extern gp_hooks *gp_hook_at;
#define gp_hook (*gp_hook_at)
#else
extern gp_hooks gp_hook;
#endif
/* The hook as it is now: another thread may unset it, so load it once, then call that. */
#define GP_HOOK_NOW(name) atomic_load_explicit(&gp_hook.name, memory_order_relaxed)
#ifdef GPUSH_NO_HOOKS /* no hook is ever set: only to measure what the checks cost */
#define GP_HOOK(name) ((__typeof__(GP_HOOK_NOW(name)))NULL)
#else
#define GP_HOOK(name) GP_HOOK_NOW(name)
#endif
/* The next correlation id; unique in the process, never 0. */
uint64_t gp_next_id(void);

#endif
