-- tests/lua/extremes.lua on the stand-in for CUDA.
require "on_cuda" "extremes"
