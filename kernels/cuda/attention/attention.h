/* Attention on a CUDA device: by cuDNN where that has it, else by products and kernels for the
 * scores between them. */
#ifndef GP_CUDA_ATTENTION_H
#define GP_CUDA_ATTENTION_H

#include "kernels/cuda/runtime/kernel.h"
#include "tensor/ops/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* For calls of attention, attention_forward and attention_backward, with their arguments. *done is
 * false where cuDNN cannot or may not run it. False with a message (cudnn.c). */
bool gp_attention_by_cudnn(const gp_call *c, const gp_attention *k, bool *done);
bool gp_attention_back_by_cudnn(const gp_call *c, const gp_attention *k, bool *done);

/* Turns scores (batch * heads x l x s, dense, in compute type) into attention weights, in place:
 * adds the mask, applies is_causal and softmax. stats: [batch * heads * l] or NULL, the logarithm
 * of each row's sum; written, or read if `back` (attention.cu). */
bool gp_attention_shares(const gp_call *c, const gp_attention *k, bool wide, void *scores,
                         void *stats, bool back);
/* Replaces d, the gradient of the weights, by that of the products: weights * (d - its row's sum of
 * g * out) * scale. out, g: dense, in compute type, rows of k->width. */
bool gp_attention_slopes(const gp_call *c, const gp_attention *k, bool wide, void *d,
                         const void *shares, const void *g, const void *out);

#ifdef __cplusplus
}
#endif
#endif
