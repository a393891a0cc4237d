--!plain
-- Recurrent layers in plain Lua, loop by loop, for tests: what lstm, gru and rnn should give.
local A = require "arrays"
local get = A.get
local R = {}

local function sigmoid(v) return 1 / (1 + math.exp(-v)) end
local function tanh(v) local e = math.exp(-2 * math.abs(v)) local t = (1 - e) / (1 + e) return v < 0 and -t or t end

-- Pre-activation of row `k` of weight w and bias b for input vector v.
local function line(w, b, v, k)
    local s = b and get(b, {k}) or 0
    for j = 1, #v do s = s + get(w, {k, j}) * v[j] end
    return s
end

local cells = {}
function cells.lstm(v, h, c, wi, wh, bi, bh, n)
    local h2, c2 = {}, {}
    for j = 1, n do
        local p = {}
        for gate = 0, 3 do p[gate] = line(wi, bi, v, gate * n + j) + line(wh, bh, h, gate * n + j) end
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

-- kind: lstm, gru, tanh or relu; x, h0, c0 (nil: zeros), weights: arrays; o: num_layers, bidirectional, has_biases.
-- Returns the arrays output [time][batch][features], h_n, c_n.
function R.run(kind, x, h0, c0, w, o)
    local T, B, n = x.shape[1], x.shape[2], w[2].shape[2]
    local dirs, each = o.bidirectional and 2 or 1, o.has_biases == false and 2 or 4
    local layers = o.num_layers or 1
    local hn, cn = A.build({layers * dirs, B, n}, function() return 0 end), A.build({layers * dirs, B, n}, function() return 0 end)
    local input = x
    for layer = 1, layers do
        local y = A.build({T, B, dirs * n}, function() return 0 end)
        for dir = 1, dirs do
            local at, state = ((layer - 1) * dirs + dir - 1) * each, (layer - 1) * dirs + dir
            for b = 1, B do
                local h, c = {}, {}
                for j = 1, n do
                    h[j] = h0 and get(h0, {state, b, j}) or 0
                    c[j] = c0 and get(c0, {state, b, j}) or 0
                end
                for s = 1, T do
                    local time, v = dir == 1 and s or T + 1 - s, {}
                    for j = 1, input.shape[3] do v[j] = get(input, {time, b, j}) end
                    h, c = cells[kind](v, h, c, w[at + 1], w[at + 2], each == 4 and w[at + 3], each == 4 and w[at + 4], n)
                    for j = 1, n do A.set(y, {time, b, (dir - 1) * n + j}, h[j]) end
                end
                for j = 1, n do
                    A.set(hn, {state, b, j}, h[j])
                    if c then A.set(cn, {state, b, j}, c[j]) end
                end
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

-- d(sum of the results times their weights) / d(each element of the arrays), by differences of fourth order: their error
-- grows with the fifth derivative times eps^4, below 1e-9 here (of second order it was 1e-8 now and then); f returns the sum.
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
