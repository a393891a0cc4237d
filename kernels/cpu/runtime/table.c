/* The CPU kernels by op id, once per instruction set; and the choice among the sets at start. */
#include "kernels/cpu/runtime/isa.h"
#include "kernels/cpu/runtime/kernel.h"

#define ROW(n) bool CPU(n)(const gp_call *c);
#define VIEW(...) /* needs none */
#include "tensor/ops/table/ops.def"
#define GRAD_ROW(n, ...) bool CPU(n)(const gp_call *c);
#include "tensor/autograd/grad_rows.h"

extern const gp_kernel GP_NAME(gp_kernels)[GP_OPS];
const gp_kernel GP_NAME(gp_kernels)[GP_OPS] = {
#define ROW(n) [OP_##n] = CPU(n),
#define VIEW(...) /* needs none */
#include "tensor/ops/table/ops.def"
#define GRAD_ROW(n, ...) [OP_##n] = CPU(n),
#include "tensor/autograd/grad_rows.h"
};

#ifdef GP_ISA_base
#if defined(GP_HAS_v3) || defined(GP_HAS_v4)
extern const gp_kernel gp_kernels_v3[GP_OPS], gp_kernels_v4[GP_OPS];
bool gp_has_amx_v4(void), gp_has_pairs_v4(void);
/* The best that was built, that the processor can do and that GPUSH_ISA allows. */
static const gp_kernel *choose(void) {
    __builtin_cpu_init(); /* constructors may come before libgcc's own */
    gp_isa most = gp_isa_most();
#ifdef GP_HAS_v4
    if (gp_isa_v4() && most >= GP_ISA_V4) return gp_kernels_v4;
#endif
#ifdef GP_HAS_v3
    if (gp_isa_v3() && most >= GP_ISA_V3) return gp_kernels_v3;
#endif
    return gp_kernels_base;
}

#else
static const gp_kernel *choose(void) { return gp_kernels_base; }
#endif

const char *gp_cpu_level(void) {
#ifdef GP_HAS_v4
    if (gp_cpu_kernels == gp_kernels_v4) return "v4";
#endif
#ifdef GP_HAS_v3
    if (gp_cpu_kernels == gp_kernels_v3) return "v3";
#endif
#ifdef GP_QUICK_BASE
    return "base, not optimised";
#else
    return "base";
#endif
}

const char *gp_cpu_bf16(void) {
#ifdef GP_HAS_v4
    if (gp_cpu_kernels == gp_kernels_v4)
        return gp_has_amx_v4() ? "AMX" : gp_has_pairs_v4() ? "AVX512-BF16" : NULL;
#endif
    return NULL;
}

/* The core does not know its kernels: they register before main, and so before any op runs. */
__attribute__((constructor)) static void register_kernels(void) { gp_cpu_kernels = choose(); }

gp_ctype gp_compute_type(gp_dtype dt) {
    static const uint8_t ct[GP_DTYPES] = {
        [GP_bool] = GP_CT_i32, [GP_u8] = GP_CT_i32,  [GP_i8] = GP_CT_i32,  [GP_i16] = GP_CT_i32,
        [GP_i32] = GP_CT_i32,  [GP_i64] = GP_CT_i64, [GP_f16] = GP_CT_f32, [GP_bf16] = GP_CT_f32,
        [GP_f32] = GP_CT_f32,  [GP_f64] = GP_CT_f64,
    };
    return (gp_ctype)ct[dt];
}
#endif
