/* Collectives on cuda, which NCCL would run: this version has none. */
#include "kernels/cuda/runtime/kernel.h"

static bool refused(const gp_call *c) {
    return gp_fail("%s: not on cuda, which needs NCCL: this version has collectives on cpu and sim "
                   "only (x:to \"cpu\" first)",
                   c->name);
}
#define REFUSED(n)                                                                                 \
    bool CUDA(dist_##n)(const gp_call *c) { return refused(c); }
REFUSED(all_reduce)
REFUSED(reduce)
REFUSED(broadcast)
REFUSED(all_gather)
REFUSED(reduce_scatter)
REFUSED(all_to_all)
REFUSED(gather)
REFUSED(scatter)
REFUSED(send)
REFUSED(recv)
