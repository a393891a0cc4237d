-- tests/kernels/linalg_edges.lua on the stand-in for CUDA.
require "on_cuda" "kernels/linalg_edges"
