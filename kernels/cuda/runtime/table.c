/* The CUDA kernels by op id. */
#include "kernels/cuda/runtime/kernel.h"
#include "kernels/cuda/runtime/table.h"

#define ROW(n) bool CUDA(n)(const gp_call *c);
#define VIEW(...) /* needs none */
#include "tensor/ops/table/ops.def"
#define GRAD_ROW(n, ...) bool CUDA(n)(const gp_call *c);
#include "tensor/autograd/grad_rows.h"

const gp_kernel gp_cuda_kernels[GP_OPS] = {
#define ROW(n) [OP_##n] = CUDA(n),
#define VIEW(...) /* needs none */
#include "tensor/ops/table/ops.def"
#define GRAD_ROW(n, ...) [OP_##n] = CUDA(n),
#include "tensor/autograd/grad_rows.h"
};
