/* NCCL's communicators, and their end where ranks are not in step: what is queued is aborted, and
 * fails. */
#include "kernels/cuda/dist/nccl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernels/cuda/dist/watch.h"
#include "kernels/cuda/runtime/device.h"
#include "kernels/cuda/runtime/libs.h"
#include "tensor/device/stream/failure.h"

/* Guards what follows: any thread may wait. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static gp_nccl *nccl; /* the plug-in's functions; NULL before the first call */
static void **comms;  /* by group; NULL: none yet, or aborted */
static int ncomms;
static gp_stream *stream; /* of all collectives */
static char broken[600];  /* why no further one can run; "" if they can */
static atomic_bool used;  /* there is a communicator */

static bool find(const char *const *names, int n, void **table) {
    return gp_lib_functions(GP_LIB_nccl, "NCCL", names, n, 0, table);
}

/* The plug-in, and by it the library. With the lock held. */
static bool load(const gp_call *c) {
    char why[900] = "";
    if (nccl) return true;
    if (!gp_lib_functions(GP_LIB_nccl, c->name, NULL, 0, 0, NULL)) {
        snprintf(why, sizeof why, "%s", gp_error());
        return gp_fail("%s; pip install nvidia-nccl-cu%d brings it, or apt-get install libnccl2",
                       why, CUDART_VERSION / 1000);
    }
    void *so = gp_nccl_plugin(why, sizeof why);
    if (!so)
        return gp_fail("%s: needs the plug-in for NCCL, libgpush_nccl.so, which is not there (%s); "
                       "build gpush again with NCCL's header, nccl.h (of libnccl-dev, or of "
                       "Python's nvidia-nccl-cu%d, with NCCL_HOME set), or x:to \"cpu\" first",
                       c->name, why, CUDART_VERSION / 1000);
    gp_nccl_open_fn *open = (gp_nccl_open_fn *)dlsym(so, "gp_nccl_open");
    gp_nccl *found = open ? open(find) : NULL;
    if (open && !found) return false;
    if (!open || found->version != GP_NCCL_VERSION)
        return gp_fail("%s: the plug-in for NCCL is of another version", c->name);
    nccl = found;
    return true;
}

/* ---- the end ---- */

/* Ends what is queued, which fails with that text, and all communicators. With the lock held. */
static void abort_all(const char *text) {
    uint64_t done = atomic_load(&stream->completed), queued = atomic_load(&stream->issued);
    if (*broken) return;
    snprintf(broken, sizeof broken, "%s", text);
    if (queued > done) gp_failure_add(stream, done + 1, queued, true, text);
    for (int g = 0; g < ncomms; g++)
        if (comms[g]) nccl->give_up(comms[g]), comms[g] = NULL;
}

/* Why the communicators cannot go on, in text; false: they can. With the lock held. */
static bool find_error(char *text, size_t size) {
    for (int g = 0; g < ncomms; g++) {
        int state = comms[g] ? nccl->state(comms[g]) : GP_NCCL_DONE;
        if (state == GP_NCCL_DONE || state == GP_NCCL_IN_PROGRESS) continue;
        snprintf(text, size, "dist: NCCL failed: %s", nccl->error(state));
        return true;
    }
    if (gp_dist_check()) return false;
    snprintf(text, size, "%s", gp_error());
    gp_error_clear();
    return true;
}

void gp_cuda_dist_watch(void) {
    enum { EVERY_NS = 1000000 };
    static _Atomic uint64_t looked;
    char text[600];
    if (!atomic_load_explicit(&used, memory_order_acquire)) return;
    uint64_t now = gp_now_ns(), last = atomic_load(&looked);
    if (now - last < EVERY_NS || !atomic_compare_exchange_strong(&looked, &last, now)) return;
    if (pthread_mutex_trylock(&lock)) return; /* the holder looks itself, while ranks meet */
    if (!*broken && find_error(text, sizeof text)) abort_all(text);
    pthread_mutex_unlock(&lock);
}

/* ---- communicators ---- */

static bool fail_nccl(const gp_call *c, int result) {
    return gp_fail("%s: NCCL failed: %s", c->name, nccl->error(result));
}

/* Until the communicator takes calls. With the lock held. */
static bool settle(const gp_dist_call *d, void *comm) {
    for (;;) {
        int state = nccl->state(comm);
        if (state == GP_NCCL_DONE) return true;
        if (state != GP_NCCL_IN_PROGRESS) return fail_nccl(d->call, state);
        if (!gp_dist_check()) return false;
        if (gp_interrupted) return gp_fail("%s: interrupted", d->call->name);
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

/* What ranks tell one another before they join: the group's id, rank 0's; and their cards. */
typedef struct member {
    _Alignas(8) char id[GP_NCCL_ID_BYTES];
    char card[128]; /* machine and address on its bus; "": unknown */
    char model[64], device[16];
    int rank; /* of all */
} member;

/* A machine is its name and its boot, as NCCL has it: containers of one have names of their own. */
static void describe(const gp_dist_call *d, member *m) {
    const gp_device *dev = d->call->stream->dev;
    char boot[40] = "", address[20], host[65] = "";
    gethostname(host, sizeof host - 1);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f && !fgets(boot, sizeof boot, f)) boot[0] = 0;
    if (f) fclose(f);
    boot[strcspn(boot, "\n")] = 0;
    if (*boot && !cudaDeviceGetPCIBusId(address, sizeof address, dev->index))
        snprintf(m->card, sizeof m->card, "%s %s %s", host, boot, address);
    snprintf(m->model, sizeof m->model, "%s", gp_cuda_of(dev)->model);
    snprintf(m->device, sizeof m->device, "%s", dev->name);
    m->rank = gp_dist_global(d->group, gp_dist_group_rank(d->group));
}

/* NCCL takes one rank for each card, and names none of two that share one. */
static bool have_cards(const gp_dist_call *d, const member *all, int n) {
    for (int r = 1; r < n; r++)
        for (int i = 0; i < r; i++) {
            const member *a = &all[i], *b = &all[r];
            if (!*a->card || strcmp(a->card, b->card)) continue;
            return gp_fail("%s: rank %d (%s) and rank %d (%s) are on one card, %s at %s, and NCCL "
                           "needs one for each rank: start as many ranks as there are cards, or "
                           "give each its own by CUDA_VISIBLE_DEVICES%s",
                           d->call->name, a->rank, a->device, b->rank, b->device, a->model,
                           strrchr(a->card, ' ') + 1,
                           strstr(a->model, "MIG") ? "; slices (MIG) of one count as one" : "");
        }
    return true;
}

static bool join(const gp_dist_call *d, member *all, void **comm) {
    int n = gp_dist_group_size(d->group), rank = gp_dist_group_rank(d->group);
    int made = rank ? GP_NCCL_DONE : nccl->new_id(all[0].id);
    if (made != GP_NCCL_DONE) return fail_nccl(d->call, made);
    describe(d, &all[rank]);
    if (!gp_dist_share(d, all, sizeof *all) || !have_cards(d, all, n)) return false;
    made = nccl->join(comm, n, all[0].id, rank);
    if (made != GP_NCCL_DONE && made != GP_NCCL_IN_PROGRESS) return fail_nccl(d->call, made);
    return settle(d, *comm);
}

static bool make(const gp_dist_call *d, void **comm) {
    member *all = calloc((size_t)gp_dist_group_size(d->group), sizeof *all);
    bool ok = all ? join(d, all, comm) : gp_fail("%s: out of memory", d->call->name);
    free(all);
    return ok;
}

/* Room for that group's communicator. With the lock held. */
static bool close_idle(const gp_dist_call *d) {
    if (d->group < ncomms) return true;
    int n = 2 * d->group + 8;
    void **more = realloc(comms, (size_t)n * sizeof *more);
    if (!more) return gp_fail("%s: out of memory", d->call->name);
    memset(more + ncomms, 0, (size_t)(n - ncomms) * sizeof *more);
    comms = more;
    ncomms = n;
    return true;
}

/* With the lock held. */
static void *communicator(const gp_dist_call *d) {
    void *comm = comms[d->group];
    if (comm) return comm;
    int64_t begin = gp_lib_now();
    if (make(d, &comm)) {
        gp_lib_book(GP_LIB_nccl, begin);
        return comms[d->group] = comm;
    }
    if (comm) nccl->give_up(comm);
    char text[600];
    snprintf(text, sizeof text, "%s", gp_error());
    abort_all(text);
    return gp_fail_null("%s", text);
}

void *gp_nccl_begin(const gp_dist_call *d) {
    const gp_call *c = d->call;
    void *comm = NULL;
    if (gp_cuda_building()) {
        gp_cuda_unfit();
        return gp_fail_null("%s: not in a captured graph on cuda", c->name);
    }
    pthread_mutex_lock(&lock);
    stream = c->stream;
    bool loaded = load(c);
    if (loaded && *broken)
        gp_fail("%s: an earlier collective has failed, and ranks are no longer in step: %s",
                c->name, broken);
    else if (loaded && close_idle(d) && gp_dist_post(d)) comm = communicator(d);
    if (comm) atomic_store_explicit(&used, true, memory_order_release);
    pthread_mutex_unlock(&lock);
    return comm;
}

bool gp_nccl_start(const gp_dist_call *d, void *comm, const gp_nccl_wire *w) {
    int result = nccl->start(comm, w, gp_cuda_stream(d->call));
    if (result != GP_NCCL_DONE && result != GP_NCCL_IN_PROGRESS) return fail_nccl(d->call, result);
    pthread_mutex_lock(&lock);
    bool ok = result == GP_NCCL_DONE || settle(d, comm);
    pthread_mutex_unlock(&lock);
    return ok && gp_cuda_ok(d->call, cudaGetLastError());
}
