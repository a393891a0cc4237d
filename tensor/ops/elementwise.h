/* What single rows of formulas check beside their rule, named in their columns check and settle:
 * false with a message where the formula does not take the arguments of c. */
#ifndef GP_OPS_ELEMENTWISE_H
#define GP_OPS_ELEMENTWISE_H

#include "tensor/op.h"

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

#endif
