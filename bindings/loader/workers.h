/* A data loader's workers: threads, each with its own Lua state, that make the batches of one epoch
 * in order. */
#ifndef GP_WORKER_POOL_H
#define GP_WORKER_POOL_H

#include <lua.h>

#include "bindings/loader/batch.h"
#include "bindings/bind.h"
#include "tensor/dtype.h"

typedef struct gp_worker_pool gp_worker_pool;

typedef struct gp_worker_pool_opts {
    int workers, prefetch; /* prefetch: maximum number of batches in progress or finished */
    bool stacked, pin;     /* stacked: no collate function */
    uint64_t seed, epoch;
    gp_lua_kind kind;                                  /* of the workers' states */
    void (*open)(lua_State *worker, gp_lua_kind kind); /* opens one; may raise */
    gp_dtype dtype;                                    /* default of the workers' states */
    char *path, *cpath;                                /* package's; malloc'd, taken over */
} gp_worker_pool_opts;

/* What a pool has done so far; ns. */
typedef struct gp_worker_pool_stats {
    uint64_t elapsed;    /* from creation until the last batch was taken */
    uint64_t first;      /* until the first batch was taken; 0: not yet */
    uint64_t wait;       /* time that the taker was blocked; */
    uint64_t first_wait; /* of it, for the first batch */
    uint64_t
        covered; /* part of wait: waits during which a device still had work, which cost nothing */
    uint64_t busy, idle; /* workers, summed */
    uint64_t computed;   /* of busy, as gp_computed_end says */
    uint64_t open;       /* workers' states were opened, summed */
    int64_t batches, samples, waits;
    int workers, crashed; /* crashed: how many of them crashed */
} gp_worker_pool_stats;

/* Starts the threads (without any, batches are made when they are taken). program: what each worker
 * deserializes, a table with a function `prepare` that turns it into what gp_loader_batch_make
 * wants; taken over. NULL with a message. */
gp_worker_pool *gp_worker_pool_new(const gp_worker_pool_opts *opts, gp_serial *program);

/* Whether there is room for another batch. */
bool gp_worker_pool_accepts(gp_worker_pool *c);
/* Adds a batch of these samples to be made. */
bool gp_worker_pool_add(gp_worker_pool *c, const int64_t *index, int n);
/* Waits for the next batch, which the caller frees; recorded as a region of the profile, not as a
 * wait for a device. Without threads it is made in L by the program at the index. NULL with a
 * message: no batch is left, a worker could not start or crashed, or interrupted. */
gp_loader_batch *gp_worker_pool_next(gp_worker_pool *c, lua_State *L, int program);

/* Copies the figures so far to *out; of a pool that runs, they belong to one moment. */
void gp_worker_pool_get_stats(gp_worker_pool *c, gp_worker_pool_stats *out);

/* The number of crashed workers in all pools; *bytes: memory of their Lua states, which is lost. */
int gp_worker_pool_crashed(int64_t *bytes);

/* Stops the workers and waits until their threads have ended; batches are dropped. */
void gp_worker_pool_stop(gp_worker_pool *c);
/* Stops it first; NULL is fine. With a crashed worker all memory is left allocated. */
void gp_worker_pool_free(gp_worker_pool *c);

#endif
