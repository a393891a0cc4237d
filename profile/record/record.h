/* The record: events of a profile, of fixed size, in one track per thread, all on gp_now_ns()'s
 * clock. */
#ifndef GP_RECORD_H
#define GP_RECORD_H

#include <string.h>

#include "tensor/base/intern.h"
#include "tensor/device/device.h"
#include "tensor/cost.h"
#include "tensor/device/card/card.h"
#include "tensor/op.h"

/* OP, REGION, WAIT, COPY, SWITCH, CALL, SAMPLE and READ are on a host's track; KERNEL, MOVED and
 * HELD are reports of a device's own tools, on a worker's; ALLOC is on any. */
typedef enum gp_rec_kind {
    GP_REC_OP,
    GP_REC_REGION,
    GP_REC_WAIT,
    GP_REC_COPY, /* a copy was queued: t0 == t1, but where the host's time is counted */
    GP_REC_KERNEL,
    GP_REC_MOVED, /* the copy itself, on the device */
    GP_REC_ALLOC, /* memory was allocated or freed: t0 == t1 */
    GP_REC_HELD,  /* the device's runtime blocked the host: synchronized, loaded code … (CUPTI) */
    GP_REC_SWITCH, /* another coroutine runs, in another region: `where`; t0 == t1 */
    GP_REC_CALL,   /* of the device's runtime, in loaded traces: a launch, an allocation … */
    GP_REC_SAMPLE, /* the script ran there; [t0, t1] is what taking the sample cost */
    GP_REC_READ,   /* the host read what the host had computed, where it would wait for a card:
                      t0 == t1 */
    GP_REC_KINDS
} gp_rec_kind;

/* A line that a stack passes through. Texts are the process's, or a loaded profile's. */
typedef struct gp_frame {
    const char *file;
    const char *function; /* NULL: unknown, or none */
    int line;
} gp_frame;
/* Frames of the script's stack, innermost first, and the module that is called ("Net.features.1"),
 * NULL: none; interned in the profile. */
typedef struct gp_stack {
    int n;
    const char *module;
    gp_frame frame[];
} gp_stack;
enum { GP_STACK_DEPTH = 32 };

typedef struct gp_rec {
    uint64_t t0, t1; /* ns; t1 = 0: never ended */
    uint64_t id; /* OP, COPY, CALL, and a loaded trace's WAIT: correlation id, or 0. KERNEL, MOVED,
                    HELD: that of the event that queued it, or 0. ALLOC: bytes in use on the
                    device afterwards */
    const char *name; /* op's, region's, kernel's; WAIT, READ: what waits; SAMPLE: the function */
    const char *file; /* source line that began it, as a gp_srcloc without its padding */
    int32_t line;
    uint8_t kind;                               /* gp_rec_kind */
    uint8_t why;                                /* WAIT, READ: gp_why */
    bool inplace : 1, failed : 1, replayed : 1; /* OP; as gp_call's */
    bool collective : 1; /* KERNEL of another program: by its name it exchanges data of ranks */
    void *where; /* gp_stream * of WAIT, COPY, KERNEL, MOVED, HELD; gp_device * of ALLOC; gp_rec *
                    of REGION, SWITCH: the enclosing region, NULL: none */
    union {
        int64_t bytes;       /* COPY, MOVED; ALLOC: signed. WAIT: commands that were queued. SAMPLE:
                                the periods that it stands for. KERNEL: ns of its time in which it
                                waited for other processes. REGION: a loader's batch, or 0 */
        const gp_cost *cost; /* OP with opts.flops or a modelled card, interned; else NULL */
    };
    const gp_stack *stack; /* with opts.stack; else NULL */
    union {
        const char *shapes; /* OP with opts.shapes: gp_rec_shapes() reads it; else NULL */
        const char *kernel; /* KERNEL: its own name; HELD: the call; NULL: unknown */
        const char *form;   /* WAIT, READ: see tensor/device/form.h; NULL: unknown */
        const void *block;  /* ALLOC: which block of memory; freed ones are used again */
        uint64_t computed;  /* REGION, GP_LOADER_MAKE: ns of it in which its thread, and children
                               that ended in it, computed, or could have; 0: unknown */
        uint64_t between;   /* REGION, of another program's batch: ns from the one before, of the
                               first to the next; 0: there is no other */
    };
} gp_rec;
_Static_assert(sizeof(gp_rec) == 80, "gp_prof_opts.limit says so");
_Static_assert(GP_REC_KINDS <= UINT8_MAX && GP_WHYS <= UINT8_MAX, "gp_rec stores them in bytes");

enum { GP_RECORD_CHUNK = 4096 };
typedef struct gp_chunk {
    struct gp_chunk *next;
    int n, cap; /* used; usable: fewer than GP_RECORD_CHUNK near the limit */
    gp_rec rec[GP_RECORD_CHUNK];
} gp_chunk;

/* One thread's events in the order in which they began. Written by that thread only. */
typedef struct gp_track {
    struct gp_track *next;
    struct gp_prof *prof;
    bool worker;      /* of a device; otherwise of the host */
    const char *name; /* of a loaded trace's thread; NULL: none */
    int rank;         /* in loaded traces: of the process among those of its job; else 0 */
    gp_chunk *first, *last;
    uint64_t dropped; /* events lost for lack of space */
    int depth;        /* ops begun and not ended */
    gp_rec *open[64];
    struct gp_open { /* open regions, in the order of their start, each with its coroutine */
        gp_rec *rec;
        void *coroutine;
    } * region;
    int nregions, capacity;
    gp_rec *region_now; /* the region of new events, NULL: none */
    int thread;         /* of the system, once it is watched; 0 */
    uint64_t ready;     /* ns that it had had work but no processor then */
} gp_track;

/* What stream s queues after its command `after` runs after what `first` has queued up to its
 * command `id`, or with `done` only after what that has done by t. Ids as gp_rec's; 0: none. */
typedef struct gp_stream_order {
    gp_stream *s, *first;
    uint64_t after, id, t;
    bool done;
} gp_stream_order;

typedef struct gp_prof_opts {
    int stack; /* frames kept of each event's stack, at most GP_STACK_DEPTH; 0: no stacks */
    bool memory, shapes, flops;
    bool lua;       /* samples of the script: bindings/sampling/sampler.c takes them */
    uint64_t limit; /* maximum number of events; 0: 4 Mi (80 bytes each) */
} gp_prof_opts;

struct gp_loaded_devices;

/* What only profile/load knows of a profile that it has read. */
typedef struct gp_loaded {
    void (*drop)(struct gp_loaded_devices *p); /* NULL is fine */
    /* What to write instead of a wait in another program's op or call `what`; never NULL. */
    const char *(*advice)(const char *what);
} gp_loaded;

typedef struct gp_prof {
    gp_prof_opts opts;
    uint64_t number; /* counts profiles; never 0 */
    uint64_t t0, done,
        t1; /* the profiled code ran from t0 to done; the work that it queued ended by t1 */
    gp_track *host, *workers; /* lists; the first of the host's is the profiling thread's */
    gp_stream_order *orders;  /* between streams, by time */
    int norders, orders_capacity;
    gp_intern *names;
    _Atomic uint64_t events_left; /* events that chunks may still be allocated for */
    uint64_t dropped;   /* events dropped at the limit or without memory; of another program's
                           trace those that could not be read */
    uint64_t lost;      /* events of devices that their own tools dropped (CUPTI) */
    const char *how;    /* how devices' times were measured, if not by their own tools; or NULL */
    const char *writer; /* the program that wrote a loaded trace; NULL: torch.profiler */
    int processors;     /* of the machine; 0: not known, or its time is counted */
    uint64_t starved;   /* ns in which a thread of it had work but no processor, of the one that had
                           the most: other work on the machine is in its times; 0: less than
                           GP_STARVED of them, or not known */
    uint64_t usual;     /* of another program's: ns of a step before the record began; */
    uint64_t beside;    /* ns in which another thread of it that runs Python had a processor, while
                           the main one had none and waited; both as gpush record saw them, or 0 */
    uint64_t frames;    /* and Python's calls on the record, of the main thread that has the most */
    uint64_t period;    /* ns between samples of the script; 0: none were taken */
    uint64_t blocked;   /* samples that a hook of the script's own was in the way of */
    uint64_t others;    /* events of threads that there was no memory for */
    uint64_t cost_begin, cost_end; /* ns that recording an op's begin and end takes outside its [t0,
                                      t1]; measured at the start */
    gp_srcloc started;             /* where */
    const char *predicted;         /* not measured: what a replay changed; NULL */
    const char *accuracy;          /* of such predictions, as a sentence's part; NULL: not known */
    bool cut;                      /* that file ended early: what followed is missing */
    bool no_device;                /* of another program's trace: it lists none, and calls none */
    bool unpaired;      /* of other programs' traces of ranks: calls of one name and number do not
                           overlap, so which collectives belong together is not known */
    bool no_clock;      /* nor do they have a common clock: each rank begins with the first */
    bool midway;        /* by its number steps came before the first: nothing that was slow once is
                           known to be a first use */
    bool foreign;       /* loaded from another program's trace, */
    int unknown_orders; /* its calls that let a stream wait, but do not say for which: replays take
                           none to wait; */
    int guessed_orders; /* and those that name the stream, but not the event: the last one before */
    int ranks;          /* processes; 0 as 1 */
    int rank, size;     /* of one process of several: its rank, and how many there are; of a joined
                           profile 0, and those; size 0: alone */
    struct gp_loaded_devices *devices; /* the devices and streams of a loaded profile; else NULL */
    const struct gp_loaded *loaded; /* what only profile/load knows of such; NULL: recorded here */
    struct gp_waves *waves;         /* what a loaded trace says of how kernels fill devices; NULL */
    const gp_card *card;            /* whose times these are, interned: that sim stood in for, or
                                       without `modelled` where they were measured; NULL: unknown */
    const char *modelled; /* "modelled H200, host as measured": sim's times are those of it; NULL */
    const char *at_least; /* ops whose modelled times are bounds, "sort, gelu"; NULL: none's */
    uint64_t mark;        /* gp_model_mark() at its start */
    struct gp_prof *base; /* whose names these are, with a reference; NULL: its own */
    int refs;             /* of the owner, and of those whose base it is */
    struct gp_prof *next; /* for record.c */
} gp_prof;

/* Starts recording on this thread, after draining every device. False with a message when a profile
 * is running. */
bool gp_prof_start(const gp_prof_opts *opts);
/* Drains the devices, ends the wall time, and returns the profile, which the caller frees. NULL
 * with a message: none is running on this thread, a stream has a pending error, or interrupted;
 * recording has ended in the latter two, too. */
gp_prof *gp_prof_stop(void);
/* An empty profile, with the host's track; limit: see gp_prof_opts. NULL when out of memory. */
gp_prof *gp_prof_new(const gp_prof_opts *opts);
/* Fails because p records. */
bool gp_prof_fail_running(const gp_prof *p);
/* Drops a reference. NULL is fine. */
void gp_prof_free(gp_prof *p);
/* An empty profile that reads p's names, for what is predicted from it; `predicted` is copied. NULL
 * when out of memory. */
gp_prof *gp_prof_derive(gp_prof *p, const char *predicted);
/* From which share of its time on a record says that its processors were loaded. */
#define GP_STARVED 0.1
/* Notes that the calling thread is t's, and how long it has had no processor; NULL is fine. */
void gp_track_watch(gp_track *t);
/* At p's end: how long its threads had none. */
void gp_prof_note_starved(gp_prof *p);
/* Adds a track for a device's events; NULL when out of memory. */
gp_track *gp_prof_add_worker(gp_prof *p);
/* Adds a track for another thread of the host, after the ones there are; NULL when out of
 * memory. */
gp_track *gp_prof_add_host(gp_prof *p);
/* Adds an order; false, and counted as dropped, without memory. */
bool gp_prof_add_order(gp_prof *p, const gp_stream_order *order);
/* gp_track_append where the last chunk is full. */
gp_rec *gp_track_more(gp_track *t);
/* A new event, to be filled in; NULL, and counted as dropped, at the limit or without memory. */
static inline gp_rec *gp_track_append(gp_track *t) {
    gp_chunk *c = t->last;
    return __builtin_expect(!c || c->n == c->cap, 0) ? gp_track_more(t) : &c->rec[c->n++];
}
bool gp_prof_running(void); /* on any thread */

/* A region: current while the coroutine that opened it, or one that this resumed, runs. rec: NULL
 * when nothing is recorded. When Nsight is attached, a region is an NVTX range, too. */
typedef struct gp_region {
    gp_rec *rec;
    uint64_t number, range;
    uint64_t computed; /* for gp_rec's, set before its end; 0 */
} gp_region;
/* Begins a region of that name (len bytes, which are copied); batch: of a loader, a number that no
 * other batch has, else 0. Its end may come late, out of order, after the profile's end, or twice.
 */
gp_region gp_region_begin(const char *name, size_t len, int64_t batch);
/* The regions of loaders: of a worker that makes a part of a batch, and of the host that takes the
 * batch, which it may wait for. */
#define GP_LOADER_MAKE "loader: make a batch"
/* Whether r is the host's taking of a batch, which it may have waited for. */
static inline bool gp_is_batch_request(const gp_rec *r) {
    return r->kind == GP_REC_REGION && r->bytes > 0 && strcmp(r->name, GP_LOADER_MAKE) != 0;
}
#define GP_LOADER_TAKE "loader: wait for a batch"
void gp_region_end(gp_region *r);
/* Records that the script was in that function (copied) and line for that number of periods;
 * t0: when taking the sample began. */
void gp_record_sample(const char *function, gp_srcloc at, unsigned periods, uint64_t t0);
/* Whether an op of this thread is being recorded. Safe in a signal handler. */
bool gp_record_inside(void);
/* Records that another coroutine of this thread runs from here on. */
void gp_record_switch(void);

/* For sync.c, which owns these hooks: a wait of that form (tensor/device/form.h) has ended, or with
 * s NULL a read that would wait for a card; a copy is about to be queued (returns its id, or 0 when
 * nothing is recorded). */
void gp_record_wait(gp_stream *s, gp_why why, const char *what, const char *form, uint64_t t0,
                    uint64_t t1, uint64_t queued, gp_srcloc loc);
uint64_t gp_record_copy(gp_stream *s, gp_copy_kind kind, size_t bytes);

/* Fills frame[0 … max-1] from the running Lua stack, innermost first, and returns how many;
 * *module as in gp_stack. Set by bindings/. */
extern int (*gp_record_stack)(gp_frame *frame, int max, const char **module);

/* dtype, ndim and dims of each of the call's tensors, packed and interned in p; NULL when out of
 * memory. */
const char *gp_rec_keep_shapes(gp_prof *p, const gp_call *c);
/* The shapes of an op's tensors; NULL for other events, and without opts.shapes. */
static inline const char *gp_rec_op_shapes(const gp_rec *r) {
    return r->kind == GP_REC_OP ? r->shapes : NULL;
}
/* Writes "f32 2x3, f32 3" from rec->shapes, "" for NULL: at most n bytes, cut; returns buf. */
char *gp_rec_shapes(const char *shapes, char *buf, size_t n);
/* Whether rec->shapes has a dim of that size; false for NULL. */
bool gp_rec_has_dim(const char *shapes, int64_t dim);
/* The kind as scripts see it: "op", "copied"; static. */
const char *gp_rec_kind_name(gp_rec_kind kind);
/* The name as tables and traces show it: "add_", "wait: item". */
char *gp_rec_name(const gp_rec *r, char *buf, size_t n);
/* Where a copy of that name goes, as gpush, CUDA's and ROCm's tools write it; D2D for others. */
gp_copy_kind gp_copy_direction(const char *name);

/* Whether r has a reason and a form. */
static inline bool gp_rec_has_why(const gp_rec *r) {
    return r->kind == GP_REC_WAIT || r->kind == GP_REC_READ;
}

/* Iterates a track: for (gp_cursor at = gp_first(t); gp_rec *r = gp_next(&at);) */
typedef struct gp_cursor {
    gp_chunk *chunk;
    int i;
} gp_cursor;
static inline gp_cursor gp_first(const gp_track *t) { return (gp_cursor){t ? t->first : NULL, 0}; }
/* Whether a device did it: a kernel, or a copy itself. */
static inline bool gp_rec_is_work(const gp_rec *r) {
    return r->kind == GP_REC_KERNEL || r->kind == GP_REC_MOVED;
}
/* The number of an event within its track, from 1 on; 0: it is not there. */
int64_t gp_track_number(const gp_track *t, const gp_rec *r);
/* Notes in p the card that sim stands in for now, and how it is named; false when out of memory. */
bool gp_prof_note_model(gp_prof *p);
/* At its end: of which ops' times that card's are bounds; and where nothing ran on it, and the
 * host's time was not counted, that no time is modelled. */
bool gp_prof_end_model(gp_prof *p);
/* Notes in p the list of ops whose modelled times are bounds, "" for none; NULL: those since its
 * start. False with a message. */
bool gp_prof_note_bounds(gp_prof *p, const char *list);
/* Fails since p was recorded without `what`, for which gpush's own profiler has the option `own`,
 * and PyTorch's the option `torch`: "WHO needs ...". Returns NULL. */
void *gp_prof_fail_lacking(const gp_prof *p, const char *who, const char *what, const char *own,
                           const char *torch);
/* How many events of t and the tracks after it there are for which is() is true. */
int gp_count_recs(const gp_track *t, bool (*is)(const gp_rec *));
/* The same on the tracks of that rank; -1: on all. */
int gp_count_rank_recs(const gp_track *t, int rank, bool (*is)(const gp_rec *));
/* How many calls of p's launched kernels, where it has no kernel at all; else 0. */
uint64_t gp_lost_launches(const gp_prof *p);
/* When the last event of that rank, or of any, ended on t and the tracks after it; p->t0: none. */
uint64_t gp_last_end(const gp_prof *p, const gp_track *t, int rank);
/* Whether a reader that has come to its n-th event is to stop, for Ctrl-C: it looks at every
 * 16,384th. Readers end within 100 ms, and say why by gp_prof_fail. */
static inline bool gp_prof_stops(uint64_t n) { return n % 16384 == 0 && gp_thread_stopped(); }
/* Fails as what, "interrupted" after Ctrl-C, else "out of memory". */
bool gp_prof_fail(const char *what);

/* When r ended; events still open at the end of the profiled code ended with it. */
static inline uint64_t gp_rec_end(const gp_prof *p, const gp_rec *r) {
    uint64_t t1 = r->t1 ? r->t1 : p->done;
    return t1 < r->t0 ? r->t0 : t1;
}
static inline gp_rec *gp_next(gp_cursor *at) {
    while (at->chunk && at->i >= at->chunk->n) at->chunk = at->chunk->next, at->i = 0;
    return at->chunk ? &at->chunk->rec[at->i++] : NULL;
}

/* Counts the time in which the streams of asynchronous devices ran kernels and copies, for timeit:
 * ns since the last reset, summed over all streams and devices. Active from gp_busy_on(true) to
 * gp_busy_on(false), also during a profile. */
void gp_busy_on(bool on);
uint64_t gp_busy_ns(bool reset);
/* Whether sim's devices have had a part in it since the last call. */
bool gp_busy_sim(void);

#endif
