-- tests/lua/image.lua on the stand-in for CUDA.
require "on_cuda" "image"
