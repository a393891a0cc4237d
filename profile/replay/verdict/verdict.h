/* What dominated a run, decided on replays of its record: each cause's worth is what the run would
 * take less if what is owed to it took no time. Worths overlap: together they are less, or more,
 * than their sum. */
#ifndef GP_VERDICT_H
#define GP_VERDICT_H

#include "profile/replay/path.h"

/* waits: without those that a script can avoid; synchronize: without those that it asks for.
 * loader: batches are there at once. launches: the host takes no time in ops that queue work, or
 * enclose one that does, and work is queued when its call begins. setup: long calls of a device's
 * runtime, beside which no device works, and what host.h takes for a first use take no time, and a
 * kernel's first run takes what the others do. memory: calls that make memory or give it back,
 * again and again, take no time. delays: while no device works, queued work begins at once.
 * kernels, copies, collectives: they take no time; collectives still wait for the last rank. cpu:
 * ops that the host computes take no time. script: the host takes no time outside ops. */
typedef struct gp_worth {
    uint64_t ns, times; /* what the record owes to it, in the rank that owes it the most */
    uint64_t once;      /* script, cpu: ns of lines that are passed once, or before the steps */
    uint64_t between;   /* script: ns as gp_between_launches has them */
    uint64_t extra;     /* ns that are owed to it in the steps that have most of it more than in the
                           median one; of fewer than three steps, of the host's time in stretches */
    int extras;         /* how many steps, or stretches, these are; */
    uint64_t parts, of_step; /* of how many parts it is, where there are steps; of `step` */
    int in_steps;            /* in how many of `steps` there is any of it */
    int step, steps;    /* the first of those with the most, from 1, of `steps`; 0: of stretches */
    int last_step;      /* the last one that has any of it, from 1 */
    uint64_t earlier;   /* of devices' work: ns of what nothing on the record queued */
    uint64_t optimizer; /* of launches: ns in steps of PyTorch's optimizers */
    uint64_t worth;     /* what the job would take less, ns, as a replay predicts: of one rank at
                           most ns, since a replay takes away what is owed, and nothing else */
    uint64_t at_most;   /* where v->vague, of the devices' work and waits, and where v->paced: more
                           it is not worth */
    int rank;           /* that rank's number; -1: the record is of one */
    const gp_rec *most; /* the line, op or kernel with the most of it; of the script a sample of the
                           line, or of its stretches and of delays the op after the longest; NULL */
    const gp_rec *before; /* script: the op before that stretch; NULL */
    uint64_t most_ns, most_times;
} gp_worth;

/* Why a record does not tell. */
typedef enum gp_untold {
    GP_TOLD,
    GP_UNTOLD_EMPTY,   /* no event is on it */
    GP_UNTOLD_DROPPED, /* more than 1 % of the events are not */
    GP_UNTOLD_CUT,     /* the file was cut, and the devices' work comes last in it */
    GP_UNTOLD_DEVICE,  /* what queued most of the devices' work is not */
    GP_UNTOLD_CALLS,   /* another program's, without calls of the runtime: when it queued and waited
                        */
    GP_UNTOLD_WORK,    /* another program's, without any work of a device that there may be */
    GP_UNTOLD_LAUNCHED, /* another program's, with launches of kernels and no kernel */
    GP_UNTOLD_ORDERS    /* the ranks have called their collectives in different orders */
} gp_untold;

typedef struct gp_verdict {
    gp_untold untold; /* unless GP_TOLD, worths are 0 */
    gp_worth of[GP_CAUSES];
    bool vague; /* several streams of a rank work, and wait for each other, but for what is not
                   on the record: what less of the devices' work is worth is not known */
    bool paced; /* as gp_job_awaits_workers */
    uint64_t profiler;  /* ns of the host, of the rank that has most of it: torch.profiler's own */
    uint64_t slowed;    /* ns that its steps took longer than those before the record, and the host
                           may have worked in; of the rank that has most of them */
    uint64_t devices;   /* the worth of kernels, copies, collectives and delays together */
    uint64_t all_waits; /* that of waits and synchronize together */
    gp_idle idle;       /* of the rank that ended last */
    uint64_t wall;
    uint64_t launches, replayed; /* the host's events that queued work; by captured functions */
    uint64_t longer, blocked;    /* kernels of at least 20 us, launched by a call; within it */
    uint64_t launched;           /* as gp_lost_launches; of another program's trace */
    uint64_t calls;              /* kernels and copies that a call of the runtime queued */
    uint64_t host, work, queued; /* all ranks' events of the host, kernels and copies, and of the
                                    latter those whose launch is on the record */
} gp_verdict;

/* False with a message when out of memory or interrupted. */
bool gp_verdict_of(gp_job *job, gp_verdict *v);

#endif
