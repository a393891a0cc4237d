/* Follows a record backwards from its end: whatever ended last before something went on. */
#include "profile/replay/path.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH = 256 };

typedef struct span {
    uint64_t from, to;
} span;

typedef struct follower {
    const gp_timeline *t;
    bool by_line; /* commands count for the lines that queued them */
    uint64_t at;  /* what comes after it is on the path already */
    int step;     /* the host's last step before it */
    gp_path_part *part;
    int n, room;
    span *host; /* the host's parts, the last first */
    int nhost, host_room;
    bool ok;
} follower;

static uint64_t most(uint64_t a, uint64_t b) { return a > b ? a : b; }
static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Makes room for one more of size bytes. */
static bool grow(void **list, int n, int *room, size_t size) {
    if (n < *room) return true;
    int more = *room ? 2 * *room : 256;
    void *to = realloc(*list, (size_t)more * size);
    if (!to) return false;
    *list = to, *room = more;
    return true;
}

static void add(follower *f, gp_path_kind kind, const gp_rec *rec, uint64_t ns) {
    void *list = f->part;
    if (!ns || !f->ok) return;
    f->ok = grow(&list, f->n, &f->room, sizeof *f->part);
    f->part = list;
    if (f->ok) f->part[f->n++] = (gp_path_part){kind, rec, ns, 1};
}

/* What lies between t and the path so far is rec's. */
static void back_to(follower *f, uint64_t t, gp_path_kind kind, const gp_rec *rec) {
    if (t >= f->at) return;
    add(f, kind, rec, f->at - t);
    f->at = t;
}

/* The same for the host, whose ops are looked up at the end. */
static void host_back_to(follower *f, uint64_t t) {
    void *list = f->host;
    if (t >= f->at || !f->ok) return;
    f->ok = grow(&list, f->nhost, &f->host_room, sizeof *f->host);
    f->host = list;
    if (f->ok) f->host[f->nhost++] = (span){t, f->at};
    f->at = t;
}

/* The host, from f->at back to a wait that a command ended; returns that command, -1: to the
 * start. */
static int follow_host(follower *f) {
    const gp_timeline *t = f->t;
    for (; f->step >= 0; f->step--) {
        const gp_step_at *s = &t->step[f->step];
        if ((s->kind != GP_STEP_WAIT && s->kind != GP_STEP_TAKE) || s->t >= f->at) continue;
        host_back_to(f, s->t1);
        if (s->kind == GP_STEP_TAKE) {
            back_to(f, s->t, GP_PATH_LOADER, s->rec);
            continue;
        }
        const gp_command *c = s->command < 0 ? NULL : &t->command[s->command];
        bool waited = c && c->end > s->t;
        back_to(f, waited ? most(s->t, least(c->end, s->t1)) : s->t, GP_PATH_WAIT, s->rec);
        if (waited) return f->step--, s->command;
    }
    host_back_to(f, t->p->t0);
    return -1;
}

/* Command i, and what it waited for: another command, or -1, the host. */
static int follow_command(follower *f, int i) {
    const gp_command *c = &f->t->command[i];
    const gp_rec *rec = f->by_line && c->host ? c->host : c->rec;
    back_to(f, c->rec->t0, GP_PATH_DEVICE, rec);
    int next = c->gate == GP_GATE_STREAM ? c->previous : c->gate == GP_GATE_ORDER ? c->after : -1;
    back_to(f, next < 0 ? c->launch : f->t->command[next].end, GP_PATH_LATENCY, rec);
    return next;
}

/* The command that ended last; -1: the host did. */
static int ended_last(const gp_timeline *t) {
    int last = -1;
    for (int i = 0; i < t->ncommands; i++)
        if (t->command[i].end > (last < 0 ? t->p->done : t->command[last].end)) last = i;
    return t->p->t1 > t->p->done ? last : -1;
}

static void follow(follower *f) {
    int i = ended_last(f->t);
    f->at = f->t->p->t1;
    f->step = f->t->nsteps - 1;
    back_to(f, i < 0 ? f->t->p->done : f->t->command[i].end, GP_PATH_WAIT, NULL);
    while (f->ok && f->at > f->t->p->t0) {
        if (i >= 0) i = follow_command(f, i);
        else if ((i = follow_host(f)) < 0) break;
    }
}

/* ---- the host's parts by op ---- */

/* Adds what [from, to) has in common with the host's parts; the spans' end moves on with it. */
static void charge(follower *f, const gp_rec *op, uint64_t from, uint64_t to) {
    while (f->nhost && f->host[f->nhost - 1].to <= from) f->nhost--;
    for (int i = f->nhost - 1; i >= 0 && f->host[i].from < to; i--) {
        uint64_t a = most(from, f->host[i].from), b = least(to, f->host[i].to);
        if (a < b) add(f, op ? GP_PATH_HOST : GP_PATH_SCRIPT, op, b - a);
    }
}

static void name_host(follower *f) {
    const gp_prof *p = f->t->p;
    const gp_rec *open[DEPTH];
    int depth = 0;
    uint64_t last = p->t0;
    for (int i = 0; i <= f->t->nhost; i++) { /* the last round is the end's */
        const gp_rec *r = i < f->t->nhost ? f->t->host[i] : NULL;
        if (r && (r->kind != GP_REC_OP || r->t0 > p->done)) continue;
        uint64_t until = r ? r->t0 : p->done;
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

static int by_ns(const void *a, const void *b) {
    const gp_path_part *x = a, *y = b;
    return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : by_op(a, b);
}

static int merge(gp_path_part *part, int n, int (*compare)(const void *, const void *)) {
    int kept = 0;
    qsort(part, (size_t)n, sizeof *part, compare);
    for (int i = 0; i < n; i++) {
        if (kept && !compare(&part[kept - 1], &part[i]))
            part[kept - 1].ns += part[i].ns, part[kept - 1].times += part[i].times;
        else part[kept++] = part[i];
    }
    qsort(part, (size_t)kept, sizeof *part, by_ns);
    return kept;
}

gp_path_part *gp_critical_path(const gp_timeline *t, bool by_line, int *n) {
    follower f = {.t = t, .by_line = by_line, .ok = true};
    follow(&f);
    name_host(&f);
    free(f.host);
    if (!f.ok || (!f.part && !(f.part = malloc(sizeof *f.part)))) {
        free(f.part);
        return gp_fail_null("profile: out of memory");
    }
    *n = merge(f.part, f.n, by_line ? by_line_of : by_op);
    return f.part;
}
