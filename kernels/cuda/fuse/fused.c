/* Programs are not compiled for CUDA yet: gp_program_run runs their single ops there. */
#include "kernels/cuda/runtime/kernel.h"

bool CUDA(fused)(const gp_call *c) {
    return gp_fail("%s: programs of fused ops have no kernel on cuda", c->name);
}
