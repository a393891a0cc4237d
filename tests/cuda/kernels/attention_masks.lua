-- tests/kernels/attention_masks.lua on the stand-in for CUDA.
require "on_cuda" "kernels/attention_masks"
