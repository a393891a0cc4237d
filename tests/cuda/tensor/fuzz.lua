-- tests/tensor/ops/fuzz.lua on the stand-in for CUDA.
require "on_cuda" "tensor/ops/fuzz"
