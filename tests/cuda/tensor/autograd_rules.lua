-- tests/tensor/autograd/autograd_rules.lua on the stand-in for CUDA.
require "on_cuda" "tensor/autograd/autograd_rules"
