/* What the files of convolutions share: a correlation that is being computed. */
#ifndef GP_CPU_CONV_JOB_H
#define GP_CPU_CONV_JOB_H

#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/conv/fold.h"

/* The most filters in a tile: what fits in the registers with the inputs and a weight. */
#if defined(__AVX512F__)
enum { GP_CONV_FILTERS = 12 };
#else
enum { GP_CONV_FILTERS = 6 };
#endif

/* A correlation. For an input gradient the images are gradients of results: their channels are the
 * convolution's filters, and the filters here its channels. */
typedef struct conv_job {
    gp_band in;
    const gp_array *bias, *out;
    int64_t images, groups, channels, filters;               /* channels and filters: per group */
    int64_t size[GP_SPATIAL];                                /* of the outputs */
    const char *w;                                           /* in compute type */
    int64_t w_group, w_filter, w_channel, w_tap[GP_SPATIAL]; /* its strides in elements */
    int64_t taps, *offset;      /* offset of tap i's input from an output's position, in elements */
    int64_t depth, taps_packed; /* channels of `taps`, and taps as weights are packed */
    int64_t part_taps;          /* taps that a tile adds at a time */
    int64_t blocks;             /* of filters per group */
    int64_t rows, bands;        /* output rows of a band; bands of a plane */
    int64_t stretches; /* pieces of in.axis[2].n output columns; fewer at the end of long rows */
    int64_t columns;   /* output columns of all pieces */
    bool flat;         /* a band is computed as one long row, columns between rows included */
    bool direct;       /* tiles write the output in place */
    gp_conv_amx amx;   /* for in.amx */
    bool gathers;      /* bf16 as it is, whose taps are gathered for tiles of AMX */
    gp_conv_gather gather;
    int64_t word;          /* bytes of the compute type: of sums, biases and packed weights */
    gp_row_fold fold;      /* flat and direct: how tiles skip the elements between rows */
    char *weights, *start; /* packed [group][block][tap][filter of the block]; bias or 0 */
    _Atomic bool no_memory;
} conv_job;

/* The first filter of block b. */
static inline int64_t gp_conv_filter(const conv_job *r, int64_t b) {
    return r->gathers ? gp_min(b * r->gather.each, r->filters) : r->filters * b / r->blocks;
}
/* Taps of a channel. */
static inline int64_t gp_conv_taps(const conv_job *r) {
    return r->in.axis[0].taps * r->in.axis[1].taps * r->in.axis[2].taps;
}
/* The packed weights of a block of a group's filters. */
static inline char *gp_conv_weights(const conv_job *r, int64_t group, int64_t b) {
    int64_t filter = r->gathers ? (group * r->blocks + b) * r->gather.each
                                : group * r->filters + gp_conv_filter(r, b);
    return r->weights + filter * r->taps_packed * r->word;
}

/* Allocates offsets, packed weights, bias, and the weights in compute type where they are of
 * another, in the calling thread's scratch; false: out of memory. */
#define gp_conv_get_memory GP_NAME(gp_conv_get_memory)
bool gp_conv_get_memory(conv_job *r, const gp_array *w, const gp_conv *k);
/* Packs the weights of blocks [begin, end), of all groups, of the job ctx. */
#define gp_conv_pack_weights GP_NAME(gp_conv_pack_weights)
void gp_conv_pack_weights(void *ctx, int64_t begin, int64_t end);
/* Sets start: the biases in compute type, or zeros. */
#define gp_conv_pack_bias GP_NAME(gp_conv_pack_bias)
void gp_conv_pack_bias(conv_job *r);

#endif
