/* NVIDIA's libraries, opened with dlopen when an op first needs one. Nothing links to them: where
 * one is missing, the op that needs it fails with a message and everything else runs. */
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
    GP_LIB_nccl,
    GP_LIB_nvrtc,
    GP_LIB_driver,
    GP_LIBS
} gp_lib;

/* Fills table[0 … n-1] with the functions called names[0 … n-1], opening the library on demand. The
 * last `optional` ones may be missing (NULL): they came with a later version. False with a message
 * that begins with `op` and says what is missing and where it was searched. A caller keeps the
 * table: once filled it stays valid. */
bool gp_lib_functions(gp_lib lib, const char *op, const char *const *names, int n, int optional,
                      void **table);

/* Definitions of F for including a list of functions such as cudnn.def: typed pointers for a
 * struct, and names for gp_lib_functions. */
#define GP_LIB_POINTER(name) __typeof__(&name) name;
#define GP_LIB_NAME(name) #name,

/* The newest compute capability of those that NVRTC compiles for that code for a card of capability
 * `most` may have, as in 90; 0 where it does not tell. Opens it; sets no message. */
int gp_lib_nvrtc_newest(int most);

/* The handle that `create` made for the library on c's device and stream: made on first use and
 * kept. NULL with a message. create: false with a message. */
typedef bool (*gp_lib_create)(const gp_call *c, cudaStream_t s, void **handle);
void *gp_lib_handle(const gp_call *c, gp_lib lib, gp_lib_create create);

/* The name of a status of cuBLAS, cuSOLVER or cuFFT, as in their headers; "status 99" where it is
 * not known. Until this thread's next call. */
const char *gp_lib_status(gp_lib lib, int status);

/* Called after a library's call for c failed, with the message set; returns false. Where the device
 * has died of an error, that error becomes the message. no_memory: the library's status says that
 * it had none. */
bool gp_lib_failed(const gp_call *c, bool no_memory);
/* Whether the last failure of this thread was for lack of memory: then it says nothing of what the
 * library can do, and is not to be remembered. */
bool gp_lib_no_memory(void);

/* Hold it while a handle or a cached plan is used: neither is made for several threads at once. */
void gp_lib_lock(void);
void gp_lib_unlock(void);

/* Whether it can be used. Opens it; sets no message. */
bool gp_lib_there(gp_lib lib);

/* Records the time since `begin` as the library's first use: opening it, a handle, a plan. */
int64_t gp_lib_now(void);
void gp_lib_book(gp_lib lib, int64_t begin);

/* Called when a library was opened and a handle made, with the time that took: the device reports
 * it as a first use. Initially NULL. */
extern void (*gp_lib_first_use)(const char *what, int64_t begin_ns, int64_t end_ns);

/* Settings of the libraries. f32 products in TF32 (10 bits of mantissa); only deterministic
 * algorithms; convolutions and attention choose by measuring on first use of a shape (which waits
 * for the device). svd_driver is linalg.svd's, svd_used that of the last call: gp_route
 * (kernels/cuda/linalg/routes.h). conv_elements: of an operand of one run of cuDNN's convolutions,
 * which tests set smaller. */
typedef struct gp_lib_settings {
    bool tf32, deterministic, benchmark;
    int svd_driver, svd_used, conv_elements;
} gp_lib_settings;
extern gp_lib_settings gp_libs; /* initially false, true, false */

#ifdef __cplusplus
}
#endif
#endif
