/* Products of tiles of AMX in convolutions: sums of up to two tiles of filters by two of outputs.
 */
#ifndef GP_CPU_CONV_AMX_BLOCK_H
#define GP_CPU_CONV_AMX_BLOCK_H

#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/matmul/amx.h"

#if GP_AMX
/* Tiles 0 to 3 are sums: one or two tiles of filters by as many of outputs; 4 and 5 are weights, 6
 * and 7 the image. */
typedef struct gp_conv_block {
    const gp_conv_amx *c;
    const char *x, *w;     /* of the first output, filter */
    const float *start[2]; /* of each filter of both, as often as a tile has outputs */
    char *y;
    int64_t down, next, weights; /* bytes: from the first filters to the second ones, in y and in w;
                                    of one tap's and block of channels' weights */
    int64_t across, step;        /* bytes from first to second outputs; of y's filters */
} gp_conv_block;

static inline __attribute__((always_inline)) void gp_conv_amx_sums(const gp_conv_block *b,
                                                                   bool down, bool across) {
    const gp_conv_amx *c = b->c;
    int64_t channel = c->channel_step * 4, pairs = c->pairs * 4;
    const char *w = b->w;
    gp_amx_load(0, b->start[0], 64);
    if (across) gp_amx_load(1, b->start[0], 64);
    if (down) gp_amx_load(2, b->start[1], 64);
    if (down && across) gp_amx_load(3, b->start[1], 64);
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

static inline void gp_conv_amx_block(const gp_conv_block *b, bool down, bool across) {
    if (down && across) gp_conv_amx_sums(b, true, true);
    else if (down) gp_conv_amx_sums(b, true, false);
    else if (across) gp_conv_amx_sums(b, false, true);
    else gp_conv_amx_sums(b, false, false);
}
#endif

#endif
