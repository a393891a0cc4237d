/* What of each command's launch, and of each wait, was its call's: the host's time in the call that
 * queued it, without what else it did meanwhile. */
#include <stdlib.h>

#include "profile/replay/timeline.h"
#include "tensor/base/sort.h"

/* How long the host was in `part` from `from` to `to`, after step i, up to which it was in now. */
static uint64_t time_in(const gp_timeline *t, gp_host_activity part, gp_host_activity now, int i,
                        uint64_t from, uint64_t to) {
    uint64_t at = from, ns = 0;
    while (at < to) {
        const gp_step_at *s = ++i < t->nsteps ? &t->step[i] : NULL;
        uint64_t until = s && s->t < to ? s->t : to;
        if (until > at && now == part) ns += until - at;
        if (until > at) at = until;
        if (s && s->kind == GP_STEP_OWNER) now = s->part;
        if (s && s->t1 > at) at = s->t1;
    }
    return ns;
}

static int compare_times(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Sets *ns to the median time of the calls that queue a command, and wait for nothing; 0: there are
 * none. False when out of memory. */
static bool median_call(const gp_timeline *t, uint64_t *ns) {
    uint64_t *list = malloc(((size_t)t->ncommands + 1) * sizeof *list);
    int n = 0;
    for (int i = 0; list && i < t->ncommands; i++) {
        const gp_rec *host = t->command[i].host;
        if (host && host->kind == GP_REC_CALL) list[n++] = gp_rec_end(t->p, host) - host->t0;
    }
    if (n) gp_sort(list, (size_t)n, sizeof *list, compare_times);
    *ns = n ? list[n / 2] : 0;
    free(list);
    return list != NULL;
}

bool gp_timeline_read_calls(gp_timeline *t) {
    gp_host_activity now = GP_HOST_SCRIPT;
    uint64_t usual;
    if (!median_call(t, &usual)) return false;
    for (int i = 0; i < t->nsteps; i++) {
        gp_step_at *s = &t->step[i];
        if (s->kind == GP_STEP_OWNER) now = s->part;
        bool waits = s->kind == GP_STEP_WAIT;
        bool queues = waits && s->command >= 0 && t->command[s->command].host == s->rec;
        queues |= waits && s->rec->why == GP_WHY_queue && s->rec->id;
        if (queues) s->calling = usual < s->t1 - s->t ? usual : s->t1 - s->t;
        if (s->kind != GP_STEP_LAUNCH) continue;
        gp_command *c = &t->command[s->command];
        if (!c->host) continue;
        uint64_t to = gp_rec_end(t->p, c->host);
        if (to > c->rec->t0) to = c->rec->t0;
        c->calling = time_in(t, c->sets_up ? GP_HOST_SETUP : GP_HOST_LAUNCH, now, i, c->launch, to);
    }
    return true;
}
