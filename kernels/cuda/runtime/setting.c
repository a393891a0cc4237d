/* Settings of NVIDIA's libraries, by name, for the program that switches them. */
#include <string.h>

#include "kernels/cuda/runtime/libs.h"
#include "tensor/device/plugin_api.h"

__attribute__((visibility("default"))) int gp_cuda_setting(const char *name, int value) {
    int *number = !strcmp(name, "svd_driver")      ? &gp_libs.svd_driver
                  : !strcmp(name, "svd_used")      ? &gp_libs.svd_used
                  : !strcmp(name, "conv_elements") ? &gp_libs.conv_elements
                                                   : NULL;
    if (number && value >= 0) *number = value;
    if (number) return *number;
    bool *at = !strcmp(name, "tf32")            ? &gp_libs.tf32
               : !strcmp(name, "deterministic") ? &gp_libs.deterministic
               : !strcmp(name, "benchmark")     ? &gp_libs.benchmark
                                                : NULL;
    if (!at) return -1;
    if (value >= 0) *at = value;
    return *at;
}
