/* The plug-in libgpush_nccl.so: gp_nccl by NCCL. */
#include "kernels/nccl/nccl.h"

#include <nccl.h>
#include <stdio.h>

static struct {
#define F(name) __typeof__(&name) name;
#include "kernels/nccl/nccl.def"
} nccl;
static const char *const names[] = {
#define F(name) #name,
#include "kernels/nccl/nccl.def"
};
enum { FUNCTIONS = sizeof names / sizeof *names };
_Static_assert(sizeof nccl == sizeof names, "a pointer for each name");
_Static_assert((int)ncclSuccess == GP_NCCL_DONE && (int)ncclInProgress == GP_NCCL_IN_PROGRESS, "");
_Static_assert(sizeof(ncclUniqueId) == GP_NCCL_ID_BYTES, "");

/* ---- communicators ---- */

static const char *error(int result) { return nccl.ncclGetErrorString((ncclResult_t)result); }

static int new_id(void *id) { return nccl.ncclGetUniqueId(id); }

static int join(void **comm, int n, const void *id, int rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    return nccl.ncclCommInitRankConfig((ncclComm_t *)comm, n, *(const ncclUniqueId *)id, rank,
                                       &config);
}

static int state(void *comm) {
    ncclResult_t now = ncclInProgress, asked = nccl.ncclCommGetAsyncError(comm, &now);
    return asked == ncclSuccess ? now : asked;
}

static void give_up(void *comm) { nccl.ncclCommAbort(comm); }

/* ---- collectives ---- */

static ncclDataType_t type_of(const gp_nccl_wire *w) {
    if (w->keys) return w->dtype == GP_f64 ? ncclUint64 : ncclUint32;
    switch (w->dtype) {
    case GP_i8: return ncclInt8;
    case GP_i32: return ncclInt32;
    case GP_i64: return ncclInt64;
    case GP_f16: return ncclFloat16;
    case GP_bf16: return ncclBfloat16;
    case GP_f32: return ncclFloat32;
    case GP_f64: return ncclFloat64;
    default: return ncclUint8;
    }
}

static ncclRedOp_t op_of(const gp_nccl_wire *w) {
    if (w->mean) return ncclAvg;
    if (w->keys) return ncclMax;
    return w->op == GP_WIRE_PROD  ? ncclProd
           : w->op == GP_WIRE_MIN ? ncclMin
           : w->op == GP_WIRE_MAX ? ncclMax
                                  : ncclSum;
}

/* To every rank that gets part r of `from`, and from every rank part r of `to`, where the other
 * side does likewise. sender, receiver: the only one, or -1. */
static int exchange(ncclComm_t comm, const gp_nccl_wire *w, int sender, int receiver,
                    cudaStream_t s) {
    size_t bytes = w->count;
    ncclResult_t result = nccl.ncclGroupStart(), end;
    for (int r = 0; r < w->n && result == ncclSuccess; r++) {
        bool gives = (sender < 0 || sender == w->rank) && (receiver < 0 || receiver == r);
        bool takes = (receiver < 0 || receiver == w->rank) && (sender < 0 || sender == r);
        const char *out = (const char *)w->from + (receiver < 0 ? (size_t)r * bytes : 0);
        char *in = (char *)w->to + (sender < 0 ? (size_t)r * bytes : 0);
        if (gives) result = nccl.ncclSend(out, bytes, ncclUint8, r, comm, s);
        if (takes && result == ncclSuccess)
            result = nccl.ncclRecv(in, bytes, ncclUint8, r, comm, s);
    }
    end = nccl.ncclGroupEnd();
    return result == ncclSuccess ? end : result;
}

static int start(void *of, const gp_nccl_wire *w, void *stream) {
    ncclComm_t comm = of;
    cudaStream_t s = stream;
    ncclDataType_t type = type_of(w);
    const void *a = w->from;
    switch (w->kind) {
    case GP_WIRE_all_reduce: return nccl.ncclAllReduce(a, w->to, w->count, type, op_of(w), comm, s);
    case GP_WIRE_reduce:
        return nccl.ncclReduce(a, w->to, w->count, type, op_of(w), w->root, comm, s);
    case GP_WIRE_reduce_scatter:
        return nccl.ncclReduceScatter(a, w->to, w->count, type, op_of(w), comm, s);
    case GP_WIRE_broadcast:
        return nccl.ncclBroadcast(a, w->to, w->count, ncclUint8, w->root, comm, s);
    case GP_WIRE_all_gather: return nccl.ncclAllGather(a, w->to, w->count, ncclUint8, comm, s);
    case GP_WIRE_gather: return exchange(comm, w, -1, w->root, s);
    case GP_WIRE_scatter: return exchange(comm, w, w->root, -1, s);
    default: return exchange(comm, w, -1, -1, s);
    }
}

__attribute__((visibility("default"))) gp_nccl *gp_nccl_open(gp_nccl_find_fn *find) {
    static gp_nccl functions = {.version = GP_NCCL_VERSION,
                                .error = error,
                                .new_id = new_id,
                                .join = join,
                                .state = state,
                                .give_up = give_up,
                                .start = start};
    return find(names, FUNCTIONS, (void **)&nccl) ? &functions : NULL;
}

__attribute__((visibility("default"))) void gp_nccl_header(char *text, size_t size) {
    snprintf(text, size, "%d.%d.%d", NCCL_MAJOR, NCCL_MINOR, NCCL_PATCH);
}
