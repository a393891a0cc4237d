/* What dominated a run: records are written by hand, and what each cause is worth is worked out by
 * hand, too. */
#include <stdlib.h>

#include "profile/replay/verdict/verdict.h"
#include "tap.h"

enum { T0 = 1000000 };

static const gp_device_vt vt = {.kind = "made"};
static gp_device device = {.name = "made:0", .vt = &vt};
static gp_stream streams[2] = {{.dev = &device, .index = 0}, {.dev = &device, .index = 1}};

static gp_prof *begin(bool foreign) {
    gp_prof *p = gp_prof_new(&(gp_prof_opts){0});
    p->t0 = T0;
    p->foreign = foreign;
    gp_prof_add_worker(p);
    return p;
}

/* Times in us after the start, here and below. */
static gp_rec *host(gp_prof *p, gp_rec_kind kind, const char *name, int line, uint64_t id,
                    uint64_t t0, uint64_t t1) {
    gp_rec *r = gp_track_append(p->host);
    *r = (gp_rec){.t0 = T0 + 1000 * t0,
                  .t1 = T0 + 1000 * t1,
                  .id = id,
                  .name = name,
                  .file = "train.lua",
                  .line = line,
                  .kind = (uint8_t)kind};
    return r;
}

static void waits(gp_prof *p, gp_why why, int line, uint64_t t0, uint64_t t1) {
    gp_rec *r = host(p, GP_REC_WAIT, gp_why_name(why), line, 0, t0, t1);
    r->why = (uint8_t)why;
    r->where = &streams[0];
}

static void ran(gp_prof *p, const char *name, uint64_t id, int stream, uint64_t t0, uint64_t t1) {
    *gp_track_append(p->workers) =
        (gp_rec){.t0 = T0 + 1000 * t0,
                 .t1 = T0 + 1000 * t1,
                 .id = id,
                 .name = name,
                 .kind = strncmp(name, "copy", 4) ? GP_REC_KERNEL : GP_REC_MOVED,
                 .where = &streams[stream]};
}

/* The verdict on p, which ends at that time, and is freed. */
static gp_verdict of(gp_prof *p, uint64_t done) {
    gp_verdict v;
    p->done = p->t1 = T0 + 1000 * done;
    gp_job *job = gp_job_new(p);
    if (!gp_verdict_of(job, &v)) tap_ok(false, "%s", gp_error());
    gp_job_free(job);
    return v;
}

/* In us. */
static void is(const gp_verdict *v, gp_cause cause, int64_t worth, int64_t took, const char *what) {
    tap_is_int((int64_t)v->of[cause].worth, 1000 * worth, "%s: worth of %s", what,
               gp_cause_name(cause));
    tap_is_int((int64_t)v->of[cause].ns, 1000 * took, "%s: time of %s", what, gp_cause_name(cause));
}

/* Two kernels of 100 us, each followed by a read; 10 us for a launch, and 40 us of the script, in
 * which the device stands still. Wall: 10 + 100 + 2 + 40 + 10 + 100 + 2 = 264. */
static void reads(void) {
    gp_prof *p = begin(false);
    host(p, GP_REC_OP, "matmul", 3, 1, 0, 10);
    ran(p, "matmul", 1, 0, 10, 110);
    waits(p, GP_WHY_item, 4, 10, 112);
    host(p, GP_REC_OP, "matmul", 3, 2, 152, 162);
    ran(p, "matmul", 2, 0, 162, 262);
    waits(p, GP_WHY_item, 4, 162, 264);
    gp_verdict v = of(p, 264);
    tap_ok(v.untold == GP_TOLD && v.wall == 264000 && v.work == 2 && v.queued == 2,
           "the record tells");
    is(&v, GP_CAUSE_kernels, 200, 200, "reads"); /* 10 + 0 + 2 + 40 + 10 + 0 + 2 */
    is(&v, GP_CAUSE_waits, 52, 204, "reads");    /* launches at 10, 60; kernels 10 to 210; and 2 */
    is(&v, GP_CAUSE_script, 40, 40, "reads");
    is(&v, GP_CAUSE_launches, 20, 20, "reads");
    is(&v, GP_CAUSE_delays, 0, 0, "reads");
    const gp_worth *script = &v.of[GP_CAUSE_script];
    tap_ok(script->before && script->before->line == 4 && script->most && script->most->line == 3,
           "the script ran between the read and the next launch");
    const gp_worth *waiting = &v.of[GP_CAUSE_waits];
    tap_ok(waiting->most->line == 4 && waiting->most_ns == 204000 && waiting->most_times == 2,
           "one line waited");
    gp_prof_free(p);
}

/* A device that is always busy: 10 launches of 5 us, kernels of 100 us, and a read at the end,
 * after which the host does nothing more. */
static void busy(void) {
    gp_prof *p = begin(false);
    for (uint64_t i = 0; i < 10; i++) {
        host(p, GP_REC_OP, "matmul", 3, i + 1, 5 * i, 5 * i + 5);
        ran(p, "matmul", i + 1, 0, 5 + 100 * i, 105 + 100 * i);
    }
    waits(p, GP_WHY_item, 4, 50, 1005);
    gp_verdict v = of(p, 1005);
    is(&v, GP_CAUSE_waits, 0, 955, "a busy device");
    is(&v, GP_CAUSE_launches, 5, 50, "a busy device"); /* the first one alone */
    is(&v, GP_CAUSE_kernels, 955, 1000, "a busy device");
    gp_prof_free(p);
}

/* A loader without workers, whose batches the host makes: 80 us of each step's 100; an op in it
 * counts for it. */
static void loader(void) {
    gp_prof *p = begin(false);
    for (uint64_t i = 0, t = 0; i < 2; i++, t += 100) {
        host(p, GP_REC_REGION, GP_LOADER_MAKE, 2, 0, t, t + 80);
        host(p, GP_REC_OP, "stack", 2, 0, t + 10, t + 60);
        host(p, GP_REC_OP, "matmul", 3, i + 1, t + 80, t + 90);
        ran(p, "matmul", i + 1, 0, t + 90, t + 100);
        waits(p, GP_WHY_item, 4, t + 90, t + 100);
    }
    gp_verdict v = of(p, 200);
    is(&v, GP_CAUSE_loader, 160, 160, "a loader");
    is(&v, GP_CAUSE_cpu, 0, 0, "a loader");
    is(&v, GP_CAUSE_script, 0, 0, "a loader");
    is(&v, GP_CAUSE_launches, 20, 20, "a loader");
    tap_ok(v.of[GP_CAUSE_loader].most && v.of[GP_CAUSE_loader].most->line == 2, "and its line");
    gp_prof_free(p);
}

/* The same of a trace, whose __next__ is a region within which ops run. */
static void foreign_loader(void) {
    gp_prof *p = begin(true);
    host(p, GP_REC_REGION, "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 2, 0, 0,
         80)
        ->bytes = 1;
    host(p, GP_REC_OP, "aten::stack", 2, 0, 10, 60);
    host(p, GP_REC_OP, "aten::mm", 3, 0, 80, 92);
    host(p, GP_REC_CALL, "cudaLaunchKernel", 3, 1, 85, 90);
    ran(p, "gemm", 1, 0, 90, 110);
    gp_verdict v = of(p, 110);
    is(&v, GP_CAUSE_loader, 80, 80, "a trace's loader");
    /* the kernel begins where the op and the launch's call did: 80 to 100 */
    is(&v, GP_CAUSE_launches, 10, 12, "a trace's loader");
    gp_prof_free(p);
}

/* A trace without ops does not say what the host did between its calls, which launch nothing. */
static void calls_alone(void) {
    gp_prof *p = begin(true);
    for (uint64_t i = 0; i < 3; i++) {
        host(p, GP_REC_CALL, "cudaLaunchKernel", 3, i + 1, 100 * i, 100 * i + 5);
        ran(p, "gemm", i + 1, 0, 100 * i + 5, 100 * i + 15);
    }
    gp_verdict v = of(p, 215);
    is(&v, GP_CAUSE_script, 0, 0, "calls alone");
    is(&v, GP_CAUSE_launches, 15, 15, "calls alone");
    is(&v, GP_CAUSE_between, 180, 200, "calls alone"); /* what is left are 5 and the kernels' 30 */
    gp_prof_free(p);
}

/* A copy whose call waits: its 20 us before the copy begins are the wait's, not a launch's. Without
 * the two launches the first kernel begins at 60, not 70; the second is queued early enough. */
static void waiting_copy(void) {
    gp_prof *p = begin(true);
    gp_rec *r = host(p, GP_REC_WAIT, "aten::to: HtoD", 2, 1, 0, 60);
    r->why = GP_WHY_copy, r->where = &streams[0];
    ran(p, "copy H2D", 1, 0, 20, 50);
    host(p, GP_REC_CALL, "cudaLaunchKernel", 3, 2, 60, 70);
    ran(p, "gemm", 2, 0, 70, 170);
    host(p, GP_REC_CALL, "cudaLaunchKernel", 3, 3, 70, 90);
    ran(p, "gemm", 3, 0, 170, 180);
    waits(p, GP_WHY_item, 4, 90, 182);
    gp_verdict v = of(p, 182);
    is(&v, GP_CAUSE_launches, 10, 30, "a copy whose call waits");
    gp_prof_free(p);
}

/* A first launch that loads code for 3 ms, and an op of 0.2 ms that the host computes. */
static void setup(void) {
    gp_prof *p = begin(true);
    host(p, GP_REC_OP, "aten::mm", 3, 0, 0, 3010);
    host(p, GP_REC_CALL, "cudaLaunchKernel", 3, 1, 5, 3005);
    ran(p, "gemm", 1, 0, 3006, 3016);
    host(p, GP_REC_OP, "aten::sort", 5, 0, 3020, 3220);
    host(p, GP_REC_OP, "aten::mm", 6, 0, 3220, 3230);
    host(p, GP_REC_CALL, "cudaLaunchKernel", 6, 2, 3222, 3226);
    ran(p, "gemm", 2, 0, 3230, 3240);
    gp_verdict v = of(p, 3240);
    is(&v, GP_CAUSE_setup, 3000, 3000, "a first use");
    is(&v, GP_CAUSE_cpu, 200, 200, "an op of the host's own");
    is(&v, GP_CAUSE_script, 10, 20, "between them"); /* 3010 to 3020, and 3230 to the end */
    tap_ok(!strcmp(v.of[GP_CAUSE_setup].most->name, "cudaLaunchKernel") &&
               !strcmp(v.of[GP_CAUSE_launches].most->name, "aten::mm"),
           "a call of the set-up is named, of a launch its op");
    gp_prof_free(p);
}

/* What was queued at 10 us begins at 500: nothing on the record says why. On another stream a copy
 * runs meanwhile, or none does. */
static void delays(bool copy) {
    gp_prof *p = begin(false);
    host(p, GP_REC_OP, "matmul", 3, 1, 0, 10);
    ran(p, "matmul", 1, 0, 500, 600);
    if (copy) {
        host(p, GP_REC_COPY, "copy H2D", 2, 2, 10, 10)->where = &streams[1];
        ran(p, "copy H2D", 2, 1, 10, 410);
    }
    waits(p, GP_WHY_item, 4, 10, 600);
    gp_verdict v = of(p, 600);
    is(&v, GP_CAUSE_delays, copy ? 90 : 490, copy ? 90 : 490,
       copy ? "beside a copy" : "with nothing beside it");
    gp_prof_free(p);
}

/* Copies of 50 us and a collective of 200 us in the kernels' stream, none beside another. */
static void work(void) {
    gp_prof *p = begin(false);
    host(p, GP_REC_COPY, "copy H2D", 2, 1, 1, 1)->where = &streams[0];
    host(p, GP_REC_OP, "matmul", 3, 2, 1, 2);
    host(p, GP_REC_OP, "all_reduce", 4, 3, 2, 3);
    ran(p, "copy H2D", 1, 0, 1, 51);
    ran(p, "matmul", 2, 0, 51, 81);
    ran(p, "dist_all_reduce", 3, 0, 81, 281);
    waits(p, GP_WHY_collective, 5, 3, 281);
    gp_verdict v = of(p, 281);
    is(&v, GP_CAUSE_copies, 49, 50, "a copy"); /* the kernel after it is queued at 2 */
    is(&v, GP_CAUSE_collectives, 200, 200, "a collective, with the wait for it");
    is(&v, GP_CAUSE_kernels, 30, 30, "a kernel");
    is(&v, GP_CAUSE_waits, 0, 0, "the wait for the collective is none of those");
    gp_prof_free(p);
}

/* Ops of the cpu: nothing ran beside the host. */
static void on_the_host(void) {
    gp_prof *p = begin(false);
    host(p, GP_REC_OP, "matmul", 3, 1, 10, 90);
    host(p, GP_REC_OP, "add", 4, 2, 90, 95);
    gp_verdict v = of(p, 100);
    is(&v, GP_CAUSE_cpu, 85, 85, "the host's own ops");
    is(&v, GP_CAUSE_script, 15, 15, "beside them");
    tap_ok(!v.work && !v.of[GP_CAUSE_launches].ns, "nothing is launched");
    gp_prof_free(p);
}

/* Where the host's time is counted, queueing a read's copy takes some of it, which no op has: it is
 * a launch's. */
static void counted_copy(void) {
    gp_prof *p = begin(false);
    host(p, GP_REC_COPY, "copy D2H", 4, 1, 0, 8);
    ran(p, "copy D2H", 1, 0, 12, 13);
    waits(p, GP_WHY_item, 4, 8, 16);
    gp_verdict v = of(p, 16);
    is(&v, GP_CAUSE_script, 0, 0, "a counted copy");
    is(&v, GP_CAUSE_launches, 8, 8, "a counted copy");
    gp_prof_free(p);
}

/* Ten steps of 30 us, 20 of them the script's, after a start in which the script takes `start` us
 * and the host computes four times for 40. What passes once is not shown where the steps owe more.
 * step_end: of a marked step from 0 on; 0: none is marked. */
static void passed_once(uint64_t step_end, uint64_t start) {
    bool steps = step_end > 0;
    gp_prof *p = begin(false);
    if (steps) host(p, GP_REC_REGION, "step 7", 0, 0, 0, step_end);
    host(p, GP_REC_OP, "empty", 1, 0, 0, 5);
    for (uint64_t i = 0; i < 4; i++)
        host(p, GP_REC_OP, "randn", 2, 0, start + 5 + 40 * i, start + 45 + 40 * i);
    for (uint64_t i = 0, t = start + 165; i < 10; i++, t += 30) {
        host(p, GP_REC_OP, "matmul", 3, i + 1, t, t + 10);
        ran(p, "matmul", i + 1, 0, t + 10, t + 15);
    }
    gp_verdict v = of(p, start + 465);
    const gp_worth *script = &v.of[GP_CAUSE_script], *cpu = &v.of[GP_CAUSE_cpu];
    /* 20 after the last are the end, which passes once, too, unless they are in a marked step */
    uint64_t end = step_end < start + 465 ? 20 : 0;
    tap_is_int((int64_t)script->once, 1000 * (int64_t)(steps ? end : start + 20),
               "what passes once");
    tap_is_int((int64_t)cpu->once, steps ? 0 : 160000, "the host's ops before the steps, too");
    tap_is_int((int64_t)script->most_times, start > 160 ? 1 : 9, "where most of the script is");
    gp_prof_free(p);
}

/* Kernels of one line, or ops of the host's own there: run k of n takes 3 ms where large has bit k,
 * the others 20 us. `uses` of them are first uses. */
static void first_runs(bool device, int n, unsigned large, int uses) {
    gp_prof *p = begin(false);
    uint64_t t = 0, all = 0;
    for (int k = 0; k < n; k++) {
        uint64_t took = large >> k & 1 ? 3000 : 20;
        host(p, GP_REC_OP, "linear", 3, (uint64_t)k + 1, t, device ? t + 5 : t + took);
        if (device) ran(p, "linear", (uint64_t)k + 1, 0, t + 5, t + 5 + took);
        if (device) waits(p, GP_WHY_item, 4, t + 5, t + 5 + took);
        all += took, t += took + (device ? 5 : 0);
    }
    gp_verdict v = of(p, t);
    gp_cause cause = device ? GP_CAUSE_kernels : GP_CAUSE_cpu;
    int64_t setup = uses * (device ? 2980 : 3000), rest = (int64_t)all - setup;
    is(&v, GP_CAUSE_setup, setup, setup, device ? "kernels' first runs" : "ops' first runs");
    is(&v, cause, rest, rest, "the others");
    gp_prof_free(p);
}

static void untold(void) {
    gp_prof *p = begin(true);
    tap_ok(of(p, 10).untold == GP_UNTOLD_EMPTY, "an empty record tells nothing");
    for (uint64_t i = 0; i < 4; i++) ran(p, "gemm", i + 1, 0, 10 * i, 10 * i + 10);
    host(p, GP_REC_CALL, "cudaLaunchKernel", 3, 1, 0, 0);
    gp_verdict v = of(p, 40);
    tap_ok(v.untold == GP_UNTOLD_DEVICE && v.work == 4 && v.queued == 1,
           "nor one of a device's events, without those that queued them");
    host(p, GP_REC_CALL, "cudaLaunchKernel", 3, 2, 0, 0);
    tap_ok(of(p, 40).untold == GP_TOLD, "with half of them it does");
    p->dropped = 1;
    tap_ok(of(p, 40).untold == GP_UNTOLD_DROPPED, "one from which events were dropped does not");
    gp_prof_free(p);
}

int main(void) {
    reads();
    busy();
    loader();
    foreign_loader();
    calls_alone();
    waiting_copy();
    setup();
    delays(false);
    delays(true);
    counted_copy();
    work();
    on_the_host();
    passed_once(0, 500);
    passed_once(0, 100);
    passed_once(970, 500);
    passed_once(945, 500);
    for (int device = 0; device < 2; device++) {
        first_runs(device, 8, 1, 1);
        first_runs(device, 20, 3, 2); /* a line with two sizes */
        first_runs(device, 8, 0x55, 0);
        first_runs(device, 8, 2, 0);
    }
    untold();
    return tap_done();
}
