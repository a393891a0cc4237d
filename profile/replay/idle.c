/* When a record's devices ran nothing; divides its wall time by what they did, and says what each
 * wait costs. The spans in which any of them ran something are joined and in the order of time,
 * each with how long they had run before it. */
#include <stdlib.h>
#include <string.h>

#include "profile/replay/path.h"
#include "profile/replay/replay.h"
#include "profile/replay/timeline.h"
#include "profile/show/usage.h"
#include "profile/sync/sync.h"
#include "tensor/base/sort.h"

/* ---- spans ---- */

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static int by_start(const void *a, const void *b) {
    const gp_busy_span *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

/* Joins those of n spans that meet; returns how many are left. */
static int join(gp_busy_span *s, int n) {
    int kept = 0;
    gp_sort(s, (size_t)n, sizeof *s, by_start);
    for (int i = 0; i < n; i++) {
        gp_busy_span *last = kept ? &s[kept - 1] : NULL, now = s[i];
        if (last && now.from <= last->to) {
            if (now.to > last->to) last->to = now.to;
            continue;
        }
        now.before = last ? last->before + (last->to - last->from) : 0;
        s[kept++] = now;
    }
    return kept;
}

/* When c ran from: a collective from when the last rank had come. */
static uint64_t ran_from(const gp_command *c) {
    return least(c->end, c->met > c->rec->t0 ? c->met : c->rec->t0);
}

/* The spans of the commands for which is() holds; NULL: when out of memory. */
static gp_busy_span *spans_of(const gp_timeline *t, bool (*is)(const gp_command *, const void *),
                              const void *with, int *n) {
    gp_busy_span *s = malloc(((size_t)t->ncommands + 1) * sizeof *s);
    *n = 0;
    for (int i = 0; s && i < t->ncommands; i++)
        if (is(&t->command[i], with))
            s[(*n)++] = (gp_busy_span){ran_from(&t->command[i]), t->command[i].end, 0};
    if (s) *n = join(s, *n);
    return s;
}

static bool is_device(const gp_command *c, const void *with) {
    return c != with && !gp_rec_runs_on_host(c->rec);
}

bool gp_timeline_read_busy(gp_timeline *t) {
    return (t->busy = spans_of(t, is_device, NULL, &t->nbusy)) != NULL;
}

bool gp_timeline_ran(const gp_timeline *t, bool (*is)(const gp_command *, const void *),
                     const void *with, uint64_t *ns) {
    int n;
    gp_busy_span *s = spans_of(t, is, with, &n);
    *ns = n > 0 ? s[n - 1].before + (s[n - 1].to - s[n - 1].from) : 0;
    free(s);
    return s != NULL;
}

/* How long devices had run by `when`. */
static uint64_t ran_by(const gp_timeline *t, uint64_t when) {
    int lo = 0, hi = t->nbusy;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (t->busy[mid].from < when) lo = mid + 1;
        else hi = mid;
    }
    if (!lo) return 0;
    const gp_busy_span *s = &t->busy[lo - 1];
    return s->before + (least(when, s->to) - s->from);
}

uint64_t gp_timeline_idle(const gp_timeline *t, uint64_t from, uint64_t to) {
    return to > from ? to - from - (ran_by(t, to) - ran_by(t, from)) : 0;
}

/* ---- idle time ---- */

typedef enum change { LAUNCHED, KERNEL, COPY, OP, WAIT, TAKE, CHANGES } change;

/* From t on there is one more (or one less) of a kind. */
typedef struct edge {
    uint64_t t;
    int8_t by;
    uint8_t of; /* change */
} edge;

static int by_time(const void *a, const void *b) {
    const edge *x = a, *y = b;
    if (x->t != y->t) return x->t < y->t ? -1 : 1;
    return y->by - x->by;
}

static int add(edge *e, int n, change of, uint64_t from, uint64_t to) {
    if (to <= from) return n;
    e[n++] = (edge){from, 1, (uint8_t)of};
    e[n++] = (edge){to, -1, (uint8_t)of};
    return n;
}

static int gather(const gp_timeline *t, edge *e) {
    int n = 0;
    for (int i = 0; i < t->ncommands; i++) {
        const gp_command *c = &t->command[i];
        if (gp_rec_runs_on_host(c->rec)) continue; /* no device does it */
        n = add(e, n, LAUNCHED, c->launch < c->rec->t0 ? c->launch : c->rec->t0, c->end);
        n = add(e, n, c->rec->kind == GP_REC_MOVED ? COPY : KERNEL, c->rec->t0, c->end);
    }
    for (int i = 0; i < t->nhost; i++) {
        const gp_rec *r = t->host[i];
        if (r->kind == GP_REC_OP || r->kind == GP_REC_CALL || r->kind == GP_REC_WAIT)
            n = add(e, n, r->kind == GP_REC_WAIT ? WAIT : OP, r->t0, gp_rec_end(t->p, r));
        if (gp_is_batch_request(r) || gp_is_made(r)) /* on this thread, without workers */
            n = add(e, n, TAKE, r->t0, gp_rec_end(t->p, r));
    }
    gp_sort(e, (size_t)n, sizeof *e, by_time);
    return n;
}

static uint64_t *share(gp_idle *idle, const int *now) {
    if (now[KERNEL]) return &idle->kernels;
    if (now[COPY]) return &idle->copies;
    if (now[LAUNCHED]) return &idle->latency;
    if (now[WAIT]) return &idle->waiting;
    if (now[TAKE]) return &idle->loader;
    return now[OP] ? &idle->op : &idle->script;
}

bool gp_idle_times(const gp_timeline *t, gp_idle *idle) {
    const gp_prof *p = t->p;
    edge *e = malloc((4 * (size_t)t->ncommands + 2 * (size_t)t->nhost + 1) * sizeof *e);
    if (!e) return gp_fail("profile: out of memory");
    int n = gather(t, e), now[CHANGES] = {0};
    uint64_t last = p->t0;
    double queued = 0;
    *idle = (gp_idle){0};
    for (int i = 0; i <= n; i++) {
        uint64_t at = i < n ? e[i].t : t->t1;
        at = at > t->t1 ? t->t1 : at < last ? last : at;
        *share(idle, now) += at - last;
        queued += (double)(at - last) * now[LAUNCHED];
        last = at;
        if (i < n) now[e[i].of] += e[i].by;
        if (now[LAUNCHED] > idle->most) idle->most = now[LAUNCHED];
    }
    free(e);
    idle->depth = t->t1 > p->t0 ? queued / (double)(t->t1 - p->t0) : 0;
    return true;
}

/* A stream's commands do not overlap, but where a loaded trace says so. */
void gp_streams_busy(const gp_timeline *t, gp_busy *of) {
    for (int i = 0; i < t->nstreams; i++) of[i] = (gp_busy){0};
    for (int k = 0; k < t->ncommands; k++) {
        const gp_rec *r = t->command[k].rec;
        gp_busy *b = &of[t->command[k].stream];
        uint64_t from = r->t0 > b->end ? r->t0 : b->end;
        if (r->t1 > from) b->ns += r->t1 - from, b->end = r->t1;
    }
}

/* The stretches of the script between two launches, and those between launches of the two names
 * that have most of that time, if they have half of it. */
typedef struct stretches {
    const char *before, *after;
    uint64_t all, votes, ns, times; /* ns, times: of the two names */
} stretches;

static bool is_between(const stretches *s, const char *before, const char *after) {
    return s->before && !strcmp(s->before, before) && !strcmp(s->after, after);
}

/* The majority of all, if there is one, is the pair that is left. */
static void vote(stretches *s, const char *before, const char *after, uint64_t ns) {
    s->all += ns;
    if (is_between(s, before, after)) s->votes += ns;
    else if (ns <= s->votes) s->votes -= ns;
    else s->votes = ns - s->votes, s->before = before, s->after = after;
}

static void count(stretches *s, const char *before, const char *after, uint64_t ns) {
    if (is_between(s, before, after)) s->ns += ns, s->times++;
}

static void each_stretch(const gp_timeline *t, stretches *with,
                         void (*f)(stretches *, const char *, const char *, uint64_t)) {
    enum { SOON = 200000 };
    const gp_rec *launched = NULL;
    uint64_t gap = 0, at = t->p->t0;
    bool script = true;
    for (int i = 0; i < t->nsteps; i++) {
        const gp_step_at *s = &t->step[i];
        const gp_rec *work = s->kind == GP_STEP_LAUNCH ? t->command[s->command].rec : NULL;
        if (s->kind == GP_STEP_MAKE || (work && gp_rec_runs_on_host(work))) continue;
        if (script && s->t > at) gap += s->t - at;
        at = s->kind == GP_STEP_WAIT || s->kind == GP_STEP_TAKE ? s->t1 : s->t;
        if (s->kind == GP_STEP_OWNER) {
            script = s->part == GP_HOST_SCRIPT;
            continue;
        }
        if (work && launched && gap && gap <= SOON) f(with, launched->name, work->name, gap);
        launched = work, gap = 0;
    }
}

uint64_t gp_between_launches(const gp_timeline *t) {
    enum { LONG = 50000 };
    stretches s = {0};
    each_stretch(t, &s, vote);
    each_stretch(t, &s, count);
    bool of_one_place = 2 * s.ns >= s.all && s.ns > LONG * s.times;
    return s.all - (of_one_place ? s.ns : 0);
}

/* ---- what waits cost ---- */

enum { LINES = 64 };

int gp_compare_sources(const gp_rec *x, const gp_rec *y) {
    const char *p = x->file ? x->file : "", *q = y->file ? y->file : "";
    int order = p == q ? 0 : strcmp(p, q); /* interned, mostly */
    if (order) return order;
    if (!*p) return x->name == y->name ? 0 : strcmp(x->name, y->name);
    return x->line < y->line ? -1 : x->line > y->line;
}

static int by_source(const void *a, const void *b) {
    const gp_rec *x = ((const gp_saving *)a)->rec, *y = ((const gp_saving *)b)->rec;
    int order = gp_compare_sources(x, y);
    if (!order) order = strcmp(x->name, y->name);
    return order ? order : x->t0 < y->t0 ? -1 : x->t0 > y->t0;
}

static int by_waited(const void *a, const void *b) {
    const gp_saving *x = a, *y = b;
    return x->waited < y->waited ? 1 : x->waited > y->waited ? -1 : by_source(a, b);
}

static int by_saved(const void *a, const void *b) {
    const gp_saving *x = a, *y = b;
    return x->saved < y->saved ? 1 : x->saved > y->saved ? -1 : by_waited(a, b);
}

static int gather_waits(const gp_timeline *t, gp_saving *s) {
    int n = 0;
    for (int i = 0; i < t->nsteps; i++) {
        const gp_step_at *at = &t->step[i];
        if (at->kind == GP_STEP_WAIT && gp_sync_watched((gp_why)at->rec->why))
            s[n++] = (gp_saving){
                .rec = at->rec, .times = 1, .waited = gp_rec_end(t->p, at->rec) - at->rec->t0};
    }
    return n;
}

/* The lines with waits that a script can avoid, each with one of those that it waited for most. */
static gp_saving *gather_lines(const gp_job *job, int *n) {
    size_t capacity = 1;
    for (int i = 0; i < job->n; i++) capacity += (size_t)job->rank[i]->nsteps;
    gp_saving *s = malloc(capacity * sizeof *s);
    int all = 0, kept = 0;
    if (!s) return gp_fail_null("profile: out of memory");
    for (int i = 0; i < job->n; i++) all += gather_waits(job->rank[i], &s[all]);
    gp_sort(s, (size_t)all, sizeof *s, by_source);
    uint64_t alike = 0,
             most = 0; /* of a line's waits, for what is waited now, and the most so far */
    const gp_rec *last = NULL;
    for (int i = 0; i < all; i++) {
        const gp_rec *rec = s[i].rec;
        bool line = last && !gp_compare_sources(last, rec);
        bool same = line && !strcmp(last->name, rec->name);
        alike = s[i].waited + (same ? alike : 0);
        last = rec;
        if (line) s[kept - 1].times++, s[kept - 1].waited += s[i].waited;
        else s[kept++] = s[i], most = 0;
        s[kept - 1].mixed |= line && !same;
        if (alike > most) most = alike, s[kept - 1].rec = rec;
    }
    gp_sort(s, (size_t)kept, sizeof *s, by_waited);
    *n = kept < LINES ? kept : LINES;
    return s;
}

bool gp_job_saved(gp_job *job, const gp_whatif *w, uint64_t *ns, uint64_t *rank) {
    gp_replay_timings *r = calloc((size_t)job->n, sizeof *r);
    if (!r) return gp_fail("profile: out of memory");
    bool ok = gp_job_times(job, w, r);
    uint64_t was = gp_job_end(job), is = 0;
    for (int i = 0; ok && i < job->n; i++) {
        uint64_t own = job->rank[i]->t1;
        if (rank) rank[i] = own > r[i].t1 ? own - r[i].t1 : 0;
        if (r[i].t1 > is) is = r[i].t1;
    }
    *ns = ok && was > is ? was - is : 0;
    for (int i = 0; i < job->n; i++) gp_replay_timings_free(&r[i]);
    free(r);
    return ok;
}

bool gp_job_awaits_workers(const gp_job *job) {
    for (int i = 0; i < job->n; i++) {
        const gp_timeline *t = job->rank[i];
        for (int k = 0; k < t->nhost; k++)
            if (gp_awaits_workers(t->host[k])) return true;
    }
    return false;
}

bool gp_job_saved_at_most(gp_job *job, const gp_whatif *w, bool vague, uint64_t *ns) {
    gp_whatif most = *w;
    most.prompt = true, most.beside = vague;
    *ns = 0;
    return !(vague || gp_job_awaits_workers(job)) || gp_job_saved(job, &most, ns, NULL);
}

gp_saving *gp_savings(gp_job *job, int *n, gp_saving *all, uint64_t *rank) {
    gp_saving *s = gather_lines(job, n);
    if (!s) return NULL;
    gp_whatif w = {.host = 1};
    for (int why = 0; why < GP_WHYS; why++)
        if (gp_sync_watched((gp_why)why)) w.without_whys |= 1u << why;
    bool ok = gp_job_saved(job, &w, &all->saved, rank) &&
              gp_job_saved_at_most(job, &w, false, &all->at_most);
    for (int i = 0; ok && i < *n; i++) {
        const gp_rec *r = s[i].rec;
        gp_whatif_line line = {r->file, r->file ? r->line : -1, r->file ? NULL : r->name};
        gp_whatif without = {.host = 1, .without = &line, .nwithout = 1};
        ok = gp_job_saved(job, &without, &s[i].saved, NULL) &&
             gp_job_saved_at_most(job, &without, false, &s[i].at_most);
    }
    if (!ok) return free(s), NULL;
    gp_sort(s, (size_t)*n, sizeof *s, by_saved);
    return s;
}
