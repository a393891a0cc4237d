-- tests/kernels/svd.lua on the stand-in for CUDA.
require "on_cuda" "kernels/svd"
