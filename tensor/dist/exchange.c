/* Collectives on the worker of a communication stream: ranks first compare what they call, then
 * exchange data. Nothing waits longer than the timeout. */
#include "tensor/dist/dist.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tensor/device/thread.h"
#include "tensor/dist/world.h"
#include "tensor/error.h"

static gp_world *const w = &gp_the_world;

static const char *name_of(const gp_dist_call *d) { return d->call ? d->call->name : "dist.init"; }

/* ---- waiting ---- */

/* The first rank of the call's group that has ended, -1 if none has; moving: that was killed, since
 * one that took part may end before its data is here. With the lock held. */
static int ended(const gp_dist_call *d, bool moving) {
    const gp_group *g = &w->group[d->group];
    gp_dist_look();
    for (int r = 0; r < g->n; r++) {
        const gp_peer *p = &w->peers[g->all[r]];
        if (r != g->rank && p->ended && !(moving && p->work < 0)) return g->all[r];
    }
    return -1;
}

static bool fail_ended(const gp_dist_call *d, int rank) {
    const gp_note *note = &w->peers[rank].note;
    return gp_fail("%s: rank %d has ended (%s) and does not take part", name_of(d), rank,
                   *note->text ? note->text : "its script came to its end");
}

/* Tests each work that is not done; false where one fails, with the lock held. A call that another
 * stream gave up ends this one, too: its memory may be freed, and a test might write there. */
static bool test_all(const gp_dist_call *d, int *work, int n, int *left) {
    *left = 0;
    if (w->in_use)
        return gp_fail("%s: an earlier collective has failed: %s", name_of(d), w->broken);
    for (int i = 0; i < n; i++) {
        if (work[i] < 0) continue;
        int done = w->transport->test(work[i]);
        if (done < 0) return gp_fail("%s: %s", name_of(d), w->transport->error);
        if (done) work[i] = -1;
        else ++*left;
    }
    return true;
}

/* The ranks that are missing, as text. */
static void list_missing(const gp_dist_call *d, const int *work, int n, const int *missing,
                         char *text, size_t size) {
    size_t at = 0;
    int count = 0;
    *text = 0;
    for (int i = 0; missing && i < n && at < size; i++)
        if (work[i] >= 0 && missing[i] >= 0)
            at += (size_t)snprintf(text + at, size - at, "%s%d", count++ ? ", " : "",
                                   w->group[d->group].all[missing[i]]);
}

static bool fail_late(const gp_dist_call *d, const int *work, int n, const int *missing) {
    char who[200];
    list_missing(d, work, n, missing, who, sizeof who);
    if (!*who)
        return gp_fail("%s: began on all ranks, and did not end within %g s", name_of(d),
                       w->timeout);
    return gp_fail("%s: rank %s did not come within %g s (it neither takes part nor has it ended)",
                   name_of(d), who, w->timeout);
}

/* Between two looks: at first it polls, then it leaves the processor to others. What waits for a
 * slow rank sleeps; data on its way moves only when it is tested. */
static void pause_for(uint64_t waited, bool moving) {
    if (waited < 50000) return;
    if (moving || waited < 300000) sched_yield();
    else nanosleep(&(struct timespec){.tv_nsec = waited < 5000000 ? 20000 : 200000}, NULL);
}

/* A rank's last word may be seen before what it sent earlier: a while passes between both. */
enum { LOOK_NS = 2000000, GRACE_NS = 300000000 };

bool gp_dist_finish(const gp_dist_call *d, int *work, int n, const int *missing) {
    uint64_t t0 = gp_now_ns(), looked = t0, gone = 0;
    for (int left = 1, rank = -1;;) {
        uint64_t now = gp_now_ns();
        gp_lock(&w->lock);
        bool ok = test_all(d, work, n, &left);
        if (ok && left && !gone && now - looked > LOOK_NS && d->call) {
            looked = now;
            if ((rank = ended(d, !missing)) >= 0) gone = now;
        }
        gp_unlock(&w->lock);
        if (!ok || !left) return ok;
        if (gone && now - gone > GRACE_NS) return fail_ended(d, rank);
        if (atomic_load_explicit(&w->abandoned, memory_order_relaxed))
            return gp_fail("%s: ended with the script", name_of(d));
        if ((double)(now - t0) > w->timeout * 1e9) return fail_late(d, work, n, missing);
        pause_for(now - t0, !missing);
    }
}

/* ---- headers ---- */

static void fill(const gp_dist_call *d, gp_header *h) {
    const gp_call *c = d->call;
    *h = (gp_header){.line = c->loc.line, .root = d->root};
    if (d->root >= 0) h->root = w->group[d->group].all[d->root];
    const char *file = c->loc.file ? c->loc.file : "?";
    size_t n = strlen(file);
    snprintf(h->name, sizeof h->name, "%s", c->name);
    snprintf(h->how, sizeof h->how, "%s", d->how);
    snprintf(h->file, sizeof h->file, "%s", n < sizeof h->file ? file : file + n - 79);
    h->dtype = d->x->dtype;
    h->ndim = d->x->ndim;
    for (int i = 0; i < h->ndim; i++) h->dim[i] = d->x->dim[i];
}

static bool same(const gp_header *a, const gp_header *b) {
    return !strcmp(a->name, b->name) && !strcmp(a->how, b->how) && a->root == b->root &&
           a->dtype == b->dtype && a->ndim == b->ndim &&
           !memcmp(a->dim, b->dim, (size_t)a->ndim * sizeof *a->dim);
}

/* "dist.all_reduce(sum) of f32 2x3 at train.lua:7" */
static void describe(const gp_header *h, char *text, size_t size) {
    char shape[160];
    gp_shape s = {.ndim = h->ndim};
    memcpy(s.dim, h->dim, sizeof s.dim);
    int n = snprintf(text, size, "%s", h->name);
    if (*h->how) n += snprintf(text + n, size - (size_t)n, "(%s)", h->how);
    if (h->root >= 0) n += snprintf(text + n, size - (size_t)n, " with root %d", h->root);
    snprintf(text + n, size - (size_t)n, " of %s %s at %s:%d", gp_dtype_name((gp_dtype)h->dtype),
             gp_shape_text(&s, shape, sizeof shape), h->file, h->line);
}

/* Compares the headers of all ranks with the first one's. */
static bool compare(const gp_dist_call *d, const gp_header *all) {
    const gp_group *g = &w->group[d->group];
    for (int r = 1; r < g->n; r++) {
        char a[400], b[400];
        if (same(&all[0], &all[r])) continue;
        describe(&all[0], a, sizeof a);
        describe(&all[r], b, sizeof b);
        return gp_fail("%s: ranks differ: rank %d calls %s, rank %d %s", name_of(d), g->all[0], a,
                       g->all[r], b);
    }
    return true;
}

int gp_dist_comm(const gp_dist_call *d) {
    return w->group[d->group].comm[!d->call->stream->dev->vt->on_host];
}

void gp_dist_break(const char *text) {
    gp_lock(&w->lock);
    if (!*w->broken) snprintf(w->broken, sizeof w->broken, "%s", text);
    gp_unlock(&w->lock);
}

static bool is_whole(const gp_dist_call *d) {
    return !*w->broken ||
           gp_fail("%s: an earlier collective has failed, and ranks are no longer in step: %s",
                   name_of(d), w->broken);
}

/* Fails with data on its way: MPI must not move it into memory that is freed from here on. */
static bool give_up_data(const char *text) {
    gp_dist_break(text);
    gp_lock(&w->lock);
    w->in_use = true;
    gp_unlock(&w->lock);
    return false;
}

/* Fails with work that is left as it is: no collective can run any more. */
static bool give_up(int *work, int n) {
    gp_lock(&w->lock);
    for (int i = 0; i < n; i += 2)
        if (work[i] >= 0) w->transport->cancel(work[i]); /* the receives; sends are on their way */
    gp_unlock(&w->lock);
    gp_dist_break(gp_error());
    return false;
}

static _Thread_local uint64_t met; /* ns that the last gp_dist_meet on this thread took */

/* Every rank sends its header to every other one: who has not come is known by name. */
bool gp_dist_meet(const gp_dist_call *d) {
    gp_group *g = &w->group[d->group];
    int k = !d->call->stream->dev->vt->on_host, n = 0, comm = g->comm[k];
    gp_transport *t = w->transport;
    if (!t) return true;
    if (!is_whole(d)) return false;
    uint64_t t0 = gp_now_ns();
    gp_header *all = g->head[k];
    fill(d, &all[g->rank]);
    gp_lock(&w->lock);
    for (int r = 0; r < g->n; r++) {
        if (r == g->rank) continue;
        g->peer[k][n] = r;
        g->work[k][n++] = t->receive(comm, r, GP_TAG_HEADER, &all[r], sizeof *all);
        g->peer[k][n] = -1;
        g->work[k][n++] = t->send(comm, r, GP_TAG_HEADER, &all[g->rank], sizeof *all);
    }
    gp_unlock(&w->lock);
    for (int i = 0; i < n; i++)
        if (g->work[k][i] < 0)
            return gp_fail("%s: %s", name_of(d), t->error), give_up(g->work[k], n);
    if (!gp_dist_finish(d, g->work[k], n, g->peer[k])) return give_up(g->work[k], n);
    met = gp_now_ns() - t0;
    return compare(d, all);
}

bool gp_dist_run(const gp_dist_call *d, const gp_wire *wire) {
    gp_activity_waited = met;
    gp_lock(&w->lock);
    int work = w->transport->start(gp_dist_comm(d), wire);
    gp_unlock(&w->lock);
    if (work >= 0 && gp_dist_finish(d, &work, 1, NULL)) return true;
    if (work < 0) gp_fail("%s: %s", name_of(d), w->transport->error);
    return give_up_data(gp_error());
}

/* ---- from one rank to another ---- */

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
    if (!p) return gp_fail("%s: out of memory", name_of(d));
    if (!is_whole(d)) return free(p), false;
    memcpy(p->data, data, bytes);
    fill(d, &p->head);
    gp_lock(&w->lock);
    sweep();
    int comm = gp_dist_comm(d);
    p->work[0] = t->send(comm, d->root, GP_TAG_SEND, &p->head, sizeof p->head);
    p->work[1] = t->send(comm, d->root, GP_TAG_DATA, p->data, bytes);
    p->next = sending;
    sending = p;
    bool ok = p->work[0] >= 0 && p->work[1] >= 0;
    gp_unlock(&w->lock);
    return ok || gp_fail("%s: %s", name_of(d), t->error);
}

/* What was sent must be taken, even where it does not fit. */
static bool take(const gp_dist_call *d, void *p, size_t bytes) {
    int peer = d->root;
    gp_lock(&w->lock);
    int work = w->transport->receive(gp_dist_comm(d), d->root, GP_TAG_DATA, p, bytes);
    gp_unlock(&w->lock);
    if (work >= 0 && gp_dist_finish(d, &work, 1, &peer)) return true;
    if (work < 0) gp_fail("%s: %s", name_of(d), w->transport->error);
    return give_up_data(gp_error());
}

static size_t bytes_of(const gp_header *h) {
    size_t n = gp_dtype_size((gp_dtype)h->dtype);
    for (int i = 0; i < h->ndim; i++) n *= (size_t)h->dim[i];
    return n;
}

static bool refuse(const gp_dist_call *d, const gp_header *sent) {
    char a[400], b[400];
    gp_header mine;
    void *rest = malloc(bytes_of(sent) + 1);
    if (!rest) return gp_fail("%s: out of memory", name_of(d));
    if (!take(d, rest, bytes_of(sent))) return false; /* MPI may still write there */
    free(rest);
    fill(d, &mine);
    describe(&mine, a, sizeof a);
    describe(sent, b, sizeof b);
    return gp_fail("%s: ranks differ: rank %d calls %s, rank %d %s", name_of(d), w->rank, a,
                   w->group[d->group].all[d->root], b);
}

bool gp_dist_receive(const gp_dist_call *d, void *p, size_t bytes) {
    gp_header *h = malloc(sizeof *h), mine;
    int peer = d->root;
    if (!h) return gp_fail("%s: out of memory", name_of(d));
    if (!is_whole(d)) return free(h), false;
    gp_lock(&w->lock);
    int work = w->transport->receive(gp_dist_comm(d), d->root, GP_TAG_SEND, h, sizeof *h);
    gp_unlock(&w->lock);
    if (work < 0) return free(h), gp_fail("%s: %s", name_of(d), w->transport->error);
    if (!gp_dist_finish(d, &work, 1, &peer)) return give_up(&work, 1);
    fill(d, &mine);
    bool fits = h->dtype == mine.dtype && h->ndim == mine.ndim &&
                !memcmp(h->dim, mine.dim, mine.ndim * sizeof *mine.dim);
    bool ok = fits ? take(d, p, bytes) : refuse(d, h);
    return free(h), ok;
}
