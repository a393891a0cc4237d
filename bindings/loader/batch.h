/* A batch being made: its samples, and running the user's functions for some of them in a Lua
 * state. */
#ifndef GP_BATCH_H
#define GP_BATCH_H

#include <lua.h>
#include <pthread.h>
#include <stdatomic.h>

#include "bindings/loader/serial.h"
#include "bindings/loader/collate.h"

/* An error of the user's functions. */
typedef struct gp_sample_error {
    int slot;        /* of the sample; the batch's n: in collate; -1: no error */
    char *text;      /* message and traceback, malloc'd */
    gp_serial value; /* of an error that is not a string and could be serialized; else empty */
} gp_sample_error;

typedef struct gp_loader_batch {
    int64_t number;           /* in its epoch, from 1 */
    int64_t name;             /* on the record: a number that no batch of another pool has */
    uint64_t asked;           /* when; and, where the host's time is counted, */
    _Atomic uint64_t counted; /* what its samples took */
    int n;
    int64_t *index;        /* indices of its samples in the dataset; in the same block */
    int next, left;        /* the first sample not taken by a worker; how many are not made yet */
    gp_collate *stack;     /* without a collate function */
    gp_serial result;      /* with one: its result */
    gp_sample_error fault; /* the one of the smallest slot */
} gp_loader_batch;

/* Shared by all batches of a loader's epoch. */
typedef struct gp_making {
    uint64_t seed, epoch;
    pthread_mutex_t *lock; /* guards a collation without a shape, and faults */
    atomic_bool *stop;
} gp_making;

/* index is copied. stacked: samples are collated as they arrive, without a collate function of the
 * user's; pin: in pinned memory. NULL with a message. */
gp_loader_batch *gp_loader_batch_new(int64_t number, const int64_t *index, int n, bool stacked,
                                     bool pin);
void gp_loader_batch_free(gp_loader_batch *b); /* NULL is fine */

/* Makes samples from … to - 1 of b in L by the program, a table at index `program` with the fields
 * get, dataset, collate (or nil) and randomseed. With a collate function the range is the whole
 * batch. Each sample has random numbers of its own, keyed by (seed, epoch, its index). Errors are
 * stored in b->fault. */
void gp_loader_batch_make(lua_State *L, int program, gp_loader_batch *b, int from, int to,
                          const gp_making *how);

/* Makes all of b on a thread that is no worker's: where the host's time is counted, the clock moves
 * by what that takes, or by sim.loader. The caller's random numbers do not depend on what the
 * samples draw. */
void gp_loader_batch_make_on_clock(lua_State *L, int program, gp_loader_batch *b,
                                   const gp_making *how);
/* b is made, and the batch before it was at `made`, by that clock: moves it to when b is, which
 * began when it was asked for and is divided among the workers. Returns that time. */
uint64_t gp_loader_batch_wait_on_clock(const gp_loader_batch *b, uint64_t made, int workers);
/* What making b took, in ns, where the host's time is counted; else 0. */
uint64_t gp_loader_batch_counted(const gp_loader_batch *b);

/* Pushes the values of a finished batch, or raises its fault. */
int gp_loader_batch_push(lua_State *L, gp_loader_batch *b);

#endif
