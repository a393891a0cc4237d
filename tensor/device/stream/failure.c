/* Failures of queued work: a list of them, a log of what is in flight, and the walk from a failed
 * command to all that was computed from it. */
#include "tensor/device/stream/failure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/device/stream/thread.h"
#include "tensor/base/error.h"
#include "tensor/ops/finite.h"

typedef struct gp_failure {
    struct gp_failure *next;
    gp_stream *stream;
    uint64_t from, to; /* commands of it */
    bool broke;        /* its in-place outputs are corrupted */
    bool read;         /* it was raised */
    uint64_t read_at;  /* when the log had counted this many entries */
    int holders;       /* storages whose value stems from it; guarded by log_lock */
    char text[512];
} gp_failure;

/* A queued call in the log. Its storages follow: `reads` of them, then `writes`. */
typedef struct entry {
    gp_stream *stream; /* NULL: nothing is queued; done when its turn comes */
    uint64_t from, to; /* commands of it */
    uint32_t reads, writes;
    uintptr_t storage[]; /* of the written ones, with flag bits: */
} entry;
enum {
    WHOLE = GP_WRITE_WHOLE,
    CHECKED = GP_WRITE_CHECKED,
    LAST = 4 /* freed when the entry leaves the log */,
    BITS = 7
};
_Static_assert((WHOLE | CHECKED | LAST) == BITS && _Alignof(gp_storage) > BITS,
               "the flags are the bits of an address that are 0");

enum {
    HEAD = sizeof(entry) / sizeof(uintptr_t),
    LOOK = 2048 /* words between checks for finished entries */
};
_Static_assert(sizeof(entry) % sizeof(uintptr_t) == 0, "an entry's storages follow its head");

/* Locks are taken in this order: log_lock, a stream's own, list_lock. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;
static gp_failure *list, **list_end = &list; /* oldest first */
static gp_failure spare;                     /* used when malloc fails */
static _Atomic int alive;                    /* number of failures in the list */
_Atomic int gp_failures_unread;
_Thread_local gp_srcloc gp_failed_at;

static uintptr_t *words; /* the log: entries from `first` to `end`, oldest first */
static size_t capacity, first, end, next_look = LOOK;
static size_t begun;          /* offset of the entry being written */
static bool no_memory;        /* for the entry being written */
static uint64_t walk;         /* number of the last walk, which leaves the storages unchanged */
static uint64_t first_number; /* number of the entry at `first` */
static _Atomic uint64_t next_number; /* number of entries made so far */

/* ---- the list ---- */

/* With list_lock held: whether the failure is listed; a queue's error may be found again before the
 * queue moves on. */
static bool known(gp_stream *s, uint64_t from, uint64_t to, const char *text) {
    for (gp_failure *f = list; f; f = f->next)
        if (f->stream == s && f->from == from && !f->read &&
            !strncmp(f->text, text, sizeof f->text - 1))
            return f->to = f->to > to ? f->to : to, true;
    return false;
}

void gp_failure_add(gp_stream *s, uint64_t from, uint64_t to, bool broke, const char *text) {
    /* What nan.watch finds after a failure, which is not raised yet, follows from that. */
    if (gp_finite_watched(text) && atomic_load(&gp_failures_unread)) return;
    gp_lock(&list_lock);
    gp_failure *f = NULL;
    if (!known(s, from, to, text) && !(f = malloc(sizeof *f)) && !spare.stream) f = &spare;
    if (f) {
        *f = (gp_failure){.stream = s, .from = from, .to = to, .broke = broke};
        snprintf(f->text, sizeof f->text, "%s", text);
        *list_end = f;
        list_end = &f->next;
        atomic_fetch_add(&gp_failures_unread, 1);
        atomic_fetch_add(&alive, 1);
    }
    gp_unlock(&list_lock);
}

/* With list_lock held. */
static void mark_read(gp_failure *f) {
    if (f->read) return;
    f->read = true;
    f->read_at = atomic_load(&next_number);
    atomic_fetch_sub(&gp_failures_unread, 1);
}

void gp_failure_told(gp_stream *s, uint64_t from) {
    gp_lock(&list_lock);
    for (gp_failure *f = list; f; f = f->next)
        if (f->stream == s && f->from == from) mark_read(f);
    gp_unlock(&list_lock);
}

static bool covers(gp_stream *s, uint64_t upto, const gp_failure *f) {
    if (f->stream == s) return f->from <= upto;
    return f->stream->dev == s->dev && atomic_load(&s->synced_to[f->stream->index]) >= f->from;
}

/* Asks devices that report failures only on request, for every stream: one may have used another's
 * results. */
static void poll_device(gp_device *dev, void *unused) {
    for (int i = 0; i < dev->nstreams; i++)
        if (gp_stream_queued(dev->streams[i])) dev->vt->busy(dev->streams[i]);
}

/* Sets the message for n failures. */
static void set_message(int n, const gp_failure *oldest, const gp_failure *newest) {
    if (n == 1) gp_fail("%s", oldest->text);
    else if (n == 2) gp_fail("%.490s; and %.490s", oldest->text, newest->text);
    else gp_fail("%.480s; and %d more, the last one: %.480s", oldest->text, n - 1, newest->text);
}

/* Marks the unread failures of s as read; s NULL: of dev; both NULL: of all. */
static bool collect(gp_stream *s, uint64_t upto, const gp_device *dev) {
    const gp_failure *oldest = NULL, *newest = NULL;
    int n = 0;
    if (!atomic_load(&gp_failures_unread)) return false;
    gp_lock(&list_lock);
    for (gp_failure *f = list; f; f = f->next) {
        if (f->read || (s ? !covers(s, upto, f) : dev && f->stream->dev != dev)) continue;
        mark_read(f);
        if (n++ == 0) oldest = f;
        newest = f;
    }
    if (n) set_message(n, oldest, newest);
    gp_unlock(&list_lock);
    return n > 0;
}

bool gp_failure_collect(gp_stream *s, uint64_t upto) {
    poll_device(s->dev, NULL);
    return collect(s, upto, NULL);
}

bool gp_failure_collect_all(gp_device *dev) {
    if (dev) poll_device(dev, NULL);
    else gp_device_each(poll_device, NULL);
    return collect(NULL, 0, dev);
}

/* ---- propagation from reads to writes ---- */

static entry *entry_at(size_t at) { return (entry *)(words + at); }
static size_t size_of(const entry *e) { return HEAD + e->reads + e->writes; }

/* The failure that st's value stems from. `settled`: by the entries that have left the log; else in
 * the current walk through the rest. */
static gp_failure *state(const gp_storage *st, bool settled) {
    return !settled && st->walk == walk ? st->walk_failure : st->failure;
}

static bool is_intact(const gp_storage *st, bool settled) {
    return !settled && st->walk == walk ? st->walk_intact : st->intact;
}

/* Sets the failure of st. intact: f left st unchanged, which matters only to a reader who has not
 * seen f raised. */
static void set_state(gp_storage *st, gp_failure *f, bool intact, bool settled) {
    if (!settled) {
        st->walk = walk;
        st->walk_failure = f;
        st->walk_intact = intact;
        return;
    }
    if (st->failure) st->failure->holders--;
    if (f) f->holders++;
    st->failure = f;
    st->intact = intact;
}

/* The failure that an entry with this number gets by reading st. */
static gp_failure *got(const gp_storage *st, uint64_t number, bool settled) {
    gp_failure *f = state(st, settled);
    return f && is_intact(st, settled) && f->read && f->read_at <= number ? NULL : f;
}

static bool is_of(const gp_failure *f, const entry *e) {
    return f->stream == e->stream && f->from <= e->to && f->to >= e->from;
}

static gp_failure *own_failure(const entry *e) {
    gp_lock(&list_lock);
    gp_failure *f = list;
    while (f && !is_of(f, e)) f = f->next;
    gp_unlock(&list_lock);
    return f;
}

/* Propagates failures from what e reads to what it writes. */
static void spread(const entry *e, uint64_t number, bool settled) {
    gp_failure *own = own_failure(e), *f = own;
    for (uint32_t i = 0; i < e->reads && !f; i++)
        f = got((gp_storage *)e->storage[i], number, settled);
    for (uint32_t i = e->reads; i < e->reads + e->writes; i++) {
        uintptr_t word = e->storage[i];
        gp_storage *st = (gp_storage *)(word & ~(uintptr_t)BITS);
        bool intact = own && !own->broke && (word & CHECKED);
        if (intact && got(st, number, settled)) continue;
        if (f || (word & WHOLE)) set_state(st, f, intact, settled);
    }
}

/* Whether an entry that is in the log, or about to be, may belong to f. */
static bool in_flight(const gp_failure *f) {
    if (f->stream->logged < f->to) return true;
    for (size_t at = first; at < end; at += size_of(entry_at(at)))
        if (is_of(f, entry_at(at))) return true;
    return false;
}

/* Drops failures that were read and that no entry can meet any more. */
static void drop_failures(void) {
    gp_lock(&list_lock);
    list_end = &list;
    for (gp_failure *f; (f = *list_end);) {
        if (!f->read || f->holders || in_flight(f)) {
            list_end = &f->next;
            continue;
        }
        *list_end = f->next;
        if (f == &spare) f->stream = NULL;
        else free(f);
        atomic_fetch_sub(&alive, 1);
    }
    gp_unlock(&list_lock);
}

/* Removes e, which is done. A stream shows that only after it has shown the failure. */
static void leave(const entry *e) {
    if (atomic_load_explicit(&alive, memory_order_relaxed)) spread(e, first_number, true);
    if (e->writes && (e->storage[e->reads] & LAST))
        free((gp_storage *)(e->storage[e->reads] & ~(uintptr_t)BITS));
}

static bool done(const entry *e) {
    gp_stream *s = e->stream;
    return !s || atomic_load_explicit(&s->completed, memory_order_acquire) >= e->to;
}

/* With log_lock held: removes finished entries from the log, in order, up to the first that is not
 * done. Devices are polled before, without the lock: a poll may release memory, which is logged. */
static void retire(void) {
    while (first < end) {
        entry *e = entry_at(first);
        if (!done(e)) break;
        leave(e);
        first += size_of(e);
        first_number++;
    }
    if (first == end) first = end = 0;
    next_look = LOOK + 2 * (end - first);
    if (atomic_load(&alive)) drop_failures();
}

bool gp_failure_none(gp_storage *st) {
    gp_device_each(poll_device, NULL);
    if (!atomic_load(&alive)) return true;
    gp_lock(&log_lock);
    retire();
    walk++;
    uint64_t number = first_number;
    for (size_t at = first; at < end; at += size_of(entry_at(at)))
        spread(entry_at(at), number++, false);
    gp_failure *f = got(st, number, false);
    gp_lock(&list_lock);
    if (f) mark_read(f), gp_fail("%s", f->text);
    gp_unlock(&list_lock);
    gp_unlock(&log_lock);
    return !f;
}

/* ---- the log ---- */

/* Makes room for n more words; false without memory. */
static bool reserve(size_t n) {
    if (end + n <= capacity) return true;
    uintptr_t *to = words;
    if (first <= capacity / 2) {
        to = malloc((2 * capacity + 2 * LOOK) * sizeof *to);
        if (!to) return false;
        capacity = 2 * capacity + 2 * LOOK;
    }
    if (words) memmove(to, words + first, (end - first) * sizeof *to);
    if (to != words) free(words);
    words = to;
    begun -= first;
    end -= first;
    first = 0;
    return true;
}

void gp_failure_log(gp_stream *s, uint64_t before) {
    gp_lock(&log_lock);
    if (end - first >= next_look) {
        if (s) { /* NULL: called while an allocator is locked, which a poll may need */
            gp_unlock(&log_lock);
            gp_device_each(poll_device, NULL);
            gp_lock(&log_lock);
        }
        retire();
    }
    no_memory = !reserve(HEAD);
    begun = end;
    if (no_memory) return;
    *entry_at(begun) = (entry){.stream = s, .from = before + 1};
    end += HEAD;
}

static bool add_word(uintptr_t word) {
    if (no_memory || (no_memory = !reserve(1))) return false;
    words[end++] = word;
    return true;
}

void gp_failure_log_read(gp_storage *st) {
    if (no_memory || (st->dev->vt->on_host && st->dev != entry_at(begun)->stream->dev)) return;
    if (add_word((uintptr_t)st)) entry_at(begun)->reads++;
}

void gp_failure_log_write(gp_storage *st, unsigned how) {
    if (add_word((uintptr_t)st | how)) entry_at(begun)->writes++;
}

bool gp_failure_log_end(void) {
    gp_stream *s = no_memory ? NULL : entry_at(begun)->stream;
    bool ok = !no_memory;
    if (s) s->logged = entry_at(begun)->to = atomic_load_explicit(&s->issued, memory_order_relaxed);
    if (ok) atomic_fetch_add_explicit(&next_number, 1, memory_order_relaxed);
    else end = begun;
    gp_unlock(&log_lock);
    return ok || gp_fail("out of memory");
}

void gp_failure_forget(gp_storage *st) {
    if (!atomic_load_explicit(&alive, memory_order_relaxed)) return;
    gp_failure_log(NULL, 0);
    gp_failure_log_write(st, WHOLE);
    gp_failure_log_end();
}

void gp_failure_bury(gp_storage *st) {
    gp_lock(&log_lock);
    bool named = first != end || st->failure;
    gp_unlock(&log_lock);
    if (!named) {
        free(st);
        return;
    }
    gp_failure_log(NULL, 0);
    gp_failure_log_write(st, WHOLE | LAST);
    gp_failure_log_end(); /* without memory the entry is lost */
}

void gp_failure_trim(void) {
    gp_lock(&log_lock);
    retire();
    gp_unlock(&log_lock);
}
