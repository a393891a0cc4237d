/* layer_norm, rms_norm and group_norm, and their gradients: contiguous rows, read once and held in
 * registers (forward) or kept in shared memory where they fit; few long rows are read twice
 * (backward three times), by many blocks each. Limit: a read and a write of each element forward;
 * backward two reads and a write for x, and two reads for weight and bias. */
#include "kernels/cuda/layout/copy.h"
#include "kernels/cuda/norm/affine.cuh"
#include "kernels/cuda/norm/short_rows.cuh"

typedef gp_norm_rows rows;
enum { HELD = 4 }; /* vectors of a row that a thread holds in registers */

/* The weights of elements i … i + V - 1, `each` adjacent elements sharing one: a vector where
 * weights are stored as x is, two where they are f32 and x has 16 bits, one load where all share
 * one. i is a multiple of V. */
template <class T, int D, int V>
__device__ static void affine(T (&v)[V], const char *p, gp_dtype dt, int64_t i, int64_t each,
                              T absent) {
    int64_t size = gp_bytes_of(dt);
    if (p && D != GP_ANY && dt == D && each == 1 && gp_aligned(p, 16)) {
        gp_fetch<T, D, V>(v, p + i * size, dt);
        return;
    }
    if constexpr (V == 8) {
        if (p && dt == GP_f32 && each == 1 && gp_aligned(p, 16)) {
            T half[2][4];
            gp_fetch<T, GP_f32, 4>(half[0], p + i * 4, dt);
            gp_fetch<T, GP_f32, 4>(half[1], p + i * 4 + 16, dt);
#pragma unroll
            for (int j = 0; j < 8; j++) v[j] = half[j / 4][j % 4];
            return;
        }
    }
    bool one = !p || each % V == 0;
    T first = p && one ? gp_load_as<T>(p + gp_divided(i, each) * size, dt) : absent;
#pragma unroll
    for (int j = 0; j < V; j++)
        v[j] = one ? first : gp_load_as<T>(p + gp_divided(i + j, each) * size, dt);
}

/* A row of a block: what its group computes from the elements. */
template <class T, int D, int V> struct line {
    const rows *r;
    int64_t row, n, apart, first; /* first: the channel of the row's first element */
    int group, lane;
    bool kept;
    const char *x;
    gp_row_cache<T> keep;

    __device__ void load(T (&v)[V], int64_t i, int64_t k) const {
        if (kept)
            for (int j = 0; j < V; j++) v[j] = keep.at(k, V, j);
        else gp_fetch<T, D, V>(v, x + i * gp_bytes_of(r->xt), r->xt);
    }
    /* Mean and 1 / sqrt(variance + eps); keeps the row's elements. */
    __device__ void moments(T *mean, T *scale) const {
        T v[V], s = 0, q = 0;
        gp_each<T, D, V>(x, gp_bytes_of(r->xt), r->xt, n, lane * V, apart,
                         [&](const T(&u)[V], int64_t, int64_t k) {
                             for (int j = 0; j < V; j++) {
                                 s += u[j];
                                 if (kept) keep.at(k, V, j) = u[j];
                             }
                         });
        s = gp_group_reduce(s, group, gp_add());
        *mean = r->k.centred ? s / (T)r->k.n : 0;
        for (int64_t i = lane * V, k = 0; i < n; i += apart, k++) {
            load(v, i, k);
            for (int j = 0; j < V; j++) q += (v[j] - *mean) * (v[j] - *mean);
        }
        q = gp_group_reduce(q, group, gp_add());
        *scale = 1 / sqrt(q / (T)r->k.n + (T)r->k.eps);
    }
};

template <class T, int D, int V>
__device__ static line<T, D, V> line_of(const rows *r, int group, int64_t kept, int copies,
                                        T *cache) {
    line<T, D, V> l;
    int mine = threadIdx.x / group;
    l.r = r;
    l.row = (int64_t)blockIdx.x * (blockDim.x / group) + mine;
    l.n = l.row < r->k.rows ? r->k.n : 0;
    l.apart = (int64_t)group * V;
    l.first = l.row % r->k.groups * r->k.a_row;
    l.group = group, l.lane = threadIdx.x % group, l.kept = kept > 0;
    l.x = r->x + l.row * r->k.n * gp_bytes_of(r->xt);
    l.keep.p = cache + mine * copies * kept, l.keep.group = group, l.keep.lane = l.lane;
    return l;
}

template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_GROUP_MAX) normalise(rows r, int group, int64_t kept) {
    GP_DYNAMIC_SHARED(T, cache);
    line<T, D, V> l = line_of<T, D, V>(&r, group, kept, 1, cache);
    char *out = r.out + l.row * r.k.n * gp_bytes_of(r.ot);
    T mean, scale, v[V], w[V], b[V];
    l.moments(&mean, &scale);
    for (int64_t i = l.lane * V, k = 0; i < l.n; i += l.apart, k++) {
        l.load(v, i, k);
        affine<T, D, V>(w, r.weight, r.wt, l.first * r.k.each + i, r.k.each, 1);
        affine<T, D, V>(b, r.bias, r.bt, l.first * r.k.each + i, r.k.each, 0);
        for (int j = 0; j < V; j++) v[j] = (v[j] - mean) * scale * w[j] + b[j];
        gp_store_vector<T, D, V>(out + i * gp_bytes_of(r.ot), v, r.ot);
    }
}

/* The same of rows whose group holds them in registers. Weights are read for two vectors of four
 * before the first is written. */
template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_GROUP_MAX) normalise_held(rows r, int group) {
    enum { MANY = V > 4 ? 1 : 2 };
    int first = ((int)threadIdx.x & (group - 1)) * V, apart = group * V;
    int64_t row = gp_group_number(group), channel = 0;
    if (r.k.groups > 1) channel = row % r.k.groups * r.k.a_row * r.k.each;
    int n = row < r.k.rows ? (int)r.k.n : 0;
    char *out = r.out + row * r.k.n * gp_bytes_of(r.ot);
    gp_held<T, D, V, HELD> x;
    T s = 0, q = 0;
    x.read(r.x + (n ? row : 0) * r.k.n * gp_bytes_of(r.xt), gp_bytes_of(r.xt), r.xt, n, first,
           apart);
#pragma unroll
    for (int k = 0; k < HELD; k++)
#pragma unroll
        for (int j = 0; j < V; j++)
            if (first + k * apart < n) s += x.at(k, j);
    s = gp_group_reduce(s, group, gp_add());
    T mean = r.k.centred ? s / (T)r.k.n : 0;
#pragma unroll
    for (int k = 0; k < HELD; k++)
#pragma unroll
        for (int j = 0; j < V; j++)
            if (first + k * apart < n) q += (x.at(k, j) - mean) * (x.at(k, j) - mean);
    q = gp_group_reduce(q, group, gp_add());
    T scale = 1 / sqrt(q / (T)r.k.n + (T)r.k.eps);
#pragma unroll
    for (int k = 0; k < HELD; k += MANY) {
        T w[MANY][V], b[MANY][V];
#pragma unroll
        for (int h = 0; h < MANY; h++) {
            int64_t i = first + (k + h) * apart;
            if (i >= n) break;
            affine<T, D, V>(w[h], r.weight, r.wt, channel + i, r.k.each, 1);
            affine<T, D, V>(b[h], r.bias, r.bt, channel + i, r.k.each, 0);
        }
#pragma unroll
        for (int h = 0; h < MANY; h++) {
            int64_t i = first + (k + h) * apart;
            if (i >= n) break;
#pragma unroll
            for (int j = 0; j < V; j++)
                b[h][j] = (x.at(k + h, j) - mean) * scale * w[h][j] + b[h][j];
            gp_store_vector<T, D, V>(out + i * gp_bytes_of(r.ot), b[h], r.ot);
        }
    }
}

/* With h = (x - mean) * scale and v = g * weight: scale * (v - mean of v - h * mean of v h). */
template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_GROUP_MAX) gradient(rows r, int group, int64_t kept) {
    GP_DYNAMIC_SHARED(T, cache);
    line<T, D, V> l = line_of<T, D, V>(&r, group, kept, 2, cache);
    const char *gp = r.g + l.row * r.k.n * gp_bytes_of(r.gt);
    char *out = r.out + l.row * r.k.n * gp_bytes_of(r.ot);
    gp_row_cache<T> keep_g = l.keep;
    keep_g.p += kept;
    T mean, scale, x[V], g[V], w[V], sv = 0, svh = 0;
    l.moments(&mean, &scale);
    if (l.lane == 0 && l.n) r.mean[l.row] = mean, r.scale[l.row] = scale;
    for (int64_t i = l.lane * V, k = 0; i < l.n; i += l.apart, k++) {
        l.load(x, i, k);
        gp_fetch<T, D, V>(g, gp + i * gp_bytes_of(r.gt), r.gt);
        affine<T, D, V>(w, r.weight, r.wt, l.first * r.k.each + i, r.k.each, 1);
        for (int j = 0; j < V; j++) {
            g[j] *= w[j];
            sv += g[j];
            svh += g[j] * (x[j] - mean) * scale;
            if (kept) keep_g.at(k, V, j) = g[j];
        }
    }
    sv = gp_group_reduce(sv, group, gp_add()), svh = gp_group_reduce(svh, group, gp_add());
    sv = r.k.centred ? sv / (T)r.k.n : 0, svh /= (T)r.k.n;
    for (int64_t i = l.lane * V, k = 0; i < l.n; i += l.apart, k++) {
        l.load(x, i, k);
        if (!kept) {
            gp_fetch<T, D, V>(g, gp + i * gp_bytes_of(r.gt), r.gt);
            affine<T, D, V>(w, r.weight, r.wt, l.first * r.k.each + i, r.k.each, 1);
        }
        for (int j = 0; j < V; j++) {
            T v = kept ? keep_g.at(k, V, j) : g[j] * w[j];
            x[j] = scale * (v - sv - (x[j] - mean) * scale * svh);
        }
        gp_store_vector<T, D, V>(out + i * gp_bytes_of(r.ot), x, r.ot);
    }
}

/* ---- short rows, each of whose elements has a weight of its own ---- */

/* Mean and 1 / sqrt(variance + eps) of the row at `at` in room. */
template <class T, int D>
__device__ static void short_moments(const rows &r, const gp_short_block<T, D> &block,
                                     const T *room, int at, T *mean, T *scale) {
    T v[GP_SHORT_EACH], s = 0, q = 0;
    const int many = block.many(at);
#pragma unroll
    for (int k = 0; k < GP_SHORT_EACH; k++) {
        v[k] = k < many ? room[block.place(at, k)] : (T)0;
        s += v[k];
    }
    s = gp_lanes_reduce(s, block.s.lanes, gp_add());
    *mean = r.k.centred ? s / (T)r.k.n : 0;
#pragma unroll
    for (int k = 0; k < GP_SHORT_EACH; k++)
        if (k < many) q += (v[k] - *mean) * (v[k] - *mean);
    q = gp_lanes_reduce(q, block.s.lanes, gp_add());
    *scale = 1 / sqrt(q / (T)r.k.n + (T)r.k.eps);
}
template <class T> __device__ static T weight_at(const char *p, gp_dtype dt, int i, T absent) {
    return p ? gp_load_as<T>(p + i * gp_bytes_of(dt), dt) : absent;
}

template <class T, int D>
static __global__ void __launch_bounds__(GP_THREADS) normalise_short(rows r, gp_short s) {
    GP_DYNAMIC_SHARED(T, room);
    gp_short_block<T, D> block(s);
    block.read(room, r.x);
    __syncthreads();
    block.each_row([&](uint32_t, int at) {
        T mean, scale;
        const int many = block.many(at);
        short_moments(r, block, room, at, &mean, &scale);
#pragma unroll
        for (int k = 0; k < GP_SHORT_EACH; k++) {
            if (k >= many) break;
            int i = block.lane + k * s.lanes, place = block.place(at, k);
            room[place] = (room[place] - mean) * scale * weight_at<T>(r.weight, r.wt, i, 1) +
                          weight_at<T>(r.bias, r.bt, i, 0);
        }
    });
    __syncthreads();
    block.write(room, r.out);
}

template <class T, int D>
static __global__ void __launch_bounds__(GP_THREADS) gradient_short(rows r, gp_short s) {
    GP_DYNAMIC_SHARED(T, room);
    T *room_g = room + gp_short_room(s);
    gp_short_block<T, D> block(s);
    block.read(room, r.x), block.read(room_g, r.g);
    __syncthreads();
    block.each_row([&](uint32_t row, int at) {
        T mean, scale, sv = 0, svh = 0;
        const int many = block.many(at);
        short_moments(r, block, room, at, &mean, &scale);
        if (block.lane == 0 && at < block.all) r.mean[row] = mean, r.scale[row] = scale;
#pragma unroll
        for (int k = 0; k < GP_SHORT_EACH; k++) {
            if (k >= many) break;
            int place = block.place(at, k);
            T v = room_g[place] * weight_at<T>(r.weight, r.wt, block.lane + k * s.lanes, 1);
            sv += v, svh += v * (room[place] - mean) * scale;
            room_g[place] = v;
        }
        sv = gp_lanes_reduce(sv, s.lanes, gp_add()), svh = gp_lanes_reduce(svh, s.lanes, gp_add());
        sv = r.k.centred ? sv / (T)r.k.n : 0, svh /= (T)r.k.n;
#pragma unroll
        for (int k = 0; k < GP_SHORT_EACH; k++) {
            if (k >= many) break;
            int place = block.place(at, k);
            room[place] = scale * (room_g[place] - sv - (room[place] - mean) * scale * svh);
        }
    });
    __syncthreads();
    block.write(room, r.out);
}

/* ---- few long rows ---- */

/* The start of the part in an array of rows. */
__device__ static inline const char *part_of(const char *p, gp_dtype dt, int64_t n,
                                             const gp_part &part) {
    return p + (blockIdx.y * n + part.at) * gp_bytes_of(dt);
}
/* The channel of the part's first element times `each`: where affine counts from. */
__device__ static inline int64_t part_first(const rows &r, const gp_part &part) {
    return blockIdx.y % r.k.groups * r.k.a_row * r.k.each + part.at;
}

template <class T, int D, int V>
static __global__ void moment_parts(rows r, int64_t size, gp_moments<T> *parts) {
    gp_part part(r.k.n, size);
    gp_moments<T> all = {};
    gp_each<T, D, V>(part_of(r.x, r.xt, r.k.n, part), gp_bytes_of(r.xt), r.xt, part.n,
                     threadIdx.x * V, GP_THREADS * V, [&](const T(&x)[V], int64_t, int64_t) {
                         gp_moments<T> some = {(T)V, 0, 0};
                         for (int j = 0; j < V; j++) some.mean += x[j];
                         some.mean = r.k.centred ? some.mean * (T)(1.0 / V) : 0;
                         for (int j = 0; j < V; j++)
                             some.m2 += (x[j] - some.mean) * (x[j] - some.mean);
                         all.join(some);
                     });
    gp_write_part(parts, all);
}

/* Mean and 1 / sqrt(variance + eps) of this block's row. */
template <class T>
__device__ static void row_moments(const rows &r, const gp_moments<T> *parts, T *mean, T *scale) {
    gp_moments<T> all = gp_join_parts(parts, gp_moments<T>{});
    *mean = all.mean;
    *scale = 1 / sqrt(all.m2 / (T)r.k.n + (T)r.k.eps);
}

template <class T, int D, int V>
static __global__ void normalise_parts(rows r, int64_t size, const gp_moments<T> *parts) {
    gp_part part(r.k.n, size);
    char *out = (char *)part_of(r.out, r.ot, r.k.n, part);
    int64_t first = part_first(r, part);
    T mean, scale;
    row_moments(r, parts, &mean, &scale);
    gp_each<T, D, V>(part_of(r.x, r.xt, r.k.n, part), gp_bytes_of(r.xt), r.xt, part.n,
                     threadIdx.x * V, GP_THREADS * V, [&](const T(&x)[V], int64_t i, int64_t) {
                         T w[V], b[V];
                         affine<T, D, V>(w, r.weight, r.wt, first + i, r.k.each, 1);
                         affine<T, D, V>(b, r.bias, r.bt, first + i, r.k.each, 0);
                         for (int j = 0; j < V; j++) b[j] += (x[j] - mean) * scale * w[j];
                         gp_store_vector<T, D, V>(out + i * gp_bytes_of(r.ot), b, r.ot);
                     });
}

/* Calls f(x, v, i) for the part's elements, v = g * weight. */
template <class T, int D, int V, class F>
__device__ static void each_gradient(const rows &r, const gp_part &part, F f) {
    int64_t first = part_first(r, part);
    gp_each_two<T, D, V>(part_of(r.x, r.xt, r.k.n, part), gp_bytes_of(r.xt), r.xt,
                         part_of(r.g, r.gt, r.k.n, part), gp_bytes_of(r.gt), r.gt, part.n,
                         threadIdx.x * V, GP_THREADS * V,
                         [&](const T(&x)[V], const T(&g)[V], int64_t i) {
                             T v[V], w[V];
                             affine<T, D, V>(w, r.weight, r.wt, first + i, r.k.each, 1);
                             for (int j = 0; j < V; j++) v[j] = g[j] * w[j];
                             f(x, v, i);
                         });
}

/* Sums of v and v h, as in gradient. */
template <class T, int D, int V>
static __global__ void gradient_parts(rows r, int64_t size, const gp_moments<T> *moments,
                                      gp_sums<T, 2> *parts) {
    T mean, scale;
    gp_sums<T, 2> sum = {};
    row_moments(r, moments, &mean, &scale);
    if (blockIdx.x == 0 && threadIdx.x == 0) r.mean[blockIdx.y] = mean, r.scale[blockIdx.y] = scale;
    each_gradient<T, D, V>(r, gp_part(r.k.n, size), [&](const T(&x)[V], const T(&v)[V], int64_t) {
        for (int j = 0; j < V; j++) {
            sum.v[0] += v[j];
            sum.v[1] += v[j] * (x[j] - mean) * scale;
        }
    });
    gp_write_part(parts, sum);
}

template <class T, int D, int V>
static __global__ void gradient_by_parts(rows r, int64_t size, const gp_sums<T, 2> *parts) {
    gp_part part(r.k.n, size);
    char *out = (char *)part_of(r.out, r.ot, r.k.n, part);
    gp_sums<T, 2> sum = gp_join_parts(parts, gp_sums<T, 2>{});
    T mean = (T)r.mean[blockIdx.y], scale = (T)r.scale[blockIdx.y],
      sv = r.k.centred ? sum.v[0] / (T)r.k.n : 0, svh = sum.v[1] / (T)r.k.n;
    each_gradient<T, D, V>(r, part, [&](const T(&x)[V], const T(&v)[V], int64_t i) {
        T y[V];
        for (int j = 0; j < V; j++) y[j] = scale * (v[j] - sv - (x[j] - mean) * scale * svh);
        gp_store_vector<T, D, V>(out + i * gp_bytes_of(r.ot), y, r.ot);
    });
}

/* ---- host side ---- */

/* a's elements, contiguous; NULL into *p for an absent one. */
static bool dense(const gp_call *c, const gp_array *a, const char **p, gp_dtype *dt) {
    *p = a ? a->data : NULL, *dt = a ? (gp_dtype)a->dtype : GP_f32;
    if (!a || a->contiguous) return true;
    void *room = gp_cuda_scratch(c, (size_t)(a->numel * gp_dtype_sizes[*dt]));
    gp_array to = gp_dense_over(a, *dt, room);
    *p = to.data;
    return room && gp_cuda_copy_array(c, &to, a);
}

template <class T, int D, int V>
static gp_moments<T> *find_moments(const gp_call *c, const rows *r, dim3 grid, int64_t size) {
    auto kernel = moment_parts<T, D, V>;
    gp_moments<T> *parts =
        (gp_moments<T> *)gp_cuda_scratch(c, (size_t)(grid.x * grid.y) * sizeof *parts);
    return parts && GP_LAUNCH(c, kernel, grid, GP_THREADS, 0, *r, size, parts) ? parts : NULL;
}
template <class T, int D, int V> static bool forward_by_parts(const gp_call *c, const rows *r) {
    int64_t size = gp_part_size(r->k.n, V);
    dim3 grid = gp_part_grid(r->k.n, size, r->k.rows);
    auto kernel = normalise_parts<T, D, V>;
    const gp_moments<T> *moments = find_moments<T, D, V>(c, r, grid, size);
    return moments && GP_LAUNCH(c, kernel, grid, GP_THREADS, 0, *r, size, moments);
}
template <class T, int D, int V> static bool backward_by_parts(const gp_call *c, const rows *r) {
    int64_t size = gp_part_size(r->k.n, V);
    dim3 grid = gp_part_grid(r->k.n, size, r->k.rows);
    auto sum_parts = gradient_parts<T, D, V>;
    auto write_parts = gradient_by_parts<T, D, V>;
    const gp_moments<T> *moments = find_moments<T, D, V>(c, r, grid, size);
    gp_sums<T, 2> *parts =
        (gp_sums<T, 2> *)gp_cuda_scratch(c, (size_t)(grid.x * grid.y) * sizeof *parts);
    return moments && parts &&
           GP_LAUNCH(c, sum_parts, grid, GP_THREADS, 0, *r, size, moments, parts) &&
           GP_LAUNCH(c, write_parts, grid, GP_THREADS, 0, *r, size, parts);
}

/* Whether short rows of dtype dt are as the kernels for them want them. */
static bool is_short(const rows *r, bool plain, gp_dtype dt, size_t bytes) {
    return r->k.each == 1 && r->k.groups == 1 && r->k.rows < INT32_MAX && r->xt == r->ot &&
           gp_short_fits(r->k.n, plain, dt, bytes) && gp_aligned(r->x, 16) &&
           gp_aligned(r->out, 16);
}

template <class T, int D, int V> static bool forward(const gp_call *c, const rows *r) {
    if (gp_few_long(r->k.n, r->k.rows)) return forward_by_parts<T, D, V>(c, r);
    if constexpr (D != GP_ANY)
        if (is_short(r, V > 1, (gp_dtype)D, sizeof(T))) {
            gp_short s = gp_short_of(r->k.n, r->k.rows, sizeof(T));
            auto kernel = normalise_short<T, D>;
            return GP_LAUNCH(c, kernel, gp_blocks(r->k.rows, s.rows), GP_THREADS,
                             gp_short_room(s) * sizeof(T), *r, s);
        }
    gp_group g = gp_group_of(r->k.n, V, 0, sizeof(T));
    if (gp_group_holds(&g, r->k.n, V, HELD)) {
        auto held = normalise_held<T, D, V>;
        return GP_LAUNCH(c, held, gp_group_blocks(&g, r->k.rows), g.threads, 0, *r, g.group);
    }
    g = gp_group_of(r->k.n, V, 1, sizeof(T));
    auto kernel = normalise<T, D, V>;
    return GP_LAUNCH(c, kernel, gp_group_blocks(&g, r->k.rows), g.threads, g.shared, *r, g.group,
                     g.kept);
}

template <class T, int D, int V> static bool backward(const gp_call *c, const rows *r) {
    if (gp_few_long(r->k.n, r->k.rows)) return backward_by_parts<T, D, V>(c, r);
    if constexpr (D != GP_ANY)
        if (is_short(r, V > 1, (gp_dtype)D, 2 * sizeof(T)) && gp_aligned(r->g, 16)) {
            gp_short s = gp_short_of(r->k.n, r->k.rows, 2 * sizeof(T));
            auto kernel = gradient_short<T, D>;
            return GP_LAUNCH(c, kernel, gp_blocks(r->k.rows, s.rows), GP_THREADS,
                             2 * gp_short_room(s) * sizeof(T), *r, s);
        }
    gp_group g = gp_group_of(r->k.n, V, 2, sizeof(T));
    auto kernel = gradient<T, D, V>;
    return GP_LAUNCH(c, kernel, gp_group_blocks(&g, r->k.rows), g.threads, g.shared, *r, g.group,
                     g.kept);
}

static bool norm(const gp_call *c) {
    const gp_array *x = gp_values(c, 0, 0), *out = gp_out(c, 0);
    if (out->numel == 0) return true;
    rows r = {};
    gp_norm_read(c, x, 0, &r.k);
    r.x = x->data, r.out = out->data, r.xt = (gp_dtype)x->dtype, r.ot = (gp_dtype)out->dtype;
    if (!dense(c, gp_in(c, 2), &r.weight, &r.wt) ||
        !dense(c, r.k.centred ? gp_in(c, 3) : NULL, &r.bias, &r.bt))
        return false;
    bool same = r.xt == r.ot,
         plain = same && gp_row_plain(r.x, r.k.n, r.xt) && gp_row_plain(r.out, r.k.n, r.ot);
    return GP_BY_ROW(plain, same, r.xt, r.xt == GP_f64, forward, c, &r);
}

GP_C bool CUDA(layer_norm)(const gp_call *c) { return norm(c); }
GP_C bool CUDA(rms_norm)(const gp_call *c) { return norm(c); }
GP_C bool CUDA(group_norm)(const gp_call *c) { return norm(c); }

/* Arguments: g, x, the forward's second argument, weight, eps. */
static bool norm_gradient(const gp_call *c) {
    const gp_array *x = gp_values(c, 1, 0), *g = c->ntmp > 1 ? c->tmpa[1] : gp_in(c, 0),
                   *out = gp_out(c, 0);
    rows r = {};
    gp_norm_read(c, x, 1, &r.k);
    r.x = x->data, r.g = g->data, r.out = out->data;
    r.xt = (gp_dtype)x->dtype, r.gt = (gp_dtype)g->dtype, r.ot = (gp_dtype)out->dtype;
    bool wide = r.xt == GP_f64 || r.gt == GP_f64;
    if (!dense(c, gp_in(c, 3), &r.weight, &r.wt)) return false;
    if (gp_norm_by_channels(&r.k)) return gp_norm_gradients_by_channels(c, &r, wide);
    r.mean = (double *)gp_cuda_scratch(c, (size_t)(2 * r.k.rows + 1) * sizeof *r.mean);
    if (!r.mean) return false;
    r.scale = r.mean + r.k.rows;
    bool same = r.xt == r.gt && r.xt == r.ot, plain = same && gp_row_plain(r.x, r.k.n, r.xt) &&
                                                      gp_row_plain(r.g, r.k.n, r.gt) &&
                                                      gp_row_plain(r.out, r.k.n, r.ot);
    return (out->numel == 0 || GP_BY_ROW(plain, same, r.xt, wide, backward, c, &r)) &&
           gp_norm_affine_gradients(c, &r, wide);
}

GP_C bool CUDA(layer_norm_grad)(const gp_call *c) { return norm_gradient(c); }
GP_C bool CUDA(rms_norm_grad)(const gp_call *c) { return norm_gradient(c); }
GP_C bool CUDA(group_norm_grad)(const gp_call *c) { return norm_gradient(c); }
