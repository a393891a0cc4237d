-- tests/scripts/nn_layers.lua on the stand-in for CUDA.
require "on_cuda" "scripts/nn_layers"
