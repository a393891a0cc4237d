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

#define INT_HELPERS(T, n)                                                                          \
    GP_FN T floor_divide_##n(T a, T b FAULT_TO) {                                                  \
        if (b == 0) return FAULT(FAULT_DIV_ZERO), 0;                                               \
        if (b == -1) return (T)(0 - (uint64_t)a);                                                  \
        T q = a / b;                                                                               \
        return q - ((a % b != 0) & ((a < 0) != (b < 0)));                                          \
    }                                                                                              \
    GP_FN T remainder_##n(T a, T b FAULT_TO) {                                                     \
        if (b == 0) return FAULT(FAULT_DIV_ZERO), 0;                                               \
        if (b == -1) return 0;                                                                     \
        T r = a % b;                                                                               \
        return r != 0 && (r ^ b) < 0 ? r + b : r;                                                  \
    }                                                                                              \
    GP_FN T trunc_divide_##n(T a, T b FAULT_TO) {                                                  \
        if (b == 0) return FAULT(FAULT_DIV_ZERO), 0;                                               \
        return b == -1 ? (T)(0 - (uint64_t)a) : a / b;                                             \
    }                                                                                              \
    GP_FN T fmod_##n(T a, T b FAULT_TO) {                                                          \
        if (b == 0) return FAULT(FAULT_DIV_ZERO), 0;                                               \
        return b == -1 ? 0 : a % b;                                                                \
    }                                                                                              \
    /* All bits are gone after as many places as there are; a negative count counts as that. */    \
    GP_FN T left_shift_##n(T a, T b) {                                                             \
        T s = b & (T)(8 * sizeof(T) - 1);                                                          \
        return s == b ? (T)((uint64_t)a << s) : 0;                                                 \
    }                                                                                              \
    GP_FN T right_shift_##n(T a, T b) {                                                            \
        T most = (T)(8 * sizeof(T) - 1), s = b & most;                                             \
        return a >> (s == b ? s : most);                                                           \
    }                                                                                              \
    GP_FN T pow_##n(T a, T b FAULT_TO) {                                                           \
        if (b < 0 && a != 1 && a != -1) return FAULT(FAULT_NEG_POW), 0;                            \
        uint64_t r = 1, base = (uint64_t)a;                                                        \
        for (uint64_t e = b < 0 ? (uint64_t)(-(b % 2)) : (uint64_t)b; e; e >>= 1) {                \
            if (e & 1) r *= base;                                                                  \
            base *= base;                                                                          \
        }                                                                                          \
        return (T)r;                                                                               \
    }
INT_HELPERS(int32_t, i32)
INT_HELPERS(int64_t, i64)

#endif
