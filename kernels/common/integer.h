/* Division, powers and shifts of integers in formulas, for the CPU and CUDA. Includers define
 * FAULT(code), which records a fault, and FAULT_TO, the parameter that it needs, if any. */
#ifndef GP_INTEGER_H
#define GP_INTEGER_H

#include <stdint.h>

#ifndef GP_FN /* CUDA puts __device__ in front */
#define GP_FN static inline
#endif

/* Faults: undefined integer results, and a probability outside 0 … 1. */
#define FAULT_DIV_ZERO 1
#define FAULT_NEG_POW 2
#define FAULT_CHANCE 4

#define T int32_t
#define t i32
#include "kernels/common/integer.inc"
#define T int64_t
#define t i64
#include "kernels/common/integer.inc"

#endif
