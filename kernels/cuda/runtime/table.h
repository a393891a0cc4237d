/* The table of CUDA kernels, for the device that launches them. */
#ifndef GP_CUDA_TABLE_H
#define GP_CUDA_TABLE_H

#include "tensor/op.h"

extern const gp_kernel gp_cuda_kernels[GP_OPS]; /* NULL: a view, which needs none */

#endif
