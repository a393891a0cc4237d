-- tests/lua/fft.lua on the stand-in for CUDA.
require "on_cuda" "fft"
