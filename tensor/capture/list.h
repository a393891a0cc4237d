/* What a capture is made of; only the files of tensor/capture know it. */
#ifndef GP_CAPTURE_LIST_H
#define GP_CAPTURE_LIST_H

#include "tensor/capture/capture.h"
#include "tensor/device/stream/replay.h"

enum {
    GP_CAPTURE_INPUTS = 16,
    GP_CAPTURE_RESULTS = 16,
    GP_CAPTURE_LANES = 9 /* streams of a function: the caller's first, and those of its forks */
};

/* Where the memory of a storage is in a replay. */
typedef enum gp_capture_slot_kind {
    GP_SLOT_OURS,  /* in the capture's own block */
    GP_SLOT_FIXED, /* where it was: it is no result of the calls, or was there before */
    GP_SLOT_INPUT, /* in an input */
    GP_SLOT_GIVEN  /* in a new storage for each replay: a result, or a gradient */
} gp_capture_slot_kind;

/* A storage that the recorded calls use. */
typedef struct gp_capture_slot {
    uint8_t kind;               /* gp_capture_slot_kind */
    bool made;                  /* during the recording */
    bool dead;                  /* made, and nobody held it any more before the recording ended */
    bool read, written, filled; /* filled: its first access was a write of all of it */
    bool pinned;                /* INPUT: each replay must be given this storage */
    int writes;                 /* calls that write it */
    int first, last;            /* calls that use it; -1: none */
    int lane;                   /* of all calls that use it; -1: none; GP_CAPTURE_LANES: several */
    int writer, reader[GP_CAPTURE_LANES]; /* the last calls so far; -1: none */
    gp_storage *st;                       /* FIXED: a reference; else where it was */
    gp_device *dev;
    char *data;       /* its address when it was recorded; of an input, that of the tensor */
    size_t bytes, at; /* OURS: place in the block */
    int dynamic;      /* INPUT, GIVEN: number among the addresses of a replay */
    bool result;      /* GIVEN: of a result, not only of a gradient */
    int next;         /* in its bucket; -1 */
} gp_capture_slot;

/* An array of a call that is elsewhere in each replay. */
typedef struct gp_fixup {
    int array, dynamic;
    ptrdiff_t offset;
} gp_fixup;

/* A recorded call: its arrays follow it, then a slot and an offset for each of them. */
typedef struct gp_recorded {
    gp_call call;
    gp_kernel kernel; /* the cpu's */
    int narrays;
    int nfixups;
    gp_fixup *fixup;
    int lane, after[GP_CAPTURE_LANES]; /* the last calls of other lanes that it must follow; -1 */
    bool single;                       /* it ran on a worker of the cpu, on one thread */
    bool varies;                       /* something of it differs from replay to replay */
    bool draws;                        /* its seed and counter are the generator's */
    int seed;                /* the argument that is a seed, which its counter follows; 0: none */
    uint64_t drawn, counter; /* those counters, from the generator's on */
    int numbers, nnumbers;   /* its first among the capture's, and how many */
    int *slot;               /* of each array; -1: its memory is not read */
    gp_array array[];
} gp_recorded;

/* A tensor that a replay gives. */
typedef struct gp_capture_output {
    enum { GP_GIVE_NONE, GP_GIVE_SAME, GP_GIVE_INPUT, GP_GIVE_ARRAY } how;
    gp_tensor *same; /* GIVE_SAME: a reference */
    int input;       /* GIVE_INPUT */
    int slot;        /* GIVE_ARRAY */
    ptrdiff_t offset;
    gp_array a;
} gp_capture_output;

/* A leaf whose gradient the function reads or replaces. */
typedef struct gp_captured_leaf {
    gp_leaf *leaf;     /* a reference; of an input: that of the recording */
    int input;         /* whose leaf it is; -1 */
    bool read;         /* before it was replaced */
    gp_tensor *before; /* a reference */
    gp_srcloc loc;
    gp_capture_output after;
} gp_captured_leaf;

/* Consecutive calls of one lane. */
typedef struct gp_capture_span {
    int first, n, lane;
    int after[GP_CAPTURE_LANES]; /* by lane: the part that it follows; -1 */
} gp_capture_span;

/* Consecutive calls: one graph; or, NULL, launched one by one. */
typedef struct gp_segment {
    int first, n;
    void *graph;
} gp_segment;

/* The graphs of a device that has them: at addresses of their own, to and from which inputs and
 * results are copied. */
typedef struct gp_capture_graphs {
    gp_stream *stream; /* where they were made, and are launched */
    uint64_t upto;     /* its commands up to this one may be theirs */
    int nsegments;
    gp_segment *segment;
    gp_storage **own; /* by dynamic */
    char **address;   /* likewise */
} gp_capture_graphs;

struct gp_capture {
    gp_stream *stream; /* the caller's; during the recording that of the first call; NULL: none */
    gp_srcloc loc;     /* of the first call */
    int ncalls, calls_capacity;
    gp_recorded **call;
    gp_stream *home[GP_MAX_DEVICES]; /* the caller's, by the slot of their device; NULL: default */
    int nlanes;
    gp_stream *lane[GP_CAPTURE_LANES]; /* references; the first is the caller's in the recording */
    int nparts;                        /* in an order in which each follows those that it must */
    gp_capture_span *part;
    int nslots, slots_capacity;
    gp_capture_slot *slot;
    int *bucket; /* slots by the address of their storage; NULL after the recording */
    int ninputs, nresults;
    gp_tensor like[GP_CAPTURE_INPUTS];   /* the inputs' arrays and requires_grad; no references */
    gp_tensor *input[GP_CAPTURE_INPUTS]; /* references, while it is recorded */
    int input_slot[GP_CAPTURE_INPUTS], arg[GP_CAPTURE_INPUTS];
    gp_capture_output result[GP_CAPTURE_RESULTS];
    int nleaves, leaves_capacity;
    gp_captured_leaf *leaf;
    int nnumbers, numbers_capacity;
    int *number; /* the argument of its call that is one */
    int no_grad;
    gp_rng rng; /* at the beginning */
    uint64_t draws;
    int nseen; /* counters that the script has read */
    uint64_t seen[8];
    int ndynamic;
    int *dynamic; /* slots */
    int noutside;
    int *outside;                     /* slots that are FIXED, or INPUT */
    gp_storage *block;                /* of the slots that are OURS; NULL: no calls */
    struct gp_capture_graphs *graphs; /* NULL: none were made */
    bool no_graphs;                   /* none can be */
    atomic_int queued;                /* replays that a queue still holds */
    bool failed;      /* something in the function was refused, though it may have gone on */
    bool again;       /* a second recording may succeed */
    gp_capture *dead; /* list of those to be freed */
};

/* Notes the streams that are current when a recording begins; that of its device is lane 0. */
void gp_capture_note_homes(gp_capture *k);
void gp_capture_add_home(gp_capture *k, gp_device *dev);
/* Sets the lane of r, which was launched on s; it follows no call yet. */
void gp_capture_begin_call(gp_capture *k, gp_recorded *r, gp_stream *s);
/* r must follow that call, if it is another one; -1: none. */
void gp_capture_follow(const gp_capture *k, gp_recorded *r, int call);
/* Divides the recorded calls into parts, and orders them by these. False with a message. */
bool gp_capture_divide(gp_capture *k);
void gp_capture_free_lanes(gp_capture *k);
typedef bool (*gp_run_part)(const gp_replay_values *v, const gp_capture_span *e, gp_stream *s);
/* Runs all parts on their streams, in order where one needs another; home's later work follows
 * them. False with a message. */
bool gp_capture_run_parts(const gp_replay_values *v, gp_stream *home, gp_run_part run);

/* Whether a replay on these inputs may do what was recorded; false with a message. */
bool gp_capture_same(const gp_capture *k, gp_tensor *const *in);
/* Whether the gradients that the function reads are there. Sets the leaves of this replay. False
 * with a message. */
bool gp_capture_same_leaves(const gp_capture *k, gp_tensor *const *in, gp_leaf **leaf);

/* Launches a copy of call i on s, or runs it there, under the eyes of observers. False with a
 * message. */
bool gp_capture_launch(const gp_replay_values *v, int i, gp_stream *s);

/* Whether k's graphs can run on s now; makes them at the first call. leaf: those of k. */
bool gp_capture_graphs_ready(gp_capture *k, gp_stream *s, gp_leaf *const *leaf);
/* Launches the graphs, and the calls between them. False with a message. */
bool gp_capture_graphs_launch(const gp_replay_values *v);
/* Copies the input t to where the graphs read it, and what they gave to a new storage. */
bool gp_capture_graphs_copy(gp_storage *to, gp_storage *from, size_t bytes, size_t from_offset);
/* Whether no queue needs the graphs any more. */
bool gp_capture_graphs_done(const gp_capture *k);
void gp_capture_graphs_free(gp_capture *k);

#endif
