/* Many processes: the job that a launcher (mpirun, srun) started, its groups of ranks, and the
 * streams on which their collectives are queued. The transport is MPI, in a plug-in that is opened
 * on first use; a process that no launcher started is a job of one, and needs none.
 *
 * Ranks count from 0, as MPI and the launchers count them: a rank is a name. Groups are numbers, 0
 * for all ranks. Functions that fail return false, or a negative number, with a message. */
#ifndef GP_DIST_H
#define GP_DIST_H

#include "tensor/dist/transport.h"
#include "tensor/op.h"

/* Joins the job, once; every rank calls it. Waits for MPI to start, not for a device. */
bool gp_dist_open(void);
/* Those of this process; 0 and 1 before gp_dist_open. */
int gp_dist_rank(void);
int gp_dist_size(void);
/* Name and version of the transport; NULL in a job of one. Static. */
const char *gp_dist_engine(void);
/* Seconds after which a rank that does not come is an error; 60 until set. */
double gp_dist_timeout(void);
void gp_dist_set_timeout(double seconds);

/* A group of n ranks of all, which every rank of the job makes in the same order. Blocks until all
 * have come. -2 where this process is not in it. */
int gp_dist_group(const int *ranks, int n);
bool gp_dist_is_group(int group);
/* Of a group: its size, this process's rank in it, and the rank of all that its rank r is. */
int gp_dist_group_size(int group);
int gp_dist_group_rank(int group);
int gp_dist_global(int group, int r);

/* The stream of dev on which collectives are queued, in the order of their calls. Held until the
 * program ends. NULL where there is none left. */
gp_stream *gp_dist_stream(gp_device *dev);

/* ---- for kernels, on the worker of that stream ---- */

/* What a rank calls, compared with the others' before data is sent. */
typedef struct gp_dist_call {
    const gp_call *call; /* name and line, for messages */
    const gp_array *x;   /* whose dtype and shape must be the others' */
    const char *how;     /* the reduction, or "" */
    int group, root;     /* root: -1 for none */
} gp_dist_call;

/* Waits until all ranks of the group have made the same call. False, on every rank, where they
 * differ; where one has ended or has not come within the timeout. data: NULL, or a reduction of at
 * most GP_PACKET_BYTES, whose `in` holds what this rank gives, and then the result. */
bool gp_dist_meet(const gp_dist_call *d, const gp_wire *data);
/* Runs a collective to its end, after gp_dist_meet. */
bool gp_dist_run(const gp_dist_call *d, const gp_wire *w);
/* Sends bytes to root, a copy: returns at once. Receives from root what was sent with the same
 * dtype and shape. */
bool gp_dist_send(const gp_dist_call *d, const void *p, size_t bytes);
bool gp_dist_receive(const gp_dist_call *d, void *p, size_t bytes);

/* For gp_stream.here, where the caller waits for what it queues: runs c by `run` on this thread,
 * recorded as a wait, where nothing is queued, its data fit in a packet and the other ranks are
 * there. False where not: c is to be queued, and goes on from there. */
bool gp_dist_run_here(gp_call *c, bool (*run)(gp_call *));
/* Whether the kernel that asks was called so: it returns false where it would wait. */
bool gp_dist_is_here(void);

/* ---- for kernels of a device whose own library runs collectives in stream order ---- */

/* Tells the other ranks that this one has called d, which is about to be queued. Waits only where
 * this rank is 64 calls ahead. False with a message where an earlier one has failed. */
bool gp_dist_post(const gp_dist_call *d);
/* Looks, without waiting, at the calls posted so far. False with a message where ranks differ, one
 * has ended, or has not come within the timeout: no collective works from then on. */
bool gp_dist_check(void);
/* Gives what each rank of d's group has to all: `all` has that many bytes for each, at first this
 * rank's. Waits until they have come. */
bool gp_dist_share(const gp_dist_call *d, void *all, size_t bytes);

/* ---- warnings ---- */

/* Whether this process gives a warning that other ranks may give, too; `what` is equal where they
 * mean the same. It is the first of its machine's ranks to ask; before the job is joined, rank 0.
 * rank: this process's number, -1 where no launcher started it. */
bool gp_dist_warns(const char *what, int *rank);

/* ---- the end ---- */

/* The script has failed with that message, and the program with that status: calls that are under
 * way end. */
void gp_dist_abandon(const char *why, int status);
/* Tells the other ranks that this one ends, waits for theirs, and ends MPI. The program calls it
 * last. Returns the status that it ends with: after gp_dist_abandon that of the first rank known to
 * have failed, so that all ranks that fail for it have one; 0 otherwise. */
int gp_dist_end(void);

/* The plug-ins libgpush_mpi.so and libgpush_nccl.so (kernels/nccl/nccl.h), opened on demand; NULL
 * with the reason in why. */
void *gp_mpi_plugin(char *why, size_t size);
void *gp_nccl_plugin(char *why, size_t size);
/* The name and version of MPI in the plug-in, without starting it; or false, with the reason. */
bool gp_mpi_engine(char *text, size_t size);

#endif
