/* What the CUDA plug-in uses of the program. The program's own symbols are hidden from it, so it
 * gets this table when it is opened; kernels/cuda/runtime/plugin_imports.c gives the functions
 * their usual names. */
#ifndef GP_CORE_H
#define GP_CORE_H

#include "tensor/memory/alloc.h"
#include "tensor/device/backends.h"
#include "tensor/device/stream/failure.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/ops/conv/conv.h"
#include "tensor/ops/extension/run.h"
#include "tensor/ops/finite.h"
#include "tensor/ops/norm.h"
#include "tensor/device/stream/thread.h"
#include "tensor/op.h"
#include "tensor/ops/rnn/rnn.h"
#ifndef GP_WITHOUT_CAPTURE
#include "tensor/base/process.h"
#include "tensor/fuse/object.h"
#include "tensor/fuse/source.h"
#endif
#ifndef GP_WITHOUT_DIST
#include "tensor/dist/dist.h"
#include "tensor/ops/dist.h"
#endif

typedef struct gp_core {
    uint64_t hash; /* first, in every version of this struct */
    bool (*fail)(const char *text);
    const gp_op *ops;
    gp_hooks *hook;
    gp_flag *interrupted;
#define FN(type, name, params, args) type(*name) params;
#include "tensor/device/plugin_functions.def"
} gp_core;

/* The program's table, filled in (tensor/device/plugin_api.c). */
const gp_core *gp_core_table(void);

/* Differs between builds whose ops or structs differ: a plug-in of another build must not be
 * used. */
static inline uint64_t gp_core_hash(void) {
    static const char names[] =
#define ROW(n) #n " "
#include "tensor/ops/table/ops.def"
#define GRAD_ROW(n, ...) #n " "
#include "tensor/autograd/grad_rows.h"
        ;
    const size_t sizes[] = {sizeof(gp_core),
                            sizeof(gp_op),
                            sizeof(gp_call),
                            sizeof(gp_value),
                            sizeof(gp_array),
                            sizeof(gp_tensor),
                            sizeof(gp_storage),
                            sizeof(gp_device),
                            sizeof(gp_device_vt),
                            sizeof(gp_stream),
                            sizeof(gp_event),
                            sizeof(gp_hooks),
                            GP_WHYS,
                            GP_DTYPES};
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < sizeof names; i++) h = (h ^ (unsigned char)names[i]) * 0x100000001b3u;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) h = (h ^ sizes[i]) * 0x100000001b3u;
    return h;
}

/* The plug-in's exports. Its device's functions, or NULL with the reason in why: no driver, no
 * device, or a plug-in of another build. */
typedef const gp_device_vt *gp_cuda_open_fn(const gp_core *core, char *why, size_t size);
/* The number of devices, with a line of text for each; 0 with the reason, below 0 where a driver is
 * there that cannot be used. Does not open them. */
typedef int gp_cuda_probe_fn(char *text, size_t size);
/* Library i of those that the plug-in uses, the runtime first: 1 if it can be used, with version
 * and path in text; 0 with the reason; -1: no such library. Call it after gp_cuda_open. */
typedef int gp_cuda_library_fn(int i, const char **name, char *text, size_t size);
/* Which cards the plug-in has code for, in text, and whether that device is one: 1 or 0; below 0:
 * there is none of that number. */
typedef int gp_cuda_code_fn(int device, char *text, size_t size);
/* Settings of the libraries by name: tf32, deterministic, benchmark (0 or 1), svd_driver, svd_used
 * and conv_elements (numbers); and figures: plans_made, how many plans of libraries were made, and
 * launch_ns, what a launch takes of the host by CUDA alone. value -1 only reads. Returns the value
 * then set; -1: there is none. */
typedef int gp_cuda_setting_fn(const char *name, int value);
/* The table by which linear algebra chooses its routines: text, of the form of
 * kernels/cuda/linalg/routes.def, comes in its place; "": its own again; NULL: only reads. Returns
 * how many rows it has, with where it is from in source; -1 with what is wrong there. *used: which
 * routine was chosen last, NULL at first. */
typedef int gp_cuda_routes_fn(const char *text, char *source, size_t size, const char **used);
/* Begins an NVTX range and returns its number; name NULL: ends range number `range`. Call it after
 * gp_cuda_open. */
typedef uint64_t gp_cuda_range_fn(const char *name, uint64_t range);

/* Compiles a kernel of the user's for the device, as gp_card_prepare. */
struct gp_card_kernel;
struct gp_card_info;
typedef bool gp_cuda_prepare_fn(gp_device *dev, struct gp_card_kernel *k,
                                struct gp_card_info *info);

#endif
