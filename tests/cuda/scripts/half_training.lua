-- tests/scripts/half_training.lua on the stand-in for CUDA.
require "on_cuda" "scripts/half_training"
