/* Shared by the files of tensor/dist: the job's state, and work of the transport. */
#ifndef GP_DIST_WORLD_H
#define GP_DIST_WORLD_H

#include <pthread.h>

#include "tensor/dist/dist.h"
#include "tensor/shape.h"

/* Messages between two ranks. */
enum { GP_TAG_HEADER = 1, GP_TAG_NOTE, GP_TAG_HELLO, GP_TAG_SEND, GP_TAG_DATA };

/* What a rank calls, as the others read it. */
typedef struct gp_header {
    char name[48], how[8], file[80];
    int32_t line, root;
    uint8_t dtype, ndim;
    int64_t dim[GP_MAX_DIM];
} gp_header;

/* The last that a rank says. */
typedef struct gp_note {
    int32_t failed;
    char text[252];
} gp_note;

/* A rank of all, as this process sees it. */
typedef struct gp_peer {
    uint64_t place; /* equal where process ids are comparable */
    int64_t pid;
    int work;   /* that receives its note; -1: it has come, or there is none */
    bool ended; /* by its note, or because there is no such process */
    gp_note note;
} gp_peer;

typedef struct gp_group {
    int n, rank;
    int *all;           /* of each rank of the group: its rank of all */
    int comm[2];        /* the transport's, for the collectives of cpu and of sim, */
    int *work[2];       /* with room for 2 n works, */
    int *peer[2];       /* the ranks that these wait for, */
    gp_header *head[2]; /* and n headers, its own among them */
} gp_group;

typedef struct gp_world {
    gp_transport *transport; /* NULL: a job of one */
    int rank, size;
    pthread_mutex_t lock; /* of the transport and the peers */
    double timeout;
    gp_peer *peers;        /* of each rank of all */
    void *hello;           /* the greeting's messages, while MPI may still use them */
    atomic_bool abandoned; /* the script has failed: nothing more is waited for */
    char broken[600];      /* why no further collective can run; "" if they can */
    bool in_use;           /* MPI may still write into tensors of a call that has failed: its
                              functions are no longer called, but to send this rank's last word */
    char why[252];         /* with which message the script has failed */
    int ngroups;
    gp_group group[GP_MAX_GROUPS];
} gp_world;
extern gp_world gp_the_world;

/* Tests the n works until all are done, which become -1. what and d are for messages. False with
 * those left as they are: a rank of the group has ended or the timeout is over; `missing`, where
 * not NULL, then gives for each work the rank of the group that it waits for. */
bool gp_dist_finish(const gp_dist_call *d, int *work, int n, const int *missing);
/* Looks, without waiting, which ranks have ended. With the lock held. */
void gp_dist_look(void);
/* The communicator of the call's stream. */
int gp_dist_comm(const gp_dist_call *d);
/* Fails as broken from here on. */
void gp_dist_break(const char *text);

#endif
