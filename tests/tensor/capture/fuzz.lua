--!plain
-- Random functions with state, captured and as they are: results, gradients, what they write in
-- place and the generator must be the same bits after each of several calls. CAPTURE_PROGRAMS is
-- their number on each device, CAPTURE_SEED where it begins.
local t = require "tap"
local g = require "gpush"

local NUMBER = tonumber(os.getenv "CAPTURE_PROGRAMS" or 150)
local SEED = tonumber(os.getenv "CAPTURE_SEED" or 1)
local CALLS <const> = 5

local unary = { "neg", "abs", "square", "relu", "tanh", "sigmoid", "gelu", "exp", "sin", "floor" }
local binary = { "add", "sub", "mul", "maximum", "atan2", "minimum" }

local function pick(list) return list[math.random(#list)] end

-- ---- a random function: steps that each append a value of the shape of the inputs, m x n ----

local kinds = {
    unary = function(v, s) return g[s.op](v[s.a]) end,
    binary = function(v, s) return g[s.op](v[s.a], v[s.b]) end,
    number = function(v, s) return v[s.a] * s.n + s.n end,
    softmax = function(v, s) return v[s.a]:softmax(-1) end,
    cumsum = function(v, s) return v[s.a]:cumsum(1) end,
    mean = function(v, s) return v[s.a] - v[s.a]:mean(s.dim, true) end,
    amax = function(v, s) return v[s.a] - v[s.a]:amax(s.dim, true) end,
    dropout = function(v, s) return v[s.a]:dropout(0.4) end,
    noise = function(v, s) return v[s.a] + g.randn_like(v[s.a]) end,
    views = function(v, s) return v[s.a]:t():contiguous():t() * 2 end,
    halves = function(v, s)
        local x = v[s.a]
        local k = x:size(2) // 2
        return g.cat({ x:narrow(2, k + 1, x:size(2) - k), x:narrow(2, 1, k) }, 2)
    end,
    roll = function(v, s) return v[s.a]:roll(1, s.dim) end,
    gather = function(v, s) return v[s.a]:index_select(1, v[s.a]:argsort(1):select(2, 1)) end,
    sort = function(v, s) return (v[s.a]:sort(2)) end,
    matmul = function(v, s) return v[s.a]:matmul(v[s.b]:t()):matmul(v[s.b]) * 0.1 end,
    linear = function(v, s, state) return v[s.a]:matmul(state.w) end,
    norm = function(v, s, state) return v[s.a]:layer_norm(state.gain:size(1), state.gain) end,
    where = function(v, s) return g.where(v[s.a]:gt(0), v[s.a], v[s.b]) end,
    own = function(v, s) -- written in place, a part first
        local x = v[s.a]:clone()
        x:narrow(2, 1, 1):mul_(2)
        x:add_(v[s.b]:detach())
        return x
    end,
    fresh = function(v, s)
        local x = g.zeros_like(v[s.a])
        x[1] = v[s.a][1]:detach()
        return x
    end,
    fused = function(v, s, state) return state.fused(v[s.a], v[s.b]) end,
    half = function(v, s)
        local _ <close> = g.autocast "bf16"
        return v[s.a]:matmul(v[s.b]:t()):matmul(v[s.b]):float() * 0.1
    end,
    count = function(v, s, state)
        g.no_grad(function() state.total:add_(v[s.a]:detach():mean()) end)
        return v[s.a] + state.total
    end,
    average = function(v, s, state)
        g.no_grad(function() state.average:lerp_(v[s.a]:detach(), 0.25) end)
        return v[s.a] * state.average
    end,
    forked = function(v, s)
        local f = g.fork(function(a, b) return (a * b):tanh():dropout(0.1) end, v[s.a], v[s.b])
        local y = v[s.a]:sin()
        return y + g.wait(f)
    end,
    check = function(v, s) return g.autograd.checkpoint(function(x) return x:dropout(0.2):sin() end,
        v[s.a]) end,
}
local names = {}
for name in pairs(kinds) do names[#names + 1] = name end
table.sort(names)

local function random_steps(inputs, length)
    local steps = {}
    for i = 1, length do
        local have = inputs + i - 1
        local s = { kind = pick(names), a = math.random(10) > 4 and have or math.random(have),
            b = math.random(have), n = math.random(-3, 3) / 2, dim = math.random(2) }
        s.op = s.kind == "unary" and pick(unary) or pick(binary)
        steps[i] = s
    end
    return steps
end

local optimizers = {
    function(list) return g.optim.SGD(list, { lr = 0.01 }) end,
    function(list) return g.optim.SGD(list, { lr = 0.01, momentum = 0.9 }) end,
    function(list) return g.optim.Adam(list, { lr = 0.01 }) end,
    function(list) return g.optim.AdamW(list, { lr = 0.01, amsgrad = true }) end,
    function(list) return g.optim.RMSprop(list, { lr = 0.01, centered = true }) end,
    function(list) return g.optim.Adagrad(list, { lr = 0.01 }) end,
}

-- The function of a plan, with a state of its own.
local function build(plan, device)
    g.manual_seed(plan.seed)
    local state = { w = g.randn(plan.n, plan.n):to(device):requires_grad_(),
        gain = g.randn(plan.n):to(device):requires_grad_(), total = g.zeros({}):to(device),
        average = g.zeros(plan.m, plan.n):to(device),
        fused = g.fuse(function(x, y) return (x * y + x):dropout(0.2) end) }
    local optimizer = plan.optimizer and plan.optimizer { state.w, state.gain }
    local function forward(...)
        local v = { ... }
        for _, s in ipairs(plan.steps) do v[#v + 1] = kinds[s.kind](v, s, state) end
        if plan.writes then v[1]:mul_(0.5) end
        return v[#v], v[plan.other]
    end
    local function train(...)
        if plan.clears then optimizer:zero_grad() end
        local y, other = forward(...)
        local loss = y:square():mean()
        if loss.requires_grad then loss:backward() end
        if plan.clip and state.w.grad then g.optim.clip_grad_norm_({ state.w, state.gain }, 1) end
        optimizer:step()
        return loss, other:detach()
    end
    local function plain(...) return g.no_grad(forward, ...) end
    return optimizer and train or plain, state, optimizer
end

-- ---- comparison ----

local function same(a, b)
    if a == nil or b == nil then return a == b end
    if a.dtype ~= b.dtype or table.concat(a.shape, "x") ~= table.concat(b.shape, "x") then
        return false
    end
    a, b = a:to "cpu", b:to "cpu"
    if not a:isnan():equal(b:isnan()) then return false end
    return g.where(a:isnan(), 0, a):equal(g.where(b:isnan(), 0, b))
end

local function show(plan)
    local list = {}
    for i, s in ipairs(plan.steps) do
        list[i] = ("%d: %s(%d, %d) %s"):format(i + plan.inputs, s.kind, s.a, s.b, s.op)
    end
    return table.concat(list, "; ")
end

local function random_plan(seed)
    math.randomseed(seed)
    local plan = { seed = seed, m = math.random(5), n = math.random(6), inputs = math.random(3) }
    plan.steps = random_steps(plan.inputs, math.random(10))
    plan.other = math.random(plan.inputs + #plan.steps)
    plan.optimizer = math.random(2) == 1 and pick(optimizers)
    plan.clears, plan.clip = math.random(4) > 1, math.random(3) == 1
    plan.writes = not plan.optimizer and math.random(5) == 1
    return plan
end

-- The values after each call: of the plan's function, run as it is or captured.
local function outcome(plan, device, captured)
    local fn, state, optimizer = build(plan, device)
    local call, values = captured and g.capture(fn) or fn, {}
    g.manual_seed(plan.seed + 1)
    local kept
    for i = 1, CALLS do
        local inputs = {}
        for k = 1, plan.inputs do inputs[k] = g.randn(plan.m, plan.n):to(device) end
        if plan.inputs > 1 and plan.seed % 7 == 0 then inputs[2] = inputs[1] end
        local y, other = call(table.unpack(inputs))
        local row = { y:detach():clone(), other:detach():clone(), inputs[1]:clone(),
            state.w:detach():clone(), state.gain:detach():clone(), state.total:clone(),
            state.average:clone() }
        row[8], row[9] = state.w.grad and state.w.grad:clone(), g.randn(1)
        -- what an earlier call gave stays as it is
        row[10], kept = kept and kept:detach():clone(), state.w.grad or y
        values[i] = row
        if optimizer then
            optimizer.param_groups[1].lr = 0.01 / (i + 1)
            for name, v in pairs(optimizer.state[state.w] or {}) do
                if name ~= "step" then row[#row + 1] = v:clone() end
            end
        end
    end
    return values
end

local function compare(plan, device)
    local works, want = pcall(outcome, plan, device, false)
    if not works then -- a write in place of what backward needs
        return pcall(outcome, plan, device, true) and "an error is lost" or nil
    end
    local got = outcome(plan, device, true)
    for i = 1, CALLS do
        for k = 1, math.max(#want[i], #got[i], 10) do
            if not same(want[i][k], got[i][k]) then return ("call %d, value %d"):format(i, k) end
        end
    end
end

for _, device in ipairs { "cpu", "sim" } do
    local bad = 0
    for seed = SEED, SEED + NUMBER - 1 do
        local plan = random_plan(seed)
        local ok, where = pcall(compare, plan, device)
        if not ok or where then
            bad = bad + 1
            if bad < 4 then
                io.stderr:write(("# seed %d on %s: %s: %s\n"):format(seed, device, where,
                    show(plan)))
            end
        end
    end
    t.is(bad, 0, ("%d random functions on %s"):format(NUMBER, device))
end
t.done()
