/* The survey before a backward walk: one visit of each node that it may reach. */
#include "tensor/autograd/survey.h"

#include <stdlib.h>

#include "tensor/intercept.h"
#include "tensor/device/device.h"
#include "tensor/base/error.h"

typedef struct visit {
    uint64_t mark; /* of the nodes and leaves that were seen */
    gp_survey *to;
    gp_node **stack; /* seen, and their inputs not yet */
    int n, cap;
} visit;

bool gp_node_forked(const gp_node *n) {
    const gp_stream *s = n->stream;
    return s && s->async && s->dev->vt->on_host && !s->deferred;
}

static void see(visit *v, gp_node *n) {
    if (n->mark == v->mark) return;
    n->mark = v->mark;
    v->to->forked += gp_node_forked(n);
    v->stack[v->n++] = n;
}

static void count_edge(visit *v, gp_leaf *l) {
    if (l->mark != v->mark) l->mark = v->mark, l->edges = 0;
    l->edges++;
}

/* Room for `more` nodes. */
static bool reserve(visit *v, int more) {
    if (v->n + more <= v->cap) return true;
    int cap = 2 * (v->n + more);
    gp_node **to = realloc(v->stack, (size_t)cap * sizeof *to);
    if (!to) return gp_fail("backward: out of memory");
    v->stack = to, v->cap = cap;
    return true;
}

bool gp_survey_nodes(gp_node *const *first, int n, bool leaves, gp_survey *to) {
    static _Thread_local uint64_t walks;
    const gp_stream *host = gp_device_cpu()->streams[0];
    bool watched = leaves && atomic_load_explicit(&gp_grad_watched, memory_order_relaxed);
    bool captured = gp_kept() & GP_KEEPS_LAUNCHES;
    bool alone = captured || atomic_load_explicit(&host->alone, memory_order_relaxed);
    *to = (gp_survey){.leaves = watched};
    if (!watched && alone) return true;
    visit v = {.mark = ++walks, .to = to};
    bool ok = reserve(&v, n + 64);
    for (int i = 0; ok && i < n; i++) see(&v, first[i]);
    while (ok && v.n) {
        gp_node *at = v.stack[--v.n];
        ok = reserve(&v, at->nin);
        for (int i = 0; ok && i < at->nin; i++) {
            const gp_input *in = &at->in[i];
            if (!in->need) continue;
            if (in->leaf) count_edge(&v, in->leaf);
            else if (in->node) see(&v, in->node);
        }
    }
    free(v.stack);
    if (captured) to->forked = 0;
    return ok;
}
