/* When a record's devices ran nothing: the spans in which any of them ran something, joined and in
 * the order of time, each with how long they had run before it. */
#include <stdlib.h>

#include "profile/replay/timeline.h"

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }

static int by_start(const void *a, const void *b) {
    const gp_busy_span *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

bool gp_timeline_read_busy(gp_timeline *t) {
    int n = 0;
    t->busy = malloc(((size_t)t->ncommands + 1) * sizeof *t->busy);
    if (!t->busy) return false;
    for (int i = 0; i < t->ncommands; i++)
        t->busy[i] = (gp_busy_span){t->command[i].rec->t0, t->command[i].end, 0};
    qsort(t->busy, (size_t)t->ncommands, sizeof *t->busy, by_start);
    for (int i = 0; i < t->ncommands; i++) {
        gp_busy_span *last = n ? &t->busy[n - 1] : NULL, now = t->busy[i];
        if (last && now.from <= last->to) {
            if (now.to > last->to) last->to = now.to;
            continue;
        }
        now.before = last ? last->before + (last->to - last->from) : 0;
        t->busy[n++] = now;
    }
    t->nbusy = n;
    return true;
}

/* How long devices had run by `when`. */
static uint64_t ran_by(const gp_timeline *t, uint64_t when) {
    int lo = 0, hi = t->nbusy;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (t->busy[mid].from < when) lo = mid + 1;
        else hi = mid;
    }
    if (!lo) return 0;
    const gp_busy_span *s = &t->busy[lo - 1];
    return s->before + (least(when, s->to) - s->from);
}

uint64_t gp_timeline_idle(const gp_timeline *t, uint64_t from, uint64_t to) {
    return to > from ? to - from - (ran_by(t, to) - ran_by(t, from)) : 0;
}
