-- tests/lua/conv.lua on the stand-in for CUDA.
require "on_cuda" "conv"
