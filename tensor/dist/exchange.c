/* Work of the transport, on the worker of a communication stream: what is started, how it is waited
 * for, and what ends the wait. Nothing waits longer than the timeout. */
#include "tensor/dist/dist.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensor/device/stream/thread.h"
#include "tensor/dist/world.h"
#include "tensor/base/error.h"

static gp_world *const w = &gp_the_world;

/* ---- waiting ---- */

int gp_dist_ended(const gp_dist_call *d, bool moving) {
    const gp_process_group *g = gp_group_at(d->group);
    gp_dist_look();
    for (int r = 0; r < g->n; r++) {
        const gp_peer *p = &w->peers[g->all[r]];
        if (r != g->rank && p->ended && !(moving && p->work < 0)) return g->all[r];
    }
    return -1;
}

bool gp_dist_fail_ended(const gp_dist_call *d, int rank) {
    const gp_note *note = &w->peers[rank].note;
    return gp_fail("%s: rank %d has ended (%s) and does not take part", gp_dist_name(d), rank,
                   *note->text ? note->text : "its script came to its end");
}

bool gp_dist_test_all(const gp_dist_call *d, int *work, int n, int *left) {
    *left = 0;
    if (w->in_use)
        return gp_fail("%s: an earlier collective has failed: %s", gp_dist_name(d), w->broken);
    for (int i = 0; i < n; i++) {
        if (work[i] < 0) continue;
        int done = w->transport->test(work[i]);
        if (done < 0) return gp_fail("%s: %s", gp_dist_name(d), w->transport->error);
        if (done) work[i] = -1;
        else ++*left;
    }
    return true;
}

void gp_dist_list(const gp_dist_call *d, const int *work, int n, const int *peer, char *text,
                  size_t size) {
    size_t at = 0;
    int count = 0;
    *text = 0;
    for (int i = 0; i < n && at < size; i++)
        if (work[i] >= 0 && peer[i] >= 0)
            at += (size_t)snprintf(text + at, size - at, "%s%d", count++ ? ", " : "",
                                   gp_group_at(d->group)->all[peer[i]]);
}

bool gp_dist_fail_missing(const gp_dist_call *d, const int *work, int n, const int *peer) {
    char who[200];
    gp_dist_list(d, work, n, peer, who, sizeof who);
    return gp_fail("%s: rank %s did not come within %g s (it neither takes part nor has it ended)",
                   gp_dist_name(d), who, w->timeout);
}

static bool fail_late(const gp_dist_call *d, const int *work, int n, gp_await what,
                      const int *peer) {
    if (what == GP_AWAIT_ALL) return gp_dist_fail_late(d);
    if (what == GP_AWAIT_DATA)
        return gp_fail("%s: began on all ranks, and did not end within %g s", gp_dist_name(d),
                       w->timeout);
    return gp_dist_fail_missing(d, work, n, peer);
}

/* Between two looks: at first it polls, then it leaves the processor to others. What waits for a
 * slow rank sleeps; data on its way moves only when it is tested. */
void gp_dist_pause(uint64_t waited, bool moving) {
    if (waited < 50000) return;
    if (moving || waited < 300000) sched_yield();
    else nanosleep(&(struct timespec){.tv_nsec = waited < 5000000 ? 20000 : 200000}, NULL);
}

/* A rank's last word may be seen before what it sent earlier: a while passes between both. */
enum { LOOK_NS = 2000000, GRACE_NS = 300000000 };

/* What ends a wait before its work is done. With the lock held. */
typedef struct watch {
    uint64_t looked, gone; /* when ranks were looked at, and when one was seen to have ended */
    int rank;              /* that one */
    bool late;             /* another rank's timeout is over */
    bool told, differs;    /* gp_dist_differs's */
} watch;

static void look(const gp_dist_call *d, gp_await what, uint64_t t0, uint64_t now, watch *a) {
    if (!d->call || a->gone || now - a->looked < LOOK_NS) return;
    a->looked = now;
    a->rank = gp_dist_ended(d, what == GP_AWAIT_DATA);
    if (a->rank >= 0) a->gone = now;
    if (what != GP_AWAIT_ALL) return;
    a->late = w->transport->sender(gp_dist_comm(d), GP_TAG_LATE) >= 0;
    a->differs = gp_dist_differs(d, now - t0, &a->told);
}

bool gp_dist_finish(const gp_dist_call *d, int *work, int n, gp_await what, const int *peer) {
    uint64_t t0 = gp_real_ns();
    watch a = {.looked = t0};
    for (int left = 1;;) {
        uint64_t now = gp_real_ns();
        gp_dist_lock();
        bool ok = gp_dist_test_all(d, work, n, &left);
        if (ok && left) look(d, what, t0, now, &a);
        gp_unlock(&w->lock);
        if (!ok || !left) return ok;
        if (a.differs) return false;
        if (a.gone && now - a.gone > GRACE_NS) return gp_dist_fail_ended(d, a.rank);
        if (atomic_load_explicit(&w->abandoned, memory_order_relaxed))
            return gp_fail("%s: ended with the script", gp_dist_name(d));
        if (a.late || (double)(now - t0) > w->timeout * 1e9)
            return fail_late(d, work, n, what, peer);
        gp_dist_pause(now - t0, what == GP_AWAIT_DATA);
    }
}

/* ---- failing ---- */

int gp_dist_pair(const gp_dist_call *d) { return !d->call->stream->dev->vt->on_host; }

int gp_dist_comm(const gp_dist_call *d) {
    return gp_group_at(d->group)->comm[!d->call->stream->dev->vt->on_host];
}

void gp_dist_break(const char *text) {
    gp_dist_lock();
    if (!*w->broken) snprintf(w->broken, sizeof w->broken, "%s", text);
    gp_unlock(&w->lock);
}

bool gp_dist_is_whole(const gp_dist_call *d) {
    return !*w->broken ||
           gp_fail("%s: an earlier collective has failed, and ranks are no longer in step: %s",
                   gp_dist_name(d), w->broken);
}

/* Fails with data on its way: MPI must not move it into memory that is freed from here on. */
static bool give_up_data(const char *text) {
    gp_dist_break(text);
    gp_dist_lock();
    w->in_use = true;
    gp_unlock(&w->lock);
    return false;
}

bool gp_dist_give_up(int *work, int n) {
    gp_dist_lock();
    for (int i = 0; i < n; i += 2)
        if (work[i] >= 0) w->transport->cancel(work[i]); /* the receives; sends are on their way */
    gp_unlock(&w->lock);
    gp_dist_break(gp_error());
    return false;
}

bool gp_dist_run(const gp_dist_call *d, const gp_wire *wire) {
    gp_dist_lock();
    int work = w->transport->start(gp_dist_comm(d), wire);
    gp_unlock(&w->lock);
    if (work >= 0 && gp_dist_finish(d, &work, 1, GP_AWAIT_DATA, NULL)) return true;
    if (work < 0) gp_fail("%s: %s", gp_dist_name(d), w->transport->error);
    return give_up_data(gp_error());
}

/* ---- from one rank to another ---- */

int gp_dist_exchange(const gp_dist_call *d, int tag) {
    gp_process_group *g = gp_group_at(d->group);
    gp_transport *t = w->transport;
    int k = gp_dist_pair(d), n = 0, comm = g->comm[k];
    bool ok = true;
    gp_header *all = g->head[k];
    gp_dist_fill(d, &all[g->rank]);
    gp_dist_lock();
    for (int r = 0; r < g->n; r++) {
        if (r == g->rank) continue;
        g->peer[k][n] = r;
        g->work[k][n++] = t->receive(comm, r, tag, &all[r], sizeof *all);
        g->peer[k][n] = -1;
        g->work[k][n++] = t->send(comm, r, tag, &all[g->rank], sizeof *all);
        ok = ok && g->work[k][n - 1] >= 0 && g->work[k][n - 2] >= 0;
    }
    gp_unlock(&w->lock);
    return ok ? n : (gp_fail("%s: %s", gp_dist_name(d), t->error), -1);
}

/* A message that MPI still reads. */
typedef struct parcel {
    struct parcel *next;
    int work[2];
    gp_header head;
    char data[];
} parcel;
static parcel *sending; /* guarded by the world's lock */

/* Frees what has arrived. With the lock held. */
static void sweep(void) {
    for (parcel **at = &sending; *at;) {
        parcel *p = *at;
        for (int i = 0; i < 2; i++)
            if (p->work[i] >= 0 && w->transport->test(p->work[i])) p->work[i] = -1;
        if (p->work[0] >= 0 || p->work[1] >= 0) at = &p->next;
        else *at = p->next, free(p);
    }
}

bool gp_dist_send(const gp_dist_call *d, const void *data, size_t bytes) {
    parcel *p = malloc(sizeof *p + bytes);
    gp_transport *t = w->transport;
    if (!p) return gp_fail("%s: out of memory", gp_dist_name(d));
    if (!gp_dist_is_whole(d)) return free(p), false;
    memcpy(p->data, data, bytes);
    gp_dist_fill(d, &p->head);
    gp_dist_lock();
    sweep();
    int comm = gp_dist_comm(d);
    p->work[0] = t->send(comm, d->root, GP_TAG_SEND, &p->head, sizeof p->head);
    p->work[1] = t->send(comm, d->root, GP_TAG_DATA, p->data, bytes);
    p->next = sending;
    sending = p;
    bool ok = p->work[0] >= 0 && p->work[1] >= 0;
    gp_unlock(&w->lock);
    return ok || gp_fail("%s: %s", gp_dist_name(d), t->error);
}

/* What was sent must be taken, even where it does not fit. */
static bool receive_data(const gp_dist_call *d, void *p, size_t bytes) {
    int peer = d->root;
    gp_dist_lock();
    int work = w->transport->receive(gp_dist_comm(d), d->root, GP_TAG_DATA, p, bytes);
    gp_unlock(&w->lock);
    if (work >= 0 && gp_dist_finish(d, &work, 1, GP_AWAIT_RANKS, &peer)) return true;
    if (work < 0) gp_fail("%s: %s", gp_dist_name(d), w->transport->error);
    return give_up_data(gp_error());
}

static size_t bytes_of(const gp_header *h) {
    size_t n = gp_dtype_size((gp_dtype)h->dtype);
    for (int i = 0; i < h->ndim; i++) n *= (size_t)h->dim[i];
    return n;
}

static bool refuse(const gp_dist_call *d, const gp_header *sent) {
    gp_header mine;
    void *rest = malloc(bytes_of(sent) + 1);
    if (!rest) return gp_fail("%s: out of memory", gp_dist_name(d));
    if (!receive_data(d, rest, bytes_of(sent))) return false; /* MPI may still write there */
    free(rest);
    gp_dist_fill(d, &mine);
    return gp_dist_fail_differ(d, w->rank, &mine, gp_group_at(d->group)->all[d->root], sent);
}

bool gp_dist_receive(const gp_dist_call *d, void *p, size_t bytes) {
    gp_header *h = malloc(sizeof *h), mine;
    int peer = d->root;
    if (!h) return gp_fail("%s: out of memory", gp_dist_name(d));
    if (!gp_dist_is_whole(d)) return free(h), false;
    gp_dist_lock();
    int work = w->transport->receive(gp_dist_comm(d), d->root, GP_TAG_SEND, h, sizeof *h);
    gp_unlock(&w->lock);
    if (work < 0) return free(h), gp_fail("%s: %s", gp_dist_name(d), w->transport->error);
    if (!gp_dist_finish(d, &work, 1, GP_AWAIT_RANKS, &peer)) return gp_dist_give_up(&work, 1);
    gp_dist_fill(d, &mine);
    bool fits = h->dtype == mine.dtype && h->ndim == mine.ndim &&
                !memcmp(h->dim, mine.dim, mine.ndim * sizeof *mine.dim);
    bool ok = fits ? receive_data(d, p, bytes) : refuse(d, h);
    return free(h), ok;
}
