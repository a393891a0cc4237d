/* Programs built by hand: against single ops, as derivatives, queued on sim after they died, by
 * several threads at once, and interrupted. */
#include "ops.h"

#include <pthread.h>
#include <sys/time.h>
#include <unistd.h>

#include "tensor/cost.h"
#include "tensor/device/offload.h"
#include "tensor/fuse/object.h"
#include "tensor/fuse/source.h"

static gp_tensor *pattern(gp_device *dev, int64_t n) {
    gp_shape s = {.ndim = 1, .dim = {n}};
    gp_tensor *x = need(gp_tensor_new(gp_device_cpu(), GP_f32, &s));
    for (int64_t i = 0; i < n; i++) ((float *)(void *)x->a.data)[i] = (float)(i % 97) / 97 + 0.25f;
    gp_tensor *y = need(gp_to_device(x, dev, false, GP_WHY_copy, "test"));
    gp_tensor_unref(x);
    return y;
}

static gp_value of(int v) { return (gp_value){.kind = GP_TENSOR, .i = v}; }

static int step(gp_draft *d, const gp_op *op, int a, gp_value b) {
    gp_value arg[2] = {of(a), b};
    int n = b.kind == GP_NONE ? 1 : 2;
    return gp_draft_step(d, op, GP_f32, GP_f32, n, n, arg);
}

/* exp(x * 2) + y, perhaps its sum; a step that nothing needs, and an input. */
static gp_program *chain(const gp_op *fold) {
    gp_draft *d = malloc(sizeof *d);
    uint8_t used[GP_PROGRAM_INPUTS];
    gp_draft_begin(d);
    gp_draft_input(d, GP_f32);
    int x = gp_draft_input(d, GP_f32), y = gp_draft_input(d, GP_f32);
    int twice = step(d, GP_OP(mul), x, (gp_value){.kind = GP_NUMBER, .i = 2});
    step(d, GP_OP(sin), twice, (gp_value){.kind = GP_NONE});
    int e = step(d, GP_OP(exp), twice, (gp_value){.kind = GP_NONE});
    uint16_t out = (uint16_t)step(d, GP_OP(add), e, of(y));
    if (fold) d->fold = (gp_fold){.op = fold, .compute = GP_f32, .dtype = GP_f32, .mask = 1};
    gp_program *p = need(gp_draft_finish(d, &out, 1, used));
    tap_ok(p->ninputs == 2 && p->nsteps == 3 && used[0] == 1 && used[1] == 2,
           "what no output needs is left out");
    char want[64];
    snprintf(want, sizeof want, "mul+exp+add%s%s", fold ? "+" : "", fold ? fold->name : "");
    tap_is_str(p->name, want, "it is called by its steps");
    free(d);
    return p;
}

static bool same(gp_tensor *a, gp_tensor *b) {
    size_t bytes = (size_t)a->a.numel * 4;
    char *p = malloc(bytes), *q = malloc(bytes);
    bool ok = a->a.numel == b->a.numel && gp_read(a, p, GP_WHY_item, "test") &&
              gp_read(b, q, GP_WHY_item, "test") && !memcmp(p, q, bytes);
    free(p);
    free(q);
    return ok;
}

static void against_steps(const gp_op *fold, int64_t n) {
    gp_program *p = chain(fold);
    gp_tensor *in[2] = {pattern(gp_device_cpu(), n), pattern(gp_device_cpu(), n)}, *a = NULL,
              *b = NULL;
    bool ok = gp_program_run(p, in, &a, NULL) && gp_program_run_steps(p, in, &b, NULL, NULL, NULL);
    tap_ok(ok && same(a, b), "%lld elements%s: as by single ops", (long long)n,
           fold ? ", summed" : "");
    gp_tensor_unref(a), gp_tensor_unref(b);
    gp_tensor_unref(in[0]), gp_tensor_unref(in[1]);
    gp_program_unref(p);
}

static void derivative(void) {
    gp_program *p = chain(NULL);
    const gp_derivative *d = gp_program_derivative(p, 3, 1, false);
    tap_ok(d && d->same[1] == 0 && d->same[0] < 0, "the gradient of a sum's operand is its own");
    tap_ok(d && d->nparts == 1 && d->part[0].dx[0] == 0, "the other one takes a program");
    tap_ok(d == gp_program_derivative(p, 3, 1, false), "which is made once");
    tap_ok(gp_program_derivative(p, 2, 1, false)->nparts == 0, "or never");
    gp_program_unref(p);
}

/* The queue holds calls of a program that nobody else does. */
static void queued(void) {
    gp_device *sim = need(gp_device_get("sim"));
    gp_program *p = chain(NULL);
    gp_tensor *in[2] = {pattern(sim, 500000), pattern(sim, 500000)}, *a[8], *b;
    for (int i = 0; i < 8; i++) need(gp_program_run(p, in, &a[i], NULL) ? a[i] : NULL);
    gp_program *again = chain(NULL);
    gp_program_unref(p);
    need(gp_program_run_steps(again, in, &b, NULL, NULL, NULL) ? b : NULL);
    bool ok = true;
    for (int i = 0; i < 8; i++) ok = ok && same(a[i], b), gp_tensor_unref(a[i]);
    tap_ok(ok, "a program is there until its queued calls have run");
    gp_program_unref(again);
    gp_tensor_unref(b), gp_tensor_unref(in[0]), gp_tensor_unref(in[1]);
}

static gp_program *shared;
static void *run_shared(void *ok) {
    gp_tensor *in[2] = {pattern(gp_device_cpu(), 3000), pattern(gp_device_cpu(), 3000)}, *a = NULL,
              *b = NULL;
    *(bool *)ok = gp_program_run(shared, in, &a, NULL) &&
                  gp_program_run_steps(shared, in, &b, NULL, NULL, NULL) && same(a, b);
    gp_tensor_unref(a), gp_tensor_unref(b), gp_tensor_unref(in[0]), gp_tensor_unref(in[1]);
    return NULL;
}

static void threads(void) {
    enum { MANY = 4 };
    pthread_t t[MANY];
    bool ok[MANY] = {false}, all = true;
    shared = chain(NULL);
    for (int i = 0; i < MANY; i++) pthread_create(&t[i], NULL, run_shared, &ok[i]);
    for (int i = 0; i < MANY; i++) pthread_join(t[i], NULL), all = all && ok[i];
    tap_ok(all, "threads share a program");
    gp_program_unref(shared);
}

/* The same programs compiled, where there is a compiler: queued, freed, shared. */
static void compiled(void) {
    gp_object_set_compiling(GP_COMPILE_WAIT);
    queued();
    threads();
    against_steps(NULL, 5000);
    gp_object_set_compiling(GP_COMPILE_ON);
}

static gp_step_text text_of(const gp_step *s) {
    return (gp_step_text){s->op->vars, s->op->formula};
}

/* mul, exp and add become a loop where exp may be used, and none where it may not. */
static void loops(void) {
    const char *const names[] = {"exp", NULL};
    gp_loops_rules rules = {text_of, names, 64};
    gp_program *p = chain(NULL);
    gp_loops l;
    bool ok = gp_loops_write(&l, p, &rules);
    tap_ok(ok && l.nloops == 1 && l.first[0] == 0 && l.end[0] == 3, "one loop of three steps");
    tap_ok(ok && strstr(l.text, "void gp_loop_0(long first, long end,") &&
               strstr(l.text, "v3 = (float)(exp(x));"),
           "is written from their formulas");
    tap_ok(!gp_loops_leaves(p, 2, 3) && gp_loops_leaves(p, 4, 3), "which gives the result only");
    free(l.text);
    rules.functions = names + 1;
    tap_ok(gp_loops_write(&l, p, &rules) && !l.nloops && !l.text,
           "no loop goes over a function that is not allowed");
    gp_program_unref(p);
}

static void on_alarm(int sig) { gp_interrupted = 1; }

static void interrupted(const gp_op *fold) {
    struct itimerval in_ms = {.it_value = {.tv_usec = 3000}}, none = {.it_value = {0}};
    gp_program *p = chain(fold);
    gp_tensor *in[2] = {pattern(gp_device_cpu(), 60000000), NULL}, *y;
    in[1] = gp_tensor_ref(in[0]);
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &in_ms, NULL);
    bool ok = gp_program_run(p, in, &y, NULL);
    setitimer(ITIMER_REAL, &none, NULL);
    gp_interrupted = 0;
    char want[64];
    snprintf(want, sizeof want, "%s: interrupted", p->name);
    if (tap_ok(!ok, "Ctrl-C ends it%s", fold ? ", also with a sum" : ""))
        tap_is_str(gp_error(), want, "with an error");
    else gp_tensor_unref(y);
    gp_tensor_unref(in[0]), gp_tensor_unref(in[1]);
    gp_program_unref(p);
}

int main(void) {
    against_steps(NULL, 1);
    against_steps(NULL, 1000);
    against_steps(NULL, 5000000);
    against_steps(GP_OP(sum), 1000);
    against_steps(GP_OP(mean), 1000000);
    derivative();
    queued();
    threads();
    compiled();
    loops();
    interrupted(NULL);
    interrupted(GP_OP(sum));
    return tap_done();
}
