/* Weight gradients of convolutions of bf16 by AMX: a tile of filters' gradients, along their
 * outputs, times one of channels' pairs of adjacent outputs, shifted by a tap. */
#include "kernels/cpu/matmul/amx.h"

#include <string.h>

#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/layout/transpose.h"

enum { CHANNELS = 16, LINE = 64, SLACK = 64 };

/* Zeros follow the image: tiles read past it, and gradients are 0 there. */
int64_t gp_conv_amx_image(int64_t channels, int64_t positions) {
    return gp_ceil_div(channels, CHANNELS) * (positions + SLACK) * LINE;
}

void gp_conv_amx_pairs(const char *x, int64_t channels, int64_t positions, char *to) {
    for (int64_t c = 0; c < channels; c += CHANNELS, to += (positions + SLACK) * LINE) {
        const char *from = x + c * positions * 2;
        int64_t n = gp_min(channels - c, CHANNELS), pitch = positions * 2;
        gp_transpose(to, 2 * LINE, from, pitch, (positions + 1) / 2, n, 4, false);
        gp_transpose(to + LINE, 2 * LINE, from + 2, pitch, positions / 2, n, 4, false);
        memset(to + positions * LINE, 0, SLACK * LINE);
    }
}

#if GP_AMX
/* One or two tiles of filters by one or two columns, each a block of channels at a tap. */
typedef struct block {
    const gp_conv_amx_dot *d;
    const uint16_t *g, *second; /* of the first filter of each tile */
    const char *x[2];
} block;
typedef float sums[4][GP_AMX_ROWS][CHANNELS];

/* 32 outputs: rows of a `step` bytes apart, of the image `wide`. */
static inline __attribute__((always_inline)) void add(const void *g, const void *second,
                                                      const char *x0, const char *x1, int64_t step,
                                                      int64_t wide, bool down, bool across) {
    gp_amx_load(4, g, step);
    gp_amx_load(6, x0, wide);
    gp_amx_multiply(0, 4, 6);
    if (across) {
        gp_amx_load(7, x1, wide);
        gp_amx_multiply(1, 4, 7);
    }
    if (down) {
        gp_amx_load(5, second, step);
        gp_amx_multiply(2, 5, 6);
        if (across) gp_amx_multiply(3, 5, 7);
    }
}

/* The same for the last n of a row: outputs past it count as zeros in both. */
typedef struct rest {
    uint16_t g[2][GP_AMX_ROWS][GP_AMX_DEPTH];
    uint16_t x[2][GP_AMX_DEPTH / 2][LINE / 2];
} rest;

static void copy_rest(const block *b, int64_t g, int64_t x, int64_t n, bool down, bool across,
                      rest *to) {
    memset(to, 0, sizeof *to);
    for (int i = 0; i <= down; i++)
        for (int f = 0; f < GP_AMX_ROWS; f++)
            memcpy(to->g[i][f], (i ? b->second : b->g) + f * b->d->plane + g, (size_t)n * 2);
    for (int i = 0; i <= across; i++)
        for (int64_t k = 0; k < n; k += 2) {
            uint16_t *row = to->x[i][k / 2];
            memcpy(row, b->x[i] + (x + k) * LINE, LINE);
            for (int c = 1; k + 1 == n && c < LINE / 2; c += 2) row[c] = 0;
        }
}

static inline __attribute__((always_inline)) void dot(const block *b, bool down, bool across) {
    const gp_conv_amx_dot *d = b->d;
    int64_t last = d->width % GP_AMX_DEPTH, whole = d->width - last;
    for (int64_t i = 0; i < d->images * d->rows; i++) {
        int64_t g = i * d->pitch, x = i / d->rows * d->image + i % d->rows * d->line;
        for (int64_t at = 0; at < whole; at += GP_AMX_DEPTH)
            add(b->g + g + at, b->second + g + at, b->x[0] + (x + at) * LINE,
                b->x[1] + (x + at) * LINE, d->plane * 2, 2 * LINE, down, across);
        if (!last) continue;
        _Alignas(64) rest r;
        copy_rest(b, g + whole, x + whole, last, down, across, &r);
        add(r.g[0], r.g[1], (const char *)r.x[0], (const char *)r.x[1], GP_AMX_DEPTH * 2, LINE,
            down, across);
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

/* Column j is tap j % taps of block j / taps. */
static const char *column(const gp_conv_amx_dot *d, int64_t j) {
    return d->x + (j / d->taps * (d->positions + SLACK) + d->offset[j % d->taps]) * LINE;
}

static void add_sums(const gp_conv_amx_dot *d, sums from, int tile, int64_t j, double *sum,
                     int64_t step) {
    int64_t first = j / d->taps * CHANNELS, n = gp_min(d->channels - first, CHANNELS),
            filters = gp_min(d->filters - tile / 2 * GP_AMX_ROWS, GP_AMX_ROWS);
    sum += tile / 2 * GP_AMX_ROWS * step + first * d->taps + j % d->taps;
    for (int64_t f = 0; f < filters; f++)
        for (int64_t c = 0; c < n; c++) sum[f * step + c * d->taps] += (double)from[tile][f][c];
}

void gp_conv_amx_dots(const gp_conv_amx_dot *d, double *sum, int64_t step) {
    _Alignas(64) sums to;
    gp_amx_config size = {0};
    bool down = d->filters > GP_AMX_ROWS;
    int64_t columns = gp_ceil_div(d->channels, CHANNELS) * d->taps;
    for (int t = 0; t < 8; t++) gp_amx_size(&size, t, GP_AMX_ROWS, LINE);
    gp_amx_configure(&size);
    for (int64_t j = 0; j < columns; j += 2) {
        bool across = j + 1 < columns;
        block b = {.d = d,
                   .g = d->g,
                   .second = d->g + GP_AMX_ROWS * d->plane,
                   .x = {column(d, j), column(d, across ? j + 1 : j)}};
        run_block(&b, down, across, to);
        for (int t = 0; t < 4; t++)
            if ((t < 2 || down) && (t % 2 == 0 || across)) add_sums(d, to, t, j + t % 2, sum, step);
    }
    gp_amx_release();
}

#else
void gp_conv_amx_dots(const gp_conv_amx_dot *d, double *sum, int64_t step) {}
#endif
