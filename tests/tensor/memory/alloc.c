/* The allocator: constant memory in loops, blocks that other streams and devices still use, and
 * running out of memory. */
#include "ops.h"

#include <pthread.h>
#include <unistd.h>

#include "tensor/memory/magazine.h"

enum { MIB = 1 << 20, ROUNDS = SANITIZED ? 80 : 300, SIZES = SANITIZED ? 100 : 400 };

static gp_device *cpu, *sim;

/* ---- ops ---- */

static gp_tensor *full(gp_device *dev, int64_t n, double value) {
    gp_call c;
    gp_call_begin(&c, GP_OP(full));
    gp_call_ints(&c, &n, 1);
    gp_call_number(&c, (gp_scalar){.is_float = true, .f = value});
    gp_call_none(&c);
    c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = dev};
    return gp_call_one(&c);
}

static gp_tensor *plus(gp_tensor *x, double number) {
    gp_call c;
    gp_call_begin(&c, GP_OP(add));
    gp_call_tensor(&c, x);
    gp_call_number(&c, (gp_scalar){.is_float = true, .f = number});
    return gp_call_one(&c);
}

static void heavy(gp_tensor *x, int times) {
    gp_call c;
    for (int k = 0; k < (SANITIZED ? (times + 3) / 4 : times); k++) {
        gp_call_begin(&c, GP_OP(tanh));
        gp_call_tensor(&c, x);
        gp_tensor_unref(need(gp_call_one(&c)));
    }
}

static bool all_are(gp_tensor *x, float want) {
    float *p = download(x);
    bool same = true;
    for (int64_t k = 0; k < x->a.numel && same; k++)
        if (p[k] != want)
            same = complain("element %lld is %g, expected %g", (long long)k, (double)p[k],
                            (double)want);
    free(p);
    return same;
}

static gp_mem_stats stats(gp_device *dev) {
    gp_mem_stats m;
    gp_alloc_stats(dev, &m);
    return m;
}

/* Pages in memory, in bytes. */
static int64_t resident(void) {
    long long size, pages = 0;
    FILE *f = fopen("/proc/self/statm", "re");
    if (!f || fscanf(f, "%lld %lld", &size, &pages) != 2) pages = 0;
    if (f) fclose(f);
    return pages * sysconf(_SC_PAGESIZE);
}

/* ---- loops ---- */

static void constant_memory(gp_device *dev) {
    gp_tensor *x = need(full(dev, MIB, 1)), *y = NULL;
    gp_alloc_reset_peak(dev);
    gp_mem_stats before = stats(dev);
    int64_t rss = resident();
    for (int k = 0; k < ROUNDS; k++) {
        gp_tensor *z = need(plus(x, k));
        gp_tensor_unref(y);
        y = z;
    }
    all_are(y, ROUNDS);
    gp_tensor_unref(y);
    gp_mem_stats m = stats(dev);
    tap_ok(m.allocs - before.allocs >= ROUNDS &&
               m.allocs - before.allocs - (m.reused - before.reused) <= 5,
           "y = x + i reuses its blocks on %s", dev->name);
    tap_ok(m.peak - before.in_use <= 16 * MIB && m.in_use == before.in_use,
           "and needs two at a time (peak %.1f MiB)", (double)(m.peak - before.in_use) / MIB);
    if (getenv("GPUSH_SAN") && *getenv("GPUSH_SAN")) tap_skip("a sanitizer keeps freed memory");
    else
        tap_ok(resident() - rss < 64 * MIB, "the process grows by %.1f MiB",
               (double)(resident() - rss) / MIB);
    gp_tensor_unref(x);
    tap_quiet("values of the last round on %s", dev->name);
}

/* Changing sizes must not pile up in the cache. */
static void changing_sizes(gp_device *dev) {
    int64_t most = 0, limit = stats(dev).limit;
    if (!limit || limit > 200 * MIB) limit = 200 * MIB;
    for (int k = 0; k < SIZES; k++) {
        gp_tensor *x = need(full(dev, 100000 + 7919 * k * (400 / SIZES), 1));
        gp_tensor_unref(x);
        gp_mem_stats m = stats(dev);
        if (m.cached + m.in_use > most) most = m.cached + m.in_use;
    }
    tap_ok(most <= limit, "changing sizes hold at most %.0f MiB of %.0f on %s", (double)most / MIB,
           (double)limit / MIB, dev->name);
    gp_wait_device(dev, GP_WHY_explicit, "synchronize");
    gp_alloc_flush(dev);
    tap_is_int(stats(dev).cached, 0, "a flush gives all of it back on %s", dev->name);
}

/* ---- other streams, other devices ---- */

/* x was made on the default stream and is read by work in another stream's queue: until then no one
 * else gets its block. */
static void other_streams(void) {
    gp_stream *a = sim->streams[0], *b = need(gp_stream_acquire(sim));
    gp_tensor *big = need(full(sim, MIB, 1)), *x = need(full(sim, 50000, 3));
    char *address = x->storage->data;
    gp_wait_device(sim, GP_WHY_explicit, "synchronize");
    gp_stream_set_current(b);
    heavy(big, 40);
    gp_tensor *y = need(plus(x, 1)); /* queued after the heavy work */
    gp_tensor_unref(x);
    gp_stream_set_current(a);
    bool handed_out = false;
    for (int k = 0; k < 4; k++) {
        gp_tensor *other = need(full(sim, 50000, 100 + k));
        handed_out |= other->storage->data == address && sim->vt->busy(b);
        gp_tensor_unref(other);
    }
    gp_wait(a, GP_WHY_explicit, "synchronize");
    tap_ok(sim->vt->busy(b), "the other stream is still at work");
    tap_ok(!handed_out, "a block that it will read is not handed out");
    gp_stream_set_current(b);
    all_are(y, 4);
    tap_quiet("and it reads what it should");
    gp_stream_set_current(a);
    bool again = false;
    gp_tensor *keep[8];
    for (int k = 0; k < 8; k++)
        keep[k] = need(full(sim, 50000, 0)), again |= keep[k]->storage->data == address;
    for (int k = 0; k < 8; k++) gp_tensor_unref(keep[k]);
    tap_ok(again, "afterwards the block is used again");
    gp_tensor_unref(y), gp_tensor_unref(big);
    gp_stream_release(b);
}

/* A copy to another device waits in that device's queue: the source's block must outlive it. */
static void other_devices(void) {
    gp_device *sim1 = need(gp_device_get("sim:1"));
    gp_tensor *big = need(full(sim1, MIB, 1)), *x = need(full(sim, 50000, 3));
    heavy(big, 40);
    gp_tensor *y = need(gp_to_device(x, sim1, false, GP_WHY_copy, "to"));
    tap_ok(sim1->vt->busy(sim1->streams[0]), "a copy between two devices does not wait for them");
    gp_tensor_unref(x);
    gp_tensor *other[4];
    for (int k = 0; k < 4; k++) other[k] = need(full(sim, 50000, 50 + k));
    all_are(y, 3);
    tap_quiet("the source's memory is used again only after the copy");
    for (int k = 0; k < 4; k++) all_are(other[k], 50 + (float)k), gp_tensor_unref(other[k]);
    tap_quiet("and what was made meanwhile is right too");
    gp_tensor_unref(big), gp_tensor_unref(y);
}

/* The reverse: the device that copies is idle, the one that makes the source is not. */
static void other_device_at_work(void) {
    gp_device *sim1 = need(gp_device_get("sim:1"));
    gp_tensor *big = need(full(sim, MIB, 1)), *x = need(full(sim, 50000, 3));
    heavy(big, 100);
    gp_tensor *made = need(plus(x, 1)),
              *y = need(gp_to_device(made, sim1, false, GP_WHY_copy, "to"));
    tap_ok(sim->vt->busy(sim->streams[0]), "a copy does not wait for who makes its source");
    all_are(y, 4);
    tap_quiet("but happens when that is made");
    gp_tensor_unref(big), gp_tensor_unref(x), gp_tensor_unref(made), gp_tensor_unref(y);
}

/* ---- small blocks of the host ---- */

enum { SMALL = 64, CLASS = 0 };

static void *use_and_end(void *unused) {
    gp_storage *st[100];
    gp_stream *s = gp_stream_current(cpu);
    for (int k = 0; k < 100; k++) st[k] = need(gp_storage_new(s, SMALL));
    for (int k = 0; k < 100; k++) gp_storage_unref(st[k]);
    return NULL;
}

static void magazines(void) {
    gp_stream *s = gp_stream_current(cpu);
    for (int k = 0; k < 10000; k++) gp_storage_unref(need(gp_storage_new(s, SMALL)));
    gp_storage *last = need(gp_storage_new(s, SMALL));
    gp_storage_unref(last);
    gp_storage *first = gp_magazine_pop(CLASS);
    tap_ok(first == last,
           "a thread keeps the small block that it freed last, however many there were before");
    if (first) gp_magazine_push(first);
    /* Blocks of an ended thread go to the shared allocator, even if that thread made them all. */
    pthread_t t;
    gp_mem_stats before = stats(cpu);
    pthread_create(&t, NULL, use_and_end, NULL), pthread_join(t, NULL);
    gp_mem_stats after = stats(cpu);
    tap_ok(after.in_use == before.in_use && after.cached >= before.cached + 90 * SMALL,
           "a thread that ends leaves its blocks: %lld bytes more are cached",
           (long long)(after.cached - before.cached));
}

/* Work queued on its own stream may still read a freed block: a flush must not free it. */
static void flush_while_busy(void) {
    gp_tensor *big = need(full(sim, MIB, 1)), *x = need(full(sim, 50000, 3));
    gp_wait_device(sim, GP_WHY_explicit, "synchronize");
    gp_alloc_flush(sim);
    heavy(big, 100);
    gp_tensor *y = need(plus(x, 1));
    gp_tensor_unref(x);
    gp_mem_stats before = stats(sim);
    gp_alloc_flush(sim);
    tap_ok(sim->vt->busy(sim->streams[0]), "work is queued");
    tap_ok(stats(sim).cached >= before.cached && stats(sim).cached > 0,
           "a flush leaves what it may read");
    all_are(y, 4);
    gp_tensor_unref(y), gp_tensor_unref(big);
    gp_alloc_flush(sim);
    tap_is_int(stats(sim).cached, 0, "and gives it back when nothing is");
}

/* In place on one stream while a queued reader is on another: the reader's event orders them on
 * request. */
static void freed_in_order(void) {
    gp_stream *a = sim->streams[0];
    gp_tensor *big = need(full(sim, MIB, 1));
    heavy(big, 10);
    gp_tensor *x = need(full(sim, 4000, 1)), *y = need(plus(x, 1));
    char *address = x->storage->data;
    gp_tensor_unref(x);
    gp_tensor *z = need(full(sim, 4000, 9));
    tap_ok(z->storage->data == address && sim->vt->busy(a),
           "on its own stream a freed block is used again at once");
    all_are(y, 2), all_are(z, 9);
    tap_quiet("in the order of the queue");
    gp_tensor_unref(y), gp_tensor_unref(z), gp_tensor_unref(big);
}

/* ---- out of memory ---- */

static gp_srcloc where(void) { return (gp_srcloc){"model.lua", 12}; }

static bool mentions(const char *text) {
    return strstr(gp_error(), text) || complain("no '%s' in: %s", text, gp_error());
}

static gp_tensor *hoard[8];
static int collections;
static void collect(void) {
    collections++;
    gp_tensor_unref(hoard[7]);
    hoard[7] = NULL;
}

static void out_of_memory(gp_device *dev) {
    gp_srcloc_script = where;
    for (int k = 0; k < 5; k++) hoard[k] = need(full(dev, 5 * MIB / 2, k)); /* 10 MiB each, of 64 */
    gp_error_clear();
    gp_tensor *x = full(dev, 5 * MIB, 0);
    tap_ok(!x, "20 MiB do not fit beside 50 of 64");
    mentions("out of memory on sim:0"), mentions("requested 20.0 MiB"), mentions("in use 50.0 MiB"),
        mentions("cached 0.0 MiB"), mentions("5 x 10.0 MiB"), mentions("model.lua:12");
    tap_quiet("the error tells what is where");
    for (int k = 0; k < 5; k++) all_are(hoard[k], (float)k);
    tap_quiet("what was there is as it was");
    gp_tensor *small = need(full(dev, 1000, 1));
    all_are(small, 1);
    tap_quiet("and what fits works");
    gp_tensor_unref(hoard[4]), gp_tensor_unref(hoard[3]);
    x = full(dev, 10 * MIB, 2); /* 40 MiB: only if the two freed blocks go back to the device */
    if (x && !all_are(x, 2)) complain("wrong values");
    tap_ok(x == NULL, "40 MiB do not fit beside 30");
    x = need(full(dev, 15 * MIB / 2, 2));
    all_are(x, 2);
    tap_quiet("30 MiB do, of blocks that were cached in another size");
    gp_tensor_unref(x);
    hoard[7] = need(full(dev, 15 * MIB / 2, 7));
    gp_alloc_collect = collect;
    x = full(dev, 15 * MIB / 2, 3);
    tap_ok(x && collections == 1 && all_are(x, 3), "a collection is tried before giving up");
    gp_alloc_collect = NULL;
    gp_tensor_unref(x), gp_tensor_unref(small);
    for (int k = 0; k < 3; k++) gp_tensor_unref(hoard[k]);
    gp_srcloc_script = NULL;
    tap_is_int(stats(dev).in_use, 0, "nothing is left in use");
}

static void absurd_sizes(gp_device *dev) {
    static const double sizes[] = {1e13, 1e15, 0x1p58, 0x1p60, 0x1p61, 0x1p62, 0x1p62};
    for (int k = 0; k < 7; k++) {
        int64_t n[2] = {(int64_t)sizes[k], k == 6 ? 4 : 1};
        for (int dt = 0; dt < GP_DTYPES; dt++) {
            gp_call c;
            gp_call_begin(&c, GP_OP(zeros));
            gp_call_ints(&c, n, 2);
            c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = dt};
            c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = dev};
            gp_error_clear();
            gp_tensor *x = gp_call_one(&c);
            if (x)
                complain("%g elements of %s", sizes[k], gp_dtype_name((gp_dtype)dt)),
                    gp_tensor_unref(x);
            else if (!*gp_error()) complain("no message");
        }
    }
    tap_quiet("absurd sizes are refused on %s", dev->name);
}

int main(void) {
    setenv("GPUSH_SIM_MEMORY", "64", 1);
    setenv("GPUSH_SIM_DEVICES", "2", 1);
    cpu = gp_device_cpu();
    sim = need(gp_device_get("sim"));
    constant_memory(cpu), constant_memory(sim);
    changing_sizes(cpu), changing_sizes(sim);
    other_streams();
    other_devices();
    other_device_at_work();
    flush_while_busy();
    magazines();
    freed_in_order();
    gp_alloc_flush(sim);
    out_of_memory(sim);
    absurd_sizes(cpu), absurd_sizes(sim);
    gp_device_shutdown();
    return tap_done();
}
