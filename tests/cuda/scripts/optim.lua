-- tests/scripts/optim.lua on the stand-in for CUDA.
require "on_cuda" "scripts/optim"
