/* What the checks know: areas of memory with cells, and who was there. For check.c and report.c. */
#ifndef GP_SIMT_CHECK_H
#define GP_SIMT_CHECK_H

#include "kernels/common/simt/runner.h"

typedef struct gp_check gp_check;

enum { GP_GUARD = UINT8_MAX };    /* the number of a variable that is not looked at */
enum { GP_CHECK_TURN = 1 << 16 }; /* accesses until another thread goes on */

/* An access of a word. pc: of the call's return, from where the kernel is loaded. */
typedef struct gp_access {
    uint64_t mask : 4; /* its bytes */
    uint64_t thread : 10;
    uint64_t pc : 18;
    uint64_t atomic : 1;
    uint64_t wrote : 1; /* in a cell's `other`: it was a plain write */
    uint64_t time : 30;
} gp_access;
_Static_assert(sizeof(gp_access) == 8 && GP_SIMT_BLOCK <= 1 << 10, "an access is one load");

typedef struct gp_word {
    gp_access write, read, other; /* other: a read that nothing orders with the first one, or the
                                     block's plain write before its atomic one */
    gp_access atom;               /* beside an atomic `write`: another thread's atomic write */
} gp_word;

typedef struct gp_area {
    char *lo;
    uint64_t bytes;
    gp_word *cells;
    size_t ncells;
    uint8_t *variable; /* by byte: the number of a variable of the kernel's, from 1; NULL: none */
    bool shared, writable;
} gp_area;

/* The first read in a block of shared memory that no thread had written before. Without a barrier
 * it may be a race, which says more: it is reported at the next barrier, or at the end. */
typedef struct gp_unwritten {
    const gp_area *area; /* NULL: there was none */
    const gp_word *cell;
    gp_access read;
} gp_unwritten;

/* A read that nothing orders after an atomic access of another thread. Where the reader then calls
 * atomicCAS for the word, the value was a guess for it: no race. Else it is reported at the next
 * barrier, or at the end. */
typedef struct gp_guess {
    const gp_area *area;
    const gp_word *cell;
    gp_access old, read;
} gp_guess;

/* A plain write that nothing orders after another one, of the same bytes. It is reported once the
 * thread goes on, with what is known then: whether it has written what was there. */
typedef struct gp_rewrite {
    const gp_area *area; /* NULL: there was none */
    const gp_word *cell;
    gp_access old, write;
    uint32_t before; /* the word's value */
} gp_rewrite;

/* What threads of a block know of each other besides barriers, by thread. */
typedef struct gp_heard {
    uint32_t fence[GP_SIMT_BLOCK]; /* its last fence */
    uint32_t from[GP_SIMT_BLOCK];  /* the latest access that it has seen of another one's atomics */
    uint32_t latest;               /* of these */
} gp_heard;

/* A word that threads look at again and again. */
typedef struct gp_watch {
    const char *p;
    uint64_t value, since; /* since: the count of accesses when the value was first seen */
    uint64_t times;
    unsigned turn;
} gp_watch;

struct gp_check {
    const gp_simt_launch *launch;
    char *arena; /* windows of 1 << shift bytes */
    int shift;
    uint64_t nareas;
    gp_area area[GP_SIMT_TENSORS + 1]; /* 0: dynamic shared memory */
    gp_area statics;                   /* shared variables, of this thread of the process */
    gp_area data;                      /* variables of the module, */
    char *data_before;                 /* as they were before the launch */
    int of[GP_SIMT_TENSORS];           /* tensor i is in area of[i] + 1, */
    char *at[GP_SIMT_TENSORS];         /* at this address */
    const gp_simt_module *of_module;   /* that both are mapped for */
    bool constant[UINT8_MAX + 1];      /* by number: whether the variable is only read */
    gp_unwritten unwritten;
    gp_guess guess[8];
    gp_rewrite rewrite;
    int nguesses;
    uint32_t launch_time, block_time; /* when these began */
    int64_t nblocks;
    uint32_t *begin, *fence; /* by block: when it began, and was last at a fence */
    bool fenced;             /* a block of this launch was at one */
    const char *base;        /* the module's */
    uint64_t count, due;     /* accesses of the launch, and up to where the thread goes on */
    gp_heard heard;
    gp_watch watch;
    gp_simt_own *own[GP_SIMT_BLOCK]; /* by thread: the array that began last */
    uint8_t *of_stack;               /* by byte of the threads' stacks: gp_own_state; NULL */
};

static inline gp_word *gp_word_at(const gp_area *a, const void *p) {
    return &a->cells[((uintptr_t)p - ((uintptr_t)a->lo & ~(uintptr_t)3)) >> 2];
}

static inline const char *gp_cell_address(const gp_area *a, const gp_word *cell) {
    return (const char *)((uintptr_t)a->lo & ~(uintptr_t)3) + 4 * (cell - a->cells);
}

/* The area of an address, or of one near it; NULL: it is no area's. */
static inline gp_area *gp_check_area(gp_check *c, const char *p) {
    uint64_t window = (uint64_t)(p - c->arena) >> c->shift;
    if (__builtin_expect(window < c->nareas, 1)) return &c->area[window];
    if ((uint64_t)(p - c->statics.lo) < c->statics.bytes) return &c->statics;
    if ((uint64_t)(p - c->data.lo) < c->data.bytes) return &c->data;
    return NULL;
}

/* Of the blocks up to `last`, the one that ran at that time. */
int64_t gp_check_block_at(const gp_check *c, uint32_t time, int64_t last);

/* The launch of this runner, on this thread, is looked at from now on. */
void gp_check_runs(gp_runner *r);

/* What gp_check_read4 and gp_check_write4 do. */
void gp_check_read4_at(const void *p, const void *pc);
void gp_check_write4_at(void *p, const void *pc);

/* ---- own.c ---- */

typedef enum gp_own_state { GP_NO_ARRAY, GP_UNWRITTEN, GP_WRITTEN, GP_ROOM } gp_own_state;
/* Looks at an access of the running thread's stack. Ends the block where it is outside of an array,
 * or reads what was not written. */
void gp_check_stack(gp_runner *r, const char *p, unsigned long size, bool write, const void *pc);
/* A block of n threads begins: no array has. */
void gp_check_own_none(gp_check *c, int n);
/* Threads have ended without the ends of their arrays. */
void gp_check_own_lost(gp_check *c);
void gp_check_own_free(gp_check *c);

/* ---- turns.c ---- */

/* The running thread's atomic access, or read of a volatile word, sees what was written last. */
static inline void gp_check_hear(gp_check *c, gp_access written, int thread) {
    uint32_t *from = &c->heard.from[thread];
    if (!written.atomic || written.thread == (unsigned)thread || written.time <= *from) return;
    *from = written.time;
    if (written.time > c->heard.latest) c->heard.latest = written.time;
}
/* Whether the access, of another thread of the block, was before a fence of that thread, and the
 * running one has seen an atomic access since. */
static inline bool gp_check_heard(const gp_check *c, gp_access a, int thread) {
    return c->heard.fence[a.thread] > a.time && c->heard.from[thread] > a.time;
}
/* The running thread has looked at p: others go on, now and then. */
void gp_check_watch(gp_runner *r, const char *p, unsigned long size, const void *pc);

/* ---- report.c: each ends the block ---- */

/* Nothing orders `old` and `new`. what: 0, a read after a write; 1, a write after a read; 2, a
 * write after a write. */
_Noreturn void gp_report_race(gp_runner *r, const gp_area *a, const gp_word *cell, gp_access old,
                              gp_access new, int what);
/* The same, of the check's rewrite. */
_Noreturn void gp_report_rewrite(gp_runner *r);
_Noreturn void gp_report_outside(gp_runner *r, const gp_area *a, const char *p, unsigned long size,
                                 bool write, const void *pc);
_Noreturn void gp_report_misaligned(gp_runner *r, const gp_area *a, const char *p,
                                    unsigned long size, bool write, const void *pc);
/* Of an array of the thread's own. */
_Noreturn void gp_report_unwritten(gp_runner *r, const char *p, unsigned long size, const void *pc);
/* No thread of the block writes what the running one waits for. */
_Noreturn void gp_report_waits(gp_runner *r, const char *p, unsigned long size, const void *pc);
_Noreturn void gp_report_const(gp_runner *r, const gp_area *a, const char *p, unsigned long size,
                               const void *pc);

#endif
