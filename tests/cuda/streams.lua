-- tests/lua/streams.lua on the stand-in for CUDA.
require "on_cuda" "streams"
