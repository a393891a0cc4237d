--!plain
-- Cases for tests/tensor/ops/ops_custom.lua: convolutions of every rank and their gradients, and
-- (cases/pool.lua) pooling.
local g = require "gpush"
local A = require "arrays"
local build, get, set = A.build, A.get, A.set
local C = {}

local FLOATS = {f64 = true, f32 = true, f16 = true, bf16 = true}
-- The dtypes that PyTorch's convolutions take on the CPU; integers wrap.
local NUMBERS = {f64 = true, f32 = true, f16 = true, bf16 = true, u8 = true, i8 = true, i16 = true,
    i32 = true, i64 = true}
local OR_I64 = {f64 = true, f32 = true, f16 = true, bf16 = true, i64 = true}
local function held(c, a) return build(a.shape, function(i) return A.as(c.dtype, get(a, i)) end) end
local function tolerance(c)
    return c.dtype == "bf16" and 8e-2 or c.dtype == "f16" and 8e-3 or c.dtype == "f32" and 8e-6
        or 1e-12
end

-- 2 images of 4 channels, 6 filters in 2 groups, kernel 2 3 2, stride 2 1 1, padding 1 0 1: as many
-- of each as the rank.
local SIZE, KERNEL, STRIDE, PADDING, RESULT = {5, 4, 3}, {2, 3, 2}, {2, 1, 1}, {1, 0, 1}, {3, 2, 4}
local function first(list, rank) return {table.unpack(list, 1, rank)} end
local function shapes(rank)
    return {2, 4, table.unpack(SIZE, 1, rank)}, {6, 2, table.unpack(KERNEL, 1, rank)},
        {2, 6, table.unpack(RESULT, 1, rank)}
end

-- Calls f with the indices in image, weight and result of each product (tables that are reused).
local function products(rank, f)
    local _, ws, ys = shapes(rank)
    A.each(ys, function(y)
        A.each(ws, function(w)
            if w[1] ~= 1 then return end -- the filter is the result's channel
            local x = {y[1], (y[2] - 1) // 3 * 2 + w[2]}
            for d = 1, rank do
                local at = (y[2 + d] - 1) * STRIDE[d] - PADDING[d] + w[2 + d]
                if at < 1 or at > SIZE[d] then return end
                x[2 + d] = at
            end
            f(x, {y[2], table.unpack(w, 2)}, y)
        end)
    end)
end
local function zeros(shape) return build(shape, function() return 0 end) end
local function add(a, idx, v) set(a, idx, get(a, idx) + v) end
local function options(rank)
    return {stride = first(STRIDE, rank), padding = first(PADDING, rank), groups = 2}
end

for rank = 1, 3 do
    local xs, ws, ys = shapes(rank)
    C["conv" .. rank .. "d"] = {types = NUMBERS, run = function(c)
        local fn = g["conv" .. rank .. "d"]
        local x, a = c.x(xs)
        local w, b = c.x(ws)
        local bias, v = c.x {6}
        local want = build(ys, function(i) return get(v, {i[2]}) end)
        products(rank, function(i, j, o) add(want, o, get(a, i) * get(b, j)) end)
        c.check(fn(x, w, bias, options(rank)), held(c, want), nil, tolerance(c))
        c.refuses(function() return fn(x, w:narrow(1, 1, 5), nil, {groups = 2}) end,
            "^conv" .. rank .. "d: 2 groups")
    end}
    C["conv_transpose" .. rank .. "d"] = {types = OR_I64, run = function(c)
        local fn = g["conv_transpose" .. rank .. "d"]
        local y, a = c.x(ys)
        local w, b = c.x(ws)
        local bias, v = c.x {4}
        local want = build(xs, function(i) return get(v, {i[2]}) end)
        products(rank, function(i, j, o) add(want, i, get(a, o) * get(b, j)) end)
        local o = options(rank)
        o.output_padding = first({1, 0, 0}, rank)
        c.check(fn(y, w, bias, o), want, nil, tolerance(c))
        c.refuses(function() return fn(y, w:narrow(1, 1, 5), nil, {groups = 2}) end,
            "^conv_transpose" .. rank .. "d: the weight")
    end}
end

-- The convolution of each rank.
local function gradient(name, run)
    return {types = FLOATS, run = function(c)
        for rank = 1, 3 do
            local xs, ws, ys = shapes(rank)
            run(c, rank, xs, ws, ys)
        end
        c.refuses(function()
            return g[name]((c.x {2, 6, 2}), (c.x {6, 2, 2}), {2, 4, 5}, 2, 1, 1, 2)
        end, "^" .. name .. ": ")
    end}
end
C.conv_input_grad = gradient("conv_input_grad", function(c, rank, xs, ws, ys)
    local y, a = c.x(ys)
    local w, b = c.x(ws)
    local want = zeros(xs)
    products(rank, function(i, j, o) add(want, i, get(a, o) * get(b, j)) end)
    c.check(g.conv_input_grad(y, w, xs, first(STRIDE, rank), first(PADDING, rank), 1, 2), want, nil,
        tolerance(c))
end)
C.conv_weight_grad = gradient("conv_weight_grad", function(c, rank, xs, ws, ys)
    local y, a = c.x(ys)
    local x, b = c.x(xs)
    local want = zeros(ws)
    products(rank, function(i, j, o) add(want, j, get(a, o) * get(b, i)) end)
    c.check(g.conv_weight_grad(y, x, ws, first(STRIDE, rank), first(PADDING, rank), 1, 2), want,
        nil, tolerance(c))
end)

for name, case in pairs(require "cases.pool") do C[name] = case end
return C
