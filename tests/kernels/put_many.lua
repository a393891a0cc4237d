--!plain
-- scatter_add, scatter_reduce and gather of many elements (offsets made block by block, sums in
-- lanes), on one and two threads, against plain loops and numbers that are exact in any order.
local g = require "gpush"
local t = require "tap"

local N, K = 20003, 7
local dtypes = {"f32", "f64", "i32", "i64", "u8", "f16"}

-- Indices 1 … K, some of them counted from the end, and small values.
local function index_of(i) return i % 5 == 0 and -(i * 7 % K) - 1 or (i * i // 3) % K + 1 end
local function value_of(i) return i % 3 == 0 and 1 or 0 end
local function place(i) return i < 0 and i + K + 1 or i end

local index, values = {}, {}
for i = 1, N do index[i], values[i] = index_of(i), value_of(i) end

local function sums(start, each)
    local want, count = {}, {}
    for k = 1, K do want[k], count[k] = start, 0 end
    for i = 1, N do
        local k = place(index[i])
        want[k], count[k] = want[k] + (each or values[i]), count[k] + 1
    end
    return want, count
end

for k = 1, 2 do
    g.threads(k)
    for _, dev in ipairs {"cpu", "sim"} do
        local ix = g.tensor(index, {dtype = "i64"}):to(dev)
        for _, dt in ipairs(dtypes) do
            local name = ("%s %s %d threads: "):format(dev, dt, k)
            local src, x = g.tensor(values, {dtype = dt}):to(dev),
                g.full({K}, 3, {dtype = dt, device = dev})
            local want, count = sums(3)
            if dt == "u8" then for i = 1, K do want[i] = want[i] % 256 end end
            local function check(y, list, what, near)
                local good = true
                near = near or dt == "f16" and 1 / 1024 or 0
                for i, v in ipairs(y:tolist()) do
                    good = good and math.abs(v - list[i]) <= list[i] * near
                end
                t.ok(good, name .. what)
            end
            check(x:scatter_add(1, ix, src), want, "scatter_add")
            check(x:scatter_add(1, ix:to("i32"), src), want, "scatter_add with an i32 index")
            check(x:view({K, 1}):scatter_add(1, ix:view({N, 1}), src:view({N, 1})):view({-1}), want,
                "scatter_add of a column")
            local wide = g.zeros(K, 3, {dtype = dt, device = dev})
            local column = wide:select(2, 2)
            column:copy_(x)
            column:scatter_add_(1, ix, src)
            check(column, want, "scatter_add_ into a strided column")
            t.is(wide:select(2, 1):sum():item() + wide:select(2, 3):sum():item(), 0,
                name .. "its neighbours stay")
            t.is(x:scatter_add(1, ix, g.zeros(N, {dtype = dt, device = dev})):tolist(), x:tolist(),
                name .. "nothing added")
            if dt ~= "u8" then
                check(x:scatter_reduce(1, ix, src, "mean"), (function()
                    local mean = {}
                    for i = 1, K do
                        mean[i] = dt:find "^i" and want[i] // (count[i] + 1)
                            or want[i] / (count[i] + 1)
                    end
                    return mean
                end)(), "scatter_reduce by mean", dt:find "^f"
                    and (dt == "f16" and 1 / 1024 or 1e-7))
            end
            local most = {3, 3, 3, 3, 3, 3, 3}
            for i = 1, N do
                most[place(index[i])] = math.max(most[place(index[i])], values[i] * (i % 11))
            end
            check(x:scatter_reduce(1, ix,
                g.tensor(values):mul(g.arange(1, N):remainder(11)):to(dt):to(dev), "amax"), most,
                    "scatter_reduce by amax")
            local picked = {}
            for i = 1, N do picked[i] = place(index[i]) end
            t.is(g.arange(1, K):to(dt):to(dev):gather(1, ix):tolist(), picked, name .. "gather")
        end
        -- An index out of range, also in the last part: an error, and in place nothing is changed.
        for _, bad in ipairs {{5, 0}, {N, K + 1}, {N - 1, -K - 1}, {10007, math.mininteger},
            {10008, math.maxinteger}}
        do
            local list = {table.unpack(index, 1, N)}
            list[bad[1]] = bad[2]
            local broken, src, x = g.tensor(list, {dtype = "i64"}):to(dev),
                g.ones(N, {device = dev}), g.zeros(K, {device = dev})
            local text = (("index %d is out of range for dim 1 of size 7"):format(
                bad[2]):gsub("%-", "%%-"))
            t.error(function() return x:scatter_add(1, broken, src):sum():item() end, text,
                dev .. ": scatter_add refuses " .. bad[2])
            t.error(function() return x:gather(1, broken):sum():item() end, text,
                dev .. ": gather refuses " .. bad[2])
            t.error(function() return x:scatter_add_(1, broken, src):sum():item() end, text,
                dev .. ": so does scatter_add_")
            t.error(function() return x:scatter_reduce(1, broken, src, "prod"):sum():item() end,
                text, dev .. ": and scatter_reduce")
            t.is(x, {0, 0, 0, 0, 0, 0, 0}, dev .. ": x is as it was")
        end
        local minus = g.full({K}, -0.0, {device = dev}):scatter_add(
            1, ix, g.full({N}, -0.0, {device = dev}))
        t.is(1 / minus[1]:item(), -math.huge, dev .. ": sums of -0.0 are -0.0")
        -- An index that is constant along the last dim, and one that is itself written.
        local rows = g.arange(1, 3000):view({1000, 3}):to(dev)
        t.is(rows:gather(1, g.tensor({{7}, {-1}}):to("i64"):to(dev):expand(2, 3)),
            {{19, 20, 21}, {2998, 2999, 3000}}, dev .. ": an expanded index")
        local own = g.tensor({3, 1, 2, 2}, {dtype = "i64"}):to(dev)
        own:scatter_add_(1, own, own)
        t.is(own, {4, 5, 5, 2}, dev .. ": an index that is written itself")
    end
end

-- The same bits whatever the number of threads.
g.manual_seed(5)
local ix, src = g.randint(1, 50, {100000}), g.randn(100000)
local bits
for k = 1, 3 do
    g.threads(k)
    local y = g.zeros(50):scatter_add(1, ix, src)
    bits = bits or y
    t.ok(y:equal(bits), k .. " threads: the same sums")
end
local double = g.zeros(50, {dtype = "f64"}):scatter_add(1, ix, src:to("f64"))
t.ok(bits:to("f64"):sub(double):abs():max():item() < 1e-4, "near the sums in f64")

-- index_put by coordinates that never fall, whose entries threads share out: elements have up to
-- 10,000 entries, which lie on both sides of a part's end. And with one that falls, where a single
-- thread writes.
local M, WIDTH = 40000, 100
for _, falls in ipairs {0, 20011} do
    local flat, rows, columns, last, count = {}, {}, {}, {}, {}
    for i = 1, M do
        local at = i < 15000 and i // 4 or i < 25000 and 4000 or i // 5
        flat[i] = i == falls and 17 or at
        rows[i], columns[i] = flat[i] // WIDTH + 1, flat[i] % WIDTH + 1
        last[flat[i]], count[flat[i]] = i, (count[flat[i]] or 0) + 1
    end
    g.manual_seed(6)
    local r, c = g.tensor(rows, {dtype = "i64"}), g.tensor(columns, {dtype = "i32"})
    local order, floats = g.arange(1, M), g.randn(M)
    local first
    for k = 1, 3 do
        g.threads(k)
        local name = ("%d threads, %s: "):format(k, falls > 0 and "one falls" or "none falls")
        local x = g.zeros(M // WIDTH, WIDTH, {dtype = "i64"})
        local put, sum = x:index_put({r, c}, order), x:index_put({r, c}, 2, true)
        local good = true
        for at, v in ipairs(put:flatten():tolist()) do good = good and v == (last[at - 1] or 0) end
        t.ok(good, name .. "the last of an element's writes stays")
        good = true
        for at, v in ipairs(sum:flatten():tolist()) do
            good = good and v == 2 * (count[at - 1] or 0)
        end
        t.ok(good, name .. "each is added once")
        t.ok(x:index_put_({r, c}, order):equal(put), name .. "so in place")
        local y = g.zeros(M // WIDTH, WIDTH):index_put_({r, c}, floats, true)
        first = first or y
        t.ok(y:equal(first), name .. "sums run in the entries' order")
        r[M // 2] = M
        t.error(function() x:index_put_({r, c}, 0) end, "index 40000 is out of range for dim 1",
            name .. "an index out of range")
        t.ok(x:equal(put), name .. "changes nothing")
        r[M // 2] = rows[M // 2]
    end
end
t.done()
