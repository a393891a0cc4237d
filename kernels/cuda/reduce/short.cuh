/* Reductions of dense arrays whose rows are no whole vectors. Short rows: a block copies whole rows
 * into shared memory by vectors, and the threads of a row combine them in the order of
 * gp_reduce_rows. Narrow columns: several rows together are whole vectors, and are one folded row,
 * whose columns a block joins in the end. */
#ifndef GP_CUDA_REDUCE_SHORT_CUH
#define GP_CUDA_REDUCE_SHORT_CUH

/* SHORT: elements of a row, for which 256 threads have four each; STAGE: bytes of rows in a block;
 * NARROW: columns, of which eight rows of 16-bit floats are at most 256 elements. */
enum { GP_REDUCE_SHORT = 1024, GP_REDUCE_STAGE = 16 << 10, GP_REDUCE_NARROW = 32 };

/* Joins the accumulators of groups of a power of two of threads, as gp_join_group does; the first
 * thread of each returns the result. room: of GP_THREADS, for groups of more than a warp. */
template <class R>
__device__ static inline typename R::Acc gp_join_short(typename R::Acc acc, typename R::Acc *shared,
                                                       int group, int lane) {
    typedef typename R::Acc Acc;
    enum { WARP = 32, WORDS = (sizeof(Acc) + 7) / 8 };
    if (group > WARP) {
        __syncthreads();
        shared[threadIdx.x] = acc;
        for (int d = group / 2; d >= WARP; d /= 2) {
            __syncthreads();
            if (lane < d) R::join(shared[threadIdx.x], shared[threadIdx.x + d]);
        }
        acc = shared[threadIdx.x];
    }
    for (int d = (group < WARP ? group : (int)WARP) / 2; d > 0; d /= 2) {
        unsigned long long word[WORDS] = {};
        Acc other;
        memcpy(word, &acc, sizeof acc);
#pragma unroll
        for (int k = 0; k < WORDS; k++) word[k] = __shfl_down_sync(0xffffffffu, word[k], d);
        memcpy(&other, word, sizeof other);
        if (lane < d) R::join(acc, other);
    }
    return acc;
}

/* a.width rows of a block, which begins at a vector. */
template <class R, class L>
__global__ static void __launch_bounds__(GP_THREADS) gp_short_kernel(gp_reduction a) {
    typedef typename R::Acc Acc;
    typedef typename L::Raw Raw;
    enum { MANY = L::MANY, SIZE = sizeof(Raw) / MANY };
    GP_DYNAMIC_SHARED(Raw, stage);
    const int count = (int)a.count, lane = (int)threadIdx.x % a.group;
    const int64_t first = (int64_t)blockIdx.x * a.width;
    const int rows = (int)(a.outputs - first < a.width ? a.outputs - first : a.width);
    const int all = rows * count, whole = all / MANY, stages = (int)(a.width * count) / MANY + 1;
    const char *x = a.x + first * count * SIZE;
#pragma unroll 4
    for (int i = (int)threadIdx.x; i < whole; i += GP_THREADS)
        stage[i] = *(const Raw *)(x + (int64_t)i * sizeof(Raw));
    for (int i = whole * MANY + (int)threadIdx.x; i < all; i += GP_THREADS)
        stage[whole].v[i % MANY] = ((const Raw *)x)[whole].v[i % MANY];
    __syncthreads();
    for (int from = 0; from < rows; from += GP_THREADS / a.group) {
        int row = from + (int)threadIdx.x / a.group;
        const auto with =
            gp_fold_parameter<R>::of(a, row < rows ? x + (int64_t)row * count * SIZE : nullptr);
        Acc acc;
        R::start(acc);
        for (int i = lane; i < count && row < rows; i += a.group) {
            Raw one;
            one.v[0] = stage[(row * count + i) / MANY].v[(row * count + i) % MANY];
            R::fold(acc, L::number(one, 0, a.dtype), with, i);
        }
        acc = gp_join_short<R>(acc, (Acc *)(void *)(stage + stages), a.group, lane);
        if (row < rows && lane == 0) gp_reduced<R>(a, first + row, 0, acc);
    }
}

/* a.width columns of a.count rows, a.fold of which are one of a.pieces folded rows; what is left
 * over is less than one. A block has one part, of `group` threads a folded row. */
template <class R, class L>
__global__ static void __launch_bounds__(GP_THREADS) gp_narrow_kernel(gp_reduction a) {
    typedef typename R::Acc Acc;
    typedef typename L::Raw Raw;
    enum { MANY = L::MANY, UNROLL = MANY > 4 ? 2 : 4, SIZE = sizeof(Raw) / MANY };
    GP_DYNAMIC_SHARED(Acc, shared);
    const int x = (int)threadIdx.x % a.group, y = (int)threadIdx.x / a.group;
    const int rows = GP_THREADS / a.group, width = (int)a.width, across = width * a.fold;
    const int64_t outer = blockIdx.x / a.parts, part = blockIdx.x - outer * a.parts;
    const char *p = a.x + gp_strided_offset(a.kept, outer);
    int64_t i = a.pieces * part / a.parts + y, to = a.pieces * (part + 1) / a.parts;
    Acc acc[MANY];
    if (x * MANY >= across) to = 0;
    decltype(gp_fold_parameter<R>::of(a, p)) with[MANY];
#pragma unroll
    for (int j = 0; j < MANY; j++) {
        R::start(acc[j]);
        with[j] = gp_fold_parameter<R>::of(a, i < to ? p + (x * MANY + j) % width * SIZE : nullptr);
    }
    for (; i < to; i += rows * UNROLL) {
        Raw v[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            if (i + u * rows < to)
                v[u] = L::load(p + ((i + u * rows) * across + x * MANY) * SIZE, a.dtype);
#pragma unroll
        for (int u = 0; u < UNROLL; u++) {
            if (i + u * rows >= to) break;
#pragma unroll
            for (int j = 0; j < MANY; j++)
                R::fold(acc[j], L::number(v[u], j, a.dtype), with[j],
                        (i + u * rows) * a.fold + (x * MANY + j) / width);
        }
    }
#pragma unroll
    for (int j = 0; j < MANY; j++) {
        __syncthreads();
        shared[threadIdx.x] = acc[j];
        gp_join_group<R>(shared, rows, y, a.group);
        if (y == 0) acc[j] = shared[threadIdx.x];
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < MANY; j++)
        if (y == 0) shared[x * MANY + j] = acc[j];
    __syncthreads();
    int col = (int)threadIdx.x;
    if (col >= width) return;
    for (int r = 1; r < a.fold; r++) R::join(shared[col], shared[r * width + col]);
    for (i = a.pieces * a.fold; i < a.count && part == a.parts - 1; i++) {
        Raw one;
        one.v[0] = ((const Raw *)p)[(i * width + col) / MANY].v[(i * width + col) % MANY];
        R::fold(shared[col], L::number(one, 0, a.dtype),
                gp_fold_parameter<R>::of(a, p + col * SIZE), i);
    }
    gp_reduced<R>(a, outer * a.width + col, part, shared[col]);
}

#endif
