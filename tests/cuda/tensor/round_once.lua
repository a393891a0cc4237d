-- tests/tensor/ops/round_once.lua on the stand-in for CUDA.
require "on_cuda" "tensor/ops/round_once"
