-- tests/lua/ops_view.lua on the stand-in for CUDA.
require "on_cuda" "ops_view"
