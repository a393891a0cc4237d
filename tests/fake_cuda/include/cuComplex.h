/* Complex numbers as NVIDIA names them (tests/fake_cuda). */
#ifndef FAKE_CUCOMPLEX_H
#define FAKE_CUCOMPLEX_H

#include "vector_types.h"

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

#endif
