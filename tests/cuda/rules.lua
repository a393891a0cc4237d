-- tests/lua/rules.lua on the stand-in for CUDA.
require "on_cuda" "rules"
