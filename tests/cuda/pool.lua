-- tests/lua/pool.lua on the stand-in for CUDA.
require "on_cuda" "pool"
