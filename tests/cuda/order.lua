-- tests/lua/order.lua on the stand-in for CUDA.
require "on_cuda" "order"
