/* Formulas of ops.def composed of ops. */
#ifndef GP_FORMULA_H
#define GP_FORMULA_H

#include "tensor/autograd/grad.h"

/* What the letters of a formula stand for: tensors or numbers (their .f). The first is the
 * gradient, a tensor. */
typedef struct gp_formula_vars {
    int n;
    char name[GP_MAX_ARGS];
    gp_value value[GP_MAX_ARGS];
} gp_formula_vars;

/* Adds a variable: a tensor, or a number of any kind. */
void gp_formula_set(gp_formula_vars *vars, char name, gp_value value);

/* Whether every function in the formula is an op. */
bool gp_formula_composes(const char *text);
/* Computes the formula: a tensor that v keeps, NULL with a message. */
gp_tensor *gp_formula(gp_vjp *v, const char *text, const gp_formula_vars *vars);

#endif
