-- tests/cuda/kernels.lua with blocks and threads that run from the last to the first: what relies
-- on their order, which a GPU does not promise, shows.
require "fake".fault "order=backward"
assert(loadfile(os.getenv "GPUSH_ROOT" .. "/tests/cuda/kernels.lua"))()
