/* Decides what dominated a run: adds up what the record owes to each cause, and replays it once for
 * each with that taking no time. */
#include "profile/replay/verdict.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the record owes to each cause ---- */

/* A part of what is owed to a cause. */
typedef struct owed {
    gp_cause cause;
    const gp_rec *rec, *before; /* as gp_worth's most and before; NULL: unknown, or none */
    uint64_t ns, times;
} owed;

typedef struct ledger {
    gp_verdict *v;
    const gp_timeline *t;
    owed *part;
    int n, room;
    int next;           /* in t->host, from the script's last stretch on */
    const gp_rec *last; /* the outermost op or wait before that */
    bool ok;
} ledger;

static void add(ledger *l, owed part) {
    if (part.cause == GP_CAUSES || !part.ns || !l->ok) return;
    if (l->n == l->room) {
        int room = l->room ? 2 * l->room : 256;
        owed *more = realloc(l->part, (size_t)room * sizeof *more);
        if (!(l->ok = more != NULL)) return;
        l->part = more, l->room = room;
    }
    part.times = 1;
    l->part[l->n++] = part;
}

/* Whether r says where the script is: torch.profiler's own waits do not. */
static bool is_place(const gp_rec *r) {
    if (r->kind == GP_REC_WAIT) return r->why != GP_WHY_explicit || gp_wait_cause(r) != GP_CAUSES;
    return r->kind == GP_REC_OP || gp_is_take(r);
}

/* The script ran from `from` to `to`: finds what came before and after. */
static void add_stretch(ledger *l, uint64_t from, uint64_t to) {
    const gp_timeline *t = l->t;
    for (; l->next < t->nhost && t->host[l->next]->t0 < to; l->next++) {
        const gp_rec *r = t->host[l->next];
        bool inner = l->last && r->t0 < gp_rec_end(t->p, l->last);
        if (is_place(r) && r->t0 < to && !inner) l->last = r;
    }
    int after = l->next;
    while (after < t->nhost && !is_place(t->host[after])) after++;
    const gp_rec *rec = after < t->nhost && t->host[after]->t0 <= t->done ? t->host[after] : NULL;
    add(l, (owed){GP_CAUSE_script, rec, l->last, to - from, 1});
}

/* What the host did from `from` to `to`, between two steps. */
static void add_host(ledger *l, gp_part part, const gp_rec *op, uint64_t from, uint64_t to) {
    if (to <= from) return;
    if (part == GP_PART_SCRIPT) add_stretch(l, from, to);
    else add(l, (owed){gp_part_cause(part), op, NULL, to - from, 1});
}

static void add_steps(ledger *l) {
    const gp_timeline *t = l->t;
    gp_part part = GP_PART_SCRIPT;
    const gp_rec *op = NULL;
    uint64_t at = t->p->t0;
    for (int i = 0; i <= t->nsteps; i++) {
        const gp_step_at *s = i < t->nsteps ? &t->step[i] : NULL;
        if (s && (s->kind == GP_STEP_LAUNCH || s->kind == GP_STEP_MAKE)) continue;
        add_host(l, part, op, at, s ? s->t : t->done);
        if (!s) break;
        at = s->t1;
        if (s->kind == GP_STEP_OWNER) part = s->part, op = s->rec;
        else if (s->kind == GP_STEP_TAKE)
            add(l, (owed){GP_CAUSE_loader, s->rec, NULL, s->t1 - s->t, 1});
        else add(l, (owed){gp_wait_cause(s->rec), s->rec, NULL, s->t1 - s->t, 1});
    }
}

static void add_work(ledger *l) {
    const gp_timeline *t = l->t;
    for (int i = 0; i < t->ncommands; i++) {
        const gp_command *c = &t->command[i];
        l->v->work++;
        l->v->queued += c->host != NULL;
        add(l, (owed){gp_work_cause(c->rec), c->rec, NULL, c->end - c->rec->t0, 1});
        add(l, (owed){GP_CAUSE_delays, c->rec, NULL, c->delay, 1});
    }
}

/* By cause and by what it is merged by: the op's or kernel's name, or the line. */
static int by_name(const gp_rec *x, const gp_rec *y) {
    if (!x || !y) return (x != NULL) - (y != NULL);
    return strcmp(x->name, y->name);
}
static int by_line(const gp_rec *x, const gp_rec *y) {
    if (!x || !y) return (x != NULL) - (y != NULL);
    return gp_compare_places(x, y);
}
static int by_what(const void *a, const void *b) {
    const owed *x = a, *y = b;
    if (x->cause != y->cause) return (int)x->cause - (int)y->cause;
    bool work = x->cause == GP_CAUSE_kernels || x->cause == GP_CAUSE_copies ||
                x->cause == GP_CAUSE_collectives || x->cause == GP_CAUSE_delays;
    int (*compare)(const gp_rec *, const gp_rec *) = work ? by_name : by_line;
    int order = compare(x->rec, y->rec);
    return order ? order : by_line(x->before, y->before);
}

static int by_what_and_name(const void *a, const void *b) {
    const owed *x = a, *y = b;
    int order = by_what(x, y);
    if (!order) order = by_name(x->rec, y->rec);
    if (order || !x->rec || !y->rec) return order;
    return (x->rec->t0 > y->rec->t0) - (x->rec->t0 < y->rec->t0);
}

/* A line is shown by what it owes the most to. */
static void add_up(ledger *l) {
    qsort(l->part, (size_t)l->n, sizeof *l->part, by_what_and_name);
    for (int i = 0, k; i < l->n; i = k) {
        owed all = l->part[i];
        uint64_t alike = all.ns, most = all.ns;
        for (k = i + 1; k < l->n && !by_what(&l->part[k], &all); k++) {
            const owed *part = &l->part[k];
            all.ns += part->ns, all.times += part->times;
            alike = part->ns + (by_name(part->rec, part[-1].rec) ? 0 : alike);
            if (alike > most) most = alike, all.rec = part->rec, all.before = part->before;
        }
        gp_worth *w = &l->v->of[all.cause];
        w->ns += all.ns, w->times += all.times;
        if ((!all.rec && !all.before) || all.ns <= w->most_ns) continue;
        w->most = all.rec, w->before = all.before;
        w->most_ns = all.ns, w->most_times = all.times;
    }
}

/* Adds what a rank's record says; each cause is shown as of the rank that owes it the most. */
static bool read_rank(const gp_timeline *t, gp_verdict *v) {
    gp_verdict own = {0};
    ledger l = {.v = &own, .t = t, .ok = true};
    add_steps(&l);
    add_work(&l);
    if (l.ok) add_up(&l);
    free(l.part);
    if (!l.ok) return gp_fail("profile: out of memory");
    own.of[GP_CAUSE_launches].times = own.work;
    v->work += own.work, v->queued += own.queued, v->host += (uint64_t)t->nhost;
    for (int cause = 0; cause < GP_CAUSES; cause++)
        if (own.of[cause].ns > v->of[cause].ns)
            v->of[cause] = own.of[cause], v->of[cause].rank = t->rank;
    return true;
}

/* ---- the verdict ---- */

enum {
    DEVICES = 1u << GP_CAUSE_kernels | 1u << GP_CAUSE_copies | 1u << GP_CAUSE_collectives |
              1u << GP_CAUSE_delays
};

static gp_untold untold(const gp_prof *p, const gp_verdict *v) {
    uint64_t kept = v->host + v->work;
    if (!kept) return GP_UNTOLD_EMPTY;
    if ((p->dropped + p->lost) * 100 > kept) return GP_UNTOLD_DROPPED;
    if (p->cut) return GP_UNTOLD_CUT;
    if (p->foreign && !p->no_device && !v->work) return GP_UNTOLD_WORK;
    return v->queued * 2 < v->work ? GP_UNTOLD_DEVICE : GP_TOLD;
}

static const gp_timeline *last_rank(const gp_job *job) {
    const gp_timeline *last = job->rank[0];
    for (int i = 1; i < job->n; i++)
        if (job->rank[i]->t1 > last->t1) last = job->rank[i];
    return last;
}

bool gp_verdict_of(gp_job *job, gp_verdict *v) {
    const gp_timeline *t = last_rank(job);
    *v = (gp_verdict){.wall = gp_job_end(job) - t->p->t0};
    for (int i = 0; i < job->n; i++)
        if (!read_rank(job->rank[i], v)) return false;
    if (!gp_idle_times(t, &v->idle)) return false;
    v->untold = untold(t->p, v);
    for (int cause = 0; !v->untold && cause < GP_CAUSES; cause++) {
        gp_whatif w = {.host = 1, .without_causes = 1u << cause};
        gp_worth *of = &v->of[cause];
        if (!of->ns || gp_job_saved(job, &w, &of->worth, NULL)) continue;
        if (!job->tangled) return false;
        v->untold = GP_UNTOLD_ORDERS;
    }
    gp_whatif w = {.host = 1, .without_causes = DEVICES};
    return v->untold || gp_job_saved(job, &w, &v->devices, NULL);
}
