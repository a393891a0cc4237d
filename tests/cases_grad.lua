--!plain
-- Gradcheck cases for tests/lua/autograd.lua beside those that stand there: op -> list of {inputs, options…}; a tensor
-- with requires_grad among the inputs is checked. first = true: only the first result; list = true: the first input is
-- a list of tensors.
local g = require "gpush"

return {}
