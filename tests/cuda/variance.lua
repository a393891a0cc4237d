-- var and std of f32 and 16-bit floats on the stand-in for CUDA, in each layout that has a kernel
-- of its own: elements far from 0, beside an outlier that comes first, beside NaN; the reference
-- is computed in Lua's f64 from the elements as they are.
local t = require "tap"

local function variance(values)
    local mean, squares = 0, 0
    for _, v in ipairs(values) do mean = mean + v / #values end
    for _, v in ipairs(values) do squares = squares + (v - mean) ^ 2 end
    return squares / (#values - 1)
end

-- The largest relative error of x:var(dim), and of the root of std's square.
local function error_of(x, dim)
    local last = x:cpu():to("f64"):transpose(dim, x.ndim):contiguous()
    local rows = last:view(-1, x.shape[dim]):tolist()
    local got = x:var(dim):cpu():to("f64")
    local root = x:std(dim):cpu():to("f64")
    if dim < x.ndim then -- the kept dims in the order of `last`
        got = got:unsqueeze(dim):transpose(dim, x.ndim):squeeze(x.ndim)
        root = root:unsqueeze(dim):transpose(dim, x.ndim):squeeze(x.ndim)
    end
    local vars, roots, worst = got:reshape(-1):tolist(), root:reshape(-1):tolist(), 0
    for i, values in ipairs(rows) do
        local want = variance(values)
        worst = math.max(worst, math.abs(vars[i] / want - 1), math.abs(roots[i] / want ^ 0.5 - 1))
    end
    return worst
end

local LAYOUTS <const> = {
    { "a middle dim", { 3, 150, 64 }, 2 }, { "columns in parts", { 5000, 16 }, 1 },
    { "narrow columns", { 903, 6 }, 1 }, { "short rows", { 40, 9 }, 2 },
    { "rows", { 6, 1024 }, 2 }, { "a long row", { 1, 40000 }, 2 },
    { "a middle dim, no vectors", { 3, 50, 37 }, 2 },
}
local TOLERANCE <const> = { f32 = 2.0 ^ -23, f16 = 2.0 ^ -11 + 1e-6, bf16 = 2.0 ^ -8 + 1e-6 }

manual_seed(3)
for _, layout in ipairs(LAYOUTS) do
    local name, shape, dim = table.unpack(layout)
    for dtype, most in next, TOLERANCE do
        local x = (randn(shape) * 3 + 300):to(dtype):to "cuda"
        local what = name .. " of " .. dtype
        t.ok(error_of(x, dim) <= most, what .. ": far from 0")
        x:narrow(dim, 1, 1):fill_(100)
        t.ok(error_of(x, dim) <= most, what .. ": beside a first element that is far from the rest")
        x:narrow(dim, 2, 1):fill_(0 / 0)
        t.ok(x:var(dim):isnan():all():item(), what .. ": beside NaN")
    end
end
t.ok(zeros(0, 3, { device = "cuda" }):var(1):isnan():all():item(), "of nothing it is NaN")
t.is(full({ 5, 8 }, 7, { device = "cuda" }):to("f32"):var(1):cpu(), zeros(8), "of equal numbers 0")

t.done()
