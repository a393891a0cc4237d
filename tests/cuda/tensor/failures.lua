-- tests/tensor/device/failures.lua on the stand-in for CUDA.
require "on_cuda" "tensor/device/failures"
