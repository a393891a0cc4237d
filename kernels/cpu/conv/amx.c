/* Convolutions of bf16 and their weight gradients by AMX. A packed element is a pair of channels,
 * so that adjacent outputs of some pairs are a tile as they lie, for every tap of the kernel. */
#include "kernels/cpu/matmul/amx.h"

#include <string.h>

#include "kernels/cpu/conv/conv.h"

/* Pairs of all taps that are gathered; channels' pairs from which on a tap's tiles are full enough.
 */
enum { MOST_GATHERED = 128, ENOUGH_PAIRS = 5 };

void gp_conv_amx_blocks(gp_conv_amx *c, int64_t depth) {
    int64_t all = c->taps * depth;
    bool gather = depth < ENOUGH_PAIRS && c->taps > 1 && all <= MOST_GATHERED;
    c->blocks = gp_band_tiles(gather ? all : depth);
    c->pairs = gp_ceil_div(gather ? all : depth, c->blocks);
    c->depth = gather ? depth : 0;
}

#if GP_AMX
/* Tiles 0 to 3 are sums: one or two tiles of filters by as many of outputs; 4 and 5 are weights, 6
 * and 7 the image. */
typedef struct block {
    const gp_conv_amx *c;
    const char *x, *w;  /* of the first output, filter */
    const float *start; /* of each filter, as often as a tile has outputs */
    char *y;
    int64_t down, next, weights; /* bytes: from the first filters to the second ones, in y and in w;
                                    of one tap's and block of channels' weights */
    int64_t across, step;        /* bytes from first to second outputs; of y's filters */
} block;

static inline __attribute__((always_inline)) void sums(const block *b, bool down, bool across) {
    const gp_conv_amx *c = b->c;
    int64_t channel = c->channel_step * 4, pairs = c->pairs * 4;
    const char *w = b->w, *second = (const char *)(b->start + b->next / pairs * GP_AMX_ROWS);
    gp_amx_load(0, b->start, 64);
    if (across) gp_amx_load(1, b->start, 64);
    if (down) gp_amx_load(2, second, 64);
    if (down && across) gp_amx_load(3, second, 64);
    for (int64_t t = 0; t < c->taps; t++) {
        const char *x = b->x + c->offset[t] * 4;
        for (int64_t i = 0; i < c->blocks; i++, x += c->pairs * channel, w += b->weights) {
            gp_amx_load(4, w, pairs);
            gp_amx_load(6, x, channel);
            gp_amx_multiply(0, 4, 6);
            if (across) {
                gp_amx_load(7, x + b->across, channel);
                gp_amx_multiply(1, 4, 7);
            }
            if (down) {
                gp_amx_load(5, w + b->next, pairs);
                gp_amx_multiply(2, 5, 6);
                if (across) gp_amx_multiply(3, 5, 7);
            }
        }
    }
    gp_amx_store(0, b->y, b->step);
    if (across) gp_amx_store(1, b->y + b->across, b->step);
    if (down) gp_amx_store(2, b->y + b->down, b->step);
    if (down && across) gp_amx_store(3, b->y + b->down + b->across, b->step);
}

static void run_block(const block *b, bool down, bool across) {
    if (down && across) sums(b, true, true);
    else if (down) sums(b, true, false);
    else if (across) sums(b, false, true);
    else sums(b, false, false);
}

/* The pairs of all taps for `len` outputs from x on, up to two tiles' ones: [pair][output]. */
typedef char gathered[MOST_GATHERED + GP_AMX_ROWS][2 * GP_AMX_ROWS * 4];

static void gather(const gp_conv_amx *c, const char *x, int64_t len, gathered to) {
    int64_t row = 0;
    for (int64_t t = 0; t < c->taps; t++)
        for (int64_t p = 0; p < c->depth; p++, row++) {
            const char *from = x + (c->offset[t] + p * c->channel_step) * 4;
            if (len == 2 * GP_AMX_ROWS) memcpy(to[row], from, sizeof to[row]);
            else memcpy(to[row], from, (size_t)len * 4);
        }
}

/* A second tile of filters overlaps the first where they are an odd number, and so does the last
 * one of outputs. */
void gp_conv_amx_tile(const gp_conv_amx *c, int64_t filters, const char *x, const char *w,
                      const float *start, char *y, int64_t ystep, int64_t len) {
    _Alignas(64) float starts[GP_CONV_AMX_FILTERS][GP_AMX_ROWS];
    _Alignas(64) gathered room;
    static const int64_t none;
    gp_conv_amx once = {&none, 1, 2 * GP_AMX_ROWS, c->blocks, c->pairs, 0};
    gp_amx_config size = {0};
    bool down = filters > GP_AMX_ROWS;
    int64_t each = down ? (filters + 1) / 2 : filters, n = gp_min(len, GP_AMX_ROWS);
    for (int t = 0; t < 4; t++) gp_amx_size(&size, t, each, n * 4);
    for (int t = 4; t < 6; t++) gp_amx_size(&size, t, each, c->pairs * 4);
    for (int t = 6; t < 8; t++) gp_amx_size(&size, t, c->pairs, n * 4);
    for (int64_t f = 0; f < filters; f++)
        for (int i = 0; i < GP_AMX_ROWS; i++) starts[f][i] = start[f];
    for (int64_t i = c->taps * c->depth; c->depth && i < c->blocks * c->pairs; i++)
        memset(room[i], 0, sizeof room[i]);
    gp_amx_configure(&size);
    for (int64_t at = 0; at < len; at += 2 * n) {
        bool across = at + n < len;
        int64_t from = gp_min(at, len - n), second = gp_min(at + n, len - n);
        block b = {.c = c,
                   .x = x + from * 4,
                   .w = w,
                   .start = starts[0],
                   .y = y + from * 4,
                   .down = (filters - each) * ystep * 4,
                   .next = (filters - each) * c->pairs * 4,
                   .weights = filters * c->pairs * 4,
                   .across = (second - from) * 4,
                   .step = ystep * 4};
        if (c->depth) {
            gather(c, b.x, second - from + n, room);
            b.c = &once;
            b.x = room[0];
        }
        run_block(&b, down, across);
    }
    gp_amx_release();
}

#else
void gp_conv_amx_tile(const gp_conv_amx *c, int64_t filters, const char *x, const char *w,
                      const float *start, char *y, int64_t ystep, int64_t len) {}
#endif
