/* The memory that cuDNN's recurrent layers work in: a piece for each stream, where it stays, so
 * that graphs of them need not be made again. The stream's order keeps its layers apart. */
#include "kernels/cuda/rnn/rnn.h"
#include "kernels/cuda/runtime/device.h"
#include "tensor/memory/alloc.h"

#if __has_include(<cudnn.h>)
#include "kernels/cuda/rnn/weights.h"

enum { PART = 256 }; /* of the card's memory: a stream's piece is at most so small a part of it */

/* Frees the piece of q: queued work that uses it comes before its next user. */
static void give_back(cuda_stream *q) {
    gp_storage *space = q->staging;
    q->staging = NULL;
    if (space) gp_storage_unref(space);
}

char *gp_rnn_staging(const gp_call *c, size_t bytes) {
    cuda_stream *q = gp_cuda_queue(c->stream);
    if (gp_cuda_building() || bytes > gp_cuda_of(c->stream->dev)->bytes / PART)
        return (char *)gp_cuda_scratch(c, bytes);
    if (!q->staging || q->staging->bytes < bytes) {
        give_back(q);
        gp_storage *space = gp_cuda_storage(c, bytes);
        if (!space) return NULL;
        give_back(q); /* of an op that ran for the collector */
        q->staging = space;
    }
    return (char *)gp_cuda_hold(c, gp_storage_ref(q->staging));
}

void gp_rnn_shed_staging(gp_device *dev) {
    for (int i = 0; i < dev->nstreams; i++)
        if (gp_cuda_queue(dev->streams[i])) give_back(gp_cuda_queue(dev->streams[i]));
}
#else
typedef int rnn_staging_has_cudnn; /* ISO C forbids an empty file */
#endif
