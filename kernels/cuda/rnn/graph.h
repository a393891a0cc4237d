/* cuDNN's recurrent layers as CUDA graphs. They are hundreds of kernels of a few microseconds, and
 * the host needs longer to launch each than the card to run it; a graph is one launch. */
#ifndef GP_CUDA_RNN_GRAPH_H
#define GP_CUDA_RNN_GRAPH_H

#include "kernels/cuda/cudnn/cudnn.h"

/* What a call of cuDNN's depends on: `head` bytes of what does not change with the memory that it
 * is given, then the addresses. */
typedef struct gp_rnn_key {
    const void *bytes;
    size_t head, size; /* size: of all */
} gp_rnn_key;

/* Queues on c's stream what `queue` queues on h's, whose stream that is: the first time by calling
 * it, later as a graph, which is launched again where the key is the same, and else made again and
 * updated. Not where c becomes part of a graph anyway, nor where it is profiled. Call it with
 * gp_lib_lock held. Source: NVIDIA's CUDA C++ Programming Guide, "CUDA Graphs". */
cudnnStatus_t gp_rnn_queue(const gp_call *c, cudnnHandle_t h, const gp_rnn_key *key,
                           cudnnStatus_t (*queue)(cudnnHandle_t h, void *ctx), void *ctx);

#endif
