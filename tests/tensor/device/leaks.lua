--!plain
-- No leaks: after an op, its gradients or its failure no more memory is in use than before, on cpu
-- and sim.
local t = require "tap"
local g = require "gpush"
local rows = require "grad_rows"

local function used(dev)
    collectgarbage()
    collectgarbage()
    pcall(g.synchronize, dev)
    return g.memory(dev).in_use
end

-- Bytes of dev that five calls of fn leave in use; the first two may fill caches.
local function left(dev, fn)
    for _ = 1, 2 do fn() end
    local before = used(dev)
    for _ = 1, 5 do fn() end
    return used(dev) - before
end

-- The names for which run(name)'s calls leave memory in use, as one assertion. A collection of all
-- garbage takes longer than most calls: those of twenty names share it, and one by one follow where
-- they leave something.
local function none_left(dev, names, run, what)
    local problems = {}
    for first = 1, #names, 20 do
        local some = {}
        for i = first, math.min(first + 19, #names) do
            some[#some + 1] = { name = names[i], call = run(names[i]) }
        end
        local together = left(dev, function()
            for _, it in ipairs(some) do if it.call then it.call() end end
        end)
        if together ~= 0 then
            problems[#problems + 1] = ("%s and those after it leave %d bytes"):format(names[first],
                together)
            for _, it in ipairs(some) do
                local bytes = it.call and left(dev, it.call) or 0
                if bytes ~= 0 then
                    problems[#problems + 1] = ("%s leaves %d bytes"):format(it.name, bytes)
                end
            end
        end
    end
    t.is(table.concat(problems, "\n"), "",
        ("%s: %d of them leave nothing on %s"):format(what, #names, dev))
end

-- ---- gradients: every differentiable row, walked once, twice, and not at all ----

local names, of = {}, {}
rows.each(function(name, op, list)
    if op.grad == "yes" and list and list[1] then names[#names + 1], of[name] = name, list end
end)
table.sort(names)

local function gradients(name, dev)
    local todo = {}
    for _, case in ipairs(of[name]) do
        local fn, args = rows.call(name, case)
        todo[#todo + 1] = { fn, rows.on_device(args, dev) }
    end
    return function()
        for _, it in ipairs(todo) do
            local fn, args, xs, ys = it[1], it[2], {}, {}
            for k = 1, args.n or #args do
                local x = args[k]
                if g.is_tensor(x) and x.requires_grad then xs[#xs + 1] = x end
            end
            for _, y in ipairs { fn(table.unpack(args, 1, args.n or #args)) } do
                if y.requires_grad then ys[#ys + 1] = y:sum() end
            end
            g.grad(ys, xs, { retain_graph = true, allow_unused = true })
            g.grad(ys, xs, { create_graph = true, allow_unused = true })
        end
    end
end

-- ---- calls: every op with arguments of the right kinds, but not always the right shapes ----

local ops = g.ops(true)
local every = {}
for name, op in pairs(ops) do
    -- Functions that draw, print or need other values than tensors are not tested here.
    if not name:find "^optim" and not name:find "seed" and op.sig:find "tensor" then
        every[#every + 1] = name
    end
end
table.sort(every)

local function fn_of(name)
    local group, rest = name:match "^(%a+)[._](.+)$"
    return group and type(g[group]) == "table" and g[group][rest] or g[name]
end

-- Arguments of the types in sig: matrices of 3 x 3, i64 where only those are accepted, the optional
-- ones left out.
local function arguments(sig, dtype, dev)
    local x = g.arange(1, 9, { dtype = dtype, device = dev }):view(3, 3)
    if dtype ~= "i64" and dtype ~= "bool" then x:requires_grad_() end
    local value = { tensor = x, operand = x, tensors = { x, x }, number = 1, int = 1, float = 0.5,
        bool = true, dim = 1, dims = { 1 },
        shape = { 3, 3 }, ints = { 1 }, str = "x", dtype = dtype, device = dev, padding = 0,
        any = x }
    local args, n = {}, 0
    for kind, mark, default in sig:gmatch "(%a+)([?!]*) [%w_]+(=?)" do
        n = n + 1
        if not mark:find "?" and default ~= "=" then args[n] = value[kind] end
    end
    return args, n
end

local went, failed = 0, 0
local function calls(name, dtype, dev)
    local fn, args, n = fn_of(name), arguments(ops[name].sig, dtype, dev)
    return fn and function()
        local y = table.pack(pcall(fn, table.unpack(args, 1, n)))
        if y[1] then went = went + 1 else failed = failed + 1 end
        for k = 2, y.n do
            if y[1] and g.is_tensor(y[k]) and y[k].requires_grad and y[k].grad_fn then
                pcall(y[k].backward, y[k]:sum())
            end
        end
        for _, x in ipairs(args) do
            if g.is_tensor(x) then x.grad = nil end
        end
    end
end

for _, dev in ipairs { "cpu", "sim" } do
    none_left(dev, names, function(name) return gradients(name, dev) end, "gradients")
    for _, dtype in ipairs { "f32", "i64", "bool" } do
        none_left(dev, every, function(name) return calls(name, dtype, dev) end,
            "calls with " .. dtype)
    end
end

t.ok(went > 5000 and failed > 1000, ("%d calls went well, %d failed"):format(went, failed))

-- ---- the tape's own cases ----

local function tape(dev)
    local f64 = { dtype = "f64", device = dev }
    local a, b = g.ones({ 4, 4 }, f64):requires_grad_(), g.ones({ 4, 4 }, f64):requires_grad_()
    local c = g.ones({ 3, 4 }, f64)
    local function clear() a.grad, b.grad = nil, nil end
    -- A tensor that takes a value computed from it: what the ops saved must not hold the history
    -- that it has from then on.
    local function takes(what, fn)
        return { what .. " written into what it was made of", function()
            local y = a * 2
            y:copy_(fn(y))
            return y
        end }
    end
    local cases = {
        takes("y * y", function(y) return y * y end),
        takes("sin", function(y) return y:sin() end),
        takes("exp", function(y) return y:exp() end),
        takes("pow", function(y) return y ^ 3 end),
        takes("matmul", function(y) return y:matmul(y) end),
        takes("cat",
            function(y)
                return (g.cat({ y, y }) * b:repeat_interleave(2, 1)):narrow(1, 2, 4) * y
            end),
        takes("softmax", function(y) return y:softmax(1) * y:t() end),
        takes("a checkpoint",
            function(y) return g.autograd.checkpoint(function(v) return v:sin() * v end, y) end),
        { "a part written with its product", function()
            local y = a * 2
            y[1] = y[1] * y[2]
            y[2]:copy_(y:select(2, 1) * y[3])
        end },
        { "a view that is saved, and its tensor written", function()
            local y = a * 2
            local part = y[1]
            y:add_((part * part):sin())
        end },
        { "values without history, written with what they weigh", function()
            local y = g.ones({ 4, 4 }, f64)
            y:copy_(y * b)
        end },
        { "products in place", function()
            local y = a * 2
            y:cumprod_(1):mul_(y:sin()):mul_(y)
        end },
        { "the same with a kept gradient and a hook", function()
            local y = a * 2
            y:retain_grad()
            y:register_hook(function(v) return v * 2 end)
            y:copy_(y * y)
        end },
        { "a recorded gradient, and its tensor written", function()
            local y = a * 2
            local d = g.grad((y * y * y):sum(), y, { create_graph = true })
            y:mul_(d)
            d:copy_(d * y)
        end },
        { "a node of results alone", function() return a:exp() end },
        { "an op that fails under autograd", function() pcall(g.matmul, a:exp(), c:exp()) end },
        { "an op in place", function()
            local y = a * 2
            y:add_(b):mul_(3):relu_():sum():backward()
        end },
        { "an op in place that backward does not reach", function() return (a * 2):mul_(b) end },
        { "a write through a view", function()
            local y = a * 2
            y[1]:mul_(3)
            y[2] = b[1]
            y:sum():backward()
        end },
        { "a backward that fails half-way", function()
            local y = a:exp()
            local z = (y * y):sum() + (a * b):sum() + (b * 3):sum()
            y:mul_(2)
            pcall(z.backward, z)
        end },
        { "a hook that fails", function()
            local y = a * 2
            y:register_hook(function() error "no" end)
            local z = (y * b):sum()
            pcall(z.backward, z)
        end },
        { "hooks and a kept gradient", function()
            local y = a * 2
            y:retain_grad()
            y:register_hook(function(v) return v * 2 end)
            ;(y * b):sum():backward()
        end },
        { "a wide graph", function()
            local all = {}
            for i = 1, 60 do all[i] = a * i end
            g.stack(all):sum():backward()
        end },
        { "a checkpoint",
            function()
                g.autograd.checkpoint(function(v) return (v * b):tanh() end, a):sum():backward()
            end },
        { "a function of one's own", function()
            local y = g.no_grad(function() return a * 5 end)
            g.autograd.node({ a }, { y }, function(v) return v * 5 end)
            y:sum():backward()
        end },
        { "backward twice refused", function()
            local y = (a * b):sum()
            y:backward()
            pcall(y.backward, y)
        end },
        { "a graph of gradients", function()
            local d = g.grad((a * a * b):sum(), a, { create_graph = true })
            d:sum():backward()
        end },
        { "NaN found",
            function()
                pcall(g.autograd.detect_anomaly, function() (a - 2):log():sum():backward() end)
            end },
    }
    for _, case in ipairs(cases) do
        t.is(left(dev, function() case[2]() clear() end), 0,
            case[1] .. " leaves nothing on " .. dev)
    end
end
for _, dev in ipairs { "cpu", "sim" } do tape(dev) end

-- ---- copies ----

local host, there = g.ones(1000), g.ones({ 1000 }, { device = "sim" })
for what, fn in pairs {
    ["a copy to a device"] = function() host:to "sim" end,
    ["a copy from one"] = function() there:to "cpu" end,
    ["a copy that nobody waits for"] = function()
        host:pin_memory():to("sim", { non_blocking = true })
        g.synchronize "sim"
    end,
    ["a copy into a tensor"] = function() there:copy_(host) host:copy_(there) end,
} do
    for _, dev in ipairs { "cpu", "sim" } do
        t.is(left(dev, fn), 0, what .. " leaves nothing on " .. dev)
    end
end
-- ---- garbage ----

-- Tensors that live for a while before they die, alongside a large one, do not pile up.
do
    local large, ring, most = g.zeros(16 << 20), {}, 0
    local before = used "cpu"
    for i = 1, 2400 do
        ring[i % 128] = g.empty(16384)
        most = math.max(most, g.memory("cpu").in_use - before)
    end
    t.ok(most < 48 << 20,
        ("150 MiB of tensors, each kept for 128 turns: %d KiB in use at once"):format(most >> 10))
    t.is(large.shape, { 16 << 20 }, "beside 64 MiB")
end

-- A finalizer may run while a result is boxed, and make tensors itself.
local made, wrong = 0, 0
local function finalized()
    local v, places = g.full({2, 2}, 7.0):sort(2)
    made = made + (v:tolist()[1][2] == 7 and places:tolist()[1][2] == 2 and 1 or 0)
end
local square = g.tensor {{3.0, 1.0}, {2.0, 5.0}}
for _ = 1, 20000 do
    setmetatable({}, {__gc = finalized})
    local v, places = square:sort(1)
    if v:tolist()[1][1] ~= 2 or places:tolist()[1][1] ~= 2 or places:tolist()[2][2] ~= 2 then
        wrong = wrong + 1
    end
end
collectgarbage()
t.ok(made > 1000 and wrong == 0, "tensors made in finalizers leave those alone that are being made")

t.done()
