/* Fills the table through which the CUDA plug-in reaches the program. */
#include "tensor/device/plugin_api.h"

static bool fail(const char *text) { return gp_fail("%s", text); }

const gp_core *gp_core_table(void) {
    static gp_core core;
    core = (gp_core){
        .hash = gp_core_hash(),
        .fail = fail,
        .ops = gp_ops,
        .hook = &gp_hook,
        .interrupted = &gp_interrupted,
#define FN(type, name, params, args) .name = name,
#include "tensor/device/plugin_functions.def"
    };
    return &core;
}
