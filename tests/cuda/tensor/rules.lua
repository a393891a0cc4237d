-- tests/tensor/ops/rules.lua on the stand-in for CUDA.
require "on_cuda" "tensor/ops/rules"
