/* By which routine linear algebra of a shape is computed: a table of limits, the first row that
 * fits and whose routine can do it. The table is routes.def, or one that was read in its place,
 * such as scripts/dev/gpu/svd_table.lua measures and writes. */
#ifndef GP_CUDA_ROUTES_H
#define GP_CUDA_ROUTES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a row is about, and what its rows and cols are: of svd and svdvals the larger and the
 * smaller side; of eigh both the side; of qr and lu a matrix's; of form_q, qr's second half, those
 * of Q; of solve the side of a and how many right sides. */
#define GP_ROUTED(R) R(svd) R(svdvals) R(eigh) R(qr) R(form_q) R(solve) R(lu)
/* The routines, by the names that records and tables have for them: our own kernels, cuSOLVER's and
 * cuBLAS's, and the CPU's, with copies. The first ones have scripts/lua/cuda/init.lua's order. */
/* clang-format off */
#define GP_ROUTES(R) \
    R(auto) R(jacobi) R(gesvd) R(gesvdj) R(gesvdjBatched) R(gesvdaStridedBatched) R(cpu) R(syevd) \
    R(syevjBatched) R(syevBatched) R(geqrf) R(geqrfBatched) R(orgqr) R(own) R(getrf) R(getrfBatched)
/* clang-format on */

typedef enum gp_routed {
#define R(name) GP_FOR_##name,
    GP_ROUTED(R)
#undef R
} gp_routed;
typedef enum gp_route {
#define R(name) GP_BY_##name,
    GP_ROUTES(R)
#undef R
} gp_route;
#define GP_CAN(name) (1u << GP_BY_##name)

/* The routine for `count` matrices: of those in `can`, bits of GP_CAN, by the first row that fits;
 * without one `otherwise`. */
gp_route gp_route_for(gp_routed op, bool wide, int64_t rows, int64_t cols, int64_t count,
                      unsigned can, gp_route otherwise);
const char *gp_route_name(gp_route by);

#ifdef __cplusplus
}
#endif
#endif
