/* How work was launched: by call of the runtime, how long it took and how much later its work
 * began. What one call launched, a graph's kernels as well, is one launch. */
#include <stdlib.h>
#include <string.h>

#include "profile/show/usage.h"
#include "tensor/base/sort.h"

/* The work of a call on one device. */
typedef struct launch {
    const gp_rec *call;
    gp_device *dev;
    int rank, work;
    uint64_t begun, ns, delay; /* begun: its first work */
} launch;

static const char *name_of(const gp_rec *call) {
    return call->kind == GP_REC_CALL ? call->name : "";
}

static int by_call(const void *a, const void *b) {
    const launch *x = a, *y = b;
    if (x->call->id != y->call->id) return x->call->id < y->call->id ? -1 : 1;
    if (x->dev->slot != y->dev->slot) return x->dev->slot - y->dev->slot;
    return x->begun < y->begun ? -1 : x->begun > y->begun;
}

/* Whether two are of one row of the list. */
static int compare_rows(const launch *x, const launch *y) {
    if (x->rank != y->rank) return x->rank - y->rank;
    if (x->dev->slot != y->dev->slot) return x->dev->slot - y->dev->slot;
    return strcmp(name_of(x->call), name_of(y->call));
}

static int by_row(const void *a, const void *b) {
    const launch *x = a, *y = b;
    int order = compare_rows(x, y);
    return order ? order : x->delay < y->delay ? -1 : x->delay > y->delay;
}

/* A call launches, and so does one that then waits for its copy. */
static bool launches(const gp_work *w) {
    return w->host && (w->host->kind == GP_REC_CALL || w->host->kind == GP_REC_WAIT);
}

/* Fills list with the launches, in the order of rows and delays; returns how many. */
static int gather(const gp_usage *u, launch *list) {
    int n = 0, kept = 0;
    for (int i = 0; i < u->nwork; i++) {
        const gp_work *w = &u->work[i];
        const gp_usage_stream *s = &u->stream[w->stream];
        if (launches(w))
            list[n++] = (launch){.call = w->host,
                                 .dev = s->stream->dev,
                                 .rank = s->rank,
                                 .work = 1,
                                 .begun = w->rec->t0,
                                 .ns = w->rec->t1 - w->rec->t0};
    }
    gp_sort(list, (size_t)n, sizeof *list, by_call);
    for (int i = 0; i < n; i++) {
        launch *last = kept ? &list[kept - 1] : NULL;
        if (!last || last->call != list[i].call || last->dev != list[i].dev) list[kept++] = list[i];
        else last->work++, last->ns += list[i].ns;
    }
    for (int i = 0; i < kept; i++) {
        uint64_t end = gp_rec_end(u->p, list[i].call);
        list[i].delay = list[i].begun > end ? list[i].begun - end : 0;
    }
    qsort(list, (size_t)kept, sizeof *list, by_row);
    return kept;
}

static void add(const gp_usage *u, gp_launches *to, const launch *l) {
    uint64_t took = gp_rec_end(u->p, l->call) - l->call->t0;
    to->times++;
    to->work += l->work;
    to->call += took, to->busy += l->ns, to->delay += l->delay;
    if (took > to->call_most) to->call_most = took;
    to->nshort += l->work == 1 && l->ns < took;
    to->nslow += took > GP_SLOW_CALL_NS;
    to->nlate += l->delay > GP_LATE_NS;
    to->delay_most = l->delay;
}

/* The median of n sorted ones. */
static uint64_t median(const launch *l, int n) {
    return n % 2 ? l[n / 2].delay : (l[n / 2 - 1].delay + l[n / 2].delay) / 2;
}

gp_launches *gp_launches_of(const gp_usage *u, int *n) {
    launch *list = malloc(((size_t)u->nwork + 1) * sizeof *list);
    int nlist = list ? gather(u, list) : 0;
    gp_launches *of = list ? calloc((size_t)nlist + 1, sizeof *of) : NULL;
    *n = 0;
    for (int from = 0, to; of && from < nlist; from = to) {
        gp_launches *row = &of[(*n)++];
        const launch *l = &list[from];
        *row = (gp_launches){.name = name_of(l->call), .dev = l->dev, .rank = l->rank};
        for (to = from; to < nlist && !compare_rows(l, &list[to]); to++) add(u, row, &list[to]);
        row->delay_median = median(l, to - from);
    }
    free(list);
    return of ? of : gp_fail_null("profile: out of memory");
}
