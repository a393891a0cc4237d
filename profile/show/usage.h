/* What the devices of a profile did over its time: busy and idle, what was queued, and what the
 * host's waits left them without. Definitions are HolisticTraceAnalysis 0.5's where it has them.
 */
#ifndef GP_USAGE_H
#define GP_USAGE_H

#include "profile/record/record.h"

/* Whether r is a kernel that communicates with other ranks, by its name. */
bool gp_rec_is_collective(const gp_rec *r);
/* Whether it is one that a thread of the host runs, and no device. */
bool gp_rec_runs_on_host(const gp_rec *work);

/* A kernel or a copy. */
typedef struct gp_work {
    const gp_rec *rec;
    const gp_rec *host; /* what queued it; NULL: not on the record */
    uint64_t launch;    /* when; rec->t0 where that is unknown */
    bool before;        /* it was queued before the record, and launch is the record's begin */
    bool alone;         /* host queued nothing else, as a graph's launch does */
    int stream;         /* in gp_usage.stream */
} gp_work;

typedef struct gp_usage_stream {
    gp_stream *stream;
    int rank;
    int from, to;                      /* of gp_usage.work */
    uint64_t *launches, *ends, *reach; /* sorted; reach: by work, the latest end up to it */
} gp_usage_stream;

typedef struct gp_usage {
    const gp_prof *p;
    int nwork, nstreams;
    gp_work *work;           /* by stream, and by start */
    gp_usage_stream *stream; /* by rank, device and index */
    uint64_t *sorted;        /* what the streams' lists lie in */
} gp_usage;

/* NULL with a message when out of memory. It reads p, which must outlive it. */
gp_usage *gp_usage_new(const gp_prof *p);
void gp_usage_free(gp_usage *u); /* NULL is fine */
/* ns of work that was queued before the record. */
uint64_t gp_usage_before(const gp_usage *u);

/* Whether p, without any wait, says that there was none: a trace of another program does where it
 * has calls of CUDA's or HIP's runtime, whose waits are known. */
bool gp_waits_known(const gp_prof *p);

/* A device's time from its first start to its last end, in ns: idle, a kernel ran that computes, or
 * only copies, fills and collectives ran (HTA's temporal breakdown). */
typedef struct gp_device_usage {
    gp_device *dev;
    int rank, streams; /* its streams are those from the one that `first` is */
    int first;
    uint64_t span, idle, compute, other;
    uint64_t kernels, copies; /* sums of their durations */
    uint64_t nkernels, ncopies;
    uint64_t nshort; /* kernels that took less than the calls that launched them alone */
    uint64_t collective, beside; /* collectives ran; and beside them kernels that compute */
} gp_device_usage;
/* malloc'd, by rank and device; *n of them. NULL with a message when out of memory. */
gp_device_usage *gp_device_usages(const gp_usage *u, int *n);

enum { GP_SLOW_CALL_NS = 50000, GP_LATE_NS = 100000 }; /* HTA's limits for outliers */
/* The launches of one kind of call on a device, of loaded traces, which have such calls (HTA's
 * launch statistics). A delay is from a call's end to the begin of its first work, 0 where that
 * came before. */
typedef struct gp_launches {
    const char *name; /* the call; "" of those that then waited for their copy */
    gp_device *dev;
    int rank;
    uint64_t times, work;                     /* calls; kernels, copies and fills by them */
    uint64_t call, call_most, busy;           /* ns: of calls, the longest, and of their work */
    uint64_t delay, delay_median, delay_most; /* ns */
    uint64_t nshort, nslow, nlate; /* whose only work took less than they; calls of more than
                                      GP_SLOW_CALL_NS; delays of more than GP_LATE_NS */
} gp_launches;
/* malloc'd, by rank, device and name; *n of them. NULL with a message when out of memory. */
gp_launches *gp_launches_of(const gp_usage *u, int *n);

enum { GP_KERNEL_WAIT_NS = 30000 }; /* gaps below are the launch's own: "kernel wait" */
/* A stream: its busy time, and the gaps between its work by why (HTA's idle time breakdown): the
 * host queued it only after the last had ended, the launch's own delay, or another reason. Changes
 * of its queue's length, which a launch adds to and a start takes from: mean, deviation and
 * quartiles are over the changes, not over time (HTA's queue length summary). */
typedef struct gp_queue {
    uint64_t busy, host_wait, kernel_wait, other;
    int changes;
    double mean, deviation, quartile[5]; /* minimum, quarter, median, three quarters, maximum */
} gp_queue;
/* A change of a stream's queue, and how much is queued from then on. */
typedef struct gp_queue_change {
    uint64_t t;
    int length;
} gp_queue_change;
/* malloc'd, by time; *n of them. NULL with a message when out of memory. */
gp_queue_change *gp_queue_changes(const gp_usage *u, int stream, int *n);
/* False with a message when out of memory. */
bool gp_queue_of(const gp_usage *u, int stream, gp_queue *q);

/* A wait of the host. */
typedef struct gp_wait_cost {
    uint64_t drained; /* work that was queued and not done when it began */
    uint64_t idle;    /* how long the device then had nothing to do, at most the wait itself, ns */
} gp_wait_cost;
/* The cost of a wait that a thread of that rank made. */
gp_wait_cost gp_wait_cost_of(const gp_usage *u, int rank, const gp_rec *wait);

#endif
