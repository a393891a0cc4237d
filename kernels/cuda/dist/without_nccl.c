/* Collectives on cuda where the plug-in was built without nccl.h. */
#if !__has_include(<nccl.h>)
#include "kernels/cuda/runtime/kernel.h"

static bool refused(const gp_call *c) {
    return gp_fail("%s: not on cuda: this gpush was built without NCCL's header, nccl.h (of "
                   "libnccl-dev, or of Python's nvidia-nccl-cu%d); x:to \"cpu\" first",
                   c->name, CUDART_VERSION / 1000);
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
#else
typedef int dist_has_nccl; /* ISO C forbids an empty file */
#endif
