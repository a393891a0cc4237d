-- tests/lua/nn_layers.lua on the stand-in for CUDA.
require "on_cuda" "nn_layers"
