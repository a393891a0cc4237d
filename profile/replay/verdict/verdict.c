/* Decides what dominated a run: adds up what is owed to each cause (owed.h), and replays it without
 * that. */
#include "profile/replay/verdict/verdict.h"

#include <stdlib.h>
#include <string.h>

#include "profile/replay/verdict/owed.h"
#include "profile/show/usage.h"

/* When the steps begin: with the line that is passed most often. UINT64_MAX: none is passed again.
 */
static uint64_t begin_of_steps(const gp_ledger *l) {
    uint64_t begin = UINT64_MAX, most = 1;
    for (int i = 0; i < l->n; i++) {
        const gp_owed *part = &l->part[i];
        if (!gp_owed_by_work(part->cause) && part->times > most)
            most = part->times, begin = part->t;
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

/* Of n times which a cause owes to steps, or to stretches: how much the largest are above the
 * median, those that are so by at least half as much as the largest. list: room for n. */
static void set_extra(gp_worth *w, const uint64_t *ns, int n, uint64_t *list) {
    int most = 0;
    if (n < 3) return;
    for (int i = 0; i < n; i++) {
        w->in_steps += ns[i] > 0;
        if (ns[i]) w->last_step = i + 1;
        if (ns[i] > ns[most]) most = i;
    }
    memcpy(list, ns, (size_t)n * sizeof *list);
    qsort(list, (size_t)n, sizeof *list, by_number);
    uint64_t median = list[n / 2];
    for (int i = 0; i < n && ns[most] > median; i++)
        if (2 * ns[i] >= median + ns[most]) w->extra += ns[i] - median, w->extras++;
    w->step = most + 1;
}

/* How many parts of a cause the step with the most of it has. */
static void count_in_step(gp_ledger *l, gp_cause cause, const uint64_t *begin, int n) {
    gp_worth *w = &l->v->of[cause];
    for (int i = 0; i < l->n; i++) {
        const gp_owed *part = &l->part[i];
        w->of_step += part->cause == cause && step_at(begin, n, part->asked) == w->step - 1;
        w->parts += part->cause == cause;
    }
}

/* Adds up each cause by the steps that asked for it; where there are fewer than three, the host's
 * by its stretches. */
static void find_extra(gp_ledger *l) {
    const gp_timeline *t = l->t;
    size_t size = (size_t)(t->nhost > l->n ? t->nhost : l->n) + 1;
    uint64_t *begin = malloc(3 * size * sizeof *begin), *ns = begin + size, *list = ns + size;
    int nsteps = 0;
    if (!(l->ok = begin != NULL)) return;
    for (int i = 0; i < t->nhost; i++)
        if (gp_rec_is_step(t->host[i])) begin[nsteps++] = t->host[i]->t0;
    for (int cause = 0; cause < GP_CAUSES; cause++) {
        int n = nsteps > 2 ? nsteps : 0;
        if (!n && gp_owed_by_work((gp_cause)cause)) continue;
        memset(ns, 0, (size_t)n * sizeof *ns);
        for (int i = 0; i < l->n; i++) {
            int at = nsteps > 2 ? step_at(begin, nsteps, l->part[i].asked) : n;
            if (l->part[i].cause != (gp_cause)cause || at < 0) continue;
            if (nsteps > 2) ns[at] += l->part[i].ns;
            else ns[n++] = l->part[i].ns;
        }
        gp_worth *w = &l->v->of[cause];
        w->steps = nsteps > 2 ? nsteps : 0;
        set_extra(w, ns, n, list);
        if (w->steps) count_in_step(l, (gp_cause)cause, begin, nsteps);
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
static void add_up(gp_ledger *l) {
    gp_owed_merge(l);
    if (!l->ok) return;
    uint64_t steps = shows_passes(l->t) ? begin_of_steps(l) : 0;
    for (int i = 0; i < l->n; i++) {
        gp_owed *part = &l->part[i];
        gp_worth *w = &l->v->of[part->cause];
        bool moves = part->cause == GP_CAUSE_script || part->cause == GP_CAUSE_cpu;
        bool sampled = gp_rec_is_sample(part->rec);
        bool edge = part->cause == GP_CAUSE_script && !sampled && !part->rec != !part->before &&
                    !in_step(l->t, part->t + part->ns / 2);
        part->once = moves && (edge || part->last < steps || (steps && part->times < 2));
        w->ns += part->ns, w->times += part->times;
        w->once += part->once ? part->ns : 0;
    }
    for (int i = 0; i < l->n; i++) {
        const gp_owed *part = &l->part[i];
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

/* How many events of the host queued work for a device, and how many of them captured functions
 * launched again. */
static uint64_t launches(const gp_timeline *t, uint64_t *replayed) {
    const gp_rec *last = NULL;
    uint64_t n = 0;
    *replayed = 0;
    for (int i = 0; i < t->ncommands; i++) {
        const gp_command *c = &t->command[i];
        if (!c->host || c->host == last || gp_rec_runs_on_host(c->rec)) continue;
        last = c->host, n++;
        *replayed += c->host->kind == GP_REC_OP && c->host->replayed;
    }
    return n;
}

/* Counts the kernels that are long beside a launch, each launched by a call, and those of them
 * which ended within it: the call waited for them. */
static void count_blocked(const gp_timeline *t, gp_verdict *v) {
    enum { LONG = 20000 }; /* ns */
    for (int i = 0; i < t->ncommands; i++) {
        const gp_command *c = &t->command[i];
        bool called = c->host && c->host->kind == GP_REC_CALL && c->rec->kind == GP_REC_KERNEL;
        if (!called || c->end - c->rec->t0 < LONG) continue;
        v->longer++;
        v->blocked += c->host->t0 <= c->rec->t0 && gp_rec_end(t->p, c->host) >= c->end;
    }
}

/* How much of what is owed to launches lies in steps of PyTorch's optimizers. */
static uint64_t in_optimizers(const gp_ledger *l) {
    static const char step[] = "Optimizer.step#";
    const gp_timeline *t = l->t;
    uint64_t ns = 0, end = 0;
    for (int i = 0, k = 0; i < l->n; i++) {
        const gp_owed *part = &l->part[i];
        if (part->cause != GP_CAUSE_launches) continue;
        for (; k < t->nhost && t->host[k]->t0 <= part->t; k++) {
            const gp_rec *r = t->host[k];
            bool steps = r->kind == GP_REC_REGION && !strncmp(r->name, step, sizeof step - 1);
            if (steps) end = gp_rec_end(t->p, r);
        }
        if (part->t < end) ns += part->ns;
    }
    return ns;
}

/* How many batches the host asked loaders for. */
static uint64_t batches(const gp_timeline *t) {
    uint64_t n = 0;
    for (int i = 0; i < t->nhost; i++) n += gp_is_batch_request(t->host[i]);
    return n;
}

/* What the host of a rank does beside its waits. */
static uint64_t beside_waits(const gp_timeline *t) {
    uint64_t ns = t->done - t->p->t0;
    for (int i = 0; i < t->nsteps; i++)
        if (t->step[i].kind == GP_STEP_WAIT) ns -= t->step[i].t1 - t->step[i].t;
    return ns;
}

/* How much longer the steps took than those before the record; nothing where that is little, and at
 * most what the host did beside its waits, as a device takes no longer, and what leaves the run as
 * many of those. */
static uint64_t slowed(const gp_timeline *t) {
    enum { MUCH = 10 }; /* a tenth of a usual step is not little */
    uint64_t *list = t->p->usual ? malloc(((size_t)t->nhost + 1) * sizeof *list) : NULL;
    uint64_t most = beside_waits(t), more = 0;
    size_t n = 0;
    for (int i = 0; list && i < t->nhost; i++)
        if (gp_rec_is_step(t->host[i])) list[n++] = gp_rec_end(t->p, t->host[i]) - t->host[i]->t0;
    if (n) qsort(list, n, sizeof *list, by_number);
    if (n && list[n / 2] > t->p->usual) more = list[n / 2] - t->p->usual;
    free(list);
    if (MUCH * more < t->p->usual) return 0;
    uint64_t wall = t->t1 - t->p->t0, alone = n * t->p->usual,
             rest = wall > alone ? wall - alone : 0;
    if (most > rest) most = rest;
    return n * more < most ? n * more : most;
}

/* Adds what a rank's record says; each cause is shown as of the rank that owes it the most. */
static bool read_rank(const gp_timeline *t, gp_verdict *v) {
    gp_verdict own = {0};
    gp_ledger l = {.v = &own, .t = t};
    gp_owe(&l);
    if (l.ok) own.of[GP_CAUSE_launches].optimizer = in_optimizers(&l);
    if (l.ok) find_extra(&l);
    if (l.ok) add_up(&l);
    free(l.part);
    free(l.samples);
    if (!l.ok) return gp_fail("profile: out of memory");
    v->vague |= t->p->unknown_orders && has_streams(t);
    if (own.profiler > v->profiler) v->profiler = own.profiler;
    uint64_t replayed, launched = launches(t, &replayed), more = slowed(t);
    if (more > v->slowed) v->slowed = more;
    own.of[GP_CAUSE_launches].times = launched;
    v->replayed += replayed, v->launches += launched;
    count_blocked(t, v);
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
                        gp_job_saved_at_most(job, &w, v->vague, &of->at_most)))
            continue;
        if (!job->tangled) return false;
        v->untold = GP_UNTOLD_ORDERS;
    }
    for (int cause = 0; v->vague && cause < GP_CAUSES; cause++)
        if ((gp_owed_by_work((gp_cause)cause) || is_wait((gp_cause)cause)) &&
            cause != GP_CAUSE_delays && !limit_worth(job, (gp_cause)cause, v))
            return gp_fail("profile: out of memory");
    gp_whatif w = {.host = 1, .without_causes = WAITS};
    if (!v->untold && !gp_job_saved(job, &w, &v->all_waits, NULL)) return false;
    w.without_causes = DEVICES;
    return v->untold || gp_job_saved(job, &w, &v->devices, NULL);
}
