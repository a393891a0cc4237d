/* Gradients of group_norm where channels have many adjacent elements: x and g are read twice, and
 * the gradient is written. Sums of parts of each channel give a row's mean, variance and sums, and
 * the gradients of weight and bias; then every element's gradient is computed. */
#include "kernels/cuda/norm/affine.cuh"

typedef gp_norm_rows rows;

/* Vectors of x, and of g, that a thread holds: more of single elements. */
template <class T, int D, int V>
constexpr int held = V > 1 || D == GP_ANY || sizeof(T) > 4 ? 4 : 16;

/* How channels of rows are divided into parts, which have a block each. */
typedef struct division {
    int64_t size; /* elements of a part */
    uint32_t parts;
} division;

/* Of a part: its elements' number, mean and squared distances from it; the sum of g, and of g times
 * the distance. */
template <class T> struct part_sums {
    gp_moments<T> x;
    T g, gd;
};

/* What the gradients of a row's elements need: scale * (g * weight - v - (x - mean) * vh). */
typedef struct row_numbers {
    double mean, scale, v, vh;
} row_numbers;

/* This block's part of x and g, part `which` of all rows' channels: held in registers. */
template <class T, int D, int V> struct held_part {
    enum { HELD = held<T, D, V> };
    int64_t channel, at; /* the number of its channel among those of all rows; its first element */
    int n, first;
    gp_held<T, D, V, HELD> x, g;

    __device__ held_part(const rows &r, const division &d, uint32_t which) {
        channel = which / d.parts, first = (int)threadIdx.x * V;
        gp_part part(r.k.each, d.size, which % d.parts);
        at = channel * r.k.each + part.at, n = (int)part.n;
        int64_t xs = gp_bytes_of(r.xt), gs = gp_bytes_of(r.gt);
        x.read(r.x + at * xs, xs, r.xt, n, first, GP_THREADS * V);
        g.read(r.g + at * gs, gs, r.gt, n, first, GP_THREADS * V);
    }
    /* Calls f(k) for this thread's vectors. */
    template <class F> __device__ void each(F f) const {
#pragma unroll
        for (int k = 0; k < HELD; k++)
            if (first + k * GP_THREADS * V < n) f(k);
    }
};

template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_THREADS)
    sum_parts(rows r, division d, part_sums<T> *to) {
    held_part<T, D, V> p(r, d, blockIdx.x);
    T sx = 0, sg = 0, m2 = 0, gd = 0;
    p.each([&](int k) {
#pragma unroll
        for (int j = 0; j < V; j++) sx += p.x.at(k, j), sg += p.g.at(k, j);
    });
    T mean = gp_group_reduce(sx, GP_THREADS, gp_add()) / (T)p.n;
    p.each([&](int k) {
#pragma unroll
        for (int j = 0; j < V; j++) {
            T distance = p.x.at(k, j) - mean;
            m2 += distance * distance, gd += p.g.at(k, j) * distance;
        }
    });
    m2 = gp_group_reduce(m2, GP_THREADS, gp_add());
    sg = gp_group_reduce(sg, GP_THREADS, gp_add());
    gd = gp_group_reduce(gd, GP_THREADS, gp_add());
    if (threadIdx.x == 0) to[blockIdx.x] = part_sums<T>{{(T)p.n, mean, m2}, sg, gd};
}

template <class T> __device__ static T weight_of(const rows &r, int64_t channel) {
    return r.weight ? gp_load_as<T>(r.weight + channel * gp_bytes_of(r.wt), r.wt) : 1;
}

/* A block for each row, from the sums of its parts: its numbers, and what each part adds to the
 * gradients of weight and bias, a chunk of gp_norm_join_channels. */
template <class T>
static __global__ void __launch_bounds__(GP_THREADS)
    join_rows(rows r, uint32_t parts, const part_sums<T> *from, row_numbers *to, double *chunks) {
    int64_t row = blockIdx.x, many = r.k.a_row * parts, first = row % r.k.groups * r.k.a_row;
    gp_moments<double> x = {};
    from += row * many;
    for (int64_t i = threadIdx.x; i < many; i += GP_THREADS)
        x.join(gp_moments<double>{from[i].x.n, from[i].x.mean, from[i].x.m2});
    x = gp_join_block(x);
    double scale = 1 / sqrt(x.m2 / (double)r.k.n + r.k.eps);
    gp_sums<double, 2> v = {};
    for (int64_t i = threadIdx.x; i < many; i += GP_THREADS) {
        int64_t channel = first + i / parts, chunk = row / r.k.groups * parts + i % parts;
        double g = from[i].g, gh = (from[i].gd + g * (from[i].x.mean - x.mean)) * scale,
               w = weight_of<double>(r, channel);
        v.v[0] += w * g, v.v[1] += w * gh;
        chunks[2 * chunk * r.k.channels + channel] = gh;
        chunks[(2 * chunk + 1) * r.k.channels + channel] = g;
    }
    v = gp_join_block(v);
    double n = (double)r.k.n;
    if (threadIdx.x == 0) to[row] = row_numbers{x.mean, scale, v.v[0] / n, v.v[1] / n * scale};
}

/* Parts that were read last come first: they are still in the L2 cache. */
template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_THREADS)
    write_parts(rows r, division d, const row_numbers *numbers) {
    held_part<T, D, V> p(r, d, gridDim.x - 1 - blockIdx.x);
    int64_t row = p.channel / r.k.a_row;
    row_numbers of = numbers[row];
    T w = weight_of<T>(r, row % r.k.groups * r.k.a_row + p.channel % r.k.a_row), mean = (T)of.mean,
      scale = (T)of.scale, v = (T)of.v, vh = (T)of.vh;
    char *out = r.out + p.at * gp_bytes_of(r.ot);
    p.each([&](int k) {
        T y[V];
#pragma unroll
        for (int j = 0; j < V; j++)
            y[j] = scale * (p.g.at(k, j) * w - v - (p.x.at(k, j) - mean) * vh);
        gp_store_vector<T, D, V>(out + (p.first + k * GP_THREADS * V) * gp_bytes_of(r.ot), y, r.ot);
    });
}

/* ---- host side ---- */

template <class T, int D, int V> static bool gradients(const gp_call *c, const rows *r) {
    int64_t most = (int64_t)GP_THREADS * V * held<T, D, V>, parts = (r->k.each + most - 1) / most,
            size = ((r->k.each + parts - 1) / parts + V - 1) / V * V,
            channels = r->k.rows * r->k.a_row, chunks = r->k.rows / r->k.groups * parts;
    division d = {size, (uint32_t)parts};
    uint32_t blocks = (uint32_t)(channels * parts);
    auto sum = sum_parts<T, D, V>;
    auto join = join_rows<T>;
    auto write = write_parts<T, D, V>;
    part_sums<T> *sums = (part_sums<T> *)gp_cuda_scratch(c, blocks * sizeof *sums);
    row_numbers *numbers = (row_numbers *)gp_cuda_scratch(c, (size_t)r->k.rows * sizeof *numbers);
    double *part =
        (double *)gp_cuda_scratch(c, (size_t)(2 * chunks * r->k.channels) * sizeof *part);
    return sums && numbers && part && GP_LAUNCH(c, sum, blocks, GP_THREADS, 0, *r, d, sums) &&
           GP_LAUNCH(c, join, (uint32_t)r->k.rows, GP_THREADS, 0, *r, d.parts, sums, numbers,
                     part) &&
           GP_LAUNCH(c, write, blocks, GP_THREADS, 0, *r, d, numbers) &&
           gp_norm_join_channels(c, r, part, chunks);
}

bool gp_norm_by_channels(const gp_norm *k) {
    enum { LEAST = 4 * GP_THREADS };
    return k->centred && k->each >= LEAST && k->rows * k->a_row * (k->each / LEAST + 1) < INT32_MAX;
}

bool gp_norm_gradients_by_channels(const gp_call *c, const rows *r, bool wide) {
    bool same = r->xt == r->gt && r->xt == r->ot,
         plain = same && gp_row_plain(r->x, r->k.each, r->xt) &&
                 gp_row_plain(r->g, r->k.each, r->gt) && gp_row_plain(r->out, r->k.each, r->ot);
    return GP_BY_ROW(plain, same, r->xt, wide, gradients, c, r);
}
