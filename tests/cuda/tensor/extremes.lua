-- tests/tensor/autograd/extremes.lua on the stand-in for CUDA.
require "on_cuda" "tensor/autograd/extremes"
