-- tests/lua/empty_sizes.lua on the stand-in for CUDA.
require "on_cuda" "empty_sizes"
