/* Replays of records with known answers: records are written by hand, and what they must become is
 * worked out by hand, too. Random records keep what must hold for any. */
#include <malloc.h>
#include <stdlib.h>

#include "profile/replay/path.h"
#include "profile/replay/replay.h"
#include "tap.h"

enum { T0 = 1000000 };
/* Random records, and traces of two threads; a sanitizer takes 4 ms for each. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { RECORDS = 2500, TRACES = 500 };
#else
enum { RECORDS = 10000, TRACES = 2000 };
#endif

static gp_device device = {.name = "made:0"};
static gp_stream streams[3] = {
    {.dev = &device, .index = 0}, {.dev = &device, .index = 1}, {.dev = &device, .index = 2}};
static const gp_device_vt vt = {.kind = "made"};

static gp_prof *begin(void) {
    gp_prof *p = gp_prof_new(&(gp_prof_opts){0});
    p->t0 = T0;
    gp_prof_add_worker(p);
    return p;
}

/* Times of all of these in ns after the start. */
static gp_rec *op(gp_prof *p, const char *name, int line, uint64_t id, uint64_t t0, uint64_t t1) {
    gp_rec *r = gp_track_append(p->host);
    *r = (gp_rec){.t0 = T0 + t0,
                  .t1 = T0 + t1,
                  .id = id,
                  .name = name,
                  .file = "lib/train.lua",
                  .line = line,
                  .kind = GP_REC_OP};
    return r;
}

static void waits(gp_prof *p, gp_why why, int line, int stream, uint64_t t0, uint64_t t1) {
    gp_rec *r = op(p, gp_why_name(why), line, 0, t0, t1);
    r->kind = GP_REC_WAIT;
    r->why = (uint8_t)why;
    r->where = &streams[stream];
}

static void copy_queued(gp_prof *p, const char *name, uint64_t id, int stream, uint64_t t) {
    gp_rec *r = op(p, name, 1, id, t, t);
    r->kind = GP_REC_COPY;
    r->where = &streams[stream];
}

static void ran(gp_prof *p, const char *name, uint64_t id, int stream, uint64_t t0, uint64_t t1) {
    gp_rec *r = gp_track_append(p->workers);
    *r = (gp_rec){.t0 = T0 + t0,
                  .t1 = T0 + t1,
                  .id = id,
                  .name = name,
                  .kind = strncmp(name, "copy", 4) ? GP_REC_KERNEL : GP_REC_MOVED,
                  .where = &streams[stream]};
}

static gp_prof *end(gp_prof *p, uint64_t done, uint64_t t1) {
    p->done = T0 + done;
    p->t1 = T0 + t1;
    return p;
}

/* What p's wall time becomes, in ns; frees nothing of p. */
static int64_t wall(gp_prof *p, gp_whatif w) {
    gp_prof *q = gp_prof_predict(p, &w, "a test");
    int64_t ns = q ? (int64_t)(q->t1 - q->t0) : -1;
    gp_prof_free(q);
    return ns;
}

/* Two kernels of 100 us, each followed by a read: the host takes 10 us for a launch and 40 us
 * between the reads; the device stands still meanwhile. */
static gp_prof *two_reads(void) {
    gp_prof *p = begin();
    op(p, "matmul", 3, 1, 0, 10000);
    ran(p, "matmul", 1, 0, 10000, 110000);
    waits(p, GP_WHY_item, 4, 0, 10000, 112000);
    op(p, "matmul", 3, 2, 152000, 162000);
    ran(p, "matmul", 2, 0, 162000, 262000);
    waits(p, GP_WHY_item, 4, 0, 162000, 264000);
    return end(p, 264000, 264000);
}

static void known(void) {
    gp_prof *p = two_reads();
    gp_whatif same = {.host = 1};
    tap_is_int(wall(p, same), 264000, "a replay in which nothing is other takes as long");
    gp_whatif none = {.host = 1, .without_whys = 1u << GP_WHY_item};
    /* launches at 10 and 60 us; the second kernel follows the first, 110 to 210 us, whose end the
     * wait at the profile's end notices 2 us later, as the record's did */
    tap_is_int(wall(p, none), 212000, "without its waits the kernels follow each other");
    gp_whatif_line line = {"train.lua", 4, NULL}, other = {"ain.lua", 4, NULL};
    gp_whatif one = {.host = 1, .without = &line, .nwithout = 1};
    tap_is_int(wall(p, one), 212000, "waits of a line, by the end of its path");
    one.without = &other;
    tap_is_int(wall(p, one), 264000, "which begins a name");
    gp_whatif_scale half = {"matmul", 0.5};
    gp_whatif scaled = {.host = 1, .scale = &half, .nscale = 1};
    tap_is_int(wall(p, scaled), 164000, "kernels of half the time");
    gp_whatif host = {.host = 0.5};
    /* 5 + 100 + 2 + 20 + 5 + 100 + 2 */
    tap_is_int(wall(p, host), 234000, "a host that takes half the time");
    gp_prof_free(p);
}

/* A kernel that begins 30 ms after its launch: sim's thread waited for a processor, which no card
 * does; what held up a card's is not known, and stays. On an H200 1 us of bytes and 2 of a kernel
 * begin 4 us after the op's 10, and the wait notices the end 2.7 us later. */
static void late_kernels(void) {
    static const gp_device_vt sim = {.kind = "sim"}, cuda = {.kind = "cuda"};
    gp_prof *p = begin();
    gp_cost cost = {.bytes = 4.8e6, .passes = 1};
    gp_whatif card = {.host = 1, .card = gp_card_at(0), .card_share = 1};
    op(p, "add", 3, 1, 0, 10000)->cost = &cost;
    ran(p, "add", 1, 0, 30010000, 30110000);
    waits(p, GP_WHY_item, 4, 0, 10000, 30112000);
    end(p, 30112000, 30112000);
    device.vt = &sim;
    tap_is_int(wall(p, card), 19700, "what sim's thread waited for is no card's time");
    device.vt = &cuda;
    tap_ok(wall(p, card) > 30000000, "what a card waited for is");
    device.vt = &vt;
    gp_prof_free(p);
}

/* A synchronous device computes within the op: its time is the op's own. */
static void on_the_host(void) {
    gp_prof *p = begin();
    op(p, "composite", 1, 1, 1000, 90000);
    op(p, "conv2d", 2, 2, 10000, 50000);
    end(p, 100000, 100000);
    gp_whatif_scale half = {"conv2d", 0.5};
    tap_is_int(wall(p, (gp_whatif){.host = 1, .scale = &half, .nscale = 1}), 80000,
               "an op that the host computed, in half the time");
    half.op = "composite";
    tap_is_int(wall(p, (gp_whatif){.host = 1, .scale = &half, .nscale = 1}), 75500,
               "another's own time, without that of the op in it");
    /* 11 us of the script, 49 of composite, 40 of conv2d */
    tap_is_int(wall(p, (gp_whatif){.host = 0.5}), 50000, "a host twice as fast computes as fast");
    half.op = "conv2d";
    tap_is_int(wall(p, (gp_whatif){.host = 0.5, .scale = &half, .nscale = 1}), 40000,
               "and one op in a quarter of the time");
    gp_prof_free(p);
}

/* Copies of 50 us before and after a kernel of 50 us, twice, all in one stream. */
static void beside(void) {
    gp_prof *p = begin();
    uint64_t t = 0;
    for (uint64_t i = 0; i < 2; i++) {
        copy_queued(p, "copy H2D", 3 * i + 1, 0, 1000 * (3 * i + 1));
        op(p, "tanh", 2, 3 * i + 2, 1000 * (3 * i + 1), 1000 * (3 * i + 2));
        copy_queued(p, "copy D2H", 3 * i + 3, 0, 1000 * (3 * i + 3));
        if (!i) t = 1000;
        ran(p, "copy H2D", 3 * i + 1, 0, t, t + 50000);
        ran(p, "tanh", 3 * i + 2, 0, t + 50000, t + 100000);
        ran(p, "copy D2H", 3 * i + 3, 0, t + 100000, t + 150000);
        t += 150000;
    }
    end(p, 10000, 301000);
    tap_is_int(wall(p, (gp_whatif){.host = 1}), 301000, "copies in order");
    /* to the device 1 to 101 us, kernels 51 to 151, to the host 101 to 201 */
    tap_is_int(wall(p, (gp_whatif){.host = 1, .overlap = true}), 201000, "copies beside kernels");
    gp_prof_free(p);
}

static void path(void) {
    gp_prof *p = two_reads();
    gp_job *job = gp_job_new(p);
    const gp_timeline *t = job->rank[0];
    int n;
    gp_path_part *part = gp_critical_path(job, GP_PATH_BY_OP, &n);
    uint64_t sum = 0, kernels = 0, script = 0, launch = 0, after = 0;
    for (int i = 0; i < n; i++) {
        sum += part[i].ns;
        if (part[i].kind == GP_PATH_DEVICE) kernels += part[i].ns;
        if (part[i].kind == GP_PATH_SCRIPT) script += part[i].ns;
        if (part[i].kind == GP_PATH_HOST) launch += part[i].ns;
        if (part[i].kind == GP_PATH_WAIT) after += part[i].ns;
    }
    tap_is_int((int64_t)sum, 264000, "the critical path adds up to the wall time");
    tap_ok(kernels == 200000 && script == 40000 && launch == 20000 && after == 4000,
           "kernels, script, launches and the end of waits on it");
    free(part);
    gp_idle idle;
    tap_ok(gp_idle_times(t, &idle) && idle.kernels == 200000 && idle.op == 20000 &&
               idle.script == 40000 && idle.waiting == 4000 && !idle.latency && !idle.copies,
           "idle time by its reason");
    tap_ok(idle.most == 1 && fabs(idle.depth - 200.0 / 264) < 1e-9, "what was queued");
    gp_busy busy;
    gp_streams_busy(t, &busy);
    tap_ok(t->nstreams == 1 && busy.ns == 200000, "a stream's busy time");
    gp_saving total;
    gp_saving *s = gp_savings(job, &n, &total, NULL);
    tap_ok(n == 1 && s->times == 2 && s->waited == 204000 && s->saved == 52000 &&
               total.saved == 52000,
           "what the waits of a line cost");
    free(s);
    gp_job_free(job);
    gp_prof_free(p);
}

/* The predicted profile lives on its own, and has the events at their new times. */
static void profile(void) {
    gp_prof *p = two_reads();
    gp_prof *q = gp_prof_predict(p, &(gp_whatif){.host = 1, .without_whys = ~0u}, "no waits");
    gp_prof_free(p);
    int events = 0;
    uint64_t last = 0;
    gp_cursor at = gp_first(q->host);
    for (gp_rec *r; (r = gp_next(&at)); last = r->t0)
        events += r->kind == GP_REC_OP && r->t0 >= last;
    tap_is_int(events, 2, "waits are gone, ops are there in order");
    tap_ok(!strcmp(q->predicted, "no waits"), "it says what was predicted");
    gp_prof_free(q);
}

/* ---- random records ---- */

static uint64_t state;
static uint64_t below(uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
}

/* A host that launches on three streams and waits now and then, played by the rules of a device. */
static gp_prof *random_record(uint64_t seed) {
    gp_prof *p = begin();
    uint64_t host = 0, ready[3] = {0}, id = 0;
    state = seed;
    for (int i = 0; i < 30; i++) {
        int s = (int)below(3), launches = (int)below(4);
        host += below(5000);
        for (int k = 0; k < launches; k++) {
            uint64_t t1 = host + 1 + below(9000), from = ready[s] > t1 ? ready[s] : t1;
            bool copies = below(4) == 0;
            const char *name = copies ? (below(2) ? "copy H2D" : "copy D2H") : "tanh";
            if (copies) copy_queued(p, name, ++id, s, t1);
            else op(p, name, (int)below(5), ++id, host, t1);
            from += below(3) ? 0 : below(3000);
            ready[s] = from + 1 + below(40000);
            ran(p, name, id, s, from, ready[s]);
            host = t1 + below(2000);
        }
        if (below(3)) continue;
        uint64_t t0 = host;
        host = (ready[s] > host ? ready[s] : host) + below(3000);
        waits(p, below(2) ? GP_WHY_item : GP_WHY_print, 7 + (int)below(3), s, t0, host);
    }
    uint64_t ended = host;
    for (int s = 0; s < 3; s++) ended = ready[s] > ended ? ready[s] : ended;
    return end(p, host, ended);
}

/* The same as another program's trace: its calls are spread over two threads, and some waits begin
 * while the other thread goes on, or are for all of the device. */
static gp_prof *random_foreign(uint64_t seed) {
    static gp_stream all = {.dev = &device, .index = -1};
    gp_prof *own = random_record(seed), *p = begin();
    uint64_t id[200] = {0}, n = 0, last[2] = {T0, T0};
    gp_track *track[2] = {p->host, gp_prof_add_host(p)};
    p->foreign = true;
    for (int i = 0; i < 2; i++) {
        gp_cursor at = gp_first(own->host);
        for (gp_rec *r; (r = gp_next(&at));) {
            if ((r->line + r->t0) % 2 != (uint64_t)i) continue;
            gp_rec *to = gp_track_append(track[i]);
            *to = *r;
            if (r->id && r->id < 200) to->id = id[r->id] = ++n;
            if (r->kind == GP_REC_WAIT) {
                uint64_t back = below(4000);
                to->t0 = r->t0 > last[i] + back ? r->t0 - back : last[i];
                if (below(3) == 0) to->where = &all;
            } else if (r->kind == GP_REC_COPY || below(4)) {
                to->kind = GP_REC_CALL, to->where = NULL, to->bytes = 0;
            }
            if (below(4) == 0) to->file = NULL;
            last[i] = to->t0;
        }
    }
    gp_cursor at = gp_first(own->workers);
    for (gp_rec *r; (r = gp_next(&at));) {
        gp_rec *to = gp_track_append(p->workers);
        *to = *r;
        to->id = below(5) && r->id < 200 ? id[r->id] : 0;
    }
    p->done = own->done, p->t1 = own->t1;
    gp_prof_free(own);
    return p;
}

static bool track_in_order(const gp_prof *q, const gp_track *t) {
    uint64_t last = 0;
    gp_cursor at = gp_first(t);
    for (gp_rec *r; (r = gp_next(&at)); last = r->t0)
        if (r->t0 < last || gp_rec_end(q, r) < r->t0 || r->t0 < q->t0 || r->t0 > q->t1)
            return false;
    return true;
}

static bool in_order(const gp_prof *q) {
    bool ok = true;
    for (const gp_track *t = q->host; t; t = t->next) ok = ok && track_in_order(q, t);
    for (const gp_track *t = q->workers; t; t = t->next) ok = ok && track_in_order(q, t);
    return ok;
}

/* Of a device's events, whose tracks are other ones: their number and the sum of their times. */
static uint64_t sum_times(const gp_prof *p) {
    uint64_t sum = 0;
    for (const gp_track *t = p->workers; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));) sum += 1 + 3 * r->t0 + 5 * r->t1;
    }
    return sum;
}

static bool same_times(const gp_prof *p, const gp_prof *q) {
    const gp_track *t = p->host, *u = q->host;
    for (; t && u; t = t->next, u = u->next) {
        gp_cursor at = gp_first(t), to = gp_first(u);
        for (gp_rec *r, *s; (r = gp_next(&at)) && (s = gp_next(&to));)
            if (r->t0 != s->t0 || r->t1 != s->t1) return false;
    }
    return !t && !u && sum_times(p) == sum_times(q) && p->t1 == q->t1 && p->done == q->done;
}

static bool holds(gp_prof *p, uint64_t seed) {
    gp_prof *same = gp_prof_predict(p, &(gp_whatif){.host = 1}, "");
    gp_whatif_line line = {"train.lua", 8, NULL};
    gp_whatif_line print = {.what = "print"};
    gp_whatif_scale tanh = {"tanh", 0.3};
    gp_whatif less[] = {{.host = 1, .without = &line, .nwithout = 1},
                        {.host = 1, .without = &print, .nwithout = 1},
                        {.host = 1, .without_whys = 1u << GP_WHY_item},
                        {.host = 1, .scale = &tanh, .nscale = 1},
                        {.host = 0.2},
                        {.host = 1, .overlap = true},
                        {.host = 0, .overlap = true, .without_whys = ~0u},
                        {.host = 1, .without_causes = 1u << GP_CAUSE_waits},
                        {.host = 1, .without_causes = 1u << GP_CAUSE_launches},
                        {.host = 1, .without_causes = 1u << GP_CAUSE_delays},
                        {.host = 1, .without_causes = 1u << GP_CAUSE_kernels},
                        {.host = 1, .without_causes = 1u << GP_CAUSE_script},
                        {.host = 1, .without_causes = ~0u}};
    bool ok = same && same_times(p, same) && in_order(same);
    for (size_t i = 0; ok && i < sizeof less / sizeof *less; i++) {
        gp_prof *q = gp_prof_predict(p, &less[i], "");
        ok = q && q->t1 <= p->t1 && q->t1 >= q->t0 && in_order(q);
        gp_prof_free(q);
    }
    gp_job *job = gp_job_new(p);
    const gp_timeline *t = job->rank[0];
    int n = 0, lines = 0;
    gp_path_part *part = gp_critical_path(job, seed & 1 ? GP_PATH_BY_LINE : GP_PATH_BY_OP, &n);
    gp_idle idle;
    gp_saving total = {0};
    uint64_t sum = 0, all = p->t1 - p->t0;
    for (int i = 0; i < n; i++) sum += part[i].ns;
    gp_saving *saving = seed % 10 ? NULL : gp_savings(job, &lines, &total, NULL);
    for (int i = 0; i < lines; i++) ok = ok && saving[i].saved <= total.saved;
    free(saving);
    ok = ok && sum == all && gp_idle_times(t, &idle) &&
         idle.kernels + idle.copies + idle.latency + idle.waiting + idle.loader + idle.op +
                 idle.script ==
             all;
    free(part);
    gp_job_free(job);
    gp_prof_free(same);
    gp_prof_free(p);
    return ok;
}

int main(void) {
    device.vt = &vt;
    mallopt(M_MMAP_THRESHOLD, 1 << 30); /* a track's first chunk is 320 KiB, most of it unused */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    known();
    late_kernels();
    on_the_host();
    beside();
    path();
    profile();
    int bad = 0;
    for (uint64_t seed = 1; seed <= RECORDS && !bad; seed++)
        if (!holds(random_record(seed), seed)) bad = (int)seed;
    tap_is_int(bad, 0, "%d random records: the same unchanged, never slower with less", RECORDS);
    for (uint64_t seed = 1; seed <= TRACES && !bad; seed++)
        if (!holds(random_foreign(seed), seed)) bad = (int)seed;
    tap_is_int(bad, 0, "%d random traces of two threads: the same", TRACES);
    return tap_done();
}
