/* NVTX ranges, counted by name (tests/fake_cuda). */
#ifndef FAKE_NVTX_H
#define FAKE_NVTX_H

#include "../fake_cuda.h"

static inline int nvtxRangePushA(const char *name) { return fakeRange(name), 0; }
static inline int nvtxRangePop(void) { return fakeRange(NULL), 0; }
typedef unsigned long long nvtxRangeId_t;
static inline nvtxRangeId_t nvtxRangeStartA(const char *name) { return fakeRange(name), 7; }
static inline void nvtxRangeEnd(nvtxRangeId_t id) { fakeRange(id == 7 ? NULL : "an end of none"); }

#endif
