--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: pooling, interpolation and their gradients, against
-- loops over windows.
local g = require "gpush"
local A = require "arrays"
local build, get, set = A.build, A.get, A.set
local C = {}

local FLOATS = {f64 = true, f32 = true, f16 = true, bf16 = true}
-- the dtypes that PyTorch's averages take on the CPU
local OR_I64 = {f64 = true, f32 = true, f16 = true, bf16 = true, i64 = true}
local function tolerance(c)
    return c.dtype == "bf16" and 2e-2 or c.dtype == "f16" and 2e-3 or c.dtype == "f32" and 2e-6
        or 1e-12
end
local function head(list, rank) return {table.unpack(list, 1, rank)} end
local function zeros(shape) return build(shape, function() return 0 end) end
local function add(a, idx, v) set(a, idx, get(a, idx) + v) end

-- Regular windows, given for two dims of size 6 and 7; expected sizes follow PyTorch's rule, worked
-- out by hand.
local REGULAR = {
    {kernel = {2, 3}, out = {3, 2}},
    {kernel = {3, 2}, stride = {2, 1}, pad = {1, 1}, out = {3, 8}},
    -- the last begins within the image in the second dim only
    {kernel = {2, 2}, stride = {3, 3}, ceil = true, out = {2, 3}},
    {kernel = {3, 3}, stride = {2, 2}, pad = {1, 1}, ceil = true, out = {4, 4}},
    {kernel = {2, 2}, stride = {1, 2}, dilation = {2, 3}, pad = {1, 1}, out = {6, 3}},
}
local SIZE = {6, 7}

-- Where window number o of dim d begins, ends (inclusive, not clipped) and its step; 1-based.
local function range(k, d, o, size)
    if k.adaptive then
        local n = k.out[d]
        return (o - 1) * size // n + 1, (o * size + n - 1) // n, 1
    end
    local s, p, step = (k.stride or k.kernel)[d], k.pad and k.pad[d] or 0, k.dilation
        and k.dilation[d] or 1
    local first = (o - 1) * s - p + 1
    return first, first + step * (k.kernel[d] - 1), step
end

-- Calls f(output index, input index, extent) for every element of every window, row-major; extent
-- is the window's size with padding (count_include_pad) and `inside` its size without.
local function visit(k, rank, f)
    local shape = {2, 3, table.unpack(k.out, 1, rank)}
    A.each(shape, function(o)
        local from, to, step, extent, inside = {}, {}, {}, 1, 1
        for d = 1, rank do
            local pad = k.pad and k.pad[d] or 0
            from[d], to[d], step[d] = range(k, d, o[2 + d], SIZE[d])
            extent = extent * (math.min(to[d], SIZE[d] + pad) - from[d] + 1)
            inside = inside * math.max(0, math.min(to[d], SIZE[d]) - math.max(from[d], 1) + 1)
        end
        local pos = {o[1], o[2]}
        local function walk(d)
            if d > rank then return f(o, pos, extent, inside) end
            for i = from[d], to[d], step[d] do
                if i >= 1 and i <= SIZE[d] then
                    pos[2 + d] = i
                    walk(d + 1)
                end
            end
        end
        walk(1)
    end)
    return shape
end

-- The window of output o, by its elements' indices.
local function largest(k, rank, a)
    local best, at, shape = {}, {}, nil
    shape = visit(k, rank, function(o, pos)
        local key, v = table.concat(o, " "), get(a, pos)
        if not best[key] or v > best[key] then
            local flat = 0
            for d = 1, rank do flat = flat * SIZE[d] + pos[2 + d] - 1 end
            best[key], at[key] = v, flat + 1
        end
    end)
    return build(shape, function(i) return best[table.concat(i, " ")] end),
        build(shape, function(i) return at[table.concat(i, " ")] end)
end

local function argument(list, rank) return list and head(list, rank) end

for rank = 1, 2 do
    local name, xs = "max_pool" .. rank .. "d", {2, 3, table.unpack(SIZE, 1, rank)}
    C[name] = {types = FLOATS, run = function(c)
        local x, a = c.x(xs)
        for _, k in ipairs(REGULAR) do
            local want, at = largest(k, rank, a)
            local function call(indices)
                return g[name](x, head(k.kernel, rank), argument(k.stride, rank),
                    argument(k.pad, rank) or 0, argument(k.dilation, rank) or 1, k.ceil or false,
                        indices)
            end
            local y, i = call(true)
            c.check(y, want)
            c.check(i, at, "i64", nil, "indices")
            c.check(call(false), want, nil, nil, "without indices")
        end
        c.refuses(function() return g[name](x, 9) end, "^" .. name .. ": a window of 9")
        c.refuses(function() return g[name](x, 2, 2, 2) end, "^" .. name .. ": padding 2")
    end}
    local adaptive = {adaptive = true, out = {4, 3}}
    local max = "adaptive_max_pool" .. rank .. "d"
    C[max] = {types = FLOATS, run = function(c)
        local x, a = c.x(xs)
        local want, at = largest(adaptive, rank, a)
        local y, i = g[max](x, head(adaptive.out, rank), true)
        c.check(y, want)
        c.check(i, at, "i64", nil, "indices")
        c.refuses(function() return g[max](x, {1, 2, 3}) end,
            "^" .. max .. ": argument 'output_size' has 3")
    end}
    C[name .. "_grad"] = {types = FLOATS, run = function(c)
        local _, a = c.x(xs)
        for _, k in ipairs(REGULAR) do
            local _, at = largest(k, rank, a)
            local dy, b = c.x(at.shape)
            local want, windows = zeros(xs), {head(k.kernel, rank), argument(k.stride, rank) or
                head(k.kernel, rank), argument(k.pad, rank) or 0, argument(k.dilation, rank) or 1,
                k.ceil or false}
            A.each(at.shape, function(o)
                local flat, pos = get(at, o) - 1, {o[1], o[2]}
                for d = rank, 1, -1 do pos[2 + d], flat = flat % SIZE[d] + 1, flat // SIZE[d] end
                add(want, pos, get(b, o))
            end)
            local function grad(...) return g[name .. "_grad"](dy, ...) end
            c.check(grad(c.put(at, "i64"), xs), want, nil, tolerance(c))
            c.check(grad(c.put(at, "i64"), xs, table.unpack(windows)), want, nil, tolerance(c),
                "with its windows")
            local outside = c.put(build(at.shape, function() return 99 end), "i64")
            for _, with in ipairs {{}, windows} do
                c.refuses(function() return grad(outside, xs, table.unpack(with)):tolist() end,
                    name .. "_grad: index 99 is outside the image's plane")
            end
            c.refuses(function() return grad(outside, xs, head(SIZE, rank)) end,
                name .. "_grad: argument 'grad' is")
        end
    end}

    -- The divisor of the mean.
    local function divisor(k, extent, inside)
        return k.divisor or k.count_inside and inside or k.adaptive and inside or extent
    end
    local AVERAGES = {}
    for i, k in ipairs(REGULAR) do if not k.dilation then AVERAGES[#AVERAGES + 1] = k end end
    AVERAGES[#AVERAGES + 1] = {kernel = {3, 3}, stride = {2, 2}, pad = {1, 1}, out = {3, 4},
        count_inside = true}
    if rank == 2 then AVERAGES[#AVERAGES + 1] = {kernel = {2, 2}, out = {3, 3}, divisor = 3} end
    local avg = "avg_pool" .. rank .. "d"
    local function options(k)
        return {stride = argument(k.stride, rank), padding = argument(k.pad, rank) or 0,
            ceil_mode = k.ceil or false,
            count_include_pad = not k.count_inside, divisor_override = k.divisor}
    end
    -- whole: quotients of integers, rounded towards 0.
    local function mean(k, a, whole)
        local shape = {2, 3, table.unpack(k.out, 1, rank)}
        local sums, by = zeros(shape), zeros(shape)
        visit(k, rank, function(o, pos, extent, inside)
            add(sums, o, get(a, pos))
            set(by, o, divisor(k, extent, inside))
        end)
        return build(shape, function(o)
            local n, d = get(sums, o), get(by, o)
            return not whole and n / d or n < 0 and -(-n // d) or n // d
        end)
    end
    local function mean_grad(k, b)
        local want = zeros(xs)
        visit(k, rank,
            function(o, pos, extent, inside)
                add(want, pos, get(b, o) / divisor(k, extent, inside))
            end)
        return want
    end
    C[avg] = {types = OR_I64, run = function(c)
        local x, a = c.x(xs)
        for _, k in ipairs(AVERAGES) do
            c.check(g[avg](x, head(k.kernel, rank), options(k)), mean(k, a, c.dtype == "i64"), nil,
                tolerance(c))
        end
        c.refuses(function() return g[avg](x, 9) end, "^" .. avg .. ": a window of 9")
    end}
    C[avg .. "_grad"] = {types = FLOATS, run = function(c)
        for _, k in ipairs(AVERAGES) do
            local dy, b = c.x {2, 3, table.unpack(k.out, 1, rank)}
            c.check(g[avg .. "_grad"](dy, xs, head(k.kernel, rank), options(k)), mean_grad(k, b),
                nil, tolerance(c))
        end
        c.refuses(function() return g[avg .. "_grad"]((c.x(xs)), xs, 2) end,
            "^" .. avg .. "_grad: argument 'grad'")
    end}
    local share = "adaptive_avg_pool" .. rank .. "d"
    C[share] = {types = FLOATS, run = function(c)
        local x, a = c.x(xs)
        c.check(g[share](x, head(adaptive.out, rank)), mean(adaptive, a), nil, tolerance(c))
        c.refuses(function() return g[share](x, -1) end,
            "^" .. share .. ": argument 'output_size' is %-1")
    end}
    C[share .. "_grad"] = {types = FLOATS, run = function(c)
        local dy, b = c.x {2, 3, table.unpack(adaptive.out, 1, rank)}
        c.check(g[share .. "_grad"](dy, xs), mean_grad(adaptive, b), nil, tolerance(c))
        c.refuses(function() return g[share .. "_grad"](dy, {9, table.unpack(xs, 2)}) end,
            "^" .. share .. "_grad: argument 'grad'")
    end}
end

-- ---- interpolation ----

-- Calls f(output index, input index, weight) for every input of an output; sizes are powers of two
-- or align, so positions are exact.
local function blends(k, f)
    local rank = #k.size
    A.each({2, 3, table.unpack(k.out)}, function(o)
        local pos = {o[1], o[2]}
        local function walk(d, w)
            if d > rank then return f(o, pos, w) end
            local n, m, i = k.size[d], k.out[d], o[2 + d] - 1
            local scale = k.align and (n - 1) / (m - 1) or n / m
            if not k.linear then
                pos[2 + d] = math.floor((i + (k.exact and 0.5 or 0)) * scale) + 1
                return walk(d + 1, w)
            end
            local at = k.align and i * scale or math.max(0, (i + 0.5) * scale - 0.5)
            local low = math.min(math.floor(at), n - 1)
            pos[2 + d] = low + 1
            walk(d + 1, w * (1 - (at - low)))
            pos[2 + d] = math.min(low + 1, n - 1) + 1
            walk(d + 1, w * (at - low))
        end
        walk(1, 1)
    end)
end
local RESIZES = {
    {size = {4}, out = {8}, mode = "nearest"},
    {size = {4, 6}, out = {8, 3}, mode = "nearest"},
    {size = {4, 2}, out = {6, 8}, mode = "nearest-exact", exact = true},
    {size = {2, 4, 3}, out = {4, 2, 3}, mode = "nearest"},
    {size = {4}, out = {8}, mode = "linear", linear = true},
    {size = {4, 6}, out = {8, 3}, mode = "bilinear", linear = true},
    {size = {3, 4}, out = {5, 7}, mode = "bilinear", linear = true, align = true},
    {size = {2, 4, 2}, out = {4, 2, 3}, mode = "trilinear", linear = true, align = true},
}
local MOVED = {f64 = true, f32 = true, f16 = true, bf16 = true, u8 = true}
C.interpolate = {types = MOVED, run = function(c)
    for _, k in ipairs(RESIZES) do
        if c.float or not k.linear then
            local x, a = c.x {2, 3, table.unpack(k.size)}
            local want = zeros {2, 3, table.unpack(k.out)}
            blends(k, function(o, pos, w) add(want, o, get(a, pos) * (k.linear and w or 1)) end)
            c.check(g.interpolate(x, k.out, {mode = k.mode, align_corners = k.align or false}),
                want, nil, k.linear and tolerance(c) or nil)
        end
    end
    local x, a = c.x {1, 1, 3}
    c.check(g.interpolate(x, {scale_factor = 2.5}),
        build({1, 1, 7}, function(i) return get(a, {1, 1, math.floor((i[3] - 1) / 2.5) + 1}) end))
    -- a scale for each dim: element i is at (i - 0.5) / scale + 0.5 along its own
    local p = c.dtype == "u8" and "nearest" or "bilinear"
    local q, b = c.x {1, 2, 3, 4}
    local function at(n, i, scale)
        if p == "nearest" then return math.min(math.floor((i - 1) / scale), n - 1) + 1, 0 end
        local s = math.max((i - 0.5) / scale - 0.5, 0)
        return math.floor(s) + 1, s - math.floor(s)
    end
    c.check(g.interpolate(q, {scale_factor = {2, 1.5}, mode = p}), build({1, 2, 6, 6}, function(i)
        local y, v = at(3, i[3], 2)
        local z, w = at(4, i[4], 1.5)
        local function row(k)
            return get(b, {1, i[2], k, z}) * (1 - w) +
                (w > 0 and get(b, {1, i[2], k, math.min(z + 1, 4)}) * w or 0)
        end
        return p == "nearest" and get(b, {1, i[2], y, z})
            or row(y) * (1 - v) + (v > 0 and row(math.min(y + 1, 3)) * v or 0)
    end), nil, p == "bilinear" and tolerance(c) or nil)
    c.refuses(function() return g.interpolate(q, {scale_factor = {2}}) end,
        "^interpolate: argument 'scale_factor' has 1")
    c.refuses(function() return g.interpolate(x, {mode = "bilinear", size = 4}) end,
        "^interpolate: ")
end}
C.interpolate_grad = {types = FLOATS, run = function(c)
    for _, k in ipairs(RESIZES) do
        local dy, b = c.x {2, 3, table.unpack(k.out)}
        local xs = {2, 3, table.unpack(k.size)}
        local want = zeros(xs)
        blends(k, function(o, pos, w) add(want, pos, get(b, o) * (k.linear and w or 1)) end)
        c.check(g.interpolate_grad(dy, xs, {mode = k.mode, align_corners = k.align or false}), want,
            nil, tolerance(c))
    end
    c.refuses(function() return g.interpolate_grad((c.x {2, 3, 4}), {2, 2, 4}) end,
        "^interpolate_grad: argument 'grad'")
end}

return C
