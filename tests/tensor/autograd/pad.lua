-- The gradient of pad in modes that copy elements: each is the sum of the gradients of its copies,
-- against loops; margins that overlap, lie on one side, or cut the other off; twice.
local t = require "tap"
local g = require "gpush"

-- The place, from 0, of the n elements that place i of the padded row shows.
local shows = {
    reflect = function(i, n) return i < 0 and -i or i >= n and 2 * (n - 1) - i or i end,
    replicate = function(i, n) return math.max(0, math.min(n - 1, i)) end,
    circular = function(i, n, before, after)
        local first = math.max(0, -before)
        return (i - first) % (n - first - math.max(0, -after)) + first
    end,
}
local function sums(mode, n, before, after, grad)
    local to = {}
    for i = 1, n do to[i] = 0 end
    for k, v in ipairs(grad) do
        local i = shows[mode](k - 1 - before, n, before, after) + 1
        to[i] = to[i] + v
    end
    return to
end

local pads = { { 1, 1 }, { 3, 2 }, { 0, 2 }, { 2, 0 }, { -1, 2 }, { 2, -1 }, { 3, 3 }, { -2, -1 } }
local function one_dim(mode, by, device)
    local opt = { dtype = "f64", device = device }
    local x = g.randn(5, opt):requires_grad_()
    local y = x:pad(by, mode)
    local grad = g.arange(1, y:numel(), 1, opt) ^ 2
    y:backward(grad)
    t.is(x.grad:tolist(), sums(mode, 5, by[1], by[2], grad:tolist()),
        ("%s by %d and %d on %s"):format(mode, by[1], by[2], device))
end

for _, mode in ipairs { "reflect", "replicate", "circular" } do
    for _, device in ipairs {"cpu", "sim"} do
        for _, by in ipairs(pads) do one_dim(mode, by, device) end
    end
    for _, by in ipairs { { 1, 2, 3, 1 }, { 2, 0, -1, 1 } } do
        local x = g.randn(2, 5, 6, { dtype = "f64" }):requires_grad_()
        local function padded(a) return a:pad(by, mode) end
        t.ok(g.autograd.gradcheck(padded, { x }), mode .. " of two dims")
        t.ok(g.autograd.gradgradcheck(function(a) return padded(a * a * a) end, { x }),
            mode .. " of two dims, twice")
    end
end

t.done()
