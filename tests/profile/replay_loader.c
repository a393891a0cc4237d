/* Replays of records with a loader: written by hand, as is what they must become. A worker makes
 * four batches of 100 us, 80 of them in an op; the host takes each, queues a kernel of 40 us, waits
 * for it, and comes back for the next batch 50 us after it got the last one. */
#include <stdlib.h>

#include "profile/replay/path.h"
#include "profile/replay/replay.h"
#include "tap.h"

enum { T0 = 1000000, US = 1000, BATCHES = 4 };

static gp_device device = {.name = "made:0"};
static gp_stream stream = {.dev = &device};
static const gp_device_vt vt = {.kind = "made"};

static gp_rec *add(gp_track *t, gp_rec_kind kind, const char *name, int64_t t0, int64_t t1) {
    gp_rec *r = gp_track_append(t);
    *r = (gp_rec){.t0 = (uint64_t)(T0 + t0 * US),
                  .t1 = (uint64_t)(T0 + t1 * US),
                  .name = name,
                  .file = "lib/train.lua",
                  .line = 3,
                  .kind = (uint8_t)kind};
    return r;
}

static int64_t batch(int n) { return (int64_t)7 << 32 | n; }

/* The host, after it has taken batch n at time t. */
static void add_step(gp_prof *p, int n, int64_t t) {
    add(p->host, GP_REC_OP, "matmul", t + 3, t + 5)->id = (uint64_t)n;
    gp_rec *kernel = add(p->workers, GP_REC_KERNEL, "matmul", t + 5, t + 45);
    kernel->id = (uint64_t)n, kernel->where = &stream;
    gp_rec *wait = add(p->host, GP_REC_WAIT, "item", t + 6, t + 47);
    wait->why = GP_WHY_item, wait->where = &stream;
}

static gp_prof *record(void) {
    gp_prof *p = gp_prof_new(&(gp_prof_opts){0});
    int64_t came = 0;
    p->t0 = T0;
    gp_prof_add_worker(p);
    gp_track *worker = gp_prof_add_host(p);
    for (int n = 1; n <= BATCHES; n++) {
        int64_t made = 100 * n;
        add(worker, GP_REC_REGION, GP_LOADER_MAKE, made - 100, made)->bytes = batch(n);
        add(worker, GP_REC_OP, "decode", made - 90, made - 10);
        add(p->host, GP_REC_REGION, GP_LOADER_TAKE, came, made + 2)->bytes = batch(n);
        add_step(p, n, made + 2);
        came = made + 52;
    }
    p->done = p->t1 = (uint64_t)(T0 + came * US);
    return p;
}

/* What p's wall time becomes, in ns. */
static int64_t wall(gp_prof *p, gp_whatif w) {
    gp_prof *q = gp_prof_predict(p, &w, "a test");
    int64_t ns = q ? (int64_t)(q->t1 - q->t0) : -1;
    gp_prof_free(q);
    return ns;
}

static void walls(gp_prof *p) {
    gp_whatif_scale decode = {"decode", 0.5}, matmul = {"matmul", 0};
    gp_whatif half = {.host = 1, .scale = &decode, .nscale = 1};
    tap_is_int(wall(p, (gp_whatif){.host = 1}), 452 * US, "nothing is other");
    tap_is_int(wall(p, (gp_whatif){.host = 1, .without_whys = 1u << GP_WHY_item}), 449 * US,
               "without waits the host comes earlier, and the batch is ready when it was");
    tap_is_int(wall(p, (gp_whatif){.host = 1, .scale = &matmul, .nscale = 1}), 412 * US,
               "nor does a faster device help before the last batch");
    tap_is_int(wall(p, half), 292 * US, "a faster worker does");
    decode.by = 0;
    tap_is_int(wall(p, half), 222 * US,
               "until the host is never late: a worker makes no batch before it is asked for");
    decode.by = 2;
    tap_is_int(wall(p, half), (4 * 180 + 52) * US, "a slower one costs all of it");
}

/* Two workers make two batches at a time: the first two by 100, the third by 200, and the fourth,
 * asked for when the first is taken, at 102, by 202. The host is ready for the last ones then. */
static void more_workers(gp_prof *p) {
    gp_whatif two = {.host = 1, .workers = 2};
    tap_is_int(wall(p, two), 302 * US, "two workers");
    gp_prof *q = gp_prof_predict(p, &two, "a test");
    tap_is_int(gp_count_recs(q->host, gp_is_made), BATCHES, "which have made all batches");
    gp_cursor first = gp_first(q->host->next), second = gp_first(q->host->next->next);
    tap_is_int((int64_t)gp_next(&first)->t0 - T0, 0, "the first of them from the start,");
    tap_is_int((int64_t)gp_next(&second)->t0 - T0, 0, "so does the other,");
    gp_next(&second);
    tap_is_int((int64_t)gp_next(&second)->t0 - T0, 102 * US, "and then what is asked for");
    gp_prof_free(q);
}

/* Two workers on one processor: of each part of 100 us `computed` are computing. */
static void one_processor(int64_t computed, int64_t expected, const char *what) {
    gp_prof *p = record();
    gp_cursor at = gp_first(p->host->next);
    for (gp_rec *r; (r = gp_next(&at));)
        if (gp_is_made(r)) r->computed = (uint64_t)computed * US;
    p->processors = 1;
    tap_is_int(wall(p, (gp_whatif){.host = 1, .workers = 2}), expected * US, what);
    p->processors = 2;
    tap_is_int(wall(p, (gp_whatif){.host = 1, .workers = 2}), 302 * US, "not of two processors");
    gp_prof_free(p);
}

/* At 80 us the parts compute until 80, 160, 240 and 320, when the last batch is there. */
static void computing(void) {
    one_processor(100, 452, "a processor makes no more than one worker does");
    one_processor(80, 372, "it makes more where they wait, too");
    one_processor(20, 302, "what waits is not bounded by processors");
}

/* The pass of record(): 50 us of the host between two batches. */
static void pass_of(gp_prof *p) {
    gp_job *job = gp_job_new(p);
    gp_pass pass = gp_loader_pass(job->rank[0]);
    tap_is_int(pass.workers, 1, "the pass had a worker,");
    tap_is_int(pass.batches, BATCHES, "made all batches,");
    tap_is_int((int64_t)pass.busy, 400 * US, "which took it so long,");
    tap_is_int((int64_t)pass.computed, 0, "of which it is not known what was computing,");
    tap_is_int((int64_t)pass.step, 50 * US, "and the script has done this beside it");
    tap_ok(pass.share == 0.5, "half of its time it waited");
    gp_job_free(job);
}

/* The host makes each batch itself, in 100 us, and has 50 us of work with it. A worker makes them
 * one after the other, by 100, 200, 300 and 400; the third is asked for when the first is taken. */
static void first_worker(void) {
    gp_prof *p = gp_prof_new(&(gp_prof_opts){0});
    int64_t t = 0;
    p->t0 = T0;
    gp_prof_add_worker(p);
    for (int n = 1; n <= BATCHES; n++, t += 151) {
        add(p->host, GP_REC_REGION, GP_LOADER_MAKE, t, t + 100)->bytes = batch(n);
        add(p->host, GP_REC_OP, "decode", t + 10, t + 90);
        add(p->host, GP_REC_REGION, GP_LOADER_TAKE, t + 100, t + 101)->bytes = batch(n);
    }
    p->done = p->t1 = (uint64_t)(T0 + t * US);
    tap_is_int(wall(p, (gp_whatif){.host = 1}), 604 * US, "the host makes batches itself");
    gp_whatif one = {.host = 1, .workers = 1};
    tap_is_int(wall(p, one), 450 * US, "a worker makes them meanwhile");
    gp_prof *q = gp_prof_predict(p, &one, "a test");
    gp_cursor at = gp_first(q->host);
    int left = 0;
    for (gp_rec *r; (r = gp_next(&at));) left += gp_is_batch_request(r) ? 0 : 1;
    tap_is_int(left, 0, "and the host does none of it");
    gp_prof_free(q);
    gp_prof_free(p);
}

static void moves(gp_prof *p) {
    gp_whatif_scale decode = {"decode", 0.5};
    gp_prof *q =
        gp_prof_predict(p, &(gp_whatif){.host = 1, .scale = &decode, .nscale = 1}, "a test");
    gp_cursor at = gp_first(q->host->next);
    gp_rec *r = NULL;
    for (int i = 0; i < 4; i++) r = gp_next(&at); /* the second batch, and its op */
    tap_is_int((int64_t)r->t0 - T0, 66 * US, "a worker's events move with its part");
    tap_is_int((int64_t)r->t1 - T0, 114 * US, "and end in it");
    gp_prof_free(q);
    tap_is_int(gp_count_recs(p->host, gp_is_batch_request), BATCHES, "the record is as it was");
}

static void shares(gp_prof *p) {
    gp_job *job = gp_job_new(p);
    const gp_timeline *t = job->rank[0];
    gp_idle idle;
    int n;
    gp_idle_times(t, &idle);
    tap_is_int((int64_t)idle.loader, 252 * US, "nothing ran because of the loader");
    tap_is_int((int64_t)(idle.kernels + idle.copies + idle.latency + idle.waiting + idle.loader +
                         idle.op + idle.script),
               452 * US, "all shares are the wall time");
    gp_path_part *part = gp_critical_path(job, GP_PATH_BY_OP, &n);
    int64_t loader = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        sum += (int64_t)part[i].ns;
        if (part[i].kind == GP_PATH_LOADER) loader += (int64_t)part[i].ns;
    }
    tap_is_int(loader, 252 * US, "the loader is on the critical path");
    tap_is_int(sum, 452 * US, "whose parts are the wall time");
    free(part);
    gp_job_free(job);
}

/* Without the worker's part, a take lasts as long as it did. */
static void lost_parts(void) {
    gp_prof *p = gp_prof_new(&(gp_prof_opts){0});
    p->t0 = T0;
    gp_prof_add_worker(p);
    add(p->host, GP_REC_REGION, GP_LOADER_TAKE, 10, 60)->bytes = batch(1);
    add(p->host, GP_REC_REGION, GP_LOADER_TAKE, 70, 90)->bytes = 0; /* a script's own region */
    p->done = p->t1 = T0 + 100 * US;
    tap_is_int(wall(p, (gp_whatif){.host = 0.5}), 75 * US, "of a batch that is not on the record");
    gp_prof_free(p);
}

int main(void) {
    device.vt = &vt;
    gp_prof *p = record();
    walls(p);
    more_workers(p);
    pass_of(p);
    computing();
    moves(p);
    shares(p);
    gp_prof_free(p);
    lost_parts();
    first_worker();
    return tap_done();
}
