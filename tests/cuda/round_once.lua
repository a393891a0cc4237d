-- tests/lua/round_once.lua on the stand-in for CUDA.
require "on_cuda" "round_once"
