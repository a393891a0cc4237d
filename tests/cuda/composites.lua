-- tests/lua/composites.lua on the stand-in for CUDA.
require "on_cuda" "composites"
