-- tests/lua/attention_masks.lua on the stand-in for CUDA.
require "on_cuda" "attention_masks"
