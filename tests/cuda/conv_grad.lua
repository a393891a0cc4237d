-- tests/lua/conv_grad.lua on the stand-in for CUDA.
require "on_cuda" "conv_grad"
