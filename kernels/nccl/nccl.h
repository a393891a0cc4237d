/* What the plug-in libgpush_nccl.so does for the CUDA plug-in: it queues NCCL's collectives. Only
 * it knows NCCL's header; communicators and streams of CUDA are plain pointers here. The library
 * itself is found and opened by the CUDA plug-in, as NVIDIA's others are. */
#ifndef GP_NCCL_H
#define GP_NCCL_H

#include "tensor/dist/transport.h"

/* One collective: contiguous elements on the device, which must stay until it is done. */
typedef struct gp_nccl_wire {
    gp_wire_kind kind;
    gp_wire_op op; /* of the kinds that reduce */
    bool mean;     /* in place of it */
    bool keys;     /* f32 or f64 as unsigned integers, of which the largest is kept (order.h) */
    gp_dtype dtype;
    int root, rank, n; /* of the group: which this process is, and of how many */
    const void *from;
    void *to;
    size_t count; /* elements that one rank gets (all_reduce, reduce, reduce_scatter); bytes of one
                     rank's part (broadcast, all_gather, all_to_all, gather, scatter) */
} gp_nccl_wire;

enum { GP_NCCL_VERSION = 1, GP_NCCL_DONE = 0, GP_NCCL_IN_PROGRESS = 7, GP_NCCL_ID_BYTES = 128 };

/* Results are NCCL's: GP_NCCL_DONE, GP_NCCL_IN_PROGRESS, or an error. Nothing waits. */
typedef struct gp_nccl {
    int version;                      /* first, in every version of this struct */
    const char *(*error)(int result); /* its text, static */
    int (*new_id)(void *id);          /* for one communicator; of GP_NCCL_ID_BYTES */
    /* This process as `rank` of the n of a new communicator, each of which gives the same id. */
    int (*join)(void **comm, int n, const void *id, int rank);
    int (*state)(void *comm); /* in progress: not ready for the next call */
    void (*give_up)(void *comm);
    int (*start)(void *comm, const gp_nccl_wire *w, void *stream);
} gp_nccl;

/* Fills table[0 ... n-1] with the library's functions of these names; false where one is missing.
 */
typedef bool gp_nccl_find_fn(const char *const *names, int n, void **table);
/* The plug-in's export gp_nccl_open; NULL where `find` fails. */
typedef gp_nccl *gp_nccl_open_fn(gp_nccl_find_fn *find);
/* And gp_nccl_header: the version of NCCL whose header it was built with. */
typedef void gp_nccl_header_fn(char *text, size_t size);

#endif
