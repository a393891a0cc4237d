/* Replays the ranks of a job together: each runs up to its next collective, which ends for all by
 * when the last one came. */
#include "profile/replay/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/base/sort.h"

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* ---- meetings ---- */

/* A rank's part of a collective. */
typedef struct part {
    const char *name; /* of the op, with its group */
    bool on_host;     /* of the cpu's stream, which is not in step with other devices' */
    int rank, nth;    /* among the rank's of that name */
    gp_command *command;
} part;

static int by_kind(const part *x, const part *y) {
    int order = strcmp(x->name, y->name);
    return order ? order : x->on_host - y->on_host;
}

static int by_rank(const void *a, const void *b) {
    const part *x = a, *y = b;
    if (by_kind(x, y)) return by_kind(x, y);
    if (x->rank != y->rank) return x->rank - y->rank;
    return x->command < y->command ? -1 : x->command > y->command;
}

static int by_number(const void *a, const void *b) {
    const part *x = a, *y = b;
    if (by_kind(x, y)) return by_kind(x, y);
    return x->nth != y->nth ? x->nth - y->nth : x->rank - y->rank;
}

/* Messages from one rank to another keep the time that they took. */
static bool is_message(const char *name) {
    static const char *const words[] = {"dist.send", "dist.recv", "SendRecv", ":send", ":recv"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i])) return true;
    return false;
}

static int gather(const gp_job *job, part *all) {
    int n = 0;
    for (int r = 0; r < job->n; r++)
        for (int i = 0; i < job->rank[r]->ncommands; i++) {
            gp_command *c = &job->rank[r]->command[i];
            bool own = c->host && c->host->kind == GP_REC_OP && !job->rank[r]->p->foreign;
            const char *name = own ? c->host->name : c->rec->kernel ? c->rec->kernel : c->rec->name;
            if (!gp_is_collective(c) || is_message(name)) continue;
            all[n++] = (part){name, ((gp_stream *)c->rec->where)->dev->vt->on_host, r, 0, c};
        }
    return n;
}

/* Numbers each rank's collectives of a name. Leaves out those of which ranks have not equally many:
 * which of them belong together is not known. Returns how many are left. */
static int number(part *all, int n) {
    int kept = 0;
    gp_sort(all, (size_t)n, sizeof *all, by_rank);
    for (int i = 0, end; i < n; i = end) {
        int least = n, largest = 0, nth = 0;
        for (end = i; end < n && !by_kind(&all[i], &all[end]); end++) {
            nth = end > i && all[end - 1].rank == all[end].rank ? nth + 1 : 0;
            all[end].nth = nth;
            bool last = end + 1 == n || by_kind(&all[i], &all[end + 1]) ||
                        all[end + 1].rank != all[end].rank;
            if (last && nth < least) least = nth;
            if (last && nth > largest) largest = nth;
        }
        for (int k = i; least == largest && k < end; k++) all[kept++] = all[k];
    }
    return kept;
}

static bool find_meetings(gp_job *job) {
    size_t capacity = 1;
    for (int r = 0; r < job->n; r++) capacity += (size_t)job->rank[r]->ncommands;
    part *all = malloc(capacity * sizeof *all);
    job->meeting = malloc(capacity * sizeof *job->meeting);
    if (!all || !job->meeting) return free(all), false;
    int n = job->rank[0]->p->unpaired ? 0 : number(all, gather(job, all));
    gp_sort(all, (size_t)n, sizeof *all, by_number);
    for (int i = 0; i < n; i++) {
        bool first = !i || by_kind(&all[i - 1], &all[i]) || all[i - 1].nth != all[i].nth;
        if (first) job->meeting[job->nmeetings++] = (gp_rank_meeting){0};
        gp_rank_meeting *m = &job->meeting[job->nmeetings - 1];
        m->ranks++;
        gp_command *c = all[i].command;
        if (m->ranks == 1 || c->rec->t0 > m->begun)
            m->by = all[i].rank, m->command = (int)(c - job->rank[m->by]->command);
        m->begun = most(m->begun, c->rec->t0);
        m->ended = most(m->ended, all[i].command->end);
        all[i].command->meeting = job->nmeetings - 1;
    }
    for (int i = 0; i < n; i++) all[i].command->met = job->meeting[all[i].command->meeting].begun;
    free(all);
    return true;
}

/* ---- timelines ---- */

static bool add_rank(gp_job *job, const gp_prof *p, int rank, uint64_t others) {
    gp_timeline **more = realloc(job->rank, ((size_t)job->n + 1) * sizeof *more);
    if (more) job->rank = more;
    if (!more || !(more[job->n] = gp_timeline_of_rank(p, rank, others))) return false;
    job->n++;
    return true;
}

/* A rank on the record: when its last event ended, and whether there are some of its host. */
typedef struct recorded {
    int rank;
    bool host;
    uint64_t end;
} recorded;

/* Adds those of the tracks that are not in the list; false when out of memory. */
static bool list_ranks(const gp_prof *p, const gp_track *tracks, recorded **list, int *n) {
    for (const gp_track *t = tracks; t; t = t->next) {
        int i = 0;
        while (i < *n && (*list)[i].rank != t->rank) i++;
        if (i < *n) continue;
        recorded *more = realloc(*list, ((size_t)*n + 1) * sizeof *more);
        if (!more) return false;
        *list = more;
        uint64_t host = gp_last_end(p, p->host, t->rank);
        uint64_t device = gp_last_end(p, p->workers, t->rank);
        more[(*n)++] = (recorded){t->rank, tracks == p->host, most(host, device)};
    }
    return true;
}

/* Adds the ranks of a job, or that one of them; -1: all. */
static bool add_ranks(gp_job *job, const gp_prof *p, int rank) {
    int n = 0;
    recorded *list = NULL;
    bool ok = list_ranks(p, p->host, &list, &n) && list_ranks(p, p->workers, &list, &n);
    for (int i = 0; ok && i < n; i++) {
        uint64_t others = p->t0;
        if (!list[i].host || (rank >= 0 && list[i].rank != rank)) continue;
        for (int k = 0; k < n; k++)
            if (k != i) others = most(others, list[k].end);
        ok = add_rank(job, p, list[i].rank, others);
    }
    free(list);
    return ok;
}

gp_job *gp_job_new(const gp_prof *p) {
    gp_job *job = calloc(1, sizeof *job);
    bool ok = job != NULL;
    ok = ok && (p->ranks <= 1 ? add_rank(job, p, -1, p->t0) : add_ranks(job, p, -1));
    ok = ok && (p->ranks <= 1 || find_meetings(job));
    if (!ok) return gp_job_free(job), gp_prof_fail("profile"), NULL;
    return job;
}

gp_job *gp_job_of_rank(const gp_prof *p, int rank, const char *what) {
    bool found = p->ranks <= 1 && rank == p->rank;
    for (const gp_track *t = p->host; p->ranks > 1 && t; t = t->next)
        found = found || t->rank == rank;
    if (!found) return gp_fail_null("%s: rank: no event of rank %d is on the record", what, rank);
    gp_job *job = calloc(1, sizeof *job);
    if (job && (p->ranks > 1 ? add_ranks(job, p, rank) : add_rank(job, p, -1, p->t0))) return job;
    gp_job_free(job);
    return gp_prof_fail("profile"), NULL;
}

void gp_job_free(gp_job *job) {
    if (!job) return;
    for (int i = 0; i < job->n; i++) gp_timeline_free(job->rank[i]);
    free(job->rank);
    free(job->meeting);
    free(job);
}

/* ---- times ---- */

typedef struct runner {
    gp_rank_replay *replay;
    int met; /* its command that waits for others; -1 */
    bool over;
} runner;

/* From the last rank's begin to the end of a rank's part; below 0 where clocks are apart. */
static int64_t own_time(const gp_timeline *t, const gp_whatif *w, const gp_command *c,
                        const gp_rank_meeting *m) {
    uint64_t ns;
    double by = gp_whatif_factor(w, c->rec);
    bool other = w->network && gp_network_time(w->network, t->p, c, &ns);
    int64_t took = other ? (int64_t)ns : (int64_t)(c->end - m->begun);
    return by == 1 ? took : (int64_t)llround((double)took * by);
}

/* Runs a rank as far as it goes; *moved: it has gone on. */
static bool go_on(gp_job *job, const gp_whatif *w, int i, runner *x, const gp_replay_timings *r,
                  bool *moved) {
    const gp_timeline *t = job->rank[i];
    while (!x->over) {
        if (x->met >= 0) {
            const gp_command *c = &t->command[x->met];
            const gp_rank_meeting *m = &job->meeting[c->meeting];
            if (m->come < m->ranks) return true;
            int64_t end = (int64_t)m->last + own_time(t, w, c, m),
                    start = (int64_t)r->start[x->met];
            gp_rank_replay_meet(x->replay, (uint64_t)(end > start ? end : start));
        }
        if (!gp_rank_replay_run(x->replay, &x->met)) return false;
        *moved = true;
        x->over = x->met < 0;
        if (x->over) break;
        gp_rank_meeting *m = &job->meeting[t->command[x->met].meeting];
        m->come++;
        m->last = most(m->last, r->start[x->met]);
    }
    return true;
}

bool gp_job_fail_orders(void) {
    return gp_fail("profile: the ranks have called their collectives in different orders: a replay "
                   "of them together does not end");
}

static bool run_all(gp_job *job, const gp_whatif *w, runner *x, const gp_replay_timings *r) {
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < job->n; i++)
            if (!go_on(job, w, i, &x[i], &r[i], &moved)) return false;
    }
    for (int i = 0; i < job->n; i++)
        if (!x[i].over) job->tangled = true;
    return !job->tangled || gp_job_fail_orders();
}

bool gp_job_times(gp_job *job, const gp_whatif *w, gp_replay_timings *r) {
    if (job->n > 1 && w->card)
        return gp_fail("profile: a card takes one rank's profile, and this one is of %d: load one "
                       "file, and give ranks and network",
                       job->n);
    runner *x = calloc((size_t)job->n, sizeof *x);
    bool ok = x != NULL;
    job->tangled = false;
    for (int i = 0; i < job->nmeetings; i++) job->meeting[i].come = 0, job->meeting[i].last = 0;
    for (int i = 0; ok && i < job->n; i++) {
        x[i].met = -1;
        ok = (x[i].replay = gp_rank_replay_new(job->rank[i], w, &r[i])) != NULL;
    }
    ok = ok && run_all(job, w, x, r);
    for (int i = 0; x && i < job->n; i++) gp_rank_replay_free(x[i].replay);
    if (!x) gp_fail("profile: out of memory");
    free(x);
    return ok;
}
