-- tests/kernels/nn.lua on the stand-in for CUDA.
require "on_cuda" "kernels/nn"
