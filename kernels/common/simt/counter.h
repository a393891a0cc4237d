/* How a launch is counted (counts.h), inside the runtime. For counts.c, tally.c and block.c. */
#ifndef GP_SIMT_COUNTER_H
#define GP_SIMT_COUNTER_H

#include "kernels/common/simt/check.h"
#include "kernels/common/simt/counts.h"

/* What lanes of a warp ask for by one instruction. */
typedef struct gp_request {
    const void *pc; /* of the call's return */
    uint8_t kind, size;
    unsigned mask;
    const char *at[GP_SIMT_WARP]; /* by lane */
} gp_request;

/* A warp, whose lanes go from branch to branch together. */
typedef struct gp_lockstep {
    unsigned running; /* lanes that have not stopped yet */
    unsigned waiting; /* lanes that have stopped at a branch */
    unsigned group;   /* lanes that were let go together */
    uint32_t depth[GP_SIMT_WARP];
    const char *position[GP_SIMT_WARP]; /* where a lane stopped, and how deep in calls */
    const char *compare[GP_SIMT_WARP];  /* its last comparison */
    uint32_t behind;                    /* steps since all lanes were at one position */
    gp_request *request;                /* of the group, in order */
    int n, capacity;
    int cursor[GP_SIMT_WARP]; /* by lane: its next one */
} gp_lockstep;

/* An array that an instruction has used, and the row that it counts in. */
typedef struct gp_counted {
    const void *pc;
    const char *lo;
    uint64_t bytes;
    bool shared;
    int row;
} gp_counted;

typedef struct gp_counter {
    gp_lockstep warp[GP_SIMT_BLOCK / GP_SIMT_WARP];
    gp_simt_counts sum;
    gp_counted *table; /* a hash table by pc; sizes are powers of two */
    int used, size;
    uint8_t *touched[GP_SIMT_TENSORS + 2]; /* by area and word: its bytes that were read, and, in
                                              the upper bits, written; the last: variables */
    size_t words[GP_SIMT_TENSORS + 2];
    uint32_t calls;
    bool lost; /* out of memory */
} gp_counter;

/* ---- counts.c ---- */

/* Prepares counting a launch, whose checks have begun. NULL with a message. */
gp_counter *gp_count_begin(gp_runner *r);
/* Hands what was counted to *to, whose rows are the caller's. False with a message. */
bool gp_count_end(gp_runner *r, gp_simt_counts *to);
void gp_count_free(gp_counter *c); /* NULL is fine */
/* A block begins: all its threads are about to run. */
void gp_count_block(gp_runner *r);
/* What a counted kernel calls besides. */
void gp_count_read(const void *p, unsigned long size, const void *pc);
void gp_count_write(void *p, unsigned long size, const void *pc);
void gp_count_read4(const void *p);
void gp_count_write4(void *p);
void gp_count_atomic(void *p, unsigned long size, const void *pc);
void gp_count_look(const void *p, unsigned long size, const void *pc);
void gp_count_tell(void *p, unsigned long size, const void *pc);
void gp_count_branch(const void *pc);
void gp_count_compare(const void *pc);

/* ---- tally.c ---- */

/* Adds what the request needs to the row of its line and array. */
void gp_tally_request(gp_runner *r, const gp_request *q);
/* Lanes of a warp have parted at that position; or a block has met at a barrier of that line. */
void gp_tally_branch(gp_runner *r, const void *pc);
void gp_tally_barrier(gp_runner *r, int line);

#endif
