/* A record while it is made of a trace: build.c makes it, host.c the part of the host's threads. */
#ifndef GP_LOAD_KINETO_BUILDER_H
#define GP_LOAD_KINETO_BUILDER_H

#include "profile/load/kineto/kineto.h"
#include "profile/load/kineto/map.h"

enum { KINETO_DEPTH = 1024 }; /* of nested host events; deeper ones enclose nothing */

/* An open event of the host. */
typedef struct kineto_open {
    const kineto_event *e;
    gp_rec *rec;                  /* of an op or a region */
    const gp_stack *base, *stack; /* PYTHON: the lines that called, and with its own */
    const char *module;           /* PYTHON: "Net_0.Linear_1", the module that runs; NULL */
    const char *library;          /* PYTHON: what runs for a line of the script, "print"; NULL */
    int python, region;           /* the innermost open ones, itself included; -1: none */
    bool profiles;                /* PYTHON: within the profiler's own work */
    bool reads;                   /* OP: it has been noted as what would wait on a card */
} kineto_open;

typedef struct kineto_builder {
    kineto *k;
    gp_prof *p;
    int rank;
    bool several;
    int64_t shift;
    uint64_t *ids;
    kineto_map calls, work, syncs,
        ops;           /* by correlation; ops: by external id, where work needs them */
    kineto_map first;  /* the first run of each op, by its name */
    int64_t last_sync; /* when the host began to wait for a whole device last */
    int64_t last_op;   /* when the last op, or call that queues work, was over */
    bool runs;         /* there are any */
    bool has_work;     /* a device ran something, */
    bool has_ops;      /* and the host's ops are on the trace */
    int *order;        /* events: of the host by thread and time, then the devices' */
    int *thread;       /* threads in the order of their tracks */
    const char *kind;
    gp_device *device[64]; /* by number, those that were met */
    gp_track *track;
    kineto_open open[KINETO_DEPTH];
    int depth;
    gp_stream *last;  /* of the last work that the thread queued; NULL */
    const char *copy; /* the last copy that it queued, NULL: none; and when */
    int64_t copied_at;
    const gp_stream *number;    /* which its last call gave a copy of a number to the host; NULL */
    int batches;                /* that loaders handed out; */
    gp_rec *batch;              /* the last one; NULL */
    uint64_t frames;            /* of Python, of the main thread */
    int printing;               /* as gp_kineto_printing */
    const char *op, *op_before; /* the last two that are in no other; NULL */
    int64_t step_end, last_end; /* of the last step of the profiler's, and of anything else */
    /* Of the rank's main thread: up to `at`, for the last script_ns, the script was in `function`,
     * in that stack; NULL: in an op or a library. */
    bool is_main;
    int64_t at, script_ns;
    const gp_stack *script;
    const kineto_event *function;
    const char *library;  /* that runs for it, as kineto_open's */
    struct kineto_named { /* by a part of the name's address: the last such name */
        const char *name;
        bool exchanges; /* as gp_kineto_exchanges */
    } named[256];
} kineto_builder;

static inline bool kineto_no_memory(kineto_builder *b) {
    return gp_json_fail(b->k->j, "out of memory");
}
static inline int64_t kineto_end(const kineto_event *e) { return e->t0 + e->dur; }

/* device -1: the host's own. NULL after a failure. */
gp_device *kineto_device_at(kineto_builder *b, int device);
/* stream -1: of a wait for all of a device. NULL after a failure. */
gp_stream *kineto_stream_at(kineto_builder *b, int device, int stream);
/* The innermost frame of Python that runs at t, of the first `depth` open events; -1: none. Under a
 * region, which may end later than the frame that opened it, lie frames that have ended. */
int kineto_python_at(const kineto_builder *b, int depth, int64_t t);
/* Whether a frame of Python for which is() holds runs at t. */
bool kineto_runs_in(const kineto_builder *b, bool (*is)(const char *), int64_t t);
/* Whether an op or a call runs at t, and no function of the user's in it. */
bool kineto_in_op(const kineto_builder *b, int64_t t);
/* The main thread goes on to t: where it is in the script until then becomes samples, the last one
 * once kineto_script_flush() adds it. */
bool kineto_script_until(kineto_builder *b, int64_t t);
bool kineto_script_flush(kineto_builder *b);
/* A new event with e's name and times; NULL after a failure. */
gp_rec *kineto_append(kineto_builder *b, gp_track *t, const kineto_event *e, gp_rec_kind kind);
/* Adds an event of the thread whose track is b->track, in the order of their starts; and what is
 * left at its end. */
bool kineto_add_host(kineto_builder *b, kineto_event *e);
bool kineto_end_host(kineto_builder *b);

#endif
