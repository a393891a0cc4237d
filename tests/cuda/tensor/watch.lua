-- tests/tensor/autograd/watch.lua on the stand-in for CUDA.
require "on_cuda" "tensor/autograd/watch"
