// A plug-in for a CUDA that the driver here is too old for: it has no device, and says so.
#include <stdio.h>

extern "C" {
__attribute__((visibility("default"))) int gp_cuda_probe(char *text, size_t size) {
    snprintf(text, size, "cuda: the driver is for an older CUDA");
    return -1;
}
__attribute__((visibility("default"))) const void *gp_cuda_open(const void *, char *why,
                                                                size_t size) {
    gp_cuda_probe(why, size);
    return nullptr;
}
}
