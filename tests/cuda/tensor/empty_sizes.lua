-- tests/tensor/ops/empty_sizes.lua on the stand-in for CUDA.
require "on_cuda" "tensor/ops/empty_sizes"
