-- tests/tensor/capture/training.lua on the stand-in for CUDA.
require "on_cuda" "tensor/capture/training"
