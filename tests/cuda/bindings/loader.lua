-- tests/bindings/loader.lua on the stand-in for CUDA.
require "on_cuda" "bindings/loader"
