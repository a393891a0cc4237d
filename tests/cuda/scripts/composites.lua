-- tests/scripts/composites.lua on the stand-in for CUDA.
require "on_cuda" "scripts/composites"
