/* Short contiguous rows: a block copies a range of whole rows, which begins at a multiple of 16
 * bytes wherever its rows do, into shared memory and back by vectors. In between few lanes of a
 * warp have a row: about its elements divided by GP_SHORT_EACH. */
#ifndef GP_CUDA_SHORT_ROWS_CUH
#define GP_CUDA_SHORT_ROWS_CUH

#include "kernels/cuda/runtime/rows.cuh"

/* Elements of a row that a lane has, at most. */
enum { GP_SHORT_EACH = 16 };

/* How rows of n are divided: lanes a row, which many threads have at once, and rows a block. */
typedef struct gp_short {
    int n, lanes, shift, rows; /* shift: lanes is 1 << shift */
    uint32_t all;              /* rows in all */
} gp_short;

/* Elements of a lane where `bytes` of shared memory are kept for each. */
static inline int gp_short_each(size_t bytes) { return bytes > 8 ? 8 : (int)GP_SHORT_EACH; }

static inline gp_short gp_short_of(int64_t n, int64_t all, size_t bytes) {
    gp_short s = {(int)n, 1, 0, 0, (uint32_t)all};
    int each = gp_short_each(bytes), more;
    while (s.lanes * each < n) s.lanes *= 2, s.shift++;
    s.rows = GP_THREADS / s.lanes;
    more = GP_THREADS * each / (s.rows * s.n);
    /* A multiple of GP_THREADS / lanes, and so of 8: it begins at a multiple of 16 bytes. */
    s.rows *= more > 1 ? more : 1;
    return s;
}
/* The place of element i of a block: after 32 of them one is left out, so that lanes whose elements
 * are a power of two apart meet in no bank. */
__host__ __device__ static inline int gp_short_at(int i) { return i + i / GP_WARP; }
/* Elements of shared memory for a block. */
__host__ __device__ static inline size_t gp_short_room(const gp_short &s) {
    return (size_t)gp_short_at(s.rows * s.n) + 1;
}
/* Whether rows of n elements of dtype dt have too few vectors for the lanes of a warp, or none. */
static inline bool gp_short_fits(int64_t n, bool plain, gp_dtype dt, size_t bytes) {
    int64_t most = plain ? GP_WARP * 16 / gp_dtype_sizes[dt] - 1 : GP_WARP * gp_short_each(bytes);
    return n > 0 && n <= most && n <= GP_WARP * gp_short_each(bytes);
}

/* The rows of this block, of dtype D, computed in T. */
template <class T, int D> struct gp_short_block {
    typedef typename gp_memory<D>::type M;
    enum { V = 16 / sizeof(M), VECTORS = GP_SHORT_EACH / V };
    const gp_short &s;
    int64_t first; /* element of the array that the block begins with */
    int all, lane; /* elements of the block; this thread's lane in its row */

    __device__ gp_short_block(const gp_short &of) : s(of) {
        uint32_t row = blockIdx.x * (uint32_t)of.rows, left = of.all - row;
        first = (int64_t)row * of.n;
        all = (left < (uint32_t)of.rows ? (int)left : of.rows) * of.n;
        lane = (int)threadIdx.x & (of.lanes - 1);
    }
    /* Copies the block's elements of x to room, and room's to out. The last few of an array, which
     * fill no vector, go one by one. */
    __device__ void read(T *room, const char *x) const {
        const M *p = (const M *)x + first;
        gp_vector<M, V> raw[VECTORS];
#pragma unroll
        for (int k = 0; k < VECTORS; k++) {
            int i = (k * GP_THREADS + (int)threadIdx.x) * V;
            if (i + V <= all) raw[k] = *(const gp_vector<M, V> *)(p + i);
        }
#pragma unroll
        for (int k = 0; k < VECTORS; k++) {
            int i = (k * GP_THREADS + (int)threadIdx.x) * V;
            T *to = room + gp_short_at(i); /* vectors do not reach over a place left out */
            if (i + V > all) break;
#pragma unroll
            for (int j = 0; j < V; j++) to[j] = gp_load_as<T>(&raw[k].v[j], (gp_dtype)D);
        }
        int rest = all / V * V + (int)threadIdx.x;
        if (rest < all) room[gp_short_at(rest)] = gp_load_as<T>(p + rest, (gp_dtype)D);
    }
    __device__ void write(const T *room, char *out) const {
        M *p = (M *)out + first;
#pragma unroll
        for (int k = 0; k < VECTORS; k++) {
            int i = (k * GP_THREADS + (int)threadIdx.x) * V;
            if (i + V > all) break;
            gp_vector<M, V> raw;
            const T *from = room + gp_short_at(i);
#pragma unroll
            for (int j = 0; j < V; j++) gp_store_as<T>(&raw.v[j], (gp_dtype)D, from[j]);
            *(gp_vector<M, V> *)(p + i) = raw;
        }
        int rest = all / V * V + (int)threadIdx.x;
        if (rest < all) gp_store_as<T>(p + rest, (gp_dtype)D, room[gp_short_at(rest)]);
    }
    /* Calls f(row, at) for each of the block's rows that this thread has a lane of, by whole
     * warps: the row's number in the array, and where its elements begin in the block. f must not
     * touch elements from `all` on. */
    template <class F> __device__ void each_row(F f) const {
        uint32_t from = blockIdx.x * (uint32_t)s.rows;
        for (int r = (int)threadIdx.x / s.lanes; r < s.rows; r += GP_THREADS / s.lanes)
            f(from + (uint32_t)r, r * s.n);
    }
    /* How many elements of a row that begins at `at` this lane has, and the k-th one's place. */
    __device__ int many(int at) const {
        return at < all && lane < s.n ? (s.n - lane + s.lanes - 1) >> s.shift : 0;
    }
    __device__ int place(int at, int k) const { return gp_short_at(at + lane + (k << s.shift)); }
};

#endif
