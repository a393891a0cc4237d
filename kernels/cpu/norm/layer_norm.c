/* layer_norm, rms_norm and group_norm: rows of contiguous elements, read from memory once while
 * they fit the cache. */
#include "kernels/cpu/norm/layer_norm.h"

#include <math.h>

#include "kernels/cpu/runtime/scratch.h"

typedef struct layer_norm_job {
    const gp_array *x, *out; /* contiguous: consecutive rows of n elements */
    gp_norm k;
    gp_ctype ct;
    gp_load load;
    gp_store store;
    void *weight, *bias; /* channels of compute type each, or NULL */
    _Atomic bool no_memory;
} layer_norm_job;

#define TEMPLATE "kernels/cpu/norm/layer_norm.inc"
#include "kernels/common/floats.inc"

/* Rows [begin, end). */
static void forward(void *ctx, int64_t begin, int64_t end) {
    layer_norm_job *r = ctx;
    int64_t n = r->k.n, xs = gp_dtype_sizes[r->x->dtype], os = gp_dtype_sizes[r->out->dtype];
    bool direct = r->x->dtype == gp_ctype_dtype[r->ct];
    char *buf = direct ? NULL : gp_scratch(GP_SCRATCH_PART, (size_t)(n * gp_ctype_size[r->ct]));
    if (!direct && !buf) {
        r->no_memory = true;
        return;
    }
    for (int64_t row = begin; row < end; row++) {
        const void *x = gp_norm_row(r->x, &r->k, row);
        char *out = gp_norm_row(r->out, &r->k, row);
        void *y = direct ? out : buf;
        if (!direct) r->load(buf, x, xs, n), x = buf;
        if (r->ct == GP_CT_f32) normalise_f32(r, row, x, y);
        else normalise_f64(r, row, x, y);
        if (!direct) r->store(out, os, buf, n);
    }
}

void *gp_norm_affine(const gp_array *a, gp_ctype ct, int64_t channels, char *memory, int slot) {
    char *to = memory + slot * (channels + 8) * 8;
    if (!a) return NULL;
    gp_array dense = *a;
    int64_t step = 1;
    dense.data = to, dense.dtype = gp_ctype_dtype[ct];
    for (int d = a->ndim - 1; d >= 0; d--) dense.stride[d] = step, step *= a->dim[d];
    gp_copy_array(&dense, a);
    return to;
}

/* Arguments as in gp_norm_read; temporaries: x made contiguous. */
static bool norm(const gp_call *c) {
    layer_norm_job r = {.x = gp_values(c, 0, 0), .out = gp_out(c, 0)};
    if (r.out->numel == 0) return true;
    gp_norm_read(c, r.x, 0, &r.k);
    r.ct = gp_compute_type((gp_dtype)r.x->dtype);
    r.load = gp_load_fn((gp_dtype)r.x->dtype, r.ct);
    r.store = gp_store_fn(r.ct, (gp_dtype)r.out->dtype);
    char *memory = gp_scratch(GP_SCRATCH_CALL, (size_t)(r.k.channels + 8) * 16);
    if (!memory) return gp_fail("%s: out of memory", c->op->name);
    r.weight = gp_norm_affine(gp_in(c, 2), r.ct, r.k.channels, memory, 0);
    r.bias = r.k.centred ? gp_norm_affine(gp_in(c, 3), r.ct, r.k.channels, memory, 1) : NULL;
    return gp_parallel_op(c, r.k.rows, 1 + GP_GRAIN / r.k.n, forward, &r) &&
           (!r.no_memory || gp_fail("%s: out of memory", c->op->name));
}

bool CPU(layer_norm)(const gp_call *c) { return norm(c); }
bool CPU(rms_norm)(const gp_call *c) { return norm(c); }
bool CPU(group_norm)(const gp_call *c) { return norm(c); }
