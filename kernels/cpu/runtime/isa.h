/* What the processor can do, in x86-64's levels. */
#ifndef GP_CPU_ISA_H
#define GP_CPU_ISA_H

#include <stdbool.h>

/* clang 14 knows no levels: these are the parts of each that it can ask for. */
static inline bool gp_isa_v3(void) {
#if defined(__clang__)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
#else
    return __builtin_cpu_supports("x86-64-v3");
#endif
}
static inline bool gp_isa_v4(void) {
#if defined(__clang__)
    return gp_isa_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl");
#else
    return __builtin_cpu_supports("x86-64-v4");
#endif
}

/* How the chosen kernels multiply bf16: "AMX", "AVX512-BF16", or NULL for a conversion to f32. */
const char *gp_cpu_bf16(void);

#endif
