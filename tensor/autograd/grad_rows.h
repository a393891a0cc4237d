/* Reads the derivative columns of ops.def: GRAD_ROW(name, types, nin, vars, formula, row) for every
 * operand of a formula. The operands of these ops are g, the operands and the result y of the row
 * (as vars says), those that the formula does not mention as the number 0; REDUCE: g, x, y, m, the
 * number of elements equal to y, and o, the product of the other elements, with n as p. */
#define UNARY(n, ty, y, dx, ...) GRAD_ROW(n##_dx, ty, 3, VARS_X, dx, n)
#define PARAM(n, ty, sig, y, dx, ...) GRAD_ROW(n##_dx, ty, 3, VARS_X, dx, n)
#define BINARY(n, ty, y, da, db, ...)                                                              \
    GRAD_ROW(n##_da, ty, 4, VARS_AB, da, n) GRAD_ROW(n##_db, ty, 4, VARS_AB, db, n)
#define TERNARY(n, ty, y, da, db, dc, ...)                                                         \
    GRAD_ROW(n##_da, ty, 5, VARS_ABC, da, n)                                                       \
    GRAD_ROW(n##_db, ty, 5, VARS_ABC, db, n) GRAD_ROW(n##_dc, ty, 5, VARS_ABC, dc, n)
#define PARAM3(n, ty, sig, y, da, db, dc, ...) TERNARY(n, ty, y, da, db, dc)
#define REDUCE(n, ty, start, combine, finish, dx, ...) GRAD_ROW(n##_dx, ty, 5, VARS_M, dx, n)
#include "tensor/ops/table/ops.def"
#undef GRAD_ROW
