--!plain
-- Recurrent layers in plain Lua, by loops, for tests: the expected results of lstm, gru and rnn.
local A = require "arrays"
local R = {}

local function sigmoid(v) return 1 / (1 + math.exp(-v)) end
local function tanh(v)
    local e = math.exp(-2 * math.abs(v)) local t = (1 - e) / (1 + e) return v < 0 and -t or t
end

-- Pre-activation of row `k` of weight w and bias b for input vector v. Offsets are computed here,
-- not by A.get: gradients run this often.
local function line(w, b, v, k)
    local s, at, weights = b and b.v[k] or 0, (k - 1) * #v, w.v
    for j = 1, #v do s = s + weights[at + j] * v[j] end
    return s
end

local function zeros(...)
    local a = {shape = {...}, v = {}}
    for i = 1, A.numel(a.shape) do a.v[i] = 0 end
    return a
end
-- Row (i, j) of an array of three dims, and to put one there, from column `from` on.
local function start(a, i, j) return ((i - 1) * a.shape[2] + j - 1) * a.shape[3] end
local function row(a, i, j)
    local at = start(a, i, j)
    return table.move(a.v, at + 1, at + a.shape[3], 1, {})
end
local function put(a, i, j, from, v) table.move(v, 1, #v, start(a, i, j) + from, a.v) end

local cells = {}
function cells.lstm(v, h, c, wi, wh, bi, bh, n)
    local h2, c2 = {}, {}
    for j = 1, n do
        local p = {}
        for gate = 0, 3 do
            p[gate] = line(wi, bi, v, gate * n + j) + line(wh, bh, h, gate * n + j)
        end
        c2[j] = sigmoid(p[1]) * c[j] + sigmoid(p[0]) * tanh(p[2])
        h2[j] = sigmoid(p[3]) * tanh(c2[j])
    end
    return h2, c2
end
function cells.gru(v, h, _, wi, wh, bi, bh, n)
    local h2 = {}
    for j = 1, n do
        local r = sigmoid(line(wi, bi, v, j) + line(wh, bh, h, j))
        local z = sigmoid(line(wi, bi, v, n + j) + line(wh, bh, h, n + j))
        local new = tanh(line(wi, bi, v, 2 * n + j) + r * line(wh, bh, h, 2 * n + j))
        h2[j] = (1 - z) * new + z * h[j]
    end
    return h2
end
local function plain(f)
    return function(v, h, _, wi, wh, bi, bh, n)
        local h2 = {}
        for j = 1, n do h2[j] = f(line(wi, bi, v, j) + line(wh, bh, h, j)) end
        return h2
    end
end
cells.tanh, cells.relu = plain(tanh), plain(function(v) return v < 0 and 0 or v end)

-- kind: lstm, gru, tanh or relu; x, h0, c0 (nil: zeros), weights: arrays; o: num_layers,
-- bidirectional, has_biases. Returns the arrays output [time][batch][features], h_n, c_n.
function R.run(kind, x, h0, c0, w, o)
    local T, B, n = x.shape[1], x.shape[2], w[2].shape[2]
    local dirs, each = o.bidirectional and 2 or 1, o.has_biases == false and 2 or 4
    local layers = o.num_layers or 1
    local hn, cn = zeros(layers * dirs, B, n), zeros(layers * dirs, B, n)
    h0, c0 = h0 or hn, c0 or cn -- which are still zero where they are read
    local input = x
    for layer = 1, layers do
        local y = zeros(T, B, dirs * n)
        for dir = 1, dirs do
            local at, state = ((layer - 1) * dirs + dir - 1) * each, (layer - 1) * dirs + dir
            for b = 1, B do
                local h, c = row(h0, state, b), row(c0, state, b)
                for s = 1, T do
                    local time = dir == 1 and s or T + 1 - s
                    h, c = cells[kind](row(input, time, b), h, c, w[at + 1], w[at + 2],
                        each == 4 and w[at + 3], each == 4 and w[at + 4], n)
                    put(y, time, b, (dir - 1) * n + 1, h)
                end
                put(hn, state, b, 1, h)
                if c then put(cn, state, b, 1, c) end
            end
        end
        input = y
    end
    return input, hn, cn
end

-- Shapes of the weights in PyTorch's order.
function R.weight_shapes(kind, features, n, o)
    local gates, dirs = kind == "lstm" and 4 or kind == "gru" and 3 or 1, o.bidirectional and 2 or 1
    local shapes = {}
    for layer = 1, o.num_layers or 1 do
        for _ = 1, dirs do
            shapes[#shapes + 1] = {gates * n, layer == 1 and features or dirs * n}
            shapes[#shapes + 1] = {gates * n, n}
            if o.has_biases ~= false then
                shapes[#shapes + 1] = {gates * n}
                shapes[#shapes + 1] = {gates * n}
            end
        end
    end
    return shapes
end

-- d(sum of the results times their weights) / d(each element of the arrays), by differences of
-- fourth order: their error grows with the fifth derivative times eps^4, below 1e-9 here (second
-- order sometimes gave 1e-8); f returns the sum.
function R.gradients(list, f)
    local out, eps = {}, 3e-4
    for k, a in ipairs(list) do
        out[k] = {shape = a.shape, v = {}}
        for i, v in ipairs(a.v) do
            local function difference(h)
                a.v[i] = v + h
                local up = f()
                a.v[i] = v - h
                return up - f()
            end
            out[k].v[i] = (8 * difference(eps) - difference(2 * eps)) / (12 * eps)
            a.v[i] = v
        end
    end
    return out
end

function R.dot(a, b)
    local s = 0
    for i = 1, #a.v do s = s + a.v[i] * b.v[i] end
    return s
end

return R
