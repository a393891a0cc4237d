/* Messages between the thread of the sockets and the others. */
#include "shell/kernel/kernel.h"

#include <string.h>
#include <time.h>

#include "tensor/device/stream/thread.h"

/* Waits for a change, at most 20 ms: a signal ends no wait for a condition. */
static void wait_briefly(gp_kqueue *q) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_cond_timedwait(&q->changed, &q->lock, &until);
}

void gp_kqueue_put(gp_kqueue *q, gp_kmessage *m) {
    if (!m) return;
    gp_lock(&q->lock);
    m->next = NULL;
    *q->last = m;
    q->last = &m->next;
    q->n++;
    pthread_cond_broadcast(&q->changed);
    gp_unlock(&q->lock);
}

void gp_kqueue_wait_taken(gp_kqueue *q, const gp_flag *stop) {
    gp_lock(&q->lock);
    while (q->n && !q->closed && !*stop) wait_briefly(q);
    gp_unlock(&q->lock);
}

gp_kmessage *gp_kqueue_take(gp_kqueue *q, bool wait) {
    gp_lock(&q->lock);
    while (wait && !q->first && !q->closed) pthread_cond_wait(&q->changed, &q->lock);
    gp_kmessage *m = wait && q->closed ? NULL : q->first;
    if (m) {
        q->first = m->next;
        if (!q->first) q->last = &q->first;
        q->n--;
        if (q == &gp_krequests) atomic_store(&gp_kbusy, true);
        pthread_cond_broadcast(&q->changed);
    }
    gp_unlock(&q->lock);
    return m;
}

void gp_kqueue_close(gp_kqueue *q) {
    gp_lock(&q->lock);
    q->closed = true;
    pthread_cond_broadcast(&q->changed);
    gp_unlock(&q->lock);
}

int gp_kqueue_count(gp_kqueue *q) {
    gp_lock(&q->lock);
    int n = q->n;
    gp_unlock(&q->lock);
    return n;
}

void gp_kqueue_abort(gp_kqueue *q, const char *type) {
    gp_lock(&q->lock);
    for (gp_kmessage *m = q->first; m; m = m->next)
        if (!strcmp(m->type, type)) m->aborted = true;
    gp_unlock(&q->lock);
}
