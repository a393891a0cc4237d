/* Opens CUPTI for profile/cupti.c, which may not know of libs.h. */
#include "kernels/cuda/libs.h"
#include "tensor/device_cuda.h"

bool gp_cuda_cupti(const char *const *names, int n, void **table) {
    return gp_lib_functions(GP_LIB_cupti, "profile", names, n, 0, table);
}
