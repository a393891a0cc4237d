-- cuDNN's recurrent layers as CUDA graphs (kernels/cuda/rnn/graph.c), on the stand-in for CUDA:
-- from a shape's second call on, with the results of the cpu, whatever addresses, weights, layers
-- and streams come in turn.
local t = require "tap"
local found, fake = pcall(require, "fake") -- else a GPU, whose graphs are not counted
local function launched()
    synchronize()
    return found and fake.count "graph" or 0
end

-- Calls fn n times; the launches of graphs in them.
local function graphs(n, fn)
    local before = launched()
    for i = 1, n do fn(i) end
    return launched() - before
end
local function counted(n, want, what)
    t.ok(not found or n == want, ("%s: %d graphs, expected %d"):format(what, n, want))
end
-- The graphs that fn makes, or makes again.
local function made(fn)
    local function count()
        synchronize()
        return found and fake.count "graph made" + fake.count "graph update" or 0
    end
    local before = count()
    fn()
    return count() - before
end

manual_seed(5)
local xs = {}
for i = 1, 6 do xs[i] = randn(4, 2, 3) end
local function same(a, b, what) t.close(a:to "cpu":tolist(), b:tolist(), 3e-5, what) end

do
    local layer, want = nn.LSTM(3, 5, { num_layers = 2, bidirectional = true }), {}
    local _ <close> = no_grad()
    for i, x in ipairs(xs) do want[i] = (layer(x)) end
    layer:to "cuda"
    local kept = {} -- results that stay are elsewhere in each call
    local function calls()
        counted(graphs(6, function(i)
            kept[i] = (layer(xs[i]:to "cuda"))
        end), 5, "six calls, the first without")
    end
    counted(made(calls), 1, "made of them")
    for i = 1, 6 do same(kept[i], want[i], "call " .. i) end
    for _, p in ipairs(layer:parameters()) do p:mul_(0.5) end
    local got = (layer(xs[1]:to "cuda"))
    layer:to "cpu"
    same(got, (layer(xs[1])), "with other weights")
end

-- Warnings of waits, which look into libraries' calls, change nothing.
do
    local layer, x, mode = nn.RNN(3, 5):to "cuda", xs[1]:to "cuda", sync.mode
    local _ <close> = no_grad()
    sync.mode = "warn"
    counted(graphs(3, function() local _ = layer(x) end), 2, "with warnings of waits")
    sync.mode = mode
end

-- Six layers of one shape in turn: more than are kept.
do
    local layers, want = {}, {}
    local _ <close> = no_grad()
    for i = 1, 6 do
        layers[i] = nn.GRU(3, 7)
        want[i] = (layers[i](xs[i]))
        layers[i]:to "cuda"
    end
    for round = 1, 3 do
        for i = 1, 6 do
            same((layers[i](xs[i]:to "cuda")), want[i], ("layer %d, round %d"):format(i, round))
        end
    end
    local out = {}
    for i = 1, 6 do
        out[i] = fork(function(x) return (layers[i](x)) end, xs[i]:to "cuda")
    end
    for i, y in ipairs(wait(out)) do same(y, want[i], "fork " .. i) end
end

-- Training: forward and backward are graphs of their own.
do
    local function gradients(device)
        local layer, all = nn.LSTM(3, 5):to(device), {}
        manual_seed(9)
        for _, p in ipairs(layer:parameters()) do
            local _ <close> = no_grad()
            p:copy_(randn(p.shape):to(device))
        end
        for i = 1, 4 do
            layer:zero_grad()
            local x = xs[i]:detach():to(device):requires_grad_()
            local y = (layer(x))
            y:backward(xs[i]:sum(3, true):expand(4, 2, 5):to(device))
            all[#all + 1] = x.grad
            for _, p in ipairs(layer:parameters()) do all[#all + 1] = p.grad:clone() end
        end
        return all
    end
    local want, got = gradients "cpu"
    local function steps()
        counted(graphs(1, function() got = gradients "cuda" end), 6, "four steps of training")
    end
    counted(made(steps), 2, "made of them")
    for i = 1, #want do same(got[i], want[i], "gradient " .. i) end
end

-- Layers on several streams at once; a larger one on a stream moves its memory, as does running
-- out.
do
    local layers, want, large = {}, {}, nn.LSTM(3, 40)
    local _ <close> = no_grad()
    local x = xs[1]:to "cuda"
    for i = 1, 3 do
        layers[i] = nn.LSTM(3, 6)
        want[i] = (layers[i](xs[1]))
        layers[i]:to "cuda"
    end
    local before = (large(xs[2]))
    large:to "cuda"
    local held = {}
    local function round()
        local out = {}
        for i = 1, 3 do out[i] = fork(function(a) return (layers[i](a)) end, x) end
        held[#held + 1] = wait(out)
        for i, y in ipairs(held[#held]) do same(y, want[i], "round " .. #held .. ", fork " .. i) end
    end
    for _ = 1, 16 do round() end -- each fork on each of the 8 streams
    counted(made(round), 0, "made for forks that have run on each stream")
    same((large(xs[2]:to "cuda")), before, "a larger layer between")
    for i = 1, 3 do same((layers[i](x)), want[i], "and a smaller one after it") end
    cuda.empty_cache()
    for i = 1, 3 do same((layers[i](x)), want[i], "and with other memory") end
    round()
end

-- A profile shows each kernel: it runs without.
do
    local layer, x = nn.LSTM(3, 5):to "cuda", xs[1]:to "cuda"
    local _ <close> = no_grad()
    local first, last = (layer(x)), nil
    counted(graphs(1, function()
        profile.run({}, function() last = (layer(x)) end)
    end), 0, "in a profile")
    t.ok(equal(first, last), "the same bits")
    local run = capture(function(a) return (layer(a)) end)
    for i = 1, 3 do t.ok(equal(run(x), first), "captured, call " .. i) end
end
t.done()
