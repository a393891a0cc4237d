-- tests/kernels/reduce.lua on the stand-in for CUDA.
require "on_cuda" "kernels/reduce"
