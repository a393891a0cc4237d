-- tests/lua/failures.lua on the stand-in for CUDA.
require "on_cuda" "failures"
