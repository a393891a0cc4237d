/* Settings of NVIDIA's libraries, by name, for the program that switches them; and two figures that
 * scripts/dev/gpu-check asks for in the same way. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/elementwise/launch_add.h"
#include "kernels/cuda/runtime/libs.h"
#include "kernels/cuda/runtime/plans.h"
#include "tensor/device/device.h"
#include "tensor/device/plugin_api.h"

static void find_open(gp_device *dev, void *found) {
    gp_device **to = found;
    if (!*to && !strcmp(dev->vt->kind, "cuda")) *to = dev;
}

static int ascending(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Nanoseconds of the host for a launch by CUDA alone, on the first CUDA device that is open: the
 * median of nine times a hundred, which is less than a queue holds. -1: none is open, or it
 * fails. */
static int launch_ns(void) {
    enum { TIMES = 9, LAUNCHES = 100 };
    uint64_t ns[TIMES];
    gp_device *dev = NULL;
    gp_device_each(find_open, &dev);
    if (!dev) return -1;
    gp_call c = {.op = GP_OP(add), .stream = dev->streams[0]};
    for (int i = 0; i < TIMES; i++) {
        uint64_t begun = gp_now_ns();
        for (int k = 0; k < LAUNCHES; k++)
            if (!gp_cuda_launch_add(&c)) return -1;
        ns[i] = gp_now_ns() - begun;
    }
    qsort(ns, TIMES, sizeof *ns, ascending);
    return (int)(ns[TIMES / 2] / LAUNCHES);
}

__attribute__((visibility("default"))) int gp_cuda_setting(const char *name, int value) {
    if (!strcmp(name, "launch_ns")) return launch_ns();
    int *number = !strcmp(name, "svd_driver")      ? &gp_libs.svd_driver
                  : !strcmp(name, "svd_used")      ? &gp_libs.svd_used
                  : !strcmp(name, "conv_elements") ? &gp_libs.conv_elements
                  : !strcmp(name, "plans_made")    ? &gp_plans_made
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
