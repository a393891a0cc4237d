/* Dense arrays for libraries. */
#include "kernels/cuda/runtime/dense.h"

bool gp_cuda_dense(const gp_call *c, const gp_array *x, gp_dtype dt, gp_array *to) {
    *to = *x;
    if (x->contiguous && x->dtype == dt && gp_cuda_aligned(x->data)) return true;
    *to = gp_dense_over(NULL, dt, x->ndim, x->dim);
    to->data = (char *)gp_cuda_scratch(c, (size_t)to->numel * gp_dtype_size(dt));
    return to->data && gp_cuda_copy_array(c, to, x);
}
