/* Where a record's time went: its critical path, why its devices were idle, and what each wait cost
 * beyond itself. */
#ifndef GP_PATH_H
#define GP_PATH_H

#include "profile/replay/job.h"

typedef enum gp_path_kind {
    GP_PATH_SCRIPT,  /* the host, outside of ops */
    GP_PATH_HOST,    /* the host, in an op: it launched it, or computed it */
    GP_PATH_DEVICE,  /* a kernel or a copy ran */
    GP_PATH_LATENCY, /* a command began later than it could: launch latency, or a gap */
    GP_PATH_WAIT,    /* the host went on later than it could, or waited for what is not recorded */
    GP_PATH_LOADER,  /* the host waited for a loader's batch */
    GP_PATH_KINDS
} gp_path_kind;

/* A part of the path: rec is one of its events, NULL for SCRIPT. */
typedef struct gp_path_part {
    gp_path_kind kind;
    int rank; /* its place in the job */
    const gp_rec *rec;
    uint64_t ns, times;
} gp_path_part;
/* What parts of a path are merged by. */
typedef enum gp_path_by { GP_PATH_BY_OP, GP_PATH_BY_LINE, GP_PATH_BY_RANK } gp_path_by;

/* The chain of host segments, commands and waits that ends last and each of which ended the one
 * before: shortening anything else changes nothing. From a collective it goes on in the rank that
 * came last. Merged by op (by source line, or by rank), the longest first; their ns add up to the
 * wall time of the rank that ended last. malloc'd; NULL with a message when out of memory, or where
 * ranks differ in the order of their collectives. */
gp_path_part *gp_critical_path(const gp_job *job, gp_path_by by, int *n);

/* ns of a rank's wall time, by what all its devices together did; they add up to it. */
typedef struct gp_idle {
    uint64_t kernels, copies; /* a kernel ran; only copies did */
    uint64_t latency;         /* none ran, but one was queued */
    uint64_t waiting;         /* nothing was queued, and the host was in a wait */
    uint64_t loader;          /* nothing was queued, and the host waited for a loader's batch */
    uint64_t op, script;      /* nothing was queued: the host was in an op; or in the script */
    double depth;             /* mean number of commands queued or running */
    int most;                 /* at one time */
} gp_idle;
/* False with a message when out of memory. */
bool gp_idle_times(const gp_timeline *t, gp_idle *idle);

/* The script's time, ns, between launches that follow each other without a wait, and with at most
 * 200 us of it between them: what a graph, which replays launches, leaves out. Where half of that
 * lies between two kernels, more than 50 us each time, it is what the script does there. */
uint64_t gp_between_launches(const gp_timeline *t);

/* The time in which a stream ran something, and when that ended last, in ns. */
typedef struct gp_busy {
    uint64_t ns, end;
} gp_busy;
/* Those of each of the nstreams streams, in one pass. */
void gp_streams_busy(const gp_timeline *t, gp_busy *of);

/* A source line's waits, and what the record would take less without them. */
typedef struct gp_saving {
    const gp_rec *rec;             /* the first of those that it waited for most */
    uint64_t times, waited, saved; /* ns */
    uint64_t at_most;              /* as gp_job_saved_at_most */
    bool mixed;                    /* it has waited for something else, too */
} gp_saving;
/* Orders events by their source lines or, where none is known, by what they are. */
int gp_compare_sources(const gp_rec *x, const gp_rec *y);
/* How much sooner the job ends with w than on the record, and, unless rank is NULL, each rank.
 * False with a message as gp_job_times. */
bool gp_job_saved(gp_job *job, const gp_whatif *w, uint64_t *ns, uint64_t *rank);
/* Whether the host waited for batches of worker processes, which are not on the record: then
 * gp_job_saved says what is saved at least. */
bool gp_job_awaits_workers(const gp_job *job);
/* And what at most, where these were fast enough; and where `vague`, so that streams may have
 * worked beside each other more than they did, with that; 0: the job awaits none, and is not vague.
 */
bool gp_job_saved_at_most(gp_job *job, const gp_whatif *w, bool vague, uint64_t *ns);
/* Of the 64 lines that waited longest, in all ranks together, by what the job would take less
 * without them in each; all->saved, ->at_most: by leaving out all that a script can avoid, and
 * rank[i], unless NULL: how much sooner that rank would then end. Waits that were asked for, and
 * full queues, are no such. malloc'd; NULL with a message when out of memory, or where gp_job_times
 * fails. */
gp_saving *gp_savings(gp_job *job, int *n, gp_saving *all, uint64_t *rank);
/* The rank that ends last; and when, on the record's clock. */
const gp_timeline *gp_job_last(const gp_job *job);
uint64_t gp_job_end(const gp_job *job);

#endif
