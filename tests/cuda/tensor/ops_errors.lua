-- tests/tensor/ops/ops_errors.lua on the stand-in for CUDA.
require "on_cuda" "tensor/ops/ops_errors"
