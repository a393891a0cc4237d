-- tests/kernels/pool.lua on the stand-in for CUDA.
require "on_cuda" "kernels/pool"
