/* A loader's workers: threads, each with a Lua state of its own, that make the batches of one epoch
 * in order. */
#ifndef GP_WORKER_POOL_H
#define GP_WORKER_POOL_H

#include <lua.h>

#include "bindings/loader/batch.h"
#include "bindings/bind.h"
#include "tensor/dtype.h"

typedef struct gp_worker_pool gp_worker_pool;

typedef struct gp_worker_pool_opts {
    int workers, prefetch; /* prefetch: batches under way or ready at most */
    bool stacked, pin;     /* stacked: no collate function */
    uint64_t seed, epoch;
    gp_lua_kind kind;                                  /* of the workers' states */
    void (*open)(lua_State *worker, gp_lua_kind kind); /* opens one; may raise */
    gp_dtype dtype;                                    /* their default */
    char *path, *cpath;                                /* package's; malloc'd, taken over */
} gp_worker_pool_opts;

/* What a pool has done so far; ns. */
typedef struct gp_worker_pool_stats {
    uint64_t elapsed; /* since it was made, up to the last batch's handing out */
    uint64_t first;   /* until the first batch was handed out; 0: not yet */
    uint64_t wait;    /* the taker stood still */
    uint64_t
        covered; /* of this, waits at whose end a device still had work: they cost it nothing */
    uint64_t busy, idle; /* workers, summed */
    uint64_t open;       /* workers' states were opened, summed */
    int64_t batches, samples, waits;
    int workers, crashed; /* crashed: of these */
} gp_worker_pool_stats;

/* Starts the threads (none: batches are made where they are taken). program: what each worker
   unpacks, a table with a function `prepare` that makes of it what gp_batch_make wants; taken over.
   NULL with a message. */
gp_worker_pool *gp_worker_pool_new(const gp_worker_pool_opts *opts, gp_serial *program);

/* Is there room for another batch? */
bool gp_worker_pool_room(gp_worker_pool *c);
/* A batch of these samples is to be made. */
bool gp_worker_pool_add(gp_worker_pool *c, const int64_t *index, int n);
/* Waits for the next batch, which the caller frees; a region of the profile, no wait for a device.
   Without threads it is made in L by the program at the index. NULL with a message: there is none
   to come, a worker could not start or crashed, or interrupted. */
gp_batch *gp_worker_pool_take(gp_worker_pool *c, lua_State *L, int program);

void gp_worker_pool_get_stats(gp_worker_pool *c, gp_worker_pool_stats *out);

/* Workers of all pools that have crashed; their Lua states' bytes, which are lost. */
int gp_worker_pool_crashed(int64_t *bytes);

/* Stops what the workers run and waits until the threads are gone; batches are dropped. */
void gp_worker_pool_stop(gp_worker_pool *c);
/* Stops it first; NULL is fine. Of one with a worker that crashed all memory stays as it is. */
void gp_worker_pool_free(gp_worker_pool *c);

#endif
