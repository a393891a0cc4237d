/* How ranks meet before a collective: each gives a packet with a hash of its call, and a collective
 * of the transport joins them. Small reductions travel in the packet. */
#include "tensor/dist/dist.h"

#include <string.h>

#include "tensor/device/stream/thread.h"
#include "tensor/dist/world.h"
#include "tensor/base/error.h"
#include "tensor/intercept.h"
#include "tensor/op.h"

enum { HERE_NS = 200000, LATE_NS = 300000000, TESTS = 8 };

static gp_world *const w = &gp_the_world;
static _Thread_local bool here; /* the calling thread runs the call itself, if it need not wait, */
static _Thread_local uint64_t since; /* from then on, in ns of gp_now_ns */

/* ---- the packet ---- */

static size_t bytes_of(const gp_wire *data) {
    return (size_t)data->count * gp_dtype_size(data->dtype);
}

/* Starts to join the packets. Where the caller waits and all ranks come at the same time, they are
 * joined at once: the first tests take neither the lock nor the clock again. */
static bool begin(const gp_dist_call *d, gp_process_group *g, const gp_wire *data) {
    int k = gp_dist_pair(d);
    gp_packet *p = &g->packet[k];
    uint64_t t0 = here ? since : gp_now_ns(), hash = gp_dist_hash(d);
    int done = 0;
    *p = (gp_packet){.most = hash, .least = ~hash};
    if (data) {
        p->op = (uint8_t)data->op, p->dtype = (uint8_t)data->dtype, p->count = (uint8_t)data->count;
        memcpy(p->data, data->in, bytes_of(data));
    }
    gp_dist_lock();
    int work = w->transport->join(g->comm[k], p);
    bool soon = here && !w->crowded && work >= 0;
    for (int i = 0; soon && !done && i < TESTS; i++) done = w->transport->test(work);
    gp_unlock(&w->lock);
    if (work < 0)
        return gp_fail("%s: %s", gp_dist_name(d), w->transport->error), gp_dist_give_up(NULL, 0);
    g->joining[k] = done == 1 ? -1 : work;
    g->meeting[k] = done == 1 ? GP_JOINED : GP_JOINING;
    g->began[k] = t0;
    return true;
}

/* Whether the packets are joined within a moment. As MPI does, it keeps its processor where each
 * rank has one. */
static bool is_joined_soon(gp_process_group *g, int k) {
    for (uint64_t t0 = gp_real_ns(), waited = 0; waited < HERE_NS; waited = gp_real_ns() - t0) {
        gp_dist_lock();
        bool done = !w->in_use && w->transport->test(g->joining[k]) == 1;
        gp_unlock(&w->lock);
        if (done) return g->joining[k] = -1, true;
        if (w->crowded) gp_dist_pause(waited, true);
    }
    return false;
}

static bool are_same(const gp_packet *p) { return p->most == ~p->least; }

/* All ranks know that they differ, and show each other how. */
static bool fail_differ(const gp_dist_call *d, gp_process_group *g) {
    int k = gp_dist_pair(d), n = gp_dist_exchange(d, GP_TAG_HEADER);
    if (n < 0 || !gp_dist_finish(d, g->work[k], n, GP_AWAIT_RANKS, g->peer[k]))
        return gp_dist_give_up(g->work[k], n < 0 ? 0 : n);
    return gp_dist_compare(d, g->head[k]) &&
           gp_fail("%s: ranks differ, and their calls look the same", gp_dist_name(d));
}

static bool join(const gp_dist_call *d, gp_process_group *g, int k) {
    bool ok =
        here ? is_joined_soon(g, k)
             : gp_dist_finish(d, &g->joining[k], 1, GP_AWAIT_ALL, NULL) || gp_dist_give_up(NULL, 0);
    if (ok) g->meeting[k] = GP_JOINED;
    return ok;
}

bool gp_dist_meet(const gp_dist_call *d, const gp_wire *data) {
    gp_process_group *g = gp_group_at(d->group);
    int k = gp_dist_pair(d);
    if (!w->transport) return true;
    if ((here && !data) || !gp_dist_is_whole(d)) return false;
    if (g->meeting[k] == GP_APART && !begin(d, g, data)) return false;
    if (g->meeting[k] == GP_JOINING && !join(d, g, k)) return false;
    if (here && !are_same(&g->packet[k])) return false;
    g->meeting[k] = GP_APART;
    for (int r = 0; r < g->n; r++)
        atomic_fetch_add_explicit(&w->peers[g->all[r]].met[k], 1, memory_order_relaxed);
    gp_activity_began = g->began[k];
    gp_activity_waited = data ? UINT64_MAX : gp_now_ns() - g->began[k];
    if (!are_same(&g->packet[k])) return fail_differ(d, g);
    if (data) memcpy(data->in, g->packet[k].data, bytes_of(data));
    return true;
}

/* ---- on the caller's thread ---- */

/* The wait's line is the call's. */
static void report(const gp_call *c, uint64_t t0) {
    gp_stream *s = c->stream;
    void (*hook)(const gp_activity *) = GP_HOOK(device);
    uint64_t t1 = gp_now_ns();
    if (hook)
        hook(&(gp_activity){
            .s = s, .op = c->op, .id = c->id, .t0 = t0, .t1 = t1, .waited = t1 - t0});
    gp_srcloc_set_known(c->loc);
    gp_wait_over(s, GP_WHY_collective, c->name, t0, t1);
    gp_srcloc_set_known((gp_srcloc){0});
}

bool gp_dist_is_here(void) { return here; }

bool gp_dist_run_here(gp_call *c, bool (*run)(gp_call *)) {
    if (gp_stream_queued(c->stream) || gp_kept()) return false;
    if (!gp_wait_allowed(c->stream, GP_WHY_collective, c->name)) return false;
    since = gp_now_ns();
    here = true;
    bool ok = run(c);
    here = false;
    if (ok) report(c, since);
    else gp_error_clear();
    return ok;
}

/* ---- who has not come ---- */

/* The first whose timeout is over sends its header to all, and those that wait, too, then answer:
 * who does not within a moment has not come. */
bool gp_dist_fail_late(const gp_dist_call *d) {
    gp_process_group *g = gp_group_at(d->group);
    int k = gp_dist_pair(d), left = 1;
    char who[200] = "";
    int n = gp_dist_exchange(d, GP_TAG_LATE);
    uint64_t t0 = gp_real_ns();
    while (n > 0 && left && gp_real_ns() - t0 < LATE_NS) {
        left = 0;
        gp_dist_lock();
        for (int i = 0; i < n; i++)
            if (g->work[k][i] >= 0 && w->transport->test(g->work[k][i]) == 1) g->work[k][i] = -1;
            else left += g->work[k][i] >= 0;
        gp_unlock(&w->lock);
        gp_dist_pause(gp_real_ns() - t0, false);
    }
    if (n > 0) gp_dist_list(d, g->work[k], n, g->peer[k], who, sizeof who);
    if (n > 0) gp_dist_give_up(g->work[k], n);
    if (!*who) return gp_fail("%s: not all ranks came within %g s", gp_dist_name(d), w->timeout);
    return gp_fail("%s: rank %s did not come within %g s (it neither takes part nor has it ended)",
                   gp_dist_name(d), who, w->timeout);
}
