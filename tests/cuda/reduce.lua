-- tests/lua/reduce.lua on the stand-in for CUDA.
require "on_cuda" "reduce"
