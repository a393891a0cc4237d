-- tests/kernels/gather.lua on the stand-in for CUDA.
require "on_cuda" "kernels/gather"
