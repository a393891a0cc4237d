/* Replays of several ranks together, and the alpha-beta model of their collectives, against times
 * worked out by hand. */
#include <stdlib.h>

#include "profile/replay/verdict/verdict.h"

#include "tap.h"

enum { T0 = 1000000 };

static const gp_device_vt vt = {.kind = "made"};
static gp_device device[2] = {{.name = "r0/made:0", .vt = &vt}, {.name = "r1/made:0", .vt = &vt}};
static gp_stream streams[2] = {{.dev = &device[0]}, {.dev = &device[1]}};
static const gp_cost cost = {.bytes = 2000}; /* of an all_reduce of 1,000 bytes */

static gp_prof *begin(void) {
    gp_prof *p = gp_prof_new(&(gp_prof_opts){0});
    p->t0 = T0;
    p->ranks = p->size = 2;
    gp_prof_add_host(p)->rank = 1;
    gp_prof_add_worker(p);
    gp_prof_add_worker(p)->rank = 1;
    return p;
}

static gp_track *of_rank(gp_track *t, int rank) {
    while (t->rank != rank) t = t->next;
    return t;
}

/* A rank's collective: its call and its run, in us after the start. */
static void collective(gp_prof *p, int rank, const char *name, uint64_t id, uint64_t call,
                       uint64_t t0, uint64_t t1) {
    gp_rec *r = gp_track_append(of_rank(p->host, rank));
    *r = (gp_rec){.t0 = T0 + 1000 * call, .t1 = T0 + 1000 * t0, .id = id, .name = name};
    r->kind = GP_REC_OP;
    r->cost = &cost;
    r = gp_track_append(of_rank(p->workers, rank));
    *r = (gp_rec){.t0 = T0 + 1000 * t0, .t1 = T0 + 1000 * t1, .id = id, .name = "dist_all_reduce"};
    r->kind = GP_REC_KERNEL;
    r->where = &streams[rank];
}

static void waits(gp_prof *p, int rank, uint64_t t0, uint64_t t1) {
    gp_rec *r = gp_track_append(of_rank(p->host, rank));
    *r = (gp_rec){.t0 = T0 + 1000 * t0, .t1 = T0 + 1000 * t1, .name = "dist.all_reduce"};
    r->kind = GP_REC_WAIT;
    r->why = GP_WHY_collective;
    r->where = &streams[rank];
}

static gp_prof *end(gp_prof *p, uint64_t us) {
    p->done = p->t1 = T0 + 1000 * us;
    return p;
}

/* Rank 1 comes after 110 us, rank 0 after 10; both end after 200. */
static gp_prof *late(void) {
    gp_prof *p = begin();
    collective(p, 0, "dist.all_reduce", 1, 0, 10, 200);
    waits(p, 0, 10, 210);
    collective(p, 1, "dist.all_reduce", 2, 100, 110, 200);
    waits(p, 1, 110, 205);
    return end(p, 210);
}

/* What p's wall time becomes, in ns. */
static int64_t wall(gp_prof *p, gp_whatif w) {
    gp_prof *q = gp_prof_predict(p, &w, "a test");
    int64_t ns = q ? (int64_t)(q->t1 - q->t0) : -1;
    gp_prof_free(q);
    return ns;
}

static void test_ranks(void) {
    gp_prof *p = late();
    gp_network n = {.latency = 1e-6, .bandwidth = 1e9, .algorithm = GP_ALGORITHM_RING, .ranks = 4};
    tap_ok(wall(p, (gp_whatif){.host = 1}) == 210000, "nothing changed: the same");
    tap_ok(wall(p, (gp_whatif){.host = 0.5}) == 55000 + 90000 + 10000,
           "rank 0 waits for a faster rank 1 less: %lld",
           (long long)wall(p, (gp_whatif){.host = 0.5}));
    gp_whatif_scale none = {"dist_all_reduce", 0};
    tap_ok(wall(p, (gp_whatif){.host = 1, .scale = &none, .nscale = 1}) == 110000 + 10000,
           "a collective that takes no time still waits for the last rank");
    tap_ok(wall(p, (gp_whatif){.host = 1, .network = &n}) == 110000 + 7500 + 10000,
           "ring of 4 ranks: 6 steps and 1.5 times the bytes");
    gp_card card = {.name = "made"};
    tap_ok(wall(p, (gp_whatif){.host = 1, .card = &card}) == -1 && strstr(gp_error(), "of 2"),
           "a card takes one rank: %s", gp_error());
    gp_prof *q = gp_prof_predict(p, &(gp_whatif){.host = 1, .network = &n}, "a test");
    tap_ok(q->ranks == 2 && q->size == 4 && q->host->next && q->host->next->rank == 1,
           "ranks keep their tracks");
    gp_prof_free(q);
    gp_prof_free(p);
}

static void test_orders(void) {
    gp_prof *p = begin();
    collective(p, 0, "dist.barrier", 1, 0, 10, 50);
    collective(p, 0, "dist.barrier (ranks 0, 1)", 2, 50, 60, 70);
    collective(p, 1, "dist.barrier (ranks 0, 1)", 3, 0, 10, 50);
    collective(p, 1, "dist.barrier", 4, 50, 60, 70);
    tap_ok(wall(end(p, 80), (gp_whatif){.host = 1}) == -1 && strstr(gp_error(), "different orders"),
           "ranks that wait for one another: %s", gp_error());
    gp_prof_free(p);
    p = begin();
    collective(p, 0, "dist.all_reduce", 1, 0, 10, 50);
    collective(p, 0, "dist.all_reduce", 2, 50, 60, 70);
    collective(p, 1, "dist.all_reduce", 3, 0, 10, 50);
    tap_ok(wall(end(p, 80), (gp_whatif){.host = 1}) == 80000,
           "where ranks have not equally many, each keeps its times: %lld",
           (long long)wall(p, (gp_whatif){.host = 1}));
    gp_prof_free(p);
}

/* Rank 1 reads a number first, for 50 us, and then comes as late as in late(). */
static gp_prof *reads_first(void) {
    gp_prof *p = late();
    gp_track *t = of_rank(p->host, 1);
    t->last->n = 0;
    of_rank(p->workers, 1)->last->n = 0;
    collective(p, 1, "matmul", 3, 0, 5, 60);
    of_rank(p->workers, 1)->last->rec[0].name = "matmul";
    waits(p, 1, 10, 60);
    t->last->rec[1].why = GP_WHY_item, t->last->rec[1].name = "item";
    collective(p, 1, "dist.all_reduce", 4, 100, 110, 200);
    waits(p, 1, 110, 205);
    return p;
}

static uint64_t share(const gp_path_part *part, int n, gp_path_kind kind, int rank) {
    uint64_t ns = 0;
    for (int i = 0; i < n; i++)
        if (part[i].rank == rank && part[i].kind == kind) ns += part[i].ns;
    return ns;
}

/* The path: 10 us after the collective in rank 0, 90 in it, then rank 1 back to the start. */
static void test_path(void) {
    gp_prof *p = late();
    gp_job *job = gp_job_new(p);
    int n;
    gp_path_part *part = gp_critical_path(job, GP_PATH_BY_OP, &n);
    tap_ok(share(part, n, GP_PATH_WAIT, 0) == 10000 && share(part, n, GP_PATH_DEVICE, 0) == 90000 &&
               share(part, n, GP_PATH_SCRIPT, 1) == 100000 &&
               share(part, n, GP_PATH_HOST, 1) == 10000,
           "the path goes on in the rank that came last");
    free(part);
    part = gp_critical_path(job, GP_PATH_BY_RANK, &n);
    tap_ok(n == 2 && part[0].rank == 1 && part[0].ns == 110000 && part[1].ns == 100000,
           "its shares by rank");
    free(part);
    gp_job_free(job);
    job = gp_job_of_rank(p, 0, "test");
    part = gp_critical_path(job, GP_PATH_BY_OP, &n);
    tap_ok(share(part, n, GP_PATH_DEVICE, 0) == 190000, "one rank's collective takes what it took");
    free(part);
    gp_job_free(job);
    tap_ok(!gp_job_of_rank(p, 2, "test") && strstr(gp_error(), "rank 2"), "no rank: %s",
           gp_error());
    gp_prof_free(p);
}

/* Rank 0 ends last, by what rank 1's script did for 100 us: without that both all_reduces begin at
 * 10 us and end 90 later, and rank 0 sees it after 10 more. Of each cause that rank is shown which
 * has the most of it; a wait for a collective counts as that. */
static void test_verdict(void) {
    gp_prof *p = late();
    gp_job *job = gp_job_new(p);
    gp_verdict v;
    tap_ok(gp_verdict_of(job, &v) && v.untold == GP_TOLD && v.wall == 210000, "the job's verdict");
    const gp_worth *script = &v.of[GP_CAUSE_script], *together = &v.of[GP_CAUSE_collectives];
    tap_ok(script->worth == 100000 && script->ns == 100000 && script->rank == 1,
           "the late rank's script: %llu of %llu ns, rank %d", (unsigned long long)script->worth,
           (unsigned long long)script->ns, script->rank);
    tap_ok(together->rank == 0 && together->ns == 200000, "rank 0 waited: %llu ns, rank %d",
           (unsigned long long)together->ns, together->rank);
    gp_job_free(job);
    gp_prof_free(p);
}

/* Without its read rank 1 comes 50 us earlier, and so both end. Without the waits for the
 * collective, too, all is done when that is, after 150 us; but the waits at the end of the job see
 * that 10 and 5 us later, as those for the collective did. */
static void test_savings(void) {
    gp_prof *p = reads_first();
    gp_job *job = gp_job_new(p);
    gp_saving total;
    uint64_t rank[2];
    int n;
    gp_saving *s = gp_savings(job, &n, &total, rank);
    tap_ok(n == 2 && !strcmp(s->rec->name, "item") && s->times == 1 && s->waited == 50000 &&
               s->saved == 50000 && s[1].times == 2 && s[1].waited == 295000 && s[1].saved == 0,
           "what the job takes less without the waits of a line in all ranks");
    tap_ok(total.saved == 50000 && rank[0] == 50000 && rank[1] == 50000, "and without all of them");
    free(s);
    gp_job_free(job);
    job = gp_job_of_rank(p, 0, "test");
    s = gp_savings(job, &n, &total, NULL);
    tap_ok(s && n == 1 && s->waited == 200000 && total.saved == 0, "rank 0 alone");
    free(s);
    gp_job_free(job);
    gp_prof_free(p);
}

/* Ranks that come to two collectives in different orders have no path. */
static void test_no_path(void) {
    gp_prof *p = begin();
    collective(p, 0, "dist.barrier", 1, 0, 5, 100);
    collective(p, 0, "dist.barrier (ranks 0, 1)", 2, 10, 50, 100);
    collective(p, 1, "dist.barrier (ranks 0, 1)", 3, 0, 5, 100);
    collective(p, 1, "dist.barrier", 4, 10, 50, 100);
    end(p, 90);
    p->t1 = T0 + 100000;
    gp_job *job = gp_job_new(p);
    int n;
    gp_path_part *part = gp_critical_path(job, GP_PATH_BY_OP, &n);
    tap_ok(!part && strstr(gp_error(), "different orders"), "no path: %s", gp_error());
    gp_job_free(job);
    gp_prof_free(p);
}

static bool near(double a, double b) { return fabs(a - b) <= 1e-9 * fabs(b); }

static void test_formulas(void) {
    gp_network n = {.latency = 1e-3, .bandwidth = 1e6, .algorithm = GP_ALGORITHM_RING};
    static const struct {
        const char *row;
        double ring, tree; /* of 8 ranks with 8,000 bytes, in ms */
    } is[] = {{"all_reduce", 14 + 14, 6 + 16},  {"reduce", 7 + 8, 3 + 8},
              {"broadcast", 7 + 8, 3 + 8},      {"all_gather", 7 + 56, 3 + 56},
              {"reduce_scatter", 7 + 7, 3 + 7}, {"all_to_all", 7 + 7, 3 + 12},
              {"scatter", 7 + 7, 3 + 7}};
    for (size_t i = 0; i < sizeof is / sizeof *is; i++) {
        n.algorithm = GP_ALGORITHM_RING;
        double ring = 1e3 * gp_network_seconds(&n, is[i].row, 8, 8000, false);
        n.algorithm = GP_ALGORITHM_TREE;
        double tree = 1e3 * gp_network_seconds(&n, is[i].row, 8, 8000, false);
        n.algorithm = GP_ALGORITHM_FASTEST;
        double fastest = 1e3 * gp_network_seconds(&n, is[i].row, 8, 8000, false);
        tap_ok(near(ring, is[i].ring) && near(tree, is[i].tree) && near(fastest, fmin(ring, tree)),
               "%s: %g, %g ms", is[i].row, ring, tree);
    }
    tap_ok(gp_network_seconds(&n, "gather", 8, 8000, false) < 0, "gather has no formula");
    n.algorithm = GP_ALGORITHM_OPENMPI;
    tap_ok(near(gp_network_seconds(&n, "all_reduce", 2, 1e6, false), 2.002) &&
               near(gp_network_seconds(&n, "all_reduce", 4, 1e6, false), 1.504) &&
               near(gp_network_seconds(&n, "all_reduce", 4, 1e6, true), 4.004),
           "Open MPI's: a tree of two ranks, parts of four, a tree where they are in place");
    n.algorithm = GP_ALGORITHM_FASTEST;
    tap_ok(near(gp_network_seconds(&n, "all_reduce", 1024, 1, false), 20e-3 + 2e-6),
           "1,024 ranks: a tree for a byte");
    tap_ok(near(gp_network_seconds(&n, "all_reduce", 1024, 1e10, false),
                2 * 1023 * 1e-3 + 2e4 * 1023 / 1024),
           "and a ring for many");
    tap_ok(gp_network_find(&n, "400GB") && n.bandwidth == 50e9 && !gp_network_find(&n, "3Gb") &&
               strstr(gp_error(), "\"400Gb\""),
           "known networks: %s", gp_error());
}

/* Two sizes of all_reduce, of which one was disturbed once. */
static void test_measured(void) {
    static const gp_cost large = {.bytes = 2e6};
    gp_prof *p = begin();
    /* two ranks by Open MPI: 2 latencies of 100 us, and 2 * bytes at 1e8 a second */
    for (uint64_t i = 0; i < 6; i++) {
        uint64_t t = i * 100000, took = i % 2 ? 200 + 20000 : 200 + 20;
        if (i == 4) took *= 50;
        collective(p, 0, "dist.all_reduce", 2 * i + 1, t, t + 5, t + 9 + took / 2);
        collective(p, 1, "dist.all_reduce", 2 * i + 2, t, t + 9, t + 9 + took);
        for (int rank = 0; i % 2 && rank < 2; rank++) {
            gp_track *track = of_rank(p->host, rank);
            track->last->rec[track->last->n - 1].cost = &large;
        }
    }
    gp_network n = {.ranks = 2};
    gp_job *job = gp_job_new(end(p, 700000));
    tap_ok(gp_job_measure(job, &n) && fabs(n.latency - 1e-4) < 1e-8 &&
               fabs(n.bandwidth - 1e8) < 1e4,
           "measured: %g s, %g bytes a second", n.latency, n.bandwidth);
    gp_job_free(job);
    gp_prof_free(p);
    p = late();
    job = gp_job_new(p);
    tap_ok(!gp_job_measure(job, &n) && strstr(gp_error(), "it has 1"), "one size: %s", gp_error());
    gp_job_free(job);
    gp_prof_free(p);
}

int main(void) {
    test_ranks();
    test_path();
    test_verdict();
    test_savings();
    test_no_path();
    test_orders();
    test_formulas();
    test_measured();
    return tap_done();
}
