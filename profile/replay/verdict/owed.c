/* What a rank's record owes to each cause: what the host did step by step, its waits, and what the
 * devices ran; then by what it was. See owed.h. */
#include "profile/replay/verdict/owed.h"

#include <stdlib.h>
#include <string.h>

#include "profile/show/usage.h"
#include "tensor/base/group.h"
#include "tensor/base/intern.h"
#include "tensor/base/sort.h"

static void add(gp_ledger *l, gp_cause cause, const gp_rec *rec, const gp_rec *before, uint64_t t,
                uint64_t ns) {
    if (cause == GP_CAUSES || !ns || !l->ok) return;
    if (l->n == l->capacity) {
        int capacity = l->capacity ? 2 * l->capacity : 256;
        gp_owed *more = realloc(l->part, (size_t)capacity * sizeof *more);
        if (!(l->ok = more != NULL)) return;
        l->part = more, l->capacity = capacity;
    }
    l->part[l->n++] = (gp_owed){cause, rec, before, t, t, t + ns / 2, ns, 1, false};
}

/* Whether r says where the script is: torch.profiler's own waits do not. */
static bool is_source(const gp_rec *r) {
    if (r->kind == GP_REC_WAIT) return r->why != GP_WHY_explicit || gp_wait_cause(r) != GP_CAUSES;
    return r->kind == GP_REC_OP || gp_is_batch_request(r);
}

static bool list_samples(gp_ledger *l) {
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
static uint64_t add_samples(gp_ledger *l, gp_cause cause, const gp_rec *but, uint64_t from,
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
static void add_stretch(gp_ledger *l, uint64_t from, uint64_t to) {
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
static void add_host(gp_ledger *l, gp_host_activity part, const gp_rec *op, uint64_t from,
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
static void add_joining(gp_ledger *l, const gp_step_at *s) {
    const gp_command *c = &l->t->command[s->command];
    uint64_t ended = c->end > s->t ? c->end : s->t, ns = s->t1 > ended ? s->t1 - ended : 0;
    add(l, GP_CAUSE_collectives, s->rec, NULL, s->t, ns);
    if (ns && l->ok) l->part[l->n - 1].times = 0; /* it counts as that */
}

/* Any other wait. Of a launch that waited for room in the queue a part is its own. */
static void add_wait(gp_ledger *l, const gp_step_at *s) {
    const gp_rec *wait = s->rec;
    if (wait->why == GP_WHY_queue) add(l, GP_CAUSE_launches, wait, NULL, s->t, s->calling);
    add(l, gp_wait_cause(wait), wait, NULL, wait->t0, gp_rec_end(l->t->p, wait) - wait->t0);
}

static void add_steps(gp_ledger *l) {
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

/* Work may run in a later step than the one that asked for it. */
static void add_device(gp_ledger *l, gp_cause cause, const gp_command *c, uint64_t ns) {
    int n = l->n;
    add(l, cause, c->rec, NULL, c->rec->t0, ns);
    if (l->n > n) l->part[n].asked = c->host ? c->host->t0 : 0;
    l->v->of[cause].earlier += c->host ? 0 : ns;
}

static void add_work(gp_ledger *l) {
    const gp_timeline *t = l->t;
    for (int i = 0; i < t->ncommands; i++) {
        const gp_command *c = &t->command[i];
        bool device = !gp_rec_runs_on_host(c->rec);
        l->v->work += device;
        l->v->queued += device && c->host != NULL;
        l->v->calls += device && c->host && c->host->kind != GP_REC_OP;
        add_device(l, gp_work_cause(c->rec), c, c->end - c->rec->t0 - c->first_use);
        add_device(l, GP_CAUSE_setup, c, c->first_use);
        add_device(l, GP_CAUSE_delays, c, c->delay);
    }
}

void gp_owe(gp_ledger *l) {
    l->ok = list_samples(l);
    if (l->ok) add_steps(l);
    if (l->ok) add_work(l);
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

static int by_what(const void *a, const void *b) {
    const gp_owed *x = a, *y = b;
    if (x->cause != y->cause) return (int)x->cause - (int)y->cause;
    int (*compare)(const gp_rec *, const gp_rec *) = gp_owed_by_work(x->cause) ? by_name : by_line;
    int order = compare(x->rec, y->rec);
    if (!order && gp_rec_is_sample(x->rec) && gp_rec_is_sample(y->rec))
        order = by_name(x->rec, y->rec);
    return order ? order : by_line(x->before, y->before);
}

static int by_what_and_name(const void *a, const void *b) {
    const gp_owed *x = a, *y = b;
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
    const gp_owed *x = a;
    uint64_t h = (uint64_t)x->cause + 1;
    bool name = gp_owed_by_work(x->cause) || gp_rec_is_sample(x->rec);
    if (name && x->rec) h = hash_text(h, x->rec->name);
    return hash_line(gp_owed_by_work(x->cause) ? h : hash_line(h, x->rec), x->before);
}
static bool is_alike(const void *a, const void *b) { return !by_what(a, b); }

static int by_name_and_time(const void *a, const void *b) {
    return by_what_and_name(*(const gp_owed *const *)a, *(const gp_owed *const *)b);
}

/* Adds up n parts that are merged. A line is shown by what it owes the most to. */
static gp_owed sum_of(const gp_owed **part, int n) {
    gp_sort(part, (size_t)n, sizeof *part, by_name_and_time);
    gp_owed all = *part[0];
    uint64_t alike = all.ns, most = all.ns;
    for (int i = 1; i < n; i++) {
        const gp_owed *now = part[i], *last = part[i - 1];
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
void gp_owed_merge(gp_ledger *l) {
    const gp_owed **part = malloc(((size_t)l->n + 1) * sizeof *part);
    gp_owed *sum = malloc(((size_t)l->n + 1) * sizeof *sum);
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
