/* Collectives that a device's own library runs in stream order (NCCL): ranks tell one another what
 * they call without waiting, and compare it when it has come. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/device/stream/thread.h"
#include "tensor/dist/world.h"
#include "tensor/base/error.h"

static gp_world *const w = &gp_the_world;

/* A call that this rank has queued, until the others' are here. */
typedef struct posted {
    struct posted *next;
    gp_call call; /* name, line and stream alone */
    gp_dist_call d;
    uint64_t t0;
    int n, *work, *peer; /* as gp_process_group's */
    gp_header *all;
} posted;

static posted *first, **end = &first; /* guarded by the world's lock */
static int count;
static posted last; /* the latest one's call: of its ranks none may be killed */
static uint64_t looked, gone;
static int gone_rank;
static void *lost; /* what gp_dist_share sent in vain, which MPI may still use */

enum { MOST = 64, LOOK_NS = 2000000, GRACE_NS = 300000000 };

static posted *new_posted(const gp_dist_call *d) {
    const gp_process_group *g = gp_group_at(d->group);
    posted *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->d = *d, p->d.call = &p->call, p->d.x = NULL;
    p->call.name = d->call->name, p->call.loc = d->call->loc, p->call.stream = d->call->stream;
    p->t0 = gp_real_ns();
    p->work = calloc(2 * (size_t)g->n, sizeof *p->work);
    p->peer = calloc(2 * (size_t)g->n, sizeof *p->peer);
    p->all = calloc((size_t)g->n, sizeof *p->all);
    return p;
}

static void free_posted(posted *p) {
    if (!p) return;
    free(p->work);
    free(p->peer);
    free(p->all);
    free(p);
}

/* With the lock held. False with a message where a message cannot be sent. */
static bool send_header(posted *p) {
    const gp_process_group *g = gp_group_at(p->d.group);
    gp_transport *t = w->transport;
    int comm = gp_dist_comm(&p->d);
    for (int r = 0; r < g->n; r++) {
        if (r == g->rank) continue;
        p->peer[p->n] = r;
        p->work[p->n++] = t->receive(comm, r, GP_TAG_HEADER, &p->all[r], sizeof *p->all);
        p->peer[p->n] = -1;
        p->work[p->n++] = t->send(comm, r, GP_TAG_HEADER, &p->all[g->rank], sizeof *p->all);
        if (p->work[p->n - 1] < 0 || p->work[p->n - 2] < 0)
            return gp_fail("%s: %s", p->call.name, t->error);
    }
    return true;
}

bool gp_dist_post(const gp_dist_call *d) {
    if (!gp_dist_is_whole(d)) return false;
    while (count >= MOST) { /* far ahead of the others, as with a full queue */
        if (!gp_dist_check()) return false;
        sched_yield();
    }
    posted *p = new_posted(d);
    if (!p || !p->work || !p->peer || !p->all)
        return free_posted(p), gp_fail("%s: out of memory", d->call->name);
    gp_dist_fill(d, &p->all[gp_group_at(d->group)->rank]);
    gp_dist_lock();
    bool ok = send_header(p);
    last.call = p->call, last.d = p->d, last.d.call = &last.call;
    *end = p, end = &p->next;
    count++;
    gp_unlock(&w->lock);
    if (!ok) gp_dist_break(gp_error());
    return ok;
}

/* The first call is done with. With the lock held. */
static void drop_first(void) {
    posted *p = first;
    if (!(first = p->next)) end = &first;
    count--;
    free_posted(p);
}

/* Compares what has come. With the lock held. */
static bool compare_posted(void) {
    int left = 0;
    while (first) {
        if (!gp_dist_test_all(&first->d, first->work, first->n, &left)) return false;
        if (left) return true;
        if (!gp_dist_compare(&first->d, first->all)) return false;
        drop_first();
    }
    return true;
}

/* Whether no rank that a call needs has ended, a while ago. With the lock held. */
static bool ranks_are_there(uint64_t now) {
    if (now - looked < LOOK_NS || !last.d.call) return true;
    looked = now;
    const posted *p = first ? first : &last;
    if (!gone && (gone_rank = gp_dist_ended(&p->d, !first)) >= 0) gone = now;
    return !gone || now - gone < GRACE_NS || gp_dist_fail_ended(&p->d, gone_rank);
}

bool gp_dist_check(void) {
    uint64_t now = gp_real_ns();
    if (!w->transport) return true;
    gp_dist_lock();
    bool ok = !*w->broken || gp_fail("dist: an earlier collective has failed, and ranks are no "
                                     "longer in step: %s",
                                     w->broken);
    ok = ok && compare_posted() && ranks_are_there(now);
    if (ok && first && (double)(now - first->t0) > w->timeout * 1e9)
        ok = gp_dist_fail_missing(&first->d, first->work, first->n, first->peer);
    for (posted *p = ok ? NULL : first; p; p = p->next)
        for (int i = 0; i < p->n; i += 2)
            if (p->work[i] >= 0) w->transport->cancel(p->work[i]), p->work[i] = -1;
    gp_unlock(&w->lock);
    if (!ok) gp_dist_break(gp_error());
    return ok;
}

/* Starts sending this rank's part of `all` to the others, and receiving theirs: how many works that
 * takes. */
static int start_sharing(const gp_dist_call *d, char *all, size_t bytes, int *work, int *peer) {
    const gp_process_group *g = gp_group_at(d->group);
    gp_transport *t = w->transport;
    int n = 0, comm = gp_dist_comm(d);
    gp_dist_lock();
    for (int r = 0; r < g->n; r++) {
        if (r == g->rank) continue;
        peer[n] = r;
        work[n++] = t->receive(comm, r, GP_TAG_SHARE, all + (size_t)r * bytes, bytes);
        peer[n] = -1;
        work[n++] = t->send(comm, r, GP_TAG_SHARE, all + (size_t)g->rank * bytes, bytes);
    }
    gp_unlock(&w->lock);
    return n;
}

bool gp_dist_share(const gp_dist_call *d, void *all, size_t bytes) {
    size_t ranks = (size_t)gp_group_at(d->group)->n;
    int *work = calloc(2 * ranks, sizeof *work), *peer = calloc(2 * ranks, sizeof *peer);
    char *copy = malloc(ranks * bytes);
    if (!work || !peer || !copy)
        return free(work), free(peer), free(copy), gp_fail("%s: out of memory", d->call->name);
    memcpy(copy, all, ranks * bytes);
    int n = start_sharing(d, copy, bytes, work, peer);
    bool ok = true;
    for (int i = 0; i < n; i++) ok = ok && work[i] >= 0;
    ok = ok ? gp_dist_finish(d, work, n, GP_AWAIT_RANKS, peer)
            : gp_fail("%s: %s", d->call->name, w->transport->error);
    if (ok) memcpy(all, copy, ranks * bytes), free(copy);
    else lost = copy, gp_dist_break(gp_error());
    free(work);
    free(peer);
    return ok;
}
