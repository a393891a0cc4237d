/* Ranks that wait for one another in different calls: on other devices, or in other groups. Packets
 * of such calls never meet. A rank that has waited for a while tells the others of its group where
 * it is; who waits elsewhere then knows that neither can go on, as all ranks call in one order. */
#include <stdio.h>
#include <string.h>

#include "tensor/dist/world.h"

enum { TELL_NS = 200000000 };

static gp_world *const w = &gp_the_world;
static struct {
    int work, from; /* that receives; -1: none */
    gp_waiting note;
} incoming = {.work = -1};

/* Whether nothing is queued on the collectives' stream of cpu (0) or sim (1). */
static bool is_idle(int k) {
    gp_stream *s = atomic_load(&w->stream[k]);
    return !s || !gp_stream_queued(s);
}

static void fill(const gp_dist_call *d, const gp_peer *p, gp_waiting *note) {
    int k = gp_dist_pair(d);
    *note = (gp_waiting){.known = true, .pair = k, .group = gp_group_at(d->group)->serial};
    note->idle = is_idle(!k);
    for (int i = 0; i < 2; i++) note->met[i] = atomic_load(&p->met[i]);
    gp_dist_fill(d, &note->head);
}

static void tell(const gp_dist_call *d) {
    const gp_process_group *g = gp_group_at(d->group);
    for (int r = 0; r < g->n; r++) {
        gp_peer *p = &w->peers[g->all[r]];
        if (r == g->rank || (p->telling >= 0 && w->transport->test(p->telling) != 1)) continue;
        fill(d, p, &p->told);
        p->telling = w->transport->send(0, g->all[r], GP_TAG_WAITING, &p->told, sizeof p->told);
    }
}

void gp_dist_hear(void) {
    gp_transport *t = w->transport;
    for (;;) {
        if (incoming.work < 0 && (incoming.from = t->sender(0, GP_TAG_WAITING)) >= 0)
            incoming.work =
                t->receive(0, incoming.from, GP_TAG_WAITING, &incoming.note, sizeof incoming.note);
        if (incoming.work < 0 || t->test(incoming.work) != 1) return;
        incoming.work = -1;
        w->peers[incoming.from].heard = incoming.note;
    }
}

/* Whether what p told, and this call, are met in different places of one order. Both have met as
 * often, so that neither has seen what the other waits for; on two devices, neither has it queued.
 */
static bool differs(const gp_dist_call *d, const gp_peer *p) {
    const gp_waiting *n = &p->heard;
    int k = gp_dist_pair(d);
    if (!n->known || n->met[n->pair] != atomic_load(&p->met[n->pair])) return false;
    if (n->pair == k) return n->group != gp_group_at(d->group)->serial;
    return n->met[k] == atomic_load(&p->met[k]) && n->idle && is_idle(n->pair);
}

bool gp_dist_differs(const gp_dist_call *d, uint64_t waited, bool *told) {
    const gp_process_group *g = gp_group_at(d->group);
    gp_header mine;
    if (waited < TELL_NS) return false;
    if (!*told) tell(d), *told = true;
    gp_dist_hear();
    for (int r = 0; r < g->n; r++) {
        const gp_peer *p = &w->peers[g->all[r]];
        if (r == g->rank || !differs(d, p)) continue;
        gp_dist_fill(d, &mine);
        if (g->all[r] < w->rank) gp_dist_fail_differ(d, g->all[r], &p->heard.head, w->rank, &mine);
        else gp_dist_fail_differ(d, w->rank, &mine, g->all[r], &p->heard.head);
        return true;
    }
    return false;
}
