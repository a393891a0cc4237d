/* NCCL's communicators, and their end where ranks are not in step: what is queued is aborted, and
 * fails. */
#if __has_include(<nccl.h>)
#include "kernels/cuda/dist/nccl.h"

#include <stdio.h>
#include <time.h>

#include "kernels/cuda/dist/watch.h"
#include "kernels/cuda/runtime/device.h"
#include "tensor/device/failure.h"

gp_nccl_functions gp_nccl;
static const char *const names[] = {
#define F GP_LIB_NAME
#include "kernels/cuda/dist/nccl.def"
};
_Static_assert(sizeof gp_nccl == sizeof names, "a pointer for each name");

/* Guards what follows: any thread may wait. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ncclComm_t comms[GP_MAX_GROUPS]; /* by group; NULL: none yet, or aborted */
static gp_stream *stream;               /* of all collectives */
static char broken[600];                /* why no further one can run; "" if they can */
static atomic_bool used;                /* there is a communicator */

static bool load(const gp_call *c) {
    enum { N = sizeof names / sizeof *names };
    if (gp_nccl.ncclAllReduce) return true;
    if (gp_lib_functions(GP_LIB_nccl, c->name, names, N, 0, (void **)&gp_nccl)) return true;
    char why[900];
    snprintf(why, sizeof why, "%s", gp_error());
    return gp_fail("%s; pip install nvidia-nccl-cu%d brings it, or apt-get install libnccl2", why,
                   CUDART_VERSION / 1000);
}

/* ---- the end ---- */

/* Ends what is queued, which fails with that text, and all communicators. With the lock held. */
static void abort_all(const char *text) {
    uint64_t done = atomic_load(&stream->completed), queued = atomic_load(&stream->issued);
    if (*broken) return;
    snprintf(broken, sizeof broken, "%s", text);
    if (queued > done) gp_failure_add(stream, done + 1, queued, true, text);
    for (int g = 0; g < GP_MAX_GROUPS; g++)
        if (comms[g]) gp_nccl.ncclCommAbort(comms[g]), comms[g] = NULL;
}

/* Why the communicators cannot go on, in text; false: they can. With the lock held. */
static bool find_error(char *text, size_t size) {
    for (int g = 0; g < GP_MAX_GROUPS; g++) {
        ncclResult_t state = ncclSuccess;
        if (!comms[g]) continue;
        ncclResult_t asked = gp_nccl.ncclCommGetAsyncError(comms[g], &state);
        if (asked != ncclSuccess) state = asked;
        if (state == ncclSuccess || state == ncclInProgress) continue;
        snprintf(text, size, "dist: NCCL failed: %s", gp_nccl.ncclGetErrorString(state));
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
    pthread_mutex_lock(&lock);
    if (!*broken && find_error(text, sizeof text)) abort_all(text);
    pthread_mutex_unlock(&lock);
}

/* ---- communicators ---- */

static bool fail_nccl(const gp_call *c, ncclResult_t result) {
    return gp_fail("%s: NCCL failed: %s", c->name, gp_nccl.ncclGetErrorString(result));
}

/* Until the communicator takes calls. With the lock held. */
static bool settle(const gp_dist_call *d, ncclComm_t comm) {
    ncclResult_t state = ncclInProgress;
    for (;;) {
        ncclResult_t asked = gp_nccl.ncclCommGetAsyncError(comm, &state);
        if (asked != ncclSuccess) state = asked;
        if (state == ncclSuccess) return true;
        if (state != ncclInProgress) return fail_nccl(d->call, state);
        if (!gp_dist_check()) return false;
        if (gp_interrupted) return gp_fail("%s: interrupted", d->call->name);
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

/* Rank 0 of the group makes its id. */
static bool make(const gp_dist_call *d, ncclComm_t *comm) {
    int n = gp_dist_group_size(d->group), rank = gp_dist_group_rank(d->group);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    ncclUniqueId id;
    config.blocking = 0;
    memset(&id, 0, sizeof id);
    ncclResult_t made = rank ? ncclSuccess : gp_nccl.ncclGetUniqueId(&id);
    if (made != ncclSuccess) return fail_nccl(d->call, made);
    if (!gp_dist_share(d, &id, sizeof id)) return false;
    made = gp_nccl.ncclCommInitRankConfig(comm, n, id, rank, &config);
    if (made != ncclSuccess && made != ncclInProgress) return fail_nccl(d->call, made);
    return settle(d, *comm);
}

/* With the lock held. */
static ncclComm_t communicator(const gp_dist_call *d) {
    ncclComm_t comm = comms[d->group];
    if (comm) return comm;
    int64_t begin = gp_lib_now();
    if (make(d, &comm)) {
        gp_lib_book(GP_LIB_nccl, begin);
        return comms[d->group] = comm;
    }
    if (comm) gp_nccl.ncclCommAbort(comm);
    char text[600];
    snprintf(text, sizeof text, "%s", gp_error());
    abort_all(text);
    return gp_fail_null("%s", text);
}

ncclComm_t gp_nccl_begin(const gp_dist_call *d) {
    const gp_call *c = d->call;
    ncclComm_t comm = NULL;
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
    else if (loaded && gp_dist_post(d)) comm = communicator(d);
    if (comm) atomic_store_explicit(&used, true, memory_order_release);
    pthread_mutex_unlock(&lock);
    return comm;
}

bool gp_nccl_ok(const gp_dist_call *d, ncclComm_t comm, ncclResult_t result) {
    if (result != ncclSuccess && result != ncclInProgress) return fail_nccl(d->call, result);
    pthread_mutex_lock(&lock);
    bool ok = result == ncclSuccess || settle(d, comm);
    pthread_mutex_unlock(&lock);
    return ok && gp_cuda_ok(d->call, cudaGetLastError());
}
#else
#include "kernels/cuda/dist/watch.h"

void gp_cuda_dist_watch(void) {}
#endif
