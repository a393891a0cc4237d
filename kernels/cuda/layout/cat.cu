/* Ops that only move elements: cat, stack, flip, diag_embed. Limit: a read and a write of each
 * element at the speed of memory. */
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/runtime/rows.cuh"
#include "tensor/ops/layout/layout.h"

enum { PIECES = 64 }; /* tensors of a launch */

/* Contiguous tensors as rows of units; row o of the output consists of row o of each, in turn. */
typedef struct pieces {
    const char *x[PIECES];
    int64_t first[PIECES + 1]; /* unit of the output's row at which each begins */
    int n;
    int64_t rows, row; /* units of an output row */
    char *out;
} pieces;

template <class E> static __global__ void join(pieces p) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x, width = p.first[p.n] - p.first[0],
            row = gp_divided(i, width), at = p.first[0] + i - row * width;
    if (row >= p.rows) return;
    int lo = 0, hi = p.n;
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        if (p.first[mid] <= at) lo = mid;
        else hi = mid;
    }
    int64_t own = p.first[lo + 1] - p.first[lo];
    ((E *)p.out)[row * p.row + at] = ((const E *)p.x[lo])[row * own + (at - p.first[lo])];
}

template <class E> static bool run_join(const gp_call *c, const pieces *p) {
    auto kernel = join<E>;
    int64_t n = p->rows * (p->first[p->n] - p->first[0]);
    return GP_LAUNCH(c, kernel, gp_blocks(n), GP_THREADS, 0, *p);
}

/* The largest unit in bytes that divides everything: 16, 8, 4, 2 or 1. */
static int64_t unit_of(const pieces *p) {
    uint64_t all = (uint64_t)(uintptr_t)p->out | (uint64_t)p->row;
    for (int i = 0; i < p->n; i++) all |= (uint64_t)(uintptr_t)p->x[i] | (uint64_t)p->first[i];
    all |= (uint64_t)p->first[p->n];
    return all & 15 ? (int64_t)(all & (~all + 1)) & 15 : 16;
}

/* first and row are in bytes. */
static bool flush(const gp_call *c, pieces *p) {
    if (p->n == 0) return true;
    pieces q = *p;
    int64_t unit = unit_of(p);
    q.row /= unit;
    for (int i = 0; i <= p->n; i++) q.first[i] /= unit;
    p->first[0] = p->first[p->n];
    p->n = 0;
    return unit == 16 ? run_join<uint4>(c, &q) : GP_BY_SIZE(unit, run_join, c, &q);
}

/* Adds x: together with others where it is plain, else by its own copy. part: its part of the
 * output. */
static bool add_piece(const gp_call *c, pieces *p, const gp_array *x, const gp_array *part,
                      int64_t bytes) {
    bool plain = x->contiguous && x->dtype == part->dtype;
    if (!plain || p->n == PIECES)
        if (!flush(c, p)) return false;
    if (!plain) return p->first[0] += bytes, gp_cuda_copy_array(c, part, x);
    p->x[p->n++] = x->data;
    p->first[p->n] = p->first[p->n - 1] + bytes;
    return true;
}

/* out is rows x (dim d and those after it). */
static pieces pieces_of(const gp_array *out, int d) {
    pieces p = {};
    p.rows = 1, p.row = gp_dtype_sizes[out->dtype], p.out = out->data;
    for (int i = 0; i < out->ndim; i++)
        if (i < d) p.rows *= out->dim[i];
        else p.row *= out->dim[i];
    return p;
}

GP_C bool CUDA(cat)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    int d = (int)c->arg[1].i - 1;
    pieces p = pieces_of(out, d);
    int64_t at = 0, each = out->dim[d] ? p.row / out->dim[d] : 0;
    for (int i = 0; i < c->arg[0].n; i++) {
        const gp_array *x = c->arg[0].arrays[i];
        if (x->ndim != out->ndim || x->numel == 0) continue;
        gp_array part = gp_part_of(out, d, at, x->dim[d]);
        if (!add_piece(c, &p, x, &part, each * x->dim[d])) return false;
        at += x->dim[d];
    }
    return flush(c, &p);
}

GP_C bool CUDA(stack)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    int d = (int)c->arg[1].i - 1;
    pieces p = pieces_of(out, d);
    if (out->numel == 0) return true;
    for (int i = 0; i < c->arg[0].n; i++) {
        gp_array part = gp_slice_of(out, d, i);
        if (!add_piece(c, &p, c->arg[0].arrays[i], &part, p.row / out->dim[d])) return false;
    }
    return flush(c, &p);
}

GP_C bool CUDA(flip)(const gp_call *c) {
    if (gp_in(c, 0)->numel == 0) return true;
    gp_array x = gp_reversed(gp_in(c, 0), (uint64_t)c->arg[1].i);
    return gp_cuda_copy_array(c, gp_out(c, 0), &x);
}

/* Arguments: x, offset, and two dims of the result, counted from 1. */
GP_C bool CUDA(diag_embed)(const gp_call *c) {
    const gp_array *out = gp_out(c, 0);
    size_t bytes = (size_t)(out->numel * gp_dtype_sizes[out->dtype]);
    if (out->numel == 0) return true;
    gp_array line = gp_diagonals(out, c->arg[1].i, (int)c->arg[2].i - 1, (int)c->arg[3].i - 1);
    return gp_cuda_ok(c, cudaMemsetAsync(out->data, 0, bytes, gp_cuda_stream(c))) &&
           gp_cuda_copy_array(c, &line, gp_in(c, 0));
}
