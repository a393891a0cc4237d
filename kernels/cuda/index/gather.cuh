/* Random access by index tensors: an index becomes a byte offset. Ops describe the dims of what
 * they move over an array, a flat side and their indices. */
#ifndef GP_CUDA_GATHER_CUH
#define GP_CUDA_GATHER_CUH

#include "kernels/cuda/runtime/loop.cuh"
#include "tensor/ops/layout/layout.h"

/* The faults of an index; GP_INDEX_TEXTS. */
enum { GP_OUT_OF_RANGE = 1, GP_OUT_OF_NOTHING = 2, GP_OUT_OF_ONE = 3 };

/* The CPU's messages for op `name`, as gp_cuda_fault takes them. */
#define GP_INDEX_TEXTS(name)                                                                       \
    static const char *const texts_##name[] = {                                                    \
        #name ": index %1$lld is out of range for dim %2$lld of size %3$lld (expected 1 to "       \
              "%3$lld, or -%3$lld to -1)",                                                         \
        #name ": index %1$lld is out of range for dim %2$lld of size 0 (it is empty: there is "    \
              "nothing to index)",                                                                 \
        #name ": index %1$lld is out of range for dim %2$lld of size 1 (expected 1 or -1)"};

/* An index over `dim` (from 1, for messages) of an array with `size` elements there, `step` bytes
 * apart. ready: the index is already a byte offset, -1 if it was bad. Where counted, indices are 1
 * to size only, and `skipped`, if not 0, is an index that is left out. */
typedef struct gp_dim_index {
    gp_dtype dtype;
    bool ready, counted;
    int64_t dim, size, step, skipped;
    gp_fault_at fault;
    uint32_t *bad; /* set to 1 where an index is bad; NULL: unused */
} gp_dim_index;

/* Sets *at to the byte offset of index v; false where there is none. */
__device__ static inline bool gp_offset_of_index(const gp_dim_index &k, int64_t v, int64_t *at) {
    int64_t i = v < 0 && !k.counted ? v + k.size : (int64_t)((uint64_t)v - 1);
    if (k.counted && k.skipped && v == k.skipped) return false;
    if ((uint64_t)i >= (uint64_t)k.size) {
        gp_fault_note(k.fault,
                      k.counted || k.size > 1 ? GP_OUT_OF_RANGE
                      : k.size                ? GP_OUT_OF_ONE
                                              : GP_OUT_OF_NOTHING,
                      v, k.counted ? k.size : k.dim, k.size);
        if (k.bad) *k.bad = 1;
        return false;
    }
    *at = i * k.step;
    return true;
}

/* The same of v as it is in memory, an index or an offset; and of the one at p. */
__device__ static inline bool gp_index_offset(const gp_dim_index &k, int64_t v, int64_t *at) {
    if (!k.ready) return gp_offset_of_index(k, v, at);
    if ((*at = v) >= 0) return true;
    if (k.bad) *k.bad = 1;
    return false;
}
__device__ static inline bool gp_index_offset(const gp_dim_index &k, const char *p, int64_t *at) {
    return gp_index_offset(k, gp_load_as<int64_t>(p, k.ready ? GP_i64 : k.dtype), at);
}

/* Dims of what is moved: their strides (elements) in the indexed array, and the dim of the index's
 * shape that each one is; -1: none. */
typedef struct gp_index_dims {
    int ndim;
    int64_t dim[GP_MAX_DIM], x[GP_MAX_DIM];
    int position[GP_MAX_DIM];
} gp_index_dims;

/* The operands of an op over an index; index is broadcast to a shape of ndim dims, which places in
 * the layout refer to. */
typedef struct gp_indexed {
    gp_index_dims l;
    gp_dim_index over;
    gp_array index;
    int ndim;
} gp_indexed;

/* The layouts of the ops, over x (the one read, or the one written). False with a message. along:
 * gather, scatter: an index of x's dims; d the dim from 0. one, such as index_select: a 1-d index,
 * argument 2, in place of dim d. tuples: gather_nd, scatter_nd: indices (argument 1) hold tuples in
 * their last dim. by_indices: index, index_put: a list of index tensors in argument 1, their dims
 * in argument dims_at. flat: x (contiguous) as one dim. */
bool gp_indexed_along(const gp_call *c, const gp_array *x, const gp_array *index, int d,
                      const char *const *texts, gp_indexed *p);
bool gp_indexed_one(const gp_call *c, const gp_array *x, int d, const char *const *texts,
                    gp_indexed *p);
bool gp_indexed_tuples(const gp_call *c, const gp_array *x, int batch, const char *const *texts,
                       gp_indexed *p);
bool gp_indexed_by_list(const gp_call *c, const gp_array *x, int dims_at, const char *const *texts,
                        gp_indexed *p);
void gp_indexed_flat(const gp_call *c, const gp_array *x, const gp_array *index,
                     const char *const *texts, gp_indexed *p);

/* Arrays with l's dims: a's memory with the strides of x; the flat side broadcast to them; the
 * index. */
gp_array gp_lay_x(const gp_index_dims *l, const gp_array *a);
gp_array gp_lay_flat(const gp_index_dims *l, const gp_array *a);
gp_array gp_lay_index(const gp_indexed *p);

/* Notes bad indices, before anything is written, or where nothing is. */
bool gp_cuda_check_index(const gp_call *c, const gp_indexed *p);
/* out (the flat side) = x at the indices. */
bool gp_cuda_gather(const gp_call *c, const gp_indexed *p, const gp_array *x, const gp_array *out);

#endif
