/* Launches that waited for room: CUDA queues about 1024 of them, and the next one returns when the
 * device has come to the end of one. Traces have such a call as a long one like any other. */
#include <stdlib.h>

#include "profile/load/kineto/kineto.h"
#include "profile/show/usage.h"

/* Launches that are queued where the queue is taken to be full; how long after an end, and before
 * it as clocks of devices are not exact, such a call returns, in ns; how many times a usual
 * call it takes, and how long one is at most. */
enum { FULL = 1000, LATE = 20000, CLOCK_ERROR = 5000, LONG = 3, USUAL = 10000 };

/* A stream's launches: when each began, 0: before the record, and when all that it queued had
 * ended; each list is sorted. */
typedef struct launches {
    uint64_t *begin, *end;
    gp_rec **call; /* in the order of what they queued; NULL: not on the record */
    int n;
} launches;

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* How many of n sorted times are below t. */
static int below(const uint64_t *times, int n, uint64_t t) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (times[mid] < t) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

static uint64_t length_of(const gp_rec *call) { return call->t1 - call->t0; }

/* What a graph queues is one launch. */
static void gather(const gp_usage *u, const gp_usage_stream *s, launches *l) {
    const gp_rec *last = NULL;
    l->n = 0;
    for (int i = s->from; i < s->to; i++) {
        const gp_work *w = &u->work[i];
        if (w->host && w->host->kind != GP_REC_CALL) continue;
        if (!w->host || w->host != last) l->call[l->n++] = (gp_rec *)w->host, l->end[l->n - 1] = 0;
        last = w->host;
        l->begin[l->n - 1] = w->host ? w->launch : 0;
        if (w->rec->t1 > l->end[l->n - 1]) l->end[l->n - 1] = w->rec->t1;
    }
    qsort(l->begin, (size_t)l->n, sizeof *l->begin, by_number);
    qsort(l->end, (size_t)l->n, sizeof *l->end, by_number);
}

/* Whether the queue was full when a call began. */
static bool is_full(const launches *l, const gp_rec *call) {
    return below(l->begin, l->n, call->t0) - below(l->end, l->n, call->t0) >= FULL;
}

/* The median time of the calls that found room, at most USUAL. */
static uint64_t usual(const launches *l, uint64_t *list) {
    int n = 0;
    for (int i = 0; i < l->n; i++)
        if (l->call[i] && !is_full(l, l->call[i])) list[n++] = length_of(l->call[i]);
    qsort(list, (size_t)n, sizeof *list, by_number);
    return n && list[n / 2] < USUAL ? list[n / 2] : USUAL;
}

/* Whether a call waited for room. */
static bool waited(const launches *l, const gp_rec *call, uint64_t most) {
    int ended = below(l->end, l->n, call->t1 + CLOCK_ERROR);
    return length_of(call) > most && is_full(l, call) && ended &&
           l->end[ended - 1] + LATE >= call->t1 && l->end[ended - 1] > call->t0;
}

static void find(const gp_usage *u, const gp_usage_stream *s, launches *l, uint64_t *list) {
    gather(u, s, l);
    if (l->n <= FULL) return;
    uint64_t most = LONG * usual(l, list);
    for (int i = 0; i < l->n; i++) {
        gp_rec *call = l->call[i];
        if (!call || !waited(l, call, most) || !gp_kineto_reason("full queue", NULL, call))
            continue;
        call->kind = GP_REC_WAIT, call->where = s->stream;
    }
}

bool gp_kineto_full_queues(gp_prof *p) {
    gp_usage *u = gp_usage_new(p);
    if (!u) return false;
    size_t n = (size_t)u->nwork + 1;
    launches l = {malloc(n * sizeof *l.begin), malloc(n * sizeof *l.end),
                  malloc(n * sizeof *l.call), 0};
    uint64_t *list = malloc(n * sizeof *list);
    bool ok = (l.begin && l.end && l.call && list) || gp_fail("profile.load: out of memory");
    for (int i = 0; ok && i < u->nstreams; i++) find(u, &u->stream[i], &l, list);
    free(l.begin);
    free(l.end);
    free(l.call);
    free(list);
    gp_usage_free(u);
    return ok;
}
