-- tests/scripts/checkpoint.lua on the stand-in for CUDA.
require "on_cuda" "scripts/checkpoint"
