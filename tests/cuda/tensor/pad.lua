-- tests/tensor/autograd/pad.lua on the stand-in for CUDA.
require "on_cuda" "tensor/autograd/pad"
