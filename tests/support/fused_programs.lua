--!plain
-- For tests of fused functions: how their results are compared, and programs that have every row.
local g = require "gpush"

-- The sign of a zero counts; that of NaN does not.
local function same(a, b)
    if a.dtype ~= b.dtype or not a:isnan():equal(b:isnan()) then return false end
    local x, y = g.where(a:isnan(), 0, a), g.where(b:isnan(), 0, b)
    if not x:equal(y) then return false end
    if not a:is_floating_point() then return true end
    return g.where(x:eq(0), 1 / x, 0):equal(g.where(y:eq(0), 1 / y, 0))
end

-- The gradients of fn's arguments.
local function gradients(fn, ...)
    local leaves = {}
    for i, x in ipairs { ... } do leaves[i] = x:detach():requires_grad_() end
    local y = fn(table.unpack(leaves))
    y:backward(g.ones_like(y) * 0.5)
    for i, x in ipairs(leaves) do leaves[i] = x.grad end
    return leaves
end

local function run(fn, ...)
    local fused = g.fuse(fn)
    for _ = 1, 2 do fused(...) end
end

-- For tests/cuda/kernels/nvrtc.lua: programs whose steps are every elementwise row of the table, in
-- each kind of number, with reductions, choices and random numbers; where the compiler fails their
-- ops run one by one.
local function run_every_row()
    local x, y = g.rand(4, 8):to "cuda", g.rand(8):to "cuda"
    run(function(a, b)
        local z = g.dropout(g.gelu(a) * b + g.softplus(b), 0.5)
        for _, op in ipairs { "sin", "erfinv", "lgamma", "digamma", "erfc", "tanh", "log1p",
            "expm1", "rint" } do
            if g[op] then z = z + g[op](a) end
        end
        return z ^ 2.5, g.where(a:gt(b), z, 1):to "f16", g.atan2(a, b):isnan(), g.hypot(a, b)
    end, x, y)
    run(function(a, b) return (g.silu(a * b) - a):sum(2) end, x:to "f16", y:to "f16")
    run(function(a, b) return (a * b + 1):amax() end, x:to "f64", y:to "f64")
    run(function(a, b) return ((a & b) | g.clamp(a, 1, 3)):sum(1) end, (x * 9):to "i32",
        (y * 9):to "i32")
end

return { same = same, gradients = gradients, run_every_row = run_every_row }
