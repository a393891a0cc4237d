/* Sorted lines along a dim: see sort.cu. */
#ifndef GP_CUDA_SORT_CUH
#define GP_CUDA_SORT_CUH

#include "kernels/cuda/sort/keys.cuh"
#include "kernels/cuda/runtime/rows.cuh"

/* Elements are numbered line by line, lines in row-major order. */
typedef struct gp_sort_lines {
    gp_loop<1> x;
    gp_dtype dt;
    uint32_t n;       /* elements of a line */
    int64_t step;     /* bytes between them */
    int bits;         /* of an element's key */
    uint64_t flip;    /* descending: keys are inverted */
    const void *keys; /* of the sorted elements, with others above them; NULL: not kept */
    int key_bytes;
} gp_sort_lines;

/* Stores the numbers of x's elements in *at (scratch memory), each line along dim d sorted; x is
 * not empty. Stable. False with a message. */
bool gp_cuda_sort_lines(const gp_call *c, const gp_array *x, int d, bool descending,
                        gp_sort_lines *s, uint32_t **at);

/* Whether gp_cuda_sort_short takes s's lines, which it sorts whole, each by one block. */
bool gp_cuda_short_lines(const gp_sort_lines *s);
bool gp_cuda_sort_short(const gp_call *c, gp_sort_lines *s, uint32_t *at);

/* The key of the element at position i of all sorted lines; s.keys are there. */
__device__ static inline uint64_t gp_kept_key(const gp_sort_lines &s, uint32_t i) {
    uint64_t key = s.key_bytes == 4 ? ((const uint32_t *)s.keys)[i] : ((const uint64_t *)s.keys)[i];
    return (key & (((uint64_t)2 << (s.bits - 1)) - 1)) ^ s.flip;
}

/* The same whether they are there or not. */
__device__ static inline uint64_t gp_line_key(const gp_sort_lines &s, const uint32_t *at,
                                              uint32_t i) {
    int64_t off[1];
    if (s.keys) return gp_kept_key(s, i);
    gp_offsets(s.x, at[i], off);
    return gp_key_at(s.x.data[0] + off[0], s.dt);
}

#endif
