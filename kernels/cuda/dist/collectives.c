/* Collectives on cuda by NCCL, queued on the communication stream. Tensors of any layout are made
 * contiguous; 16-bit integers, which NCCL does not know, are joined as 32-bit ones, and the
 * smallest or largest of floats as the largest of integers. */
#if __has_include(<nccl.h>)
#include "kernels/cuda/dist/nccl.h"
#include "kernels/cuda/dist/order.h"
#include "kernels/cuda/runtime/dense.h"
#include "tensor/ops/dist.h"

/* A collective under way. */
typedef struct job {
    gp_dist_call d;
    ncclComm_t comm;
    cudaStream_t stream;
    int n, rank;
    gp_array from, to; /* contiguous; to: the output's own memory, or scratch */
    gp_dtype dtype;    /* of both */
    bool ordered;      /* they are floats as integers (order.h) */
    gp_wire_op op;
} job;

static ncclDataType_t type_of(const job *j) {
    if (j->ordered) return j->dtype == GP_f64 ? ncclUint64 : ncclUint32;
    switch (j->dtype) {
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

static ncclRedOp_t op_of(const job *j, const gp_rank_op *r) {
    if (r->mean) return ncclAvg;
    if (j->ordered) return ncclMax;
    return r->op == GP_WIRE_PROD  ? ncclProd
           : r->op == GP_WIRE_MIN ? ncclMin
           : r->op == GP_WIRE_MAX ? ncclMax
                                  : ncclSum;
}

/* In which dtype elements are joined. */
static gp_dtype joined_in(gp_dtype dt, bool ordered) {
    if (dt == GP_i16) return GP_i32;
    return ordered && dt != GP_f64 ? GP_f32 : dt;
}

/* What this rank gives. */
static bool prepare(job *j, const gp_call *c, const gp_array *x) {
    if (!j->ordered) return gp_cuda_dense(c, x, j->dtype, &j->from);
    j->from = gp_dense_over(NULL, j->dtype, x->ndim, x->dim);
    j->from.data = gp_cuda_scratch(c, (size_t)x->numel * gp_dtype_size(j->dtype));
    return j->from.data && gp_cuda_copy_array(c, &j->from, x) &&
           gp_nccl_encode(c, &j->from, j->op == GP_WIRE_MIN);
}

/* r NULL: a collective that only moves elements. */
static bool begin(job *j, const gp_call *c, const gp_rank_op *r, int root) {
    const gp_array *x = gp_in(c, 1), *out = gp_out(c, 0);
    gp_dtype dt = (gp_dtype)x->dtype;
    *j = (job){.d = {.call = c, .x = x, .how = r ? r->name : "", .root = root},
               .stream = gp_cuda_stream(c),
               .op = r ? r->op : GP_WIRE_SUM};
    j->ordered = (j->op == GP_WIRE_MIN || j->op == GP_WIRE_MAX) && GP_SET_FLOAT & GP_BIT(dt);
    j->dtype = r ? joined_in(dt, j->ordered) : dt;
    j->d.group = gp_dist_group_of(c);
    j->n = gp_dist_group_size(j->d.group);
    j->rank = gp_dist_group_rank(j->d.group);
    if (!(j->comm = gp_nccl_begin(&j->d)) || !prepare(j, c, x)) return false;
    j->to = gp_dense_over(out->data, j->dtype, out->ndim, out->dim);
    if (out->contiguous && out->dtype == j->dtype) return true;
    j->to.data = gp_cuda_scratch(c, (size_t)out->numel * gp_dtype_size(j->dtype));
    return j->to.data != NULL;
}

/* Puts what came where the result is. */
static bool finish(const job *j, ncclResult_t result) {
    const gp_call *c = j->d.call;
    const gp_array *out = gp_out(c, 0);
    if (!gp_nccl_ok(&j->d, j->comm, result)) return false;
    if (j->ordered && !gp_nccl_decode(c, &j->to, j->op == GP_WIRE_MIN)) return false;
    return j->to.data == out->data || gp_cuda_copy_array(c, out, &j->to);
}

/* Of a group of one: x. */
static bool alone(const gp_call *c, bool *ok) {
    if (gp_dist_group_size(gp_dist_group_of(c)) > 1) return false;
    const gp_array *out = gp_out(c, 0), *x = gp_in(c, 1);
    gp_array same = *x;
    if (out->ndim != x->ndim) same = *out, same.data = x->data; /* of 0 dims */
    *ok = out->data == x->data || gp_cuda_copy_array(c, out, &same);
    return true;
}

/* ---- reductions ---- */

bool CUDA(dist_all_reduce)(const gp_call *c) {
    const gp_rank_op *r = gp_rank_op_named(c->name, c->arg[2].s);
    bool ok;
    job j;
    if (alone(c, &ok)) return ok;
    return begin(&j, c, r, -1) &&
           finish(&j, gp_nccl.ncclAllReduce(j.from.data, j.to.data, (size_t)j.to.numel, type_of(&j),
                                            op_of(&j, r), j.comm, j.stream));
}

bool CUDA(dist_reduce)(const gp_call *c) {
    const gp_rank_op *r = gp_rank_op_named(c->name, c->arg[2].s);
    int root = (int)c->arg[3].i;
    bool ok;
    job j;
    if (alone(c, &ok)) return ok;
    if (!begin(&j, c, r, root)) return false;
    size_t bytes = (size_t)j.to.numel * gp_dtype_size(j.dtype);
    ncclResult_t result = gp_nccl.ncclReduce(j.from.data, j.to.data, (size_t)j.to.numel,
                                             type_of(&j), op_of(&j, r), root, j.comm, j.stream);
    if (j.rank != root && !gp_cuda_ok(c, cudaMemsetAsync(j.to.data, 0, bytes, j.stream)))
        return false;
    return finish(&j, result);
}

bool CUDA(dist_reduce_scatter)(const gp_call *c) {
    const gp_rank_op *r = gp_rank_op_named(c->name, c->arg[2].s);
    bool ok;
    job j;
    if (alone(c, &ok)) return ok;
    return begin(&j, c, r, -1) &&
           finish(&j, gp_nccl.ncclReduceScatter(j.from.data, j.to.data, (size_t)j.to.numel,
                                                type_of(&j), op_of(&j, r), j.comm, j.stream));
}

/* ---- moves, in bytes ---- */

static size_t bytes_of(const gp_array *a) {
    return (size_t)a->numel * gp_dtype_size((gp_dtype)a->dtype);
}

bool CUDA(dist_broadcast)(const gp_call *c) {
    int root = (int)c->arg[2].i;
    bool ok;
    job j;
    if (alone(c, &ok)) return ok;
    return begin(&j, c, NULL, root) &&
           finish(&j, gp_nccl.ncclBroadcast(j.from.data, j.to.data, bytes_of(&j.to), ncclUint8,
                                            root, j.comm, j.stream));
}

bool CUDA(dist_all_gather)(const gp_call *c) {
    bool ok;
    job j;
    if (alone(c, &ok)) return ok;
    return begin(&j, c, NULL, -1) &&
           finish(&j, gp_nccl.ncclAllGather(j.from.data, j.to.data, bytes_of(&j.from), ncclUint8,
                                            j.comm, j.stream));
}

/* Of `bytes` each: to every rank that `gives` part number r of from, and from every rank part r of
 * to, where the other side does likewise. */
static bool exchange(const job *j, size_t bytes, int sender, int receiver) {
    ncclResult_t result = gp_nccl.ncclGroupStart(), end;
    for (int r = 0; r < j->n && result == ncclSuccess; r++) {
        bool gives = (sender < 0 || sender == j->rank) && (receiver < 0 || receiver == r);
        bool takes = (receiver < 0 || receiver == j->rank) && (sender < 0 || sender == r);
        size_t out = receiver < 0 ? (size_t)r * bytes : 0, in = sender < 0 ? (size_t)r * bytes : 0;
        if (gives)
            result = gp_nccl.ncclSend((char *)j->from.data + out, bytes, ncclUint8, r, j->comm,
                                      j->stream);
        if (takes && result == ncclSuccess)
            result =
                gp_nccl.ncclRecv((char *)j->to.data + in, bytes, ncclUint8, r, j->comm, j->stream);
    }
    end = gp_nccl.ncclGroupEnd();
    return finish(j, result == ncclSuccess ? end : result);
}

bool CUDA(dist_all_to_all)(const gp_call *c) {
    bool ok;
    job j;
    if (alone(c, &ok)) return ok;
    return begin(&j, c, NULL, -1) && exchange(&j, bytes_of(&j.from) / (size_t)j.n, -1, -1);
}

bool CUDA(dist_gather)(const gp_call *c) {
    int root = (int)c->arg[2].i;
    bool ok;
    job j;
    if (alone(c, &ok)) return ok;
    return begin(&j, c, NULL, root) && exchange(&j, bytes_of(&j.from), -1, root);
}

bool CUDA(dist_scatter)(const gp_call *c) {
    int root = (int)c->arg[2].i;
    bool ok;
    job j;
    if (alone(c, &ok)) return ok;
    return begin(&j, c, NULL, root) && exchange(&j, bytes_of(&j.from) / (size_t)j.n, root, -1);
}
#else
typedef int dist_without_nccl; /* ISO C forbids an empty file */
#endif
