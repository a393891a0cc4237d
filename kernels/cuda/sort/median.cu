/* median, nanmedian and mode: one element chosen from each sorted line. Limit: that of sort.cu. */
#include "kernels/cuda/sort/sort.cuh"

typedef enum kind { MEDIAN, NANMEDIAN, MODE } kind;

typedef struct choice {
    gp_sort_lines s;
    const uint32_t *at;
    kind what;
    uint64_t nan; /* the key of NaN, in floats; else one that no element has */
    char *values;
    int64_t *indices; /* or NULL */
} choice;

/* The first position from `lo` on, before `hi`, whose key is at least (or above) key. */
__device__ static uint32_t bound(const choice &c, uint32_t lo, uint32_t hi, uint64_t key,
                                 bool above) {
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        uint64_t k = gp_line_key(c.s, c.at, mid);
        if (above ? k <= key : k < key) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

__device__ static void store(const choice &c, uint32_t line, uint32_t position) {
    int64_t off[1];
    uint32_t e = c.at[position];
    gp_offsets(c.s.x, e, off);
    gp_copy_element(c.values + line * gp_bytes_of(c.s.dt), c.s.x.data[0] + off[0],
                    gp_bytes_of(c.s.dt));
    if (c.indices) c.indices[line] = e % c.s.n + 1;
}

/* The lower one of two; of equal elements the first in x. NaN, which is last, wins or is left
 * out. */
static __global__ void choose_median(choice c, uint32_t lines) {
    uint32_t line = gp_element(), from = line * c.s.n, end = from + c.s.n;
    if (line >= lines) return;
    uint32_t nans = c.nan ? bound(c, from, end, c.nan, false) : end,
             k = from + (nans - from - 1) / 2;
    if (nans < end && (c.what == MEDIAN || nans == from)) k = nans;
    store(c, line, bound(c, from, k, gp_line_key(c.s, c.at, k), false));
}

/* One block per line: the longest run of equal keys, the first of several; NaNs do not equal each
 * other. */
static __global__ void choose_mode(choice c) {
    uint32_t from = blockIdx.x * c.s.n, end = from + c.s.n, best = end, most = 0;
    for (uint32_t i = from + threadIdx.x; i < end; i += blockDim.x) {
        uint64_t key = gp_line_key(c.s, c.at, i);
        bool nan = c.nan && key == c.nan;
        if (i > from && !nan && gp_line_key(c.s, c.at, i - 1) == key) continue;
        uint32_t n = nan ? 1 : bound(c, i, end, key, true) - i;
        if (n > most) most = n, best = i;
    }
    uint32_t longest = gp_group_reduce(most, blockDim.x, gp_max());
    if (most < longest) best = end;
    best = end - gp_group_reduce(end - best, blockDim.x, gp_max());
    if (threadIdx.x == 0)
        store(c, blockIdx.x, bound(c, best, end, gp_line_key(c.s, c.at, best), true) - 1);
}

static __global__ void fill_nan(char *to, gp_dtype dt, int64_t n) {
    int64_t i = (int64_t)blockIdx.x * GP_THREADS + threadIdx.x;
    if (i < n) gp_store_as<float>(to + i * gp_bytes_of(dt), dt, NAN);
}

static uint64_t nan_key(gp_dtype dt) {
    if (!gp_is_float(dt)) return 0;
    return gp_dtype_sizes[dt] == 8 ? UINT64_MAX : gp_dtype_sizes[dt] == 4 ? UINT32_MAX : UINT16_MAX;
}

/* Arguments: x, dim (0-based; -1: all of the temporary, which is contiguous). The outputs are
 * contiguous, too. */
static bool median_of_lines(const gp_call *c, kind what) {
    int d = (int)c->arg[1].i;
    bool whole = d < 0;
    const gp_array *values = gp_out(c, 0);
    gp_array x = whole ? *c->tmpa[0] : *gp_in(c, 0);
    gp_dtype dt = (gp_dtype)x.dtype;
    if (whole) x.ndim = 1, x.dim[0] = x.numel, x.stride[0] = 1, d = 0;
    choice k = {};
    uint32_t *at;
    if (values->numel == 0) return true;
    if (x.numel == 0) /* the median of no elements: floats only */
        return GP_LAUNCH(c, fill_nan, gp_blocks(values->numel), GP_THREADS, 0, values->data, dt,
                         values->numel);
    if (!gp_cuda_sort_lines(c, &x, d, false, &k.s, &at)) return false;
    k.at = at, k.what = what, k.nan = nan_key(dt), k.values = values->data;
    k.indices = whole ? NULL : (int64_t *)gp_out(c, 1)->data;
    uint32_t lines = (uint32_t)values->numel, threads = GP_WARP;
    if (what != MODE) return GP_LAUNCH(c, choose_median, gp_blocks(lines), GP_THREADS, 0, k, lines);
    while (threads < GP_THREADS && threads < k.s.n) threads *= 2;
    return GP_LAUNCH(c, choose_mode, lines, threads, 0, k);
}

GP_C bool CUDA(median)(const gp_call *c) { return median_of_lines(c, MEDIAN); }
GP_C bool CUDA(nanmedian)(const gp_call *c) { return median_of_lines(c, NANMEDIAN); }
GP_C bool CUDA(mode)(const gp_call *c) { return median_of_lines(c, MODE); }
