/* Shape and dtype rules: one for each kind of row, and infer_NAME for structural ops. */
#ifndef GP_INFER_H
#define GP_INFER_H

#include "tensor/op.h"

/* Rules of the kinds of rows. */
bool infer_unary(gp_call *c, gp_meta *m);
bool infer_param(gp_call *c, gp_meta *m);
bool infer_param3(gp_call *c, gp_meta *m);
bool infer_binary(gp_call *c, gp_meta *m);
bool infer_compare(gp_call *c, gp_meta *m);
bool infer_ternary(gp_call *c, gp_meta *m);
bool infer_reduce(gp_call *c, gp_meta *m);
bool infer_grad(gp_call *c, gp_meta *m);

#define RANDOM(n, ...) bool infer_##n(gp_call *c, gp_meta *m);
#define CUSTOM(n, ...) bool infer_##n(gp_call *c, gp_meta *m);
#define VIEW(n, ...) bool view_##n(gp_call *c);
#include "tensor/ops/table/ops.def"

/* ---- for the writers of rules ----
 * What gives bool here is false with a message that names the op and the argument, and what gives a
 * pointer is NULL likewise. Only gp_infer_dense, _values and _offsets make tensors; none waits. */

/* The device of all tensor arguments; NULL when they differ. */
gp_device *gp_infer_device(const gp_call *c);
/* Output i has x's shape (or `shape`) and dtype dt; sets m->n = i + 1 and m->dev from x. */
void gp_meta_like(gp_meta *m, int i, const gp_tensor *x, gp_dtype dt);
/* The dims in argument i (absent: all; empty: all, or none as the op's row says) as a bit mask;
 * false on a bad or repeated dim. */
bool gp_infer_dims(const gp_call *c, int i, int ndim, uint64_t *mask);
/* The dim in argument i (absent: fallback), 0-based in *d; the argument is then counted from 1.
 * False where x has no such dim. */
bool gp_infer_dim(gp_call *c, int i, int64_t fallback, int *d);
/* s: the shape of x without the dims in mask, or with them as size 1 where kept. True where one of
 * them has size 0. */
bool gp_infer_reduced(const gp_tensor *x, uint64_t mask, bool keep, gp_shape *s);
/* The shape that tensor arguments first … first + n - 1 broadcast to; false when they do
 * not. */
bool gp_infer_broadcast(const gp_call *c, int first, int n, gp_shape *s);
/* Makes argument i contiguous as the next temporary: a copy, or the tensor itself if it is
 * contiguous. False when memory is short. */
bool gp_infer_dense(gp_call *c, int i);
/* Optional bool argument i, false by default. */
static inline bool gp_arg_bool(const gp_call *c, int i) { return gp_given(c, i) && c->arg[i].i; }
/* The dtype of argument i, or fallback. */
gp_dtype gp_arg_dtype(const gp_call *c, int i, gp_dtype fallback);
/* The device of argument i, or the default one. */
gp_device *gp_arg_device(const gp_call *c, int i);
/* The shape in argument i; false where a size is negative, or the elements are too many. */
bool gp_arg_shape(const gp_call *c, int i, gp_shape *s);
/* Promoted dtype of a call's tensor and number arguments first … first + n - 1, PyTorch's rule:
 * dimensioned tensors before 0-d ones before numbers. */
gp_dtype gp_infer_promote(const gp_call *c, int first, int n);
/* False unless dt is in set. */
bool gp_infer_check(const gp_call *c, const char *arg, gp_dtype dt, uint32_t set);

/* Checks dt, the operands' dtype after promotion, with the row's types; sets c->compute and the
 * result's dtype. False where the row does not take dt. */
bool gp_infer_compute(gp_call *c, gp_dtype dt, gp_dtype *out);

/* False unless tensor argument i is a mask. */
bool gp_infer_mask(const gp_call *c, int i, const char *arg);
/* False unless tensor t holds integers (indices). */
bool gp_infer_index(const gp_call *c, const char *arg, const gp_tensor *t);
/* Whether dt can represent the number in argument i. Integers truncate fractions but have no
 * infinities or NaN; bool takes any. */
bool gp_infer_number(const gp_call *c, int i, const char *arg, gp_dtype dt);
/* Values to be written into a tensor of dtype dt: tensor argument i, converted into c->tmp[at]
 * (which becomes the last one) where its dtype differs. False when they are of a higher kind.
 * Kernels call gp_values. */
bool gp_infer_values(gp_call *c, int i, gp_dtype dt, int at);
/* Makes an i64 temporary of shape s, c->tmp[0], for the kernel's byte offsets. False when memory is
 * short. */
bool gp_infer_offsets(gp_call *c, const gp_meta *m, const gp_shape *s);
/* For gather and scatter: dim (argument 1, then counted from 1) of x, and an index (argument 2)
 * with x's number of dims that fits in x but for dim. Sets m->dev. False where they do
 * not fit. */
bool gp_infer_along(gp_call *c, gp_meta *m, int *d);
/* The shape and checks of gather_nd and scatter_nd: indices (argument 1) is (batch dims, any dims,
 * depth), x's batch dims match, its next depth dims are indexed, the rest are kept.
 * False where they do not match. */
bool gp_infer_tuples(gp_call *c, gp_meta *m, int64_t batch, gp_shape *s);
/* The shape of x[indices] (argument 1, a list; their dims in argument dims_at): NumPy's rule, see
 * gp_index_position. Makes the temporary for offsets; sets m->dev. False where the indices do not
 * broadcast, or there are more than dims. */
bool gp_infer_indexed(gp_call *c, gp_meta *m, int dims_at, gp_shape *out);
/* How values are written at indices; scatter's `reduce`. */
typedef enum gp_scatter_op { GP_ASSIGN, GP_ADD, GP_MUL, GP_MIN, GP_MAX, GP_MEAN } gp_scatter_op;
/* Among arguments first … first + n - 1, 0-d cpu tensors become numbers where tensors of another
 * device are present: their values are in host memory, so nothing waits but for a fork on the cpu
 * that still computes one. False with a message where that wait fails. */
bool gp_infer_zero_dim(gp_call *c, int first, int n);

#ifndef __cplusplus
/* Defaults of this thread for new tensors: gpush.default_device, gpush.default_dtype. */
extern _Thread_local gp_device *gp_default_device; /* NULL: cpu */
extern _Thread_local gp_dtype gp_default_dtype;    /* f32 */
#endif

/* Whether b is one right-hand side of the equations of a (or a batch of them), not matrices:
 * PyTorch's rule. */
bool gp_infer_vector(const gp_shape *a, const gp_shape *b);

#endif
