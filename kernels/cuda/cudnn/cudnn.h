/* cuDNN: the functions that gpush uses, and its handle. Only where its header is present; for
 * conv.c, kernels/cuda/norm/cudnn.c, kernels/cuda/rnn/cudnn.c and cudnn_graph.c. */
#ifndef GP_CUDA_DNN_H
#define GP_CUDA_DNN_H

#include <cudnn.h>

#include "kernels/cuda/runtime/libs.h"

typedef struct gp_dnn_functions {
#define F GP_LIB_POINTER
#include "kernels/cuda/cudnn/cudnn.def"
} gp_dnn_functions;
extern gp_dnn_functions gp_dnn; /* filled when the first handle is made */

/* The handle of this call's device and stream; NULL with a message. Call it with gp_lib_lock
 * held. */
cudnnHandle_t gp_dnn_handle(const gp_call *c);
/* False with a message where s is an error. */
bool gp_dnn_ok(const gp_call *c, cudnnStatus_t s);
/* Whether s says that cuDNN had no memory. */
bool gp_dnn_no_memory(cudnnStatus_t s);
cudnnDataType_t gp_dnn_type(int dtype);
/* Called after a failure before cuDNN runs (it does not take the shape, its memory cannot be
 * allocated, it is missing): clears the message, so that the op runs its own kernel, which the
 * record shows. False, with the message, on a dead device, and where c is about to run again with
 * more memory. */
bool gp_dnn_refused(const gp_call *c);

void gp_cuda_detail(const char *text); /* kernels/cuda/runtime/device.h: for the record */

#endif
