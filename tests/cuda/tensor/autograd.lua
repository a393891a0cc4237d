-- tests/tensor/autograd/autograd.lua on the stand-in for CUDA.
require "on_cuda" "tensor/autograd/autograd"
