/* What streams waited for on the device, in torch.profiler's traces: a report "Stream Wait Event"
 * names the stream and the call that recorded the event. */
#include <stdlib.h>
#include <string.h>

#include "profile/load/kineto/kineto.h"

/* What the host had queued on a stream by when, in ns as in the file. */
typedef struct queued {
    gp_stream *s;
    int64_t t;
    uint64_t id;
} queued;

/* When the host made a call, or queued what has that id. */
typedef struct moment {
    int64_t key, t;
} moment;

typedef struct orders {
    const kineto *k;
    moment *call, *launch; /* by correlation, of all calls; by id */
    queued *queued;        /* by device, stream and time */
    int64_t *recorded;     /* when events were, by time */
    int ncalls, nlaunches, nqueued, nrecorded;
} orders;

static int by_key(const void *a, const void *b) {
    const moment *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->t < y->t ? -1 : x->t > y->t;
}

static int by_position(const void *a, const void *b) {
    const queued *x = a, *y = b;
    int device = x->s->dev->index, other = y->s->dev->index;
    if (device != other) return device < other ? -1 : 1;
    if (x->s->index != y->s->index) return x->s->index < y->s->index ? -1 : 1;
    if (x->t != y->t) return x->t < y->t ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_time(const void *a, const void *b) {
    const gp_stream_order *x = a, *y = b;
    return x->t < y->t ? -1 : x->t > y->t;
}

static const moment *find(const moment *m, int n, int64_t key) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (m[mid].key < key) lo = mid + 1;
        else hi = mid;
    }
    return lo < n && m[lo].key == key ? &m[lo] : NULL;
}

/* A report of a stream that waits for another, up to the call that recorded an event there. */
static bool is_order(const kineto_event *e) {
    return e->kind == KINETO_SYNC && !strcmp(e->name, "Stream Wait Event") && e->stream >= 0 &&
           e->bytes >= 0;
}

static bool records_event(const kineto_event *e) {
    return e->kind == KINETO_CALL && strstr(e->name, "EventRecord") != NULL;
}

static int by_value(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void gather_calls(orders *o) {
    for (int i = 0; i < o->k->n; i++) {
        const kineto_event *e = &o->k->event[i];
        if (records_event(e)) o->recorded[o->nrecorded++] = e->t0;
        if (e->kind == KINETO_CALL && e->correlation >= 0)
            o->call[o->ncalls++] = (moment){e->correlation, e->t0};
        if ((e->kind == KINETO_CALL || e->kind == KINETO_OP) && e->at)
            o->launch[o->nlaunches++] = (moment){e->at, e->t0};
    }
    qsort(o->call, (size_t)o->ncalls, sizeof *o->call, by_key);
    qsort(o->launch, (size_t)o->nlaunches, sizeof *o->launch, by_key);
    qsort(o->recorded, (size_t)o->nrecorded, sizeof *o->recorded, by_value);
}

/* When the last event before t was recorded; false: none was. */
static bool recorded_before(const orders *o, int64_t t, int64_t *when) {
    int lo = 0, hi = o->nrecorded;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (o->recorded[mid] < t) lo = mid + 1;
        else hi = mid;
    }
    if (lo) *when = o->recorded[lo - 1];
    return lo > 0;
}

static void gather_queued(orders *o, const gp_track *work) {
    gp_cursor at = gp_first(work);
    for (gp_rec *r; (r = gp_next(&at));) {
        const moment *m = r->id ? find(o->launch, o->nlaunches, (int64_t)r->id) : NULL;
        if (m) o->queued[o->nqueued++] = (queued){r->where, m->t, r->id};
    }
    qsort(o->queued, (size_t)o->nqueued, sizeof *o->queued, by_position);
}

static bool is_before(const queued *q, int device, int64_t stream, int64_t t) {
    if (q->s->dev->index != device) return q->s->dev->index < device;
    return q->s->index == stream ? q->t < t : q->s->index < stream;
}

/* The last command that the host had queued on that stream before t, 0: none. *s: the stream, NULL:
 * nothing was ever queued there. */
static uint64_t queued_before(const orders *o, int device, int64_t stream, int64_t t,
                              gp_stream **s) {
    int lo = 0, hi = o->nqueued;
    if (device < 0) device = 0;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (is_before(&o->queued[mid], device, stream, t)) lo = mid + 1;
        else hi = mid;
    }
    *s = NULL;
    for (int i = lo; i >= lo - 1 && i >= 0; i--) {
        const queued *q = i < o->nqueued ? &o->queued[i] : NULL;
        if (!q || q->s->dev->index != device || q->s->index != stream) continue;
        *s = q->s;
        if (i < lo) return q->id;
    }
    return 0;
}

/* The order that a report says; false: nothing that is on the record. Older reports do not say
 * which event they mean: it is taken to be the one that was recorded last. */
static bool read_order(const orders *o, const kineto_event *e, int64_t shift, gp_stream_order *to) {
    const moment *wait = find(o->call, o->ncalls, e->correlation);
    const moment *record = e->at >= 0 ? find(o->call, o->ncalls, e->at) : NULL;
    int64_t recorded = record ? record->t : 0;
    if (!wait || (e->at >= 0 ? !record : !recorded_before(o, wait->t, &recorded))) return false;
    *to = (gp_stream_order){.t = (uint64_t)(wait->t + shift)};
    to->after = queued_before(o, e->device, e->stream, wait->t, &to->s);
    to->id = queued_before(o, e->device, e->bytes, recorded, &to->first);
    if (!to->s || !to->first || to->s == to->first) return false;
    return to->id != 0;
}

static bool add_orders(const orders *o, gp_prof *p, int64_t shift, int n) {
    gp_stream_order *list = malloc((size_t)n * sizeof *list);
    int kept = 0;
    bool ok = list != NULL;
    for (int i = 0; ok && i < o->k->n; i++)
        if (is_order(&o->k->event[i]) && read_order(o, &o->k->event[i], shift, &list[kept]))
            kept++, p->guessed_orders += o->k->event[i].at < 0;
    if (ok) qsort(list, (size_t)kept, sizeof *list, by_time);
    for (int i = 0; ok && i < kept; i++) ok = gp_prof_add_order(p, &list[i]);
    free(list);
    return ok;
}

/* A call by which a stream waits for another, of CUDA's runtime, its driver, or HIP. */
static bool lets_wait(const kineto_event *e) {
    return e->kind == KINETO_CALL && strstr(e->name, "StreamWaitEvent") != NULL;
}

bool gp_kineto_orders(const kineto *k, gp_prof *p, const gp_track *work, int64_t shift) {
    orders o = {.k = k};
    int n = 0, calls = 0;
    for (int i = 0; i < k->n; i++) n += is_order(&k->event[i]), calls += lets_wait(&k->event[i]);
    if (!n) p->unknown_orders += calls;
    if (!n || !work) return true;
    size_t size = (size_t)k->n + 1;
    o.call = malloc(size * sizeof *o.call);
    o.launch = malloc(size * sizeof *o.launch);
    o.queued = malloc(size * sizeof *o.queued);
    o.recorded = malloc(size * sizeof *o.recorded);
    bool ok = o.call && o.launch && o.queued && o.recorded;
    if (ok) {
        gather_calls(&o);
        gather_queued(&o, work);
        ok = add_orders(&o, p, shift, n);
    }
    free(o.call);
    free(o.launch);
    free(o.queued);
    free(o.recorded);
    return ok || gp_json_fail(k->j, "out of memory");
}
