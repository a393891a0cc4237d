-- tests/scripts/quantile.lua on the stand-in for CUDA.
require "on_cuda" "scripts/quantile"
