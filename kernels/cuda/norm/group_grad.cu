/* Gradients of group_norm from sums of its channels. Limit: two reads of x and g, and a write. */
#include "kernels/cuda/norm/channels.cuh"

typedef gp_norm_rows rows;

template <class T> __device__ static gp_norm_sums<double> in_f64(const gp_norm_sums<T> &s) {
    return gp_norm_sums<double>{{s.x.n, s.x.mean, s.x.m2}, s.v, s.vd};
}

/* A block for each row, from the sums of its channels' parts: each channel's function, and what a
 * part adds to the gradients of weight and bias, in a chunk of gp_norm_join_channels. With h = (x -
 * mean) * scale and v = g * weight: scale * (v - mean of v - h * mean of v h). */
template <class T>
static __global__ void __launch_bounds__(GP_THREADS)
    join_rows(rows r, uint32_t parts, const gp_norm_sums<T> *from, gp_linear *to, double *chunks) {
    int64_t row = blockIdx.x, many = r.k.a_row * parts, image = row / r.k.groups,
            first = row % r.k.groups * r.k.a_row;
    auto weight = [&](int64_t channel) {
        return r.weight ? gp_load_as<double>(r.weight + channel * gp_bytes_of(r.wt), r.wt) : 1;
    };
    gp_moments<double> x = {};
    from += row * many, to += row * r.k.a_row;
    for (int64_t i = threadIdx.x; i < many; i += GP_THREADS) x.join(in_f64(from[i]).x);
    x = gp_join_block(x);
    double n = (double)r.k.n, scale = 1 / sqrt(x.m2 / n + r.k.eps);
    double slope = r.k.n > 1 ? scale : 0; /* one element is its own mean: no rounding is left */
    gp_sums<double, 2> v = {};
    for (int64_t i = threadIdx.x; i < many; i += GP_THREADS) {
        gp_norm_sums<double> s = in_f64(from[i]);
        int64_t own = gp_divided(i, parts), channel = first + own,
                chunk = image * parts + i - own * parts;
        double gh = (s.vd + s.v * (s.x.mean - x.mean)) * scale, w = weight(channel);
        v.v[0] += w * s.v, v.v[1] += w * gh;
        chunks[2 * chunk * r.k.channels + channel] = gh;
        chunks[(2 * chunk + 1) * r.k.channels + channel] = s.v;
    }
    v = gp_join_block(v);
    for (int64_t i = threadIdx.x; i < r.k.a_row; i += GP_THREADS)
        to[i] = gp_linear{x.mean, -slope * scale * (v.v[1] / n), slope * weight(first + i),
                          -slope * (v.v[0] / n)};
}

struct group_join {
    const rows *r;
    template <class T>
    bool operator()(const gp_call *c, const gp_norm_sums<T> *sums, const gp_split &s,
                    gp_linear *functions) const {
        int64_t chunks = r->k.rows / r->k.groups * s.parts;
        double *part =
            (double *)gp_cuda_scratch(c, (size_t)(2 * chunks * r->k.channels) * sizeof *part);
        auto kernel = join_rows<T>;
        return part &&
               GP_LAUNCH(c, kernel, (uint32_t)r->k.rows, GP_THREADS, 0, *r, s.parts, sums,
                         functions, part) &&
               gp_norm_join_channels(c, r, part, chunks);
    }
};

bool gp_norm_group_gradients(const gp_call *c, const rows *r, const gp_array *out,
                             const gp_array *x, const gp_array *g) {
    int64_t each = r->k.each, lines = r->k.rows * r->k.a_row;
    if (lines * each == 0) return gp_norm_join_channels(c, r, NULL, 0);
    if (lines * (each / GP_PART + 2) > INT32_MAX)
        return gp_fail("%s: %lld channels of %lld elements are more than one call takes",
                       c->op->name, (long long)lines, (long long)each);
    gp_array o1 = gp_rows_at(out, lines, each), x1 = gp_rows_at(x, lines, each),
             g1 = gp_rows_at(g, lines, each);
    const gp_array *const of[3] = {&o1, &x1, &g1};
    bool wide = x->dtype == GP_f64 || g->dtype == GP_f64,
         same = x->dtype == g->dtype && x->dtype == out->dtype;
    return GP_BY_ROW(same, x->dtype, wide, gp_run_channels, c, gp_loop_of(gp_nest_of<3>(of)),
                     gp_norm_lines_of<3>(of, each), true, (uint32_t)lines, group_join{r});
}
