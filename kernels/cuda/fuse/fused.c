/* Programs of fused ops on CUDA: compiled at their first calls, beside the program, or found on
 * disk. Until one is ready, and where it cannot be compiled, its ops run one by one. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/cuda/fuse/fuse.h"
#include "kernels/cuda/runtime/device.h"
#include "tensor/device/plugin_api.h"

_Static_assert((int)GP_FUSED_MAX_INPUTS == (int)GP_PROGRAM_INPUTS, "an array for each input");
_Static_assert((int)GP_FUSED_MAX_OUTPUTS == (int)GP_MAX_OUT, "and for each output");

enum {
    AT_ONCE = 2,  /* compilers */
    FAILURES = 3, /* one after another, after which none is tried */
    SECOND = 2,   /* the call at which a program is compiled */
    LONGEST_NS = 500000000
};

typedef enum state { COUNTED, COMPILING, READY, FAILED } state;

/* A program's own form; `lock` is for all of it but for what the compiling thread writes before
 * `done` is set. */
typedef struct fused {
    pthread_mutex_t lock;
    state state;
    int calls, arch, nnumbers;
    bool found; /* the code was on disk */
    uint64_t number[GP_FUSED_MAX_NUMBERS];
    char *text, *code;
    size_t size;
    bool ok;
    char name[GP_OBJECT_NAME], why[300];
    pthread_t thread;
    atomic_bool done, orphan; /* orphan: the thread frees it, as nobody else has it any more */
    struct {
        bool failed;
        void *module, *kernel[GP_FUSED_KERNELS];
    } on[GP_MAX_DEVICES];
} fused;

static atomic_int running, in_a_row;
static pid_t owner; /* of what runs */

/* ---- on disk ---- */

/* Sets f->name by all that its code depends on. */
static void set_name(fused *f) {
    char key[80];
    int n;
    unsigned __int128 h = 0;
    const gp_nvrtc_header *headers = gp_nvrtc_headers(&n);
    snprintf(key, sizeof key, "cuda 1 NVRTC %d sm_%d", gp_nvrtc_version(), f->arch);
    gp_fuse_cache_hash(key, strlen(key), &h);
    for (int i = 0; i < n; i++) gp_fuse_cache_hash(headers[i].text, strlen(headers[i].text), &h);
    gp_fuse_cache_hash(f->text, strlen(f->text), &h);
    snprintf(f->name, sizeof f->name, "%016llx%016llx.cu", (unsigned long long)(h >> 64),
             (unsigned long long)h);
}

/* Reads f's code; false, perhaps with a reason in f->why, where there is none. */
static bool find_code(fused *f) {
    int fd = gp_fuse_cache_open(f->why, sizeof f->why);
    if (fd < 0) return false;
    f->code = gp_fuse_cache_read(fd, f->name, &f->size, f->why, sizeof f->why);
    close(fd);
    return f->found = f->code != NULL;
}

/* Without a folder the code is used all the same, and made again by the next program. */
static void keep_code(const fused *f) {
    char why[300];
    int fd = gp_fuse_cache_open(why, sizeof why);
    if (fd < 0) return;
    gp_fuse_cache_write(fd, f->name, f->code, f->size, why, sizeof why);
    close(fd);
}

/* ---- compiling ---- */

static void free_all(fused *f) {
    pthread_mutex_destroy(&f->lock);
    free(f->text);
    free(f->code);
    free(f);
}

/* Whether the other one of two, f's owner and its thread, is done with it, too. */
static bool let_go(fused *f) { return atomic_exchange(&f->orphan, true); }

static void *compile(void *ctx) {
    fused *f = ctx;
    gp_nvrtc_job j = {.text = f->text, .arch = f->arch};
    f->ok = gp_nvrtc_compile(&j, f->why, sizeof f->why);
    f->code = j.code, f->size = j.size;
    if (f->ok) keep_code(f);
    atomic_store_explicit(&f->done, true, memory_order_release);
    if (let_go(f)) free_all(f);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

/* When the program ends: NVRTC must not be unloaded while it works, nor is it waited for long: the
 * program then ends here, after what handlers of exit would still do. A fork has no compilers. */
static void end_all(int status, void *unused) {
    for (uint64_t t0 = gp_now_ns(); owner == getpid() && atomic_load(&running); usleep(1000))
        if (gp_now_ns() - t0 > LONGEST_NS) gp_object_end_all(), gp_process_leave(status);
}

static void fail(fused *f) {
    f->state = FAILED;
    if (atomic_fetch_add(&in_a_row, 1) < FAILURES) gp_object_note(GP_OBJECT_FAILED, f->why);
}

/* The compiler has ended. */
static void adopt_result(fused *f) {
    if (!f->ok) return fail(f);
    f->state = READY;
    atomic_store(&in_a_row, 0);
    gp_object_note(GP_OBJECT_READY, NULL);
}

static void begin(fused *f, bool wait) {
    static atomic_bool registered;
    if (atomic_load(&in_a_row) >= FAILURES) {
        f->state = FAILED;
        return;
    }
    if (atomic_fetch_add(&running, 1) >= AT_ONCE && !wait) {
        atomic_fetch_sub(&running, 1);
        return; /* a later call may do */
    }
    owner = getpid();
    if (!atomic_exchange(&registered, true)) on_exit(end_all, NULL);
    atomic_store(&f->done, false), atomic_store(&f->orphan, false);
    f->state = COMPILING;
    if (gp_thread_start(&f->thread, compile, f)) return;
    compile(f);
    adopt_result(f);
}

/* Waits for the compiler until Ctrl-C; then, as without `wait`, a later call may take its code. */
static void follow(fused *f, bool wait) {
    while (wait && owner == getpid() && !atomic_load(&f->done) && !gp_thread_stopped())
        usleep(1000);
    if (f->state != COMPILING || !atomic_load_explicit(&f->done, memory_order_acquire)) return;
    pthread_join(f->thread, NULL);
    adopt_result(f);
}

/* With the lock held. */
static void go_on(fused *f, const gp_program *p, const gp_device *dev, bool wait) {
    if (f->state == COMPILING) follow(f, wait);
    if (f->state != COUNTED) return;
    if (!f->calls++) {
        const char *why;
        f->text = gp_fused_source(p, f->number, GP_FUSED_MAX_NUMBERS, &f->nnumbers, &why);
        f->arch = gp_cuda_of(dev)->arch;
        f->state = f->text ? COUNTED : FAILED; /* its ops run as well: that is no failure */
        if (!f->text) return;
        set_name(f);
        if (find_code(f)) {
            f->state = READY;
            gp_object_note(GP_OBJECT_BUSY, NULL);
            return;
        }
    }
    if (wait || f->calls >= SECOND) begin(f, wait);
    if (f->state == COMPILING) follow(f, wait);
}

/* Code from the disk that the driver does not take is made again, by this version and for this
 * card. */
static void discard(fused *f) {
    free(f->code);
    f->code = NULL;
    f->found = false;
    f->state = COUNTED;
}

/* Loads the code on dev. With the lock held. */
static bool load(fused *f, const gp_device *dev) {
    int at = dev->slot;
    if (f->on[at].module) return true;
    if (f->on[at].failed || f->arch != gp_cuda_of(dev)->arch) return false;
    gp_cuda_enter(dev);
    f->on[at].module = gp_module_load(f->code, f->on[at].kernel, f->why, sizeof f->why);
    if (f->on[at].module) return true;
    if (f->found) return discard(f), false;
    f->on[at].failed = true;
    gp_object_note(GP_OBJECT_FAILED, f->why);
    return false;
}

/* ---- a program's own form ---- */

static void unload(gp_device *dev, void *ctx) {
    fused *f = ctx;
    if (strcmp(dev->vt->kind, "cuda") || !f->on[dev->slot].module || atomic_load(&dev->dead))
        return;
    gp_cuda_enter(dev);
    gp_module_unload(f->on[dev->slot].module);
}

static void release(void *ctx) {
    fused *f = ctx;
    /* a fork has no such thread, which then keeps f */
    if (f->state == COMPILING && owner != getpid()) return;
    gp_device_each(unload, f);
    bool compiling = f->state == COMPILING;
    if (compiling) pthread_detach(f->thread);
    if (!compiling || let_go(f)) free_all(f);
}

static fused *form_of(gp_program *p) {
    void *known = atomic_load_explicit(&p->prepared[GP_PREPARED_CUDA], memory_order_acquire);
    void *none = NULL;
    if (known) return known;
    fused *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    pthread_mutex_init(&f->lock, NULL);
    atomic_store(&p->unprepare[GP_PREPARED_CUDA], release);
    if (atomic_compare_exchange_strong(&p->prepared[GP_PREPARED_CUDA], &none, f)) return f;
    release(f);
    return none;
}

/* A reduction's elements are numbered by 31 bits. */
static bool too_large(const gp_program *p, gp_tensor *const *in) {
    gp_shape whole = {.ndim = 0};
    double n = 1;
    for (int i = 0; i < p->ninputs; i++)
        for (int d = 0; d < in[i]->a.ndim; d++) {
            int at = GP_MAX_DIM - in[i]->a.ndim + d;
            if (in[i]->a.dim[d] != 1) whole.dim[at] = in[i]->a.dim[d];
        }
    for (int d = 0; d < GP_MAX_DIM; d++) n *= whole.dim[d] > 1 ? (double)whole.dim[d] : 1;
    return p->fold.op && n >= 0x1p31;
}

bool gp_cuda_fuses(gp_device *dev, gp_program *p, gp_tensor *const *in) {
    gp_compiling how = gp_object_compiling();
    if (p->ready_made) return gp_ready_made(p, in);
    if (how == GP_COMPILE_OFF || too_large(p, in) || !gp_device_alive(dev, p->name))
        return gp_error_clear(), false;
    fused *f = form_of(p);
    if (!f) return false;
    pthread_mutex_lock(&f->lock);
    bool wait = how == GP_COMPILE_WAIT, ready = false;
    for (int tries = 0; tries < 2 && !ready; tries++) { /* the second: found, and of no use */
        if (f->state < READY) go_on(f, p, dev, wait);
        ready = f->state == READY && load(f, dev);
        if (ready || f->state != COUNTED) break;
    }
    pthread_mutex_unlock(&f->lock);
    gp_error_clear();
    return ready;
}

bool CUDA(fused)(const gp_call *c) {
    gp_program *p = c->arg[0].program;
    if (p->ready_made) return gp_ready_made_run(c);
    fused *f = atomic_load(&p->prepared[GP_PREPARED_CUDA]);
    int at = c->stream->dev->slot;
    if (!f || !f->on[at].module) return gp_fail("%s: it has no kernel on this device", c->name);
    gp_fused_job j = {.ninputs = p->ninputs,
                      .nouts = p->nout,
                      .nnumbers = f->nnumbers,
                      .number = f->number,
                      .kernel = f->on[at].kernel};
    if (!p->fold.op) return gp_fused_elementwise(c, &j);
    j.value = (gp_dtype)p->step[p->out[0] - p->ninputs].dtype;
    j.compute = gp_fused_compute((gp_dtype)p->fold.compute);
    j.mask = p->fold.mask;
    return gp_fused_reduction(c, &j);
}
