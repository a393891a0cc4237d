/* Loaders in replays: the parts of batches that their workers made, and what the host waited for.
 */
#ifndef GP_REPLAY_LOADER_H
#define GP_REPLAY_LOADER_H

#include "profile/record/record.h"

struct gp_timeline;
struct gp_whatif;
struct gp_replay_timings;

/* A part of a batch that a worker made. Times in ns on the record's clock. */
typedef struct gp_made {
    const gp_rec *rec; /* its region; bytes: the batch */
    int track;         /* of the worker, among the host's from 0 on */
    bool here;         /* no worker made it: the host itself, when it took the batch */
    gp_cursor inside;  /* the worker's events after it */
    int other;         /* another part of the batch; -1: none */
    uint64_t asked;    /* by when the host had asked for the batch, as far as is known */
    int64_t lag;       /* from that, or from the end of the worker's part before, to its start */
    uint64_t computed, ready; /* of its time, ns: on a processor, and waiting for one that others
                                 had; both 0: not known */
} gp_made;

/* A batch that the host took, by the number of its pool and, in its low half, its own. */
typedef struct gp_batch_request {
    int64_t batch;
    uint64_t t0, t1;
} gp_batch_request;

/* Whether r is the making of a part of a batch. */
bool gp_is_made(const gp_rec *r);

/* Whether PyTorch's DataLoader has worker processes, which are not on the record, and r is its
 * handing out a batch. */
bool gp_has_workers(const gp_rec *r);
/* And the host may have waited for the batch, which was not there yet. */
bool gp_awaits_workers(const gp_rec *r);

/* Reads the workers' parts into t, whose host's events are there. False when out of memory. */
bool gp_loader_read(struct gp_timeline *t);
/* One of the parts of the batch that `take` took; -1: none is on the record. */
int gp_loader_batch_of(const struct gp_timeline *t, const gp_rec *request);
/* When the batch of part i was ready on the record; 0 for i < 0. */
uint64_t gp_loader_ready(const struct gp_timeline *t, int i);

/* What decides whether more workers make batches faster, of the loader's pass that took longest;
 * ns. */
typedef struct gp_pass {
    int64_t pool, batches;
    int workers;       /* 0: the host made them */
    uint64_t busy;     /* of all workers together; */
    uint64_t computed; /* of it, as gp_rec's; 0: not known */
    uint64_t step;     /* between batches, of the host, without its waits for them; 0: not known */
    double share;      /* of those waits, of the time after the first batch */
} gp_pass;
/* Of no pass: batches = 0. */
gp_pass gp_loader_pass(const struct gp_timeline *t);

/* When the batch of part i is ready in a replay that has come to the host's time `at`; 0 for
 * i < 0. */
uint64_t gp_loader_replay(const struct gp_timeline *t, const struct gp_whatif *w,
                          struct gp_replay_timings *r, int i, uint64_t at);
/* The same for all parts that no batch was taken of. */
void gp_loader_finish(const struct gp_timeline *t, const struct gp_whatif *w,
                      struct gp_replay_timings *r);
/* What time `when` of the host's track number `track` has become. */
uint64_t gp_loader_time(const struct gp_timeline *t, const struct gp_replay_timings *r, int track,
                        uint64_t when);

#endif
