-- tests/kernels/einsum.lua on the stand-in for CUDA.
require "on_cuda" "kernels/einsum"
