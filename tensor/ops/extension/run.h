/* What runs the kernels of a library's ops, for the devices' kernels of the row `extension`. */
#ifndef GP_EXTENSION_RUN_H
#define GP_EXTENSION_RUN_H

#include "tensor/op.h"

/* A parallel loop, as gpush_parallel. */
typedef void gp_extension_loop(int64_t n, int64_t grain,
                               void (*body)(void *ctx, int64_t begin, int64_t end), void *ctx);

/* Runs the library's kernel for c's device, or lets it queue on `stream`. False with a message
 * where the kernel fails. */
bool gp_extension_run(const gp_call *c, void *stream, gp_extension_loop *loop);

#endif
