/* Finds a network's latency and bandwidth from what a job's all_reduces took. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/replay/job.h"
#include "tensor/base/sort.h"

/* An all_reduce, and the seconds in which its data moved. */
typedef struct sample {
    int ranks;
    double bytes, s;
    bool in_place;
} sample;

static int by_size(const void *a, const void *b) {
    const sample *x = a, *y = b;
    if (x->ranks != y->ranks) return x->ranks - y->ranks;
    if (x->in_place != y->in_place) return x->in_place - y->in_place;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? -1 : 1;
    return x->s < y->s ? -1 : x->s > y->s;
}

static bool same_size(const sample *x, const sample *y) {
    return x->ranks == y->ranks && x->in_place == y->in_place && x->bytes == y->bytes;
}

/* The all_reduce that c is a rank's part of, which took `ns`; false: it is none. */
static bool read_sample(const gp_timeline *t, const gp_command *c, int64_t ns, sample *s) {
    gp_message m;
    if (ns <= 0 || !gp_network_message(t->p, c, &m) || strcmp(m.row, "all_reduce") != 0)
        return false;
    bool wide = m.half && gp_network_recorded(t) == GP_ALGORITHM_OPENMPI;
    *s = (sample){m.group ? m.group : gp_job_size(t->p), wide ? 2 * m.bytes : m.bytes,
                  (double)ns * 1e-9, m.in_place};
    return true;
}

/* Of one rank: from when all had begun it to its own end. */
static int gather_own(const gp_timeline *t, sample *s) {
    int n = 0;
    for (int i = 0; i < t->ncommands; i++) {
        const gp_rec *r = t->command[i].rec;
        if (r->kind != GP_REC_KERNEL || r->bytes <= 0) continue;
        n += read_sample(t, &t->command[i], (int64_t)(r->t1 - r->t0) - r->bytes, &s[n]);
    }
    return n;
}

/* Of several: to when the last rank had ended it. */
static int gather_joined(const gp_job *job, sample *s) {
    int n = 0;
    for (int r = 0; r < job->n; r++)
        for (int i = 0; i < job->rank[r]->ncommands; i++) {
            const gp_command *c = &job->rank[r]->command[i];
            const gp_rank_meeting *m = c->meeting < 0 ? NULL : &job->meeting[c->meeting];
            if (m && c->end == m->ended)
                n += read_sample(job->rank[r], c, (int64_t)(m->ended - m->begun), &s[n]);
        }
    return n;
}

/* The medians of those of one size; returns how many there are. */
static int medians(sample *s, int n) {
    int kept = 0;
    gp_sort(s, (size_t)n, sizeof *s, by_size);
    for (int i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && same_size(&s[i], &s[k]);) k++;
        s[kept++] = s[i + (k - i) / 2];
    }
    return kept;
}

/* Least squares of (steps * latency + bytes / bandwidth) / s - 1. Neither becomes negative. */
static bool fit(gp_network *n, const sample *s, int count) {
    double aa = 0, ab = 0, bb = 0, a1 = 0, b1 = 0;
    for (int i = 0; i < count; i++) {
        gp_effort e = gp_network_effort(n, "all_reduce", s[i].ranks, s[i].bytes, s[i].in_place);
        double a = e.steps / s[i].s, b = e.times * s[i].bytes / s[i].s;
        aa += a * a, ab += a * b, bb += b * b, a1 += a, b1 += b;
    }
    double det = aa * bb - ab * ab;
    if (!(det > 1e-9 * aa * bb)) return false;
    double latency = (a1 * bb - b1 * ab) / det, beta = (b1 * aa - a1 * ab) / det;
    if (latency < 0) latency = 0, beta = b1 / bb;
    if (!(beta > 0)) return false;
    n->latency = latency, n->bandwidth = 1 / beta;
    return true;
}

bool gp_job_measure(const gp_job *job, gp_network *n) {
    size_t capacity = 1;
    for (int r = 0; r < job->n; r++) capacity += (size_t)job->rank[r]->ncommands;
    sample *s = malloc(capacity * sizeof *s);
    if (!s) return gp_fail("network: out of memory");
    int count = medians(s, job->n > 1 ? gather_joined(job, s) : gather_own(job->rank[0], s));
    /* which of ring and tree is faster depends on the result: starting from a known network, the
     * choice is settled after a few rounds */
    gp_network is = {.latency = 14e-6, .bandwidth = 1e9};
    is.algorithm = gp_network_recorded(job->rank[0]);
    bool ok = count > 1;
    for (int round = 0; ok && round < 5; round++) ok = fit(&is, s, count);
    free(s);
    n->latency = is.latency, n->bandwidth = is.bandwidth;
    snprintf(n->name, sizeof n->name, "measured");
    return ok || gp_fail("expected all_reduces of two or more sizes on the record (a profile of "
                         "profile.run{flops = true} of several ranks), by which latency and "
                         "bandwidth can be told apart; it has %d",
                         count);
}
