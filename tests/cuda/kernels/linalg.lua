-- tests/kernels/linalg.lua on the stand-in for CUDA.
require "on_cuda" "kernels/linalg"
