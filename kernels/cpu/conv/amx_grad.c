/* Weight gradients of convolutions of bf16 by AMX: a tile of channels' images, shifted by a tap,
 * times one of filters' gradients, transposed in pairs of adjacent outputs. */
#include "kernels/cpu/matmul/amx.h"

#include <string.h>

#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/layout/transpose.h"

enum { FILTERS = 16, LINE = 64 };

int64_t gp_conv_amx_bytes(int64_t filters, int64_t segments, int64_t width) {
    return gp_ceil_div(filters, FILTERS) * segments * ((width + 1) / 2) * LINE;
}

void gp_conv_amx_pairs(const gp_conv_amx_dot *d, const uint16_t *g, int64_t plane, char *to) {
    int64_t pairs = (d->width + 1) / 2, segments = d->images * d->rows;
    for (int64_t f = 0; f < d->filters; f += FILTERS)
        for (int64_t i = 0; i < segments; i++, to += pairs * LINE)
            gp_transpose(to, LINE, (const char *)(g + f * plane + i * d->pitch), plane * 2, pairs,
                         gp_min(d->filters - f, FILTERS), 4, false);
}

#if GP_AMX
/* One or two rows of tiles, each a block of channels at a tap, by one or two of filters. */
typedef struct block {
    const gp_conv_amx_dot *d;
    const uint16_t *x[2]; /* of the first channel */
    const char *g[2];
    int64_t channels; /* of a tile */
} block;
typedef float sums[4][GP_AMX_ROWS][FILTERS];

/* 32 outputs; channels of x are `step` bytes apart. */
static inline __attribute__((always_inline)) void add(const void *x0, const void *x1,
                                                      const void *g0, const void *g1, int64_t step,
                                                      bool down, bool across) {
    gp_amx_load(4, x0, step);
    gp_amx_load(6, g0, LINE);
    gp_amx_multiply(0, 4, 6);
    if (across) {
        gp_amx_load(7, g1, LINE);
        gp_amx_multiply(1, 4, 7);
    }
    if (down) {
        gp_amx_load(5, x1, step);
        gp_amx_multiply(2, 5, 6);
        if (across) gp_amx_multiply(3, 5, 7);
    }
}

/* The same for the last n of a row: outputs past it count as zeros in both. */
typedef struct rest {
    uint16_t x[2][GP_AMX_ROWS][GP_AMX_DEPTH];
    char g[2][GP_AMX_DEPTH / 2][LINE];
} rest;

static void copy_rest(const block *b, int64_t x, int64_t g, int64_t n, bool down, bool across,
                      rest *to) {
    memset(to, 0, sizeof *to);
    for (int i = 0; i <= down; i++)
        for (int64_t c = 0; c < b->channels; c++)
            memcpy(to->x[i][c], b->x[i] + c * b->d->positions + x, (size_t)n * 2);
    for (int i = 0; i <= across; i++)
        memcpy(to->g[i], b->g[i] + g * LINE, (size_t)((n + 1) / 2 * LINE));
}

static inline __attribute__((always_inline)) void dot(const block *b, bool down, bool across) {
    const gp_conv_amx_dot *d = b->d;
    int64_t last = d->width % GP_AMX_DEPTH, whole = d->width - last, pairs = (d->width + 1) / 2;
    for (int64_t i = 0; i < d->images * d->rows; i++) {
        int64_t x = i / d->rows * d->image + i % d->rows * d->line, g = i * pairs;
        for (int64_t at = 0; at < whole; at += GP_AMX_DEPTH)
            add(b->x[0] + x + at, b->x[1] + x + at, b->g[0] + (g + at / 2) * LINE,
                b->g[1] + (g + at / 2) * LINE, d->positions * 2, down, across);
        if (!last) continue;
        _Alignas(64) rest r;
        copy_rest(b, x + whole, g + whole / 2, last, down, across, &r);
        add(r.x[0], r.x[1], r.g[0], r.g[1], GP_AMX_DEPTH * 2, down, across);
    }
}

static void run_block(const block *b, bool down, bool across, sums to) {
    for (int t = 0; t < 4; t++) memset(to[t], 0, sizeof to[t]);
    gp_amx_load(0, to[0], LINE);
    gp_amx_load(1, to[1], LINE);
    gp_amx_load(2, to[2], LINE);
    gp_amx_load(3, to[3], LINE);
    if (down && across) dot(b, true, true);
    else if (down) dot(b, true, false);
    else if (across) dot(b, false, true);
    else dot(b, false, false);
    gp_amx_store(0, to[0], LINE);
    gp_amx_store(1, to[1], LINE);
    gp_amx_store(2, to[2], LINE);
    gp_amx_store(3, to[3], LINE);
}

/* Row j of tiles is tap j % taps of block j / taps, whose first channel this is: the last block
 * overlaps the one before, where they do not all have as many. */
static int64_t first_channel(const gp_conv_amx_dot *d, int64_t j, int64_t each) {
    return gp_min(j / d->taps * each, d->channels - each);
}

/* Adds the tile at row j and filters f …, but for channels that the tile before has, too. */
static void add_sums(const gp_conv_amx_dot *d, float (*from)[FILTERS], int64_t j, int64_t each,
                     int64_t f, double *sum, int64_t step) {
    int64_t first = first_channel(d, j, each), n = gp_min(d->filters - f, FILTERS);
    for (int64_t c = j / d->taps * each - first; c < each; c++)
        for (int64_t o = 0; o < n; o++)
            sum[(f + o) * step + (first + c) * d->taps + j % d->taps] += (double)from[c][o];
}

void gp_conv_amx_dots(const gp_conv_amx_dot *d, double *sum, int64_t step) {
    _Alignas(64) sums to;
    gp_amx_config size = {0};
    bool across = d->filters > FILTERS;
    int64_t blocks = gp_ceil_div(d->channels, GP_AMX_ROWS), each = gp_ceil_div(d->channels, blocks),
            rows = blocks * d->taps,
            bytes = gp_conv_amx_bytes(FILTERS, d->images * d->rows, d->width);
    for (int t = 0; t < 8; t++) gp_amx_size(&size, t, t < 6 ? each : GP_AMX_DEPTH / 2, LINE);
    gp_amx_configure(&size);
    for (int64_t j = 0; j < rows; j += 2) {
        bool down = j + 1 < rows;
        block b = {.d = d, .g = {d->g, d->g + bytes}, .channels = each};
        for (int i = 0; i <= down; i++)
            b.x[i] =
                d->x + first_channel(d, j + i, each) * d->positions + d->offset[(j + i) % d->taps];
        run_block(&b, down, across, to);
        for (int t = 0; t < 4; t++)
            if ((t < 2 || down) && (t % 2 == 0 || across))
                add_sums(d, to[t], j + t / 2, each, t % 2 * FILTERS, sum, step);
    }
    gp_amx_release();
}

#else
void gp_conv_amx_dots(const gp_conv_amx_dot *d, double *sum, int64_t step) {}
#endif
