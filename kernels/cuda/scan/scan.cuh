/* What scans share: the lines along a dim, and values of other lanes. */
#ifndef GP_CUDA_SCAN_CUH
#define GP_CUDA_SCAN_CUH

#include "kernels/cuda/runtime/rows.cuh"

/* Arrays: 0 the result, 1 x, 2 indices (the result again where there are none). */
typedef struct gp_scan_job {
    gp_loop<3> lines; /* without the dim */
    gp_dtype to, from;
    int64_t n, step[3]; /* the dim's size; bytes between its elements */
    int parts;
    void *totals; /* of each line's parts; then the totals before each */
} gp_scan_job;

/* The start of line `line`. */
__device__ static inline void gp_scan_line(const gp_scan_job &s, uint32_t line, char **p) {
    int64_t off[3];
    gp_offsets(s.lines, line, off);
    for (int k = 0; k < 3; k++) p[k] = s.lines.data[k] + off[k];
}

/* Lane `from`'s v, or, relative, that of the lane `from` lanes before this one (this one's where
 * there is none). Called by all of the warp. */
template <class A> __device__ static inline A gp_lane_value(A v, int from, bool relative) {
    enum { WORDS = (sizeof(A) + 7) / 8 };
    unsigned long long word[WORDS] = {};
    memcpy(word, &v, sizeof v);
#pragma unroll
    for (int k = 0; k < WORDS; k++)
        word[k] = relative ? __shfl_up_sync(0xffffffffu, word[k], (unsigned)from)
                           : __shfl_sync(0xffffffffu, word[k], from);
    memcpy(&v, word, sizeof v);
    return v;
}

#endif
