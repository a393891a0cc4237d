/* A block's threads as fibers of one thread of the process, their barriers, and what the lanes of
 * their warps exchange. It knows neither kernels nor checks: the runner of users' kernels
 * (runner.h) is one of its users, the tests' stand-in for CUDA is the other. */
#ifndef GP_SIMT_FIBER_H
#define GP_SIMT_FIBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/common/simt/abi.h"
#include "kernels/common/simt/context.h"

enum {
    GP_SIMT_BLOCK = 1024, /* threads */
    GP_SIMT_WARP = 32
};

typedef enum gp_fiber_state {
    GP_IDLE,
    GP_RUNNING, /* or released, and not yet on */
    GP_AT_BARRIER,
    GP_AT_WARP,
    GP_AT_BRANCH
} gp_fiber_state;

typedef struct gp_fibers gp_fibers;

/* Runs one thread of the block after another, up to one that waits. */
typedef struct gp_fiber {
    gp_fiber_context c;
    char *stack;
    gp_fibers *run;
    gp_fiber_state state;
    int index;               /* in the runner's fibers */
    int thread;              /* linear index in the block */
    gp_uint3 at;             /* threadIdx */
    const void *pc;          /* GP_AT_WARP: where it waits */
    int line;                /* GP_AT_BARRIER: where */
    unsigned mask;           /* GP_AT_WARP: lanes that meet */
    uint64_t value;          /* … the value it brings */
    unsigned long long *all; /* … and the values it gets: from all 32, or */
    int from;                /* from one lane, into value */
    unsigned met;            /* lanes that have arrived */
    void *asan, *tsan;
} gp_fiber;

/* Lanes of a warp as bits. */
typedef struct gp_warp {
    unsigned waits; /* at a function of the warp */
    unsigned ended; /* ended, or absent: a block's last warp may be short */
    uint32_t time;  /* when all lanes last met */
} gp_warp;

/* One thread of the process, its fibers and the block that it is running. The first six are the
 * user's to set. */
struct gp_fibers {
    void (*body)(gp_fibers *r); /* runs one thread of the block */
    void (*stops)(gp_fibers *r, int thread, const void *position); /* one ends, or waits for others;
                                                                      NULL: nobody asks */
    void (*goes)(gp_fibers *r, int thread); /* one that had stopped goes on */
    gp_uint3 *now, dim;                     /* where threadIdx is kept, and blockDim */
    bool backward;                          /* from the last thread to the first */
    gp_fiber_context main;
    char *mapped, *stacks; /* of all fibers that there may be; of each a page is a guard, and only
                              touched pages take memory */
    gp_fiber *fiber[GP_SIMT_BLOCK];
    int nfibers, used; /* the first `used` are taken by threads of this block */
    gp_fiber *current;
    gp_fiber
        *of[GP_SIMT_BLOCK]; /* by thread: its fiber while it runs; NULL: not started or ended */
    gp_warp warp[GP_SIMT_BLOCK / GP_SIMT_WARP];
    uint32_t after[GP_SIMT_BLOCK][GP_SIMT_WARP]; /* by thread, and lane of its warp: up to when it
                                                    is after that lane, by meetings of some lanes */
    int n, next, live;
    int kind, arrived, votes, result; /* of the barrier */
    gp_fiber *first;                  /* that arrived */
    uint32_t time;                    /* counts meetings of warps */
    bool failed, entered;             /* entered: the switch that ends now came from main */
    char text[900];
    const void *main_bottom;
    size_t main_size;
    void *asan, *tsan;
};

#ifdef __cplusplus
extern "C" {
#endif
/* Makes r, which is zero, this thread's. False: out of memory, or the processor keeps a shadow
 * stack; *why says so. */
bool gp_fibers_begin(gp_fibers *r, const char **why);
void gp_fibers_end(gp_fibers *r);
/* This thread's; NULL: it has none. */
gp_fibers *gp_fibers_mine(void);
/* A block of r->dim begins. */
void gp_fibers_block(gp_fibers *r);
/* Runs its threads until all have ended, or it has failed. False: they wait for each other. */
bool gp_fibers_run(gp_fibers *r);
/* The block is over. */
void gp_fibers_reset(gp_fibers *r);

/* ---- from a fiber ---- */

/* Another thread goes on, and this one once its state is GP_RUNNING again. */
void gp_fibers_wait(gp_fiber *f, gp_fiber_state state);
/* The current thread goes on after the others that can. */
void gp_fibers_yield(gp_fibers *r);
/* Ends the block with that message, unless it has one. */
__attribute__((noreturn, format(printf, 2, 3))) void gp_fibers_fail(gp_fibers *r, const char *fmt,
                                                                    ...);
/* The current thread waits for those of the block; what the kind makes of their votes. */
int gp_fibers_barrier(gp_fibers *r, int kind, int vote);
/* Lets those at the barrier go on. */
void gp_fibers_release(gp_fibers *r);
/* The current thread waits for the lanes of mask, but for those that have ended. all: becomes what
 * they bring, garbage where one takes no part; NULL: the fiber's value becomes that of lane `from`.
 * The fiber, whose met has the lanes that came. */
gp_fiber *gp_fibers_meet(gp_fibers *r, unsigned mask, unsigned long long value,
                         unsigned long long *all, int from, const void *pc);
#ifdef __cplusplus
}
#endif

#endif
