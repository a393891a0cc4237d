-- tests/lua/shape.lua on the stand-in for CUDA.
require "on_cuda" "shape"
