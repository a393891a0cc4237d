/* Type promotion as in PyTorch's documentation of torch.result_type: stored, so that it is not
 * derived from the code under test. */
#ifndef GP_TEST_PROMOTION_H
#define GP_TEST_PROMOTION_H

#include "ops.h"

/* clang-format off */
enum {
    PB = GP_bool, PU8 = GP_u8, PI8 = GP_i8, P16 = GP_i16, P32 = GP_i32, P64 = GP_i64,
    PH = GP_f16, PBF = GP_bf16, PF = GP_f32, PD = GP_f64
};
/* clang-format on */

/* torch.promote_types(row, column), in the order bool u8 i8 i16 i32 i64 f16 bf16 f32 f64. */
static const uint8_t promoted_order[10] = {PB, PU8, PI8, P16, P32, P64, PH, PBF, PF, PD};
static const uint8_t promoted[10][10] = {
    {PB, PU8, PI8, P16, P32, P64, PH, PBF, PF, PD},
    {PU8, PU8, P16, P16, P32, P64, PH, PBF, PF, PD},
    {PI8, P16, PI8, P16, P32, P64, PH, PBF, PF, PD},
    {P16, P16, P16, P16, P32, P64, PH, PBF, PF, PD},
    {P32, P32, P32, P32, P32, P64, PH, PBF, PF, PD},
    {P64, P64, P64, P64, P64, P64, PH, PBF, PF, PD},
    {PH, PH, PH, PH, PH, PH, PH, PF, PF, PD},
    {PBF, PBF, PBF, PBF, PBF, PBF, PF, PBF, PF, PD},
    {PF, PF, PF, PF, PF, PF, PF, PF, PF, PD},
    {PD, PD, PD, PD, PD, PD, PD, PD, PD, PD},
};

static inline gp_dtype promote_of(gp_dtype a, gp_dtype b) {
    int i = 0, j = 0;
    while (promoted_order[i] != a) i++;
    while (promoted_order[j] != b) j++;
    return (gp_dtype)promoted[i][j];
}

static inline int category(gp_dtype dt) { return T_FLOAT >> dt & 1 ? 2 : T_INT >> dt & 1 ? 1 : 0; }

/* A dimensioned operand with a 0-d one or a number of dtype zero, which counts only if it is of a
 * higher category. */
static inline gp_dtype promote_beside(gp_dtype dims, gp_dtype zero) {
    return category(zero) > category(dims) ? zero : dims;
}

#endif
