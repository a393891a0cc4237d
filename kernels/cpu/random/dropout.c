/* dropout: whether an element is kept is a function of (seed, op counter, row-major index), by the
 * numbers that rand would draw; its gradient draws them again. */
#include "kernels/cpu/random/philox.h"
#include "kernels/cpu/runtime/kernel.h"

enum { BLOCKS_A_PART = 16 };

typedef struct dropout_job {
    const gp_array *x, *out; /* contiguous */
    uint64_t seed, counter;
    double p;
    gp_ctype ct;
    gp_load load;
    gp_store store;
} dropout_job;

/* Blocks [begin, end): whether an element is kept depends only on (seed, counter, its index), so
 * that backward can repeat it. */
static void run_blocks(void *ctx, int64_t begin, int64_t end) {
    const dropout_job *r = ctx;
    int64_t xs = gp_dtype_sizes[r->x->dtype], os = gp_dtype_sizes[r->out->dtype];
    float p = (float)r->p;
    double x[GP_BLOCK], scale = 1 / (1 - r->p);
    for (int64_t b = begin; b < end; b++) {
        int64_t at = b * GP_BLOCK, n = r->out->numel - at;
        if (n > GP_BLOCK) n = GP_BLOCK;
        uint32_t w[GP_BLOCK];
        philox_block(r->seed, r->counter, (uint64_t)(at / 4), GP_BLOCK / 4, w);
        r->load(x, r->x->data + at * xs, xs, n);
        if (r->ct == GP_CT_f32) {
            float *v = (float *)x, s = (float)scale;
            for (int64_t i = 0; i < n; i++) v[i] = gp_uniform_f32(w[i], 24) < p ? 0 : v[i] * s;
        } else {
            for (int64_t i = 0; i < n; i++) x[i] = gp_uniform_f32(w[i], 24) < p ? 0 : x[i] * scale;
        }
        r->store(r->out->data + at * os, os, x, n);
    }
}

static bool drop(const gp_call *c, bool training, uint64_t seed, uint64_t counter) {
    dropout_job r = {.x = c->tmpa[0], .out = gp_out(c, 0), .seed = seed, .counter = counter};
    r.p = training ? c->arg[1].f : 0;
    r.ct = gp_compute_type((gp_dtype)r.x->dtype);
    r.load = gp_load_fn((gp_dtype)r.x->dtype, r.ct);
    r.store = gp_store_fn(r.ct, (gp_dtype)r.out->dtype);
    return gp_parallel_op(c, (r.out->numel + GP_BLOCK - 1) / GP_BLOCK, BLOCKS_A_PART, run_blocks,
                          &r);
}

bool CPU(dropout)(const gp_call *c) { return drop(c, c->arg[2].i, c->seed, c->counter); }
bool CPU(dropout_grad)(const gp_call *c) {
    return drop(c, c->arg[2].i, (uint64_t)c->arg[3].i, (uint64_t)c->arg[4].i);
}
