--!plain
-- Reductions: shapes for each path of the driver against sums in plain Lua, accuracy of long f32
-- sums, and independence of the threads.
local t = require "tap"
local g = require "gpush"

-- Values are small integers, so every sum is exact in every dtype and any order.
local function value(i) return (i * 7919) % 13 - 6 end

-- The sum, the largest and the count of zeros over the dims in `over` of a tensor of shape dims,
-- keyed by the kept indices.
local function reference(dims, over)
    local sum, most, all, n = {}, {}, {}, 1
    for _, d in ipairs(dims) do n = n * d end
    for i = 0, n - 1 do
        local rest, at = i, {}
        for d = #dims, 1, -1 do
            at[d] = rest % dims[d]
            rest = rest // dims[d]
        end
        local key = 0
        for d = 1, #dims do
            if not over[d] then key = key * dims[d] + at[d] end
        end
        local v = value(i)
        sum[key + 1] = (sum[key + 1] or 0) + v
        most[key + 1] = math.max(most[key + 1] or v, v)
        all[key + 1] = all[key + 1] ~= false and v ~= 0
    end
    return sum, most, all
end

local function check(dev, dims, ...)
    local over, list = {}, {...}
    for _, d in ipairs(list) do over[d] = true end
    local sum, most, all = reference(dims, over)
    local n = 1
    for _, d in ipairs(dims) do n = n * d end
    local name = dev .. ": " .. table.concat(dims, "x") .. " over " .. table.concat(list, ",") ..
        " "
    local base = (g.arange(0, n - 1) * 7919) % 13 - 6
    local short = n < 70000 and {"f32", "i64", "i8", "f16"} or {"f32"}
    for _, dtype in ipairs(short) do
        local x = base:to(dtype):to(dev):reshape(dims)
        t.is(x:sum(list):reshape(-1), sum, name .. "sum of " .. dtype)
        t.is(x:amax(list):reshape(-1), most, name .. "amax of " .. dtype)
        t.is(x:all(list):reshape(-1), all, name .. "all of " .. dtype)
    end
end

for _, dev in ipairs {"cpu", "sim"} do
    check(dev, {5, 7}, 1)
    check(dev, {5, 7}, 2)
    check(dev, {40, 90}, 1)
    check(dev, {40, 90}, 2)
    check(dev, {3, 20, 50}, 2)
    check(dev, {3, 20, 50}, 1, 3)
    check(dev, {3, 20, 50}, 1, 2, 3)
    check(dev, {4, 3, 5, 6}, 1, 3)
    check(dev, {3, 1200}, 1)
    check(dev, {300, 1200}, 1)
    check(dev, {90000, 4}, 1)
    check(dev, {40000, 10}, 1)
    check(dev, {4, 90000}, 2)
    check(dev, {200000}, 1)
    local x = g.full({3000000}, 0.1, {device = dev})
    local tenth = g.full({1}, 0.1):item()
    t.close(x:sum():item(), 3000000 * tenth, 2e-7, dev .. ": a long f32 sum")
    t.close(x:reshape(300000, 10):sum(1)[3]:item(), 300000 * tenth, 5e-7,
        dev .. ": a long f32 sum of columns")
    t.close(x:reshape(2, 1500000):mean(2)[2]:item(), tenth, 2e-7,
        dev .. ": a long f32 mean of rows")
    -- 16 separate sums, each longer than a partial sum: row i is i, and 1 more at 3 positions.
    local long = g.arange(1, 16, {device = dev, dtype = "f32"}):reshape(16, 1):expand(
        16, 140000):contiguous()
    for _, at in ipairs {1, 65537, 140000} do long:select(2, at):add_(1) end
    t.is(long:sum(2):sub(g.arange(1, 16, {device = dev}) * 140000), g.full({16}, 3.0),
        dev .. ": 16 rows of 140000")
    -- A line long enough to be searched in parts: the best in the first, in the last, at the seams,
    -- and twice.
    local line = g.zeros(200001, {device = dev})
    -- closer and closer to the start: the first of equals is found
    for _, at in ipairs {200001, 3126, 3125, 2, 1} do
        line[at] = 1
        t.is(line:argmax():item(), at, dev .. ": argmax of a long line is " .. at)
        t.is(line:neg():argmin():item(), at, dev .. ": argmin of a long line is " .. at)
    end
    line[150000] = 0 / 0
    t.is(line:argmax():item(), 150000, dev .. ": argmax of a long line with NaN")
    t.is(g.full({5, 40}, -math.huge, {device = dev}):amax(1):eq(-math.huge):all():item(), true,
        dev .. ": nothing but -inf")
    local y = g.ones(70, 40, {device = dev})
    y[33][7] = 0 / 0
    t.is(y:amax(1):ne(y:amax(1)):sum():item(), 1, dev .. ": NaN wins in columns")
    t.is(y:reshape(-1):amin():ne(0):item(), true, dev .. ": NaN wins in a line")
    t.is(y:reshape(-1):amin():eq(1):item(), false, dev .. ": … and is not 1")
    -- Lines of lengths around the number of lanes, beginning anywhere: each element counts once.
    local numbers, wrong = g.arange(1, 300, {dtype = "f32", device = dev}), {}
    for n = 1, 290 do
        local from = n % 7 + 1
        local x = numbers[from .. ":" .. from + n - 1]
        for _, line in ipairs {x, x:to "i64", x:to "f64"} do
            local good = line:sum():item() == n * (2 * from + n - 1) // 2
                and line:amax():item() == from + n - 1
            if not good then wrong[#wrong + 1] = n .. " " .. line.dtype end
        end
        local at = n - (n * 5) % (n // 2 + 1) -- somewhere in its second half
        local nan = x:clone()
        nan[at] = 0 / 0
        local most, least = nan:amax():item(), nan:amin():item()
        if most == most or least == least then wrong[#wrong + 1] = n .. " with NaN at " .. at end
    end
    t.is(wrong, {}, dev .. ": lines of 1 to 290 elements")
    t.is(g.zeros(0, 3, {device = dev}):sum(1), {0, 0, 0}, dev .. ": a sum of nothing")
    t.is(g.zeros(3, 0, {device = dev}):mean(2), {0 / 0, 0 / 0, 0 / 0}, dev .. ": a mean of nothing")
end

-- torch.var: NaN stays, a divisor below 0 is 0, equal elements have none.
for _, dev in ipairs {"cpu", "sim"} do
    for _, dtype in ipairs {"f32", "f64", "f16"} do
        local nan = 0 / 0
        local x = g.tensor({{1, nan, 3}, {2, 2, 2}, {1, math.huge, 1}}, {dtype = dtype}):to(dev)
        local name = dev .. " " .. dtype .. ": "
        t.is(x:var(2), {nan, 0, nan}, name .. "var of rows with NaN and infinity")
        t.is(x:t():contiguous():var(1), {nan, 0, nan}, name .. "of columns")
        t.is(x:expand(1, 3, 3):permute(1, 3, 2):std(2), {{nan, 0, nan}}, name .. "std")
        t.is(x[2]:var(1, {correction = 4}), nan, name .. "var with more correction than elements")
        t.is(x[2]:var(1, {correction = 3}), nan, name .. "and with as much")
        t.is(x[2]["1:1"]:var(1), nan, name .. "of one element")
    end
end

-- Rows followed by a gap that are longer than what is summed at once: the gap's contents must not
-- count.
for _, dev in ipairs {"cpu", "sim"} do
    local x = g.ones({16, 2, 100003}, {dtype = "u8", device = dev})
    x["..., 100001:100003"] = 100
    x["..., 1:2"] = 3
    local want = {}
    for i = 1, 16 do want[i] = 2 * (99998 + 6) end
    t.is(x:narrow(3, 1, 100000):sum {2, 3}, want, dev .. ": long rows with gaps")
end

do
    local x = (g.arange(1, 1000003, {dtype = "f32"}) * 0.7):sin()
    local results = {}
    for n = 1, 4 do
        g.threads(n)
        results[n] = {x:sum():item(), x["1:1000000"]:reshape(1000, 1000):sum(1):tolist(),
            x["1:1000000"]:reshape(250000, 4):sum(1):tolist(), x:cumsum(1)[-1]:item(),
            x["1:210000"]:reshape(300, 700):softmax(1):tolist()}
    end
    for n = 2, 4 do t.is(results[n], results[1], n .. " threads give what one gives") end
end
-- ---- short rows are combined several at a time: plain loops, with equal elements and NaN ----
do
    local nan, inf = 0 / 0, math.huge
    local function same(a, b, tolerance)
        if a ~= a or b ~= b then return a ~= a and b ~= b end
        return a == b or math.abs(a - b) <= tolerance * (1 + math.abs(b))
    end
    -- a row's sum, largest element, its index, norm and softmax
    local function row_of(list, r, k)
        local sum, top, at, squares, exps = 0, -inf, 1, 0, 0
        for j = 1, k do
            local v = list[(r - 1) * k + j]
            sum, squares = sum + v, squares + v * v
            if top == top and (v > top or v ~= v) then top, at = v, j end
        end
        for j = 1, k do exps = exps + math.exp(list[(r - 1) * k + j] - top) end
        return sum, top, at, math.sqrt(squares), exps
    end
    for dtype, tolerance in pairs {f64 = 1e-13, f32 = 1e-5, f16 = 4e-3, i64 = 0, u8 = 0} do
        for _, k in ipairs {2, 3, 8, 17, 33, 64, 100, 129} do
            local n, list, float = 67, {}, tolerance > 0
            for i = 1, n * k do list[i] = (i * 7919 % 23) / (float and 4 or 1) end
            if float then list[5 * k + 2], list[6 * k + 1], list[7 * k] = nan, nan, -inf end
            local x = g.tensor(list):to(dtype):view(n, k)
            local wide = g.cat({x, x}, 2):narrow(2, 1, k) -- rows with gaps between them
            for name, y in pairs {dense = x, gaps = wide, turned = x:t():contiguous():t()} do
                local sums, tops, places = y:sum(2):tolist(), y:max(2)
                local best, arg = y:amax(2):tolist(), y:argmax(2):tolist()
                tops, places = tops:tolist(), places:tolist()
                local norms = float and y:norm(2, 2):tolist()
                local soft, logs = float and y:softmax(2):tolist(), float
                    and y:log_softmax(2):tolist()
                local good, running = true, y:cumsum(2):tolist()
                for r = 1, n do
                    local so_far = 0
                    for j = 1, k do
                        so_far = so_far + list[(r - 1) * k + j]
                        good = good and same(running[r][j], so_far, tolerance * 4)
                    end
                    local sum, top, at, norm, exps = row_of(list, r, k)
                    good = good and same(sums[r], sum, tolerance * 2) and same(tops[r], top, 0)
                        and same(best[r], top, 0) and
                        places[r] == at and arg[r] == at
                    for j = 1, float and k or 0 do
                        local v = list[(r - 1) * k + j]
                        good = good and same(soft[r][j], math.exp(v - top) / exps, tolerance) and
                            same(logs[r][j], v - top - math.log(exps), tolerance)
                                and same(norms[r], norm, tolerance * 2)
                    end
                    if not good then print("# row " .. r) break end
                end
                t.ok(good, ("%s: rows of %d, %s"):format(dtype, k, name))
            end
        end
    end
end

-- Over a dim of one element: the elements themselves, however they lie.
local single = g.randn(1000, 3):narrow(2, 2, 1)
local list = {}
for k = 1, 1000 do list[k] = single[{k, 1}]:item() end
for _, name in ipairs {"sum", "mean", "prod", "amax", "amin"} do
    t.is(single[name](single, 2):tolist(), list, name .. " over a strided dim of one")
    t.is(single:contiguous()[name](single:contiguous(), 2):tolist(), list, name .. ", contiguous")
    t.is(single:t()[name](single:t(), 1):tolist(), list, name .. ", transposed")
end
t.is(single:argmax(2):sum():item(), 1000, "argmax over a dim of one")
t.ok(single:var(2):isnan():all():item(), "var over a dim of one")

t.done()
