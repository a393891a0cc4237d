/* Replays of a job: the ranks of a joined profile, whose collectives begin when the last rank has
 * come. */
#ifndef GP_REPLAY_OF_JOB_H
#define GP_REPLAY_OF_JOB_H

#include "profile/replay/replay.h"

/* A collective of several ranks. */
typedef struct gp_rank_meeting {
    int ranks;       /* that come */
    int by, command; /* the last of them, by its place in the job, and its part of it */
    uint64_t begun;  /* on the record: when that had begun, */
    uint64_t ended;  /* and when the last of them was done */
    int come;        /* in a replay: ranks that have come so far, */
    uint64_t last;   /* and when the last of them did */
} gp_rank_meeting;

/* The timelines of a profile's ranks; one, of all, where it is of no more. */
typedef struct gp_job {
    int n, nmeetings;
    gp_timeline **rank;
    gp_rank_meeting *meeting;
    bool tangled; /* a replay did not end, as the ranks differ in their collectives' order */
} gp_job;

/* NULL with a message when out of memory. It reads p, which must outlive it. */
gp_job *gp_job_new(const gp_prof *p);
/* Of one rank alone, whose collectives take what they took; NULL with a message where p is not of
 * it, which begins with what. */
gp_job *gp_job_of_rank(const gp_prof *p, int rank, const char *what);
void gp_job_free(gp_job *job); /* NULL is fine */

/* Sets n's name, latency and bandwidth to what the job's all_reduces took from the last rank's
 * begin to the last one's end (of a single profile: to its own), by least squares of the relative
 * error over the median of each size, and by the algorithm of gp_network_recorded. False with a
 * message where they are of fewer than two sizes, or have no costs. */
bool gp_job_measure(const gp_job *job, gp_network *n);

/* Fails: the ranks have called their collectives in different orders. */
bool gp_job_fail_orders(void);

/* Replays all ranks together; r: one for each. False with a message when out of memory, for a card
 * with several ranks, and where the ranks would wait for one another. gp_replay_timings_free frees
 * each in any case. */
bool gp_job_times(gp_job *job, const gp_whatif *w, gp_replay_timings *r);

#endif
