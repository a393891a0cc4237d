/* What the files of profile/cuda share: the lists of what was queued (spans.c) and of what CUPTI
 * saw (cupti.c), which report.c brings together. */
#ifndef GP_CUDA_TRACE_H
#define GP_CUDA_TRACE_H

#include <pthread.h>

#include "profile/cuda/cupti.h"

/* An op or a copy that was queued. Its number, 1 + its index + `reported`, is the external
 * correlation id that CUPTI gets. */
typedef struct span_record {
    gp_stream *s;
    const struct gp_op *op;
    const char *kind;   /* of a copy */
    const char *detail; /* how an op does it, or NULL */
    uint64_t id;
    size_t bytes;
    void *from, *to; /* events, where CUPTI is not used; NULL once their times were read into */
    uint64_t t0, t1; /* these; 0: unknown */
} span_record;

/* What ran on a device, or made the host wait. */
typedef struct activity_record {
    uint64_t t0, t1;
    const char *what; /* kernel's name …; NULL: of a copy */
    uint32_t correlation;
    bool held; /* the host waited */
} activity_record;

/* Which span queued the activities of a correlation id. */
typedef struct correlation_record {
    uint32_t correlation;
    uint64_t number;
} correlation_record;

/* Host time that CUPTI saw go elsewhere. */
typedef struct stall_record {
    const char *what;
    bool first; /* something was set up on its first use */
    uint64_t t0, t1;
} stall_record;

#define CUDA_LIST(T)                                                                               \
    struct {                                                                                       \
        T *at;                                                                                     \
        size_t n, room;                                                                            \
    }

struct gp_cuda_trace {
    pthread_mutex_t lock; /* of what follows, but `on`'s and by_events' reads */
    CUDA_LIST(span_record) spans;
    CUDA_LIST(activity_record) activities;
    CUDA_LIST(correlation_record) correlations;
    CUDA_LIST(stall_record) stalls;
    uint64_t reported; /* spans of earlier reports */
    uint64_t lost;     /* records for which there was no room or no time */
    size_t timed;      /* spans.at[0 … timed-1] have their times */
    bool on;
    bool by_events; /* times come from events, because CUPTI cannot be used */
};
extern struct gp_cuda_trace gp_cuda_trace;
extern const gp_cuda_runtime *gp_cuda_rt;        /* the plug-in's, once it is open */
extern _Thread_local cuda_span *gp_cuda_in_span; /* the innermost that is open; NULL: none */

/* Appends to one of the lists, with the lock held: the new element, uninitialized, or NULL when
 * there is no room, which counts as lost. */
#define CUDA_APPEND(list)                                                                          \
    (gp_cuda_grow((void **)&(list).at, (list).n, &(list).room, sizeof *(list).at)                  \
         ? &(list).at[(list).n++]                                                                  \
         : NULL)
/* Makes room for one more element of size bytes after n; false when there is none. */
bool gp_cuda_grow(void **at, size_t n, size_t *room, size_t size);

/* ---- spans.c ---- */

/* The span of this number, among those not reported yet; NULL: none. With the lock held. */
span_record *gp_cuda_span_of(uint64_t number);
/* Reads the times of events that were passed and gives them back, oldest first. Does not wait. With
 * the lock held. */
void gp_cuda_read_times(void);

/* ---- cupti.c ---- */

/* Starts the activity records. NULL, or why CUPTI cannot be used, which is valid until the next
 * call or failure of this thread. */
const char *gp_cupti_begin(void);
/* Stops them, and leaves CUPTI to other profilers. */
void gp_cupti_end(void);
/* Has all records delivered that are complete; waits for none to become so. */
void gp_cupti_flush(void);
/* Reports calls inside NVIDIA's libraries that may block, from here on. NULL, or why CUPTI cannot
 * be used, which lasts as gp_cupti_begin's. */
const char *gp_cupti_watch_calls(void);
/* What this thread queues between the two is correlated with span `number`. */
void gp_cupti_push(uint64_t number);
void gp_cupti_pop(void);

#endif
