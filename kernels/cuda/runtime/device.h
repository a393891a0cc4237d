/* Inside the CUDA plug-in: the state of devices and streams, and the functions that these files
 * share: kernels/cuda/runtime/device.c (the device's functions), kernels/cuda/runtime/copy.c
 * (copies), kernels/cuda/runtime/queue.c (queued work and its progress),
 * kernels/cuda/runtime/event.c (places in a queue), kernels/cuda/runtime/launch.c (a call of a
 * kernel), kernels/cuda/runtime/plugin_imports.c (the program). CUDA's handles are void * here, so
 * that this header needs none of CUDA's. */
#ifndef GP_DEVICE_CUDA_H
#define GP_DEVICE_CUDA_H

#include <pthread.h>
#include <stdatomic.h>

#include "profile/cuda/cupti.h"
#include "tensor/op.h"

struct gp_core;
struct gp_fault;
struct gp_fault_at;

/* Takes the program's table; false if it is of another build. */
bool gp_core_import(const struct gp_core *table);

/* A block of pinned host memory, of the device's pool. */
typedef struct cuda_block {
    struct cuda_block *next;
    size_t bytes;
    char *data;
} cuda_block;

/* An event whose time is known on both clocks. */
typedef struct cuda_base {
    atomic_int refs;
    void *event; /* cudaEvent_t */
    uint64_t ns; /* on gp_now_ns()'s clock */
} cuda_base;

enum {
    CUDA_EVENTS = 256,
    CUDA_CLASSES = 11,
    CUDA_MARKS = 80,
    CUDA_MARK_EVERY = 16 /* commands */,
    CUDA_NOTES = 1024,
    CUDA_PEERS = 64,
    CUDA_LANES = 16
};

/* Events that are not in use. */
typedef struct cuda_pool {
    void *event[CUDA_EVENTS]; /* cudaEvent_t */
    int n;
} cuda_pool;

typedef struct cuda_device {
    char model[64];
    int sms, arch;        /* multiprocessors; 90: compute capability 9.0 */
    size_t bytes;         /* of memory */
    void *clock;          /* cudaStream_t without work, for reading the device's clock */
    unsigned *seen;       /* device memory: gp_fault_at.seen, CUDA_NOTES of them for each stream */
    char why[256];        /* gp_device.dead, once that is set */
    pthread_mutex_t lock; /* guards what follows */
    cuda_base *base;
    cuda_pool timed, marks;           /* unused events, with and without times */
    cuda_block *blocks[CUDA_CLASSES]; /* unused ones, by size, and larger ones: */
    cuda_block *large;
    _Atomic size_t unused;     /* their bytes */
    bool peer[CUDA_PEERS];     /* whether copies from that device were prepared: enable_peer's */
    _Atomic bool used[GP_OPS]; /* ops that have run here */
} cuda_device;

/* Work for the host once the queue has reached `ticket`, in this order. */
typedef struct cuda_later {
    struct cuda_later *next;
    uint64_t ticket;
    cuda_block *block; /* returned to the pool */
    void *to;          /* gets `bytes` of the block first; NULL: no copy */
    size_t bytes;
    gp_storage *host; /* one reference and, if `reads`, counted as a reader */
    bool reads;
} cuda_later;

/* A copy of pageable memory that is too large to be staged: the wait for it performs it. */
typedef struct cuda_deferred_copy {
    struct cuda_deferred_copy *next;
    pthread_t thread; /* the thread that waits for it */
    void *dst;
    const void *src;
    size_t bytes;
    gp_copy_kind kind;
    gp_storage *host; /* one reference */
    uint64_t id;      /* for gp_hook.device */
} cuda_deferred_copy;

/* The messages of a launch that may record a fault. */
typedef struct cuda_note {
    uint64_t issued; /* number of its command */
    bool reported;   /* its fault was reported */
    bool together;   /* others of its launch come before it, or after */
    gp_srcloc loc;
    int n;
    const char *const *texts;
} cuda_note;

typedef struct cuda_stream {
    void *stream;           /* cudaStream_t */
    void *lane[CUDA_LANES]; /* the same: graphs' branches; NULL, as is the first */
    void *side; /* the same: for captures of one call, without work; NULL until the first */
    gp_storage *staging; /* memory that recurrent layers work in (kernels/cuda/rnn/staging.c), or
                            NULL; with gp_lib_lock held */
    _Atomic uint64_t items, items_done; /* contents of CUDA's own queue: kernels, of which a command
                                           may be several, copies, events */
    pthread_mutex_t lock;               /* guards what follows */
    struct {
        void *event; /* cudaEvent_t */
        uint64_t ticket, items;
    } marks[CUDA_MARKS]; /* a ring: positions in the queue, oldest first */
    unsigned head, tail;
    cuda_later *later, **last;
    cuda_later *_Atomic past; /* done, but for giving back their host memory */
    _Atomic size_t staged;    /* bytes of blocks in `later` */
    cuda_deferred_copy *deferred;
    struct gp_fault *faults;         /* CUDA_NOTES of them, pinned; NULL until a kernel needs one */
    cuda_block *fault_block;         /* holds them */
    cuda_note *notes;                /* of the same launches */
    _Atomic uint64_t noted, settled; /* fault slots that launches took; those of them that are
                                        done, and known to be good or bad */
} cuda_stream;

/* What open_device and stream_open have stored. */
static inline cuda_device *gp_cuda_of(const gp_device *dev) { return (cuda_device *)dev->impl; }
static inline cuda_stream *gp_cuda_queue(const gp_stream *s) { return (cuda_stream *)s->impl; }

/* ---- device.c ---- */

/* Makes dev the calling thread's device. */
void gp_cuda_enter(const gp_device *dev);
/* Sets err (a cudaError_t other than success) as this thread's message; returns false. A sticky
 * error marks the device dead. what: the op or call; NULL in a queue: then the last op queued on s
 * is named. */
bool gp_cuda_failed(gp_stream *s, int err, const char *what);
/* The same for a call that concerns no stream: true if err is success. */
bool gp_cuda_call_ok(gp_device *dev, int err, const char *what);
/* Reports a call that may block, made since t0, to gp_hook.call. */
void gp_cuda_called(gp_device *dev, const char *what, bool first, uint64_t t0);

/* Polls until s has reached ticket; false with a message when the user interrupts. The calling
 * thread waits. */
bool gp_cuda_wait_for(gp_stream *s, uint64_t ticket);

/* ---- kernels/cuda/runtime/pinned.c ---- */

/* A block of the pool of at least bytes; NULL with a message. */
cuda_block *gp_cuda_block_acquire(gp_device *dev, size_t bytes);
void gp_cuda_block_release(gp_device *dev, cuda_block *b);
/* Frees unused large blocks until at most that many bytes of them are left. May wait. */
void gp_cuda_pinned_trim(gp_device *dev, size_t most);

/* ---- kernels/cuda/runtime/copy.c ---- */

/* gp_device_vt.copy. */
bool gp_cuda_copy(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                  gp_storage *host, uint64_t id);
/* Performs the copies that this thread deferred on s, and waits for each; make = false, after an
 * interrupt, drops them instead. False if one was dropped or failed (message set). */
bool gp_cuda_deferred_copies(gp_stream *s, bool make);

/* ---- kernels/cuda/runtime/queue.c ---- */

/* Counts one more command queued on s. mark: its end will soon be asked for. */
void gp_cuda_queued(gp_stream *s, bool mark);
/* The same, with the host's work after it; takes over `what`. */
void gp_cuda_queued_then(gp_stream *s, cuda_later *what);
/* Whether s is known, without waiting, to have reached this ticket. Does the host's due work. A
 * dead device's queue counts as finished, and what was in it as failed. */
bool gp_cuda_reached(gp_stream *s, uint64_t ticket);
/* Gives back the host memory of copies that s has reached. Not by gp_cuda_reached, which may be
 * asked under the locks of the log of failures and of an allocator, and giving back takes them. */
void gp_cuda_give_back(gp_stream *s);
/* Reports what was found wrong in the data of command `ticket` of s, which was queued at loc. */
void gp_cuda_found(gp_stream *s, uint64_t ticket, gp_srcloc loc, const char *what);
/* The slot where a launch records its fault, for the next command of s, which is of op `what`, in
 * *to. note: the command's, but for its number. False with a message. */
bool gp_cuda_fault_open(gp_stream *s, const char *what, cuda_note note, struct gp_fault_at *to);

/* ---- kernels/cuda/runtime/event.c ---- */

/* An event of the pool (cudaEvent_t) whose time can be asked; NULL with a message. */
void *gp_cuda_event_acquire(gp_device *dev);
void gp_cuda_event_release(gp_device *dev, void *event);
/* One without times, which are quicker to record and to wait for; NULL without a message. */
void *gp_cuda_mark_try(gp_device *dev);
void gp_cuda_mark_release(gp_device *dev, void *event);
/* Waits for an event that measures how a library does something, which is reported as a first use.
 * False with a message. */
bool gp_cuda_event_synchronize(gp_device *dev, void *event);
/* Compares the device's clock with the host's, if that is due: called when the host has waited
 * anyway. */
void gp_cuda_sync_clock(gp_device *dev);
/* The functions of gp_device_vt. */
gp_event *gp_cuda_event_record(gp_stream *s, bool timed);
bool gp_cuda_event_done(gp_event *e);
bool gp_cuda_event_wait(gp_stream *s, gp_event *e);
bool gp_cuda_order_outside(gp_stream *s, uintptr_t queue, bool first);
double gp_cuda_event_time(gp_event *e);
void gp_cuda_event_free(gp_event *e);

/* ---- kernels/cuda/runtime/launch.c ---- */

/* Queues the kernel of c's row on s; false with a message. The vtable's launch. */
bool gp_cuda_launch(gp_stream *s, struct gp_call *c);
/* Whether c, which failed for lack of memory, is about to run again with what the cache gave
 * back: then nothing else is to run in its place. */
bool gp_cuda_runs_again(const struct gp_call *c);
/* Memory on c's stream that may outlive c; the caller owns a reference. NULL with a message. */
gp_storage *gp_cuda_storage(const struct gp_call *c, size_t bytes);
/* Takes over a reference to memory that c's work uses, until that is queued. Its address, or NULL
 * with a message. */
void *gp_cuda_hold(const struct gp_call *c, gp_storage *st);
/* Called when the plug-in is opened: from then on first uses of libraries are reported. */
void gp_cuda_launch_open(void);

/* ---- kernels/cuda/runtime/graph.c ---- */

/* The functions of gp_device_vt. */
bool gp_cuda_graph_begin(gp_stream *s);
bool gp_cuda_graph_part(gp_stream *s, int part, int lane, const int *after, int n);
void *gp_cuda_graph_end(gp_stream *s);
bool gp_cuda_graph_launch(gp_stream *s, void *graph);
void gp_cuda_graph_free(gp_stream *s, void *graph);
/* The stream (cudaStream_t) that this thread's launches go to while they become a graph; NULL:
 * their call's. */
void *gp_cuda_graph_lane(void);
/* Whether this thread's launches become a graph: then it takes over the scratch memory and the
 * tables of a call, unless (false) memory is short; unfit: there will be no graph. */
bool gp_cuda_building(void);
bool gp_cuda_keep_scratch(gp_storage *st);
bool gp_cuda_keep_table(cuda_block *b);
void gp_cuda_unfit(void);

/* The kernel of a row; NULL: a view, which needs none. launch.c */
gp_kernel gp_cuda_kernel(const gp_op *op);
/* gp_device_vt.fuses. kernels/cuda/fuse/fused.c */
bool gp_cuda_fuses(gp_device *dev, struct gp_program *p, gp_tensor *const *in);
/* gp_device_vt.saves: for layers that cuDNN trains. kernels/cuda/rnn/cudnn.c */
int64_t gp_cuda_saves(const struct gp_call *c);
/* gp_device_vt.shed: weights packed for cuDNN. kernels/cuda/rnn/weights.c */
void gp_cuda_shed(gp_device *dev);

/* When a recorded event (cudaEvent_t) was reached, in ns on gp_now_ns()'s clock; 0 if not yet.
 * kernels/cuda/runtime/event.c */
uint64_t gp_cuda_event_ns(gp_device *dev, void *event);

/* ---- kernels/cuda/runtime/cupti.c ---- */

/* Called when the plug-in is opened: gives profile/cuda what it needs of the runtime. */
void gp_cuda_watch_open(void);

#endif
