/* Weights and biases of convolutions, packed as their tiles read them. */
#include <string.h>

#include "kernels/cpu/conv/job.h"
#include "kernels/cpu/runtime/scratch.h"

/* [tap][filter]; in pairs of channels; for AMX [tap][block of pairs][filter][pair],
 * or of gathered taps [block of pairs][filter][pair]. */
#define PLACE(c, tap, o) ((c)*gp_conv_taps(r) + (tap)) * n + (o)
#define T uint32_t
#define NAME words
#define AT PLACE
#include "kernels/cpu/conv/pack.inc"
#define T uint64_t
#define NAME longs
#define AT PLACE
#include "kernels/cpu/conv/pack.inc"
#define T uint16_t
#define NAME pairs
#define AT(c, tap, o) 2 * (PLACE((c) / 2, tap, o)) + (c) % 2
#include "kernels/cpu/conv/pack.inc"
#define T uint16_t
#define NAME tiles
#define PAIR(c, tap) ((tap)*r->depth + (c) / 2)
#define AT(c, tap, o)                                                                              \
    2 * ((PAIR(c, tap) / r->amx.pairs * n + (o)) * r->amx.pairs + PAIR(c, tap) % r->amx.pairs) +   \
        (c) % 2
#include "kernels/cpu/conv/pack.inc"

#define T uint16_t
#define NAME gathered
#define TAP(c, tap) ((c)*gp_conv_taps(r) + (tap))
#define AT(c, tap, o)                                                                              \
    2 * ((TAP(c, tap) / 2 / r->gather.pairs * r->gather.each + (o)) * r->gather.pairs +            \
         TAP(c, tap) / 2 % r->gather.pairs) +                                                      \
        TAP(c, tap) % 2
#include "kernels/cpu/conv/pack.inc"

void gp_conv_pack_weights(void *ctx, int64_t begin, int64_t end) {
    conv_job *r = ctx;
    for (int64_t b = begin; b < end; b++) {
        int64_t group = b / r->blocks, block = b % r->blocks, from = gp_conv_filter(r, block),
                n = gp_conv_filter(r, block + 1) - from, slots = r->gathers ? r->gather.each : n;
        char *to = gp_conv_weights(r, group, block);
        uint16_t *halves = (uint16_t *)(void *)to;
        if (r->in.pairs || r->gathers) memset(to, 0, (size_t)(slots * r->taps_packed * r->word));
        if (r->gathers) pack_gathered(r, group, from, n, halves);
        else if (r->in.amx) pack_tiles(r, group, from, n, halves);
        else if (r->in.pairs) pack_pairs(r, group, from, n, halves);
        else if (r->word == 4) pack_words(r, group, from, n, (uint32_t *)(void *)to);
        else pack_longs(r, group, from, n, (uint64_t *)(void *)to);
    }
}

void gp_conv_pack_bias(conv_job *r) {
    int64_t filters = r->groups * r->filters;
    if (!r->bias) {
        memset(r->start, 0, (size_t)(filters * r->word));
        return;
    }
    int64_t size = (int64_t)gp_dtype_size((gp_dtype)r->bias->dtype);
    gp_load_fn((gp_dtype)r->bias->dtype, r->in.ct)(r->start, r->bias->data,
                                                   r->bias->stride[0] * size, filters);
}

bool gp_conv_get_memory(conv_job *r, const gp_array *w, const gp_conv *k) {
    int64_t taps = gp_band_depth(&r->in, r->channels) * k->kernel[0] * k->kernel[1] * k->kernel[2];
    size_t words = (size_t)taps * sizeof *r->offset,
           weights = (size_t)(r->groups * r->filters * (taps + taps / 16) * r->word),
           start = ((size_t)(r->groups * r->filters * r->word) + 63) / 64 * 64;
    bool convert = w->dtype != gp_ctype_dtype[r->in.ct] && !r->in.pairs && !r->gathers;
    if (r->gathers) weights = (size_t)(r->groups * gp_conv_gather_bytes(taps, r->filters));
    char *memory =
        gp_scratch(GP_SCRATCH_CALL, words + start + weights + (convert ? weights : 0) + 64);
    if (!memory) return false;
    r->offset = (int64_t *)memory;
    r->start = memory + words;
    r->weights = r->start + start;
    gp_array dense = *w;
    if (convert) {
        dense.data = r->weights + weights;
        dense.dtype = gp_ctype_dtype[r->in.ct];
        int64_t n = 1;
        for (int d = w->ndim - 1; d >= 0; d--) dense.stride[d] = n, n *= w->dim[d];
        dense.contiguous = true;
        gp_copy_array(&dense, w);
    }
    r->w = dense.data;
    for (int d = 0; d < GP_SPATIAL; d++) {
        int at = d - (GP_SPATIAL - k->rank);
        r->w_tap[d] = at < 0 ? 0 : dense.stride[2 + at];
    }
    r->w_filter = dense.stride[0];
    r->w_channel = dense.stride[1];
    r->w_group = k->filters / k->groups * dense.stride[0];
    return true;
}
