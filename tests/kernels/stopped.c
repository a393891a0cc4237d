/* Ctrl-C while a kernel runs on the cpu: it ends within a fraction of its time, with an error, and
 * the inputs are unchanged. */
#include "ops.h"

#include "tensor/memory/alloc.h"
#include "tensor/device/offload.h"
#include "tensor/io/npy.h"
#include "tensor/io/png.h"

#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

static void on_alarm(int sig) { gp_interrupted = 1; }

static void on_other(int sig) {}

static void alarm_in(int ms) {
    struct itimerval in = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
    setitimer(ITIMER_REAL, &in, NULL);
}

static gp_tensor *pattern(gp_dtype dt, int ndim, const int64_t *dim) {
    gp_shape s = {.ndim = ndim};
    memcpy(s.dim, dim, (size_t)ndim * sizeof *dim);
    gp_tensor *x = need(gp_tensor_new(gp_device_cpu(), dt, &s));
    for (int64_t i = 0; i < x->a.numel; i++) {
        if (dt == GP_f32) ((float *)(void *)x->a.data)[i] = (float)(i % 97) / 97 + 0.25f;
        else if (dt == GP_f64) ((double *)(void *)x->a.data)[i] = (double)(i % 97) / 97 + 0.25;
        else ((int64_t *)(void *)x->a.data)[i] = i % 97;
    }
    return x;
}

static uint64_t checksum(const gp_tensor *x) {
    uint64_t sum = 0, word;
    for (size_t i = 0; i + 8 <= (size_t)x->a.numel * dt_size((gp_dtype)x->a.dtype); i += 8)
        memcpy(&word, x->a.data + i, 8), sum = sum * 31 + word;
    return sum;
}

/* op, of one tensor or of it and itself, takes so long that 60 ms are a small part of it. */
static void stops(const char *op, gp_tensor *x, int operands, void (*more)(gp_call *)) {
    uint64_t before = checksum(x);
    gp_call c;
    gp_call_begin(&c, gp_op_find(op));
    for (int i = 0; i < operands; i++) gp_call_tensor(&c, x);
    if (more) more(&c);
    uint64_t start = gp_now_ns();
    alarm_in(60);
    gp_tensor *y = gp_call_one(&c);
    double ms = (double)(gp_now_ns() - start) * 1e-6;
    alarm_in(0);
    gp_interrupted = 0;
    char want[64];
    snprintf(want, sizeof want, "%s: interrupted", op);
    if (!tap_ok(!y, "%s of %s ends early (%.0f ms)", op, gp_dtype_name((gp_dtype)x->a.dtype), ms))
        gp_tensor_unref(y);
    else tap_is_str(gp_error(), want, "and says so");
    tap_ok(checksum(x) == before, "its input is what it was");
    gp_tensor_unref(x);
}

static void over_dim_2(gp_call *c) { gp_call_int(c, 2); }

/* With the flag set from the start, the first check ends the op: nothing depends on its duration. A
 * single value that such an op takes is a number, a dim or a list of dims. */
static void sees_the_flag(gp_tensor *x) {
    static const struct {
        const char *op;
        int tensors, ints[2]; /* ints end with 0 */
        bool list;
    } cases[] = {{"copy", 1, {0}, false},        {"exp", 1, {0}, false},  {"cumsum", 1, {1}, false},
                 {"flip", 1, {1}, true},         {"tril", 1, {0}, false}, {"where", 3, {0}, false},
                 {"masked_fill", 2, {0}, false}, {"sum", 1, {0}, false},  {"sort", 1, {0}, false}};
    gp_shape s = {.ndim = 2, .dim = {x->a.dim[0], x->a.dim[1]}};
    gp_tensor *mask = need(gp_tensor_new(gp_device_cpu(), GP_bool, &s));
    memset(mask->a.data, 1, (size_t)mask->a.numel);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool where = !strcmp(cases[i].op, "where"), fill = !strcmp(cases[i].op, "masked_fill");
        gp_call c;
        gp_call_begin(&c, gp_op_find(cases[i].op));
        if (where) gp_call_tensor(&c, mask);
        for (int k = where; k < cases[i].tensors; k++) gp_call_tensor(&c, fill && k ? mask : x);
        if (fill) gp_call_number(&c, (gp_scalar){.is_float = true, .f = 1});
        if (cases[i].list) gp_call_ints(&c, (int64_t[]){1}, 1);
        else if (*cases[i].ints) gp_call_int(&c, *cases[i].ints);
        gp_interrupted = 1;
        bool ran = gp_op_run(&c);
        gp_interrupted = 0;
        tap_ok(!ran && strstr(gp_error(), "interrupted"), "%s looks whether it was interrupted",
               cases[i].op);
        for (int k = 0; ran && k < c.nout; k++) gp_tensor_unref(c.out[k]);
    }
    gp_tensor_unref(mask), gp_tensor_unref(x);
}

/* The same for ops whose tensors are of several kinds: x floats, i integers from 1 on, m a mask, v
 * one dim of floats. */
static void sees_the_flag_too(void) {
    static const struct {
        const char *op, *takes;
        int ints[2]; /* end with 0 */
    } cases[] = {
        {"argmax", "x", {0}},        {"argmax", "x", {2}},         {"nonzero", "m", {0}},
        {"count_nonzero", "m", {0}}, {"masked_select", "xm", {0}}, {"one_hot", "i", {98}},
        {"embedding", "ix", {0}},    {"searchsorted", "vx", {0}},  {"multinomial", "v", {9}}};
    gp_tensor *x = pattern(GP_f32, 2, (int64_t[]){2000, 2000}),
              *i = pattern(GP_i64, 1, (int64_t[]){200000}),
              *v = pattern(GP_f32, 1, (int64_t[]){200000});
    gp_shape s = {.ndim = 2, .dim = {2000, 2000}};
    gp_tensor *m = need(gp_tensor_new(gp_device_cpu(), GP_bool, &s));
    memset(m->a.data, 1, (size_t)m->a.numel);
    for (int64_t k = 0; k < i->a.numel; k++) ((int64_t *)(void *)i->a.data)[k]++;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        gp_call c;
        gp_call_begin(&c, gp_op_find(cases[k].op));
        for (const char *t = cases[k].takes; *t; t++)
            gp_call_tensor(&c, *t == 'x' ? x : *t == 'i' ? i : *t == 'm' ? m : v);
        if (*cases[k].ints) gp_call_int(&c, *cases[k].ints);
        gp_interrupted = 1;
        bool ran = gp_op_run(&c);
        gp_interrupted = 0;
        tap_ok(!ran && strstr(gp_error(), "interrupted"), "%s(%s) looks, too%s%s", cases[k].op,
               cases[k].takes, ran ? "" : ": ", ran ? "" : gp_error());
        for (int n = 0; ran && n < c.nout; n++) gp_tensor_unref(c.out[n]);
    }
    gp_tensor_unref(x), gp_tensor_unref(i), gp_tensor_unref(m), gp_tensor_unref(v);
}

/* Continuous signals while f32 products run: oneDNN's kernels tolerate none. */
static void under_signals(void) {
    gp_tensor *x = pattern(GP_f32, 3, (int64_t[]){4, 600, 600}), *first = NULL;
    int same = 0;
    for (int i = 0; i < 12; i++) {
        gp_call c;
        gp_call_begin(&c, GP_OP(bmm));
        gp_call_tensor(&c, x);
        gp_call_tensor(&c, x);
        if (i == 1) setitimer(ITIMER_REAL, &(struct itimerval){{0, 200}, {0, 200}}, NULL);
        gp_tensor *y = need(gp_call_one(&c));
        if (!first) first = y;
        same += checksum(y) == checksum(first);
        if (y != first) gp_tensor_unref(y);
    }
    alarm_in(0);
    tap_is_int(same, 12, "products while signals come");
    gp_tensor_unref(first), gp_tensor_unref(x);
}

/* n x n: 2 on the diagonal. */
static gp_tensor *twice(int64_t n) {
    gp_shape s = {.ndim = 2, .dim = {n, n}};
    gp_tensor *x = need(gp_tensor_new(gp_device_cpu(), GP_f64, &s));
    memset(x->a.data, 0, (size_t)(n * n) * 8);
    for (int64_t i = 0; i < n; i++) ((double *)(void *)x->a.data)[i * n + i] = 2;
    return x;
}

/* Singular values of 2 times the identity, on the offload thread that a matrix of this size
 * gets. */
static void comes_back(const char *name) {
    gp_tensor *x = twice(600), *s = NULL;
    gp_call c;
    gp_call_begin(&c, GP_OP(linalg_svdvals));
    gp_call_tensor(&c, x);
    int same = 0;
    if (tap_ok((s = gp_call_one(&c)), "%s", name))
        for (int i = 0; i < 600; i++) same += fabs(((double *)(void *)s->a.data)[i] - 2) < 1e-12;
    tap_is_int(same, 600, "and it is right");
    gp_tensor_unref(s), gp_tensor_unref(x);
}

static int64_t in_use(void) {
    gp_mem_stats s;
    gp_alloc_stats(gp_device_cpu(), &s);
    return s.in_use;
}

/* A call of LAPACK cannot be stopped: it is abandoned with the memory that it uses, and runs to its
 * end. */
static void left_behind(void) {
    comes_back("singular values");
    gp_tensor *x = pattern(GP_f64, 2, (int64_t[]){1600, 1600});
    int64_t before = in_use();
    gp_call c;
    gp_call_begin(&c, GP_OP(linalg_eigvals));
    gp_call_tensor(&c, x);
    alarm_in(60);
    bool ran = gp_op_run(&c);
    alarm_in(0);
    gp_interrupted = 0;
    tap_ok(!ran && !strcmp(gp_error(), "linalg.eigvals: interrupted"),
           "a call of LAPACK is left behind: %s", gp_error());
    tap_is_int(gp_offload_abandoned, 1, "while it goes on");
    gp_interrupted = 1;
    tap_ok(!gp_offload_wait("fill") && strstr(gp_error(), "fill: interrupted while waiting"),
           "waiting for it can be interrupted");
    gp_interrupted = 0;
    comes_back("another call beside it");
    gp_call_begin(&c, GP_OP(neg));
    gp_call_tensor(&c, x);
    c.into = x;
    tap_ok(gp_op_run(&c) && gp_offload_abandoned == 0,
           "what it reads is written once it has ended");
    gp_tensor_unref(c.out[0]);
    for (int ms = 0; ms < 10000 && in_use() != before; ms++)
        usleep(1000); /* its thread still reports what it freed */
    tap_is_int(in_use(), before, "and its memory is free");
    gp_tensor_unref(x);
}

/* A data loader's thread that is stopped by a signal: its op ends, and so does the call that it
 * offloaded. */
static void *in_loader(void *ctx) {
    gp_tensor *x = ctx;
    gp_call c;
    gp_thread_is_loader();
    gp_thread_stop();
    static const char *const ops[] = {"argsort", "linalg_eigvals"};
    for (int i = 0; i < 2; i++) {
        gp_call_begin(&c, gp_op_find(ops[i]));
        gp_call_tensor(&c, x);
        tap_ok(!gp_op_run(&c) && strstr(gp_error(), ": interrupted"),
               "a loader's thread stops in %s: %s", ops[i], gp_error());
    }
    return NULL;
}

static void other_thread(void) {
    pthread_t thread;
    gp_tensor *x = pattern(GP_f64, 2, (int64_t[]){700, 700});
    if (pthread_create(&thread, NULL, in_loader, x)) return tap_skip("no thread");
    pthread_join(thread, NULL);
    tap_ok(gp_offload_wait("neg"), "what was left behind ends");
    gp_call c;
    gp_call_begin(&c, GP_OP(neg));
    gp_call_tensor(&c, x);
    gp_tensor *y = gp_call_one(&c);
    tap_ok(y != NULL, "and other threads' ops go on");
    gp_tensor_unref(y), gp_tensor_unref(x);
}

static gp_tensor *load_png(const char *file) { return gp_png_load(file, 0, GP_f32, GP_PNG_PIXELS); }
static bool save_png(const char *file, gp_tensor *x) { return gp_png_save(file, x, 8); }

/* A file's functions check whether they were stopped: the old file is unchanged, and no temporary
 * is left. */
static void file(const char *name, bool (*save)(const char *, gp_tensor *),
                 gp_tensor *(*load)(const char *), gp_tensor *x) {
    char folder[] = "/tmp/gpush-stopped-XXXXXX", path[80];
    if (!mkdtemp(folder)) return tap_skip("no temporary folder");
    snprintf(path, sizeof path, "%s/x", folder);
    gp_call c;
    gp_call_begin(&c, GP_OP(sub));
    gp_call_tensor(&c, x), gp_call_tensor(&c, x);
    gp_tensor *zeros = need(gp_call_one(&c));
    bool ok = save(path, zeros);
    gp_interrupted = 1;
    tap_ok(ok && !save(path, x) && strstr(gp_error(), "save: interrupted"),
           "%s.save is stopped: %s", name, gp_error());
    gp_tensor *y = load(path);
    tap_ok(!y && strstr(gp_error(), "load: interrupted"), "%s.load is stopped: %s", name,
           gp_error());
    gp_interrupted = 0;
    y = need(load(path));
    tap_ok(checksum(y) == 0, "the old file is as it was");
    tap_ok(!unlink(path) && !rmdir(folder), "and nothing is left beside it");
    gp_tensor_unref(x), gp_tensor_unref(y), gp_tensor_unref(zeros);
}

int main(void) {
    signal(SIGALRM, on_other);
    under_signals();
    signal(SIGALRM, on_alarm);
    other_thread();
    stops("matmul", pattern(GP_f32, 2, (int64_t[]){6000, 6000}), 2, NULL);
    stops("matmul", pattern(GP_f64, 2, (int64_t[]){4000, 4000}), 2, NULL);
    stops("matmul", pattern(GP_i64, 2, (int64_t[]){1500, 1500}), 2, NULL);
    gp_set_threads(1); /* these are fast: many cores would be done before the alarm */
    stops("bmm", pattern(GP_f32, 3, (int64_t[]){120, 600, 600}), 2, NULL);
    stops("digamma", pattern(GP_f64, 1, (int64_t[]){30000000}), 1, NULL);
    stops("pow", pattern(GP_f64, 1, (int64_t[]){30000000}), 2, NULL);
    stops("logcumsumexp", pattern(GP_f64, 2, (int64_t[]){3000, 10000}), 1, over_dim_2);
    gp_set_threads(2);
    sees_the_flag(pattern(GP_f32, 2, (int64_t[]){2000, 2000}));
    sees_the_flag_too();
    left_behind();
    file("npy", gp_npy_save, gp_npy_load, pattern(GP_f32, 2, (int64_t[]){64, 64}));
    file("image", save_png, load_png, pattern(GP_f32, 2, (int64_t[]){64, 64}));
    gp_device_shutdown();
    return tap_done();
}
