/* The critical path: follows a record backwards from its end, at each step to whatever ended last
 * before something went on: a command to the one that it waited for or to its launch, the host's
 * wait to the command that ended it, a collective to the rank that came last. The host's stretches
 * are divided by op at the end. The parts add up to the wall time. */
#include "profile/replay/path.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/base/sort.h"

enum { DEPTH = 256 };

typedef struct span {
    uint64_t from, to;
} span;

/* A rank's part of the path so far. */
typedef struct side {
    int step;   /* the host's last step before the path */
    span *host; /* the host's parts, the last first */
    int nhost, capacity;
} side;

typedef struct follower {
    const gp_job *job;
    bool by_line;         /* commands count for the lines that queued them */
    uint64_t at;          /* what comes after it is on the path already */
    int rank;             /* where it has come to: a place in the job, */
    const gp_timeline *t; /* and that rank's timeline */
    side *side;           /* by rank */
    gp_path_part *part;
    int n, capacity;
    bool ok;
} follower;

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Makes room for one more of size bytes. */
static bool grow(void **list, int n, int *capacity, size_t size) {
    if (n < *capacity) return true;
    int more = *capacity ? 2 * *capacity : 256;
    void *to = realloc(*list, (size_t)more * size);
    if (!to) return false;
    *list = to, *capacity = more;
    return true;
}

static void add(follower *f, gp_path_kind kind, const gp_rec *rec, uint64_t ns) {
    void *list = f->part;
    if (!ns || !f->ok) return;
    f->ok = grow(&list, f->n, &f->capacity, sizeof *f->part);
    f->part = list;
    if (f->ok) f->part[f->n++] = (gp_path_part){kind, f->rank, rec, ns, 1};
}

/* What lies between t and the path so far is rec's. */
static void back_to(follower *f, uint64_t t, gp_path_kind kind, const gp_rec *rec) {
    if (t >= f->at) return;
    add(f, kind, rec, f->at - t);
    f->at = t;
}

/* The same for the host, whose ops are looked up at the end. */
static void host_back_to(follower *f, uint64_t t) {
    side *s = &f->side[f->rank];
    void *list = s->host;
    if (t >= f->at || !f->ok) return;
    f->ok = grow(&list, s->nhost, &s->capacity, sizeof *s->host);
    s->host = list;
    if (f->ok) s->host[s->nhost++] = (span){t, f->at};
    f->at = t;
}

/* The host, from f->at back to a wait that a command ended; returns that command, -1: to the
 * start. */
static int follow_host(follower *f) {
    const gp_timeline *t = f->t;
    int *step = &f->side[f->rank].step;
    for (; *step >= 0; --*step) {
        const gp_step_at *s = &t->step[*step];
        if ((s->kind != GP_STEP_WAIT && s->kind != GP_STEP_TAKE) || s->t >= f->at) continue;
        host_back_to(f, s->t1);
        if (s->kind == GP_STEP_TAKE) {
            back_to(f, s->t, GP_PATH_LOADER, s->rec);
            continue;
        }
        const gp_command *c = s->command < 0 ? NULL : &t->command[s->command];
        bool waited = c && c->end > s->t;
        back_to(f, waited ? most(s->t, least(c->end, s->t1)) : s->t, GP_PATH_WAIT, s->rec);
        if (waited) return --*step, s->command;
    }
    host_back_to(f, t->p->t0);
    return -1;
}

static void go_to_rank(follower *f, int rank) { f->rank = rank, f->t = f->job->rank[rank]; }

/* Command i, and what it waited for: another command, or -1, the host. A collective waited for the
 * rank that came last. */
static int follow_command(follower *f, int i) {
    const gp_command *c = &f->t->command[i];
    const gp_rec *rec = f->by_line && c->host ? c->host : c->rec;
    if (c->meeting >= 0) {
        const gp_rank_meeting *m = &f->job->meeting[c->meeting];
        back_to(f, most(m->begun, c->rec->t0), GP_PATH_DEVICE, rec);
        go_to_rank(f, m->by);
        c = &f->t->command[m->command];
    }
    back_to(f, c->rec->t0, GP_PATH_DEVICE, rec);
    int next = c->gate == GP_GATE_STREAM ? c->previous : c->gate == GP_GATE_ORDER ? c->after : -1;
    back_to(f, next < 0 ? c->launch : f->t->command[next].end, GP_PATH_LATENCY, rec);
    return next;
}

/* The command that ended last; -1: the host did. */
static int ended_last(const gp_timeline *t) {
    int last = -1;
    for (int i = 0; i < t->ncommands; i++)
        if (t->command[i].end > (last < 0 ? t->done : t->command[last].end)) last = i;
    return t->t1 > t->done ? last : -1;
}

const gp_timeline *gp_job_last(const gp_job *job) {
    const gp_timeline *last = job->rank[0];
    for (int i = 1; i < job->n; i++)
        if (job->rank[i]->t1 > last->t1) last = job->rank[i];
    return last;
}

uint64_t gp_job_end(const gp_job *job) { return gp_job_last(job)->t1; }

/* False with a message where the path comes to a command again, or out of memory. */
static bool follow(follower *f) {
    size_t left = 1;
    for (int i = 0; i < f->job->n; i++) left += (size_t)f->job->rank[i]->ncommands;
    f->at = gp_job_end(f->job);
    for (int i = f->job->n - 1; i >= 0; i--) {
        f->side[i].step = f->job->rank[i]->nsteps - 1;
        if (f->job->rank[i]->t1 == f->at) go_to_rank(f, i);
    }
    int i = ended_last(f->t);
    back_to(f, i < 0 ? f->t->done : f->t->command[i].end, GP_PATH_WAIT, NULL);
    while (f->ok && f->at > f->t->p->t0) {
        if (i >= 0 && !left--) return gp_job_fail_orders();
        if (i >= 0) i = follow_command(f, i);
        else if ((i = follow_host(f)) < 0) break;
    }
    return f->ok || gp_fail("profile: out of memory");
}

/* ---- the host's parts by op ---- */

/* Adds what [from, to) has in common with the host's parts; the spans' end moves on with it. op: or
 * a loader's request, or NULL. */
static void charge(follower *f, const gp_rec *op, uint64_t from, uint64_t to) {
    side *s = &f->side[f->rank];
    gp_path_kind kind = !op                     ? GP_PATH_SCRIPT
                        : op->kind == GP_REC_OP ? GP_PATH_HOST
                                                : GP_PATH_LOADER;
    while (s->nhost && s->host[s->nhost - 1].to <= from) s->nhost--;
    for (int i = s->nhost - 1; i >= 0 && s->host[i].from < to; i--) {
        uint64_t a = most(from, s->host[i].from), b = least(to, s->host[i].to);
        if (a < b) add(f, kind, op, b - a);
    }
}

/* Of the rank that f is at. */
static void name_host(follower *f) {
    const gp_prof *p = f->t->p;
    const gp_rec *open[DEPTH];
    int depth = 0;
    uint64_t last = p->t0;
    for (int i = 0; i <= f->t->nhost; i++) { /* the last round is the end's */
        const gp_rec *r = i < f->t->nhost ? f->t->host[i] : NULL;
        bool loads = r && (gp_is_batch_request(r) || gp_is_made(r));
        bool counts = loads || (r && r->kind == GP_REC_OP);
        if (r && (!counts || r->t0 > f->t->done)) continue;
        uint64_t until = r ? r->t0 : f->t->done;
        while (depth && gp_rec_end(p, open[depth - 1]) <= until) {
            uint64_t end = most(last, gp_rec_end(p, open[depth - 1]));
            charge(f, open[--depth], last, end);
            last = end;
        }
        charge(f, depth ? open[depth - 1] : NULL, last, until);
        last = most(last, until);
        if (r && depth < DEPTH) open[depth++] = r;
    }
}

/* ---- merging ---- */

static int by_op(const void *a, const void *b) {
    const gp_path_part *x = a, *y = b;
    const char *p = x->rec ? x->rec->name : "", *q = y->rec ? y->rec->name : "";
    return x->kind != y->kind ? (int)x->kind - (int)y->kind : strcmp(p, q);
}

static int by_line_of(const void *a, const void *b) {
    const gp_path_part *x = a, *y = b;
    const char *p = x->rec && x->rec->file ? x->rec->file : "";
    const char *q = y->rec && y->rec->file ? y->rec->file : "";
    int order = strcmp(p, q);
    if (order || !x->rec || !y->rec) return order;
    return x->rec->line < y->rec->line ? -1 : x->rec->line > y->rec->line;
}

static int by_rank(const void *a, const void *b) {
    return ((const gp_path_part *)a)->rank - ((const gp_path_part *)b)->rank;
}

static int by_ns(const void *a, const void *b) {
    const gp_path_part *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : by_op(a, b);
}

static int merge(gp_path_part *part, int n, int (*compare)(const void *, const void *)) {
    int kept = 0;
    gp_sort(part, (size_t)n, sizeof *part, compare);
    for (int i = 0; i < n; i++) {
        if (kept && !compare(&part[kept - 1], &part[i]))
            part[kept - 1].ns += part[i].ns, part[kept - 1].times += part[i].times;
        else part[kept++] = part[i];
    }
    gp_sort(part, (size_t)kept, sizeof *part, by_ns);
    return kept;
}

gp_path_part *gp_critical_path(const gp_job *job, gp_path_by by, int *n) {
    static int (*const order[])(const void *, const void *) = {by_op, by_line_of, by_rank};
    follower f = {.job = job, .by_line = by == GP_PATH_BY_LINE, .ok = true};
    f.side = calloc((size_t)job->n, sizeof *f.side);
    f.part = malloc(sizeof *f.part);
    f.capacity = 1;
    f.ok = f.side && f.part;
    bool ok = f.ok ? follow(&f) : gp_fail("profile: out of memory");
    for (int i = 0; f.side && i < job->n; i++) {
        go_to_rank(&f, i);
        if (ok) name_host(&f);
        free(f.side[i].host);
    }
    free(f.side);
    ok = ok && (f.ok || gp_fail("profile: out of memory"));
    if (!ok) return free(f.part), NULL;
    *n = merge(f.part, f.n, order[by]);
    return f.part;
}
