/* The record and its Chrome trace: events of host and worker threads, joined by id; the JSON read
 * by jansson; text of any kind in names. */
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "profile/show/rows.h"
#include "profile/sync/sync.h"
#include "profile/show/chrome_trace.h"
#include "tap.h"

enum { OPS = 50 };
static const char odd[] = "q\" b\\ n\n \xff\xfe \xc3\xa9 \x01";

static gp_tensor *filled(gp_device *dev, double v) {
    gp_shape shape = {.ndim = 1, .dim = {4096}};
    gp_tensor *t = gp_tensor_new(dev, GP_f32, &shape);
    gp_call c;
    gp_call_begin(&c, GP_OP(fill));
    gp_call_tensor(&c, t);
    gp_call_number(&c, (gp_scalar){.is_float = true, .f = v});
    c.into = t;
    gp_tensor *r = gp_call_one(&c);
    if (!r) fprintf(stderr, "# fill: %s\n", gp_error());
    gp_tensor_unref(r);
    return t;
}

static gp_tensor *add(gp_tensor *a, gp_tensor *b) {
    gp_call c;
    gp_call_begin(&c, GP_OP(add));
    gp_call_tensor(&c, a);
    gp_call_tensor(&c, b);
    return gp_call_one(&c);
}

/* OPS adds on dev within two regions, one with an unusual name, and a read of the result. */
static double work(gp_device *dev) {
    gp_region outer = gp_region_begin("outer", 5, 0),
              inner = gp_region_begin(odd, sizeof odd - 1, 0);
    gp_tensor *x = filled(dev, 1), *one = filled(dev, 1);
    for (int i = 0; i < OPS; i++) {
        gp_tensor *y = add(x, one);
        gp_tensor_unref(x);
        x = y;
    }
    gp_region_end(&inner);
    float out[4096] = {0};
    gp_read(x, out, GP_WHY_tolist, "tolist");
    gp_region_end(&outer);
    gp_tensor_unref(x);
    gp_tensor_unref(one);
    return out[4095];
}

static void *stranger(void *dev) {
    gp_tensor_unref(filled(dev, 2));
    return NULL;
}

static json_t *load(const char *path, char magic[2]) {
    static char text[1 << 22];
    FILE *raw = fopen(path, "rbe");
    if (!raw || fread(magic, 1, 2, raw) != 2) return NULL;
    fclose(raw);
    gzFile f = gzopen(path, "rb");
    int n = f ? gzread(f, text, sizeof text) : -1;
    if (f) gzclose(f);
    json_error_t e;
    json_t *j = n > 0 ? json_loadb(text, (size_t)n, 0, &e) : NULL;
    if (!j)
        fprintf(stderr, "# %s: %s at %d\n", path, n > 0 ? e.text : "nothing read",
                n > 0 ? e.position : 0);
    return j;
}

static const char *str(json_t *e, const char *key) {
    const char *s = json_string_value(json_object_get(e, key));
    return s ? s : "";
}
static double num(json_t *e, const char *key) { return json_number_value(json_object_get(e, key)); }

static int count(json_t *events, const char *ph, const char *cat, const char *name) {
    size_t i;
    json_t *e;
    int n = 0;
    json_array_foreach(events, i, e) n += !strcmp(str(e, "ph"), ph) &&
                                          (!cat || !strcmp(str(e, "cat"), cat)) &&
                                          (!name || !strcmp(str(e, "name"), name));
    return n;
}

/* Slices of one row must be nested or disjoint. */
static bool nested(json_t *events) {
    size_t i, k;
    json_t *a, *b;
    json_array_foreach(events, i, a) json_array_foreach(events, k, b) {
        if (i == k || strcmp(str(a, "ph"), "X") || strcmp(str(b, "ph"), "X") ||
            num(a, "pid") != num(b, "pid") || num(a, "tid") != num(b, "tid"))
            continue;
        double a0 = num(a, "ts"), a1 = a0 + num(a, "dur"), b0 = num(b, "ts"),
               b1 = b0 + num(b, "dur"), eps = 0.0015; /* written to 1 ns */
        if (b0 > a0 + eps && b0 < a1 - eps && b1 > a1 + eps) return false;
    }
    return true;
}

/* Every arrow that starts ends, later. */
static bool arrows(json_t *events) {
    size_t i, k;
    json_t *s, *f;
    json_array_foreach(events, i, s) {
        if (strcmp(str(s, "ph"), "s")) continue;
        int ends = 0;
        json_array_foreach(events, k, f) if (!strcmp(str(f, "ph"), "f") &&
                                             num(f, "id") == num(s, "id") &&
                                             num(f, "ts") >= num(s, "ts")) ends++;
        if (ends != 1) return false;
    }
    return true;
}

static void test_trace(const gp_prof *p, const char *dir) {
    char path[600], zipped[600], magic[2] = "";
    snprintf(path, sizeof path, "%s/t.json", dir);
    snprintf(zipped, sizeof zipped, "%s/t.json.gz", dir);
    tap_ok(gp_trace_write(p, path) && gp_trace_write(p, zipped), "traces are written");
    json_t *j = load(path, magic);
    tap_ok(j && magic[0] == '{', "plain JSON");
    json_t *z = load(zipped, magic);
    tap_ok(z && (unsigned char)magic[0] == 0x1f && (unsigned char)magic[1] == 0x8b &&
               json_equal(j, z),
           "the same, zipped");
    json_t *e = json_object_get(j, "traceEvents");
    tap_is_int(count(e, "X", "op", "add"), OPS, "a slice per op");
    tap_is_int(count(e, "X", "kernel", "add"), OPS, "and per kernel");
    tap_is_int(count(e, "X", "wait", "wait: tolist"), 1, "the wait");
    tap_is_int(count(e, "X", "copy", NULL), 2, "the copy, queued and done");
    tap_is_int(count(e, "X", "region", "q\" b\\ n\n \xef\xbf\xbd\xef\xbf\xbd \xc3\xa9 \x01"), 1,
               "a region of an odd name");
    tap_is_int(count(e, "s", NULL, NULL), OPS + 3, "an arrow from each op and copy");
    tap_ok(arrows(e), "to its kernel");
    tap_ok(nested(e), "slices of a row are nested");
    tap_is_int(count(e, "M", NULL, "thread_name"), 3, "rows have names");
    json_decref(j);
    json_decref(z);
    gp_trace_write(p, path);
    tap_ok(!gp_trace_write(p, "/nowhere/t.json") && strstr(gp_error(), "/nowhere/t.json"),
           "a place that is none: %s", gp_error());
    char cmd[700];
    snprintf(cmd, sizeof cmd, "test $(ls %s | wc -l) = 2", dir);
    tap_ok(system(cmd) == 0, "no temporary is left");
}

static void test_rows(const gp_prof *p) {
    int64_t self = 0, adds = 0;
    gp_rows *r = gp_rows_new(p, GP_BY_OP);
    tap_ok(r != NULL, "rows");
    if (!r) return;
    for (int i = 0; i < r->n; i++) {
        self += r->row[i].self[GP_CPU];
        if (r->row[i].rec && r->row[i].rec->kind == GP_REC_OP &&
            !strcmp(r->row[i].rec->name, "add"))
            adds += (int64_t)r->row[i].calls;
    }
    tap_is_int(self, (long long)(p->t1 - p->t0) + r->beside,
               "self times make the wall time and what ran beside it");
    tap_is_int(adds, OPS, "calls");
    gp_rows_free(r);
}

/* Overlapping regions, as two coroutines make them. */
static void test_overlap(const char *dir) {
    char path[600], magic[2];
    gp_prof_opts o = {0};
    gp_prof_start(&o);
    gp_region a = gp_region_begin("a", 1, 0), b = gp_region_begin("b", 1, 0);
    usleep(100);
    gp_region_end(&a);
    usleep(100);
    gp_region_end(&b);
    gp_prof *p = gp_prof_stop();
    snprintf(path, sizeof path, "%s/t.json", dir);
    gp_trace_write(p, path);
    json_t *j = load(path, magic), *e = json_object_get(j, "traceEvents");
    tap_ok(nested(e) && count(e, "b", "region", "b") == 1 && count(e, "e", "region", "b") == 1,
           "a region that is not nested has its own row");
    json_decref(j);
    gp_region_end(&a);
    gp_prof_free(p);
    gp_region_end(&b);
}

static bool is_op(const gp_rec *r) { return r->kind == GP_REC_OP; }

int main(void) {
    char dir[] = "/tmp/gpush-trace.XXXXXX", cmd[100];
    if (!mkdtemp(dir)) return tap_skip_all("no temporary folder");
    gp_device *sim = gp_device_get("sim");
    gp_prof_opts o = {.memory = true, .shapes = true};
    gp_sync_open();
    tap_ok(gp_hook.op_begin == NULL && gp_hook.op_end == NULL && gp_hook.device == NULL,
           "no profile, no hooks on ops");
    tap_is_str(gp_prof_start(&o) ? "started" : gp_error(), "started", "start");
    tap_close(work(sim), OPS + 1, 0, "the work is done");
    pthread_t th;
    pthread_create(&th, NULL, stranger, gp_device_cpu());
    pthread_join(th, NULL);
    gp_prof *p = gp_prof_stop();
    tap_ok(p != NULL, "stop");
    tap_ok(gp_hook.op_begin == NULL && gp_hook.op_end == NULL && gp_hook.device == NULL &&
               gp_hook.memory == NULL,
           "the hooks are gone again");
    tap_ok(p && p->others == 0 && p->dropped == 0, "nothing is left out");
    tap_ok(p && p->host->next && !p->host->next->next && p->host->next->name &&
               gp_count_recs(p->host->next, is_op) > 0,
           "what another thread did is on a track of its own");
    if (p) {
        test_rows(p);
        test_trace(p, dir);
    }
    gp_prof_free(p);
    test_overlap(dir);
    for (int i = 0; i < 20; i++) { /* starts and stops while a device works */
        gp_tensor *x = filled(sim, 1), *y = add(x, x);
        gp_prof_start(&o);
        gp_tensor *z = add(y, y);
        gp_prof *q = gp_prof_stop();
        gp_tensor_unref(x), gp_tensor_unref(y), gp_tensor_unref(z);
        gp_prof_free(q);
    }
    gp_device_shutdown();
    snprintf(cmd, sizeof cmd, "rm -rf %s", dir);
    tap_ok(system(cmd) == 0, "done");
    return tap_done();
}
