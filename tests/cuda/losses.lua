-- tests/lua/losses.lua on the stand-in for CUDA.
require "on_cuda" "losses"
