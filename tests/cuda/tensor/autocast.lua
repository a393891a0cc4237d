-- tests/tensor/autograd/autocast.lua on the stand-in for CUDA.
require "on_cuda" "tensor/autograd/autocast"
