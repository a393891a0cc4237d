-- tests/kernels/fft.lua on the stand-in for CUDA.
require "on_cuda" "kernels/fft"
