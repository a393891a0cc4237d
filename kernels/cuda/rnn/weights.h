/* The weights of a recurrent layer as cuDNN has them: in one piece of memory. Only where cuDNN's
 * header is present. */
#ifndef GP_CUDA_RNN_WEIGHTS_H
#define GP_CUDA_RNN_WEIGHTS_H

#include "kernels/cuda/rnn/rnn.h"
#include "kernels/cuda/cudnn/cudnn.h"

typedef struct gp_rnn_space {
    cudnnRNNDescriptor_t rnn;
    size_t bytes;
    const void *key; /* what the layout depends on, besides the layer's sizes */
    size_t key_bytes;
} gp_rnn_space;

/* The weights of n, packed for the work that its call queues. They are kept: a call that finds them
 * unchanged does not pack them again, whatever its stream. NULL with a message. Call both with
 * gp_lib_lock held. */
char *gp_rnn_packed(gp_rnn_run *n, cudnnHandle_t h, const gp_rnn_space *p);
/* Queues copies of packed gradients to `to`: w_ih, w_hh, b_ih, b_hh of each direction, one after
 * the other. False with a message. */
bool gp_rnn_unpack(gp_rnn_run *n, cudnnHandle_t h, const gp_rnn_space *p, char *space, char *to);

/* Memory on c's stream for what its call queues, at the same address in every call that needs as
 * much as the last ones, or less; only for the call where it is large, or becomes part of a graph.
 * NULL with a message. No memory may be asked for between this and the call's end. (staging.c) */
char *gp_rnn_staging(const gp_call *c, size_t bytes);
/* Gives back that of dev's streams. Call both with gp_lib_lock held. */
void gp_rnn_shed_staging(gp_device *dev);

#endif
