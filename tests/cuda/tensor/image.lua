-- tests/tensor/io/image.lua on the stand-in for CUDA.
require "on_cuda" "tensor/io/image"
