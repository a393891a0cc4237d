-- tests/bindings/convert.lua on the stand-in for CUDA.
require "on_cuda" "bindings/convert"
