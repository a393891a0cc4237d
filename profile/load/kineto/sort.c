/* The order in which events of a trace are added to a record, and the time that they span. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "profile/load/kineto/kineto.h"

bool gp_kineto_on_host(const kineto_event *e) {
    return e->kind != KINETO_KERNEL && e->kind != KINETO_COPY && e->kind != KINETO_SYNC &&
           e->kind != KINETO_COLLECTIVE;
}

void gp_kineto_extent(const kineto *k, int64_t *t0, int64_t *t1) {
    *t0 = INT64_MAX, *t1 = INT64_MIN;
    for (int i = 0; i < k->n; i++) {
        int64_t end = k->event[i].t0 + k->event[i].dur;
        if (k->event[i].t0 < *t0) *t0 = k->event[i].t0;
        if (end > *t1) *t1 = end;
    }
}

typedef struct sorting {
    const kineto *k;
    const int *rank_of; /* threads' places */
} sorting;

static int compare_events(const void *a, const void *b, void *ctx) {
    const sorting *s = ctx;
    int i = *(const int *)a, j = *(const int *)b;
    const kineto_event *x = &s->k->event[i], *y = &s->k->event[j];
    int device = gp_kineto_on_host(y) - gp_kineto_on_host(x);
    if (device) return device;
    if (gp_kineto_on_host(x) && x->thread != y->thread)
        return s->rank_of[x->thread] - s->rank_of[y->thread];
    if (x->t0 != y->t0) return x->t0 < y->t0 ? -1 : 1;
    if (x->dur != y->dur) return x->dur > y->dur ? -1 : 1;
    int call = (x->kind == KINETO_CALL) - (y->kind == KINETO_CALL); /* is in an op as long as it */
    return call ? call : i - j;
}

/* Whether thread x comes before y: that of the steps first, then that by which the process
 * began. */
static bool before(const kineto_thread *x, const kineto_thread *y) {
    if (x->has_steps != y->has_steps) return x->has_steps;
    if (x->main_of_process != y->main_of_process) return x->main_of_process;
    return x->events > y->events;
}

static bool is_optimizer(const kineto_event *e) {
    return e->kind == KINETO_REGION && !strncmp(e->name, "Optimizer.step#", 15);
}

/* A step of the profiler's that was begun by a hook of an optimizer, as gpush record does, begins
 * within that: it is moved to the optimizer's end, and so is the end of the step before. Whether
 * any was. */
static bool align_steps(const kineto *k, const int *order) {
    kineto_event *step = NULL;
    const kineto_event *optimizer = NULL;
    bool moved = false;
    for (int i = 0; i < k->n; i++) {
        kineto_event *e = &k->event[order[i]];
        if (!gp_kineto_on_host(e)) break;
        if (optimizer && optimizer->thread != e->thread) optimizer = NULL, step = NULL;
        if (is_optimizer(e)) optimizer = e;
        if (e->kind != KINETO_REGION || !gp_kineto_is_step(e->name)) continue;
        int64_t end = optimizer ? optimizer->t0 + optimizer->dur : e->t0;
        if (end > e->t0 && end < e->t0 + e->dur) {
            if (step && step->t0 + step->dur <= e->t0) step->dur = end - step->t0;
            e->dur -= end - e->t0, e->t0 = end, moved = true;
        }
        step = e;
    }
    return moved;
}

bool gp_kineto_sort(kineto *k, int **events, int **threads) {
    int *rank_of = calloc((size_t)k->nthreads + 1, sizeof *rank_of);
    int *thread = *threads = malloc(((size_t)k->nthreads + 1) * sizeof *thread);
    int *order = *events = malloc(((size_t)k->n + 1) * sizeof *order);
    bool ok = rank_of && thread && order;
    for (int i = 0; ok && i < k->nthreads; i++) {
        int at = i;
        for (; at > 0 && before(&k->thread[i], &k->thread[thread[at - 1]]); at--)
            thread[at] = thread[at - 1];
        thread[at] = i;
    }
    for (int i = 0; ok && i < k->nthreads; i++) rank_of[thread[i]] = i;
    for (int i = 0; ok && i < k->n; i++) order[i] = i;
    sorting by = {k, rank_of};
    if (ok) qsort_r(order, (size_t)k->n, sizeof *order, compare_events, &by);
    if (ok && align_steps(k, order))
        qsort_r(order, (size_t)k->n, sizeof *order, compare_events, &by);
    free(rank_of);
    return ok;
}
