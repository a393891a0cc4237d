-- tests/lua/ops_errors.lua on the stand-in for CUDA.
require "on_cuda" "ops_errors"
