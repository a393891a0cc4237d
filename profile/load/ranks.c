/* Joins the traces of a job's ranks into one profile, on one clock where that is possible. A
 * collective ends on all of its ranks at about the same time: the median of the differences over
 * all collectives is the offset of two ranks' clocks. Without collectives the files' own clock
 * counts, and without one of those each rank begins with the first; the profile says which. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/load/input.h"
#include "profile/load/kineto/kineto.h"
#include "profile/show/usage.h"
#include "tensor/base/safe_text.h"

enum { START = 1000000000 };                       /* where a loaded profile begins, in ns */
static const int64_t EPOCH = 1000000000000000000;  /* later times are of this century's clock */
static const uint64_t LONGEST = (uint64_t)1 << 60; /* ns of a profile */

/* One rank's trace while clocks are compared: offset is added to its times, in ns. */
typedef struct trace {
    kineto k;
    int64_t t0, t1, offset;
    int64_t *begin, *end; /* of its collectives, in the order of their starts */
    const char **name;
    int n;
} trace;

static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* ---- collectives ---- */

static bool is_collective(const kineto_event *e) {
    return e->kind == KINETO_COLLECTIVE ||
           (e->kind == KINETO_KERNEL && !strncmp(e->name, "nccl", 4)); /* whose order is known */
}

static int by_start(const void *a, const void *b) {
    const kineto_event *x = *(const kineto_event *const *)a, *y = *(const kineto_event *const *)b;
    return x->t0 < y->t0 ? -1 : x->t0 > y->t0;
}

static bool find_collectives(trace *t) {
    size_t capacity = (size_t)t->k.n + 1;
    const kineto_event **found = malloc(capacity * sizeof *found);
    t->begin = malloc(capacity * sizeof *t->begin);
    t->end = malloc(capacity * sizeof *t->end);
    t->name = malloc(capacity * sizeof *t->name);
    bool ok = found && t->begin && t->end && t->name;
    for (int i = 0; ok && i < t->k.n; i++)
        if (is_collective(&t->k.event[i])) found[t->n++] = &t->k.event[i];
    if (ok && t->n) qsort(found, (size_t)t->n, sizeof *found, by_start);
    for (int i = 0; ok && i < t->n; i++) {
        t->begin[i] = found[i]->t0;
        t->end[i] = found[i]->t0 + found[i]->dur;
        t->name[i] = found[i]->name;
    }
    free(found);
    return ok || gp_json_fail(t->k.j, "out of memory");
}

static bool same_collectives(const trace *a, const trace *b) {
    return a->n && a->n == b->n &&
           !memcmp(a->name, b->name, (size_t)a->n * sizeof *a->name); /* interned */
}

/* A collective ends on all of its ranks at about the same time: the median of the differences is
 * the clocks'. false when out of memory. */
static bool set_offset(const trace *first, trace *t) {
    int64_t *later = malloc((size_t)t->n * sizeof *later);
    if (!later) return gp_json_fail(t->k.j, "out of memory");
    for (int c = 0; c < t->n; c++) later[c] = first->end[c] - t->end[c];
    qsort(later, (size_t)t->n, sizeof *later, by_number);
    t->offset = later[t->n / 2];
    free(later);
    return true;
}

/* Whether a collective is over on one rank well before that of its name and number begins on the
 * other: then they are not the same one, as where each file has another part of the run. A
 * broadcast may be over for its sender. */
static bool pass_by(const trace *a, const trace *b) {
    enum { CLOCKS_APART = 1000000 }; /* ns */
    for (int c = 0; c < a->n; c++) {
        if (strcasestr(a->name[c], "broadcast")) continue;
        int64_t shift = b->offset - a->offset, begin = b->begin[c] + shift, end = b->end[c] + shift;
        if (begin > a->end[c] + CLOCKS_APART || end < a->begin[c] - CLOCKS_APART) return true;
    }
    return false;
}

typedef enum clocks { ALIGNED, OTHER, UNPAIRED } clocks;

static bool any_passes_by(const trace *t, int n) {
    for (int i = 1; i < n; i++)
        if (pass_by(&t[0], &t[i])) return true;
    return false;
}

/* Aligns the clocks where all ranks have the same collectives. They are paired where they overlap
 * so or, as on a machine whose threads end late, by the files' clock. clock: there is one. */
static bool align_by_collectives(trace *t, int n, bool clock, clocks *how) {
    *how = OTHER;
    for (int i = 0; i < n; i++)
        if (!find_collectives(&t[i])) return false;
    for (int i = 1; i < n; i++)
        if (!same_collectives(&t[0], &t[i])) return true;
    for (int i = 1; i < n; i++)
        if (!set_offset(&t[0], &t[i])) return false;
    *how = any_passes_by(t, n) ? UNPAIRED : ALIGNED;
    if (*how == ALIGNED || !clock) return true;
    for (int i = 0; i < n; i++) t[i].offset = t[i].k.base;
    if (!any_passes_by(t, n)) *how = OTHER;
    return true;
}

/* Whether a file's times, moved by its offset, lie beside those of another one:
 * ranks of one job run at the same time. */
static bool meets_another(const trace *t, int n, int i) {
    for (int k = 0; k < n; k++) {
        bool before = t[i].t1 + t[i].offset < t[k].t0 + t[k].offset;
        bool after = t[i].t0 + t[i].offset > t[k].t1 + t[k].offset;
        if (k != i && !before && !after) return true;
    }
    return n == 1;
}

/* Whether they are processes of one file, whose times are of one clock. */
static bool of_one_file(const trace *t, int n) {
    for (int i = 1; i < n; i++)
        if (t[i].k.j->file != t[0].k.j->file) return false;
    return true;
}

/* Fails where a file's events are at another time than those of all others. */
static bool meet(const trace *t, int n) {
    for (int i = n - 1; i >= 0; i--) {
        const trace *other = &t[i ? 0 : 1];
        char name[300], own[300];
        if (meets_another(t, n, i) || of_one_file(t, n)) continue;
        int64_t later = t[i].t0 + t[i].offset - other->t0 - other->offset;
        return gp_fail("profile.load: the events of %s are at another time than those of %s (they "
                       "begin %.0f s %s), so these are no ranks of one job: give each file alone",
                       gp_safe_text(t[i].k.j->file, own, sizeof own),
                       gp_safe_text(other->k.j->file, name, sizeof name),
                       fabs((double)later) * 1e-9, later < 0 ? "earlier" : "later");
    }
    return true;
}

static bool have_clock(const trace *t, int n) {
    if (of_one_file(t, n)) return true;
    for (int i = 0; i < n; i++)
        if (t[i].t0 + t[i].k.base < EPOCH) return false;
    return true;
}

/* Sets the offsets and says how; NULL when out of memory. */
static const char *align(trace *t, int n, bool *unpaired, bool *no_clock) {
    static const char *const text[2][2] = {
        {"the files have no common clock: each rank begins with the first",
         "the ranks' clocks are as in their files"},
        {"the files have no common clock, and do not have the same collectives, of which none is "
         "paired: each rank begins with the first",
         "the ranks' clocks are as in their files, which do not have the same collectives: none is "
         "paired"}};
    bool clock = have_clock(t, n);
    clocks how = OTHER;
    if (n > 1 && !align_by_collectives(t, n, clock, &how)) return NULL;
    *unpaired = how == UNPAIRED;
    if (how == ALIGNED) return "the ranks' clocks are aligned by the ends of the collectives";
    *no_clock = n > 1 && !clock;
    for (int i = 0; i < n; i++) t[i].offset = clock ? t[i].k.base : t[0].t0 - t[i].t0;
    return text[*unpaired][clock];
}

/* ---- ranks ---- */

static bool distinct(const trace *t, int n) {
    for (int i = 0; i < n; i++) {
        if (t[i].k.rank < 0) return n == 1;
        for (int k = 0; k < i; k++)
            if (t[k].k.rank == t[i].k.rank) return false;
    }
    return true;
}

/* Says of the first file that is cut that it is, and where. Returns the text's length. */
static int say_cut(const trace *t, int n, char *text, size_t size) {
    char file[300];
    for (int i = 0; i < n; i++)
        if (t[i].k.cut)
            return snprintf(text, size, " (%s is cut at byte %lld: what followed is missing)",
                            n > 1 ? gp_safe_text(t[i].k.j->file, file, sizeof file) : "it",
                            (long long)t[i].k.cut);
    return 0;
}

/* Says how many events were left out, and why the first was. Returns the text's length. */
static int say_wrong(const trace *t, int n, char *text, size_t size) {
    int wrong = 0, events = 0;
    const char *field = NULL;
    for (int i = 0; i < n; i++) {
        wrong += t[i].k.wrong, events += t[i].k.events;
        if (!field) field = t[i].k.wrong_field;
    }
    if (!wrong) return 0;
    return snprintf(text, size, "; %d event%s of %d %s no valid %s, and %s left out", wrong,
                    wrong == 1 ? "" : "s", events, wrong == 1 ? "has" : "have", field,
                    wrong == 1 ? "is" : "are");
}

/* What the table's foot says of where the profile is from. */
static bool describe(gp_prof *p, const trace *t, int n, const char *clocks, bool numbered) {
    char text[1400], file[300], device[100], kind[60];
    int ignored = 0, clamped = 0;
    const char *of = NULL;
    for (int i = 0; i < n; i++) {
        ignored += t[i].k.ignored, clamped += t[i].k.clamped;
        if (!of) of = t[i].k.ignored_kind;
    }
    int at = snprintf(text, sizeof text, "Loaded from %s",
                      gp_safe_text(t[0].k.j->file, file, sizeof file));
    if (n > 1)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       of_one_file(t, n) ? " (%d processes)" : " and %d more",
                       of_one_file(t, n) ? n : n - 1);
    at += say_cut(t, n, text + at, sizeof text - (size_t)at);
    const char *writer = t[0].k.writer ? t[0].k.writer : "torch.profiler's trace";
    at += snprintf(text + at, sizeof text - (size_t)at, ", %s%s%s",
                   gp_safe_text(writer, kind, sizeof kind), t[0].k.device ? " of " : "",
                   t[0].k.device ? gp_safe_text(t[0].k.device, device, sizeof device) : "");
    if (n > 1) at += snprintf(text + at, sizeof text - (size_t)at, "; %s", clocks);
    if (n > 1 && numbered)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "; ranks are numbered in the order of the files");
    if (ignored)
        at += snprintf(text + at, sizeof text - (size_t)at, "; %d events of other kinds%s%s%s",
                       ignored, of ? " (" : "", of ? gp_safe_text(of, kind, sizeof kind) : "",
                       of ? " …)" : "");
    if (ignored) at += snprintf(text + at, sizeof text - (size_t)at, " are not in the record");
    if (clamped)
        at += snprintf(text + at, sizeof text - (size_t)at,
                       "; %d events had a negative duration, and have none", clamped);
    at += say_wrong(t, n, text + at, sizeof text - (size_t)at);
    return (p->how = gp_intern_add(p->names, text, (size_t)at)) || gp_fail("profile.load: out of "
                                                                           "memory");
}

/* Notes which card's times these are, where all devices are of one kind that is known. */
static bool note_card(gp_prof *p, const trace *t, int n) {
    gp_card card;
    memset(&card, 0, sizeof card); /* padding is interned with the rest */
    for (int i = 0; i < n; i++)
        if (!t[i].k.device || t[i].k.other_devices || strcmp(t[i].k.device, t[0].k.device) != 0)
            return true;
    if (!gp_card_of_device(t[0].k.device, &card)) return true;
    return (p->card = gp_intern_add(p->names, &card, sizeof card)) ||
           gp_fail("profile.load: out of memory");
}

static bool read_all(gp_json *j, int n, gp_prof *p, trace *t) {
    for (int i = 0; i < n; i++) {
        t[i].k = (kineto){.j = &j[i], .names = p->names};
        if (!gp_kineto_read(&t[i].k)) return false;
        gp_input_close(&j[i]);
        gp_kineto_extent(&t[i].k, &t[i].t0, &t[i].t1);
    }
    return true;
}

/* Notes at each wait how much work was queued. Memory that is given back waits only for that. */
static bool count_drained(gp_prof *p) {
    gp_usage *u = gp_usage_new(p);
    bool ok = true;
    if (!u) return false;
    for (gp_track *t = p->host; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));) {
            if (r->kind != GP_REC_WAIT) continue;
            r->bytes = (int64_t)gp_wait_cost_of(u, t->rank, r).drained;
            if (r->why != GP_WHY_alloc || r->bytes) continue;
            r->kind = GP_REC_CALL, r->why = 0;
            ok = ok && (r->name = gp_intern_add(p->names, r->name, strlen(r->name)));
        }
    }
    gp_usage_free(u);
    return ok || gp_fail("profile.load: out of memory");
}

static bool build_all(trace *t, int n, gp_prof *p) {
    int64_t first = INT64_MAX, last = INT64_MIN;
    uint64_t ids = 0;
    bool numbered = !distinct(t, n);
    const char *clocks = align(t, n, &p->unpaired, &p->no_clock);
    if (!clocks || !meet(t, n)) return false;
    for (int i = 0; i < n; i++) {
        if (t[i].t0 + t[i].offset < first) first = t[i].t0 + t[i].offset;
        if (t[i].t1 + t[i].offset > last) last = t[i].t1 + t[i].offset;
    }
    if ((uint64_t)last - (uint64_t)first > LONGEST)
        return gp_json_fail(t[0].k.j, "times that are too far apart");
    p->t0 = p->done = p->t1 = START;
    p->foreign = true;
    p->no_device = true;
    for (int i = 0; i < n; i++) p->cut |= t[i].k.cut != 0, p->dropped += (uint64_t)t[i].k.wrong;
    for (int i = 0; i < n; i++) {
        if (t[i].k.starved > (int64_t)p->starved) p->starved = (uint64_t)t[i].k.starved;
        if (t[i].k.usual > (int64_t)p->usual) p->usual = (uint64_t)t[i].k.usual;
        if (t[i].k.beside > (int64_t)p->beside) p->beside = (uint64_t)t[i].k.beside;
    }
    for (int i = 0; i < n; i++)
        p->no_device &= t[i].k.has_list && !t[i].k.has_device && !t[i].k.writer;
    p->ranks = n, p->writer = t[0].k.writer;
    for (int i = 0; i < n; i++) {
        int rank = numbered ? i : t[i].k.rank < 0 ? 0 : t[i].k.rank;
        if (n == 1) p->rank = rank;
        if (!gp_kineto_build(&t[i].k, p, rank, n > 1, START - first + t[i].offset, &ids))
            return false;
        gp_kineto_free(&t[i].k);
    }
    if (p->t1 < p->done) p->t1 = p->done;
    if (p->done == START) p->done = p->t1; /* nothing of the host is there */
    if (!gp_kineto_full_queues(p) || !count_drained(p) || !note_card(p, t, n)) return false;
    return describe(p, t, n, clocks, numbered);
}

bool gp_load_ranks(gp_json *j, int n, gp_prof *p) {
    trace *t = calloc((unsigned)n, sizeof *t);
    bool ok = t || gp_fail("profile.load: out of memory");
    ok = ok && read_all(j, n, p, t) && build_all(t, n, p);
    for (int i = 0; t && i < n; i++) {
        gp_kineto_free(&t[i].k);
        free(t[i].begin);
        free(t[i].end);
        free(t[i].name);
    }
    free(t);
    return ok;
}
