/* batch_norm and its gradients, where cuDNN does not do them (cudnn.c): sums of each channel in
 * chunks that many blocks compute, combined in one order; then one pass that normalises. Limit: two
 * reads and a write of each element forward (one read where the statistics are given), four reads
 * and a write backward. */
#include "kernels/cuda/norm/batch_norm.h"
#include "kernels/cuda/norm/parts.cuh"

enum { CHUNK = 16384, AHEAD = 4 };

typedef struct vec { /* one element per channel, or absent (data NULL) */
    char *data;
    int64_t step;
    gp_dtype dt;
} vec;

typedef struct norm_params {
    gp_loop<3> l;    /* one channel of out, x and g */
    int64_t step[3]; /* bytes between channels */
    gp_dtype ot, xt, gt;
    int64_t channels, chunks, chunk; /* chunks of a channel, and elements of each */
    vec mean, var, weight, bias, gw, gb;
    double momentum, eps;
    bool training;
    void *part;                      /* channels x chunks */
    double *m, *scale, *off, *slope; /* of each channel; see the kernels */
} norm_params;

template <class T> __device__ static T read(const vec &v, int64_t i, T absent) {
    return v.data ? gp_load_as<T>(v.data + i * v.step, v.dt) : absent;
}
template <class T> __device__ static void write(const vec &v, int64_t i, T value) {
    if (v.data) gp_store_as<T>(v.data + i * v.step, v.dt, value);
}

/* Calls f(x, g, out) for this thread's elements of the block's chunk of a channel, AHEAD of which
 * are read before the first is used; g is 0 unless G, out the address in the result. */
template <class T, bool G, class F>
__device__ static void each_of_chunk(const norm_params &r, int64_t channel, F f) {
    uint32_t end =
        (blockIdx.x + 1) * r.chunk < r.l.numel ? (blockIdx.x + 1) * (uint32_t)r.chunk : r.l.numel;
    for (uint32_t i = blockIdx.x * (uint32_t)r.chunk + threadIdx.x; i < end;
         i += AHEAD * GP_THREADS) {
        const char *xs[AHEAD], *gs[AHEAD];
        char *out[AHEAD];
        T x[AHEAD], g[AHEAD] = {};
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            int64_t off[3];
            gp_offsets(r.l, i + k * GP_THREADS < end ? i + k * GP_THREADS : i, off);
            out[k] = r.l.data[0] + off[0] + channel * r.step[0];
            xs[k] = r.l.data[1] + off[1] + channel * r.step[1];
            gs[k] = r.l.data[2] + off[2] + channel * r.step[2];
        }
        gp_load_at<T, AHEAD>(xs, r.xt, x);
        if (G) gp_load_at<T, AHEAD>(gs, r.gt, g);
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (i + k * GP_THREADS < end) f(x[k], g[k], out[k]);
    }
}

/* Statistics of a chunk: each thread's from distances to its first element, then combined. */
template <class T> static __global__ void chunk_statistics(norm_params r, int64_t channel0) {
    int64_t channel = channel0 + blockIdx.y;
    T n = 0, first = 0, sum = 0, squares = 0;
    each_of_chunk<T, false>(r, channel, [&](T x, T, char *) {
        if (n == 0) first = x;
        n += 1;
        sum += x - first;
        squares += (x - first) * (x - first);
    });
    T mean = n > 0 ? sum / n : 0;
    gp_moments<T> all = gp_join_block(gp_moments<T>{n, first + mean, squares - sum * mean});
    if (threadIdx.x == 0) ((gp_moments<T> *)r.part)[channel * r.chunks + blockIdx.x] = all;
}

/* Mean and scale of each channel; in training, running = (1 - momentum) * running + momentum *
 * value. */
template <class T> static __global__ void combine_statistics(norm_params r) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i >= r.channels) return;
    double mean = read<double>(r.mean, i, 0), var = read<double>(r.var, i, 1);
    if (r.training) {
        gp_moments<double> s = {0, 0, 0};
        for (int64_t k = 0; k < r.chunks; k++) {
            gp_moments<T> b = ((gp_moments<T> *)r.part)[i * r.chunks + k];
            s.join(gp_moments<double>{(double)b.n, (double)b.mean, (double)b.m2});
        }
        write(r.mean, i, (1 - r.momentum) * mean + r.momentum * s.mean);
        write(r.var, i, (1 - r.momentum) * var + r.momentum * (s.m2 / (s.n - 1)));
        mean = s.mean, var = s.m2 / s.n;
    }
    r.m[i] = mean;
    r.scale[i] = 1 / sqrt(var + r.eps);
}

template <class T> static __global__ void normalise(norm_params r, int64_t channel0) {
    int64_t channel = channel0 + blockIdx.y;
    T mean = (T)r.m[channel], scale = (T)(r.scale[channel] * read<double>(r.weight, channel, 1)),
      shift = read<T>(r.bias, channel, 0);
    each_of_chunk<T, false>(r, channel, [&](T x, T, char *out) {
        gp_store_as<T>(out, r.ot, (x - mean) * scale + shift);
    });
}

/* ---- gradients ---- */

/* Sums of g and of g h, h = (x - mean) * scale, of a chunk. */
template <class T> static __global__ void chunk_gradients(norm_params r, int64_t channel0) {
    int64_t channel = channel0 + blockIdx.y;
    T mean = (T)r.m[channel], scale = (T)r.scale[channel], sg = 0, sgh = 0;
    each_of_chunk<T, true>(r, channel, [&](T x, T g, char *) {
        sg += g;
        sgh += g * (x - mean) * scale;
    });
    sg = gp_group_reduce(sg, GP_THREADS, gp_add()),
    sgh = gp_group_reduce(sgh, GP_THREADS, gp_add());
    if (threadIdx.x) return;
    double *to = (double *)r.part + 2 * (channel * r.chunks + blockIdx.x);
    to[0] = sg, to[1] = sgh;
}

/* weight * scale * (g - mean of g - h * mean of g h) where the statistics are the batch's, weight *
 * scale * g where they are given: the subtracted terms go to off and slope. */
static __global__ void combine_gradients(norm_params r) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    double sg = 0, sgh = 0, n = (double)r.l.numel;
    if (i >= r.channels) return;
    for (int64_t k = 0; k < r.chunks; k++) {
        sg += ((double *)r.part)[2 * (i * r.chunks + k)];
        sgh += ((double *)r.part)[2 * (i * r.chunks + k) + 1];
    }
    r.off[i] = r.training ? sg / n : 0;
    r.slope[i] = r.training ? sgh / n * r.scale[i] : 0;
    write(r.gw, i, sgh), write(r.gb, i, sg);
}

template <class T> static __global__ void gradient(norm_params r, int64_t channel0) {
    int64_t channel = channel0 + blockIdx.y;
    T mean = (T)r.m[channel], k = (T)(r.scale[channel] * read<double>(r.weight, channel, 1)),
      less = (T)r.off[channel], slope = (T)r.slope[channel];
    each_of_chunk<T, true>(r, channel, [&](T x, T g, char *out) {
        gp_store_as<T>(out, r.ot, k * (g - less - (x - mean) * slope));
    });
}

/* ---- host side ---- */

static vec vec_of(const gp_array *a) {
    return a ? vec{a->data, a->stride[0] * gp_dtype_sizes[a->dtype], (gp_dtype)a->dtype}
             : vec{NULL, 0, GP_f32};
}

/* out, x and g: images x channels x any dims. */
static bool set_up(const gp_call *c, norm_params *r, const gp_array *out, const gp_array *x,
                   const gp_array *g) {
    gp_array o1 = gp_without(out, 1), x1 = gp_without(x, 1), g1 = gp_without(g, 1);
    const gp_array *const arrays[3] = {&o1, &x1, &g1};
    if (o1.numel > INT32_MAX)
        return gp_fail("%s: a channel of %lld elements is more than one call takes (2147483647)",
                       c->op->name, (long long)o1.numel);
    r->l = gp_loop_of(gp_nest_of<3>(arrays));
    r->step[0] = gp_step(out, 1), r->step[1] = gp_step(x, 1), r->step[2] = gp_step(g, 1);
    r->ot = (gp_dtype)out->dtype, r->xt = (gp_dtype)x->dtype, r->gt = (gp_dtype)g->dtype;
    r->channels = x->dim[1], r->chunk = CHUNK;
    r->chunks = gp_blocks(r->l.numel, CHUNK);
    size_t part = (size_t)(r->channels * r->chunks) * sizeof(gp_moments<double>),
           each = (size_t)r->channels * sizeof(double);
    char *memory = (char *)gp_cuda_scratch(c, part + 4 * each);
    r->part = memory;
    r->m = (double *)(memory + part), r->scale = r->m + r->channels;
    r->off = r->scale + r->channels, r->slope = r->off + r->channels;
    return memory != NULL;
}

typedef void (*kernel_of)(norm_params r, int64_t channel0);
static bool each_channel(const gp_call *c, const norm_params *r, kernel_of kernel) {
    for (int64_t at = 0; at < r->channels && r->chunks; at += 65535) {
        uint32_t n = (uint32_t)(r->channels - at < 65535 ? r->channels - at : 65535);
        if (!GP_LAUNCH(c, kernel, dim3((uint32_t)r->chunks, n), GP_THREADS, 0, *r, at))
            return false;
    }
    return true;
}
static bool all_channels(const gp_call *c, const norm_params *r, void (*kernel)(norm_params r)) {
    return GP_LAUNCH(c, kernel, gp_blocks(r->channels), GP_THREADS, 0, *r);
}

/* Arguments: x, running_mean, running_var, weight, bias, training, momentum, eps. */
GP_C bool CUDA(batch_norm)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    norm_params r = {};
    bool done;
    if (x->numel == 0) return true;
    if (!gp_norm_by_cudnn(c, &done)) return false;
    if (done) return true;
    if (!set_up(c, &r, out, x, x)) return false;
    r.mean = vec_of(gp_in(c, 1)), r.var = vec_of(gp_in(c, 2));
    r.weight = vec_of(gp_in(c, 3)), r.bias = vec_of(gp_in(c, 4));
    r.training = c->arg[5].i, r.momentum = c->arg[6].f, r.eps = c->arg[7].f;
    bool wide = r.xt == GP_f64;
    return (!r.training ||
            each_channel(c, &r, wide ? chunk_statistics<double> : chunk_statistics<float>)) &&
           all_channels(c, &r, wide ? combine_statistics<double> : combine_statistics<float>) &&
           each_channel(c, &r, wide ? normalise<double> : normalise<float>);
}

/* Arguments: g, x, running_mean, running_var, weight, training, eps; x and g contiguous in
 * c->tmp. */
GP_C bool CUDA(batch_norm_grad)(const gp_call *c) {
    const gp_array *x = c->tmpa[0], *g = c->tmpa[1];
    norm_params r = {};
    bool done;
    if (!gp_norm_grad_by_cudnn(c, &done)) return false;
    if (done) return true;
    if (!set_up(c, &r, gp_out(c, 0), x, g)) return false;
    r.training = c->arg[5].i, r.eps = c->arg[6].f, r.weight = vec_of(gp_in(c, 4));
    if (!r.training) r.mean = vec_of(gp_in(c, 2)), r.var = vec_of(gp_in(c, 3));
    r.gw = vec_of(gp_out(c, 1)), r.gb = vec_of(gp_out(c, 2));
    bool wide = r.xt == GP_f64 || r.gt == GP_f64;
    if (r.training &&
        !each_channel(c, &r, wide ? chunk_statistics<double> : chunk_statistics<float>))
        return false;
    return all_channels(c, &r, wide ? combine_statistics<double> : combine_statistics<float>) &&
           each_channel(c, &r, wide ? chunk_gradients<double> : chunk_gradients<float>) &&
           all_channels(c, &r, combine_gradients) &&
           each_channel(c, &r, wide ? gradient<double> : gradient<float>);
}
