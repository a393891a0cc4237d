-- Random programs with fork and wait, nested forks, writes in place, views, indices and backward,
-- against the same program run on one stream, and captured: the same bits. FORK_PROGRAMS is their
-- number on each device, FORK_SEED where they begin.
local t = require "tap"
local programs = tonumber(os.getenv "FORK_PROGRAMS") or 150
local begin = tonumber(os.getenv "FORK_SEED") or 1

threads(1) -- the bits of a sum are those of one thread, as a worker's
local N, upper, lower -- rows and columns; the slices of half of the rows
local order           -- an index, on the device

-- Small ones run on the caller, larger ones are queued.
local function set_size(n)
    N, upper, lower = n, "1:" .. n // 2, n // 2 + 1 .. ":" .. n
end

-- A program is drawn once, as a list of steps on numbered tensors; `forked` decides only where they
-- run. Tensors that a fork writes in place are as shared as any.
local function draw(random, depth)
    local steps = {}
    for i = 1, random(3, depth == 0 and 12 or 5) do
        local kind = random(1, depth < 2 and 13 or 11)
        steps[i] = { kind = kind, a = random(1, 6), b = random(1, 6), to = random(1, 6),
            body = kind > 11 and draw(random, depth + 1) or nil, wait = random(1, 3) == 1 }
    end
    return steps
end

local run

-- Runs a fork's body now; its results arrive in the slots when it is waited for.
local function forked_step(vars, step, forked, futures)
    local function body()
        local own = { table.unpack(vars) }
        run(own, step.body, forked)
        return own[step.a], own[step.b]
    end
    local f
    if forked then
        f = fork(body)
    else
        local values = table.pack(body())
        f = { wait = function() return table.unpack(values) end }
    end
    if step.wait then vars[step.to] = f:wait()
    else futures[#futures + 1] = { f, step.to } end
end

local kinds = {
    function(a, b) return a + b end,
    function(a, b) return a * 0.5 - b end,
    function(a, b) return a:matmul(b) * (1 / N) end,
    function(a) return a:sin() end,
    function(a) return a:t() end, -- a view
    function(a, b)
        a[upper]:add_(b[lower]:clone())
        return a
    end,
    function(a) return a:contiguous():mul_(0.75) end,
    function(a, b)
        return a:index_select(1, order):sum(1) + b
    end,
    function(a) return a:sum(1):expand(N, N) * (1 / N) end,
    function(a, b) return cat({ a[upper], b[lower] }, 1) end,
    function(a)
        a["2, 3"] = 0.125
        return a
    end,
}

function run(vars, steps, forked)
    local futures = {}
    for _, step in ipairs(steps) do
        if step.body then
            forked_step(vars, step, forked, futures)
        else
            vars[step.to] = kinds[step.kind](vars[step.a], vars[step.b])
        end
    end
    for _, f in ipairs(futures) do vars[f[2]] = f[1]:wait() end
end

local function start(seed, dev)
    manual_seed(seed)
    local vars = {}
    for i = 1, 6 do vars[i] = rand(N, N):to(dev) end
    return vars
end

-- With gradients: the same, but nothing is written in place.
local function differentiable(steps)
    local out = {}
    for i, s in ipairs(steps) do
        out[i] = { a = s.a, b = s.b, to = s.to, wait = s.wait,
            kind = (s.kind == 6 or s.kind == 7 or s.kind == 11) and 4 or s.kind,
            body = s.body and differentiable(s.body) }
    end
    return out
end

local function gradients(seed, dev, steps, forked)
    local leaves = start(seed, dev)
    for _, v in ipairs(leaves) do v:requires_grad_() end
    local vars = { table.unpack(leaves) }
    run(vars, steps, forked)
    stack(vars):sin():sum():backward()
    local grads = {}
    for i, v in ipairs(leaves) do
        if v.grad ~= nil then grads[i] = v.grad * 1 end
    end
    return grads
end

local function same(a, b)
    for i = 1, 6 do
        local x, y = a[i], b[i]
        if x == nil or y == nil then
            if x ~= y then return i end
        elseif not equal(x, y) then
            return i
        end
    end
end

-- The same, captured, on three sets of inputs: what differs, or nil. What a program returns it may
-- also have been given, so inputs are compared, too.
local function captured(seed, dev, steps)
    local function program(...)
        local vars = { ... }
        run(vars, steps, true)
        return table.unpack(vars)
    end
    local function plain(...)
        local vars = { ... }
        run(vars, steps, false)
        return table.unpack(vars)
    end
    local call = capture(program)
    for i = 0, 2 do
        local one, many = start(seed + i, dev), start(seed + i, dev)
        local want, got = { plain(table.unpack(one)) }, { call(table.unpack(many)) }
        local where = same(want, got) or same(one, many)
        if where then return ("captured, call %d, %s"):format(i + 1, where) end
    end
end

for _, dev in ipairs { "cpu", "sim" } do
    local wrong, first = 0, nil
    order = tensor({ 3, 1, 2 }):to(dev)
    for seed = begin, begin + programs - 1 do
        math.randomseed(seed)
        set_size(seed % 2 == 0 and 24 or 40)
        local steps = draw(math.random, 0)
        local one, many = start(seed, dev), start(seed, dev)
        run(one, steps, false)
        run(many, steps, true)
        local where = same(one, many) or captured(seed, dev, steps)
        if where == nil then
            steps = differentiable(steps)
            where = same(gradients(seed, dev, steps, false), gradients(seed, dev, steps, true))
            if where then where = "gradient " .. where end
        end
        if where then wrong, first = wrong + 1, first or seed .. ": " .. tostring(where) end
    end
    t.is({ wrong, first }, { 0, nil }, dev .. ": " .. programs .. " programs, bit for bit")
end
t.done()
