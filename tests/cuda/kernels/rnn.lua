-- tests/kernels/rnn.lua on the stand-in for CUDA.
require "on_cuda" "kernels/rnn"
