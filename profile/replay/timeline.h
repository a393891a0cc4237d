/* A record as what depends on what: the host's segments, launches and waits in order, and the
 * commands of each stream. Replays compute its times again. */
#ifndef GP_TIMELINE_H
#define GP_TIMELINE_H

#include "profile/record/record.h"
#include "profile/replay/host.h"
#include "profile/replay/loader.h"

/* What a command's start waited for last. */
typedef enum gp_gate { GP_GATE_LAUNCH, GP_GATE_STREAM, GP_GATE_ORDER, GP_GATES } gp_gate;

/* A kernel or a copy on a device. Times in ns on the record's clock. */
typedef struct gp_command {
    const gp_rec *rec;
    const gp_rec *host; /* the event that queued it; NULL: none was recorded, it began by itself */
    const gp_rec *op;   /* of an own record that event, or for a copy the op around; NULL: none */
    uint64_t end;       /* of rec */
    int stream;         /* in gp_timeline.stream */
    int previous;       /* on its stream; -1: none */
    int orders;         /* in gp_timeline.order: commands of others that it follows; -1: none */
    int after;          /* of these the one that ended last; -1: none */
    int meeting;        /* of job.h: with other ranks' commands; -1: none */
    uint64_t met;       /* when the last rank had come to that; 0: there is none */
    gp_gate gate;
    uint64_t launch;       /* when the host queued it, within the timeline's time */
    int64_t lag[GP_GATES]; /* from each of what it waits for to its start, at least: what was
                              measured for `gate`, and at most the record's median for others */
    uint64_t calling;      /* ns of lag[GP_GATE_LAUNCH] that are the call's which queued it, and
                              neither a wait's nor a loader's, */
    bool sets_up;          /* of GP_HOST_SETUP instead of GP_HOST_LAUNCH */
    uint64_t delay;        /* ns of its lag, after that, in which no device ran anything */
    uint64_t first_use;    /* ns of its own time that its first run took more than the others */
} gp_command;

typedef enum gp_step_kind {
    GP_STEP_OWNER, /* the host does something else from here on */
    GP_STEP_LAUNCH,
    GP_STEP_WAIT,
    GP_STEP_MAKE, /* the host makes a loader's batch itself, in the time `own` from here on */
    GP_STEP_TAKE  /* the host takes a loader's batch, which it may wait for */
} gp_step_kind;

/* A point in the host's time, which passes between the steps. They follow each other, and lie
 * within the time of the profiled code, wherever the record's events do. */
typedef struct gp_step_at {
    uint64_t t, t1; /* t1: WAIT, TAKE */
    gp_step_kind kind;
    gp_host_activity part; /* OWNER: what that is */
    bool computes;         /* OWNER: rec is an op whose own time it is */
    const gp_rec *rec;     /* OWNER: as in gp_host_part; WAIT, TAKE */
    int command;           /* LAUNCH; WAIT: what it waited for; TAKE: a part of the batch, in
                              gp_timeline.made; -1: nothing on the record */
    int64_t own, after;    /* WAIT, TAKE: from its begin to its end, at least; and from the end of
                              what it waited for */
    uint64_t calling;      /* WAIT of a call that queues work: what that takes without the wait */
} gp_step_at;

/* A command of another stream that one waits for; and the next such. */
typedef struct gp_order_at {
    int command, next; /* -1: none */
} gp_order_at;

/* A span in which devices ran something, and how long they had done so before. */
typedef struct gp_busy_span {
    uint64_t from, to, before;
} gp_busy_span;

typedef struct gp_timeline {
    const gp_prof *p;
    int rank; /* whose events these are, where p is of several; -1: all */
    int nhost, ncommands, nsteps, nstreams, norders, nmade;
    const gp_rec **host; /* the host's events by their start: of the thread that was recorded; of a
                            loaded trace all threads', which take turns as far as a replay knows */
    gp_command *command; /* in the order of launches */
    gp_step_at *step;    /* in the order of time */
    gp_stream **stream;
    gp_order_at *order;
    gp_busy_span *busy; /* in the order of time */
    int nbusy;
    gp_made *made;   /* by loaders' workers, in the order of tracks and of time; of own records */
    gp_made **batch; /* the same, by batch */
    gp_batch_request *request; /* by batch: in a pool the order of their times */
    int nrequests;
    uint64_t done;  /* when the host came to its end: p->done; of a rank that did not end last: its
                       last event's end */
    uint64_t t1;    /* p->t1, or when that rank's work ended */
    int64_t drain;  /* from the end of all work to t1; below 0 where clocks are apart */
    uint64_t ended; /* of the last command; 0: there is none */
} gp_timeline;

/* For timeline.c: the place among n events, by their ids, of the one with that id; -1: none. */
int gp_event_by_id(const gp_rec *const *event, int n, uint64_t id);
/* For timeline.c: notes which commands of other streams each one follows, once they are in order
 * and know their previous ones. event: those with ids. False when out of memory. */
bool gp_timeline_read_orders(gp_timeline *t, const gp_rec *const *event, int nevents);

/* For timeline.c: what of each command's launch, and of each wait, was its call's, once steps are
 * known. False when out of memory. */
bool gp_timeline_read_calls(gp_timeline *t);

/* For timeline.c: notes the first uses of kernels of own records, once commands are in order. False
 * when out of memory. */
bool gp_timeline_read_first_runs(gp_timeline *t);

/* For timeline.c: sets, by event, whether it queued the first command of a name, once they are in
 * order. False when out of memory. */
bool gp_timeline_read_fresh(const gp_timeline *t, const gp_rec *const *event, int nevents,
                            bool *fresh);

/* For timeline.c: reads t->busy from the commands. False when out of memory. */
bool gp_timeline_read_busy(gp_timeline *t);
/* Sets *ns to how long devices ran commands for which is() holds, without a collective's waiting
 * for other ranks. False when out of memory. */
bool gp_timeline_ran(const gp_timeline *t, bool (*is)(const gp_command *, const void *),
                     const void *with, uint64_t *ns);
/* How long, from `from` to `to`, no device ran anything, in ns. */
uint64_t gp_timeline_idle(const gp_timeline *t, uint64_t from, uint64_t to);

/* That of one rank, while the last event of the others ended at `others`; -1: of all of p, which is
 * of one. NULL with a message when out of memory. It reads p, which must outlive it. */
gp_timeline *gp_timeline_of_rank(const gp_prof *p, int rank, uint64_t others);
/* Whether a track is of t's rank. */
static inline bool gp_timeline_has(const gp_timeline *t, const gp_track *track) {
    return t->rank < 0 || track->rank == t->rank;
}
void gp_timeline_free(gp_timeline *t); /* NULL is fine */

#endif
