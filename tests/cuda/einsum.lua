-- tests/lua/einsum.lua on the stand-in for CUDA.
require "on_cuda" "einsum"
