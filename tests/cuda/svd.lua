-- tests/lua/svd.lua on the stand-in for CUDA.
require "on_cuda" "svd"
