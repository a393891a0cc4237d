/* Replays: what a record's times would have been if a wait, a kernel's time or the host's had been
 * another. The device is predicted by what was measured: nothing runs. */
#ifndef GP_REPLAY_OF_RECORD_H
#define GP_REPLAY_OF_RECORD_H

#include "profile/replay/network.h"
#include "profile/replay/timeline.h"

/* A source line, or all lines of a file (line 0); or with `what`, wherever that waited, and with
 * line -1 only where no line is known. */
typedef struct gp_whatif_line {
    const char *file;
    int line;
    const char *what;
} gp_whatif_line;

enum { GP_WHATIF_WORKERS = 64 };

typedef struct gp_whatif_scale {
    const char *op; /* kernels' name in the table */
    double by;
} gp_whatif_scale;

/* What a run's time can be owed to. */
typedef enum gp_cause {
#define CAUSE(name, ...) GP_CAUSE_##name,
#include "profile/replay/cause.def"
    GP_CAUSES
} gp_cause;
/* "waits", "loader"; static. */
const char *gp_cause_name(gp_cause cause);
/* What a kernel or a copy is owed to, a wait, and what the host does beside waits; GP_CAUSES: to
 * none of them, as a wait for a full queue, or of torch.profiler's own. */
gp_cause gp_work_cause(const gp_rec *work);
gp_cause gp_wait_cause(const gp_rec *wait);
gp_cause gp_host_activity_cause(gp_host_activity part);

/* What is other than it was. Zero but for host: nothing. */
typedef struct gp_whatif {
    uint32_t without_whys;   /* waits of these reasons are left out: a bit for each gp_why */
    uint32_t without_causes; /* what is owed to these takes no time: a bit for each gp_cause */
    const gp_whatif_line *without; /* and waits of these lines */
    int nwithout;
    const gp_whatif_scale *scale; /* factors on the time of ops, wherever they ran */
    int nscale;
    double host;  /* factor on the host's time outside of waits, ops that it computes included; 1 */
    bool overlap; /* copies between host and device run beside kernels */
    int64_t batch, into; /* ops that have a dim of `batch`, as their shapes say, do into / batch
                            times the work, and so do loaders; 0: none */
    bool prompt; /* batches of worker processes, which are not on the record, come as long after the
                    host asks as they did; else they come when they came */
    bool beside; /* where a trace does not say what streams wait for, they may work beside each
                    other more than they did; else they may not */
    int workers; /* of each loader, which is asked for one batch more than it has workers; 0: those
                    of the record */
    const gp_card *card; /* devices' work takes this card's times, by the costs on the record; NULL:
                            those of the record */
    double card_share;   /* of the kernels' time, for which costs are known */
    const gp_network *network; /* collectives take the time of this one; NULL: what they took */
} gp_whatif;

/* The times of a replay: ns on the record's clock, from the same t0. */
typedef struct gp_replay_timings {
    uint64_t done, t1;
    uint64_t bound; /* ns of that which all else has ended before: what is not known to overlap */
    uint64_t *launch, *start, *end;  /* by command */
    uint64_t *made_start, *made_end; /* by part of a loader's batch; end 0: not known yet */
    int *made_by;                    /* and the worker, from 0, where w says how many there are: */
    int nassigned;                   /* of the parts by batch, those that have one */
    uint64_t opened;                 /* when the last one's pool was */
    uint64_t free_at[GP_WHATIF_WORKERS];   /* when each has made its last part so far; */
    uint64_t processor[GP_WHATIF_WORKERS]; /* and when each processor has computed its last */
    uint64_t *from, *to; /* the host's clock: to is what from has become; by point */
    int npoints, capacity;
} gp_replay_timings;

/* Whether a wait was for a copy of pageable memory: from pinned memory it takes less itself, by how
 * much a replay knows where p's copies take the times of a card's figures. */
bool gp_copies_are_modelled(const gp_prof *p);
bool gp_wait_is_pageable(const gp_rec *wait);
/* Whether w leaves out wait r. */
bool gp_whatif_drops(const gp_whatif *w, const gp_rec *r);
/* Whether line names wait r: by its line, in a file whose path ends in the given one, or by what
 * waited. */
bool gp_whatif_line_is(const gp_whatif_line *line, const gp_rec *r);

/* The factor on the time of op r. */
double gp_whatif_factor(const gp_whatif *w, const gp_rec *r);
/* That on op r's work by its batch; r may be NULL. */
double gp_whatif_growth(const gp_whatif *w, const gp_rec *r);

/* Kinds of predictions whose accuracy is known, or known not to be: accuracy.def. */
typedef enum gp_accuracy {
#define ACCURACY(kind, ...) GP_ACCURACY_##kind,
#include "profile/replay/accuracy.def"
    GP_ACCURACIES
} gp_accuracy;
/* What kind of a prediction it is that something owed to `cause` takes no time. */
gp_accuracy gp_cause_accuracy(gp_cause cause);
/* Writes how far off predictions of these kinds from p were, a bit for each gp_accuracy, as a part
 * of a sentence: that of the kind which was farthest off, "" for none; and whether the
 * processors were loaded while p was measured. p may be NULL. Returns buf. */
char *gp_accuracy_text(const gp_prof *p, uint32_t kinds, char *buf, size_t n);

/* Where a copy goes; D2D for kernels. */
gp_copy_kind gp_rec_direction(const gp_rec *r);

/* Replays t. False with a message when out of memory; gp_replay_timings_free frees *r in either
 * case. */
bool gp_replay_times(const gp_timeline *t, const gp_whatif *w, gp_replay_timings *r);

/* A replay that stops where t's rank meets others. NULL with a message when out of memory. t, w and
 * r, zeroes, must outlive it. */
typedef struct gp_rank_replay gp_rank_replay;
gp_rank_replay *gp_rank_replay_new(const gp_timeline *t, const gp_whatif *w, gp_replay_timings *r);
void gp_rank_replay_free(gp_rank_replay *p); /* NULL is fine */
/* Goes on until the replay has begun a command with a meeting, whose number in t->command it sets,
 * or -1 at the end; r->start has when. False with a message when out of memory. */
bool gp_rank_replay_run(gp_rank_replay *p, int *met);
/* Says when that command ends, and then it may go on. */
void gp_rank_replay_meet(gp_rank_replay *p, uint64_t end);
void gp_replay_timings_free(gp_replay_timings *r);
/* What the host's time t has become. */
uint64_t gp_replay_timings_host(const gp_replay_timings *r, uint64_t t);

/* The record as it would have been, which reads p's names: p lives as long as it. Its fields
 * `predicted` and `accuracy` say what is other, as the caller gives it, and how sure that is. NULL
 * with a message. */
gp_prof *gp_prof_predict(gp_prof *p, const gp_whatif *w, const char *predicted);

#endif
