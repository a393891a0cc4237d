/* What the devices of a profile did over its time: for each device the share in which it computed,
 * only copied, or was idle; for each stream how much was queued over time, its gaps and their
 * reasons. Intervals are sorted by start and merged, so that each moment counts once. Busy shares
 * and queue lengths are defined as in HolisticTraceAnalysis (tests/profile/hta.sh compares). */
#include "profile/show/usage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/base/sort.h"

/* ---- who queued what ---- */

static bool queues(const gp_rec *r) { return r->id && r->kind != GP_REC_ALLOC; }

static int by_id(const void *a, const void *b) {
    uint64_t x = (*(const gp_rec *const *)a)->id, y = (*(const gp_rec *const *)b)->id;
    return x < y ? -1 : x > y;
}

/* The host's events with ids, by id; *n of them. */
static const gp_rec **queueing(const gp_prof *p, int *n) {
    const gp_rec **list = malloc(((size_t)gp_count_recs(p->host, queues) + 1) * sizeof *list);
    *n = 0;
    for (const gp_track *t = list ? p->host : NULL; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));)
            if (queues(r)) list[(*n)++] = r;
    }
    if (list) gp_sort(list, (size_t)*n, sizeof *list, by_id);
    return list;
}

/* A call of the runtime queues when it begins; an op at some time within it. */
static uint64_t launched(const gp_prof *p, const gp_rec *r, const gp_rec *host) {
    if (!host) return r->t0;
    uint64_t end = gp_rec_end(p, host), at = end < r->t0 ? end : r->t0;
    return host->kind != GP_REC_OP || at < host->t0 ? host->t0 : at;
}

/* ---- streams ---- */

static int compare_streams(const gp_usage_stream *x, const gp_usage_stream *y) {
    if (x->rank != y->rank) return x->rank - y->rank;
    if (x->stream->dev != y->stream->dev) return x->stream->dev->slot - y->stream->dev->slot;
    return (x->stream->index > y->stream->index) - (x->stream->index < y->stream->index);
}

/* While the usage is made, a stream is only that of one piece of work. */
typedef struct work_item {
    gp_work w;
    gp_usage_stream s;
} work_item;

static int by_device(const void *a, const void *b) {
    const work_item *x = a, *y = b;
    int order = compare_streams(&x->s, &y->s);
    if (order) return order;
    const gp_rec *r = x->w.rec, *q = y->w.rec;
    return r->t0 != q->t0 ? (r->t0 < q->t0 ? -1 : 1) : (r->t1 > q->t1) - (r->t1 < q->t1);
}

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Notes which of n, whose hosts are still known by number, are the only ones of theirs; nhost: how
 * many of these there are. False without memory. */
static bool find_alone(work_item *list, int n, int nhost) {
    int *queued = calloc((size_t)nhost + 1, sizeof *queued);
    if (!queued) return false;
    for (int i = 0; i < n; i++)
        if (list[i].w.host) queued[list[i].w.stream]++;
    for (int i = 0; i < n; i++) list[i].w.alone = list[i].w.host && queued[list[i].w.stream] == 1;
    free(queued);
    return true;
}

static work_item *gather(const gp_prof *p, int nwork) {
    int nhost = 0, n = 0;
    work_item *list = malloc(((size_t)nwork + 1) * sizeof *list);
    const gp_rec **host = list ? queueing(p, &nhost) : NULL;
    if (!host) return free(list), NULL;
    for (const gp_track *t = p->workers; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));) {
            if (!gp_rec_is_work(r)) continue;
            if (gp_prof_stops((uint64_t)n)) return free(host), free(list), NULL;
            const gp_rec **found =
                r->id ? bsearch(&r, host, (size_t)nhost, sizeof *host, by_id) : NULL;
            work_item *q = &list[n++];
            q->w = (gp_work){.rec = r, .host = found ? *found : NULL};
            q->w.stream = found ? (int)(found - host) : -1; /* the host's number, until build() */
            q->w.launch = launched(p, r, q->w.host);
            q->s = (gp_usage_stream){.stream = r->where, .rank = t->rank};
        }
    }
    free(host);
    if (!find_alone(list, n, nhost)) return free(list), NULL;
    gp_sort(list, (size_t)n, sizeof *list, by_device);
    return list;
}

/* A stream runs its work in order. So of another program's, whose launches are all on the record,
 * what ran ahead of the first work that was launched there was queued before it began. */
static void note_before(gp_usage *u, const gp_usage_stream *s) {
    int first = s->from;
    while (first < s->to && !u->work[first].host) first++;
    for (int i = s->from; u->p->foreign && first < s->to && i < first; i++)
        u->work[i].before = true, u->work[i].launch = u->p->t0;
}

uint64_t gp_usage_before(const gp_usage *u) {
    uint64_t sum = 0;
    for (int i = 0; i < u->nwork; i++)
        if (u->work[i].before) sum += u->work[i].rec->t1 - u->work[i].rec->t0;
    return sum;
}

/* Sorts a stream's times, for which it has three lists. */
static void fill_stream(gp_usage *u, gp_usage_stream *s, uint64_t *lists) {
    size_t n = (size_t)(s->to - s->from);
    uint64_t reach = 0;
    s->launches = lists;
    s->ends = lists + n;
    s->reach = lists + 2 * n;
    for (size_t i = 0; i < n; i++) {
        const gp_work *w = &u->work[s->from + (int)i];
        s->launches[i] = w->launch;
        s->ends[i] = w->rec->t1;
        if (w->rec->t1 > reach) reach = w->rec->t1;
        s->reach[i] = reach;
    }
    gp_sort(s->launches, n, sizeof *s->launches, by_number);
    gp_sort(s->ends, n, sizeof *s->ends, by_number);
}

static bool build(gp_usage *u, const work_item *list) {
    size_t n = (size_t)u->nwork;
    u->work = malloc((n + 1) * sizeof *u->work);
    u->stream = calloc(n + 1, sizeof *u->stream);
    u->sorted = malloc((3 * n + 1) * sizeof *u->sorted);
    if (!u->work || !u->stream || !u->sorted) return false;
    for (int i = 0; i < u->nwork; i++) {
        gp_usage_stream *s = u->nstreams ? &u->stream[u->nstreams - 1] : NULL;
        if (!s || compare_streams(s, &list[i].s)) {
            s = &u->stream[u->nstreams++];
            *s = list[i].s;
            s->from = i;
        }
        s->to = i + 1;
        u->work[i] = list[i].w;
        u->work[i].stream = u->nstreams - 1;
    }
    for (int i = 0; i < u->nstreams; i++) {
        note_before(u, &u->stream[i]);
        fill_stream(u, &u->stream[i], u->sorted + 3 * (size_t)u->stream[i].from);
    }
    return true;
}

gp_usage *gp_usage_new(const gp_prof *p) {
    gp_usage *u = calloc(1, sizeof *u);
    if (!u) return gp_fail_null("profile: out of memory");
    u->p = p;
    u->nwork = gp_count_recs(p->workers, gp_rec_is_work);
    work_item *list = gather(p, u->nwork);
    bool ok = list && build(u, list);
    free(list);
    if (!ok) return gp_usage_free(u), gp_prof_fail("profile"), NULL;
    return u;
}

void gp_usage_free(gp_usage *u) {
    if (!u) return;
    free(u->work);
    free(u->stream);
    free(u->sorted);
    free(u);
}

bool gp_waits_known(const gp_prof *p) {
    for (const gp_track *t = p->foreign ? p->host : NULL; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));)
            if (r->kind == GP_REC_CALL &&
                (!strncmp(r->name, "cu", 2) || !strncmp(r->name, "hip", 3)))
                return true;
    }
    return !p->foreign;
}

/* ---- devices ---- */

bool gp_rec_is_collective(const gp_rec *r) {
    if (r->collective) return true;
    const char *name = r->kind == GP_REC_KERNEL && r->kernel ? r->kernel : r->name;
    static const char *const begin[] = {"nccl", "dist_", "gloo:", "mpi:", "ucc:"};
    for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
        if (*name == *begin[i] && !strncmp(name, begin[i], strlen(begin[i]))) return true;
    return false;
}

bool gp_rec_runs_on_host(const gp_rec *r) {
    return gp_rec_is_collective(r) && ((const gp_stream *)r->where)->dev->vt->on_host;
}

static int by_start(const void *a, const void *b) {
    const gp_rec *x = *(const gp_rec *const *)a, *y = *(const gp_rec *const *)b;
    return x->t0 < y->t0 ? -1 : x->t0 > y->t0;
}

/* The time in which at least one of n events ran, which are in the order of their starts. */
static uint64_t covered(const gp_rec *const *r, int n, bool (*counts)(const gp_rec *)) {
    uint64_t sum = 0, end = 0;
    for (int i = 0; i < n; i++) {
        if (counts && !counts(r[i])) continue;
        uint64_t from = r[i]->t0 > end ? r[i]->t0 : end;
        if (r[i]->t1 > from) sum += r[i]->t1 - from;
        if (r[i]->t1 > end) end = r[i]->t1;
    }
    return sum;
}

static bool computes(const gp_rec *r) {
    return r->kind == GP_REC_KERNEL && !gp_rec_is_collective(r);
}

static bool is_kernel(const gp_rec *r) { return r->kind == GP_REC_KERNEL; }

/* Whether a kernel ran for less time than the call that launched it alone took, where that is
 * known.
 */
static bool is_short(const gp_usage *u, const gp_work *w) {
    return is_kernel(w->rec) && w->alone && w->host->kind == GP_REC_CALL &&
           w->rec->t1 - w->rec->t0 < gp_rec_end(u->p, w->host) - w->host->t0;
}

static bool meets(const gp_rec *r) { return is_kernel(r) && gp_rec_is_collective(r); }

static void add_device(const gp_usage *u, gp_device_usage *d, const gp_rec **r) {
    int from = u->stream[d->first].from, to = u->stream[d->first + d->streams - 1].to;
    uint64_t end = 0;
    for (int i = from; i < to; i++) {
        const gp_rec *w = r[i - from] = u->work[i].rec;
        bool copies = w->kind == GP_REC_MOVED;
        *(copies ? &d->copies : &d->kernels) += w->t1 - w->t0;
        *(copies ? &d->ncopies : &d->nkernels) += 1;
        d->nshort += is_short(u, &u->work[i]);
        if (w->t1 > end) end = w->t1;
    }
    gp_sort(r, (size_t)(to - from), sizeof *r, by_start);
    uint64_t busy = covered(r, to - from, NULL);
    d->span = end - r[0]->t0;
    d->idle = d->span - busy;
    d->compute = covered(r, to - from, computes);
    d->other = busy - d->compute;
    d->collective = covered(r, to - from, meets);
    d->beside = d->compute + d->collective - covered(r, to - from, is_kernel);
}

gp_device_usage *gp_device_usages(const gp_usage *u, int *n) {
    gp_device_usage *d = calloc((size_t)u->nstreams + 1, sizeof *d);
    const gp_rec **r = malloc(((size_t)u->nwork + 1) * sizeof *r);
    *n = 0;
    for (int i = 0; d && r && i < u->nstreams; i++) {
        const gp_usage_stream *s = &u->stream[i];
        gp_device_usage *last = *n ? &d[*n - 1] : NULL;
        if (!last || last->rank != s->rank || last->dev != s->stream->dev)
            d[(*n)++] = (gp_device_usage){.dev = s->stream->dev, .rank = s->rank, .first = i};
        d[*n - 1].streams++;
    }
    for (int i = 0; d && r && i < *n; i++) add_device(u, &d[i], r);
    bool ok = d && r;
    free(r);
    if (!ok) return free(d), gp_fail_null("profile: out of memory");
    return d;
}

/* ---- queues ---- */

static void add_gaps(const gp_usage *u, const gp_usage_stream *s, gp_queue *q) {
    for (int i = s->from; i < s->to; i++) {
        const gp_rec *r = u->work[i].rec;
        uint64_t before = i > s->from ? s->reach[i - s->from - 1] : 0;
        uint64_t from = r->t0 > before ? r->t0 : before;
        if (r->t1 > from) q->busy += r->t1 - from;
        if (i == s->from || r->t0 <= before) continue;
        uint64_t gap = r->t0 - before;
        if (u->work[i].host && u->work[i].launch > before) q->host_wait += gap;
        else if (gap < GP_KERNEL_WAIT_NS) q->kernel_wait += gap;
        else q->other += gap;
    }
}

static int by_time(const void *a, const void *b) {
    const gp_queue_change *x = a, *y = b;
    return x->t != y->t ? (x->t < y->t ? -1 : 1) : y->length - x->length;
}

static int by_length(const void *a, const void *b) {
    const gp_queue_change *x = a, *y = b;
    return (x->length > y->length) - (x->length < y->length);
}

gp_queue_change *gp_queue_changes(const gp_usage *u, int stream, int *n) {
    const gp_usage_stream *s = &u->stream[stream];
    gp_queue_change *c = malloc(2 * (size_t)(s->to - s->from) * sizeof *c + 1);
    *n = 0;
    if (!c) return gp_fail_null("profile: out of memory");
    for (int i = s->from; i < s->to; i++) {
        if (!u->work[i].host) continue;
        c[(*n)++] = (gp_queue_change){u->work[i].launch, 1};
        c[(*n)++] = (gp_queue_change){u->work[i].rec->t0, -1};
    }
    gp_sort(c, (size_t)*n, sizeof *c, by_time);
    for (int i = 1; i < *n; i++) c[i].length += c[i - 1].length;
    return c;
}

/* The value at that part of n sorted ones, between neighbours in proportion (as pandas does). */
static double quantile(const gp_queue_change *c, int n, double part) {
    double at = part * (n - 1);
    int i = (int)at;
    double next = i + 1 < n ? c[i + 1].length : c[i].length;
    return c[i].length + (at - i) * (next - c[i].length);
}

static void add_lengths(gp_queue_change *c, int n, gp_queue *q) {
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++) sum += c[i].length;
    q->changes = n;
    q->mean = n ? sum / n : 0;
    for (int i = 0; i < n; i++) squares += (c[i].length - q->mean) * (c[i].length - q->mean);
    q->deviation = n > 1 ? sqrt(squares / (n - 1)) : 0;
    gp_sort(c, (size_t)n, sizeof *c, by_length);
    for (int i = 0; n && i < 5; i++) q->quartile[i] = quantile(c, n, i / 4.0);
}

bool gp_queue_of(const gp_usage *u, int stream, gp_queue *q) {
    int n;
    gp_queue_change *c = gp_queue_changes(u, stream, &n);
    if (!c) return false;
    *q = (gp_queue){0};
    add_gaps(u, &u->stream[stream], q);
    add_lengths(c, n, q);
    free(c);
    return true;
}

/* ---- waits ---- */

/* How many of n sorted times are at most t. */
static int until(const uint64_t *times, int n, uint64_t t) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (times[mid] <= t) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* How much of a stream's work begins at or before t. */
static int begun(const gp_usage *u, const gp_usage_stream *s, uint64_t t) {
    int lo = s->from, hi = s->to;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (u->work[mid].rec->t0 <= t) lo = mid + 1;
        else hi = mid;
    }
    return lo - s->from;
}

/* Work that was launched before t, and not done by then. */
static int unfinished(const gp_usage_stream *s, uint64_t t) {
    int n = s->to - s->from, launched = t ? until(s->launches, n, t - 1) : 0,
        ended = until(s->ends, n, t);
    return launched > ended ? launched - ended : 0;
}

gp_wait_cost gp_wait_cost_of(const gp_usage *u, int rank, const gp_rec *wait) {
    const gp_stream *on = wait->where;
    uint64_t end = gp_rec_end(u->p, wait), most = end - wait->t0, next = UINT64_MAX;
    gp_wait_cost c = {0, 0};
    bool busy = false;
    for (int i = 0; i < u->nstreams; i++) {
        const gp_usage_stream *s = &u->stream[i];
        int n = s->to - s->from;
        if (s->rank != rank || s->stream->dev != on->dev) continue;
        if (on->index == -1 || on == s->stream) c.drained += (uint64_t)unfinished(s, wait->t0);
        int at = begun(u, s, end);
        busy |= at > 0 && s->reach[at - 1] > end;
        if (at < n && u->work[s->from + at].rec->t0 < next) next = u->work[s->from + at].rec->t0;
    }
    if (wait->why == GP_WHY_collective && on->dev->vt->on_host) return c; /* no device waited */
    if (!busy && next != UINT64_MAX) c.idle = next - end < most ? next - end : most;
    return c;
}
