/* Convolutions of bf16 by AMX. A packed element is a pair of channels, so that adjacent outputs of
 * some pairs are a tile as they lie, for every tap of the kernel. */
#include "kernels/cpu/conv/amx_block.h"

void gp_conv_amx_blocks(gp_conv_amx *c, int64_t depth) {
    c->blocks = gp_band_tiles(depth);
    c->pairs = gp_ceil_div(depth, c->blocks);
}

#if GP_AMX
/* A second tile of filters overlaps the first where they are an odd number, and so does the last
 * one of outputs. */
void gp_conv_amx_tile(const gp_conv_amx *c, int64_t filters, const char *x, const char *w,
                      const float *start, char *y, int64_t ystep, int64_t len) {
    _Alignas(64) float starts[GP_CONV_AMX_FILTERS][GP_AMX_ROWS];
    gp_amx_config size = {0};
    bool down = filters > GP_AMX_ROWS;
    int64_t each = down ? (filters + 1) / 2 : filters, n = gp_min(len, GP_AMX_ROWS);
    for (int t = 0; t < 4; t++) gp_amx_size(&size, t, each, n * 4);
    for (int t = 4; t < 6; t++) gp_amx_size(&size, t, each, c->pairs * 4);
    for (int t = 6; t < 8; t++) gp_amx_size(&size, t, c->pairs, n * 4);
    for (int64_t f = 0; f < filters; f++)
        for (int i = 0; i < GP_AMX_ROWS; i++) starts[f][i] = start[f];
    gp_amx_configure(&size);
    for (int64_t at = 0; at < len; at += 2 * n) {
        bool across = at + n < len;
        int64_t from = gp_min(at, len - n), second = gp_min(at + n, len - n);
        gp_conv_block b = {.c = c,
                           .x = x + from * 4,
                           .w = w,
                           .start = {starts[0], starts[filters - each]},
                           .y = y + from * 4,
                           .down = (filters - each) * ystep * 4,
                           .next = (filters - each) * c->pairs * 4,
                           .weights = filters * c->pairs * 4,
                           .across = (second - from) * 4,
                           .step = ystep * 4};
        gp_conv_amx_block(&b, down, across);
    }
    gp_amx_release();
}

#else
void gp_conv_amx_tile(const gp_conv_amx *c, int64_t filters, const char *x, const char *w,
                      const float *start, char *y, int64_t ystep, int64_t len) {}
#endif
