/* Decides what dominated a run: adds up what is owed to each cause, and replays it without that. */
#include "profile/replay/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "profile/show/usage.h"
#include "tensor/base/group.h"
#include "tensor/base/intern.h"
#include "tensor/base/sort.h"

/* ---- what the record owes to each cause ---- */

/* A part of what is owed to a cause; or the sum of several. */
typedef struct owed {
    gp_cause cause;
    const gp_rec *rec, *before; /* as gp_worth's most and before; NULL: unknown, or none */
    uint64_t t, last;           /* when the first and the last of them began */
    uint64_t ns, times;         /* times: of one op's parts 1 */
    bool once;                  /* the run passes it once, or before the steps */
} owed;

typedef struct ledger {
    gp_verdict *v;
    const gp_timeline *t;
    owed *part;
    int n, capacity;
    int next;               /* in t->host, from the script's last stretch on */
    const gp_rec *last;     /* the outermost op or wait before that */
    const gp_rec **samples; /* a trace's samples of the script, in the order of their ends */
    int nsamples, sample;   /* the first that may end after the last stretch began */
    bool ok;
} ledger;

static void add(ledger *l, gp_cause cause, const gp_rec *rec, const gp_rec *before, uint64_t t,
                uint64_t ns) {
    if (cause == GP_CAUSES || !ns || !l->ok) return;
    if (l->n == l->capacity) {
        int capacity = l->capacity ? 2 * l->capacity : 256;
        owed *more = realloc(l->part, (size_t)capacity * sizeof *more);
        if (!(l->ok = more != NULL)) return;
        l->part = more, l->capacity = capacity;
    }
    l->part[l->n++] = (owed){cause, rec, before, t, t, ns, 1, false};
}

/* Whether r says where the script is: torch.profiler's own waits do not. */
static bool is_source(const gp_rec *r) {
    if (r->kind == GP_REC_WAIT) return r->why != GP_WHY_explicit || gp_wait_cause(r) != GP_CAUSES;
    return r->kind == GP_REC_OP || gp_is_batch_request(r);
}

static bool list_samples(ledger *l) {
    const gp_timeline *t = l->t;
    if (!t->p->foreign) return true;
    for (int i = 0; i < t->nhost; i++) l->nsamples += t->host[i]->kind == GP_REC_SAMPLE;
    l->samples = malloc((size_t)(l->nsamples + 1) * sizeof *l->samples);
    if (!l->samples) return false;
    int n = 0;
    for (int i = 0; i < t->nhost; i++)
        if (t->host[i]->kind == GP_REC_SAMPLE) l->samples[n++] = t->host[i];
    return true;
}

/* Adds to a cause what a trace's samples say of the script from `from` to `to`, but for those at
 * the line of `but`, NULL: none; returns the time that they leave. */
static uint64_t add_samples(ledger *l, gp_cause cause, const gp_rec *but, uint64_t from,
                            uint64_t to) {
    uint64_t rest = to - from;
    for (int i = l->sample; i < l->nsamples; i++) {
        const gp_rec *r = l->samples[i];
        uint64_t end = r->t0 + 1, begin = end - (uint64_t)r->bytes;
        if (end <= from) l->sample = i + 1;
        if (begin >= to) break;
        uint64_t a = begin > from ? begin : from, b = end < to ? end : to;
        if (b <= a || (but && !gp_compare_sources(r, but))) continue;
        add(l, cause, r, NULL, a, b - a);
        rest -= b - a;
    }
    return rest;
}

/* The script ran from `from` to `to`: finds where, or what came before and after. */
static void add_stretch(ledger *l, uint64_t from, uint64_t to) {
    const gp_timeline *t = l->t;
    uint64_t ns = add_samples(l, GP_CAUSE_script, NULL, from, to);
    for (; l->next < t->nhost && t->host[l->next]->t0 < to; l->next++) {
        const gp_rec *r = t->host[l->next];
        bool inner = l->last && r->t0 < gp_rec_end(t->p, l->last);
        if (is_source(r) && r->t0 < to && !inner) l->last = r;
    }
    int after = l->next;
    while (after < t->nhost && !is_source(t->host[after])) after++;
    const gp_rec *rec = after < t->nhost && t->host[after]->t0 <= t->done ? t->host[after] : NULL;
    add(l, GP_CAUSE_script, rec, l->last, from, ns);
}

/* What the host did from `from` to `to`, between two steps. */
static void add_host(ledger *l, gp_host_activity part, const gp_rec *op, uint64_t from,
                     uint64_t to) {
    if (to <= from) return;
    uint64_t ns = to - from;
    bool batch =
        part == GP_HOST_LOADER && op && gp_is_batch_request(op); /* and in no op within it */
    if (batch) ns = add_samples(l, GP_CAUSE_loader, op, from, to);
    if (part == GP_HOST_PROFILER) l->v->profiler += ns;
    if (part == GP_HOST_SCRIPT) add_stretch(l, from, to);
    else add(l, gp_host_activity_cause(part), op, NULL, from, ns);
    bool counted = part == GP_HOST_COLLECTIVE && l->n && to > from; /* as what it queued */
    if (counted) l->part[l->n - 1].times = 0;
}

/* Whether a wait is for a collective that is on the record, and counts there. */
static bool awaits_collective(const gp_timeline *t, const gp_step_at *s) {
    bool known = gp_wait_cause(s->rec) == GP_CAUSE_collectives && s->command >= 0;
    return known && gp_rec_is_collective(t->command[s->command].rec);
}

/* A wait for a collective on the record: what it took after that had ended. */
static void add_joining(ledger *l, const gp_step_at *s) {
    const gp_command *c = &l->t->command[s->command];
    uint64_t ended = c->end > s->t ? c->end : s->t, ns = s->t1 > ended ? s->t1 - ended : 0;
    add(l, GP_CAUSE_collectives, s->rec, NULL, s->t, ns);
    if (ns && l->ok) l->part[l->n - 1].times = 0; /* it counts as that */
}

/* Any other wait. Of a launch that waited for room in the queue a part is its own. */
static void add_wait(ledger *l, const gp_step_at *s) {
    const gp_rec *wait = s->rec;
    if (wait->why == GP_WHY_queue) add(l, GP_CAUSE_launches, wait, NULL, s->t, s->calling);
    add(l, gp_wait_cause(wait), wait, NULL, wait->t0, gp_rec_end(l->t->p, wait) - wait->t0);
}

static void add_steps(ledger *l) {
    const gp_timeline *t = l->t;
    gp_host_activity part = GP_HOST_SCRIPT;
    const gp_rec *op = NULL;
    uint64_t at = t->p->t0;
    for (int i = 0; i <= t->nsteps; i++) {
        const gp_step_at *s = i < t->nsteps ? &t->step[i] : NULL;
        if (s && (s->kind == GP_STEP_LAUNCH || s->kind == GP_STEP_MAKE)) continue;
        add_host(l, part, op, at, s ? s->t : t->done);
        if (!s) break;
        at = s->t1;
        if (s->kind == GP_STEP_OWNER) part = s->part, op = s->rec;
        else if (s->kind == GP_STEP_TAKE) add(l, GP_CAUSE_loader, s->rec, NULL, s->t, s->t1 - s->t);
        else if (awaits_collective(t, s)) add_joining(l, s);
        else add_wait(l, s);
    }
}

static void add_work(ledger *l) {
    const gp_timeline *t = l->t;
    for (int i = 0; i < t->ncommands; i++) {
        const gp_command *c = &t->command[i];
        bool device = !gp_rec_runs_on_host(c->rec);
        l->v->work += device;
        l->v->queued += device && c->host != NULL;
        l->v->calls += device && c->host && c->host->kind != GP_REC_OP;
        uint64_t begun = c->rec->t0;
        add(l, gp_work_cause(c->rec), c->rec, NULL, begun, c->end - begun - c->first_use);
        add(l, GP_CAUSE_setup, c->rec, NULL, begun, c->first_use);
        add(l, GP_CAUSE_delays, c->rec, NULL, begun, c->delay);
    }
}

/* By cause and by what it is merged by: the op's or kernel's name, or the line. */
static int by_name(const gp_rec *x, const gp_rec *y) {
    if (!x || !y) return (x != NULL) - (y != NULL);
    return x->name == y->name ? 0 : strcmp(x->name, y->name);
}
static int by_line(const gp_rec *x, const gp_rec *y) {
    if (x == y) return 0;
    if (!x || !y) return (x != NULL) - (y != NULL);
    return gp_compare_sources(x, y);
}

/* Whether parts are of the devices' work, which is merged by its name, not by its line. */
static bool is_work(gp_cause cause) {
    return cause == GP_CAUSE_kernels || cause == GP_CAUSE_copies || cause == GP_CAUSE_collectives ||
           cause == GP_CAUSE_delays;
}

/* Of one line there are samples of the script and of what it calls ("print"), kept apart. */
static bool is_sample(const gp_rec *r) { return r && r->kind == GP_REC_SAMPLE; }

static int by_what(const void *a, const void *b) {
    const owed *x = a, *y = b;
    if (x->cause != y->cause) return (int)x->cause - (int)y->cause;
    int (*compare)(const gp_rec *, const gp_rec *) = is_work(x->cause) ? by_name : by_line;
    int order = compare(x->rec, y->rec);
    if (!order && is_sample(x->rec) && is_sample(y->rec)) order = by_name(x->rec, y->rec);
    return order ? order : by_line(x->before, y->before);
}

static int by_what_and_name(const void *a, const void *b) {
    const owed *x = a, *y = b;
    int order = by_what(x, y);
    if (!order) order = by_name(x->rec, y->rec);
    if (order || !x->rec || !y->rec) return order;
    return (x->rec->t0 > y->rec->t0) - (x->rec->t0 < y->rec->t0);
}

static uint64_t hash_text(uint64_t h, const char *text) {
    return gp_hash(h, gp_intern_hash(text, strlen(text)));
}
static uint64_t hash_line(uint64_t h, const gp_rec *r) {
    if (!r || !r->file || !*r->file) return r ? hash_text(h, r->name) : h;
    return gp_hash(hash_text(h, r->file), (uint64_t)r->line);
}
static uint64_t hash_what(const void *a) {
    const owed *x = a;
    uint64_t h = (uint64_t)x->cause + 1;
    bool name = is_work(x->cause) || is_sample(x->rec);
    if (name && x->rec) h = hash_text(h, x->rec->name);
    return hash_line(is_work(x->cause) ? h : hash_line(h, x->rec), x->before);
}
static bool is_alike(const void *a, const void *b) { return !by_what(a, b); }

static int by_name_and_time(const void *a, const void *b) {
    return by_what_and_name(*(const owed *const *)a, *(const owed *const *)b);
}

/* Adds up n parts that are merged. A line is shown by what it owes the most to. */
static owed sum_of(const owed **part, int n) {
    gp_sort(part, (size_t)n, sizeof *part, by_name_and_time);
    owed all = *part[0];
    uint64_t alike = all.ns, most = all.ns;
    for (int i = 1; i < n; i++) {
        const owed *now = part[i], *last = part[i - 1];
        bool same = now->rec == last->rec && now->cause != GP_CAUSE_script;
        all.ns += now->ns, all.times += same ? 0 : now->times;
        if (now->t < all.t) all.t = now->t;
        if (now->t > all.last) all.last = now->t;
        alike = now->ns + (by_name(now->rec, last->rec) ? 0 : alike);
        if (alike > most) most = alike, all.rec = now->rec, all.before = now->before;
    }
    return all;
}

/* Replaces the parts by their sums. */
static void merge(ledger *l) {
    const owed **part = malloc(((size_t)l->n + 1) * sizeof *part);
    owed *sum = malloc(((size_t)l->n + 1) * sizeof *sum);
    int n = 0;
    for (int i = 0; part && i < l->n; i++) part[i] = &l->part[i];
    l->ok = part && sum && gp_group((const void **)part, (size_t)l->n, hash_what, is_alike);
    for (int i = 0, k; l->ok && i < l->n; i = k) {
        for (k = i + 1; k < l->n && is_alike(part[i], part[k]);) k++;
        sum[n++] = sum_of(part + i, k - i);
    }
    if (l->ok) gp_sort(sum, (size_t)n, sizeof *sum, by_what_and_name);
    free(part), free(l->part);
    l->part = sum, l->n = n;
}

/* When the steps begin: with the line that is passed most often. UINT64_MAX: none is passed again.
 */
static uint64_t begin_of_steps(const ledger *l) {
    uint64_t begin = UINT64_MAX, most = 1;
    for (int i = 0; i < l->n; i++) {
        const owed *part = &l->part[i];
        if (!is_work(part->cause) && part->times > most) most = part->times, begin = part->t;
    }
    return begin;
}

/* Whether the record shows how often the run passes a line: it is of the whole run. What lies in
 * marked steps is passed in each, and of another program's trace it is not known. */
static bool shows_passes(const gp_timeline *t) {
    for (int i = 0; i < t->nhost; i++)
        if (t->host[i]->kind == GP_REC_REGION && !strncmp(t->host[i]->name, "step ", 5))
            return false;
    return !t->p->foreign;
}

/* ---- what came once ---- */

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The step that time t is in, of those that begin then; -1: before them. */
static int step_at(const uint64_t *begin, int n, uint64_t t) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (begin[mid] <= t) lo = mid + 1;
        else hi = mid;
    }
    return lo - 1;
}

/* Of n times which a cause owes to steps, or to stretches: how much the largest is above the
 * median. list: room for n. */
static void set_extra(gp_worth *w, const uint64_t *ns, int n, uint64_t *list) {
    int most = 0;
    for (int i = 1; i < n; i++)
        if (ns[i] > ns[most]) most = i;
    memcpy(list, ns, (size_t)n * sizeof *list);
    qsort(list, (size_t)n, sizeof *list, by_number);
    if (n > 2) w->extra = ns[most] - list[n / 2], w->step = most + 1;
}

/* Adds up each cause by steps; where there are fewer than three, what the host does is not. */
static void find_extra(ledger *l) {
    const gp_timeline *t = l->t;
    size_t size = (size_t)(t->nhost > l->n ? t->nhost : l->n) + 1;
    uint64_t *begin = malloc(3 * size * sizeof *begin), *ns = begin + size, *list = ns + size;
    int nsteps = 0;
    if (!(l->ok = begin != NULL)) return;
    for (int i = 0; i < t->nhost; i++)
        if (gp_rec_is_step(t->host[i])) begin[nsteps++] = t->host[i]->t0;
    for (int cause = 0; cause < GP_CAUSES; cause++) {
        int n = nsteps > 2 ? nsteps : 0;
        if (is_work((gp_cause)cause)) continue; /* which may run in a later step than its own */
        memset(ns, 0, (size_t)n * sizeof *ns);
        for (int i = 0; i < l->n; i++) {
            uint64_t middle = l->part[i].t + l->part[i].ns / 2;
            int at = nsteps > 2 ? step_at(begin, nsteps, middle) : n;
            if (l->part[i].cause != (gp_cause)cause || at < 0) continue;
            if (nsteps > 2) ns[at] += l->part[i].ns;
            else ns[n++] = l->part[i].ns;
        }
        gp_worth *w = &l->v->of[cause];
        w->steps = nsteps > 2 ? nsteps : 0;
        set_extra(w, ns, n, list);
        if (!w->steps) w->step = 0;
    }
    free(begin);
}

/* Whether a marked step runs at time t. */
static bool in_step(const gp_timeline *t, uint64_t at) {
    for (int i = 0; i < t->nhost; i++) {
        const gp_rec *r = t->host[i];
        if (gp_rec_is_step(r) && r->t0 <= at && at < gp_rec_end(t->p, r)) return true;
    }
    return false;
}

/* ---- all of a rank ---- */

/* Of the script and of ops that the host computes most is shown of the steps, unless more is owed
 * to what passes once. */
static void add_up(ledger *l) {
    merge(l);
    if (!l->ok) return;
    uint64_t steps = shows_passes(l->t) ? begin_of_steps(l) : 0;
    for (int i = 0; i < l->n; i++) {
        owed *part = &l->part[i];
        gp_worth *w = &l->v->of[part->cause];
        bool moves = part->cause == GP_CAUSE_script || part->cause == GP_CAUSE_cpu;
        bool sampled = is_sample(part->rec);
        bool edge = part->cause == GP_CAUSE_script && !sampled && !part->rec != !part->before &&
                    !in_step(l->t, part->t + part->ns / 2);
        part->once = moves && (edge || part->last < steps || (steps && part->times < 2));
        w->ns += part->ns, w->times += part->times;
        w->once += part->once ? part->ns : 0;
    }
    for (int i = 0; i < l->n; i++) {
        const owed *part = &l->part[i];
        gp_worth *w = &l->v->of[part->cause];
        bool hidden = part->once && 2 * w->once < w->ns;
        if (hidden || (!part->rec && !part->before) || part->ns <= w->most_ns) continue;
        w->most = part->rec, w->before = part->before;
        w->most_ns = part->ns, w->most_times = part->times;
    }
}

/* Whether several streams of devices work. */
static bool has_streams(const gp_timeline *t) {
    int n = 0;
    for (int i = 0; i < t->nstreams; i++) n += !t->stream[i]->dev->vt->on_host;
    return n > 1;
}

/* How many events of the host queued work for a device. */
static uint64_t launches(const gp_timeline *t) {
    const gp_rec *last = NULL;
    uint64_t n = 0;
    for (int i = 0; i < t->ncommands; i++) {
        const gp_command *c = &t->command[i];
        if (c->host && c->host != last && !gp_rec_runs_on_host(c->rec)) last = c->host, n++;
    }
    return n;
}

/* How many batches the host asked loaders for. */
static uint64_t batches(const gp_timeline *t) {
    uint64_t n = 0;
    for (int i = 0; i < t->nhost; i++) n += gp_is_batch_request(t->host[i]);
    return n;
}

/* Adds what a rank's record says; each cause is shown as of the rank that owes it the most. */
static bool read_rank(const gp_timeline *t, gp_verdict *v) {
    gp_verdict own = {0};
    ledger l = {.v = &own, .t = t};
    l.ok = list_samples(&l);
    if (l.ok) add_steps(&l);
    add_work(&l);
    if (l.ok) find_extra(&l);
    if (l.ok) add_up(&l);
    free(l.part);
    free(l.samples);
    if (!l.ok) return gp_fail("profile: out of memory");
    v->vague |= t->p->unknown_orders && has_streams(t);
    if (own.profiler > v->profiler) v->profiler = own.profiler;
    own.of[GP_CAUSE_launches].times = launches(t);
    own.of[GP_CAUSE_script].between = gp_between_launches(t);
    if (own.of[GP_CAUSE_loader].times) own.of[GP_CAUSE_loader].times = batches(t);
    v->work += own.work, v->queued += own.queued, v->calls += own.calls,
        v->host += (uint64_t)t->nhost;
    for (int cause = 0; cause < GP_CAUSES; cause++)
        if (own.of[cause].ns > v->of[cause].ns)
            v->of[cause] = own.of[cause], v->of[cause].rank = t->rank;
    return true;
}

/* ---- the verdict ---- */

enum {
    DEVICES = 1u << GP_CAUSE_kernels | 1u << GP_CAUSE_copies | 1u << GP_CAUSE_collectives |
              1u << GP_CAUSE_delays,
    WAITS = 1u << GP_CAUSE_waits | 1u << GP_CAUSE_synchronize
};

static gp_untold untold(const gp_prof *p, gp_verdict *v) {
    uint64_t kept = v->host + v->work;
    if (!kept) return GP_UNTOLD_EMPTY;
    if ((p->dropped + p->lost) * 100 > kept) return GP_UNTOLD_DROPPED;
    if (p->cut) return GP_UNTOLD_CUT;
    if (p->foreign && (v->launched = gp_lost_launches(p))) return GP_UNTOLD_LAUNCHED;
    if (p->foreign && !p->no_device && !v->work) return GP_UNTOLD_WORK;
    if (v->queued * 2 < v->work) return GP_UNTOLD_DEVICE;
    return p->foreign && v->calls * 2 < v->work ? GP_UNTOLD_CALLS : GP_TOLD;
}

/* What the host of a rank does beside its waits. */
static uint64_t beside_waits(const gp_timeline *t) {
    uint64_t ns = t->done - t->p->t0;
    for (int i = 0; i < t->nsteps; i++)
        if (t->step[i].kind == GP_STEP_WAIT) ns -= t->step[i].t1 - t->step[i].t;
    return ns;
}

static bool is_other(const gp_command *c, const void *cause) {
    return gp_work_cause(c->rec) != *(const gp_cause *)cause;
}

static bool is_wait(gp_cause cause) {
    return cause == GP_CAUSE_waits || cause == GP_CAUSE_synchronize;
}

/* Whatever streams waited for: without a cause's work each rank still takes what its host does, and
 * what its devices do beside that; without waits what they do, but that collectives may have waited
 * for another rank's host. False when out of memory. */
static bool limit_worth(const gp_job *job, gp_cause cause, gp_verdict *v) {
    uint64_t rest = 0;
    gp_cause without = is_wait(cause) ? GP_CAUSE_collectives : cause;
    for (int i = 0; i < job->n; i++) {
        uint64_t ran, host = beside_waits(job->rank[i]);
        if (!gp_timeline_ran(job->rank[i], is_other, &without, &ran)) return false;
        if (ran > rest) rest = ran;
        if (host > rest) rest = host;
    }
    gp_worth *w = &v->of[cause];
    w->at_most = v->wall > rest ? v->wall - rest : 0;
    uint64_t all = w->ns * (uint64_t)job->n; /* at most: the rank that owes it the most counts */
    if (w->at_most > all) w->at_most = all;
    return true;
}

bool gp_verdict_of(gp_job *job, gp_verdict *v) {
    const gp_timeline *t = gp_job_last(job);
    *v = (gp_verdict){.wall = t->t1 - t->p->t0, .paced = gp_job_awaits_workers(job)};
    for (int i = 0; i < job->n; i++)
        if (!read_rank(job->rank[i], v)) return false;
    if (!gp_idle_times(t, &v->idle)) return false;
    v->untold = untold(t->p, v);
    for (int cause = 0; !v->untold && cause < GP_CAUSES; cause++) {
        gp_whatif w = {.host = 1, .without_causes = 1u << cause};
        gp_worth *of = &v->of[cause];
        if (!of->ns || (gp_job_saved(job, &w, &of->worth, NULL) &&
                        gp_job_saved_at_most(job, &w, &of->at_most)))
            continue;
        if (!job->tangled) return false;
        v->untold = GP_UNTOLD_ORDERS;
    }
    for (int cause = 0; v->vague && cause < GP_CAUSES; cause++)
        if ((is_work((gp_cause)cause) || is_wait((gp_cause)cause)) && cause != GP_CAUSE_delays &&
            !limit_worth(job, (gp_cause)cause, v))
            return gp_fail("profile: out of memory");
    gp_whatif w = {.host = 1, .without_causes = WAITS};
    if (!v->untold && !gp_job_saved(job, &w, &v->all_waits, NULL)) return false;
    w.without_causes = DEVICES;
    return v->untold || gp_job_saved(job, &w, &v->devices, NULL);
}
