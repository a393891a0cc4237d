-- tests/kernels/linalg_nan.lua on the stand-in for CUDA; on a card where scripts/dev/gpu-check
-- runs it.
require "on_cuda" "kernels/linalg_nan"
