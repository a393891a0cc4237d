-- tests/cuda/kernels.lua with blocks and threads that run from the last to the first: it exposes
-- kernels that rely on their order, which a GPU does not guarantee.
require "fake".fault "order=backward"
assert(loadfile(os.getenv "GPUSH_ROOT" .. "/tests/cuda/kernels.lua"))()
