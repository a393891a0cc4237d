-- tests/lua/fuzz.lua on the stand-in for CUDA.
require "on_cuda" "fuzz"
