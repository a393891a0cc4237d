/* OpenBLAS on processors that it does not know, being newer: it falls back to SSE kernels, at a
 * tenth of the speed; this selects its best ones. */
#ifdef GP_ISA_base
#include "kernels/cpu/matmul/blas.h"

#if defined(__x86_64__)
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/runtime/isa.h"
#include "tensor/base/env.h"

/* Only in builds of OpenBLAS for many processors. */
__attribute__((weak)) void gotoblas_dynamic_init(void);
__attribute__((weak)) void gotoblas_dynamic_quit(void);
__attribute__((weak)) char *gotoblas_corename(void);

static const char *better_core(void) {
    static const char *const old[] = {"Prescott", "Core2",     "Penryn", "Dunnington",
                                      "Nehalem",  "Northwood", "Katmai", "Generic"};
    if (!gotoblas_dynamic_init || !gotoblas_dynamic_quit || !gotoblas_corename ||
        gp_env_text(GP_ENV_OPENBLAS_CORETYPE))
        return NULL;
    const char *have = gotoblas_corename();
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (!strcmp(have, old[i])) return gp_isa_v4() ? "SkylakeX" : gp_isa_v3() ? "Haswell" : NULL;
    return NULL;
}

static void choose(void) {
    const char *core = better_core();
    if (!core) return;
    setenv("OPENBLAS_CORETYPE", core, 1);
    gotoblas_dynamic_quit();
    gotoblas_dynamic_init();
    unsetenv("OPENBLAS_CORETYPE");
}

void gp_blas_open(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
}
#else
void gp_blas_open(void) {}
#endif
#endif
