/* Inside the runtime: fibers, the block that they run, and what is known of its accesses. */
#ifndef GP_SIMT_RUNNER_H
#define GP_SIMT_RUNNER_H

#include <pthread.h>

#include "kernels/common/simt/fiber.h"
#include "kernels/common/simt/lines.h"
#include "kernels/common/simt/simt.h"
#include "kernels/common/simt/waits.h"
#include "tensor/fuse/object.h"
#include "tensor/ops/simt.h"

struct gp_simt_module {
    gp_simt_module *next; /* of all: they last to the program's end, as kernels do */
    const char *file;     /* as in gp_simt_text */
    int line;
    bool checked, counted;
    gp_object *object;
    void *(*begin)(const gp_simt_now *now); /* the address of gp_first, for this thread */
    const char *base;                       /* where it is loaded */
    gp_simt_lines lines;
    gp_simt_symbols symbols;
    int nglobals;
    uint64_t constants;
    char *global[GP_SIMT_VARIABLES];
    size_t bytes[GP_SIMT_VARIABLES];
    gp_card_text *card;              /* NULL: it is the processor's */
    pthread_mutex_t own_lock, *lock; /* of a launch that sets variables: of the first module of all
                                        that are loaded at one address */
};

struct gp_simt_kernel {
    gp_simt_source source;
    int64_t number;
    gp_simt_module *module;
    void (*entry)(void **args);
    gp_simt_counts counts; /* of the last counted launch; blocks is 0: there was none */
    gp_card_kernel card;
};

struct gp_check;
struct gp_counter;
typedef struct gp_halt gp_halt;

/* One thread of the process, its fibers and the block that it is running. */
typedef struct gp_runner {
    gp_fibers f; /* whose time counts barriers, too */
    const gp_simt_launch *launch;
    struct gp_check *check;     /* NULL: unchecked */
    struct gp_check *kept;      /* for the next checked launch */
    struct gp_counter *counter; /* NULL: it is not counted */
    struct gp_counter *kept_counter;
    void **args;
    gp_simt_now now;
    uint32_t block_time; /* when the last barrier, or the block's begin, was */
    int64_t block;       /* its linear index */
    char *shared;        /* the dynamic shared memory */
    size_t shared_size;
    gp_halt *halt;       /* NULL: Ctrl-C waits for a kernel's next access */
    const void *left_at; /* where a signal's handler made the thread leave the kernel */
    int fault;           /* which, if it was one: SIGFPE, SIGSEGV or SIGBUS */
    bool full;           /* it was of a stack without room */
} gp_runner;

/* The runner of this thread; NULL with a message. */
gp_runner *gp_runner_mine(void);
/* Runs block number `block` of the launch. False: r->f.text says why. */
bool gp_runner_block(gp_runner *r, int64_t block);
extern const gp_simt_calls gp_runner_calls, gp_counted_calls;
extern const gp_simt_waits gp_runner_waits, gp_counted_waits;

/* ---- halt.c: how Ctrl-C stops what does not ask; NULL is fine for all but the first ---- */

/* For this thread; NULL: it cannot be. */
gp_halt *gp_halt_new(void);
void gp_halt_free(gp_halt *h);
/* Between these this thread runs blocks. */
void gp_halt_begin(gp_halt *h);
void gp_halt_end(gp_halt *h);

/* ---- check.c ---- */

/* Prepares a checked launch: copies of the tensors, with room between them. NULL with a message. */
struct gp_check *gp_check_begin(gp_runner *r, const gp_simt_launch *l);
/* A block is about to run; its static shared memory has gp_first at that address. */
void gp_check_block(gp_runner *r, char *first);
/* Writes back what was written, if ok. */
void gp_check_end(struct gp_check *c, bool ok);
/* The address of argument i, a pointer, in its copy. */
char *gp_check_tensor(struct gp_check *c, int i);
char *gp_check_dynamic(struct gp_check *c);
/* At a barrier, and at a block's end: false where a thread has read shared memory that none had
 * written, or a word in a race that only now is known for one; r->f.text says which. */
bool gp_check_written(gp_runner *r);
void gp_check_fence(gp_runner *r, bool wide); /* wide: for other blocks, too */
/* The running thread has met those lanes of its warp, and has seen what they had. */
void gp_check_met(gp_runner *r, unsigned lanes);
void gp_check_free(struct gp_check *c); /* NULL is fine */
void gp_check_read(const void *p, unsigned long size, const void *pc);
void gp_check_write(void *p, unsigned long size, const void *pc);
void gp_check_read4(const void *p);
void gp_check_write4(void *p);
void gp_check_atomic(void *p, unsigned long size, const void *pc);
/* A read and a write of a volatile variable. */
void gp_check_look(const void *p, unsigned long size, const void *pc);
void gp_check_tell(void *p, unsigned long size, const void *pc);
/* An array of the running thread's begins, and ends. */
void gp_check_own(gp_simt_own *o);
void gp_check_disown(gp_simt_own *o);
/* The running thread's reads of these words in this block were guesses for an atomicCAS. */
void gp_check_guessed(void *p, unsigned long size);

/* ---- report.c ---- */

/* The kernel's instruction there has faulted. Ends the block. */
_Noreturn void gp_report_fault(gp_runner *r, int sig, const void *at);

/* "script.lua:12", or "line 3": the place of a return address. */
const char *gp_simt_place_text(const gp_simt_module *m, const void *pc, char *buf, size_t n);
const char *gp_simt_line_text(const gp_simt_module *m, int line, char *buf, size_t n);
/* "block 1,2 thread 40" of a linear block and thread of the launch. */
const char *gp_simt_thread_text(const gp_simt_launch *l, int64_t block, int thread, char *buf,
                                size_t n);

#endif
