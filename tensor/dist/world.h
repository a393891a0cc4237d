/* Shared by the files of tensor/dist: the job's state, and work of the transport. */
#ifndef GP_DIST_WORLD_H
#define GP_DIST_WORLD_H

#include <pthread.h>

#include "tensor/dist/dist.h"
#include "tensor/shape.h"

/* Messages between two ranks. */
enum {
    GP_TAG_HEADER = 1,
    GP_TAG_NOTE,
    GP_TAG_HELLO,
    GP_TAG_SEND,
    GP_TAG_DATA,
    GP_TAG_LATE,
    GP_TAG_SHARE,
    GP_TAG_WAITING
};

/* What a rank calls, as the others read it. */
typedef struct gp_header {
    char name[48], how[8], file[80], device[16];
    int32_t line, root;
    uint8_t dtype, ndim;
    int64_t dim[GP_MAX_DIM];
} gp_header;

/* The last that a rank says. */
typedef struct gp_note {
    int32_t status; /* with which the program ends; 0: its script has not failed */
    char text[252];
} gp_note;

/* Where a rank waits, and what it knows of the one that it tells. */
typedef struct gp_waiting {
    int32_t known, pair,
        group;      /* whether it is set; 0: on cpu, 1: on sim; gp_process_group.serial */
    int32_t idle;   /* whether nothing is queued in the other one of the pair */
    int64_t met[2]; /* how often both have met, by pair */
    gp_header head;
} gp_waiting;

/* A rank of all, as this process sees it. */
typedef struct gp_peer {
    uint64_t machine; /* equal where process ids are comparable */
    int64_t pid;
    int fd;     /* of the process; -1: there is none */
    int work;   /* that receives its note; -1: it has come, or there is none */
    bool ended; /* by its note, or because there is no such process */
    gp_note note;
    _Atomic int64_t met[2]; /* meetings with it so far, on cpu and on sim */
    gp_waiting told, heard; /* where either waits */
    int telling;            /* the work that sends `told`; -1: none */
} gp_peer;

/* What ranks do before a collective: they join their packets. JOINED: and the call has not gone on
 * yet. */
typedef enum gp_meeting { GP_APART, GP_JOINING, GP_JOINED } gp_meeting;

/* Pairs are those of cpu and of sim. */
typedef struct gp_process_group {
    int n, rank;
    int serial;  /* counts the groups of the job; 0: all ranks */
    int *all;    /* of each rank of the group: its rank of all */
    int comm[2]; /* the transport's */
    gp_meeting meeting[2];
    int joining[2];      /* the work that joins */
    gp_packet packet[2]; /* these, */
    uint64_t began[2];   /* since that time, in ns of gp_now_ns */
    int *work[2];        /* room for 2 n works, */
    int *peer[2];        /* the ranks that these wait for, */
    gp_header *head[2];  /* and n headers, its own among them */
} gp_process_group;

enum { GP_GROUP_PART = 16, GP_GROUP_PARTS = 24 };

typedef struct gp_world {
    gp_transport *transport; /* NULL: a job of one */
    int rank, size;
    pthread_mutex_t lock; /* of the transport and the peers: gp_dist_lock */
    bool making;          /* MPI makes a group, and can do nothing else meanwhile */
    double timeout;
    gp_peer *peers;                 /* of each rank of all */
    _Atomic(gp_stream *) stream[2]; /* of the collectives of cpu and of sim, once there are any */
    bool crowded;                   /* this machine has more ranks than processors */
    void *hello;                    /* the greeting's messages, while MPI may still use them */
    atomic_bool abandoned;          /* the script has failed: nothing more is waited for */
    char broken[600];               /* why no further collective can run; "" if they can */
    bool in_use;   /* MPI may still write into tensors of a call that has failed: its
                      functions are no longer called, but to send this rank's last word */
    bool stuck;    /* MPI is in a call that does not return */
    char why[252]; /* with which message the script has failed, */
    int status;    /* and with which the program ends; 0: it has not */
    atomic_int ngroups;
    gp_process_group *groups[GP_GROUP_PARTS]; /* they stay where they are: gp_group_at */
} gp_world;
extern gp_world gp_the_world;

/* Group number g; part p has GP_GROUP_PART << p of them. */
static inline gp_process_group *gp_group_at(int g) {
    unsigned n = (unsigned)g / GP_GROUP_PART + 1;
    int part = 31 - __builtin_clz(n);
    return &gp_the_world.groups[part][g - GP_GROUP_PART * ((1 << part) - 1)];
}

/* What a call waits for: other ranks, one by one; that all have come; data of all, who are there.
 */
typedef enum gp_await { GP_AWAIT_RANKS, GP_AWAIT_ALL, GP_AWAIT_DATA } gp_await;

/* Tests the n works until all are done, which become -1. what and d are for messages. False with
 * those left as they are: a rank of the group has ended or the timeout is over. peer, of
 * GP_AWAIT_RANKS: for each work the rank of the group that it waits for, or -1. */
bool gp_dist_finish(const gp_dist_call *d, int *work, int n, gp_await what, const int *peer);
/* Starts sending this rank's header to all others of the call's group, and receiving theirs, with
 * that tag: how many works of the group that takes. -1 with a message. */
int gp_dist_exchange(const gp_dist_call *d, int tag);
/* Fails because not all ranks have come to a meeting, by name. */
bool gp_dist_fail_late(const gp_dist_call *d);
/* The text of those of n works that are not done: "1, 3"; "" if all are. */
void gp_dist_list(const gp_dist_call *d, const int *work, int n, const int *peer, char *text,
                  size_t size);

/* 0: cpu, 1: sim. */
int gp_dist_pair(const gp_dist_call *d);
/* Its name in messages. */
const char *gp_dist_name(const gp_dist_call *d);
void gp_dist_fill(const gp_dist_call *d, gp_header *h);
/* Of what must be equal on all ranks of the group. */
uint64_t gp_dist_hash(const gp_dist_call *d);
/* Fails with both sides where the call differs between two ranks. */
bool gp_dist_fail_differ(const gp_dist_call *d, int rank_a, const gp_header *a, int rank_b,
                         const gp_header *b);
/* Whether all ranks' headers are the first one's; false with a message. */
bool gp_dist_compare(const gp_dist_call *d, const gp_header *all);
/* gp_transport.fold. */
void gp_dist_fold(const gp_packet *in, gp_packet *into);
/* False with a message after gp_dist_break. */
bool gp_dist_is_whole(const gp_dist_call *d);
/* Fails with work that is left as it is: no collective can run any more. */
bool gp_dist_give_up(int *work, int n);
/* Between two tests, after that many ns: polls at first, then leaves the processor to others. */
void gp_dist_pause(uint64_t waited, bool moving);
/* Tests each work that is not done; false where one fails, with the lock held. A call that another
 * stream gave up ends this one, too: its memory may be freed, and a test might write there. */
bool gp_dist_test_all(const gp_dist_call *d, int *work, int n, int *left);
/* The first rank of the call's group that has ended, -1 if none has; moving: that was killed, since
 * one that took part may end before its data is here. With the lock held. */
int gp_dist_ended(const gp_dist_call *d, bool moving);
/* Whether another rank of d's group waits in a call that can never meet d, which has waited
 * `waited` ns; then fails with both calls. told: whether this call has told the others. With the
 * lock held. */
bool gp_dist_differs(const gp_dist_call *d, uint64_t waited, bool *told);
/* Receives what ranks have told so: MPI ends with no message on its way. With the lock held. */
void gp_dist_hear(void);
/* Fail, with messages: that rank has ended; those that n works wait for have not come in time. */
bool gp_dist_fail_ended(const gp_dist_call *d, int rank);
bool gp_dist_fail_missing(const gp_dist_call *d, const int *work, int n, const int *peer);
/* Looks, without waiting, which ranks have ended. With the lock held. */
void gp_dist_look(void);
/* The number of processes that a launcher says it has started; 1 without one. */
int gp_dist_launched(void);
/* This process's number by the launcher's count; -1 without one. */
int gp_dist_launched_as(void);
/* Takes the world's lock, once MPI makes no group. */
void gp_dist_lock(void);
/* Joins the job of n by the plug-in's `open`, once, and makes its second communicator. NULL with a
 * message where that fails or not all ranks have come within the timeout: MPI can then not be
 * started any more. */
gp_transport *gp_dist_start(gp_mpi_open_fn *open, int n, int *second);
/* The communicators, two, of a group of n ranks, which every rank makes at the same time; -2 where
 * this process is not in it. False with a message where it fails, a rank is killed meanwhile, or
 * the timeout is over: MPI, which waits for that rank, is not called any more, and no collective
 * works. */
bool gp_dist_make(const int *ranks, int n, int *comm);
/* Whether rank r's process, of this machine, is no more or dead; then it has ended. With the lock
 * held, or while MPI makes a group. */
bool gp_dist_is_gone(int r);
/* Ends MPI, after gp_dist_start: waits for every rank to do so. */
void gp_dist_stop(void);
/* A table of the warnings that ranks of one machine have given: its file, -1 without one; and that
 * of process pid becomes this one's. */
int gp_dist_open_table(void);
void gp_dist_share_table(int64_t pid, int fd);
/* The communicator of the call's stream. */
int gp_dist_comm(const gp_dist_call *d);
/* Fails as broken from here on. */
void gp_dist_break(const char *text);

#endif
