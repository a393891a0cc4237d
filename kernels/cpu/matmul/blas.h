/* Initialises OpenBLAS: one function for all instruction sets. */
#ifndef GP_CPU_BLAS_H
#define GP_CPU_BLAS_H

/* Called before the first call of OpenBLAS; cheap afterwards. */
void gp_blas_open(void);

#endif
