-- tests/lua/nn_module.lua on the stand-in for CUDA.
require "on_cuda" "nn_module"
