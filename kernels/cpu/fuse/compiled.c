/* Compiles programs that run often: their loops by the C compiler, from the formulas that the loops
 * of single ops are made of, and with what decides their bits. Meanwhile the steps run one by
 * one. */
#include "kernels/cpu/fuse/fuse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/fuse/prelude.h"
#include "tensor/device/stream/thread.h"
#include "tensor/fuse/object.h"

#undef bool

/* Of what a formula is computed by one instruction set, in step with CMakeLists.txt. */
#if defined(GP_ISA_v4)
#define ISA_FLAGS " -march=x86-64-v4 -mprefer-vector-width=512"
#elif defined(GP_ISA_v3)
#define ISA_FLAGS " -march=x86-64-v3"
#elif defined(__x86_64__)
#define ISA_FLAGS " -march=x86-64-v2"
#else
#define ISA_FLAGS ""
#endif
#define FLAGS                                                                                      \
    "-x c -std=gnu11 -w -O3 -fopenmp-simd -fwrapv -ffp-contract=off -fno-trapping-math "           \
    "-fno-math-errno -fPIC -shared -nostdlib" ISA_FLAGS

/* Elements times steps after which a program is compiled: about 0.1 s of them. */
enum { OFTEN = 1 << 27 };

typedef enum state { COUNTED, BUILT, DONE } state;

struct fuse_compiled {
    _Atomic state state;
    _Atomic int64_t work; /* counted so far */
    pthread_mutex_t lock; /* of what follows, but for `ready` */
    gp_object *object;
    gp_loops source;
    fuse_plan *_Atomic ready;
};

struct fuse_compiled *gp_fuse_compiled_new(void) {
    struct fuse_compiled *c = calloc(1, sizeof *c);
    if (c) pthread_mutex_init(&c->lock, NULL);
    return c;
}

void gp_fuse_compiled_free(struct fuse_compiled *c) {
    if (!c) return;
    gp_fuse_free_plan(atomic_load(&c->ready));
    gp_object_free(c->object);
    free(c->source.text);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

/* ---- the source ---- */

static gp_step_text text_of(const gp_step *s) {
    gp_call c;
    gp_call_begin(&c, s->op);
    memcpy(c.arg, s->arg, s->nargs * sizeof *c.arg);
    c.nargs = s->nargs;
    c.compute = s->compute;
    return s->op->kind == GP_GRAD ? gp_derivative_text(&c) : gp_elementwise_text(&c);
}

/* What prelude.inc, exp.h and normal.h define: the same for vectors as for one number, unlike the
 * C library's functions. */
static const char *const functions[] = {"exp",     "sqrt",     "floor",    "ceil",
                                        "rint",    "trunc",    "gelu_f32", "gelu_slope_f32",
                                        "sigmoid", "INFINITY", NULL};

/* Copies a header without its includes. */
static void copy_header(FILE *f, const char *from, const char *end) {
    for (const char *next; from < end; from = next) {
        const char *line = memchr(from, '\n', (size_t)(end - from));
        next = line ? line + 1 : end;
        if (strncmp(from, "#include", 8)) fwrite(from, 1, (size_t)(next - from), f);
    }
}

/* Everything the compiler reads; NULL without memory, and where p has no loop. */
static char *write_source(const gp_program *p, gp_loops *s) {
    static const gp_loops_rules rules = {text_of, functions, GP_BLOCK * 8};
    char *text = NULL;
    size_t size;
    if (!gp_loops_write(s, p, &rules) || !s->nloops) return NULL;
    FILE *f = open_memstream(&text, &size);
    if (!f) return NULL;
    copy_header(f, gp_fuse_prelude, gp_fuse_prelude_end);
    fputs(s->text, f);
    int bad = ferror(f);
    if (!fclose(f) && !bad) return text;
    free(text);
    return NULL;
}

/* ---- building ---- */

static void begin(struct fuse_compiled *c, const gp_program *p) {
    const char *why;
    char *text = write_source(p, &c->source);
    if (text) c->object = gp_object_begin(text, FLAGS, &why);
    if (c->object) c->state = BUILT;
    else if (!text || why) c->state = DONE;
    gp_error_clear(); /* steps run one by one as well */
    free(text);
    free(c->source.text);
    c->source.text = NULL;
}

static void finish(struct fuse_compiled *c, const gp_program *p) {
    char name[32];
    fuse_plan *plan = gp_fuse_make_plan(p, &c->source);
    for (int i = 0; plan && i < c->source.nloops; i++) {
        fuse_step *s = &plan->step[c->source.first[i]];
        snprintf(name, sizeof name, "gp_loop_%d", i);
        *(void **)&s->loop = gp_object_symbol(c->object, name);
        if (s->loop) continue;
        gp_fuse_free_plan(plan);
        plan = NULL;
    }
    gp_error_clear();
    atomic_store_explicit(&c->ready, plan, memory_order_release);
}

static void go_on(struct fuse_compiled *c, const gp_program *p, _Bool wait) {
    if (c->state == COUNTED) begin(c, p);
    if (c->state != BUILT) return;
    gp_object_state now = gp_object_poll(c->object, wait);
    if (now == GP_OBJECT_READY) finish(c, p);
    if (now != GP_OBJECT_BUSY) c->state = DONE;
}

const fuse_plan *gp_fuse_best_plan(const gp_program *p, const fuse_plan *plan, int64_t numel) {
    struct fuse_compiled *c = plan->compiled;
    gp_compiling want = gp_object_compiling();
    fuse_plan *ready = atomic_load_explicit(&c->ready, memory_order_acquire);
    if (want == GP_COMPILE_OFF) return plan;
    if (ready) return ready;
    state now = atomic_load_explicit(&c->state, memory_order_relaxed);
    int64_t work = numel * plan->nsteps;
    if (now == COUNTED && want == GP_COMPILE_ON) work += atomic_fetch_add(&c->work, work);
    if (now == DONE || (now == COUNTED && want == GP_COMPILE_ON && work < OFTEN)) return plan;
    gp_lock(&c->lock);
    if (c->state != DONE) go_on(c, p, want == GP_COMPILE_WAIT);
    gp_unlock(&c->lock);
    ready = atomic_load_explicit(&c->ready, memory_order_acquire);
    return ready ? ready : plan;
}
