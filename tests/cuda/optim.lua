-- tests/lua/optim.lua on the stand-in for CUDA.
require "on_cuda" "optim"
