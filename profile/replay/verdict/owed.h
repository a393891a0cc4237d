/* What a rank's record owes to each cause of the verdict: parts of its time, each of one line, op
 * or kernel, which verdict.c adds up. */
#ifndef GP_OWED_H
#define GP_OWED_H

#include "profile/replay/verdict/verdict.h"

/* A part of what is owed to a cause; or the sum of several. */
typedef struct gp_owed {
    gp_cause cause;
    const gp_rec *rec, *before; /* as gp_worth's most and before; NULL: unknown, or none */
    uint64_t t, last;           /* when the first and the last of them began */
    uint64_t asked;             /* when the host was at the first, or queued it; 0: not known */
    uint64_t ns, times;         /* times: of one op's parts 1 */
    bool once;                  /* the run passes it once, or before the steps */
} gp_owed;

typedef struct gp_ledger {
    gp_verdict *v; /* counts the work, and the profiler's time, of the record here */
    const gp_timeline *t;
    gp_owed *part; /* the caller's, by free(), and so is samples */
    int n, capacity;
    int next;               /* in t->host, from the script's last stretch on */
    const gp_rec *last;     /* the outermost op or wait before that */
    const gp_rec **samples; /* a trace's samples of the script, in the order of their ends */
    int nsamples, sample;   /* the first that may end after the last stretch began */
    bool ok;                /* false: out of memory */
} gp_ledger;

/* Adds what is owed to causes, in the order of time; then those that are of one line, op or kernel
 * become one. */
void gp_owe(gp_ledger *l);
void gp_owed_merge(gp_ledger *l);

/* Whether parts are of the devices' work, which is merged by its name, not by its line. */
static inline bool gp_owed_by_work(gp_cause cause) {
    return cause == GP_CAUSE_kernels || cause == GP_CAUSE_copies || cause == GP_CAUSE_collectives ||
           cause == GP_CAUSE_delays;
}

/* Of one line there are samples of the script and of what it calls ("print"), kept apart. */
static inline bool gp_rec_is_sample(const gp_rec *r) { return r && r->kind == GP_REC_SAMPLE; }

#endif
