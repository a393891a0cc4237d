/* The CUDA kernels by op id. */
#include "kernels/cuda/kernel.h"
#include "kernels/cuda/table.h"

#define OPS_WITH_KERNELS
#define ROW(n) bool CUDA(n)(const gp_call *c);
#include "tensor/ops_rows.h"
#define GRAD_ROW(n, ...) bool CUDA(n)(const gp_call *c);
#include "tensor/grad_rows.h"

const gp_kernel gp_cuda_kernels[GP_OPS] = {
#define ROW(n) [OP_##n] = CUDA(n),
#include "tensor/ops_rows.h"
#define GRAD_ROW(n, ...) [OP_##n] = CUDA(n),
#include "tensor/grad_rows.h"
};
