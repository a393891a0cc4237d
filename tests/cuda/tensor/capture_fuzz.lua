-- tests/tensor/capture/fuzz.lua on the stand-in for CUDA.
require "on_cuda" "tensor/capture/fuzz"
