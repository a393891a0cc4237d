-- tests/lua/ops_custom.lua on the stand-in for CUDA.
require "on_cuda" "ops_custom"
