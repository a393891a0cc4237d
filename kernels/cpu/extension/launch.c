/* Runs the kernel of a library's op on the pool's threads. */
#include "kernels/cpu/runtime/kernel.h"
#include "tensor/ops/extension/run.h"

static void loop(int64_t n, int64_t grain, gp_body body, void *ctx) {
    gp_parallel(n, grain, body, ctx);
}

bool CPU(extension)(const gp_call *c) { return gp_extension_run(c, NULL, loop); }
