/* Tiles of images in shared memory, shared by direct convolutions and their weight's gradients. */
#ifndef GP_CUDA_CONV_DIRECT_CUH
#define GP_CUDA_CONV_DIRECT_CUH

#include "kernels/cuda/conv/direct.h"
#include "kernels/cuda/runtime/dense.h"
#include "kernels/cuda/runtime/loop.cuh"

extern "C" void
gp_cuda_detail(const char *text); /* kernels/cuda/runtime/device.h: for the record */

/* Channels up to which kernels of our own run: there cuDNN's have to pad them. */
enum { GP_DIRECT_CHANNELS = 32, GP_DIRECT_TAPS = 7 };

typedef gp_vector<float, 4> gp_quad;

/* Planes of rows whose columns are contiguous; steps in elements. */
struct gp_planes {
    float *data;
    int64_t image, channel;
    int32_t row, rows, cols;
    bool quads; /* each row can be read 16 bytes at once */
};

/* The part of a plane that a tile needs: `quads` times four columns from a multiple of four on, of
 * which the first `shift` are not needed. In shared memory a row begins with four floats that take
 * those, so that the columns needed are aligned. */
enum { GP_LEAD = 4 };
struct gp_halo_tile {
    int32_t rows, quads, pitch, shift;
    gp_divider by_quads;
};
/* For `rows` x `cols` outputs with taps rows x cols, of which the first is `left` columns before
 * its output. */
static inline gp_halo_tile gp_halo_tile_of(int rows, int cols, int tap_rows, int tap_cols,
                                           int left) {
    gp_halo_tile w;
    w.rows = rows + tap_rows - 1, w.shift = -left & 3;
    w.quads = (w.shift + cols + tap_cols - 1 + 3) / 4;
    w.pitch = GP_LEAD + 4 * w.quads;
    w.by_quads = gp_divide_by((uint32_t)w.quads);
    return w;
}

/* Four columns of the window: where they are in a plane and go to in shared memory (-1: nowhere),
 * and which of them are in the plane, one bit each. */
struct gp_slot {
    int32_t from, to;
    uint32_t have;
};
/* Slot i of a window that begins at row y, column x of a plane, x being a multiple of four. quads:
 * as in s. */
template <bool quads>
__device__ static inline gp_slot gp_slot_of(const gp_planes &s, const gp_halo_tile &w, int i, int y,
                                            int x) {
    int row = (int)gp_quotient(w.by_quads, (uint32_t)i), col = (i - row * w.quads) * 4;
    gp_slot at = {(y + row) * s.row + x + col, row * w.pitch + GP_LEAD + col - w.shift, 0};
    if (row >= w.rows) at.to = -1;
    else if (y + row >= 0 && y + row < s.rows)
        for (int j = 0; j < (quads ? 1 : 4); j++)
            at.have |= (uint32_t)(x + col + j >= 0 && x + col + j < s.cols) << j;
    return at;
}
/* Zeros outside the plane. */
template <bool quads>
__device__ static inline gp_quad gp_slot_read(const float *plane, const gp_slot &at) {
    gp_quad v = {{0, 0, 0, 0}};
    if constexpr (quads) {
        if (at.have) v = *(const gp_quad *)(plane + at.from);
    } else {
#pragma unroll
        for (int j = 0; j < 4; j++)
            if (at.have >> j & 1) v.v[j] = plane[at.from + j];
    }
    return v;
}
__device__ static inline void gp_slot_write(float *tile, const gp_slot &at, const gp_quad &v) {
#pragma unroll
    for (int j = 0; j < 4; j++) tile[at.to + j] = v.v[j];
}

/* N quads from p on, as floats. */
template <int N> __device__ static inline void gp_read_quads(float (&to)[4 * N], const float *p) {
#pragma unroll
    for (int q = 0; q < N; q++) {
        gp_quad v = *(const gp_quad *)(p + 4 * q);
#pragma unroll
        for (int j = 0; j < 4; j++) to[4 * q + j] = v.v[j];
    }
}

/* ---- plans ---- */

static inline int32_t gp_blocks_of(int64_t n, int64_t size) {
    return (int32_t)((n + size - 1) / size);
}

/* Sizes of kernels compiled for `width` results at once: the smallest of at least n; 0: none. */
static inline int gp_direct_width(int n) {
    static const int widths[] = {1, 2, 3, 4, 5, 6, 8, 10};
    for (int w : widths)
        if (w >= n) return w;
    return 0;
}
/* Kernels are compiled for 1, 3, 5 and 7 columns of taps; those that a weight lacks are zeros. */
static inline int gp_direct_taps(int64_t cols) { return (int)cols | 1; }

static inline bool gp_direct_kind(const gp_conv *k, gp_dtype dt) {
    if (dt != GP_f32 || k->rank != 2 || k->groups != 1) return false;
    if (k->channels > GP_DIRECT_CHANNELS || k->filters > GP_DIRECT_CHANNELS) return false;
    for (int d = 1; d < GP_SPATIAL; d++)
        if (k->stride[d] != 1 || k->dilation[d] != 1 || k->kernel[d] > GP_DIRECT_TAPS ||
            k->in[d] > 1 << 24 || k->out[d] > 1 << 24)
            return false;
    return k->in[1] * k->in[2] < 1 << 30 && k->out[1] * k->out[2] < 1 << 30 && k->images < 1 << 24;
}

/* gp_conv_is_direct for weights of sizes that gp_direct_kind takes: direct_weight.cu. */
bool gp_conv_direct_weight_fits(const gp_conv *k);

/* The planes of a, images of channels of rows. */
static inline gp_planes gp_planes_of(const gp_conv *k, const gp_array *a) {
    int n = a->ndim;
    gp_planes s = {(float *)a->data,
                   k->batched ? a->stride[0] : 0,
                   a->stride[n - 3],
                   (int32_t)a->stride[n - 2],
                   (int32_t)a->dim[n - 2],
                   (int32_t)a->dim[n - 1],
                   false};
    s.quads = gp_cuda_aligned(a->data) && (s.cols | s.row | s.image | s.channel) % 4 == 0;
    return s;
}
/* Whether gp_planes can describe a. */
static inline bool gp_is_planes(const gp_array *a) {
    int n = a->ndim;
    int64_t row = a->stride[n - 2], most = (int64_t)1 << 30; /* offsets in a plane have 32 bits */
    bool near = row >= 0 && row < most && row * a->dim[n - 2] < most;
    return a->dtype == GP_f32 && a->stride[n - 1] == 1 && near;
}
/* a, or a dense copy, in *to. False with a message. */
static inline bool gp_planes_in(const gp_call *c, const gp_conv *k, const gp_array *a,
                                gp_planes *to) {
    gp_array dense;
    if (gp_is_planes(a)) return *to = gp_planes_of(k, a), true;
    if (!gp_cuda_dense(c, a, GP_f32, &dense)) return false;
    return *to = gp_planes_of(k, &dense), true;
}

#endif
