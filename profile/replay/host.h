/* What the host did beside its waits, over a record's time. */
#ifndef GP_REPLAY_HOST_H
#define GP_REPLAY_HOST_H

#include "profile/record/record.h"

struct gp_timeline;

typedef enum gp_host_activity {
    GP_HOST_SCRIPT, /* no op was open */
    GP_HOST_LAUNCH, /* in an op that queued work for a device, or that enclosed one that did; or in
                       any other call of a device's runtime */
    GP_HOST_CPU,    /* in an op that the host computed itself */
    GP_HOST_SETUP,  /* in a call of a device's runtime beside which no device worked, and which is
                       long, or makes memory or gives it back, makes a stream or a
                       graph, or loads code, and does not come again in the steps; in the first run
                       of an op that took far  longer than the others; in a first use */
    GP_HOST_PROFILER,   /* torch.profiler itself worked */
    GP_HOST_COLLECTIVE, /* in an op that queued a collective which the host runs */
    GP_HOST_MEMORY, /* in a call of a device's runtime that makes memory or gives it back, and comes
                       again in the steps */
    GP_HOST_BETWEEN, /* of a trace without ops: in no call */
    GP_HOST_LOADER,  /* it made a loader's batch, or waited for one */
    GP_HOST_ACTIVITIES
} gp_host_activity;

/* An op that queues nothing is taken to have computed where it lasted so long, ns: a view or an
 * allocation takes a few us. */
enum { GP_CPU_OP_NS = 30000 };
/* A call of the runtime that lasts longer, ns, and waits for no device, sets something up where the
 * kernel that it launches, or one of its op's, has not run before, or no call of its name has: a
 * launch takes some 10 us. A kernel that has run is loaded: what took that time is not known. */
enum { GP_SETUP_NS = 1000000 };
/* An op's first run, of its shapes where they are known, sets something up where its own time with
 * idle devices is at least GP_SETUP_NS and GP_FIRST_USE times that of the op's median run: a
 * library's handle, its choice of an algorithm, a kernel's code. So does that of a kernel, or of an
 * op that the host computes, which takes GP_FIRST_USE times what 9 of 10 runs like it do: threads
 * begin, memory is touched first. */
enum { GP_FIRST_USE = 10 };

/* A run of an op, or of one of its kernels. Runs are alike where name, line, shapes, cost and
 * kernel are. */
typedef struct gp_run {
    const gp_rec *op;
    const char *kernel; /* NULL: of the op itself */
    uint64_t t0, ns;
    int of; /* the caller's */
} gp_run;

/* Calls found(run, extra, with) for the first runs of those that are alike which take GP_SETUP_NS
 * and GP_FIRST_USE times what 9 of 10 of the others do; extra: ns more than their median. Sorts
 * run. False when out of memory. */
bool gp_find_first_runs(gp_run *run, int n, void (*found)(const gp_run *, uint64_t, void *),
                        void *with);

/* Whether r is a step: of the profiler's schedule, or of PyTorch's. */
bool gp_rec_is_step(const gp_rec *r);

/* When a record's steps begin, in order; and its time. */
typedef struct gp_steps {
    const uint64_t *begin;
    int n;
    uint64_t t0, t1;
} gp_steps;

/* Calls found(run, with) for those of n runs of one call in ops of one name, kernel and op, that
 * come again: in at least half of the steps, two, and one of the later half; where the record has
 * not several steps, in each third of its time. Sorts run. */
void gp_find_recurring(gp_run *run, int n, const gp_steps *s, void (*found)(const gp_run *, void *),
                       void *with);

/* From t on, until the next one, the host did that. */
typedef struct gp_host_part {
    uint64_t t;
    const gp_rec *rec; /* the innermost event that was open, of a call that queues its op; NULL */
    gp_host_activity part;
    bool computes; /* rec is an op of an own record, and queues nothing: the time is its own */
} gp_host_part;

/* What an event queued: commands of a device, and collectives that the host runs. */
enum { GP_QUEUED_DEVICE = 1, GP_QUEUED_HOST = 2 };
int gp_queued_where(const gp_rec *work);

/* Events with ids, which increase, what each queued, whether that was a kernel or a copy of a name
 * that had not been queued before, and, which gp_host_parts sets, whether each is of GP_HOST_SETUP.
 */
typedef struct gp_queueing {
    const gp_rec *const *event;
    const uint8_t *queues;
    const bool *fresh;
    bool *sets_up;
    int n;
} gp_queueing;

/* Of the threads that count for t: the one that was recorded, or all of a loaded trace. Where
 * several threads do different things, a loader comes first, then set-up, launches, and the
 * host's own ops. malloc'd, in the order of time; *n of them. NULL when out of memory. */
gp_host_part *gp_host_parts(const struct gp_timeline *t, const gp_queueing *by, int *n);

#endif
