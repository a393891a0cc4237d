/* Traces of torch.profiler (Kineto): Chrome traces whose events read.c reads as they are, and of
 * which build.c makes a record. */
#ifndef GP_LOAD_KINETO_H
#define GP_LOAD_KINETO_H

#include "profile/load/reader.h"

/* What an event is, from its category; names of all versions. */
typedef enum kineto_kind {
    KINETO_OTHER, /* also what has become a part of another event */
    KINETO_OP,
    KINETO_REGION,
    KINETO_CALL, /* of the runtime or the driver */
    KINETO_PYTHON,
    KINETO_KERNEL,
    KINETO_COPY,       /* or fill */
    KINETO_SYNC,       /* on the device: a call of the same correlation waited for it */
    KINETO_COLLECTIVE, /* that a thread of the host runs */
    KINETO_JOIN,       /* a thread waited for one; these are not in the file */
    KINETO_MEMORY
} kineto_kind;

enum { KINETO_NONE = -2 }; /* no device or stream is given */

/* An event of a trace; times in ns, as in the file. */
typedef struct kineto_event {
    int64_t t0, dur;
    const char *name;
    const char *shapes;    /* OP; of KERNEL its gp_geometry, NULL: not given */
    const gp_stack *stack; /* OP: from its text; PYTHON: its own frame. The user's code only */
    const gp_stack *from;  /* PYTHON: the line that called it */
    const char *op;        /* CALL: the op or region around it, once the host is built */
    int64_t correlation, external; /* -1: none */
    int64_t bytes;                 /* SYNC: the stream that is waited for, below 0: not given */
    int64_t at; /* MEMORY: bytes in use afterwards; CALL, OP: the id in the record; SYNC: the
                   correlation of the call that recorded the event, KERNEL: blocks per
                   multiprocessor, in millionths, -1: not given */
    int thread; /* of the host */
    int device, stream;
    uint8_t kind;
    int8_t occupancy; /* KERNEL: estimated, %; -1: not given */
} kineto_event;

typedef struct kineto_thread {
    const char *pid, *tid, *name; /* interned; name: NULL */
    int events;
    bool has_steps, main_of_process;
} kineto_thread;

/* One file. */
typedef struct kineto {
    gp_json *j;
    gp_intern *names;
    kineto_event *event;
    int n, capacity;
    kineto_thread *thread;
    int nthreads, thread_capacity;
    int64_t base;              /* ns, added to all times; 0 */
    int64_t end;               /* of the whole recording, as the trace has it; only where has_end */
    bool has_list, has_device; /* a list of devices, and one: in it, by a call of its runtime, or by
                                  memory there */
    bool has_base, has_end, has_shapes, has_stacks, has_lines, has_memory, hip;
    const char *maker;            /* of the runtime, by its calls' category: "cuda", "xpu"; NULL */
    int rank;                     /* -1: not given */
    const char *device;           /* the first device's name; NULL */
    const char *writer;           /* whose trace it is; NULL: torch.profiler's */
    bool other_devices;           /* others have another */
    int ignored, clamped, events; /* events: in the file */
    int64_t starved, usual, beside; /* as gp_prof's, which gpush record notes */
    int wrong; /* events that were left out since a field was missing, or of a wrong type, */
    const char *wrong_field;  /* that of the first; static */
    int64_t cut;              /* bytes read before the file ended too early; 0: it did not */
    const char *ignored_kind; /* category of the first that was ignored */
} kineto;

/* Reads the trace at j into k, of which j and names are set; of a file that is cut, the events
 * before that. False with a message. */
bool gp_kineto_read(kineto *k);
void gp_kineto_free(kineto *k);

/* The first start and the last end of k's events, in ns as in the file. */
void gp_kineto_extent(const kineto *k, int64_t *t0, int64_t *t1);
/* Whether the host did it. */
bool gp_kineto_on_host(const kineto_event *e);
/* Moves the steps that an optimizer's hook began, and sorts k's events, those of the host by thread
 * and time, then the devices', and its threads, the main one first: lists of their numbers,
 * malloc'd also where it fails, without memory. */
bool gp_kineto_sort(kineto *k, int **events, int **threads);
/* Makes one call of each loop that asks until something is over. order: as gp_kineto_sort's events.
 * False when out of memory. */
bool gp_kineto_polls(kineto *k, const int *order);
/* Adds k's events as those of a rank to p, with their times moved by `shift` ns, and advances *ids,
 * the ids given so far. several: p has other ranks, too. False with a message. */
bool gp_kineto_build(kineto *k, gp_prof *p, int rank, bool several, int64_t shift, uint64_t *ids);

/* Whether a region of that name is a collective that the host runs. */
bool gp_kineto_is_collective(const char *name);
bool gp_kineto_exchanges(const char *kernel);
/* Finds out what queued k's collectives, which get its external id and a stream of the host's, and
 * adds the waits for them. False with a message. */
bool gp_kineto_collectives(kineto *k);

/* What a call of the runtime waits for by its nature. FREE: as DEVICE, and gives memory back. */
typedef enum kineto_awaits {
    KINETO_NOTHING,
    KINETO_STREAM,
    KINETO_DEVICE,
    KINETO_FREE,
    KINETO_COPY_END
} kineto_awaits;
/* Of a call by its name: cuda's, hip's, cu's, or by its words one of another runtime. */
kineto_awaits gp_kineto_awaited(const char *call);
/* Whether the times show that a call waited for `work`, which it queued. */
bool gp_kineto_waits_for_copy(const kineto_event *call, const kineto_event *work);
/* Sets why and name of r, a wait in the op or call `what`, as torch.def has them. copy: the name of
 * the copy that it waited for, "Memcpy HtoD (Pageable -> Device)"; NULL: none, or not known. False,
 * and r is as it was: torch.def does not have it. */
bool gp_kineto_reason(const char *what, const char *copy, gp_rec *r);
/* Whether the host reads a result of that op itself, wherever it is computed. */
bool gp_kineto_reads(const char *op);
/* Whether what is read within that op or region is no read more: it is one itself, it reads on the
 * CPU only, or it is an optimizer of PyTorch that keeps its count of steps on the CPU. */
bool gp_kineto_reads_within(const char *op);
/* Whether a frame of Python, "FILE(LINE): FUNCTION", is of PyTorch's profiler. */
bool gp_kineto_is_profiler(const char *frame);
/* Whether it is where that works itself: it starts, stops or begins a step. */
bool gp_kineto_is_profiling(const char *frame);
/* Whether it is of PyTorch's loaders, whose tensors lie on the host. */
bool gp_kineto_is_data(const char *frame);
/* Whether such a frame is where PyTorch writes a tensor as text. */
bool gp_kineto_is_print(const char *frame);
/* Whether it is torch.cuda.synchronize. */
bool gp_kineto_is_synchronize(const char *frame);
/* Whether it is one of PyTorch's GradScaler. */
bool gp_kineto_is_scaler(const char *frame);
/* Whether it is a schedule's of learning rates. */
bool gp_kineto_is_scheduler(const char *frame);
/* The same by ops alone, for traces without frames: how far a thread is in the ops that write one
 * of floats, after `op`, which runs in no other, where it was at `so_far`, at first 0. From
 * KINETO_PRINTS on it writes one. */
enum { KINETO_PRINTS = 4 };
int gp_kineto_printing(int so_far, const char *op);
/* What such a frame, of Python or a library, does for the script ("queue.get"), as frames.def has
 * it; NULL: nothing of that. Static. */
const char *gp_kineto_library(const char *name);
/* What is used first in such a frame, "first use: torch.compile"; NULL: nothing. Static. */
const char *gp_kineto_first_use(const char *frame);
/* Whether an event of that name is a step of the profiler's schedule. */
bool gp_kineto_is_step(const char *name);
/* Whether what older versions write as an op of that name is Python's: a step, the loader, an
 * optimizer. */
bool gp_kineto_is_region(const char *op);
/* Whether op is a function of tensors, which the script or another op calls. */
bool gp_kineto_is_aten(const char *op);
/* Whether an event of that name is PyTorch's DataLoader handing out a batch. */
bool gp_kineto_is_loader(const char *name);
/* Whether an op's only work on the device is its memory. */
bool gp_kineto_makes_memory(const char *op);

/* "train.py(12): step" as a stack of one frame, with line -12; NULL where it is none of the user's
 * code, and without memory, where k has failed. */
const gp_stack *gp_kineto_frame(kineto *k, const char *text, size_t n);
/* s without its line, which becomes 0. NULL without memory, where k has failed. */
const gp_stack *gp_kineto_without_line(kineto *k, const gp_stack *s);
/* The same for "train.py:12". */
const gp_stack *gp_kineto_line(kineto *k, const char *text, size_t n);
/* The same for the user's frames of "a.py(1): f;b.py(2): g". */
const gp_stack *gp_kineto_stack(kineto *k, const char *text, size_t n);
/* The line `add` in that function and, under it, the frames of `under`, within that module; add,
 * function, module and under may be NULL. NULL when out of memory. */
const gp_stack *gp_kineto_join(gp_intern *names, const gp_stack *add, const char *function,
                               const char *module, const gp_stack *under);
/* The module that an event of Python's called `name` runs, "nn.Module: Linear_1" within the module
 * `in`: "Net_0.Linear_1"; otherwise `in`, also without memory, where k has failed. */
const char *gp_kineto_module(kineto *k, const char *in, const char *name);

/* Makes waits of the calls of p that waited for room in a full launch queue. False with a message
 * when out of memory. */
bool gp_kineto_full_queues(gp_prof *p);
/* Adds to p what streams waited for by events, once what devices did is on `work`; NULL: nothing.
 * shift is added to the file's times. False with a message. */
bool gp_kineto_orders(const kineto *k, gp_prof *p, const gp_track *work, int64_t shift);

#endif
