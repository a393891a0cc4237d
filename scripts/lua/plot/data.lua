--!plain
-- A chart's data as f64 tensors on the cpu, reduced to fewer points that look the same.
local require = ...
local gpush, fail = require "gpush", require "plot.fail"
local FEW = 4000 -- number of points that are drawn unreduced
local check_list = require "check_list"
local f64, i64 = { dtype = "f64", device = "cpu" }, { dtype = "i64", device = "cpu" }

-- A tensor or a list as a tensor of one dim.
local function numbers(v, what)
    if gpush.is_tensor(v) then
        if v.ndim ~= 1 then
            fail(what, "expected one dim, got %s",
                v.ndim > 0 and table.concat(v.shape, "x") or "none")
        end
        return v:detach():to("cpu"):to "f64"
    end
    if type(v) ~= "table" then
        fail(what, "expected a tensor or a list of numbers, got %s", type(v))
    end
    check_list(what, "list", v)
    local out = {}
    for i, x in ipairs(v) do
        out[i] = gpush.is_tensor(x) and x:item() or x
        if type(out[i]) ~= "number" then fail(what, "element %d is a %s", i, type(out[i])) end
    end
    if #out == 0 then return gpush.zeros({ 0 }, f64) end
    return gpush.tensor(out, f64)
end

-- 1, 2, … n.
local function counted(n) return n > 0 and gpush.arange(1, n, f64) or gpush.zeros({ 0 }, f64) end

-- The part of sorted x and their y that x0 … x1 needs, with a point on each side.
local function visible(xs, ys, x0, x1)
    local n = xs:numel()
    local first = math.max(1, xs:lt(x0):sum():item())
    local last = math.min(n, n - xs:gt(x1):sum():item() + 1)
    if first > last then return xs, ys end
    return xs:narrow(1, first, last - first + 1), ys:narrow(1, first, last - first + 1)
end

-- For each of that many columns the smallest and the largest y, first the one closer to the last
-- point; NaN where a column has points but none is finite.
local function by_column(xs, ys, x0, x1, columns)
    -- the columns outside keep one point on each side
    local column = ((xs - x0) * (columns / (x1 - x0))):floor():clamp(-1, columns):to "i64" + 2
    local finite, total = ys:isfinite(), columns + 2
    local function extreme(how, none)
        return gpush.full({ total }, none, f64):scatter_reduce(
            1, column, gpush.where(finite, ys, none), how):tolist()
    end
    local least, most = extreme("amin", math.huge), extreme("amax", -math.huge)
    local count = gpush.bincount(column, nil, total):tolist()
    local px, py, n, last = {}, {}, 0, nil
    local function add(x, y)
        n = n + 1
        px[n], py[n], last = x, y, y
    end
    for i = 1, total do
        local x, a, b = x0 + (i - 1.5) / columns * (x1 - x0), least[i], most[i]
        if count[i] > 0 then
            if a > b then add(0 / 0, 0 / 0)
            else
                if last and math.abs(last - a) > math.abs(last - b) then a, b = b, a end
                add(x, a)
                if a ~= b then add(x, b) end
            end
        end
    end
    return px, py
end

-- The column or row, of w or h, of each number, clamped to just outside; numbers that are not
-- finite get -9.
local function place(t, lo, hi, n)
    return gpush.where(t:isfinite(), ((t - lo) * (n / (hi - lo))):floor():clamp(-8, n + 8),
        -9):to "i64"
end

-- Points x, y (tensors) as lists for a drawing of w x h: in style "points" one of those with the
-- same position; of a line the extremes of each column, or, where x goes back and forth, the points
-- that move by a pixel. NaN is a gap.
local function fewer(xs, ys, xaxis, yaxis, w, h, style)
    local x0, x1 = xaxis[1], xaxis[2]
    local ok = xs:isfinite():logical_and(ys:isfinite())
    if style ~= "points" and xs:numel() > FEW and xs:isfinite():all():item()
        and xs:diff():ge(0):all():item() then
        xs, ys = visible(xs, ys, x0, x1)
        if xs:numel() > FEW then return by_column(xs, ys, x0, x1, w) end
        ok = ys:isfinite()
    elseif xs:numel() > FEW then
        local at = place(xs, x0, x1, w) * (h + 32) + place(ys, yaxis[1], yaxis[2], h)
        local keep
        if style == "points" then
            local sorted, from = at:sort()
            keep = from:index_select(1, sorted:diff():ne(0):nonzero():reshape(-1) + 1)
            keep = gpush.cat { keep, from:narrow(1, 1, 1) }
        else
            keep = gpush.cat { gpush.tensor({ 1 }, i64), at:diff():ne(0):nonzero():reshape(-1) + 1 }
        end
        xs, ys, ok = xs:index_select(1, keep), ys:index_select(1, keep), ok:index_select(1, keep)
    end
    return gpush.where(ok, xs, 0 / 0):tolist(), gpush.where(ok, ys, 0 / 0):tolist()
end

return { numbers = numbers, counted = counted, fewer = fewer }
