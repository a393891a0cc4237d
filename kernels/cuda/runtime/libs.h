/* NVIDIA's libraries, opened with dlopen when an op first needs one: nothing links to them, and
 * where one is missing the op that needs it says so and everything else runs. */
#ifndef GP_CUDA_LIBS_H
#define GP_CUDA_LIBS_H

#include <cuda_runtime.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/op.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gp_lib {
    GP_LIB_cublas,
    GP_LIB_cublasLt,
    GP_LIB_cusolver,
    GP_LIB_cufft,
    GP_LIB_cudnn,
    GP_LIB_cupti,
    GP_LIBS
} gp_lib;

/* Fills table[0 … n-1] with the functions called names[0 … n-1], opening the library if it is not
 * yet. The last `optional` ones may be missing (NULL): they came with a later version. False with a
 * message that begins with `op` and says what is missing and where was looked. A caller keeps the
 * table: once filled it stays good. */
bool gp_lib_functions(gp_lib lib, const char *op, const char *const *names, int n, int optional,
                      void **table);

/* What a list of functions, as cudnn.def, is included with as F: typed pointers for a struct, and
 * names for gp_lib_functions. */
#define GP_LIB_POINTER(name) __typeof__(&name) name;
#define GP_LIB_NAME(name) #name,

/* For `gpush doctor`: the library's name, and its path and version or why it cannot be used, in
 * text (cut at size). True if it can. Opens the library, touches no device. */
bool gp_lib_describe(gp_lib lib, const char **name, char *text, size_t size);

/* What `create` made for the library on this device and stream of c: made on first use and kept.
 * NULL with a message. create: false with a message. */
typedef bool (*gp_lib_create)(const gp_call *c, cudaStream_t s, void **handle);
void *gp_lib_handle(const gp_call *c, gp_lib lib, gp_lib_create create);

/* Held while a handle or a cached plan is used: neither is made for several threads at once. */
void gp_lib_lock(void);
void gp_lib_unlock(void);

/* Can it be used? Opens it; no message. */
bool gp_lib_there(gp_lib lib);

/* Books what was done since `begin` as the library's first use: opening it, a handle, a plan. */
int64_t gp_lib_now(void);
void gp_lib_book(gp_lib lib, int64_t begin);

/* Called when a library was opened and a handle made, with the time that took: the device reports
 * it as a first use. NULL at first. */
extern void (*gp_lib_first_use)(const char *what, int64_t begin_ns, int64_t end_ns);

/* What the libraries may do. f32 products in TF32 (10 bits of mantissa); only algorithms whose
 * result is the same each time; convolutions and attention choose by measuring on first use of a
 * shape (which waits for the device). svd_driver is linalg.svd's, svd_used what did the last one:
 * gp_svd_driver (kernels/cuda/linalg/batch.h). */
typedef struct gp_lib_settings {
    bool tf32, deterministic, benchmark;
    int svd_driver, svd_used;
} gp_lib_settings;
extern gp_lib_settings gp_libs; /* at first: false, true, false */

#ifdef __cplusplus
}
#endif
#endif
