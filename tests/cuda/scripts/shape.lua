-- tests/scripts/shape.lua on the stand-in for CUDA.
require "on_cuda" "scripts/shape"
