/* Makes a profile of a replay: the record's events at their new times. The host's events move with
 * the clock of their thread; waits that the replay left out are dropped; commands take the start
 * and end that the replay gave them, in the order of their starts. So all that shows a profile
 * shows a prediction, which carries in `predicted` what was changed and in `accuracy` how far off
 * such predictions were. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/record/kind.h"
#include "profile/replay/job.h"
#include "profile/replay/on_card.h"
#include "tensor/device/card/model.h"
#include "tensor/base/sort.h"

typedef struct maker {
    const gp_timeline *t;
    const gp_whatif *w;
    const gp_replay_timings *r;
    gp_prof *to;
    struct pair {
        const gp_rec *was;
        gp_rec *is;
    } * region; /* in the order of their start */
    int nregions, capacity;
    bool began; /* a track of the host has been copied */
} maker;

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* ---- events of the host ---- */

/* The copy of a region; the one looked for began lately. NULL: none. */
static gp_rec *copied(const maker *m, const gp_rec *region) {
    for (int i = m->nregions - 1; region && i >= 0; i--)
        if (m->region[i].was == region) return m->region[i].is;
    return NULL;
}

static bool keep_region(maker *m, const gp_rec *was, gp_rec *is) {
    if (m->nregions == m->capacity) {
        int capacity = m->capacity ? 2 * m->capacity : 64;
        struct pair *more = realloc(m->region, (size_t)capacity * sizeof *more);
        if (!more) return false;
        m->region = more, m->capacity = capacity;
    }
    m->region[m->nregions++] = (struct pair){was, is};
    return true;
}

static gp_rec *add(gp_track *t, const gp_rec *r) {
    gp_rec *to = gp_track_append(t);
    if (to) *to = *r;
    return to;
}

/* A wait that is left out; a call that waited for what it queued itself still queues that. */
static void stop_waiting(gp_rec *r) {
    r->kind = GP_REC_CALL;
    r->why = 0, r->where = NULL, r->bytes = 0;
}

/* What time t of the host's track number `track` has become. Threads of a loaded trace take turns;
 * of an own record, others go their own way. */
static uint64_t moved(const maker *m, int track, uint64_t t) {
    bool own = track && !m->t->p->foreign;
    return own ? gp_loader_time(m->t, m->r, track, t) : gp_replay_timings_host(m->r, t);
}

/* The copy of event r of the host, whose times the caller sets. */
static gp_rec *add_host(maker *m, gp_track *track, const gp_rec *r) {
    gp_rec *to = add(track, r);
    if (!to) return NULL;
    if (r->kind == GP_REC_REGION || r->kind == GP_REC_SWITCH) to->where = copied(m, r->where);
    return r->kind != GP_REC_REGION || keep_region(m, r, to) ? to : NULL;
}

/* Whether r is of a part of a batch: of the first of the track's from *part on that does not end
 * before it. */
static bool in_part(const gp_timeline *t, int *part, int track, const gp_rec *r) {
    const gp_made *m = &t->made[*part];
    while (*part < t->nmade &&
           (m->track < track || (m->track == track && gp_rec_end(t->p, m->rec) <= r->t0)))
        m = &t->made[++*part];
    return *part < t->nmade && m->track == track && m->rec->t0 <= r->t0;
}

static bool copy_thread(maker *m, const gp_track *from, gp_track *track, int number) {
    gp_cursor at = gp_first(from);
    int part = 0;
    track->name = from->name, track->rank = from->rank;
    for (gp_rec *r; (r = gp_next(&at));) {
        if (m->w->workers && in_part(m->t, &part, number, r)) continue;
        bool dropped = r->kind == GP_REC_WAIT && gp_whatif_drops(m->w, r);
        if (dropped && !r->id) continue;
        gp_rec *to = add_host(m, track, r);
        if (!to) return false;
        if (dropped) stop_waiting(to);
        to->t0 = moved(m, number, r->t0);
        if (r->t1) to->t1 = moved(m, number, r->t1);
    }
    return true;
}

/* A part with its events, which take their share of its time. */
static bool copy_part(maker *m, gp_track *track, int i) {
    const gp_made *part = &m->t->made[i];
    uint64_t t0 = part->rec->t0, end = gp_rec_end(m->t->p, part->rec), start = m->r->made_start[i];
    double by = end > t0 ? (double)(m->r->made_end[i] - start) / (double)(end - t0) : 0;
    gp_rec *to = add_host(m, track, part->rec);
    if (!to) return false;
    to->t0 = start, to->t1 = m->r->made_end[i];
    to->computed = (uint64_t)((double)to->computed * by);
    if (part->here) to->where = NULL; /* a region of the thread that made it */
    gp_cursor at = part->inside;
    for (gp_rec *r; (r = gp_next(&at)) && r->t0 < end;) {
        if (!(to = add_host(m, track, r))) return false;
        to->t0 = start + (uint64_t)((double)(r->t0 - t0) * by + 0.5);
        if (r->t1) to->t1 = start + (uint64_t)((double)(least(r->t1, end) - t0) * by + 0.5);
    }
    return true;
}

/* Loaders' workers, where w says how many there are. What theirs recorded outside of parts of
 * batches is left out. */
static bool copy_workers(maker *m) {
    for (int by = 0; by < m->w->workers; by++) {
        gp_track *track = gp_prof_add_host(m->to);
        if (!track) return false;
        if (m->t->rank > 0) track->rank = m->t->rank;
        for (int i = 0; i < m->t->nmade; i++) {
            int part = (int)(m->t->batch[i] - m->t->made);
            if (m->r->made_by[part] == by && !copy_part(m, track, part)) return false;
        }
    }
    return true;
}

/* Whether a loader's worker has that track of the host. */
static bool is_worker(const gp_timeline *t, int track) {
    for (int i = 0; i < t->nmade; i++)
        if (t->made[i].track == track && !t->made[i].here) return true;
    return false;
}

static bool copy_host(maker *m) {
    const gp_prof *p = m->t->p;
    int number = 0;
    for (const gp_track *t = p->host; t; t = t->next, number++) {
        if (!gp_timeline_has(m->t, t) || (m->w->workers && is_worker(m->t, number))) continue;
        gp_track *to = m->began ? gp_prof_add_host(m->to) : m->to->host;
        m->began = true;
        if (!to || !copy_thread(m, t, to, number)) return false;
    }
    return copy_workers(m);
}

/* ---- devices ---- */

/* What devices' threads recorded beside commands happened in the host's time. */
static bool copy_others(maker *m, gp_track *to) {
    for (const gp_track *w = m->t->p->workers; w; w = w->next) {
        gp_cursor at = gp_first(w);
        for (gp_rec *r; gp_timeline_has(m->t, w) && (r = gp_next(&at));) {
            if (gp_rec_is_work(r)) continue;
            gp_rec *c = add(to, r);
            if (!c) return false;
            c->t0 = gp_replay_timings_host(m->r, r->t0);
            if (r->t1) c->t1 = gp_replay_timings_host(m->r, r->t1);
        }
    }
    return true;
}

typedef struct started {
    uint64_t at;
    int command;
} started;

static int by_start(const void *a, const void *b) {
    const started *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->command - y->command;
}

/* In the order of their start: copies beside kernels have overtaken some. */
static bool copy_commands(maker *m, gp_track **track) {
    int n = m->t->ncommands;
    started *order = malloc(((size_t)n + 1) * sizeof *order);
    bool ok = order != NULL;
    for (int i = 0; ok && i < n; i++) order[i] = (started){m->r->start[i], i};
    if (ok) gp_sort(order, (size_t)n, sizeof *order, by_start);
    for (int i = 0; ok && i < n; i++) {
        const gp_command *c = &m->t->command[order[i].command];
        gp_rec *r = add(track[c->stream], c->rec);
        if (!(ok = r != NULL)) break;
        r->t0 = order[i].at;
        r->t1 = m->r->end[order[i].command];
    }
    free(order);
    return ok;
}

/* A track for each stream, and one for the rest. */
static bool copy_devices(maker *m) {
    int n = m->t->nstreams + 1;
    gp_track **track = calloc((size_t)n, sizeof *track);
    bool ok = track != NULL;
    for (int i = 0; ok && i < n; i++)
        if ((ok = (track[i] = gp_prof_add_worker(m->to)) != NULL) && m->t->rank > 0)
            track[i]->rank = m->t->rank;
    ok = ok && copy_commands(m, track) && copy_others(m, track[n - 1]);
    free(track);
    return ok;
}

static bool has_stream(const gp_timeline *t, const gp_stream *s) {
    bool found = t->rank < 0;
    for (int i = 0; i < t->nstreams && !found; i++) found = t->stream[i] == s;
    return found;
}

static bool copy_orders(maker *m) {
    const gp_prof *p = m->t->p;
    for (int i = 0; i < p->norders; i++) {
        gp_stream_order order = p->orders[i];
        if (!has_stream(m->t, order.s)) continue;
        order.t = gp_replay_timings_host(m->r, order.t);
        if (!gp_prof_add_order(m->to, &order)) return false;
    }
    return true;
}

/* The ops of the record that nobody measured on the card: what it takes for them is a bound. Nobody
 * measured another program's, whose times are scaled where its own card is known. */
static bool note_bounds(gp_prof *to, const gp_timeline *t, const gp_whatif *w) {
    const gp_prof *p = t->p;
    char list[GP_BOUNDS_TEXT] = "";
    if (gp_on_card_scales(p) && gp_card_same(p->card, w->card)) return true;
    if (p->foreign && !p->card) return gp_prof_note_bounds(to, "another program's ops");
    if (p->foreign)
        return w->card_share == 1 || gp_prof_note_bounds(to, "ops whose cost is not known");
    for (const gp_track *host = p->host; host; host = host->next) {
        gp_cursor at = gp_first(host);
        for (const gp_rec *r; (r = gp_next(&at));)
            if (r->kind == GP_REC_OP && r->cost && gp_card_kernel(w->card, r->cost).at_least)
                gp_card_list(list, sizeof list, r->name);
    }
    for (int i = 0; i < t->ncommands;
         i++) { /* no card's are measured of one kind of memory alone */
        const gp_rec *r = t->command[i].rec;
        bool copy = r->kind == GP_REC_MOVED && gp_rec_direction(r) != GP_COPY_D2D;
        if (copy && gp_card_copy(w->card, (double)r->bytes, true, gp_rec_direction(r)).at_least)
            gp_card_list(list, sizeof list, "copy");
    }
    return gp_prof_note_bounds(to, list);
}

/* ---- how sure it is ---- */

/* The kinds of predictions from p that have been measured, of those: programs ran on sim alone,
 * which was no modelled card. */
static uint32_t measured_kinds(const gp_prof *p, uint32_t kinds) {
    uint32_t network = 1u << GP_ACCURACY_network, card = 1u << GP_ACCURACY_card, of = kinds;
    if (p->at_least && kinds & card) of = (kinds & ~card) | 1u << GP_ACCURACY_bound;
    uint32_t anywhere = network | (p->foreign ? 0 : card | 1u << GP_ACCURACY_bound);
    bool of_sim = !p->foreign && !p->modelled && gp_prof_has_sim(p);
    return of_sim || !(of & ~anywhere) ? of : (of & anywhere) | 1u << GP_ACCURACY_other;
}

static char *say_accuracy(const gp_prof *p, uint32_t kinds, char *buf, size_t n) {
    static const struct {
        int pairs;
        double median, decile;
    } measured[GP_ACCURACIES] = {
#define ACCURACY(kind, pairs, median, decile) {pairs, median, decile},
#include "profile/replay/accuracy.def"
    };
    int worst = -1;
    if (n) *buf = 0;
    if (p) kinds = measured_kinds(p, kinds);
    for (int i = 0; i < GP_ACCURACIES; i++) {
        if (!(kinds >> i & 1)) continue;
        bool known = worst < 0 || measured[worst].pairs;
        if (worst < 0 ||
            (known && (!measured[i].pairs || measured[i].decile > measured[worst].decile)))
            worst = i;
    }
    if (worst < 0) return buf;
    int pairs = measured[worst].pairs, of = pairs < 10 ? pairs : 10;
    if (!pairs) snprintf(buf, n, "no such prediction has been compared with a measurement");
    else
        snprintf(buf, n, "%d of %d %s within %.0f %%, docs/accuracy.md", of < 10 ? of : 9, of,
                 worst == GP_ACCURACY_card
                     ? "single ops' times on a card (no whole program's was compared) were"
                     : "such predictions were",
                 ceil(measured[worst].decile));
    return buf;
}

/* Adds that p was recorded on loaded processors; what is predicted from p has it on from there. */
static void add_loaded(const gp_prof *p, char *buf, size_t n) {
    size_t at = strlen(buf);
    if (!p || !p->starved || p->predicted) return;
    snprintf(buf + at, n - at,
             "%smeasured while the processors were loaded: for %.0f ms a thread had work but none, "
             "and what else ran there is in the times",
             at ? "; " : "", (double)p->starved * 1e-6);
}

char *gp_accuracy_text(const gp_prof *p, uint32_t kinds, char *buf, size_t n) {
    say_accuracy(p, kinds, buf, n);
    add_loaded(p, buf, n);
    return buf;
}

gp_accuracy gp_cause_accuracy(gp_cause cause) {
    switch (cause) {
    case GP_CAUSE_waits: return GP_ACCURACY_wait;
    case GP_CAUSE_loader: return GP_ACCURACY_workers;
    case GP_CAUSE_script: return GP_ACCURACY_host;
    default: return GP_ACCURACY_other;
    }
}

static uint32_t kinds_of(const gp_prof *to, const gp_whatif *w) {
    uint32_t kinds = 0;
    for (int i = 0; i < GP_CAUSES; i++)
        if (w->without_causes >> i & 1) kinds |= 1u << gp_cause_accuracy((gp_cause)i);
    if (w->without_whys || w->nwithout) kinds |= 1u << GP_ACCURACY_wait;
    if (w->host != 1) kinds |= 1u << GP_ACCURACY_host;
    if (w->overlap) kinds |= 1u << GP_ACCURACY_overlap;
    if (w->batch) kinds |= 1u << GP_ACCURACY_batch;
    if (w->workers) kinds |= 1u << GP_ACCURACY_workers;
    if (w->nscale) kinds |= 1u << GP_ACCURACY_scale;
    if (w->card) kinds |= 1u << GP_ACCURACY_card;
    if (w->network) kinds |= 1u << GP_ACCURACY_network;
    return kinds;
}

/* Of a prediction from another one, that of both. */
static bool note_accuracy(gp_prof *to, const gp_prof *p, const gp_whatif *w) {
    char text[700], now[200];
    say_accuracy(to, kinds_of(to, w), now, sizeof now);
    const char *before = p->accuracy ? p->accuracy : "";
    snprintf(text, sizeof text, "%s%s%s", before, *now && *before ? "; then " : "", now);
    add_loaded(p, text, sizeof text);
    if (!*text) return true;
    to->accuracy = gp_intern_add(to->names, text, strlen(text));
    return to->accuracy || gp_fail("profile: out of memory");
}

/* What was predicted for a card is of it, whatever the record was of. */
static bool note_card(gp_prof *to, const gp_timeline *t, const gp_whatif *w) {
    char text[64];
    const gp_card *card = w->card;
    if (!card) return true;
    snprintf(text, sizeof text, "modelled %s", card->name);
    to->card = gp_intern_add(to->names, card, sizeof *card);
    to->modelled = gp_intern_add(to->names, text, strlen(text));
    if (!to->card || !to->modelled) return gp_fail("profile: out of memory");
    return note_bounds(to, t, w);
}

/* Its end is a bound, and its events end before: says by how much. */
static bool note_end(gp_prof *to, const gp_job *job, const gp_replay_timings *r) {
    enum { LITTLE = 200 }; /* half a percent of the time is little */
    uint64_t end = 0;
    for (int i = 0; i < job->n; i++) end = r[i].t1 - r[i].bound > end ? r[i].t1 - r[i].bound : end;
    uint64_t ns = to->t1 > end ? to->t1 - end : 0;
    if (LITTLE * ns <= to->t1 - to->t0) return true;
    char more[160];
    snprintf(more, sizeof more,
             "; its events end %.3f ms earlier, as they would if streams worked beside each other "
             "more than they did",
             (double)ns * 1e-6);
    size_t n = strlen(to->predicted), all = n + strlen(more);
    char *text = malloc(all + 1);
    if (text) memcpy(text, to->predicted, n), memcpy(text + n, more, all - n + 1);
    const char *kept = text ? gp_intern_add(to->names, text, all) : NULL;
    free(text);
    if (kept) to->predicted = kept;
    return kept || gp_fail("profile: out of memory");
}

static bool copy_rank(maker *m) {
    gp_prof *to = m->to;
    m->nregions = 0;
    if (m->r->done > to->done) to->done = m->r->done;
    if (m->r->t1 > to->t1) to->t1 = m->r->t1;
    return copy_host(m) && copy_devices(m) && copy_orders(m);
}

static bool make(maker *m, const gp_job *job, const gp_replay_timings *r, gp_prof *p) {
    bool ok = m->to != NULL;
    for (int i = 0; ok && i < job->n; i++) {
        m->t = job->rank[i], m->r = &r[i];
        ok = copy_rank(m);
    }
    if (!ok) return gp_fail("profile: out of memory");
    m->to->rank = p->rank;
    m->to->size = m->w->network ? m->w->network->ranks : p->size;
    return note_card(m->to, m->t, m->w) && note_accuracy(m->to, p, m->w) && note_end(m->to, job, r);
}

gp_prof *gp_prof_predict(gp_prof *p, const gp_whatif *w, const char *predicted) {
    gp_job *job = gp_job_new(p);
    gp_replay_timings *r = job ? calloc((size_t)job->n, sizeof *r) : NULL;
    maker m = {.w = w};
    bool ok = r && gp_job_times(job, w, r);
    ok = ok && (m.to = gp_prof_derive(p, predicted), make(&m, job, r, p));
    if (job && !r) gp_fail("profile: out of memory");
    free(m.region);
    for (int i = 0; r && i < job->n; i++) gp_replay_timings_free(&r[i]);
    free(r);
    gp_job_free(job);
    if (!ok) return gp_prof_free(m.to), NULL;
    return m.to;
}
