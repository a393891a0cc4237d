/* The ledger of waits: per source line, and the last ones individually. A line is a file and line
 * with a reason, what waited and the device, found by a hash; its numbers never change while the
 * program runs, so that a caller can refer to them. A wait's idle time is known only when the next
 * work is queued, and is added then. One lock guards all. */
#include "profile/sync/ledger.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/device/card/model.h"
#include "tensor/device/stream/thread.h"
#include "tensor/base/intern.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gp_ledger {
    gp_sync_line *lines;
    int nlines, capacity;
    int *slots;            /* hash table of 1 + index into lines, 2 * room of them; 0: free */
    gp_sync_event *events; /* a ring */
    uint64_t nevents;
    gp_sync_line lost; /* the sum of waits whose line there was no memory for */
    uint64_t mark;     /* when it was begun, as gp_model_mark has it */
} book;

/* Streams that have got no work since a wait, which has left them without, or with some left. */
static struct {
    gp_stream *stream;
    int line;
    bool left;
    uint64_t since, at_most; /* ns */
} idle[16];
static int nidle;

const char *gp_sync_name(const char *text) {
    const char *kept = gp_intern_text(text);
    return kept ? kept : "?";
}

/* Hashes what identifies a line but for its device: file, line, why, what and reason; texts are
 * interned. */
static size_t hash(const gp_sync_event *e) {
    uint64_t h = (uint64_t)(uintptr_t)e->loc.file * 31 + (uint64_t)(unsigned)e->loc.line;
    h = (h * 31 + (uint64_t)e->why) * 31 + (uint64_t)(uintptr_t)e->what +
        (uint64_t)(uintptr_t)e->reason * 7;
    h *= 0x9e3779b97f4a7c15u;
    return (size_t)(h >> 32);
}

static bool same(const gp_sync_line *l, const gp_sync_event *e) {
    return gp_srcloc_same(l->loc, e->loc) && l->why == e->why && l->what == e->what &&
           l->reason == e->reason && !strcmp(l->device, e->device);
}

static int *slot(const gp_sync_event *e) {
    size_t mask = (size_t)book.capacity * 2 - 1, at = hash(e) & mask;
    while (book.slots[at] && !same(&book.lines[book.slots[at] - 1], e)) at = (at + 1) & mask;
    return &book.slots[at];
}

static gp_sync_event key_of(const gp_sync_line *l) {
    gp_sync_event e = {.loc = l->loc, .why = l->why, .what = l->what, .reason = l->reason};
    memcpy(e.device, l->device, sizeof e.device);
    return e;
}

/* With the lock held. Numbers of lines stay; their slots are recomputed. */
static bool grow(void) {
    int n = book.capacity ? book.capacity * 2 : 64;
    gp_sync_line *more = realloc(book.lines, (size_t)n * sizeof *more);
    if (more) book.lines = more;
    int *table = more ? calloc((size_t)n * 2, sizeof *table) : NULL;
    if (!table) return false;
    free(book.slots);
    book.slots = table;
    book.capacity = n;
    for (int i = 0; i < book.nlines; i++) {
        gp_sync_event key = key_of(&book.lines[i]);
        *slot(&key) = i + 1;
    }
    return true;
}

/* The line of e, made on demand; -1: no memory. */
static int line_of(const gp_sync_event *e) {
    if (book.nlines == book.capacity && !grow()) return -1;
    int *s = slot(e);
    if (!*s) {
        gp_sync_line *l = &book.lines[book.nlines];
        *l = (gp_sync_line){.loc = e->loc, .why = e->why, .what = e->what, .reason = e->reason};
        memcpy(l->device, e->device, sizeof l->device);
        *s = ++book.nlines;
    }
    return *s - 1;
}

/* With the lock held: keeps the last GP_SYNC_EVENTS individually. */
static void keep(const gp_sync_event *e) {
    if (!book.events) book.events = calloc(GP_SYNC_EVENTS, sizeof *book.events);
    if (book.events) book.events[book.nevents % GP_SYNC_EVENTS] = *e;
    book.nevents++;
}

/* With the lock held: adds e to its line. Refused waits took no time and drained nothing. */
static void enter(gp_sync_line *l, const gp_sync_event *e, bool warned) {
    uint64_t ns = e->t1 - e->t0;
    memcpy(l->device, e->device, sizeof l->device); /* of the lost ones, too */
    l->advice = e->advice;
    if (e->refused) {
        l->refused++;
        return;
    }
    l->times++;
    l->warned += warned;
    l->wait_ns += ns;
    if (ns > l->max_ns) l->max_ns = ns;
    l->drained += e->queued;
}

bool gp_ledger_add(const gp_sync_event *e, bool warned, gp_sync_line *line) {
    gp_lock(&lock);
    keep(e);
    int i = line_of(e);
    enter(i >= 0 ? &book.lines[i] : &book.lost, e, warned);
    if (i >= 0 && line) *line = book.lines[i];
    gp_unlock(&lock);
    return i >= 0;
}

void gp_ledger_loop(const gp_sync_event *e, gp_srcloc loop) {
    gp_lock(&lock);
    int i = line_of(e);
    if (i >= 0) book.lines[i].loop = loop;
    gp_unlock(&lock);
}

void gp_ledger_after(gp_stream *s, const gp_sync_event *e, bool is_idle) {
    gp_lock(&lock);
    int i = line_of(e), at = 0;
    while (at < nidle && idle[at].stream != s) at++;
    if (i >= 0 && at < (int)(sizeof idle / sizeof *idle)) {
        if (at == nidle) nidle++;
        idle[at].stream = s;
        idle[at].line = i;
        idle[at].left = !is_idle;
        idle[at].since = e->t1;
        idle[at].at_most = e->t1 - e->t0;
    }
    gp_unlock(&lock);
}

void gp_ledger_busy(gp_stream *s, uint64_t ns) {
    gp_lock(&lock);
    for (int at = 0; at < nidle; at++) {
        if (idle[at].stream != s) continue;
        gp_sync_line *l = &book.lines[idle[at].line];
        uint64_t gap = idle[at].left ? 0 : ns - idle[at].since;
        l->idle_ns += gap < idle[at].at_most ? gap : idle[at].at_most;
        l->known += !idle[at].left || s->dev->vt->busy(s);
        idle[at] = idle[--nidle];
        break;
    }
    if (!nidle) atomic_store(&gp_hook.launch, NULL);
    gp_unlock(&lock);
}

void gp_sync_forget_idle(void) {
    gp_lock(&lock);
    nidle = 0;
    atomic_store(&gp_hook.launch, NULL);
    gp_unlock(&lock);
}

gp_sync_line *gp_sync_lines(int *n) {
    gp_lock(&lock);
    int lost = book.lost.times || book.lost.refused, lines = book.nlines;
    gp_sync_line *out = lines + lost ? malloc((size_t)(lines + lost) * sizeof *out) : NULL;
    *n = out ? lines + lost : lines + lost ? -1 : 0;
    if (out && lines) memcpy(out, book.lines, (size_t)lines * sizeof *out);
    if (out && lost) {
        out[lines] = book.lost;
        out[lines].what = "[no memory for the line]";
        out[lines].advice = "free memory, and sync.reset()";
    }
    gp_unlock(&lock);
    return out;
}

gp_sync_event *gp_sync_events(int *n, uint64_t *lost) {
    gp_lock(&lock);
    uint64_t have = !book.events                    ? 0
                    : book.nevents < GP_SYNC_EVENTS ? book.nevents
                                                    : GP_SYNC_EVENTS;
    gp_sync_event *out = have ? malloc(have * sizeof *out) : NULL;
    *n = out ? (int)have : 0;
    *lost = book.nevents - (uint64_t)*n;
    for (int i = 0; i < *n; i++)
        out[i] = book.events[(book.nevents - have + (uint64_t)i) % GP_SYNC_EVENTS];
    gp_unlock(&lock);
    return out;
}

void gp_sync_reset(void) {
    gp_lock(&lock);
    book.nlines = nidle = 0;
    book.nevents = 0;
    book.lost = (gp_sync_line){0};
    book.mark = gp_model_mark();
    if (book.slots) memset(book.slots, 0, (size_t)book.capacity * 2 * sizeof *book.slots);
    atomic_store(&gp_hook.launch, NULL);
    gp_unlock(&lock);
}

uint64_t gp_sync_mark(void) {
    gp_lock(&lock);
    uint64_t mark = book.mark;
    gp_unlock(&lock);
    return mark;
}

gp_ledger *gp_ledger_exchange(gp_ledger *by) {
    gp_ledger *was = by ? by : malloc(sizeof *was);
    if (!was) return NULL;
    gp_lock(&lock);
    gp_ledger now = book;
    book = by ? *by : (gp_ledger){.mark = gp_model_mark()};
    nidle = 0;
    gp_unlock(&lock);
    *was = now;
    if (!by) return was;
    free(now.lines);
    free(now.slots);
    free(now.events);
    free(by);
    return NULL;
}
