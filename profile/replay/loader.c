/* Loaders in replays. A worker makes parts of batches one after the other, each once the host has
 * asked for that batch; the host waits until all parts of its next batch are made. */
#include "profile/replay/loader.h"

#include <stdlib.h>
#include <string.h>

#include "profile/replay/replay.h"
#include "tensor/base/sort.h"

/* A batch: the pool's number and, in its low half, that of the batch. */
static int64_t pool_of(int64_t batch) { return batch >> 32; }

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

bool gp_is_made(const gp_rec *r) {
    return r->kind == GP_REC_REGION && r->bytes > 0 && !strcmp(r->name, GP_LOADER_MAKE);
}

bool gp_has_workers(const gp_rec *r) {
    return gp_is_batch_request(r) && strstr(r->name, "_MultiProcessing") != NULL;
}
/* A batch that is there takes 0.1 to 0.5 ms to hand out. Where that is a 20th of a step, it may as
 * well be a wait. */
bool gp_awaits_workers(const gp_rec *r) {
    enum { QUICK_NS = 100000, READY_NS = 500000, STEP = 20 };
    if (!gp_has_workers(r) || r->t1 <= r->t0 + QUICK_NS) return false;
    uint64_t ns = r->t1 - r->t0;
    return ns > READY_NS || (r->between && STEP * ns >= r->between);
}

/* ---- the record ---- */

static int by_batch(const void *a, const void *b) {
    const gp_batch_request *x = a, *y = b;
    return x->batch < y->batch ? -1 : x->batch > y->batch;
}

/* The place of the first take of that batch or a later one. */
static int request_at(const gp_timeline *t, int64_t batch) {
    int lo = 0, hi = t->nrequests;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (t->request[mid].batch < batch) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* The first take of that batch or a later one of its pool; NULL: none is on the record. */
static const gp_batch_request *request_of(const gp_timeline *t, int64_t batch) {
    int i = request_at(t, batch);
    return i < t->nrequests && pool_of(t->request[i].batch) == pool_of(batch) ? &t->request[i]
                                                                              : NULL;
}

/* The last batch of the part's pool that the host had taken by the part's start; 0: none. */
static int64_t taken_before(const gp_timeline *t, const gp_rec *part) {
    int from = request_at(t, pool_of(part->bytes) << 32), lo = from, hi = t->nrequests;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        bool before = pool_of(t->request[mid].batch) == pool_of(part->bytes) &&
                      t->request[mid].t1 <= part->t0;
        if (before) lo = mid + 1;
        else hi = mid;
    }
    return lo > from ? t->request[lo - 1].batch : 0;
}

static void gather_takes(gp_timeline *t) {
    for (int i = 0; i < t->nhost; i++) {
        const gp_rec *rec = t->host[i];
        if (gp_is_batch_request(rec))
            t->request[t->nrequests++] =
                (gp_batch_request){rec->bytes, rec->t0, gp_rec_end(t->p, rec)};
    }
    gp_sort(t->request, (size_t)t->nrequests, sizeof *t->request, by_batch);
}

/* In the order of tracks and, on each, of time: a worker makes one part at a time. */
static void gather_parts(gp_timeline *t) {
    int number = 0, main = -1;
    for (const gp_track *track = t->p->host; track; track = track->next, number++) {
        uint64_t free_at = 0;
        if (main < 0 && gp_timeline_has(t, track)) main = number;
        gp_cursor at = gp_first(track);
        for (gp_rec *r; gp_timeline_has(t, track) && (r = gp_next(&at));) {
            if (!gp_is_made(r) || r->t0 < free_at) continue;
            t->made[t->nmade++] = (gp_made){
                .rec = r, .track = number, .here = number == main, .inside = at, .other = -1};
            free_at = gp_rec_end(t->p, r);
        }
    }
}

static int by_part(const void *a, const void *b) {
    const gp_made *const *x = a, *const *y = b;
    if ((*x)->rec->bytes != (*y)->rec->bytes) return (*x)->rec->bytes < (*y)->rec->bytes ? -1 : 1;
    return *x < *y ? -1 : *x > *y;
}

/* Leads from each part to the others of its batch, and sorts them all by their batch. */
static void join_parts(gp_timeline *t) {
    for (int i = 0; i < t->nmade; i++) t->batch[i] = &t->made[i];
    gp_sort(t->batch, (size_t)t->nmade, sizeof *t->batch, by_part);
    for (int i = 0; i + 1 < t->nmade; i++)
        if (t->batch[i]->rec->bytes == t->batch[i + 1]->rec->bytes)
            t->batch[i]->other = (int)(t->batch[i + 1] - t->made);
}

/* The host asks for a batch when it comes to take the one that is as far before it as the pool's
 * workers were ever ahead; for the first ones before it takes any. */
static void set_lag(const gp_timeline *t, gp_made *m, int64_t ahead) {
    const gp_made *before = m > t->made && m[-1].track == m->track ? m - 1 : NULL;
    uint64_t end = before ? gp_rec_end(t->p, before->rec) : 0;
    const gp_batch_request *request = request_of(t, m->rec->bytes - ahead + 1);
    m->asked = request ? least(request->t0, m->rec->t0) : m->rec->t0;
    m->lag = (int64_t)(m->rec->t0 - most(end, m->asked));
}

/* The most batches that the pool's workers were seen ahead of the host, whose parts are from
 * t->batch[i] on; *end: after the last of them. */
static int64_t most_ahead(const gp_timeline *t, int i, int *end) {
    int64_t pool = pool_of(t->batch[i]->rec->bytes), ahead = 0;
    for (; i < t->nmade && pool_of(t->batch[i]->rec->bytes) == pool; i++) {
        int64_t last = taken_before(t, t->batch[i]->rec);
        int64_t by = last ? t->batch[i]->rec->bytes - last : 0;
        if (by > ahead) ahead = by;
    }
    *end = i;
    return ahead;
}

/* Divides the time that the pool's parts, from t->batch[from] to before `end`, could compute: of
 * more workers than processors, all of the processors' was computing, the rest waiting for one. */
static void divide(const gp_timeline *t, int from, int end) {
    uint64_t t0 = UINT64_MAX, t1 = 0;
    double sum = 0;
    for (int k = from; k < end; k++) {
        gp_made *m = t->batch[k];
        uint64_t e = gp_rec_end(t->p, m->rec);
        m->computed = least(m->rec->computed, e - m->rec->t0);
        sum += (double)m->computed;
        t0 = least(t0, m->rec->t0), t1 = most(t1, e);
    }
    double all = t->p->processors * (double)(t1 - t0), share = sum > all && all > 0 ? all / sum : 1;
    for (int k = from; k < end; k++) {
        gp_made *m = t->batch[k];
        m->ready = m->computed - (uint64_t)((double)m->computed * share);
        m->computed -= m->ready;
    }
}

bool gp_loader_read(gp_timeline *t) {
    size_t parts = (size_t)gp_count_rank_recs(t->p->host, t->rank, gp_is_made) + 1;
    size_t requests = (size_t)gp_count_rank_recs(t->p->host, t->rank, gp_is_batch_request) + 1;
    t->request = malloc(requests * sizeof *t->request);
    t->made = malloc(parts * sizeof *t->made);
    t->batch = malloc(parts * sizeof *t->batch);
    if (!t->request || !t->made || !t->batch) return false;
    gather_takes(t);
    gather_parts(t);
    join_parts(t);
    for (int i = 0, end; i < t->nmade; i = end) {
        int64_t ahead = most_ahead(t, i, &end);
        for (int k = i; k < end; k++) set_lag(t, t->batch[k], ahead);
        divide(t, i, end);
    }
    return true;
}

int gp_loader_batch_of(const gp_timeline *t, const gp_rec *request) {
    int lo = 0, hi = t->nmade;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (t->batch[mid]->rec->bytes < request->bytes) lo = mid + 1;
        else hi = mid;
    }
    bool there = lo < t->nmade && t->batch[lo]->rec->bytes == request->bytes;
    return there ? (int)(t->batch[lo] - t->made) : -1;
}

uint64_t gp_loader_ready(const gp_timeline *t, int i) {
    uint64_t ready = 0;
    for (; i >= 0; i = t->made[i].other) ready = most(ready, gp_rec_end(t->p, t->made[i].rec));
    return ready;
}

/* Adds the parts of the pass from t->batch[i] on; returns where the next one's begin. */
static int add_parts(const gp_timeline *t, int i, gp_pass *pass, uint64_t *here) {
    int64_t first = t->batch[i]->rec->bytes, last = 0;
    bool known = true, seen[GP_WHATIF_WORKERS + 1] = {false};
    int base = t->batch[i]->track;
    *pass = (gp_pass){.pool = pool_of(first)};
    for (int k = i; k < t->nmade && pool_of(t->batch[k]->rec->bytes) == pass->pool; k++)
        if (t->batch[k]->track < base) base = t->batch[k]->track;
    for (; i < t->nmade && pool_of(t->batch[i]->rec->bytes) == pass->pool; i++) {
        const gp_made *m = t->batch[i];
        uint64_t ns = gp_rec_end(t->p, m->rec) - m->rec->t0;
        int track = m->track - base;
        pass->batches += m->rec->bytes > last, last = m->rec->bytes;
        known &= m->rec->computed > 0;
        pass->busy += ns, pass->computed += least(m->rec->computed, ns);
        if (m->here && m->rec->bytes > first) *here += ns;
        if (m->here || track > GP_WHATIF_WORKERS || seen[track]) continue;
        seen[track] = true, pass->workers++;
    }
    if (!known) pass->computed = 0;
    return i;
}

/* How long the host waited in a take; 0 where the batch was there. */
static uint64_t waited(const gp_timeline *t, const gp_batch_request *request) {
    uint64_t ready = gp_loader_ready(t, gp_loader_batch_of(t, &(gp_rec){.bytes = request->batch}));
    return ready > request->t0 ? request->t1 - request->t0 : 0;
}

gp_pass gp_loader_pass(const gp_timeline *t) {
    gp_pass longest = {0}, pass;
    for (int i = 0; i < t->nmade;) {
        uint64_t waits = 0;
        i = add_parts(t, i, &pass, &waits);
        int from = request_at(t, pass.pool << 32), k = from;
        for (; k < t->nrequests && pool_of(t->request[k].batch) == pass.pool; k++)
            if (k > from) waits += waited(t, &t->request[k]);
        uint64_t all = k > from ? t->request[k - 1].t1 - t->request[from].t1 : 0;
        if (k > from + 1 && all > waits) {
            pass.step = (all - waits) / (uint64_t)(k - from - 1);
            pass.share = (double)waits / (double)all;
        }
        if (pass.busy > longest.busy) longest = pass;
    }
    return longest;
}

/* ---- replays ---- */

/* How long the part takes: its ops by their factors, the rest by the host's. */
static uint64_t duration(const gp_timeline *t, const gp_whatif *w, const gp_made *m) {
    uint64_t end = gp_rec_end(t->p, m->rec), last = m->rec->t0;
    double ns = 0, ops = 0;
    gp_cursor at = m->inside;
    if (w->host == 1 && !w->nscale && !w->batch) return end - m->rec->t0;
    for (gp_rec *r; (r = gp_next(&at)) && r->t0 < end;) {
        if (r->kind != GP_REC_OP || r->t0 < last) continue; /* within another */
        last = least(gp_rec_end(t->p, r), end);
        ops += (double)(last - r->t0);
        ns += (double)(last - r->t0) * gp_whatif_factor(w, r);
    }
    ns += ((double)(end - m->rec->t0) - ops) * w->host;
    if (w->batch) ns *= (double)w->into / (double)w->batch;
    return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

/* Sets the times of part i, and of those before it of its worker that have none yet. */
static void set_times(const gp_timeline *t, const gp_whatif *w, gp_replay_timings *r, int i,
                      uint64_t at) {
    int from = i;
    while (from > 0 && t->made[from - 1].track == t->made[i].track && !r->made_end[from - 1])
        from--;
    for (; from <= i; from++) {
        const gp_made *m = &t->made[from];
        bool first = from == 0 || t->made[from - 1].track != m->track;
        uint64_t after = gp_replay_timings_host(r, least(m->asked, at));
        after =
            most(after + (m->asked > at ? m->asked - at : 0), first ? 0 : r->made_end[from - 1]);
        bool early = m->lag < 0 && (uint64_t)-m->lag > after;
        r->made_start[from] = early ? 0 : after + (uint64_t)m->lag;
        r->made_end[from] = r->made_start[from] + duration(t, w, m);
    }
}

/* When the host had asked for that batch, of a pool that was opened at `opened`: a loader keeps one
 * batch more than it has workers under way, at least two. */
static uint64_t asked(const gp_timeline *t, const gp_whatif *w, const gp_replay_timings *r,
                      int64_t batch, uint64_t opened) {
    int64_t before = batch - (w->workers < 2 ? 2 : w->workers + 1);
    bool first = pool_of(before - 1) < pool_of(batch);
    const gp_batch_request *request = first ? NULL : request_of(t, before);
    return request && request->batch < batch ? most(opened, gp_replay_timings_host(r, request->t1))
                                             : opened;
}

static int first_free(const uint64_t *free_at, int n) {
    int first = 0;
    for (int i = 1; i < n; i++)
        if (free_at[i] < free_at[first]) first = i;
    return first;
}

/* Makes a part from r's made_start on: computing needs one of the record's processors, while what
 * it waits for does not. Returns the end. */
static uint64_t make(const gp_timeline *t, const gp_whatif *w, gp_replay_timings *r,
                     const gp_made *m) {
    uint64_t start = r->made_start[m - t->made], all = duration(t, w, m);
    uint64_t was = gp_rec_end(t->p, m->rec) - m->rec->t0;
    double by = was ? (double)all / (double)was : 0;
    uint64_t computed = (uint64_t)((double)m->computed * by);
    uint64_t end = start + all - least(all, (uint64_t)((double)m->ready * by));
    int n = t->p->processors < w->workers ? t->p->processors : w->workers;
    if (n < 1 || !computed) return end;
    uint64_t *at = &r->processor[first_free(r->processor, n)];
    *at = most(*at, start) + computed;
    return most(end, *at);
}

/* Gives the parts up to those of that batch to w's workers: each goes to the first that is free. */
static void assign(const gp_timeline *t, const gp_whatif *w, gp_replay_timings *r, int64_t batch) {
    for (; r->nassigned < t->nmade; r->nassigned++) {
        const gp_made *m = t->batch[r->nassigned];
        if (m->rec->bytes > batch) return;
        int i = (int)(m - t->made), by = r->made_by[i] = first_free(r->free_at, w->workers);
        const gp_made *before = r->nassigned ? t->batch[r->nassigned - 1] : NULL;
        if (!before || pool_of(m->rec->bytes) != pool_of(before->rec->bytes))
            r->opened = gp_replay_timings_host(r, m->rec->t0);
        r->made_start[i] = most(r->free_at[by], asked(t, w, r, m->rec->bytes, r->opened));
        r->made_end[i] = r->free_at[by] = make(t, w, r, m);
    }
}

uint64_t gp_loader_replay(const gp_timeline *t, const gp_whatif *w, gp_replay_timings *r, int i,
                          uint64_t at) {
    uint64_t ready = 0;
    if (i >= 0 && w->workers) assign(t, w, r, t->made[i].rec->bytes);
    for (; i >= 0; i = t->made[i].other) {
        if (t->made[i].here && !w->workers) continue;
        if (!r->made_end[i]) set_times(t, w, r, i, at);
        ready = most(ready, r->made_end[i]);
    }
    return ready;
}

void gp_loader_finish(const gp_timeline *t, const gp_whatif *w, gp_replay_timings *r) {
    if (w->workers) assign(t, w, r, INT64_MAX);
    for (int i = 0; i < t->nmade; i++)
        if (!r->made_end[i] && !t->made[i].here) set_times(t, w, r, i, t->done);
}

uint64_t gp_loader_time(const gp_timeline *t, const gp_replay_timings *r, int track,
                        uint64_t when) {
    int lo = 0, hi = t->nmade; /* the parts of earlier tracks, and those that began by then */
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        const gp_made *m = &t->made[mid];
        if (m->track < track || (m->track == track && m->rec->t0 <= when)) lo = mid + 1;
        else hi = mid;
    }
    uint64_t host = gp_replay_timings_host(r, when);
    if (!lo || t->made[lo - 1].track != track) return host;
    uint64_t t0 = t->made[lo - 1].rec->t0, t1 = gp_rec_end(t->p, t->made[lo - 1].rec);
    if (when > t1) return most(host, r->made_end[lo - 1]);
    uint64_t is = r->made_end[lo - 1] - r->made_start[lo - 1];
    if (is == t1 - t0) return r->made_start[lo - 1] + (when - t0);
    return r->made_start[lo - 1] +
           (uint64_t)((double)(when - t0) / (double)(t1 - t0) * (double)is + 0.5);
}
