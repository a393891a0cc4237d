/* Attention on a CUDA device: by cuDNN where that has it, else by products and kernels for the
 * scores between them. */
#ifndef GP_CUDA_ATTENTION_H
#define GP_CUDA_ATTENTION_H

#include "kernels/cuda/runtime/kernel.h"
#include "tensor/ops/attention.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of the calls of attention, attention_forward and attention_backward, with their arguments: *done
 * is false where cuDNN cannot or may not. False with a message (cudnn.c). */
bool gp_attention_by_cudnn(const gp_call *c, const gp_attention *k, bool *done);
bool gp_attention_back_by_cudnn(const gp_call *c, const gp_attention *k, bool *done);

/* Scores (batch * heads x l x s, dense, in compute type) to shares, in place: + mask, what
 * is_causal hides, softmax. stats: [batch * heads * l], where the logarithm of each row's sum goes,
 * or NULL; back: is read from (attention.cu). */
bool gp_attention_shares(const gp_call *c, const gp_attention *k, bool wide, void *scores,
                         void *stats, bool back);
/* shares * (d - its row's sum of g * out) * scale over d, the gradient of the shares: that of the
 * products. out, g: dense, in compute type, rows of k->width. */
bool gp_attention_slopes(const gp_call *c, const gp_attention *k, bool wide, void *d,
                         const void *shares, const void *g, const void *out);

#ifdef __cplusplus
}
#endif
#endif
