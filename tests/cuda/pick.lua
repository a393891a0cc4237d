-- tests/lua/pick.lua on the stand-in for CUDA.
require "on_cuda" "pick"
