-- tests/tensor/ops/ops_custom.lua on the stand-in for CUDA.
require "on_cuda" "tensor/ops/ops_custom"
