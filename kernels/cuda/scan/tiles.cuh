/* Running sums, or products, that read each element once and write it once, where elements and
 * results are of one dtype D: tiles of long lines, which add what tiles before them publish;
 * several short lines of a warp; strips of adjacent lines, top to bottom. Sizes alone decide the
 * order in which numbers are added: results do not depend on the card, nor on which block comes
 * first. */
#ifndef GP_CUDA_SCAN_TILES_CUH
#define GP_CUDA_SCAN_TILES_CUH

#include "kernels/cuda/scan/scan.cuh"

template <int D> struct gp_scan_element : gp_memory<D> {};
template <> struct gp_scan_element<GP_i64> { typedef int64_t type; };

/* 16 bytes of elements. */
template <int D> struct gp_cells {
    typedef typename gp_scan_element<D>::type M;
    enum { V = 16 / sizeof(M) };
    typedef gp_vector<M, V> type;
};

template <class S, int D, class M> __device__ static inline typename S::Acc gp_cell_value(M m) {
    return S::of(gp_load_as<typename S::T>(&m, (gp_dtype)D), 0);
}
/* Adds m, element j of a run whose length is a multiple of four, of f64 of two. Scaled products of
 * narrow elements are put right once in four. */
template <class S, int D, class M>
__device__ static inline typename S::Acc gp_add_cell(typename S::Acc sum, M m, int j) {
    if constexpr (S::SCALED && D != GP_f64) {
        sum = S::times(sum, gp_load_as<typename S::T>(&m, (gp_dtype)D));
        return j % 4 == 3 ? S::settled(sum) : sum;
    } else {
        return S::join(sum, gp_cell_value<S, D>(m));
    }
}

/* Elements i to i + V - 1 of a line of n at p; 0 from n on, which nothing is added to. */
template <int D>
__device__ static inline typename gp_cells<D>::type gp_read_cells(const char *p, int64_t i,
                                                                  int64_t n) {
    typedef typename gp_cells<D>::M M;
    typename gp_cells<D>::type raw = {};
    if (i + gp_cells<D>::V <= n) return ((const typename gp_cells<D>::type *)p)[i / gp_cells<D>::V];
#pragma unroll
    for (int j = 0; j < gp_cells<D>::V; j++)
        if (i + j < n) raw.v[j] = ((const M *)p)[i + j];
    return raw;
}

/* Stores these elements, of which those from n on do not exist. */
template <int D>
__device__ static inline void gp_write_cells(char *p, int64_t i, int64_t n,
                                             const typename gp_cells<D>::type &out) {
    if (i + gp_cells<D>::V <= n) {
        ((typename gp_cells<D>::type *)p)[i / gp_cells<D>::V] = out;
        return;
    }
#pragma unroll
    for (int j = 0; j < gp_cells<D>::V; j++)
        if (i + j < n) ((typename gp_cells<D>::M *)p)[i + j] = out.v[j];
}
/* Stores the running sums of elements, from `sum` on. */
template <class S, int D>
__device__ static inline void gp_write_sums(char *p, int64_t i, int64_t n, typename S::Acc sum,
                                            const typename gp_cells<D>::type &raw) {
    typename gp_cells<D>::type out;
#pragma unroll
    for (int j = 0; j < gp_cells<D>::V; j++) {
        sum = gp_add_cell<S, D>(sum, raw.v[j], j);
        gp_store_as<typename S::T>(&out.v[j], (gp_dtype)D, S::value(sum));
    }
    gp_write_cells<D>(p, i, n, out);
}

/* Of N vectors of a warp, lane by lane and then vector by vector: what is before each of this
 * lane's, among PER that follow each other; *all: the sum of the last PER. */
template <class S, int D, int N, int PER>
__device__ static inline void gp_warp_sums(const typename gp_cells<D>::type (&raw)[N],
                                           typename S::Acc (&before)[N], typename S::Acc *all) {
    typedef typename S::Acc Acc;
    int lane = (int)threadIdx.x % GP_WARP;
#pragma unroll
    for (int k = 0; k < N; k++) {
        before[k] = gp_cell_value<S, D>(raw[k].v[0]);
#pragma unroll
        for (int j = 1; j < gp_cells<D>::V; j++)
            before[k] = gp_add_cell<S, D>(before[k], raw[k].v[j], j);
    }
#pragma unroll
    for (int d = 1; d < GP_WARP; d *= 2) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            Acc other = gp_lane_value(before[k], d, true);
            if (lane >= d) before[k] = S::join(other, before[k]);
        }
    }
    Acc sum = S::start();
#pragma unroll
    for (int k = 0; k < N; k++) {
        if (k % PER == 0) sum = S::start();
        Acc whole = gp_lane_value(before[k], GP_WARP - 1, false),
            left = gp_lane_value(before[k], 1, true);
        before[k] = lane ? S::join(sum, left) : sum;
        sum = S::join(sum, whole);
    }
    *all = sum;
}

/* ---- tiles ---- */

/* Tiles of a line publish their sums; the last of 32 tiles publishes theirs, and the last of 1024
 * theirs again: a tile adds at most 31 sums of each kind, and those of all 1024s before. Nothing
 * waits for a running sum, and a block publishes its next tile before it finishes one: what that
 * needs was published about a tile's time ago. */
static const uint32_t GP_FAN = 32;
/* Blocks that a multiprocessor has registers for, by the vectors of a thread and the bytes of an
 * element and of a sum: more elements in a vector have more sums. */
constexpr int gp_tile_blocks(int w, size_t size, size_t sum) {
    return sum > 8 ? 3 : (w > 2 ? 5 : 6) - (size < 4);
}

/* A sum is published as words of 32 bits, each beside a mark that it is there: no fence has to
 * order their stores. */
static const unsigned long long GP_THERE = 1ull << 32;

typedef struct gp_tiles {
    uint32_t per_line, all;
    gp_divider by_line;
    int64_t first[3]; /* numbers of the sums of tiles, 32s and 1024s among `sums` */
    unsigned long long *sums;
    unsigned *ticket; /* tiles that were begun */
} gp_tiles;

template <class A> __device__ static inline void gp_publish(const gp_tiles &t, int64_t i, A v) {
    enum { WORDS = sizeof(A) / 4 };
    uint32_t word[WORDS];
    memcpy(word, &v, sizeof v);
    volatile unsigned long long *to = t.sums + i * WORDS;
#pragma unroll
    for (int k = 0; k < WORDS; k++) to[k] = GP_THERE | word[k];
}

/* The sum of `many` published sums, 32 at most, from number i on. Called by a warp. */
template <class S>
__device__ static inline typename S::Acc gp_collect(const gp_tiles &t, int64_t i, uint32_t many) {
    typedef typename S::Acc Acc;
    enum { WORDS = sizeof(Acc) / 4 };
    uint32_t lane = threadIdx.x % GP_WARP, word[WORDS];
    Acc v = S::start();
    if (lane < many) {
        const volatile unsigned long long *from = t.sums + (i + lane) * WORDS;
        unsigned long long all;
        do {
            all = GP_THERE;
#pragma unroll
            for (int k = 0; k < WORDS; k++) {
                unsigned long long one = from[k];
                all &= one, word[k] = (uint32_t)one;
            }
        } while (!all);
        memcpy(&v, word, sizeof v);
    }
    __syncwarp();
    for (int d = 1; d < GP_WARP; d *= 2) {
        Acc other = gp_lane_value(v, d, true);
        if (lane >= (uint32_t)d) v = S::join(other, v);
    }
    return gp_lane_value(v, GP_WARP - 1, false);
}

/* Where a tile stands: its line, its number there, and the sums that concern it. */
struct gp_tile_position {
    uint32_t line, part, group, many;
    int64_t tiles, groups, manies; /* the first sums of the line */
    __device__ gp_tile_position(const gp_tiles &t, uint32_t tile) {
        uint32_t all = (t.per_line + GP_FAN - 1) / GP_FAN;
        line = gp_quotient(t.by_line, tile), part = tile - line * t.per_line;
        group = part / GP_FAN, many = group / GP_FAN;
        tiles = t.first[0] + (int64_t)line * t.per_line;
        groups = t.first[1] + (int64_t)line * all;
        manies = t.first[2] + (int64_t)line * ((all + GP_FAN - 1) / GP_FAN);
    }
};

/* Publishes the sums of the 32 and the 1024 tiles that end with one whose sum is `own`. Called by
 * the second and the third warp. */
template <class S>
__device__ static inline void gp_publish_tile(const gp_tiles &t, const gp_tile_position &at,
                                              typename S::Acc own) {
    typedef typename S::Acc Acc;
    uint32_t warp = threadIdx.x / GP_WARP;
    bool lead = threadIdx.x % GP_WARP == 0;
    if (at.part % (warp == 1 ? GP_FAN : GP_FAN * GP_FAN) !=
        (warp == 1 ? GP_FAN : GP_FAN * GP_FAN) - 1)
        return;
    Acc near = gp_collect<S>(t, at.tiles + at.group * GP_FAN, GP_FAN - 1);
    near = S::join(near, own);
    if (warp == 1) {
        if (lead) gp_publish(t, at.groups + at.group, near);
        return;
    }
    Acc far = gp_collect<S>(t, at.groups + at.many * GP_FAN, GP_FAN - 1);
    if (lead) gp_publish(t, at.manies + at.many, S::join(far, near));
}

/* Finds what comes before a tile: each of the first three warps one of three sums, in before[].
 * Called by these warps. */
template <class S>
__device__ static inline void gp_look_back(const gp_tiles &t, const gp_tile_position &at,
                                           typename S::Acc *before) {
    uint32_t warp = threadIdx.x / GP_WARP;
    typename S::Acc sum = S::start();
    if (warp == 0) sum = gp_collect<S>(t, at.tiles + at.group * GP_FAN, at.part % GP_FAN);
    else if (warp == 1) sum = gp_collect<S>(t, at.groups + at.many * GP_FAN, at.group % GP_FAN);
    else
        for (uint32_t k = 0; k < at.many; k += GP_FAN)
            sum = S::join(
                sum, gp_collect<S>(t, at.manies + k, at.many - k < GP_FAN ? at.many - k : GP_FAN));
    if (threadIdx.x % GP_WARP == 0) before[warp] = sum;
}

/* W vectors of each lane of a warp in shared memory: as they are in global memory, lane by lane, or
 * all of a lane adjacent. Neighbours of eight are exchanged so that neither way meets in a bank. */
__device__ static inline int gp_swizzled(int j) { return j ^ (j >> 3 & 7); }

/* A block's tile. */
template <class S, int D, int W> struct gp_scan_tile {
    enum { WARPS = GP_THREADS / GP_WARP, V = gp_cells<D>::V, TILE = GP_THREADS * V * W };
    typedef typename gp_cells<D>::type cells;
    typedef typename S::Acc Acc;
    cells kept[GP_THREADS * W];
    Acc left[GP_THREADS]; /* before each lane in its warp */

    /* The first element of this lane's vector k as memory has them. */
    __device__ static inline int64_t at(uint32_t part, int k) {
        int warp = (int)threadIdx.x / GP_WARP, lane = (int)threadIdx.x % GP_WARP;
        return (int64_t)part * TILE + ((warp * W + k) * GP_WARP + lane) * V;
    }
    __device__ static inline void read(const gp_scan_job &s, const gp_tiles &t, uint32_t tile,
                                       cells (&raw)[W]) {
        char *p[3];
        if (tile >= t.all) return;
        gp_tile_position here(t, tile);
        gp_scan_line(s, here.line, p);
#pragma unroll
        for (int k = 0; k < W; k++) raw[k] = gp_read_cells<D>(p[1], at(here.part, k), s.n);
    }
    /* Keeps what was read, and adds it up for each warp. */
    __device__ inline void add(const cells (&raw)[W], Acc (&sums)[WARPS]) {
        int warp = (int)threadIdx.x / GP_WARP, lane = (int)threadIdx.x % GP_WARP;
        cells *mine = kept + warp * (W * GP_WARP);
        Acc sum = S::start();
#pragma unroll
        for (int k = 0; k < W; k++) mine[gp_swizzled(k * GP_WARP + lane)] = raw[k];
        __syncwarp();
#pragma unroll
        for (int k = 0; k < W; k++) {
            cells some = mine[gp_swizzled(lane * W + k)];
#pragma unroll
            for (int j = 0; j < V; j++) sum = gp_add_cell<S, D>(sum, some.v[j], j);
        }
        for (int d = 1; d < GP_WARP; d *= 2) {
            Acc other = gp_lane_value(sum, d, true);
            if (lane >= d) sum = S::join(other, sum);
        }
        if (lane == GP_WARP - 1) sums[warp] = sum;
        Acc other = gp_lane_value(sum, 1, true);
        left[threadIdx.x] = lane ? other : S::start();
    }
    /* Stores the running sums, from `sum` on. */
    __device__ inline void write(const gp_scan_job &s, const gp_tile_position &here, Acc sum,
                                 const Acc (&sums)[WARPS]) {
        int warp = (int)threadIdx.x / GP_WARP, lane = (int)threadIdx.x % GP_WARP;
        cells *mine = kept + warp * (W * GP_WARP);
        char *p[3];
        gp_scan_line(s, here.line, p);
        for (int k = 0; k < warp; k++) sum = S::join(sum, sums[k]);
        sum = S::join(sum, left[threadIdx.x]);
#pragma unroll
        for (int k = 0; k < W; k++) {
            cells some = mine[gp_swizzled(lane * W + k)];
#pragma unroll
            for (int j = 0; j < V; j++) {
                sum = gp_add_cell<S, D>(sum, some.v[j], j);
                gp_store_as<typename S::T>(&some.v[j], (gp_dtype)D, S::value(sum));
            }
            mine[gp_swizzled(lane * W + k)] = some;
        }
        __syncwarp();
#pragma unroll
        for (int k = 0; k < W; k++)
            gp_write_cells<D>(p[0], at(here.part, k), s.n, mine[gp_swizzled(k * GP_WARP + lane)]);
        __syncwarp(); /* the next tile may be kept here */
    }
};

/* Blocks take tiles in their order, so that whatever a tile waits for has been begun. A block has
 * three tiles: it publishes one, for which loads of the next are on their way, and then finishes
 * the one before. Warps run ahead of each other by less than a tile: hence three sets of sums. */
template <class S, int D, int W>
__global__ static void
__launch_bounds__(GP_THREADS, gp_tile_blocks(W, sizeof(typename gp_scan_element<D>::type),
                                             sizeof(typename S::Acc)))
    gp_scan_tiles(gp_scan_job s, gp_tiles t) {
    typedef typename S::Acc Acc;
    typedef gp_scan_tile<S, D, W> tile_of;
    __shared__ tile_of tiles[2];
    __shared__ Acc sums[3][tile_of::WARPS], before[3];
    __shared__ uint32_t next[2];
    const int warp = (int)threadIdx.x / GP_WARP;
    const bool lead = threadIdx.x == 0;
    typename tile_of::cells raw[W];
    uint32_t last = t.all, tile, follows, coming = 0; /* coming: lead's, not yet told */
    int half = 0, now = 0, then = 2; /* of tiles; of sums: this tile's, the last's */
    if (lead) next[1] = atomicAdd(t.ticket, 1u);
    __syncthreads();
    tile = next[1];
    tile_of::read(s, t, tile, raw);
    if (lead) coming = atomicAdd(t.ticket, 1u);
    for (; tile < t.all || last < t.all; last = tile, tile = follows, half ^= 1) {
        Acc own = S::start(), sum = S::start();
        gp_tile_position here(t, tile < t.all ? tile : 0), at(t, last < t.all ? last : 0);
        const bool looks = t.per_line > 1 && warp < 3;
        if (tile < t.all) tiles[half].add(raw, sums[now]);
        if (lead) next[half] = coming;
        __syncthreads();
        follows = next[half];
        if (looks && tile < t.all) {
            for (int k = 0; k < tile_of::WARPS; k++) own = S::join(own, sums[now][k]);
            if (lead) gp_publish(t, here.tiles + here.part, own);
        }
        tile_of::read(s, t, follows, raw);
        if (looks && tile < t.all && warp > 0) gp_publish_tile<S>(t, here, own);
        if (looks && last < t.all) gp_look_back<S>(t, at, before);
        __syncthreads();
        if (lead) coming = atomicAdd(t.ticket, 1u);
        if (last < t.all) {
            if (t.per_line > 1) sum = S::join(before[2], S::join(before[1], before[0]));
            tiles[half ^ 1].write(s, at, sum, sums[then]);
        }
        then = now, now = now == 2 ? 0 : now + 1;
    }
}

template <class S, int D, int W> static bool gp_run_tiles(const gp_call *c, const gp_scan_job &s) {
    enum { TILE = GP_THREADS * gp_cells<D>::V * W };
    auto *kernel = gp_scan_tiles<S, D, W>;
    gp_tiles t = {};
    int64_t lines = s.lines.numel, per = (s.n + TILE - 1) / TILE, sums = 0, size = 1;
    for (int k = 0; k < 3; k++, size *= GP_FAN)
        t.first[k] = sums, sums += lines * ((per + size - 1) / size);
    t.per_line = (uint32_t)per, t.all = (uint32_t)(lines * per);
    t.by_line = gp_divide_by(t.per_line);
    if (per == 1) sums = 0;
    sums *= sizeof(typename S::Acc) / 4;
    size_t bytes = (size_t)sums * sizeof *t.sums;
    t.sums = (unsigned long long *)gp_cuda_scratch(c, bytes + sizeof *t.ticket);
    if (!t.sums) return false;
    t.ticket = (unsigned *)(void *)(t.sums + sums);
    if (!gp_cuda_ok(c, cudaMemsetAsync(t.sums, 0, bytes + sizeof *t.ticket, gp_cuda_stream(c))))
        return false;
    int64_t most = gp_cuda_sms(c) * gp_tile_blocks(W, sizeof(typename gp_scan_element<D>::type),
                                                   sizeof(typename S::Acc));
    return GP_LAUNCH(c, kernel, (uint32_t)(t.all < most ? t.all : most), GP_THREADS, 0, s, t);
}

/* ---- short lines ---- */

/* A warp has LINES lines of PER vectors a lane. */
template <class S, int D, int LINES, int PER>
__global__ static void __launch_bounds__(GP_THREADS) gp_scan_short(gp_scan_job s) {
    enum { N = LINES * PER, V = gp_cells<D>::V };
    uint32_t warp = blockIdx.x * (GP_THREADS / GP_WARP) + threadIdx.x / GP_WARP;
    int lane = (int)threadIdx.x % GP_WARP;
    typename gp_cells<D>::type raw[N];
    typename S::Acc left[N], all;
    char *p[LINES][3];
#pragma unroll
    for (int k = 0; k < LINES; k++) {
        uint32_t line = warp * LINES + k;
        gp_scan_line(s, line < s.lines.numel ? line : 0, p[k]);
    }
#pragma unroll
    for (int k = 0; k < N; k++)
        raw[k] = gp_read_cells<D>(p[k / PER][1], (k % PER * GP_WARP + lane) * V, s.n);
    gp_warp_sums<S, D, N, PER>(raw, left, &all);
#pragma unroll
    for (int k = 0; k < N; k++)
        if (warp * LINES + k / PER < s.lines.numel)
            gp_write_sums<S, D>(p[k / PER][0], (k % PER * GP_WARP + lane) * V, s.n, left[k],
                                raw[k]);
}

template <class S, int D, int LINES, int PER>
static bool gp_run_short(const gp_call *c, const gp_scan_job &s) {
    auto *kernel = gp_scan_short<S, D, LINES, PER>;
    return GP_LAUNCH(c, kernel, gp_blocks(s.lines.numel, LINES * (GP_THREADS / GP_WARP)),
                     GP_THREADS, 0, s);
}

/* ---- strips ---- */

/* Adjacent lines: a block goes down a strip of 32 of them, each warp ROWS rows at a time, and reads
 * the next ones before it stores these. */
template <class S, int D>
__global__ static void __launch_bounds__(GP_THREADS, sizeof(typename S::Acc) > 8 ? 2 : 3)
    gp_scan_strips(gp_scan_job s) {
    typedef typename S::Acc Acc;
    typedef typename gp_cells<D>::M M;
    enum { WARPS = GP_THREADS / GP_WARP, ROWS = sizeof(M) > 4 ? 8 : 16 };
    __shared__ Acc tile_of[2][WARPS][GP_WARP];
    int warp = (int)threadIdx.x / GP_WARP, lane = (int)threadIdx.x % GP_WARP, turn = 0;
    uint32_t line = blockIdx.x * GP_WARP + lane;
    bool live = line < s.lines.numel;
    char *p[3];
    gp_scan_line(s, live ? line : 0, p);
    M raw[ROWS], ahead[ROWS];
    Acc sum = S::start();
    auto load = [&](int64_t at) {
#pragma unroll
        for (int k = 0; k < ROWS; k++)
            ahead[k] = live && at + k < s.n ? *(const M *)(p[1] + (at + k) * s.step[1]) : (M)0;
    };
    load(warp * ROWS);
    for (int64_t at = warp * ROWS; at - warp * ROWS < s.n; at += WARPS * ROWS, turn ^= 1) {
        Acc own = S::start();
#pragma unroll
        for (int k = 0; k < ROWS; k++) raw[k] = ahead[k];
        load(at + WARPS * ROWS);
#pragma unroll
        for (int k = 0; k < ROWS; k++) own = gp_add_cell<S, D>(own, raw[k], k);
        tile_of[turn][warp][lane] = own;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < WARPS; k++) {
            if (k == warp) own = sum;
            sum = S::join(sum, tile_of[turn][k][lane]);
        }
#pragma unroll
        for (int k = 0; k < ROWS; k++) {
            M m;
            own = gp_add_cell<S, D>(own, raw[k], k);
            gp_store_as<typename S::T>(&m, (gp_dtype)D, S::value(own));
            if (live && at + k < s.n) *(M *)(p[0] + (at + k) * s.step[0]) = m;
        }
    }
}

/* ---- the driver ---- */

/* Strips that have enough bytes in flight, and rows of a block; elements from which lines have
 * tiles, and from which those are of the larger kind. */
enum { GP_STRIPS = 128, GP_STRIP_ROWS = 64, GP_SHORT_LINE = 1024, GP_LONG_LINE = 4096 };

/* Whether all lines begin at a vector and their elements are adjacent. */
static inline bool gp_scan_in_vectors(const gp_scan_job &s) {
    int64_t size = gp_dtype_sizes[s.from];
    for (int a = 0; a < 2; a++) {
        if (s.step[a] != size || !gp_aligned(s.lines.data[a], 16)) return false;
        for (int d = 0; d < s.lines.ndim; d++)
            if (s.lines.stride[d][a] % 16) return false;
    }
    return true;
}

template <class S, int D>
static bool gp_scan_cells(const gp_call *c, const gp_scan_job &s, int64_t spacing, bool *ok) {
    enum { ROW = GP_WARP * gp_cells<D>::V };
    int64_t lines = s.lines.numel;
    if (lines >= GP_WARP && spacing && spacing < s.step[1]) {
        auto *strips = gp_scan_strips<S, D>;
        if (lines < GP_STRIPS * GP_WARP || s.n < GP_STRIP_ROWS) return false;
        *ok = GP_LAUNCH(c, strips, gp_blocks(lines, GP_WARP), GP_THREADS, 0, s);
        return true;
    }
    if (!gp_scan_in_vectors(s)) return false;
    *ok = s.n <= ROW                 ? gp_run_short<S, D, 4, 1>(c, s)
          : s.n <= 4 * ROW           ? gp_run_short<S, D, 1, 4>(c, s)
          : s.n <= (int)GP_LONG_LINE ? gp_run_tiles<S, D, 2>(c, s)
                                     : gp_run_tiles<S, D, 4>(c, s);
    return true;
}

/* Runs s where a kernel above serves it, *ok telling how that went; otherwise false. apart: bytes
 * between lines. */
template <class S>
static bool gp_scan_once(const gp_call *c, const gp_scan_job &s, int64_t spacing, bool *ok) {
    if (s.to != s.from) return false;
    if constexpr (std::is_same<typename S::T, int64_t>::value)
        return s.to == GP_i64 && gp_scan_cells<S, GP_i64>(c, s, spacing, ok);
    else switch (s.to) {
        case GP_f32: return gp_scan_cells<S, GP_f32>(c, s, spacing, ok);
        case GP_f64: return gp_scan_cells<S, GP_f64>(c, s, spacing, ok);
        case GP_f16: return gp_scan_cells<S, GP_f16>(c, s, spacing, ok);
        case GP_bf16: return gp_scan_cells<S, GP_bf16>(c, s, spacing, ok);
        default: return false;
        }
}

#endif
