-- tests/profile/sync.lua on the stand-in for CUDA.
require "on_cuda" "profile/sync"
