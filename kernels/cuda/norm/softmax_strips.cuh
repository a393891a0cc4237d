/* softmax down the columns of large arrays, in two steps: tiles of a strip of columns are summed,
 * and, some tiles later, read again for their results, from the L2 cache where they are still
 * there. Sizes alone decide what is summed together: bits do not depend on the card. */
#ifndef GP_CUDA_SOFTMAX_STRIPS_CUH
#define GP_CUDA_SOFTMAX_STRIPS_CUH

#include "kernels/cuda/norm/parts.cuh"

/* A strip is a warp's vectors wide; a tile of it has GP_STRIP_ROWS rows for each of the block's
 * warps. Strips pay where there are more bytes than a cache holds, of columns of several tiles. */
enum {
    GP_STRIP_WARPS = GP_THREADS / GP_WARP,
    GP_STRIP_ROWS = 16,
    GP_STRIP_TILE = GP_STRIP_WARPS * GP_STRIP_ROWS,
    GP_STRIP_LONG = 8 * GP_STRIP_TILE,
    GP_STRIP_MOST = 256 * GP_STRIP_TILE, /* of longer columns a strip takes too much of the cache */
    GP_STRIP_BYTES = 32 << 20,
    GP_STRIP_LAG = 512, /* tiles between the steps, at least; a card runs that many at once */
    GP_STRIP_JOIN = 256 /* tiles begun before a strip's sums, which its last tile joins, are used */
};

typedef struct gp_strips {
    int64_t n, xs, os;   /* elements of a column; bytes between them in x and out */
    uint32_t tiles, all; /* of a strip; of all strips */
    uint32_t lag;        /* tiles by which the second step follows the first */
    unsigned *ticket;    /* tiles begun, twice: in either step */
    unsigned *summed;    /* of each strip, its tiles that are summed */
    unsigned *joined;    /* of each strip: its sums are there */
    char *parts, *sums;  /* of the columns of each tile, and of each strip: gp_strip_pair */
    bool logs;
} gp_strips;

/* As gp_exp_sum; written by one block and read by others, past caches that are not coherent. */
template <class T> struct gp_strip_pair { typedef float2 type; };
template <> struct gp_strip_pair<double> { typedef double2 type; };

/* Bits of a vector that is read for the last time, or not soon: the cache need not keep them. */
template <int BYTES> struct gp_strip_word { typedef unsigned short type; };
template <> struct gp_strip_word<4> { typedef unsigned type; };
template <> struct gp_strip_word<8> { typedef uint2 type; };

/* This thread's vectors of a tile. */
template <class T, int D, int V> struct gp_strip_rows {
    typedef gp_vector<typename gp_memory<D>::type, V> vector;
    typedef typename gp_strip_word<sizeof(vector)>::type word;
    int64_t off[2], first; /* of the columns in out and x; this thread's first row */
    int rows;              /* that the tile has from there on */
    vector raw[GP_STRIP_ROWS];

    __device__ gp_strip_rows(const gp_loop<2> &l, int64_t n, uint32_t strip, uint32_t tile) {
        int64_t column = ((int64_t)strip * GP_WARP + threadIdx.x % GP_WARP) * V;
        bool live = column < l.numel;
        gp_offsets(l, live ? (uint32_t)column : 0, off);
        first = (int64_t)tile * GP_STRIP_TILE + threadIdx.x / GP_WARP;
        int64_t left = live ? n - first : 0;
        rows = left < GP_STRIP_TILE ? (int)left : (int)GP_STRIP_TILE;
    }
    __device__ bool has(int k) const { return k * GP_STRIP_WARPS < rows; }
    __device__ T at(int k, int j) const { return gp_load_as<T>(&raw[k].v[j], (gp_dtype)D); }
    template <bool LAST> __device__ void read(const char *p, int64_t step) {
        p += off[1] + first * step;
#pragma unroll
        for (int k = 0; k < GP_STRIP_ROWS; k++, p += GP_STRIP_WARPS * step) {
            if (!has(k)) break;
            if constexpr (LAST) {
                word w = __ldcs((const word *)p);
                memcpy(&raw[k], &w, sizeof w);
            } else {
                raw[k] = *(const vector *)p;
            }
        }
    }
};

/* The first step of a tile: the sums of its columns into s.parts. */
template <class T, int D, int V>
__device__ static inline void gp_strip_sum(const gp_loop<2> &l, const gp_strips &s, uint32_t strip,
                                           uint32_t tile, T (&room)[GP_STRIP_WARPS][V][GP_WARP]) {
    int lane = threadIdx.x % GP_WARP, warp = threadIdx.x / GP_WARP;
    gp_strip_rows<T, D, V> t(l, s.n, strip, tile);
    T most[V], sum[V];
    t.template read<false>(l.data[1], s.xs);
#pragma unroll
    for (int j = 0; j < V; j++) {
        most[j] = -(T)INFINITY, sum[j] = 0;
#pragma unroll
        for (int k = 0; k < GP_STRIP_ROWS; k++)
            if (t.has(k)) most[j] = t.at(k, j) > most[j] ? t.at(k, j) : most[j];
        room[warp][j][lane] = most[j];
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < V; j++) {
        for (int w = 0; w < GP_STRIP_WARPS; w++)
            most[j] = room[w][j][lane] > most[j] ? room[w][j][lane] : most[j];
        T base = most[j] == -(T)INFINITY ? 0 : most[j];
#pragma unroll
        for (int k = 0; k < GP_STRIP_ROWS; k++)
            if (t.has(k)) sum[j] += exp(t.at(k, j) - base);
    }
    __syncthreads(); /* the largest have been read */
#pragma unroll
    for (int j = 0; j < V; j++) room[warp][j][lane] = sum[j];
    __syncthreads();
    if (warp) return;
    typedef typename gp_strip_pair<T>::type pair;
    pair *to = (pair *)s.parts + ((int64_t)strip * s.tiles + tile) * (V * GP_WARP) + lane;
#pragma unroll
    for (int j = 0; j < V; j++) {
        for (int w = 1; w < GP_STRIP_WARPS; w++) sum[j] += room[w][j][lane];
        pair p = {most[j], sum[j]};
        to[j * GP_WARP] = p;
    }
    __threadfence();
}

/* Joins the sums of a strip's tiles, all of which are there, into s.sums. */
template <class T, int V>
__device__ static inline void gp_strip_join(const gp_strips &s, uint32_t strip,
                                            T (&room)[GP_STRIP_WARPS][V][GP_WARP]) {
    enum { COLUMNS = V * GP_WARP, EACH = GP_THREADS / COLUMNS }; /* EACH: threads of a column */
    typedef typename gp_strip_pair<T>::type pair;
    uint32_t column = threadIdx.x % COLUMNS, first = threadIdx.x / COLUMNS;
    const pair *from = (const pair *)s.parts + (int64_t)strip * s.tiles * COLUMNS + column;
    T(&own)[EACH][COLUMNS] = (T(&)[EACH][COLUMNS])room, most = -(T)INFINITY, sum = 0;
#pragma unroll 8
    for (uint32_t k = first; k < s.tiles; k += EACH) {
        T m = __ldcg(from + (int64_t)k * COLUMNS).x;
        most = m > most ? m : most;
    }
    own[first][column] = most;
    __syncthreads();
    for (int k = 0; k < EACH; k++) most = own[k][column] > most ? own[k][column] : most;
    T base = most == -(T)INFINITY ? 0 : most;
    __syncthreads();
#pragma unroll 8
    for (uint32_t k = first; k < s.tiles; k += EACH) {
        pair p = __ldcg(from + (int64_t)k * COLUMNS);
        sum += p.y * exp(p.x - base);
    }
    own[first][column] = sum;
    __syncthreads();
    if (first) return;
    for (int k = 1; k < EACH; k++) sum += own[k][column];
    ((pair *)s.sums)[(int64_t)strip * COLUMNS + column] = pair{most, sum};
    __threadfence();
}

/* The second step: a tile's results. */
template <class T, int D, int V>
__device__ static inline void gp_strip_write(const gp_loop<2> &l, const gp_strips &s,
                                             uint32_t strip, uint32_t tile) {
    typedef gp_strip_rows<T, D, V> tile_rows;
    typedef typename gp_strip_pair<T>::type pair;
    tile_rows t(l, s.n, strip, tile);
    t.template read<true>(l.data[1], s.xs);
    if (threadIdx.x == 0) {
        while (!((volatile unsigned *)s.joined)[strip]) {
        }
        __threadfence();
    }
    __syncthreads();
    T m[V], scale[V];
    const pair *sums = (const pair *)s.sums + (int64_t)strip * (V * GP_WARP);
#pragma unroll
    for (int j = 0; j < V; j++) {
        pair p = __ldcg(sums + j * GP_WARP + threadIdx.x % GP_WARP);
        m[j] = p.x, scale[j] = s.logs ? log(p.y) : 1 / p.y;
    }
    char *out = l.data[0] + t.off[0] + t.first * s.os;
#pragma unroll
    for (int k = 0; k < GP_STRIP_ROWS; k++, out += GP_STRIP_WARPS * s.os) {
        typename tile_rows::vector y;
        typename tile_rows::word w;
        if (!t.has(k)) break;
#pragma unroll
        for (int j = 0; j < V; j++) {
            T x = t.at(k, j) - m[j];
            gp_store_as<T>(&y.v[j], (gp_dtype)D, s.logs ? x - scale[j] : exp(x) * scale[j]);
        }
        memcpy(&w, &y, sizeof w);
        __stcs((typename tile_rows::word *)out, w);
    }
}

/* Blocks take tiles in one order, of the first step and the second in turn: whatever a tile waits
 * for has been begun. */
template <class T, int D, int V>
static __global__ void __launch_bounds__(GP_THREADS, 4)
    gp_softmax_strips(gp_loop<2> l, gp_strips s) {
    __shared__ T room[GP_STRIP_WARPS][V][GP_WARP];
    __shared__ unsigned next, last;
    if (threadIdx.x == 0) next = atomicAdd(s.ticket, 1u);
    __syncthreads();
    uint32_t at = next / 2;
    if (next % 2) {
        if (at >= s.lag && at - s.lag < s.all)
            gp_strip_write<T, D, V>(l, s, (at - s.lag) / s.tiles, (at - s.lag) % s.tiles);
        return;
    }
    uint32_t strip = at / s.tiles;
    if (at >= s.all) return;
    gp_strip_sum<T, D, V>(l, s, strip, at - strip * s.tiles, room);
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(s.summed + strip, 1u) == s.tiles - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    gp_strip_join<T, V>(s, strip, room);
    __syncthreads();
    if (threadIdx.x == 0) ((volatile unsigned *)s.joined)[strip] = 1;
}

#endif
