/* Axes and packed bands of images, shared by the kernels of convolutions and their gradients: in a
 * band every tap of the kernel is a shift by a constant. */
#ifndef GP_CPU_CONV_H
#define GP_CPU_CONV_H

#include "kernels/cpu/runtime/kernel.h"
#include "kernels/cpu/runtime/widen.h"
#include "tensor/ops/conv/conv.h"

/* One spatial dim of a correlation: output j, at position first + j step, is the sum over taps t of
 * input j stride + base + gp_axis_offset(t) (0 outside the image) times the kernel's element tap +
 * t tap_step. */
typedef struct gp_axis {
    int64_t n, first, step;
    int64_t in, stride, base;
    int64_t taps, tap, tap_step, offset, offset_step;
    int64_t phases; /* remainders of the offsets by stride: tap t has that of tap t % phases */
    int64_t reach;  /* packed elements past an output's own that taps read */
} gp_axis;
static inline int64_t gp_axis_offset(const gp_axis *a, int64_t t) {
    return a->offset + t * a->offset_step;
}

/* The axis of spatial dim d of convolution k. */
#define gp_axis_forward GP_NAME(gp_axis_forward)
gp_axis gp_axis_forward(const gp_conv *k, int d);
/* The axis of its input gradient, for the inputs with remainder phase modulo the stride: the taps
 * that reach them read the incoming gradient with stride 1. */
#define gp_axis_backward GP_NAME(gp_axis_backward)
gp_axis gp_axis_backward(const gp_conv *k, int d, int64_t phase);

/* How images are packed: axes are depth, rows, columns. */
typedef struct gp_band {
    gp_axis axis[GP_SPATIAL];
    gp_ctype ct;
    int64_t size; /* bytes of a packed element */
    gp_dtype dtype;
    bool pairs;       /* of bf16: an element is two channels' (the last one's mate: zeros) */
    bool amx;         /* pairs: after them zeros, up to tiles of AMX that have as many rows each */
    gp_dtype packed;  /* of a packed element: the compute type, or bf16 as it is */
    gp_load load;     /* from dtype to packed */
    const char *data; /* images x channels x depth x rows x columns */
    int64_t image_step, channel_step, step[GP_SPATIAL]; /* bytes */
    int64_t lines, line;                                /* packed plane: rows, elements of a row */
} gp_band;

/* Sets x (channels and `rank` spatial dims, perhaps with a batch dim) as the array to be packed. */
#define gp_band_source GP_NAME(gp_band_source)
void gp_band_source(gp_band *b, const gp_array *x, const gp_conv *k);
/* Then: bf16 is packed as it is. */
#define gp_band_as_is GP_NAME(gp_band_as_is)
void gp_band_as_is(gp_band *b);
/* Sets lines and line for `rows` output rows. */
static inline void gp_band_rows(gp_band *b, int64_t rows) {
    b->lines = rows + b->axis[1].reach;
    b->line = b->axis[2].n + b->axis[2].reach;
}
/* Tiles of up to 16 rows that n pairs of channels fill. */
static inline int64_t gp_band_tiles(int64_t n) { return n > 16 ? (n + 15) / 16 : 1; }
/* Channels that packed elements make of n. */
static inline int64_t gp_band_depth(const gp_band *b, int64_t n) {
    int64_t pairs = (n + 1) / 2, tiles = gp_band_tiles(pairs);
    return !b->pairs ? n : b->amx ? (pairs + tiles - 1) / tiles * tiles : pairs;
}
/* Packed planes of a channel, and bytes of n channels; up to 4 vectors past them may be read. */
static inline int64_t gp_band_planes(const gp_band *b) {
    return b->axis[0].taps * b->axis[1].phases * b->axis[2].phases;
}
static inline size_t gp_band_bytes(const gp_band *b, int64_t n) {
    return (size_t)(gp_band_depth(b, n) * gp_band_planes(b) * b->lines * b->line * b->size +
                    4 * GP_VB);
}
/* Channels lie within a pixel: all of a row's are read while its lines are in a cache. */
static inline bool gp_band_channels_adjoin(const gp_band *b) {
    return b->channel_step > 0 && b->channel_step < b->step[2];
}
/* Channels channel … channel + n - 1 of the input of output rows y … of output plane z:
   [channel or pair][tap of depth][phase of rows][phase of columns][lines][line]. */
#define gp_band_pack GP_NAME(gp_band_pack)
void gp_band_pack(const gp_band *b, int64_t image, int64_t channel, int64_t n, int64_t z, int64_t y,
                  char *dst);
/* The offsets of the inputs of n channels' taps (channel, depth, row, column) from an output's
 * position, in elements. */
#define gp_band_offsets GP_NAME(gp_band_offsets)
void gp_band_offsets(const gp_band *b, int64_t n, int64_t *offset);

/* What tiles of AMX read of a correlation: `taps` offsets of the first pair of channels, the
 * elements from pair to pair, and at each tap `blocks` blocks of `pairs` pairs. */
typedef struct gp_conv_amx {
    const int64_t *offset;
    int64_t taps, channel_step, blocks, pairs;
} gp_conv_amx;
/* Sets blocks and pairs for `depth` pairs of channels. */
#define gp_conv_amx_blocks GP_NAME(gp_conv_amx_blocks)
void gp_conv_amx_blocks(gp_conv_amx *c, int64_t depth);
enum { GP_CONV_AMX_FILTERS = 32 }; /* the most in a tile's call */
/* y[f][0 … len) = start[f] + sum over taps and channels of w[tap][block][f][pair] times x, for
 * `filters` filters, ystep elements apart in y. Reads up to four vectors of x past len. */
#define gp_conv_amx_tile GP_NAME(gp_conv_amx_tile)
void gp_conv_amx_tile(const gp_conv_amx *c, int64_t filters, const char *x, const char *w,
                      const float *start, char *y, int64_t ystep, int64_t len);

/* Correlations of few channels by AMX: the taps of all channels, in pairs of adjacent ones, are
 * gathered for 32 outputs at a time, since a channel's taps alone fill tiles badly. */
typedef struct gp_conv_gather {
    const int64_t *offset; /* of all taps of all channels, in elements of bf16 */
    int64_t taps;          /* the length of offset */
    int64_t pairs, blocks; /* pairs in a tile, and tiles that they fill */
    int64_t filters;       /* of a group */
    int64_t each, tiles;   /* filters in a tile, and tiles that they fill */
} gp_conv_gather;
/* How a correlation of bf16 takes the least time where there is AMX; taps: a channel's. */
typedef enum gp_conv_way { GP_CONV_IN_F32, GP_CONV_CHANNELS, GP_CONV_GATHERS } gp_conv_way;
#define gp_conv_amx_way GP_NAME(gp_conv_amx_way)
gp_conv_way gp_conv_amx_way(int64_t channels, int64_t taps, int64_t filters);
#define gp_conv_gather_init GP_NAME(gp_conv_gather_init)
void gp_conv_gather_init(gp_conv_gather *g, const int64_t *offset, int64_t taps, int64_t filters);
/* The most bytes of packed weights, [tile of filters][block][filter][pair], for up to `taps` taps
 * of all channels. */
#define gp_conv_gather_bytes GP_NAME(gp_conv_gather_bytes)
int64_t gp_conv_gather_bytes(int64_t taps, int64_t filters);

/* Rows of outputs: x and w packed, a start for each filter; the first output, and bytes from there
 * to the next filter, row and column. */
typedef struct gp_conv_rows {
    const char *x, *w;
    const float *start;
    char *out;
    int64_t rows, columns, line; /* line: elements from row to row of x */
    int64_t plane, down, step;
} gp_conv_rows;
/* Stores them in bf16. Reads up to a vector of x past the last row. */
#define gp_conv_amx_gather GP_NAME(gp_conv_amx_gather)
void gp_conv_amx_gather(const gp_conv_gather *g, const gp_conv_rows *r);

/* Dot products of up to 32 filters' gradients with channels' images, as packed, at each tap: over
 * segments, which are rows of images. Strides in elements: line for rows of x, image for its
 * images, positions for its channels; pitch for segments of gradients. */
typedef struct gp_conv_amx_dot {
    const uint16_t *x;
    const char *g; /* gradients as gp_conv_amx_pairs leaves them */
    const int64_t *offset;
    int64_t channels, taps, positions, filters;
    int64_t line, image, pitch, images, rows, width;
} gp_conv_amx_dot;
/* Gradients g, whose filters are `plane` elements apart, as tiles of AMX read them: the bytes of
 * [16 filters][segment] of pairs of adjacent outputs. After a segment comes a 0 where its width is
 * odd. */
#define gp_conv_amx_bytes GP_NAME(gp_conv_amx_bytes)
int64_t gp_conv_amx_bytes(int64_t filters, int64_t segments, int64_t width);
#define gp_conv_amx_pairs GP_NAME(gp_conv_amx_pairs)
void gp_conv_amx_pairs(const gp_conv_amx_dot *d, const uint16_t *g, int64_t plane, char *to);
/* sum[f * step + channel * taps + tap] += the products over images, rows and columns. */
#define gp_conv_amx_dots GP_NAME(gp_conv_amx_dots)
void gp_conv_amx_dots(const gp_conv_amx_dot *d, double *sum, int64_t step);

/* For sizes; gp_ceil_div rounds up, also where a is negative. b > 0. */
static inline int64_t gp_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t gp_max(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t gp_ceil_div(int64_t a, int64_t b) {
    return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

#endif
