/* Division, powers and shifts of integers in formulas, for the CPU and CUDA. Includers say where a
 * fault goes: FAULT(code) notes one, FAULT_TO is the parameter that this needs, if any. */
#ifndef GP_INTEGER_H
#define GP_INTEGER_H

#include <stdint.h>

#ifndef GP_FN /* CUDA puts __device__ in front */
#define GP_FN static inline
#endif

/* What integer arithmetic cannot give, and a probability that is none. */
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
