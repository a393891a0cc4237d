/* What single rows of formulas check beside their rule, named in their columns check and settle:
 * false with a message where the formula does not take the arguments of c. */
#ifndef GP_OPS_ELEMENTWISE_H
#define GP_OPS_ELEMENTWISE_H

#include "tensor/op.h"

/* What a step of a fused program computes in its loop: the formula of its row, or one of these. */
typedef enum gp_fuse_form {
    GP_FUSE_NONE,    /* an elementwise row; no other row is fused */
    GP_FUSE_CONVERT, /* to another dtype */
    GP_FUSE_WHERE,
    GP_FUSE_DROP /* argument 1 is p, 2 whether anything is dropped */
} gp_fuse_form;

/* A formula over named operands, a letter each. */
typedef struct gp_step_text {
    const char *vars, *formula; /* formula NULL: the step cannot be written as C */
} gp_step_text;

/* Before the rule: they may change *dt, the dtype of the first operand that counts. */
bool gp_check_square(gp_call *c, gp_dtype *dt);
bool gp_check_softsign(gp_call *c, gp_dtype *dt);
bool gp_check_clamp(gp_call *c, gp_dtype *dt);
bool gp_check_hardtanh(gp_call *c, gp_dtype *dt);
bool gp_check_softshrink(gp_call *c, gp_dtype *dt);
bool gp_check_celu(gp_call *c, gp_dtype *dt);
bool gp_check_polygamma(gp_call *c, gp_dtype *dt);
bool gp_check_sub(gp_call *c, gp_dtype *dt);

/* After the rule, when c->compute is known: they may fill in arguments. dt is the dtype of the
 * operands together. */
bool gp_settle_clamp(gp_call *c, gp_dtype dt);
bool gp_settle_nan_to_num(gp_call *c, gp_dtype dt);
bool gp_settle_divisor(gp_call *c, gp_dtype dt);
bool gp_settle_exponent(gp_call *c, gp_dtype dt);
bool gp_settle_accepts(gp_call *c, gp_dtype dt);

#endif
