/* What the plug-in libgpush_mpi.so does for the program: it moves bytes between the ranks of a job
 * by MPI, and starts MPI's collectives. Nothing here blocks but `open`, `group` and `close`, which
 * one thread calls: work is started, and tested until it is done. The program calls one function at
 * a time. */
#ifndef GP_TRANSPORT_H
#define GP_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/dtype.h"

/* Collectives of MPI. */
typedef enum gp_wire_kind {
    GP_WIRE_all_reduce,
    GP_WIRE_reduce,
    GP_WIRE_broadcast,
    GP_WIRE_all_gather,
    GP_WIRE_reduce_scatter,
    GP_WIRE_all_to_all,
    GP_WIRE_gather,
    GP_WIRE_scatter,
    GP_WIRE_KINDS
} gp_wire_kind;

/* How elements of several ranks become one. The smallest and the largest of NaN and a number is
 * NaN. */
typedef enum gp_wire_op { GP_WIRE_SUM, GP_WIRE_PROD, GP_WIRE_MIN, GP_WIRE_MAX } gp_wire_op;

/* One collective: contiguous elements in host memory, which must stay until it is done. */
typedef struct gp_wire {
    gp_wire_kind kind;
    gp_wire_op op;   /* of the kinds that reduce */
    gp_dtype dtype;  /* of them: neither f16 nor bf16 */
    int root;        /* a rank of the group */
    const void *out; /* what this rank gives; of broadcast: NULL, and in holds both */
    void *in;        /* what it gets; not used elsewhere than on root, of reduce and gather */
    int count; /* elements that one rank gives (all_reduce, reduce, broadcast, all_gather, gather),
                  or gets from one rank (reduce_scatter, all_to_all, scatter) */
} gp_wire;

/* What all ranks of a group join before a collective: a hash of what each calls, and up to
 * GP_PACKET_BYTES of data, so that a small reduction needs nothing else. */
enum { GP_PACKET_BYTES = 64 };
typedef struct gp_packet {
    uint64_t most, least;     /* the largest hash, and the complement of the smallest one */
    uint8_t op, dtype, count; /* of data: gp_wire_op, gp_dtype, and how many elements; 0: none */
    _Alignas(8) char data[GP_PACKET_BYTES];
} gp_packet;

enum { GP_TRANSPORT_VERSION = 3, GP_TRANSPORT_FAILED = -1 };

/* Groups are numbers, 0 for all ranks; ranks are those of the group. Work is a number, too, of 0 or
 * more; GP_TRANSPORT_FAILED with the reason in `error`. */
typedef struct gp_transport {
    int version;      /* first, in every version of this struct */
    char engine[256]; /* MPI's name and version */
    char error[512];  /* of the last call that failed */
    int rank, size;   /* of this process, among all */
    /* The group of `n` ranks of all, in that order. Every rank calls it with the same list; -2
     * where this one is not in it. */
    int (*group)(const int *ranks, int n);
    int (*send)(int group, int to, int tag, const void *p, size_t bytes);
    int (*receive)(int group, int from, int tag, void *p, size_t bytes);
    int (*start)(int group, const gp_wire *w);
    /* Joins the packets of all ranks into one, which every rank gets in place of its own. */
    int (*join)(int group, gp_packet *packet);
    /* Set by the program before the first join: joins `in` into `into`, in any order. */
    void (*fold)(const gp_packet *in, gp_packet *into);
    /* A rank of the group from which a message with that tag has come, -1: there is none. It does
     * not receive. */
    int (*sender)(int group, int tag);
    /* 1: done, and its number is free; 0: not yet; -1: failed. */
    int (*test)(int work);
    /* Ends a `receive` that nothing came for. */
    void (*cancel)(int work);
    /* Ends MPI: every rank calls it, and nothing after it. */
    void (*close)(void);
    /* In place of it, where this rank has failed and another one goes on: ends that one, too, where
     * the launcher would not, with that status. May not return. */
    void (*end_all)(int status);
} gp_transport;

/* The plug-in's export gp_mpi_open: joins the job that the launcher started, once. NULL with the
 * reason in why. */
typedef gp_transport *gp_mpi_open_fn(char *why, size_t size);
/* And gp_mpi_version: MPI's name and version, without starting it. */
typedef void gp_mpi_version_fn(char *text, size_t size);

#endif
