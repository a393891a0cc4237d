-- tests/lua/index.lua on the stand-in for CUDA.
require "on_cuda" "index"
