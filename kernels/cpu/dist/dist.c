/* Collectives: what MPI wants, contiguous elements in host memory, is made of any layout; the
 * 16-bit floats are joined in f32, and so rounded once. Runs on the worker of a communication
 * stream. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/runtime/kernel.h"
#include "tensor/dist/dist.h"
#include "tensor/ops/dist.h"

/* A collective under way. */
typedef struct job {
    gp_dist_call call;
    gp_wire wire;
    int n;           /* ranks */
    void *from, *to; /* contiguous, of wire.dtype: the tensors' own memory, or */
    void *made[2];   /* that of copies */
    const gp_array *out;
} job;

static gp_array dense(const gp_array *a, gp_dtype dt, void *data) {
    gp_array d = *a;
    d.data = data;
    d.dtype = (uint8_t)dt;
    d.contiguous = true;
    for (int64_t i = d.ndim - 1, step = 1; i >= 0; i--) d.stride[i] = step, step *= d.dim[i];
    return d;
}

/* The elements of a as the wire takes them; read: they are copied where they are not. */
static void *plain(job *j, const gp_array *a, int which, bool read) {
    if (a->contiguous && a->dtype == j->wire.dtype) return a->data;
    size_t bytes = (size_t)a->numel * gp_dtype_size(j->wire.dtype);
    void *p = j->made[which] = malloc(bytes ? bytes : 1);
    if (!p) return gp_fail_null("%s: out of memory", j->call.call->name);
    gp_array d = dense(a, j->wire.dtype, p);
    if (read) gp_copy_array(&d, a);
    return p;
}

static void drop(job *j) {
    free(j->made[0]);
    free(j->made[1]);
}

static gp_dtype joined_in(gp_dtype dt) { return dt == GP_f16 || dt == GP_bf16 ? GP_f32 : dt; }

/* r NULL: a collective that only moves elements. */
static void describe(job *j, const gp_call *c, gp_wire_kind kind, const gp_rank_op *r, int root) {
    const gp_array *x = gp_in(c, 1);
    gp_dtype dt = (gp_dtype)x->dtype;
    *j = (job){.call = {.call = c, .x = x, .how = r ? r->name : "", .root = root},
               .wire = {.kind = kind, .op = r ? r->op : GP_WIRE_SUM, .root = root},
               .out = gp_out(c, 0)};
    j->call.group = gp_dist_group_of(c);
    j->wire.dtype = r ? joined_in(dt) : dt;
    j->n = gp_dist_group_size(j->call.group);
}

static bool begin(job *j, const gp_call *c, gp_wire_kind kind, const gp_rank_op *r, int root) {
    describe(j, c, kind, r, root);
    return gp_dist_meet(&j->call, NULL) && (j->from = plain(j, gp_in(c, 1), 0, true)) &&
           (j->to = plain(j, j->out, 1, false));
}

static void divide(job *j, int64_t n) {
    if (j->wire.dtype == GP_f32)
        for (int64_t i = 0; i < n; i++) ((float *)j->to)[i] /= (float)j->n;
    else
        for (int64_t i = 0; i < n; i++) ((double *)j->to)[i] /= (double)j->n;
}

/* Puts what came where the result is. Copies of a collective that failed are not freed: MPI may
 * still use them. */
static bool finish(job *j, bool ok, bool mean) {
    int64_t n = j->out->numel;
    if (ok && mean) divide(j, n);
    if (ok && j->to != j->out->data) {
        gp_array d = dense(j->out, j->wire.dtype, j->to);
        gp_copy_array(j->out, &d);
    }
    if (ok) drop(j);
    return ok;
}

/* A count that MPI takes. */
static bool count(job *j, int64_t n) {
    j->wire.count = (int)n;
    return n <= INT_MAX || gp_fail("%s: %lld elements for each rank (MPI takes at most %d)",
                                   j->call.call->name, (long long)n, INT_MAX);
}

/* n elements in as many collectives as MPI needs: each element by itself. */
static bool run_elements(job *j, int64_t n) {
    size_t size = gp_dtype_size(j->wire.dtype);
    for (int64_t at = 0; at < n; at += j->wire.count) {
        int64_t left = n - at, most = 1 << 30;
        j->wire.count = (int)(left < most ? left : most);
        j->wire.out = (char *)j->from + (size_t)at * size;
        j->wire.in = (char *)j->to + (size_t)at * size;
        if (!gp_dist_run(&j->call, &j->wire)) return false;
    }
    return true;
}

/* Of a group of one: x. */
static bool copy_alone(const gp_call *c, bool *ok) {
    if (gp_dist_group_size(gp_dist_group_of(c)) > 1) return false;
    const gp_array *out = gp_out(c, 0), *x = gp_in(c, 1);
    gp_array same = *x;
    if (out->ndim != x->ndim) same = *out, same.data = x->data; /* of 0 dims */
    if (out->data != x->data) gp_copy_array(out, &same);
    return *ok = true;
}

/* An all_reduce of few bytes is part of the ranks' meeting. */
static bool reduce_packet(job *j, const gp_array *x, bool mean) {
    _Alignas(8) char data[GP_PACKET_BYTES];
    gp_array d = dense(x, j->wire.dtype, data);
    gp_copy_array(&d, x);
    j->wire.count = (int)x->numel;
    j->wire.in = j->to = data;
    return finish(j, gp_dist_meet(&j->call, &j->wire), mean);
}

bool CPU(dist_all_reduce)(const gp_call *c) {
    const gp_rank_op *r = gp_rank_op_named(c->name, c->arg[2].s);
    const gp_array *x = gp_in(c, 1);
    bool ok;
    job j;
    if (copy_alone(c, &ok)) return ok;
    describe(&j, c, GP_WIRE_all_reduce, r, -1);
    if ((size_t)x->numel * gp_dtype_size(j.wire.dtype) <= GP_PACKET_BYTES)
        return reduce_packet(&j, x, r->mean);
    ok = begin(&j, c, GP_WIRE_all_reduce, r, -1) && run_elements(&j, j.out->numel);
    return finish(&j, ok, r->mean);
}

bool CPU(dist_reduce)(const gp_call *c) {
    const gp_rank_op *r = gp_rank_op_named(c->name, c->arg[2].s);
    int root = (int)c->arg[3].i;
    bool ok;
    job j;
    if (copy_alone(c, &ok)) return ok;
    ok = begin(&j, c, GP_WIRE_reduce, r, root);
    bool mine = gp_dist_group_rank(j.call.group) == root;
    ok = ok && run_elements(&j, j.out->numel);
    if (ok && !mine) memset(j.to, 0, (size_t)j.out->numel * gp_dtype_size(j.wire.dtype));
    return finish(&j, ok, r->mean);
}

bool CPU(dist_broadcast)(const gp_call *c) {
    int root = (int)c->arg[2].i;
    bool ok;
    job j;
    if (copy_alone(c, &ok)) return ok;
    ok = begin(&j, c, GP_WIRE_broadcast, NULL, root);
    if (ok && gp_dist_group_rank(j.call.group) == root && j.to != j.from)
        memcpy(j.to, j.from, (size_t)j.out->numel * gp_dtype_size(j.wire.dtype));
    return finish(&j, ok && run_elements(&j, j.out->numel), false);
}

/* Those of which every rank gives, or gets, a part of n elements. */
static bool run_parts(const gp_call *c, gp_wire_kind kind, const gp_rank_op *r, int root,
                      bool whole) {
    bool ok;
    job j;
    if (copy_alone(c, &ok)) return ok;
    ok = begin(&j, c, kind, r, root);
    const gp_array *x = gp_in(c, 1);
    int64_t n = gp_dist_group_size(gp_dist_group_of(c));
    j.wire.out = j.from;
    j.wire.in = j.to;
    ok = ok && count(&j, whole ? x->numel : x->numel / n);
    ok = ok && (!j.wire.count || gp_dist_run(&j.call, &j.wire));
    return finish(&j, ok, r && r->mean);
}

bool CPU(dist_all_gather)(const gp_call *c) {
    return run_parts(c, GP_WIRE_all_gather, NULL, -1, true);
}
bool CPU(dist_reduce_scatter)(const gp_call *c) {
    return run_parts(c, GP_WIRE_reduce_scatter, gp_rank_op_named(c->name, c->arg[2].s), -1, false);
}
bool CPU(dist_all_to_all)(const gp_call *c) {
    return run_parts(c, GP_WIRE_all_to_all, NULL, -1, false);
}
bool CPU(dist_gather)(const gp_call *c) {
    return run_parts(c, GP_WIRE_gather, NULL, (int)c->arg[2].i, true);
}
bool CPU(dist_scatter)(const gp_call *c) {
    return run_parts(c, GP_WIRE_scatter, NULL, (int)c->arg[2].i, false);
}

/* ---- from one rank to another ---- */

/* What both of a pair begin with, whose calls are compared by the one that receives. */
static bool begin_message(job *j, const gp_call *c) {
    const gp_array *x = gp_in(c, 1);
    *j = (job){.call = {.call = c, .x = x, .how = "", .root = (int)c->arg[2].i},
               .wire = {.dtype = (gp_dtype)x->dtype},
               .out = gp_out(c, 0)};
    j->call.group = gp_dist_group_of(c);
    return !gp_dist_is_here();
}

bool CPU(dist_send)(const gp_call *c) {
    const gp_array *x = gp_in(c, 1);
    job j;
    bool ok = begin_message(&j, c) && (j.from = plain(&j, x, 0, true)) != NULL;
    ok = ok && gp_dist_send(&j.call, j.from, (size_t)x->numel * gp_dtype_size((gp_dtype)x->dtype));
    return drop(&j), ok;
}

bool CPU(dist_recv)(const gp_call *c) {
    job j;
    bool ok = begin_message(&j, c) && (j.to = plain(&j, j.out, 1, false)) != NULL;
    ok = ok && gp_dist_receive(&j.call, j.to, (size_t)j.out->numel * gp_dtype_size(j.wire.dtype));
    return finish(&j, ok, false);
}
