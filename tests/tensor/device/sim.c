/* The sim device as an asynchronous device: launches that return, streams that overlap, events,
 * errors, interrupts, full queues, threads. */
#include "ops.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define F32(n)                                                                                     \
    &(gp_shape) {                                                                                  \
        1, { n }                                                                                   \
    }

static gp_device *sim;
static int line; /* in place of the running line of Lua */
static gp_srcloc where(void) { return (gp_srcloc){"script.lua", line}; }

/* ---- ops ---- */

static gp_tensor *run1(const gp_op *op, gp_tensor *a, gp_tensor *b, gp_tensor *into) {
    gp_call c;
    gp_call_begin(&c, op);
    gp_call_tensor(&c, a);
    if (b) gp_call_tensor(&c, b);
    c.into = into;
    return gp_call_one(&c);
}

static gp_tensor *full(gp_device *dev, int64_t n, gp_dtype dt, int64_t value) {
    gp_call c;
    gp_call_begin(&c, GP_OP(full));
    gp_call_ints(&c, &n, 1);
    gp_call_number(&c, (gp_scalar){.i = value});
    c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = dt};
    c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = dev};
    return need(gp_call_one(&c));
}

/* x += number, queued. */
static bool bump(gp_tensor *x, int64_t number) {
    gp_call c;
    gp_call_begin(&c, GP_OP(add));
    gp_call_tensor(&c, x);
    gp_call_number(&c, (gp_scalar){.i = number});
    c.into = x;
    if (!gp_op_run(&c)) return false;
    gp_tensor_unref(c.out[0]);
    return true;
}

static double first(gp_tensor *x) {
    int64_t one[] = {1};
    gp_tensor *head = need(gp_tensor_view(x, F32(1), one, 0));
    gp_scalar s = {.i = -1};
    if (!gp_item(head, &s, GP_WHY_item, "item")) complain("item: %s", gp_error());
    gp_tensor_unref(head);
    return s.is_float ? s.f : (double)s.i;
}

static gp_tensor *heavy_x;
enum { HEAVY = 1 << 20 };

/* Queues some milliseconds of work on the current stream. */
static void heavy(int times) {
    for (int i = 0; i < times; i++) gp_tensor_unref(need(run1(GP_OP(tanh), heavy_x, NULL, NULL)));
}

static bool wait_for(gp_stream *s) { return gp_wait(s, GP_WHY_explicit, "synchronize"); }

/* ---- launches and events ---- */

static void launches_return(void) {
    gp_stream *s = gp_stream_current(sim);
    heavy(2), wait_for(s);
    gp_event *e = NULL;
    double launched = 0;
    bool busy = false;
    for (int k = 0; k < 20 && !busy; k++) { /* again where this thread had no processor meanwhile */
        if (e) sim->vt->event_free(e);
        wait_for(s);
        heavy(20);
        e = sim->vt->event_record(s, true);
        launched = gp_now();
        busy = sim->vt->busy(s) && gp_stream_queued(s) > 0 && !sim->vt->event_done(e) &&
               isnan(sim->vt->event_time(e));
    }
    tap_ok(busy, "launches return before the work is done, and the event after it");
    tap_ok(gp_wait_event(e, GP_WHY_explicit, "synchronize"), "waiting for the event");
    tap_ok(sim->vt->event_done(e), "then it is reached");
    double at = sim->vt->event_time(e);
    tap_ok(at > launched && at <= gp_now(), "the event carries the time when it was reached");
    sim->vt->event_free(e);
}

static double seconds_on(gp_stream **streams, int n, int each) {
    double t0 = gp_now();
    for (int k = 0; k < n; k++) gp_stream_set_current(streams[k]), heavy(each);
    for (int k = 0; k < n; k++) wait_for(streams[k]);
    gp_stream_set_current(sim->streams[0]);
    return gp_now() - t0;
}

static void *spin(void *arg) {
    volatile double x = 1;
    for (int k = 0; k < 20000000; k++) x = x * 0.5 + 1;
    return NULL;
}

/* The time of two plain threads relative to the sum of each: how much of a second processor this
 * process gets right now. */
static double plain_threads(void) {
    pthread_t t;
    double t0 = gp_now();
    spin(NULL), spin(NULL);
    double one = gp_now() - t0;
    if (pthread_create(&t, NULL, spin, NULL)) return 1;
    spin(NULL), pthread_join(t, NULL);
    return (gp_now() - t0 - one) / one;
}

/* The part of the shorter of two streams' work during which both were working, by the events around
 * each. A single worker for both would give 0 however busy the machine is. */
static double shared_time(gp_stream **s) {
    gp_event *e[2][2];
    double t[2][2];
    for (int k = 0; k < 2; k++) {
        gp_stream_set_current(s[k]);
        e[k][0] = sim->vt->event_record(s[k], true);
        heavy(20);
        e[k][1] = sim->vt->event_record(s[k], true);
    }
    gp_stream_set_current(sim->streams[0]);
    for (int k = 0; k < 4; k++) {
        gp_event *v = e[k / 2][k % 2];
        gp_wait_event(v, GP_WHY_explicit, "synchronize");
        t[k / 2][k % 2] = sim->vt->event_time(v);
        sim->vt->event_free(v);
    }
    double both = fmin(t[0][1], t[1][1]) - fmax(t[0][0], t[1][0]);
    return both / fmin(t[0][1] - t[0][0], t[1][1] - t[1][0]);
}

static void streams_overlap(void) {
    gp_stream *s[2] = {need(gp_stream_acquire(sim)), need(gp_stream_acquire(sim))};
    double best = 9, plain = 9, shared = 0;
    for (int k = 0; k < 10 && shared < 0.5; k++) shared = fmax(shared, shared_time(s));
    tap_ok(shared >= 0.5, "two streams work at the same time (%.0f %% of it)", shared * 100);
    for (int k = 0; k < (SANITIZED ? 1 : 8) && best > 0.75; k++) {
        double one = seconds_on(s, 1, 10) + seconds_on(s + 1, 1, 10), two = seconds_on(s, 2, 10),
               p = plain_threads();
        if (two / one < best) best = two / one;
        if (p < plain) plain = p;
    }
    if (SANITIZED || plain > 0.75) tap_skip("no second processor to show what overlap saves");
    else
        tap_ok(best < plain + 0.25, "two streams take %.2f of the sum of each, plain threads %.2f",
               best, plain);
}

static void events_order_streams(void) {
    gp_stream *a = sim->streams[0], *b = need(gp_stream_acquire(sim));
    for (int k = 0; k < 20; k++) {
        gp_stream_set_current(a);
        gp_tensor *x = full(sim, 1000, GP_i32, k);
        heavy(3);
        if (!bump(x, 100)) complain("%s", gp_error());
        gp_event *e = sim->vt->event_record(a, true);
        gp_stream_set_current(b);
        if (!gp_stream_wait_event(b, e)) complain("%s", gp_error());
        sim->vt->event_free(e);
        gp_tensor *y = need(run1(GP_OP(neg), x, NULL, NULL));
        if (first(y) != -(k + 100)) complain("round %d: got %g", k, first(y));
        gp_tensor_unref(x), gp_tensor_unref(y);
    }
    gp_stream_set_current(a);
    tap_quiet("a stream that waits for an event sees what was queued before it on the other");
}

/* ---- errors ---- */

static void kernel_errors(void) {
    gp_stream *s = gp_stream_current(sim);
    gp_tensor *x = full(sim, 10, GP_i32, 5), *zero = full(sim, 10, GP_i32, 0);
    wait_for(s);
    line = 17;
    gp_tensor *y = run1(GP_OP(floor_divide), x, zero, NULL);
    tap_ok(y != NULL, "an op with bad data is queued");
    line = 18;
    gp_tensor *z = run1(GP_OP(neg), x, NULL, NULL);
    gp_error_clear();
    tap_ok(!wait_for(s), "the next wait fails");
    tap_ok(strstr(gp_error(), "floor_divide: integer division by zero") &&
               strstr(gp_error(), "script.lua:17"),
           "with op and line: %s", gp_error());
    tap_ok(wait_for(s), "only once");
    tap_ok(first(z) == -5, "ops after it have run");
    line = 21;
    gp_tensor_unref(run1(GP_OP(remainder), x, zero, NULL));
    line = 22;
    gp_tensor_unref(run1(GP_OP(floor_divide), x, zero, NULL));
    tap_ok(!wait_for(s) && strstr(gp_error(), "remainder") && strstr(gp_error(), "script.lua:21"),
           "of two errors the first is reported");
    tap_ok(wait_for(s), "and then none");
    gp_tensor_unref(run1(GP_OP(floor_divide), x, zero, NULL));
    while (sim->vt->busy(s)) usleep(100);
    tap_ok(!wait_for(s), "an error is reported even where nothing is left to wait for");
    tap_ok(first(x) == 5, "the input is as it was");
    gp_tensor_unref(x), gp_tensor_unref(y), gp_tensor_unref(z), gp_tensor_unref(zero);
}

static void memory_is_out_of_reach(void) {
    gp_tensor *x = full(sim, 10, GP_f32, 1);
    wait_for(gp_stream_current(sim));
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGSEGV, SIG_DFL), signal(SIGBUS, SIG_DFL);
        _exit(*(volatile float *)x->a.data == 1 ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    tap_ok(WIFSIGNALED(status) && (WTERMSIG(status) == SIGSEGV || WTERMSIG(status) == SIGBUS),
           "the host cannot read device memory");
    gp_tensor_unref(x);
}

/* ---- interrupts, full queues ---- */

static void on_alarm(int sig) { gp_interrupted = 1; }

static void interrupts(void) {
    gp_stream *s = gp_stream_current(sim);
    gp_tensor *x = full(sim, 100, GP_i64, 0);
    signal(SIGALRM, on_alarm);
    struct itimerval soon = {.it_value = {.tv_usec = 20000}};
    heavy(SANITIZED ? 60 : 200);
    bump(x, 42);
    setitimer(ITIMER_REAL, &soon, NULL);
    gp_error_clear();
    bool ok = wait_for(s);
    tap_ok(!ok && strstr(gp_error(), "interrupted"), "Ctrl-C ends a wait: %s", gp_error());
    tap_ok(sim->vt->busy(s), "the queue goes on");
    tap_ok(!wait_for(s), "as long as the flag is set, waits end");
    gp_interrupted = 0;
    tap_ok(first(x) == 42, "afterwards results are right");
    gp_tensor_unref(x);
}

static int queue_waits;
static void count_waits(gp_stream *s, gp_why why, const char *what, uint64_t t0, uint64_t t1,
                        uint64_t queued) {
    queue_waits += why == GP_WHY_queue;
}
static bool refuse(gp_stream *s, gp_why why, const char *what) {
    return gp_fail("%s: refused", what);
}

static void full_queue(void) {
    gp_tensor *x = full(sim, 64, GP_i64, 0);
    heavy(SANITIZED ? 10 : 40); /* far longer than it takes to fill the queue */
    gp_hook.wait_end = count_waits;
    gp_hook.wait_begin = refuse;
    int done = 0;
    while (done < 5000 && bump(x, 1)) done++;
    gp_hook.wait_begin = NULL;
    gp_hook.wait_end = NULL;
    tap_is_int(done, 5000, "more launches than the queue holds, though waits are refused");
    tap_ok(queue_waits > 0, "the stalls are recorded (%d)", queue_waits);
    tap_close(first(x), 5000, 0, "and every one took place");
    gp_hook.wait_begin = refuse;
    heavy(30);
    tap_ok(!wait_for(gp_stream_current(sim)) && strstr(gp_error(), "refused"),
           "error mode refuses a wait before it blocks");
    gp_hook.wait_begin = NULL;
    tap_ok(wait_for(gp_stream_current(sim)), "nothing is lost by that");
    gp_tensor_unref(x);
}

/* ---- threads ---- */

typedef struct job {
    pthread_t thread;
    gp_stream *stream;
    int64_t base;
    bool ok;
} job;

/* Ops on its own tensors, on a stream that others may share. */
static void *launch_many(void *arg) {
    job *j = arg;
    gp_stream_set_current(j->stream);
    gp_tensor *x = full(sim, 300, GP_i64, j->base);
    j->ok = true;
    for (int k = 0; k < 200 && j->ok; k++) {
        gp_tensor *y = run1(GP_OP(add), x, x, NULL);
        j->ok = y && bump(x, 1);
        if (j->ok && k % 40 == 0) j->ok = first(y) == (double)(2 * (j->base + k));
        gp_tensor_unref(y);
    }
    j->ok = j->ok && first(x) == (double)(j->base + 200);
    gp_tensor_unref(x);
    return NULL;
}

static void threads(bool shared) {
    job jobs[6];
    for (int k = 0; k < 6; k++) {
        jobs[k] = (job){.stream = shared ? sim->streams[0] : need(gp_stream_acquire(sim)),
                        .base = 1000 * k};
        pthread_create(&jobs[k].thread, NULL, launch_many, &jobs[k]);
    }
    bool ok = true;
    for (int k = 0; k < 6; k++) pthread_join(jobs[k].thread, NULL), ok &= jobs[k].ok;
    tap_ok(ok, "six threads launch at once on %s", shared ? "one stream" : "a stream each");
}

/* Work on streams that wait for each other, and then the end. */
static void shutdown_with_work(void) {
    gp_stream *a = sim->streams[0], *b = sim->streams[1];
    for (int k = 0; k < 10; k++) {
        gp_stream_set_current(k & 1 ? b : a);
        heavy(2);
        gp_event *e = sim->vt->event_record(k & 1 ? b : a, true);
        gp_stream_wait_event(k & 1 ? a : b, e);
        sim->vt->event_free(e);
    }
    gp_tensor_unref(heavy_x);
    gp_interrupted = 1;
    gp_device_shutdown();
    tap_ok(gp_stream_queued(a) == 0 && gp_stream_queued(b) == 0 && gp_interrupted == 1,
           "shutting down drains the queues, Ctrl-C or not");
}

int main(void) {
    gp_srcloc_script = where;
    sim = need(gp_device_get("sim"));
    heavy_x = full(sim, HEAVY, GP_f32, 1);
    launches_return();
    streams_overlap();
    events_order_streams();
    kernel_errors();
    memory_is_out_of_reach();
    interrupts();
    full_queue();
    threads(false), threads(true);
    tap_quiet("and nothing complained");
    shutdown_with_work();
    return tap_done();
}
