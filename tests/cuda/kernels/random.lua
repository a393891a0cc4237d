-- tests/kernels/random.lua on the stand-in for CUDA.
require "on_cuda" "kernels/random"
