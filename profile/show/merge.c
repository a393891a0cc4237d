/* A shorter record for traces: short events merged, waits and regions kept. Consecutive events of
 * one thread or stream become one, with their sum of time and number; an event that holds a wait or
 * a region is never merged. Levels of memory keep their highest value, so that the peak stays
 * right. */
#include "profile/show/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/base/error.h"

enum { NAMES = 6, DEPTH = 256 };

/* Events that become one. */
typedef struct group {
    const void *where; /* a device's: its stream */
    gp_rec rec;        /* the first one */
    uint64_t end;      /* of the last one */
    int n, names, other;
    struct {
        const char *name;
        int n;
    } name[NAMES];
} group;

/* A device's last changes of memory: how many, and the highest. */
typedef struct level {
    gp_rec rec;
    int n;
} level;

typedef struct merger {
    const gp_prof *p;
    gp_prof *to;
    gp_track *track;
    int most;
    gp_merged *what;
    bool ok;
    group host, *streams; /* of the present track */
    int nstreams;
    level *levels; /* by device's slot: a loaded profile has more than GP_MAX_DEVICES */
    int nlevels;
} merger;

static void add(merger *m, const gp_rec *r) {
    gp_rec *to = gp_track_append(m->track);
    if (to) *to = *r, to->id = r->kind == GP_REC_ALLOC ? r->id : 0;
    else m->ok = false;
}

/* ---- groups ---- */

static void name_of(const group *g, char *buf, size_t n) {
    size_t at = (size_t)snprintf(buf, n, "%d merged:", g->n);
    for (int i = 0; i < g->names && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, "%s %.40s %d", i ? "," : "", g->name[i].name,
                               g->name[i].n);
    if (g->other && at < n) snprintf(buf + at, n - at, ", others %d", g->other);
}

/* Adds what a group has become, and empties it. */
static void flush(merger *m, group *g) {
    char name[400];
    gp_rec r = g->rec;
    if (g->n > 1) {
        name_of(g, name, sizeof name);
        r.name = gp_intern_add(m->to->names, name, strlen(name));
        r.t1 = g->end;
        r.inplace = r.failed = false;
        r.stack = NULL, r.shapes = NULL;
        m->what->events += (uint64_t)g->n, m->what->slices++;
        if (!r.name) m->ok = false;
    }
    if (g->n && m->ok) add(m, &r);
    g->n = g->names = g->other = 0;
}

static void note_name(group *g, const char *name) {
    int i = 0;
    while (i < g->names && g->name[i].name != name) i++;
    if (i == NAMES) {
        g->other++;
        return;
    }
    if (i == g->names) g->name[g->names++].n = 0, g->name[i].name = name;
    g->name[i].n++;
}

static void join(merger *m, group *g, const gp_rec *r, const char *name) {
    if (g->n == m->most) flush(m, g);
    if (!g->n) g->rec = *r;
    else if (r->kind == GP_REC_MOVED && g->rec.kind == GP_REC_MOVED) g->rec.bytes += r->bytes;
    g->n++;
    g->end = gp_rec_end(m->p, r);
    note_name(g, name);
}

/* ---- memory ---- */

static void flush_level(merger *m, level *l) {
    if (l->n) add(m, &l->rec);
    l->n = 0;
}

/* The level of that device; NULL when out of memory. */
static level *level_of(merger *m, int slot) {
    if (slot >= m->nlevels) {
        level *more = realloc(m->levels, (size_t)(slot + 1) * sizeof *more);
        if (!more) return m->ok = false, NULL;
        memset(more + m->nlevels, 0, (size_t)(slot + 1 - m->nlevels) * sizeof *more);
        m->levels = more;
        m->nlevels = slot + 1;
    }
    return &m->levels[slot];
}

static void keep_level(merger *m, const gp_rec *r) {
    level *l = level_of(m, ((const gp_device *)r->where)->slot);
    if (!l) return;
    if (l->n == m->most) flush_level(m, l);
    if (!l->n || r->id > l->rec.id) l->rec = *r;
    else m->what->events++;
    l->n++;
}

/* ---- the host ---- */

static bool is_kept(const gp_rec *r) { return r->kind == GP_REC_WAIT || r->kind == GP_REC_REGION; }
static bool is_slice(const gp_rec *r) {
    return r->kind == GP_REC_OP || r->kind == GP_REC_COPY || r->kind == GP_REC_CALL;
}

/* Marks, by their number on the track, the waits and regions and the events that hold one. */
static void mark(const gp_prof *p, const gp_track *t, bool *kept) {
    struct {
        uint64_t end;
        int n;
    } open[DEPTH];
    int depth = 0, n = 0;
    gp_cursor at = gp_first(t);
    for (gp_rec *r; (r = gp_next(&at)); n++) {
        while (depth && open[depth - 1].end <= r->t0) depth--;
        kept[n] = is_kept(r);
        for (int i = depth - 1; kept[n] && i >= 0; i--) kept[open[i].n] = true;
        if (!is_slice(r) || depth == DEPTH) continue;
        open[depth].end = gp_rec_end(p, r);
        open[depth++].n = n;
    }
}

/* Merges a thread's events; what is within a merged one goes with it. */
static void merge_host(merger *m, const gp_track *t, const bool *kept) {
    uint64_t within = 0, until[DEPTH]; /* the end of the last merged one; of the kept ones around */
    int depth = 0, n = 0;
    gp_cursor at = gp_first(t);
    for (gp_rec *r; m->ok && (r = gp_next(&at)); n++) {
        if (gp_prof_stops((uint64_t)n)) m->ok = false;
        uint64_t end = gp_rec_end(m->p, r);
        if (r->kind == GP_REC_ALLOC) keep_level(m, r);
        if (!is_slice(r) && !kept[n]) continue;
        for (; depth && until[depth - 1] <= r->t0; depth--) flush(m, &m->host);
        if (kept[n]) {
            flush(m, &m->host);
            add(m, r);
            if (depth < DEPTH) until[depth++] = end;
        } else if (r->t0 >= within) {
            join(m, &m->host, r, r->name);
            within = end;
        } else {
            m->what->events++;
        }
    }
    flush(m, &m->host);
}

/* ---- devices ---- */

/* The group of a stream; NULL when out of memory. */
static group *of_stream(merger *m, const void *where) {
    for (int i = 0; i < m->nstreams; i++)
        if (m->streams[i].where == where) return &m->streams[i];
    group *more = realloc(m->streams, (size_t)(m->nstreams + 1) * sizeof *more);
    if (!more) return m->ok = false, NULL;
    m->streams = more;
    more[m->nstreams] = (group){.where = where};
    return &more[m->nstreams++];
}

static void merge_device(merger *m, const gp_track *t) {
    gp_cursor at = gp_first(t);
    for (gp_rec *r; m->ok && (r = gp_next(&at));) {
        if (r->kind == GP_REC_HELD) add(m, r);
        if (r->kind == GP_REC_ALLOC) keep_level(m, r);
        if (r->kind != GP_REC_KERNEL && r->kind != GP_REC_MOVED) continue;
        group *g = of_stream(m, r->where);
        if (!g) break;
        if (g->n && r->t0 < g->end) flush(m, g); /* not one after the other */
        join(m, g, r, r->name);
        if (g->n > 1 && g->rec.kind == GP_REC_KERNEL) g->rec.kernel = NULL;
    }
    for (int i = 0; i < m->nstreams; i++) flush(m, &m->streams[i]);
    m->nstreams = 0;
}

/* ---- the record ---- */

static bool is_any(const gp_rec *r) { return r != NULL; }

/* Adds t's events to the track that is new; false when out of memory. */
static bool merge_track(merger *m, const gp_track *t, gp_track *track) {
    bool *kept = track ? calloc((size_t)gp_count_recs(t, is_any) + 1, sizeof *kept) : NULL;
    if (!kept) return false;
    m->track = track;
    track->name = t->name;
    track->rank = t->rank;
    if (!t->worker) mark(m->p, t, kept), merge_host(m, t, kept);
    else merge_device(m, t);
    for (int i = 0; i < m->nlevels; i++) flush_level(m, &m->levels[i]);
    free(kept);
    return m->ok;
}

static bool merge_all(merger *m) {
    const gp_track *t = m->p->host;
    bool ok = merge_track(m, t, m->to->host);
    while (ok && (t = t->next)) ok = merge_track(m, t, gp_prof_add_host(m->to));
    for (t = m->p->workers; ok && t; t = t->next) ok = merge_track(m, t, gp_prof_add_worker(m->to));
    return ok;
}

gp_prof *gp_prof_merge(const gp_prof *p, int most, gp_merged *what) {
    gp_prof_opts opts = p->opts;
    opts.limit = UINT64_MAX / 2;
    merger *m = calloc(1, sizeof *m);
    gp_prof *to = m ? gp_prof_new(&opts) : NULL;
    if (to) {
        to->t0 = p->t0, to->done = p->done, to->t1 = p->t1;
        to->dropped = p->dropped, to->lost = p->lost;
        to->ranks = p->ranks, to->foreign = p->foreign;
        to->predicted = p->predicted, to->accuracy = p->accuracy;
        to->modelled = p->modelled, to->at_least = p->at_least;
        *what = (gp_merged){0};
        *m = (merger){.p = p, .to = to, .most = most, .what = what, .ok = true};
        if (!merge_all(m)) gp_prof_free(to), to = NULL;
        free(m->streams);
        free(m->levels);
    }
    free(m);
    if (!to) gp_prof_fail("profile.trace");
    return to;
}
