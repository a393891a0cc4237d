/* The dtypes in the order of dtype.def. Apart from dtype.h, so that programs which NVRTC compiles
 * have it, too: it finds no header of C's library. */
#ifndef GP_DTYPE_ENUM_H
#define GP_DTYPE_ENUM_H

typedef enum gp_dtype {
#define DTYPE(name, ctype, kind) GP_##name,
#include "tensor/dtype.def"
    GP_DTYPES
} gp_dtype;

#endif
