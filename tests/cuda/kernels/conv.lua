-- tests/kernels/conv.lua on the stand-in for CUDA.
require "on_cuda" "kernels/conv"
