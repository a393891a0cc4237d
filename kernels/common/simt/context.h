/* Where a fiber goes on: its stack pointer, or what the system keeps of it. */
#ifndef GP_SIMT_CONTEXT_H
#define GP_SIMT_CONTEXT_H

#if !defined(__x86_64__) && !defined(__aarch64__)
#define GP_SIMT_UCONTEXT
#include <ucontext.h>
#endif

typedef struct gp_fiber_context {
#ifdef GP_SIMT_UCONTEXT
    ucontext_t u;
#else
    void *sp;
#endif
} gp_fiber_context;

#endif
