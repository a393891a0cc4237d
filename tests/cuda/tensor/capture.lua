-- tests/tensor/capture/capture.lua on the stand-in for CUDA.
require "on_cuda" "tensor/capture/capture"
