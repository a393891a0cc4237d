/* Collectives on cuda by NCCL, queued on the communication stream. Tensors of any layout are made
 * contiguous; 16-bit integers, which NCCL does not know, are joined as 32-bit ones, and the
 * smallest or largest of floats as the largest of integers. */
#include "kernels/cuda/dist/nccl.h"
#include "kernels/cuda/dist/order.h"
#include "kernels/cuda/runtime/dense.h"
#include "tensor/ops/dist.h"

/* A collective under way. */
typedef struct job {
    gp_dist_call d;
    void *comm;
    gp_array from, to; /* contiguous; to: the output's own memory, or scratch */
    gp_nccl_wire w;    /* its dtype is that of both; keys: they are floats as integers (order.h) */
} job;

/* In which dtype elements are joined. */
static gp_dtype joined_in(gp_dtype dt, bool ordered) {
    if (dt == GP_i16) return GP_i32;
    return ordered && dt != GP_f64 ? GP_f32 : dt;
}

/* What this rank gives. */
static bool prepare(job *j, const gp_call *c, const gp_array *x) {
    gp_dtype dt = j->w.dtype;
    if (!j->w.keys) return gp_cuda_dense(c, x, dt, &j->from);
    j->from = gp_dense_over(NULL, dt, x->ndim, x->dim);
    j->from.data = gp_cuda_scratch(c, (size_t)x->numel * gp_dtype_size(dt));
    return j->from.data && gp_cuda_copy_array(c, &j->from, x) &&
           gp_nccl_encode(c, &j->from, j->w.op == GP_WIRE_MIN);
}

/* r NULL: a collective that only moves elements. */
static bool begin(job *j, const gp_call *c, gp_wire_kind kind, const gp_rank_op *r, int root) {
    const gp_array *x = gp_in(c, 1), *out = gp_out(c, 0);
    gp_dtype dt = (gp_dtype)x->dtype;
    gp_wire_op op = r ? r->op : GP_WIRE_SUM;
    bool keys = (op == GP_WIRE_MIN || op == GP_WIRE_MAX) && GP_SET_FLOAT & GP_BIT(dt);
    int group = gp_dist_group_of(c);
    *j = (job){.d = {.call = c, .x = x, .how = r ? r->name : "", .root = root, .group = group},
               .w = {.kind = kind, .op = op, .mean = r && r->mean, .keys = keys, .root = root}};
    gp_nccl_wire *w = &j->w;
    w->dtype = r ? joined_in(dt, keys) : dt;
    w->n = gp_dist_group_size(group);
    w->rank = gp_dist_group_rank(group);
    if (!(j->comm = gp_nccl_begin(&j->d)) || !prepare(j, c, x)) return false;
    j->to = gp_dense_over(out->data, w->dtype, out->ndim, out->dim);
    w->from = j->from.data;
    if (!out->contiguous || out->dtype != w->dtype)
        j->to.data = gp_cuda_scratch(c, (size_t)out->numel * gp_dtype_size(w->dtype));
    return (w->to = j->to.data) != NULL;
}

/* Puts what came where the result is. */
static bool finish(const job *j) {
    const gp_call *c = j->d.call;
    const gp_array *out = gp_out(c, 0);
    if (j->w.keys && !gp_nccl_decode(c, &j->to, j->w.op == GP_WIRE_MIN)) return false;
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

static size_t bytes_of(const gp_array *a) {
    return (size_t)a->numel * gp_dtype_size((gp_dtype)a->dtype);
}

static bool reduce(const gp_call *c, gp_wire_kind kind, int root) {
    bool ok;
    job j;
    if (alone(c, &ok)) return ok;
    if (!begin(&j, c, kind, gp_rank_op_named(c->name, c->arg[2].s), root)) return false;
    j.w.count = (size_t)j.to.numel;
    if (!gp_nccl_start(&j.d, j.comm, &j.w)) return false;
    bool none = kind == GP_WIRE_reduce && j.w.rank != root; /* its result is zeros */
    return (!none ||
            gp_cuda_ok(c, cudaMemsetAsync(j.to.data, 0, bytes_of(&j.to), gp_cuda_stream(c)))) &&
           finish(&j);
}

bool CUDA(dist_all_reduce)(const gp_call *c) { return reduce(c, GP_WIRE_all_reduce, -1); }
bool CUDA(dist_reduce)(const gp_call *c) { return reduce(c, GP_WIRE_reduce, (int)c->arg[3].i); }
bool CUDA(dist_reduce_scatter)(const gp_call *c) { return reduce(c, GP_WIRE_reduce_scatter, -1); }

/* ---- moves, in bytes ---- */

/* in_parts: this rank's elements are a part for each rank. */
static bool move(const gp_call *c, gp_wire_kind kind, int root, bool in_parts) {
    bool ok;
    job j;
    if (alone(c, &ok)) return ok;
    if (!begin(&j, c, kind, NULL, root)) return false;
    j.w.count = bytes_of(&j.from) / (in_parts ? (size_t)j.w.n : 1);
    return gp_nccl_start(&j.d, j.comm, &j.w) && finish(&j);
}

bool CUDA(dist_broadcast)(const gp_call *c) {
    return move(c, GP_WIRE_broadcast, (int)c->arg[2].i, false);
}
bool CUDA(dist_all_gather)(const gp_call *c) { return move(c, GP_WIRE_all_gather, -1, false); }
bool CUDA(dist_all_to_all)(const gp_call *c) { return move(c, GP_WIRE_all_to_all, -1, true); }
bool CUDA(dist_gather)(const gp_call *c) {
    return move(c, GP_WIRE_gather, (int)c->arg[2].i, false);
}
bool CUDA(dist_scatter)(const gp_call *c) {
    return move(c, GP_WIRE_scatter, (int)c->arg[2].i, true);
}
