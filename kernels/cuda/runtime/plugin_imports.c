/* The program's functions under their own names, for the plug-in's sources: each goes through the
 * table that the program passed. */
#include <stdarg.h>
#include <stdio.h>

#include "tensor/device/plugin_api.h"
#include "kernels/cuda/runtime/device.h"

static const gp_core *core;
const gp_op *gp_ops;
gp_hooks *gp_hook_at;
gp_flag *gp_interrupted_at;

bool gp_core_import(const gp_core *table) {
    if (table->hash != gp_core_hash()) return false;
    core = table;
    gp_ops = core->ops;
    gp_hook_at = core->hook;
    gp_interrupted_at = core->interrupted;
    return true;
}

bool gp_fail(const char *fmt, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return core->fail(text);
}

#define FN(type, name, params, args)                                                               \
    type name params { return core->name args; }
#include "tensor/device/plugin_functions.def"
