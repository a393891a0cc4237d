/* Reads which commands of other streams a record's commands follow. */
#include <stdlib.h>

#include "profile/replay/timeline.h"
#include "profile/show/usage.h"

int gp_event_by_id(const gp_rec *const *event, int n, uint64_t id) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (event[mid]->id < id) lo = mid + 1;
        else hi = mid;
    }
    return id && lo < n && event[lo]->id == id ? lo : -1;
}

/* The commands of each event and each stream, while orders are read. */
typedef struct positions {
    gp_timeline *t;
    const gp_rec *const *event;
    int nevents;
    int *last;  /* by event: its last command; -1: none */
    int *first; /* by stream: its first command; -1: none */
    int *next;  /* by command: the next of its stream; -1: none */
} positions;

static void find_positions(positions *at) {
    const gp_timeline *t = at->t;
    for (int i = 0; i < at->nevents; i++) at->last[i] = -1;
    for (int i = 0; i < t->nstreams; i++) at->first[i] = -1;
    for (int i = t->ncommands - 1; i >= 0; i--) {
        const gp_command *c = &t->command[i];
        at->next[i] = at->first[c->stream];
        at->first[c->stream] = i;
        int e = gp_event_by_id(at->event, at->nevents, c->rec->id);
        if (e >= 0 && at->last[e] < 0) at->last[e] = i;
    }
}

/* The last command on s with that id; -1: there is none. */
static int command_of(const positions *at, const gp_stream *s, uint64_t id) {
    int e = gp_event_by_id(at->event, at->nevents, id), i = e < 0 ? -1 : at->last[e];
    return i >= 0 && at->t->stream[at->t->command[i].stream] == s ? i : -1;
}

/* The command that an order is for: the first of s after the one that it names, or after the
 * record's start. -1: none. */
static int ordered(const positions *at, const gp_stream_order *o) {
    const gp_timeline *t = at->t;
    int before = command_of(at, o->s, o->after);
    if (before >= 0) return at->next[before];
    for (int s = 0; s < t->nstreams; s++)
        if (t->stream[s] == o->s) return at->first[s];
    return -1;
}

/* Command i follows `after`. */
static void add_order(gp_timeline *t, int i, int after) {
    gp_command *c = &t->command[i];
    t->order[t->norders] = (gp_order_at){after, c->orders};
    c->orders = t->norders++;
    if (c->after < 0 || t->command[after].end > t->command[c->after].end) c->after = after;
}

/* Notes the command that each order is after, for the one that it is for. */
static void add_orders(const positions *at) {
    gp_timeline *t = at->t;
    for (int k = 0; k < t->p->norders; k++) {
        const gp_stream_order *o = &t->p->orders[k];
        int i = ordered(at, o), after = command_of(at, o->first, o->id);
        while (o->done && after >= 0 && t->command[after].end > o->t)
            after = t->command[after].previous;
        if (i <= after || after < 0) continue; /* nothing queued, or done before the record */
        add_order(t, i, after);
    }
}

/* ---- where the trace does not say what streams waited for ---- */

static int by_end(const void *a, const void *b, void *command) {
    uint64_t x = ((gp_command *)command)[*(const int *)a].end;
    uint64_t y = ((gp_command *)command)[*(const int *)b].end;
    return (x > y) - (x < y);
}

/* The last of n commands, by their ends, that had ended by `when`; -1: none. */
static int ended_by(const gp_timeline *t, const int *by, int n, uint64_t when) {
    int lo = 0, hi = n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (t->command[by[mid]].end <= when) lo = mid + 1;
        else hi = mid;
    }
    return lo ? by[lo - 1] : -1;
}

/* Whether c waited for `before`, a collective of another stream, as its times show: it was queued,
 * and its own stream was free, but it began just after the end of that. */
static bool followed(const gp_timeline *t, int i, int before) {
    enum { JUST_AFTER = 20000 }; /* ns */
    if (before < 0 || before >= i) return false;
    const gp_command *c = &t->command[i], *b = &t->command[before];
    bool beside = c->stream != b->stream && t->stream[c->stream]->dev == t->stream[b->stream]->dev;
    bool free = c->previous < 0 || t->command[c->previous].end < b->end;
    return beside && free && c->launch < b->end && c->rec->t0 - b->end <= JUST_AFTER;
}

/* Command i, a collective, is taken to wait for what each other stream of its device had been given
 * before it, as far as that had ended when it began: it sends what these computed. */
static void add_inputs(gp_timeline *t, int i, const int *last) {
    enum { CLOCK_ERROR = 5000 }; /* ns */
    const gp_command *c = &t->command[i];
    for (int s = 0; s < t->nstreams; s++) {
        int k = last[s];
        if (s == c->stream || t->stream[s]->dev != t->stream[c->stream]->dev) continue;
        while (k >= 0 && t->command[k].end > c->rec->t0 + CLOCK_ERROR) k = t->command[k].previous;
        if (k >= 0) add_order(t, i, k);
    }
}

static bool runs_on_device(const gp_rec *r) {
    return gp_rec_is_collective(r) && !gp_rec_runs_on_host(r);
}

/* Collectives follow what they send, and end earlier where a late rank comes earlier; what waited
 * for them begins earlier then. */
static bool guess_orders(gp_timeline *t) {
    int *by = malloc(((size_t)t->ncommands + (size_t)t->nstreams + 1) * sizeof *by), n = 0,
        *last = by + t->ncommands;
    for (int i = 0; by && i < t->ncommands; i++)
        if (runs_on_device(t->command[i].rec)) by[n++] = i;
    size_t most = (size_t)t->ncommands + (size_t)n * (size_t)t->nstreams + 1;
    t->order = by ? malloc(most * sizeof *t->order) : NULL;
    if (!t->order) return free(by), false;
    qsort_r(by, (size_t)n, sizeof *by, by_end, t->command);
    for (int s = 0; s < t->nstreams; s++) last[s] = -1;
    for (int i = 0; i < t->ncommands; i++) {
        const gp_command *c = &t->command[i];
        int before = ended_by(t, by, n, c->rec->t0);
        if (followed(t, i, before)) add_order(t, i, before);
        if (runs_on_device(c->rec)) add_inputs(t, i, last);
        last[c->stream] = i;
    }
    free(by);
    return true;
}

/* ---- all ---- */

bool gp_timeline_read_orders(gp_timeline *t, const gp_rec *const *event, int nevents) {
    if (!t->p->norders) return !t->p->unknown_orders || guess_orders(t);
    t->order = malloc((size_t)t->p->norders * sizeof *t->order);
    positions at = {.t = t,
                    .event = event,
                    .nevents = nevents,
                    .last = malloc(((size_t)nevents + 1) * sizeof(int)),
                    .first = malloc(((size_t)t->nstreams + 1) * sizeof(int)),
                    .next = malloc(((size_t)t->ncommands + 1) * sizeof(int))};
    bool ok = t->order && at.last && at.first && at.next;
    if (ok) find_positions(&at), add_orders(&at);
    free(at.last);
    free(at.first);
    free(at.next);
    return ok;
}
