-- tests/lua/print.lua on the stand-in for CUDA.
require "on_cuda" "print"
