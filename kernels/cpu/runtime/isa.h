/* What the processor can do, in x86-64's levels, and what kernels may use of it. */
#ifndef GP_CPU_ISA_H
#define GP_CPU_ISA_H

#include <stdbool.h>

#include "tensor/base/env.h"

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

/* The most that kernels may use, which GPUSH_ISA names: base (x86-64-v2), v3, v4, or bf16: pairs of
 * AVX512-BF16, on Intel's processors, too, without AMX. GP_ISA_ALL, without it, leaves the choice
 * to the processor. */
typedef enum gp_isa { GP_ISA_BASE, GP_ISA_V3, GP_ISA_V4, GP_ISA_BF16, GP_ISA_ALL } gp_isa;
static inline gp_isa gp_isa_most(void) {
    static const char *const names[] = {"base", "v3", "v4", "bf16"};
    int i = GP_ISA_BASE;
    while (i < GP_ISA_ALL && !gp_env_is(GP_ENV_GPUSH_ISA, names[i])) i++;
    return (gp_isa)i;
}

/* The level that the chosen kernels are compiled for: "base", "v3" or "v4"; or "base, not
 * optimised", in a build for one machine that has more. */
const char *gp_cpu_level(void);

/* How the chosen kernels multiply bf16: "AMX", "AVX512-BF16", or NULL for a conversion to f32. */
const char *gp_cpu_bf16(void);

#endif
