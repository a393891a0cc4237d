/* Rows to be normalised: shared by the shape rules of layer_norm and similar ops and their
 * kernels. */
#ifndef GP_NORM_H
#define GP_NORM_H

#include "tensor/op.h"

/* The forms of rows of this kind: gp_op.form. */
enum { GP_NORM_LAYER, GP_NORM_GROUP, GP_NORM_RMS };

/* x as rows of n adjacent elements. Row r belongs to group r % groups, which has `a_row` of the
 * channels, each with `each` adjacent elements (0 where x is empty). A channel has a weight and a
 * bias. */
typedef struct gp_norm {
    int64_t rows, n, groups, each, channels, a_row;
    bool centred; /* the mean is subtracted (all but rms_norm) */
    double eps;
} gp_norm;

/* eps where none is given: 1's distance to the next number, that of f32 for smaller types. */
static inline double gp_norm_eps(gp_dtype dt) { return dt == GP_f64 ? 0x1p-52 : 0x1p-23; }

/* Fills k from a call whose x is argument `at` and whose sizes have been checked. */
void gp_norm_read(const gp_call *c, const gp_array *x, int at, gp_norm *k);

#endif
