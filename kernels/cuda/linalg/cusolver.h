/* The functions of cuSOLVER and cuBLAS that linear algebra calls, and their handles. */
#ifndef GP_CUDA_SOLVER_H
#define GP_CUDA_SOLVER_H

#include <cublas_v2.h>
#include <cusolverDn.h>

#include "kernels/cuda/linalg/batch.h"
#include "kernels/cuda/runtime/libs.h"

typedef struct gp_cusolver {
#define F GP_LIB_POINTER
#include "kernels/cuda/linalg/cusolver.def"
} gp_cusolver;
extern gp_cusolver gp_solve; /* filled by gp_cusolver_handle */

typedef struct gp_cublas {
#define F GP_LIB_POINTER
#include "kernels/cuda/linalg/cublas.def"
} gp_cublas;
extern gp_cublas gp_blas; /* filled by gp_cublas_handle */

/* The handles for c's stream. NULL with a message. Call with gp_lib_lock held while they are
 * used. */
cusolverDnHandle_t gp_cusolver_handle(const gp_call *c);
cublasHandle_t gp_cublas_handle(const gp_call *c);
/* False with a message that names c's op and the library's function where status is an error. */
bool gp_cusolver_ok(const gp_call *c, int status, const char *what);
bool gp_cublas_ok(const gp_call *c, int status, const char *what);

/* Calls the function of cuSOLVER or cuBLAS for the type with suffix t, whose letter is S or D;
 * false with a message when it fails. For templates of kernels/common/floats.inc. */
#define GP_LETTER_f32 S
#define GP_LETTER_f64 D
#define GP_SOLVE(c, name, ...) GP_SOLVE_(c, GP_TYPED(GP_LETTER, t), name, __VA_ARGS__)
#define GP_SOLVE_(c, letter, name, ...) GP_SOLVE2(c, letter, name, __VA_ARGS__)
#define GP_SOLVE2(c, letter, name, ...)                                                            \
    gp_cusolver_ok(c, gp_solve.cusolverDn##letter##name(__VA_ARGS__), "cusolverDn" #letter #name)
#define GP_BLAS(c, name, ...) GP_BLAS_(c, GP_TYPED(GP_LETTER, t), name, __VA_ARGS__)
#define GP_BLAS_(c, letter, name, ...) GP_BLAS2(c, letter, name, __VA_ARGS__)
#define GP_BLAS2(c, letter, name, ...)                                                             \
    gp_cublas_ok(c, gp_blas.cublas##letter##name(__VA_ARGS__), "cublas" #letter #name)

#endif
