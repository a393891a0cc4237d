/* The order in which events of a trace are added to a record, and the time that they span. */
#include <limits.h>
#include <stdlib.h>

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
    return i - j;
}

/* Whether thread x comes before y: that of the steps first, then that by which the process
 * began. */
static bool before(const kineto_thread *x, const kineto_thread *y) {
    if (x->has_steps != y->has_steps) return x->has_steps;
    if (x->main_of_process != y->main_of_process) return x->main_of_process;
    return x->events > y->events;
}

bool gp_kineto_sort(const kineto *k, int **events, int **threads) {
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
    if (ok) qsort_r(order, (size_t)k->n, sizeof *order, compare_events, &(sorting){k, rank_of});
    free(rank_of);
    return ok;
}
