-- tests/lua/loader.lua on the stand-in for CUDA.
require "on_cuda" "loader"
