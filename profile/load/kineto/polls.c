/* A loop that asks whether an event or a stream is over, until it is, waits as a call does that
 * returns then: the calls of a thread's loop become one of the name "cudaEventQuery, polled". */
#include <stdio.h>
#include <string.h>

#include "profile/load/kineto/kineto.h"

/* How many calls make such a loop, at least, and how far apart they are, ns, at most: allocators
 * ask, too, once for each of some events. */
enum { LEAST = 10, APART = 2000000 };

static int64_t end_of(const kineto_event *e) { return e->t0 + e->dur; }

static bool asks(const kineto_event *e) {
    size_t n = e->kind == KINETO_CALL ? strlen(e->name) : 0;
    static const char *const ends[] = {"EventQuery", "StreamQuery"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t m = strlen(ends[i]);
        if (n > m && !strcmp(e->name + n - m, ends[i])) return true;
    }
    return false;
}

/* Whether x goes on with the loop of e, whose last call so far is `last`. */
static bool goes_on(const kineto_event *e, const kineto_event *last, const kineto_event *x) {
    return x->kind == KINETO_CALL && !strcmp(x->name, e->name) && x->t0 - end_of(last) <= APART;
}

/* The place of the last call of the loop that begins at order[i]; *n: how many there are. */
static int last_of(const kineto *k, const int *order, int i, int *n) {
    const kineto_event *e = &k->event[order[i]];
    int last = i;
    *n = 1;
    for (int at = i + 1; at < k->n; at++) {
        const kineto_event *x = &k->event[order[at]];
        if (!gp_kineto_on_host(x) || x->thread != e->thread) break;
        if (x->kind == KINETO_PYTHON || x->kind == KINETO_MEMORY) continue;
        if (!goes_on(e, &k->event[order[last]], x)) break;
        last = at, ++*n;
    }
    return last;
}

bool gp_kineto_polls(kineto *k, const int *order) {
    for (int i = 0; i < k->n; i++) {
        kineto_event *e = &k->event[order[i]];
        if (!asks(e)) continue;
        int n, last = last_of(k, order, i, &n);
        char name[120];
        int len = snprintf(name, sizeof name, "%s, polled", e->name);
        if (n >= LEAST && len < (int)sizeof name) {
            e->dur = end_of(&k->event[order[last]]) - e->t0;
            if (!(e->name = gp_intern_add(k->names, name, (size_t)len))) return false;
            for (int at = i + 1; at <= last; at++)
                if (k->event[order[at]].kind == KINETO_CALL)
                    k->event[order[at]].kind = KINETO_OTHER;
        }
        i = last;
    }
    return true;
}
