/* Gives profile/cuda functions of the plug-in's runtime, which it may not call itself. */
#include "kernels/cuda/runtime/device.h"
#include "kernels/cuda/runtime/libs.h"

static bool cupti_functions(const char *const *names, int n, int optional, void **table) {
    return gp_lib_functions(GP_LIB_cupti, "profile", names, n, optional, table);
}

static void *stream_of(const gp_stream *s) { return gp_cuda_queue(s)->stream; }

void gp_cuda_watch_open(void) {
    static const gp_cuda_runtime runtime = {
        .cupti = cupti_functions,
        .enter = gp_cuda_enter,
        .stream = stream_of,
        .event_acquire = gp_cuda_event_acquire,
        .event_release = gp_cuda_event_release,
        .event_ns = gp_cuda_event_ns,
        .called = gp_cuda_called,
    };
    gp_cuda_cupti_open(&runtime);
}
