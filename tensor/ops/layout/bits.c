/* bitcast: the same bytes as elements of another dtype, without a copy. Source of the rule for
 * dtypes of other sizes: numpy.ndarray.view, where the last dim becomes longer or shorter. */
#include <string.h>

#include "tensor/infer.h"

/* Sets the last dim of s, in elements of `to` bytes instead of `from`, and strides likewise. */
static bool resize(const gp_array *x, int64_t from, int64_t to, gp_shape *s, int64_t *stride) {
    int last = s->ndim - 1;
    if (last < 0)
        return gp_fail("bitcast: a scalar of %lld bytes is no element of %lld", (long long)from,
                       (long long)to);
    if (x->dim[last] != 1 && stride[last] != 1)
        return gp_fail("bitcast: the elements of the last dim lie %lld apart (expected 1; use "
                       ":contiguous() first)",
                       (long long)stride[last]);
    if (s->dim[last] * from % to)
        return gp_fail("bitcast: the last dim has %lld elements of %lld bytes, which are no whole "
                       "number of %lld bytes",
                       (long long)s->dim[last], (long long)from, (long long)to);
    s->dim[last] = s->dim[last] * from / to;
    stride[last] = 1;
    for (int i = 0; i < last; i++) {
        if (x->numel && s->dim[i] != 1 && stride[i] * from % to)
            return gp_fail("bitcast: the elements of dim %d lie %lld bytes apart, no whole number "
                           "of %lld",
                           i + 1, (long long)stride[i] * from, (long long)to);
        stride[i] = stride[i] * from / to;
    }
    return true;
}

bool view_bitcast(gp_call *c) {
    gp_tensor *x = c->arg[0].t;
    gp_dtype dt = gp_arg_dtype(c, 1, (gp_dtype)x->a.dtype);
    int64_t from = (int64_t)gp_dtype_size((gp_dtype)x->a.dtype), to = (int64_t)gp_dtype_size(dt);
    gp_shape s = gp_tensor_shape(x);
    int64_t stride[GP_MAX_DIM];
    memcpy(stride, x->a.stride, sizeof stride);
    if (dt == GP_bool && x->a.dtype != GP_bool)
        return gp_fail("bitcast: bytes of %s may be neither true nor false (expected another dtype "
                       "than bool)",
                       gp_dtype_name((gp_dtype)x->a.dtype));
    if (from != to && !resize(&x->a, from, to, &s, stride)) return false;
    if (x->a.numel && (uintptr_t)x->a.data % (uintptr_t)to)
        return gp_fail("bitcast: the first element lies at an address that is no multiple of %lld",
                       (long long)to);
    gp_tensor *t = gp_tensor_view(x, &s, stride, 0);
    if (!t) return false;
    t->a.dtype = (uint8_t)dt;
    c->out[c->nout++] = t;
    return true;
}
