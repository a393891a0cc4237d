/* Records CUDA devices: what is queued, what ran and when, and the calls inside NVIDIA's libraries
 * that block. Part of the plug-in, below its runtime, whose functions it is given when the plug-in
 * is opened. */
#ifndef GP_CUDA_CUPTI_H
#define GP_CUDA_CUPTI_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/device/device.h"

struct gp_op;

/* What it uses of the plug-in's runtime (kernels/cuda/runtime). None of the calls waits. */
typedef struct gp_cuda_runtime {
    /* Fills table with CUPTI's functions, of which the last `optional` may be missing (NULL); false
     * with a message. */
    bool (*cupti)(const char *const *names, int n, int optional, void **table);
    /* Makes dev the calling thread's device. */
    void (*enter)(const gp_device *dev);
    /* The cudaStream_t of s. */
    void *(*stream)(const gp_stream *s);
    /* An event of the pool (cudaEvent_t); NULL with a message. */
    void *(*event_acquire)(gp_device *dev);
    void (*event_release)(gp_device *dev, void *event);
    /* When a recorded event was reached, in ns on gp_now_ns()'s clock; 0 if not yet. */
    uint64_t (*event_ns)(gp_device *dev, void *event);
    /* Reports a call that may block, made since t0, to gp_hook.call. */
    void (*called)(gp_device *dev, const char *what, bool first, uint64_t t0);
} gp_cuda_runtime;

/* Keeps the runtime, which lives as long as the plug-in, and checks whether a tool wants NVTX
 * ranges. Called once, before the rest. */
void gp_cuda_cupti_open(const gp_cuda_runtime *runtime);

/* Work that is being queued on this thread: the device's activity for it is reported under its
 * id. */
typedef struct cuda_span {
    struct cuda_span *outer;
    gp_stream *s;
    const struct gp_op *op; /* NULL: a copy */
    uint64_t number;        /* 0: not recorded */
    uint64_t issued;        /* commands of s before it */
    bool named;             /* an NVTX range is open */
} cuda_span;
/* The observers; usually none: then a span costs one check of this. */
enum { CUDA_WATCH_WORK = 1, CUDA_WATCH_NVTX = 2, CUDA_WATCH_CALLS = 4 };
extern atomic_int gp_cuda_watch;
/* kind, bytes: of a copy, as in gp_hook.device. sp must not move until its end. */
void gp_cuda_span_begin(cuda_span *sp, gp_stream *s, const struct gp_op *op, const char *kind,
                        uint64_t id, size_t bytes);
void gp_cuda_span_end(cuda_span *sp);
/* The variant of the op being queued ("gesvdj"), for observers. text: lives as long as the
 * process. */
void gp_cuda_detail(const char *text);
/* Whether CUPTI is still attached after a record, so that the next one need not wait for it: then
 * gp_cuda_trace_idle, at a place outside calls of CUDA, detaches it once that is a while ago. */
extern atomic_bool gp_cuda_lingers;
void gp_cuda_trace_idle(void);
/* gp_device_vt.observe */
const char *gp_cuda_observe(gp_device *dev, gp_trace_cmd cmd, uint64_t *lost);
/* Above 0 while the runtime makes a call that it times itself. */
extern _Thread_local int gp_cuda_own_calls;

/* ---- cupti_text.c: texts that are never freed; NULL when there is no room ---- */

/* A kernel's readable name, from CUPTI's, without its arguments. NULL for NULL. */
const char *gp_cuda_kernel_text(const char *name);
/* "svd: cudaStreamSynchronize", never freed; NULL once there are too many such texts. */
const char *gp_cuda_call_text(const char *op, const char *function);

#endif
