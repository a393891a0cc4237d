-- tests/lua/autograd_rules.lua on the stand-in for CUDA.
require "on_cuda" "autograd_rules"
