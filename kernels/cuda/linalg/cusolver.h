/* The functions of cuSOLVER and cuBLAS that linear algebra calls, and their handles. */
#ifndef GP_CUDA_SOLVER_H
#define GP_CUDA_SOLVER_H

#include <cublas_v2.h>
#include <cusolverDn.h>

#include "kernels/cuda/linalg/batch.h"
#include "kernels/cuda/runtime/libs.h"

#define GP_BOTH(F, before, after) F(before##S##after) F(before##D##after)
#define GP_CUSOLVER(F)                                                                             \
    F(cusolverDnCreate)                                                                            \
    F(cusolverDnSetStream)                                                                         \
    F(cusolverDnCreateParams)                                                                      \
    F(cusolverDnCreateGesvdjInfo)                                                                  \
    GP_BOTH(F, cusolverDn, geqrf_bufferSize)                                                       \
    GP_BOTH(F, cusolverDn, geqrf)                                                                  \
    GP_BOTH(F, cusolverDn, orgqr_bufferSize)                                                       \
    GP_BOTH(F, cusolverDn, orgqr)                                                                  \
    GP_BOTH(F, cusolverDn, potrf_bufferSize)                                                       \
    GP_BOTH(F, cusolverDn, potrf)                                                                  \
    GP_BOTH(F, cusolverDn, potrfBatched)                                                           \
    GP_BOTH(F, cusolverDn, getrf_bufferSize)                                                       \
    GP_BOTH(F, cusolverDn, getrf)                                                                  \
    GP_BOTH(F, cusolverDn, getrs)                                                                  \
    GP_BOTH(F, cusolverDn, syevd_bufferSize)                                                       \
    GP_BOTH(F, cusolverDn, syevd)                                                                  \
    GP_BOTH(F, cusolverDn, gesvd_bufferSize)                                                       \
    GP_BOTH(F, cusolverDn, gesvd)                                                                  \
    GP_BOTH(F, cusolverDn, gesvdj_bufferSize)                                                      \
    GP_BOTH(F, cusolverDn, gesvdj)                                                                 \
    GP_BOTH(F, cusolverDn, gesvdjBatched_bufferSize)                                               \
    GP_BOTH(F, cusolverDn, gesvdjBatched)                                                          \
    GP_BOTH(F, cusolverDn, gesvdaStridedBatched_bufferSize)                                        \
    GP_BOTH(F, cusolverDn, gesvdaStridedBatched)
/* From CUDA 12.8 on. */
#if CUSOLVER_VERSION >= 11702
#define GP_CUSOLVER_LATER(F) F(cusolverDnXgeev_bufferSize) F(cusolverDnXgeev)
#else
#define GP_CUSOLVER_LATER(F)
#endif
typedef struct gp_cusolver {
    GP_CUSOLVER(GP_LIB_POINTER)
    GP_CUSOLVER_LATER(GP_LIB_POINTER)
} gp_cusolver;
extern gp_cusolver gp_solve; /* filled by gp_cusolver_handle */

#define GP_CUBLAS(F)                                                                               \
    F(cublasCreate_v2)                                                                             \
    F(cublasSetStream_v2)                                                                          \
    F(cublasStrsm_v2)                                                                              \
    F(cublasDtrsm_v2)                                                                              \
    GP_BOTH(F, cublas, trsmBatched)                                                                \
    GP_BOTH(F, cublas, getrfBatched)                                                               \
    GP_BOTH(F, cublas, getriBatched)
typedef struct gp_cublas {
    GP_CUBLAS(GP_LIB_POINTER)
} gp_cublas;
extern gp_cublas gp_blas; /* filled by gp_cublas_handle */

/* The handles for c's stream. NULL with a message. Call with gp_lib_lock held while they are
 * used. */
cusolverDnHandle_t gp_cusolver_handle(const gp_call *c);
cublasHandle_t gp_cublas_handle(const gp_call *c);
bool gp_cusolver_ok(const gp_call *c, int status, const char *what);
bool gp_cublas_ok(const gp_call *c, int status, const char *what);

#endif
