-- tests/scripts/nn_module.lua on the stand-in for CUDA.
require "on_cuda" "scripts/nn_module"
