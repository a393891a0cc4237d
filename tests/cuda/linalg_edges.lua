-- tests/lua/linalg_edges.lua on the stand-in for CUDA.
require "on_cuda" "linalg_edges"
