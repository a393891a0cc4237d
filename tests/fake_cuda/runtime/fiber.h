/* A block's threads as fibers of one OS thread, and the grids made of them. */
#ifndef FAKE_FIBER_H
#define FAKE_FIBER_H

#include <functional>

#include "cuda_runtime.h"

namespace fake {
/* Whether to run from the last block and thread to the first (fault.cpp). */
bool runs_backward();
/* Runs every block of the grid on this OS thread, one after the other. NULL, or the error: static
 * text or in this thread's buffer. */
const char *run_grid(dim3 grid, dim3 block, size_t shared, const std::function<void()> &body);
} // namespace fake

#endif
