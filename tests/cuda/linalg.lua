-- tests/lua/linalg.lua on the stand-in for CUDA.
require "on_cuda" "linalg"
