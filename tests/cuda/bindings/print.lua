-- tests/bindings/print.lua on the stand-in for CUDA.
require "on_cuda" "bindings/print"
