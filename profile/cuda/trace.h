/* Shared by the files of profile/cuda: the lists of what was queued (spans.c) and of what CUPTI saw
 * (cupti.c), which report.c joins. */
#ifndef GP_CUDA_TRACE_H
#define GP_CUDA_TRACE_H

#include <pthread.h>

#include "profile/cuda/cupti.h"

/* An op or a copy that was queued. Its number, 1 + its index + `reported`, is the external
 * correlation id that CUPTI gets. */
typedef struct span_record {
    gp_stream *s;
    const struct gp_op *op;
    const char *kind;   /* for a copy */
    const char *detail; /* the op's variant, or NULL */
    uint64_t id;
    size_t bytes;
    void *from, *to; /* events, where CUPTI is not used; NULL once their times were read into */
    uint64_t t0, t1; /* these; 0: unknown */
} span_record;

/* What ran on a device, or made the host wait. */
typedef struct activity_record {
    uint64_t t0, t1;
    const char *what; /* kernel's name …; NULL: a copy */
    uint32_t correlation;
    bool held; /* the host waited */
} activity_record;

/* The span that queued the activities of a correlation id. */
typedef struct correlation_record {
    uint32_t correlation;
    uint64_t number;
} correlation_record;

/* Host time lost in a call that CUPTI saw. */
typedef struct stall_record {
    const char *what;
    bool first; /* whether something was set up on its first use */
    uint64_t t0, t1;
} stall_record;

#define CUDA_LIST(T)                                                                               \
    struct {                                                                                       \
        T *at;                                                                                     \
        size_t n, capacity;                                                                        \
    }

struct gp_cuda_trace {
    pthread_mutex_t lock; /* guards what follows, except reads of `on` and by_events */
    CUDA_LIST(span_record) spans;
    CUDA_LIST(activity_record) activities;
    CUDA_LIST(correlation_record) correlations;
    CUDA_LIST(stall_record) stalls;
    uint64_t reported; /* spans of earlier reports */
    uint64_t lost;     /* records for which there was no memory or no time */
    size_t timed;      /* spans.at[0 … timed-1] have their times */
    bool on;
    bool by_events; /* times come from events, because CUPTI cannot be used */
};
extern struct gp_cuda_trace gp_cuda_trace;
extern const gp_cuda_runtime *gp_cuda_rt;        /* the plug-in's, once it is open */
extern _Thread_local cuda_span *gp_cuda_in_span; /* the innermost open one; NULL: none */

/* Appends to one of the lists, with the lock held: returns the new element, uninitialized, or NULL
 * without memory, which counts as lost. */
#define CUDA_APPEND(list)                                                                          \
    (gp_cuda_grow((void **)&(list).at, (list).n, &(list).capacity, sizeof *(list).at)              \
         ? &(list).at[(list).n++]                                                                  \
         : NULL)
/* Grows the array for one more element of size bytes after n; false without memory. */
bool gp_cuda_grow(void **at, size_t n, size_t *capacity, size_t size);

/* ---- spans.c ---- */

/* The span of that number, among those not reported yet; NULL: none. With the lock held. */
span_record *gp_cuda_span_of(uint64_t number);
/* Reads the times of events that were reached and returns the events to the pool, oldest first.
 * Never blocks. With the lock held. */
void gp_cuda_read_times(void);

/* ---- cupti.c ---- */

/* Starts the activity records. NULL, or the reason why CUPTI cannot be used, which is valid until
 * the next call or failure of this thread. */
const char *gp_cupti_begin(void);
/* Stops them, but for those of calls, by which gp_cupti_leave knows whether it may detach CUPTI. */
void gp_cupti_end(void);
/* Leaves CUPTI to other profilers. */
void gp_cupti_leave(void);
/* Delivers records; does not wait for others to complete. all: also those of work that is not
 * done, which then have no times; without it CUPTI keeps what lies beside these in a buffer. */
void gp_cupti_flush(bool all);
/* Reports calls inside NVIDIA's libraries that may block, from here on. NULL, or the reason why
 * CUPTI cannot be used, valid as gp_cupti_begin's. */
const char *gp_cupti_watch_calls(void);
/* Correlates what this thread queues between the two with span `number`. */
void gp_cupti_push(uint64_t number);
void gp_cupti_pop(void);

#endif
