-- tests/tensor/ops/ops_view.lua on the stand-in for CUDA.
require "on_cuda" "tensor/ops/ops_view"
