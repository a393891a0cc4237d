/* The op table: the rows of ops.def as gp_op, each with the rules of its kind and the columns that
 * it names; then the ops that compute the derivatives of formulas. */
#include "tensor/autograd/grad.h"
#include "tensor/cost.h"
#include "tensor/infer.h"
#include "tensor/ops/elementwise.h"
#include "tensor/ops/norm.h"
#include "tensor/ops/rnn/rnn.h"

/* The words in the types column, and in .accepts. */
#define FLOAT (GP_SET_FLOAT | GP_T_TOFLOAT)
#define FLOATS GP_SET_FLOAT
#define HALF (GP_BIT(GP_f16) | GP_BIT(GP_bf16))
#define REAL (GP_SET_FLOAT | GP_SET_INT)
#define ALL (REAL | GP_SET_BOOL)
#define INTS (GP_SET_INT | GP_SET_BOOL)
#define WHOLE GP_SET_INT
#define SUM (ALL | GP_T_WIDEN)
#define TEST (ALL | GP_T_BOOL)

_Static_assert(GP_BIT(GP_DTYPES - 1) < GP_T_TOFLOAT, "gp_op.types: dtypes below the GP_T_ bits");
_Static_assert(GP_OPS <= UINT16_MAX, "gp_op holds ids in 16 bits");

/* Columns of several fields. */
#define COST(family, fn, ...)                                                                      \
    { GP_FAMILY_##family, gp_cost_##fn, __VA_ARGS__ }

static gp_op_known known[GP_OPS]; /* what is worked out about each, and kept */

/* The operands of a formula, for readers of its text; of a derivative first g. */
#define VARS_X "gxy"
#define VARS_AB "gaby"
#define VARS_ABC "gabcy"
#define VARS_M "gxymo"

/* clang-format off */
#define ENTRY(n, s, doc, k, ...) \
    [OP_##n] = {.name = #n, .sig = s, .help = doc, .id = OP_##n, .kind = k, \
                .known = &known[OP_##n], __VA_ARGS__},
#define DOMAIN(l, h) .lo = l, .hi = h
#define FORMULA(v, f) .vars = v, .formula = #f
#define GRADS(first, n) .rule = &gp_rule_elementwise, .grad = OP_##first, .ngrads = n
#define RULE_vjp(n) .rule = &vjp_##n
#define RULE_none(n) .rule = &gp_rule_none
#define RULE_once(n) .rule = &gp_rule_once
const gp_op gp_ops[GP_OPS] = {
#define UNARY(n, ty, y, dx, l, h, doc, ...) \
    ENTRY(n, "tensor! x", doc, GP_UNARY, .ntensors = 1, .types = ty, DOMAIN(l, h), \
          FORMULA("x", y), .infer = infer_unary, GRADS(n##_dx, 1), __VA_ARGS__)
#define PARAM(n, ty, s, y, dx, doc, ...) \
    ENTRY(n, "tensor! x, " s, doc, GP_PARAM, .ntensors = 1, .types = ty, DOMAIN(-2, 2), \
          FORMULA("x", y), .infer = infer_param, GRADS(n##_dx, 1), __VA_ARGS__)
#define PARAM3(n, ty, s, y, da, db, dc, doc, ...) \
    ENTRY(n, "operand! a, operand b, operand c, " s, doc, GP_PARAM, .ntensors = 3, .types = ty, \
          DOMAIN(-2, 2), FORMULA("abc", y), .infer = infer_param3, GRADS(n##_da, 3), __VA_ARGS__)
#define PREDICATE(n, ty, y, doc, ...) \
    ENTRY(n, "tensor! x", doc, GP_UNARY, .ntensors = 1, .types = ty | GP_T_BOOL, DOMAIN(-2, 2), \
          FORMULA("x", y), .infer = infer_unary, __VA_ARGS__)
#define BINARY(n, ty, y, da, db, doc, ...) \
    ENTRY(n, "operand! a, operand b", doc, GP_BINARY, .ntensors = 2, .types = ty, \
          DOMAIN(0.1, 3), FORMULA("ab", y), .infer = infer_binary, GRADS(n##_da, 2), __VA_ARGS__)
#define COMPARE(n, ty, y, doc, ...) \
    ENTRY(n, "operand! a, operand b", doc, GP_COMPARE, .ntensors = 2, .types = ty | GP_T_BOOL, \
          DOMAIN(-2, 2), FORMULA("ab", y), .infer = infer_compare, __VA_ARGS__)
#define TERNARY(n, ty, y, da, db, dc, doc, ...) \
    ENTRY(n, "operand! a, operand b, operand c", doc, GP_TERNARY, .ntensors = 3, .types = ty, \
          DOMAIN(-2, 2), FORMULA("abc", y), .infer = infer_ternary, GRADS(n##_da, 3), __VA_ARGS__)
#define REDUCE(n, ty, st, co, fi, ba, doc, ...) \
    ENTRY(n, "tensor x, dims? dim, bool keepdim=false, dtype? dtype", doc, GP_REDUCE, \
          .types = ty, DOMAIN(0.5, 2), .start = #st, .formula = #co, .finish = #fi, \
          .infer = infer_reduce, .rule = &gp_rule_reduce, .grad = OP_##n##_dx, .ngrads = 1, \
          __VA_ARGS__)
#define VIEW(n, gradient, s, doc, ...) \
    ENTRY(n, s, doc, GP_VIEW, .types = ALL, DOMAIN(-2, 2), .view = view_##n, RULE_##gradient(n), \
          __VA_ARGS__)
#define RANDOM(n, gradient, s, doc, ...) \
    ENTRY(n, s, doc, GP_CUSTOM, .random = true, .types = ALL, DOMAIN(0, 1), .infer = infer_##n, \
          RULE_##gradient(n), __VA_ARGS__)
#define CUSTOM(n, gradient, s, doc, ...) \
    ENTRY(n, s, doc, GP_CUSTOM, .types = ALL, DOMAIN(-2, 2), .infer = infer_##n, \
          RULE_##gradient(n), __VA_ARGS__)
#include "tensor/ops/table/ops.def"
#define GRAD_ROW(n, ty, nin, v, f, row) \
    ENTRY(n, "", "", GP_GRAD, FORMULA(v, f), .ntensors = nin, .types = FLOATS, \
          .infer = infer_grad, .rule = &gp_rule_formula, .of = OP_##row)
#include "tensor/autograd/grad_rows.h"
};
/* clang-format on */
