/* The plug-in libgpush_blas.so: the functions of the libraries that it is linked to. */
#include "kernels/blas/blas.h"

#pragma weak gotoblas_dynamic_init
#pragma weak gotoblas_dynamic_quit
#pragma weak gotoblas_corename

__attribute__((visibility("default"))) const gp_blas_table gp_blas_functions = {
#define F(name) .name = name,
#define G(name) F(name)
#include "kernels/blas/blas.def"
};
