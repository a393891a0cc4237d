/* Loads the libraries of linear algebra when they are first needed. On processors that OpenBLAS
 * does not know, being newer, it falls back to SSE kernels, at a tenth of the speed: this selects
 * its best ones. */
#ifdef GP_ISA_base /* one for all instruction sets */
#include "kernels/blas/blas.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/runtime/isa.h"
#include "tensor/base/env.h"
#include "tensor/base/error.h"
#include "tensor/device/stream/thread.h"
#include "tensor/io/own_file.h"

const gp_blas_table *gp_blas;

static const char *better_core(const gp_blas_table *b) {
    static const char *const old[] = {"Prescott", "Core2",     "Penryn", "Dunnington",
                                      "Nehalem",  "Northwood", "Katmai", "Generic"};
    if (!b->gotoblas_dynamic_init || !b->gotoblas_dynamic_quit || !b->gotoblas_corename ||
        gp_env_text(GP_ENV_OPENBLAS_CORETYPE))
        return NULL;
    const char *have = b->gotoblas_corename();
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (!strcmp(have, old[i])) return gp_isa_v4() ? "SkylakeX" : gp_isa_v3() ? "Haswell" : NULL;
    return NULL;
}

static void choose_core(const gp_blas_table *b) {
    const char *core = better_core(b);
    if (!core) return;
    setenv("OPENBLAS_CORETYPE", core, 1);
    b->gotoblas_dynamic_quit();
    b->gotoblas_dynamic_init();
    unsetenv("OPENBLAS_CORETYPE");
}

/* False with the loader's reason as the error; the next call tries again. */
static bool load(void) {
    /* its thousands of functions are found when they are first called: RTLD_LAZY */
    const char *why;
    void *so = gp_own_library("libgpush_blas.so", RTLD_LAZY | RTLD_LOCAL, &why);
    const gp_blas_table *b = so ? dlsym(so, "gp_blas_functions") : NULL;
    if (!b)
        return gp_fail("the libraries of linear algebra cannot be loaded: %s",
                       so ? "libgpush_blas.so is of another version" : why);
    choose_core(b);
    __atomic_store_n(&gp_blas, b, __ATOMIC_RELEASE);
    return true;
}

bool gp_blas_open(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (__atomic_load_n(&gp_blas, __ATOMIC_ACQUIRE)) return true;
    gp_lock(&lock);
    bool ok = gp_blas || load();
    gp_unlock(&lock);
    return ok;
}
#endif
