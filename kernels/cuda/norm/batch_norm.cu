/* batch_norm and its gradients, where cuDNN does not do them (cudnn.c): sums of the lines that a
 * channel has in each image, joined to the channel's, then one pass that normalises. Limit: two
 * reads and a write of each element forward, of x and g backward. */
#include "kernels/cuda/norm/batch_norm.h"

#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/norm/channels.cuh"

typedef struct vec { /* one element per channel, or absent (data NULL) */
    char *data;
    int64_t step;
    gp_dtype dt;
} vec;

typedef struct statistics {
    int64_t channels, lines; /* lines of all images */
    vec mean, var, weight, bias, gw, gb;
    double momentum, eps;
    bool training, back;
} statistics;

__device__ static double read(const vec &v, int64_t i, double absent) {
    return v.data ? gp_load_as<double>(v.data + i * v.step, v.dt) : absent;
}
__device__ static void write(const vec &v, int64_t i, double value) {
    if (v.data) gp_store_as<double>(v.data + i * v.step, v.dt, value);
}

/* Forward: (x - mean) * scale * weight + bias; in training, running = (1 - momentum) * running +
 * momentum * value. Backward, with h = (x - mean) * scale: weight * scale * (g - mean of g - h *
 * mean of g h) where the statistics are the batch's, weight * scale * g where they are given. */
template <class T>
static __global__ void __launch_bounds__(GP_THREADS)
    join_channel(statistics r, uint32_t parts, const gp_norm_sums<T> *from, gp_linear *to) {
    int64_t i = blockIdx.x, images = r.lines / r.channels;
    gp_norm_sums<double> s = {};
    for (int64_t k = threadIdx.x; from && k < images * parts; k += GP_THREADS) {
        int64_t image = gp_divided(k, parts);
        gp_norm_sums<T> b = from[(image * r.channels + i) * parts + k - image * parts];
        s.join(gp_norm_sums<double>{{b.x.n, b.x.mean, b.x.m2}, b.v, b.vd});
    }
    s = gp_join_block(s);
    if (threadIdx.x) return;
    double n = s.x.n, mean = read(r.mean, i, 0), var = read(r.var, i, 1);
    if (r.training) {
        if (!r.back) {
            write(r.mean, i, (1 - r.momentum) * mean + r.momentum * s.x.mean);
            write(r.var, i, (1 - r.momentum) * var + r.momentum * (s.x.m2 / (n - 1)));
        }
        mean = s.x.mean, var = s.x.m2 / n;
    }
    double scale = 1 / sqrt(var + r.eps), k = scale * read(r.weight, i, 1);
    double gh = n > 0 ? (s.vd + s.v * (s.x.mean - mean)) * scale : 0;
    write(r.gw, i, gh), write(r.gb, i, s.v);
    to[i] = !r.back      ? gp_linear{mean, k, 0, read(r.bias, i, 0)}
            : r.training ? gp_linear{mean, -k * scale * (gh / n), k, -k * (s.v / n)}
                         : gp_linear{mean, 0, k, 0};
}

struct batch_join {
    const statistics *r;
    template <class T>
    bool operator()(const gp_call *c, const gp_norm_sums<T> *sums, const gp_split &s,
                    gp_linear *functions) const {
        auto kernel = join_channel<T>;
        return GP_LAUNCH(c, kernel, (uint32_t)r->channels, GP_THREADS, 0, *r, s.parts, sums,
                         functions);
    }
};

/* ---- host side ---- */

static vec vec_of(const gp_array *a) {
    return a ? vec{a->data, a->stride[0] * gp_dtype_sizes[a->dtype], (gp_dtype)a->dtype}
             : vec{NULL, 0, GP_f32};
}

/* of: out, x and, backward, g: images x channels x any dims, contiguous. */
template <int N> static bool run(const gp_call *c, statistics *r, const gp_array *const (&of)[N]) {
    const gp_array *x = of[1];
    int64_t each = x->numel ? x->numel / x->dim[0] / x->dim[1] : 0;
    gp_array lines[N];
    const gp_array *list[N];
    bool same = true, wide = false;
    r->channels = x->dim[1], r->lines = x->dim[0] * x->dim[1], r->back = N == 3;
    if (r->lines * (each / GP_PART + 2) > INT32_MAX)
        return gp_fail("%s: %lld channels of %lld elements are more than one call takes",
                       c->op->name, (long long)r->lines, (long long)each);
    for (int k = 0; k < N; k++) {
        lines[k] = gp_rows_at(of[k], r->lines, each), list[k] = &lines[k];
        same = same && of[k]->dtype == x->dtype, wide = wide || (k && of[k]->dtype == GP_f64);
    }
    const gp_array *const(&all)[N] = (const gp_array *const(&)[N])list;
    return GP_BY_ROW(same, x->dtype, wide, gp_run_channels, c, gp_loop_of(gp_nest_of<N>(all)),
                     gp_norm_lines_of<N>(all, each), r->training || r->back, (uint32_t)r->channels,
                     batch_join{r});
}

/* Arguments: x, running_mean, running_var, weight, bias, training, momentum, eps. */
GP_C bool CUDA(batch_norm)(const gp_call *c) {
    const gp_array *x = gp_in(c, 0), *out = gp_out(c, 0);
    statistics r = {};
    bool done;
    if (x->numel == 0) return true;
    if (!gp_norm_by_cudnn(c, &done)) return false;
    if (done) return true;
    gp_array dense;
    if (!x->contiguous) {
        void *scratch = gp_cuda_scratch(c, (size_t)x->numel * gp_dtype_sizes[x->dtype]);
        dense = gp_dense_over(x, (gp_dtype)x->dtype, scratch);
        if (!scratch || !gp_cuda_copy_array(c, &dense, x)) return false;
        x = &dense;
    }
    r.mean = vec_of(gp_in(c, 1)), r.var = vec_of(gp_in(c, 2));
    r.weight = vec_of(gp_in(c, 3)), r.bias = vec_of(gp_in(c, 4));
    r.training = c->arg[5].i, r.momentum = c->arg[6].f, r.eps = c->arg[7].f;
    const gp_array *const of[2] = {out, x};
    return run<2>(c, &r, of);
}

/* Arguments: g, x, running_mean, running_var, weight, training, eps; x and g contiguous in
 * c->tmp. */
GP_C bool CUDA(batch_norm_grad)(const gp_call *c) {
    const gp_array *const of[3] = {gp_out(c, 0), c->tmpa[0], c->tmpa[1]};
    statistics r = {};
    bool done;
    if (!gp_norm_grad_by_cudnn(c, &done)) return false;
    if (done) return true;
    r.training = c->arg[5].i, r.eps = c->arg[6].f, r.weight = vec_of(gp_in(c, 4));
    if (!r.training) r.mean = vec_of(gp_in(c, 2)), r.var = vec_of(gp_in(c, 3));
    r.gw = vec_of(gp_out(c, 1)), r.gb = vec_of(gp_out(c, 2));
    return run<3>(c, &r, of);
}
