-- tests/lua/autograd.lua on the stand-in for CUDA.
require "on_cuda" "autograd"
