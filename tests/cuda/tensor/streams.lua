-- tests/tensor/device/streams.lua on the stand-in for CUDA.
require "on_cuda" "tensor/device/streams"
