/* NVTX ranges, counted by name (tests/fake_cuda). */
#ifndef FAKE_NVTX_H
#define FAKE_NVTX_H

#include "../fake_cuda.h"

static inline int nvtxRangePushA(const char *name) { return fakeRange(name), 0; }
static inline int nvtxRangePop(void) { return fakeRange(NULL), 0; }

#endif
