--!plain
-- Composites over dims: quantile, nanquantile, diff, norm, var_mean; against plain Lua, on cpu and
-- sim.
local t = require "tap"
local g = require "gpush"
local nan, inf = 0 / 0, math.huge

local function refuses(f, pattern, name)
    local ok, msg = pcall(f)
    t.ok(not ok and tostring(msg):find(pattern), name .. (ok and "" or ": " .. tostring(msg)))
end

-- The q-quantile of a list, as numpy defines the kinds of interpolation; the list has no NaN.
local function quantile(v, q, way)
    local s = table.move(v, 1, #v, 1, {})
    table.sort(s)
    local r = q * (#s - 1)
    local k = math.floor(r)
    local w = r - k
    local a, b = s[k + 1], s[math.min(k + 2, #s)]
    if way == "lower" or w == 0 then return a end
    if way == "higher" then return b end
    if way == "midpoint" then return (a + b) / 2 end
    if way == "nearest" then return (w > 0.5 or (w == 0.5 and k % 2 == 1)) and b or a end
    return a + w * (b - a)
end

local rows = {{3, -1, 4, 1, -5}, {9, 2, 6, -5, 3}, {5, 8, -9, 7, 9}, {3, 2, 3, 8, 4}}
local function column(j) local v = {}; for i, r in ipairs(rows) do v[i] = r[j] end; return v end

for _, dev in ipairs {"cpu", "sim"} do
    for _, dtype in ipairs {"f64", "f32", "f16", "bf16"} do
        local tol = dtype == "f64" and 1e-12 or dtype == "f32" and 1e-6 or 2e-2
        local function close(y, want, name)
            local got, worst = y:to("f64"):reshape(-1):tolist(), 0
            if #got ~= #want then return t.is(#got, #want, name) end
            for i = 1, #want do
                local d = (got[i] == want[i] or (got[i] ~= got[i] and want[i] ~= want[i])) and 0
                    or math.abs(got[i] - want[i]) / (1 + math.abs(want[i]))
                worst = d == d and math.max(worst, d) or inf
            end
            t.ok(worst <= tol and y.dtype == dtype,
                ("%s %s: %s (off by %g, %s)"):format(dev, dtype, name, worst, y.dtype))
        end
        local x = g.tensor(rows, {dtype = dtype}):to(dev)
        for _, way in ipairs {"linear", "lower", "higher", "midpoint", "nearest"} do
            for _, q in ipairs {0, 0.25, 0.3, 0.5, 1} do
                local along, down = {}, {}
                for i, r in ipairs(rows) do along[i] = quantile(r, q, way) end
                for j = 1, 5 do down[j] = quantile(column(j), q, way) end
                local name = ("quantile %g, %s"):format(q, way)
                close(x:quantile(q, 2, false, way), along, name)
                close(x:quantile(q, 1, {interpolation = way}), down, name .. ", down")
                close(x:nanquantile(q, -1, true, way), along, "nan" .. name)
                local at = g.tensor({q, 0.5}, {dtype = "f64"})
                for j = 1, 5 do down[5 + j] = quantile(column(j), 0.5, way) end
                close(x:quantile(at, 1, false, way), down, name .. ", with another")
            end
        end
        t.is(x:quantile({0.1, 0.2}, 2, true).shape, {2, 4, 1},
            dev .. " " .. dtype .. ": several quantiles are the first dim")
        t.is(x:quantile(0.5, nil, true).shape, {1, 1}, dev .. " " .. dtype .. ": keepdim of all")
        local y = g.tensor({{1, nan, 3, inf}, {nan, nan, nan, nan}, {-inf, 1, 2, 4}},
            {dtype = dtype}):to(dev)
        close(y:quantile(0.5, 2), {nan, nan, 1.5}, "NaN wins in quantile")
        close(y:nanquantile(0.5, 2), {3, nan, 1.5}, "nanquantile leaves NaN out")
        close(y:nanquantile(1, 2), {inf, nan, 4}, "the largest may be infinite")
        -- halfway is above - (above - below) / 2, as in lerp
        local ends = g.tensor({{-inf, 2}, {1, inf}}, {dtype = dtype}):to(dev)
        close(ends:quantile(0.5, 2), {-inf, nan}, "half of an infinite step")
        close(ends:quantile({0.5, 0.25}, 2), {-inf, nan, nan, inf}, "… and of several")

        close(x:diff(), {-4, 5, -3, -6, -7, 4, -11, 8, 3, -17, 16, 2, -1, 1, 5, -4}, "diff")
        close(x:diff(2, 1)[1], {-10, 3, -17, 18, -2}, "second diff down")
        close(x[1]:diff(1, 1, x[2]["1:2"], x[2]["5:5"]), {-7, 1, -4, 5, -3, -6, 8},
            "diff with prepend and append")
        t.is(x:diff(9).shape, {4, 0}, dev .. " " .. dtype .. ": diffs until nothing is left")
        close(x:norm("fro", 2), {math.sqrt(52), math.sqrt(155), math.sqrt(300), math.sqrt(102)},
            "norm")
        close(x:norm(1, 2), {14, 25, 38, 20}, "norm 1")
        close(x:norm(inf), {9}, "norm inf")
        local v, m = x:var_mean(2, {correction = 0})
        close(m, {0.4, 3, 4, 4}, "var_mean, mean")
        close(v, {10.24, 22, 44, 4.4}, "var_mean, variance")
    end
    local b = g.tensor({true, true, false, true}):to(dev)
    t.is(b:diff():tolist(), {false, true, true}, dev .. ": diff of bool")
    local x = g.zeros(3, {device = dev})
    refuses(function() return x:quantile(1.5) end,
        "quantile.lua:%d+: quantile: argument 'q': expected 0 to 1, got 1.5",
            dev .. ": quantile of 1.5")
    refuses(function() return x:quantile(0.5, 1, false, "cubic") end,
        "quantile.lua:%d+: quantile: argument 'interpolation'", dev .. ": a way that is none")
    refuses(function() return x:to("i32"):nanquantile(0.5) end,
        "quantile.lua:%d+: nanquantile: dtype i32", dev .. ": quantile of integers")
    refuses(function() return g.zeros(0, {device = dev}):quantile(0.5) end,
        "quantile.lua:%d+: quantile: no elements", dev .. ": quantile of nothing")
    refuses(function() return x:diff(-1) end, "quantile.lua:%d+: diff: argument 'n'",
        dev .. ": diff -1 times")
    refuses(function() return x:norm("max") end, "quantile.lua:%d+: norm: argument 'p'",
        dev .. ": a norm that is none")
end
t.done()
