-- tests/lua/random.lua on the stand-in for CUDA.
require "on_cuda" "random"
