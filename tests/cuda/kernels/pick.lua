-- tests/kernels/pick.lua on the stand-in for CUDA.
require "on_cuda" "kernels/pick"
