-- tests/lua/nn.lua on the stand-in for CUDA.
require "on_cuda" "nn"
