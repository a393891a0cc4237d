-- Times of calls that a file lists for gpush and for PyTorch, one a line: gpush rows.lua FILE
-- DEVICE [small]. rows.py beside this file reads the same lines for PyTorch.
--
--   let NAME | Lua | Python     a value that the lines below use, until "drop"
--   NAME | Lua | Python         an item: what is called on either side; "-": it has no such call
--   each WORDS | NAME | …       an item for each of the words, which stands where % is
--   drop                        forgets the values
--   # …                         a comment
--
-- A line with $ is two, of f32 and of bf16, whose names stand where $ is. N is the number of
-- elements of 100 MB in f32, R the side of a square of as many, B a batch of images, S their
-- side, T the length of a sequence.
local file, device, small = arg[1], arg[2], arg[3] == "small"
local measure = dofile((arg[0]:match ".*/" or "") .. "measure.lua")
local least, samples = small and 0 or 0.005, small and 1 or 5
manual_seed(0)

local values = {
    N = small and 400 or 25000000, R = small and 20 or 5000, B = small and 4 or 32,
    S = small and 8 or 112, T = small and 8 or 4096, opt = { device = device }, device = device,
}
-- A tensor that requires grad.
function values.leaf(x) return x:detach():requires_grad_() end
-- The gradient of y by x where y's is g, as torch.autograd.grad gives it.
function values.back(y, g, x)
    y:backward(g, { retain_graph = true })
    x.grad = nil
end
-- Whether libraries may only use deterministic algorithms, where there is such a choice.
function values.deterministic(on) if device == "cuda" then cuda.deterministic(on) end end
local env = setmetatable({}, { __index = function(_, k)
    local v = values[k]
    if v == nil then return _G[k] end
    return v
end })
local own = {} -- the names that "drop" forgets

local function take(name, text)
    local bound = name:match "^let%s+(%S+)$"
    if text == "-" then return end
    measure.guarded(name, function()
        local fn = assert(load("return " .. text, name, "t", env))
        if bound then values[bound], own[bound] = fn(), true
        else measure.report(name, measure.rounds(device, fn, least, samples)) end
    end)
end

for line in io.lines(file) do
    local name, text, other = line:match "^(.-)%s+|%s+(.-)%s+|%s+(.-)%s*$"
    local words, rest = line:match "^each%s+(.-)%s+|%s+(.*)$"
    if line == "drop" then
        for k in pairs(own) do values[k] = nil end
        own = {}
        collectgarbage()
    elseif line:match "^#" or line == "" then
        name = nil
    elseif words then
        name, text, other = rest:match "^(.-)%s+|%s+(.-)%s+|%s+(.-)%s*$"
    end
    if name then
        assert(other, line)
        for _, dtype in ipairs(line:find("$", 1, true) and { "f32", "bf16" } or { "" }) do
            for word in (words or "-"):gmatch "%S+" do
                local function put(s) return (s:gsub("%$", dtype):gsub("%%", word)) end
                take(put(name), put(text))
            end
        end
    end
end
