-- tests/tensor/device/arrive_later.lua on the stand-in for CUDA.
require "on_cuda" "tensor/device/arrive_later"
