--!plain
-- Whether a line is Julia's, where indices count from 1, ranges include their end and ^ is a power:
-- julia(line, before), false where it is Python's, nil where that is not known. It has marks of one
-- of them, or else the last line with such marks before it has: in the text above it, before, or
-- among the prompt's inputs.
local require = ...
local tokens = require "shell.parse.tokens"
local inputs = require "shell.parse.inputs"

local marks = { "^%s*julia>", "^%s*using%s+%u", "|>", "%f[%w_]%a+!%(", "%f[%w_]CUDA%.%l",
    "%f[%w_]cu%(", "%f[%w_]for%s+%a+%s+in%s+%d+:%w", "%f[%w_]abs2%f[^%w_]" }
local of_python = { "^%s*>>>", "%f[%w_]import%s", "%f[%w_]torch%.", "%f[%w_]np%.", "%f[%w_]def%s",
    "%f[%w_]lambda%f[^%w_]", "%f[%w_]True%f[^%w_]", "%f[%w_]False%f[^%w_]",
    "%f[%w_]None%f[^%w_]", "%f[%w_]range%(", "%f[%w_]len%(" }
local dims_of_python = { flip = true, roll = true, permute = true, tensordot = true, rot90 = true }

-- x[end - 1], unless a variable of that name is set: start, end = 2, 5.
local function has_end(line, before)
    local set = "%f[%w_]end%s*=%f[^=]"
    return line:find "%[[^%[%]]*%f[%w_]end%f[^%w_][^%[%]]*%]"
        and not line:find "%f[%w_]function%f[^%w_]" and rawget(_G, "end_") == nil
        and not line:find(set) and not (before or ""):find(set)
end

local function has(line, list)
    for _, mark in ipairs(list) do if line:find(mark) then return true end end
    return false
end

-- true, Julia; false, Python; nil, not known.
local function language(line)
    if has(line, of_python) then return false end
    local of_dims = line:match "%f[%w_.](%l+)%([^()]*%f[%w_]dims%s*=%f[^=]" -- sum(A, dims = 1)
    if has(line, marks) or of_dims and not dims_of_python[of_dims] then return true end
    local ok, list = pcall(tokens, line)
    return ok and list.powers or nil
end

return function(line, before)
    local known = language(line)
    if known == nil and has_end(line, before) then known = true end
    for _, text in ipairs(known == nil and inputs(before) or {}) do
        if known == nil then known = language(text) end
    end
    return known
end
