-- tests/lua/sync.lua on the stand-in for CUDA.
require "on_cuda" "sync"
