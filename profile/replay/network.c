/* The alpha-beta model of collectives. */
#include "profile/replay/network.h"
#include "profile/show/usage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "tensor/dist/transport.h"

/* ---- tables ---- */

static const char *const algorithms[GP_ALGORITHMS] = {"fastest", "ring", "tree", "openmpi"};

const char *gp_algorithm_name(gp_algorithm a) { return algorithms[a]; }

gp_algorithm gp_algorithm_named(const char *name) {
    for (int i = 0; i < GP_ALGORITHMS; i++)
        if (!strcmp(algorithms[i], name)) return (gp_algorithm)i;
    gp_fail("no algorithm '%.40s' is known (expected fastest, ring, tree or openmpi)", name);
    return GP_ALGORITHMS;
}

static const gp_network networks[] = {
#define NETWORK(key, l, b) {.name = #key, .latency = l, .bandwidth = b},
#include "profile/replay/network.def"
};
enum { NETWORKS = sizeof networks / sizeof *networks };

bool gp_network_find(gp_network *n, const char *key) {
    char known[160] = "";
    for (int i = 0; i < NETWORKS; i++) {
        const gp_network *is = &networks[i];
        size_t at = strlen(known);
        snprintf(known + at, sizeof known - at, "\"%.15s\", ", is->name);
        if (strcasecmp(is->name, key) != 0) continue;
        memcpy(n->name, is->name, sizeof n->name);
        n->latency = is->latency, n->bandwidth = is->bandwidth;
        return true;
    }
    return gp_fail("no network '%.40s' is known (expected %s\"measured\", or {latency =, "
                   "bandwidth =})",
                   key, known);
}

/* A row of network.def for p ranks. */
typedef struct formula {
    const char *row;
    double traffic;
    gp_effort ring, tree;
} formula;

/* The least number of doublings from 1 to p. */
static double doublings(double p) {
    double n = 0;
    for (double have = 1; have < p; have *= 2) n++;
    return n;
}

/* False where there is none. */
static bool formula_of(const char *row, double p, formula *f) {
    double lg = doublings(p);
    const formula all[] = {
#define COLLECTIVE(row, traffic, rs, rb, ts, tb) {#row, traffic, {rs, rb}, {ts, tb}},
#include "profile/replay/network.def"
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].row, row)) return *f = all[i], true;
    return false;
}

/* ---- times ---- */

/* Open MPI 4.1, ompi/mca/coll/libnbc/nbc_iallreduce.c: small ones, those of few ranks and those in
 * place are reduced along a binomial tree and sent back along it, others by Rabenseifner's
 * algorithm. */
static gp_effort openmpi_all_reduce(double p, double bytes, bool in_place) {
    double lg = doublings(p);
    if (p < 4 || bytes < 65536 || in_place) return (gp_effort){2 * lg, 2 * lg};
    return (gp_effort){2 * lg, 2 * (p - 1) / p};
}

static double seconds(const gp_network *n, gp_effort e, double bytes) {
    return e.steps * n->latency + e.times * bytes / n->bandwidth;
}

/* What the algorithm does; of ring and tree what is faster. */
static gp_effort effort_of(const gp_network *n, const formula *f, double p, double bytes,
                           bool in_place) {
    if (n->algorithm == GP_ALGORITHM_OPENMPI && !strcmp(f->row, "all_reduce"))
        return openmpi_all_reduce(p, bytes, in_place);
    if (n->algorithm == GP_ALGORITHM_RING) return f->ring;
    if (n->algorithm == GP_ALGORITHM_TREE) return f->tree;
    return seconds(n, f->ring, bytes) < seconds(n, f->tree, bytes) ? f->ring : f->tree;
}

gp_effort gp_network_effort(const gp_network *n, const char *row, int p, double bytes,
                            bool in_place) {
    formula f = {.row = row};
    return formula_of(row, p, &f) ? effort_of(n, &f, p, bytes, in_place) : (gp_effort){-1, -1};
}

double gp_network_seconds(const gp_network *n, const char *row, int p, double bytes,
                          bool in_place) {
    gp_effort e = gp_network_effort(n, row, p, bytes, in_place);
    return e.steps < 0 ? -1 : seconds(n, e, bytes);
}

/* ---- the record ---- */

int gp_job_size(const gp_prof *p) {
    int n = p->size > p->ranks ? p->size : p->ranks;
    return n > 1 ? n : 1;
}

gp_algorithm gp_network_recorded(const gp_timeline *t) {
    for (int i = 0; i < t->nstreams; i++)
        if (!strcmp(t->stream[i]->dev->vt->kind, "cuda")) return GP_ALGORITHM_FASTEST;
    return GP_ALGORITHM_OPENMPI;
}

static const char prefix[] = "dist_";

bool gp_is_collective(const gp_command *c) {
    return c->rec->kind == GP_REC_KERNEL && gp_rec_is_collective(c->rec);
}

/* The ranks of the group that a collective's name has after it, as "dist.barrier (ranks 0, 2)"; 0:
 * those of the job. */
static int named_ranks(const char *name) {
    const char *list = strchr(name, '(');
    int n = list != NULL;
    for (; list && *list; list++) n += *list == ',';
    return n;
}

bool gp_network_message(const gp_prof *p, const gp_command *c, gp_message *m) {
    formula f;
    if (!gp_is_collective(c) || !c->host || c->host->kind != GP_REC_OP || !c->host->cost)
        return false;
    if (strncmp(c->rec->name, prefix, sizeof prefix - 1) != 0) return false;
    *m = (gp_message){.row = c->rec->name + sizeof prefix - 1,
                      .group = named_ranks(c->host->name),
                      .in_place = c->host->inplace};
    if (!formula_of(m->row, m->group ? m->group : gp_job_size(p), &f)) return false;
    m->bytes = c->host->cost->bytes / f.traffic;
    m->half = c->host->cost->dtype == GP_f16 || c->host->cost->dtype == GP_bf16;
    return true;
}

bool gp_network_time(const gp_network *n, const gp_prof *p, const gp_command *c, uint64_t *ns) {
    gp_message m;
    if (!gp_network_message(p, c, &m)) return false;
    int ranks = m.group ? m.group : n->ranks;
    bool wide = m.half && n->algorithm == GP_ALGORITHM_OPENMPI && strstr(m.row, "reduce");
    double s = gp_network_seconds(n, m.row, ranks, wide ? 2 * m.bytes : m.bytes, m.in_place);
    /* ranks first compare what they call, by an all_reduce which a small one's data travel in */
    bool packet = !strcmp(m.row, "all_reduce") && m.bytes <= GP_PACKET_BYTES;
    if (n->algorithm == GP_ALGORITHM_OPENMPI && !packet)
        s += gp_network_seconds(n, "all_reduce", ranks, 0, false);
    *ns = (uint64_t)(s * 1e9 + 0.5);
    return true;
}
