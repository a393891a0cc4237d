/* The BLAS in the process: the OpenMP variant, which shares its threads with the kernels' own
 * regions. */
#include <cblas.h>
#include <openblas_config.h>

#include "tap.h"

int main(void) {
    tap_is_int(openblas_get_parallel(), 2,
               "OpenBLAS is built for OpenMP (2), not sequential (0) or with its own threads (1)");
    const double a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
    double c[4];
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
    tap_ok(c[0] == 19 && c[1] == 22 && c[2] == 43 && c[3] == 50, "and it multiplies");
    return tap_done();
}
