-- tests/kernels/conv_grad.lua on the stand-in for CUDA.
require "on_cuda" "kernels/conv_grad"
