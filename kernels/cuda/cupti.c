/* Opens CUPTI for profile/cupti.c, which may not know of libs.h. */
#include "tensor/device_cuda.h"
#include "tensor/error.h"
#if __has_include("kernels/cuda/libs.h")
#include "kernels/cuda/libs.h"

bool gp_cuda_cupti(const char *const *names, int n, void **table) {
    return gp_lib_functions(GP_LIB_cupti, "profile", names, n, 0, table);
}
#else
bool gp_cuda_cupti(const char *const *names, int n, void **table) {
    return gp_fail("this build does not look for it");
}
#endif
