/* Attention's arguments and sizes, for the shape rule and the kernels. */
#ifndef GP_ATTENTION_H
#define GP_ATTENTION_H

#include <math.h>

#include "tensor/op.h"

/* Arguments of attention and attention_forward, then those of attention_backward. */
enum {
    GP_ATTENTION_MASK = 3,
    GP_ATTENTION_CAUSAL,
    GP_ATTENTION_SCALE,
    GP_ATTENTION_OUT,
    GP_ATTENTION_STATS,
    GP_ATTENTION_GRAD
};

/* query is batch x heads x l x size, key batch x heads x s x size, value batch x heads x s x
 * width. */
typedef struct gp_attention {
    int64_t batch, heads, l, s, size, width;
    bool causal; /* query i sees keys 1 to i */
    double scale;
    const gp_array *q, *k, *v, *mask; /* mask: added to the scores, broadcast; or NULL */
} gp_attention;

static inline void gp_attention_sizes(const gp_call *c, const gp_array *q, const gp_array *k,
                                      const gp_array *v, gp_attention *a) {
    a->batch = q->dim[0], a->heads = q->dim[1], a->l = q->dim[2], a->size = q->dim[3];
    a->s = k->dim[2], a->width = v->dim[3];
    a->causal = c->arg[GP_ATTENTION_CAUSAL].i != 0;
    a->scale =
        gp_given(c, GP_ATTENTION_SCALE) ? c->arg[GP_ATTENTION_SCALE].f : 1 / sqrt((double)a->size);
    a->q = q, a->k = k, a->v = v;
}

/* Reads a call as kernels see it: its arrays, checked by infer. */
static inline void gp_attention_read(const gp_call *c, gp_attention *a) {
    gp_attention_sizes(c, c->arg[0].a, c->arg[1].a, c->arg[2].a, a);
    a->mask = gp_given(c, GP_ATTENTION_MASK) ? c->arg[GP_ATTENTION_MASK].a : NULL;
}

/* Strides of the mask in elements, 0 where it is broadcast. */
static inline void gp_attention_mask_strides(const gp_attention *a, int64_t *stride) {
    int lack = 4 - a->mask->ndim;
    for (int d = 0; d < 4; d++)
        stride[d] = d >= lack && a->mask->dim[d - lack] > 1 ? a->mask->stride[d - lack] : 0;
}

#endif
