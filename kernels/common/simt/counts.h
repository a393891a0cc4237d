/* What a launch costs a card, counted: a warp's requests for memory and the sectors and banks that
 * they need, branches where its lanes part, barriers, bytes. The numbers depend on the kernel and
 * its arguments alone, not on the machine. */
#ifndef GP_SIMT_COUNTS_H
#define GP_SIMT_COUNTS_H

#include <stdbool.h>
#include <stdint.h>

typedef enum gp_count_kind {
    GP_COUNT_READ,
    GP_COUNT_WRITE,
    GP_COUNT_ATOMIC,
    GP_COUNT_BARRIER,
    GP_COUNT_BRANCH
} gp_count_kind;

enum { GP_SECTOR = 32, GP_BANKS = 32, GP_COUNT_NAME = 40 };

/* What one line of the text asks of one array; or its barriers, or branches. */
typedef struct gp_count_row {
    int line; /* of the text; 0: not known */
    gp_count_kind kind;
    bool shared;
    char name[GP_COUNT_NAME]; /* of the argument or variable; "": dynamic shared memory, or none */
    int size;                 /* bytes of a lane's access, the largest */
    uint64_t requests;        /* of warps; blocks' barriers; branches where a warp's lanes parted */
    uint64_t lanes;           /* that took part */
    uint64_t sectors, least;  /* that requests need; that their bytes need where they are packed */
    uint64_t conflicts;       /* passes over shared memory that banks add */
    int64_t stride;           /* bytes from a lane's access to that of the next one, at first; */
    uint64_t pairs, even;     /* neighbours, and those of them that had it */
} gp_count_row;

typedef struct gp_simt_counts {
    int nrows;
    gp_count_row *row; /* malloc'd */
    uint64_t accesses; /* of threads, of global and shared memory */
    uint64_t moved;    /* bytes of the sectors that requests need */
    uint64_t least;    /* distinct bytes of global memory: those read, and those written */
    uint64_t passes;   /* over shared memory */
    uint64_t blocks, threads;
} gp_simt_counts;

#endif
