--!plain
-- For tests/cuda/kernels/nvrtc.lua: programs whose steps are every elementwise row of the table, in
-- each kind of number, with reductions, choices and random numbers; where the compiler fails their
-- ops run one by one.
local g = require "gpush"
local function cuda(x) return x:to "cuda" end
local x, y = cuda(g.rand(4, 8)), cuda(g.rand(8))

local function run(fn, ...)
    local fused = g.fuse(fn)
    for _ = 1, 2 do fused(...) end
end
run(function(a, b)
    local z = g.dropout(g.gelu(a) * b + g.softplus(b), 0.5)
    for _, op in ipairs { "sin", "erfinv", "lgamma", "digamma", "erfc", "tanh", "log1p", "expm1",
        "rint" } do
        if g[op] then z = z + g[op](a) end
    end
    return z ^ 2.5, g.where(a:gt(b), z, 1):to "f16", g.atan2(a, b):isnan(), g.hypot(a, b)
end, x, y)
run(function(a, b) return (g.silu(a * b) - a):sum(2) end, x:to "f16", y:to "f16")
run(function(a, b) return (a * b + 1):amax() end, x:to "f64", y:to "f64")
run(function(a, b) return ((a & b) | g.clamp(a, 1, 3)):sum(1) end, (x * 9):to "i32",
    (y * 9):to "i32")
