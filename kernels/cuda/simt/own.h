/* What CUDA makes of a user's text. */
#ifndef GP_CUDA_OWN_H
#define GP_CUDA_OWN_H

#include "kernels/cuda/fuse/fuse.h"
#include "tensor/ops/simt.h"

typedef struct gp_own_variable {
    void *p; /* on the device */
    size_t bytes;
} gp_own_variable;

/* On a device; module: NULL where it is not loaded. */
typedef struct gp_own_module {
    void *module;
    gp_module_kernel *kernel;
    gp_own_variable *variable;
} gp_own_module;

/* gp_card_text.form */
typedef struct gp_own_form {
    int arch;
    char *code, **name; /* names: of the text's expressions */
    gp_own_module on[GP_MAX_DEVICES];
} gp_own_form;

#endif
