--!plain
-- Gradient cases of every differentiable row, for tests/tensor/autograd/autograd.lua and
-- autograd_twice.lua: those here, those of cases/grad.lua, and for elementwise rows some from their
-- domain.
local g = require "gpush"

local f64 = { dtype = "f64" }
-- Reproducible numbers in [low, high], away from each other: kinks and ties have cases of their
-- own.
local function spread(low, high, ...)
    local shape, n = { ... }, 1
    for _, d in ipairs(shape) do n = n * d end
    local v = {}
    for i = 1, n do v[i] = low + (high - low) * ((i * 0.6180339887) % 1) end
    if n == 0 then return g.zeros(shape, f64) end
    return g.tensor(v, f64):reshape(shape):detach():requires_grad_()
end
local function x(...) return spread(-1.9, 1.9, ...) end
local function pos(...) return spread(0.2, 2.5, ...) end
-- With a zero at every third element.
local function zeros(...)
    local v = spread(0.2, 2.5, ...):detach()
    return v:mul_(g.arange(1, v:numel(), f64):remainder(3):ne(2):view(...)):requires_grad_()
end
local function ints(...) return g.tensor({ ... }, { dtype = "i64" }) end
local function first(fn) return function(...) return (fn(...)) end end

-- ---- every row ----

-- op -> list of {inputs, options…}: inputs are arguments, the tensors with gradients among them are
-- checked.
-- Where a row's own domain is none for its gradients.
local domain = { logit = { 0.1, 0.9 }, pow = { 0.3, 2 }, div = { 0.3, 2 }, hypot = { 0.3, 2 },
    atan2 = { 0.3, 2 }, bce = { 0.1, 0.9 }, xlogy = { 0.2, 3 }, kl_term = { 0.1, 2 },
    remainder = { 0.3, 2 }, fmod = { 0.3, 2 }, addcdiv = { 0.3, 2 }, xlog1py = { 0.2, 3 },
    zeta = { 1.2, 3 }, igamma = { 0.3, 2 }, igammac = { 0.3, 2 } }
local mask = g.tensor { { true, false, true }, { false, true, true } }
local cases = {
    threshold = { { x(6), 0.5, 2 } }, logit = { { spread(0.1, 0.9, 6), 1e-3 } },
    polygamma = { { pos(6), 1 }, { spread(-2.7, -2.3, 6), 2 } },
    clamp = { { x(6), -1, 0.5 }, { x(6), nil, 0.3 } },
    leaky_relu = { { x(6), 0.2 } }, softplus = { { x(6), 2, 1 } }, elu = { { x(6), 1.5 } },
    sum = { { x(2, 3) }, { x(2, 3), 1 }, { x(2, 3, 2), { 1, 3 }, true }, { x() } },
    mean = { { x(2, 3) }, { x(2, 3), -1, true } },
    prod = { { pos(2, 3) }, { pos(2, 3), 2 }, { zeros(2, 4), 2 },
        { zeros(2, 3, 2), { 1, 3 }, true }, { zeros(4) } }, amax = { { x(2, 3) }, { x(2, 3), 1 } },
            amin = { { x(2, 3), 2, true } },
    view = { { x(2, 3), 3, 2 } }, reshape = { { x(2, 3).T:detach():requires_grad_(), 6 } },
    permute = { { x(2, 3, 4), 3, 1, 2 } }, transpose = { { x(2, 3), 1, 2 } },
    t = { { x(2, 3) } },
    movedim = { { x(2, 3, 4), 1, 3 } }, expand = { { x(2, 1), 2, 3 } },
    broadcast_to = { { x(3), { 2, 3 } } }, squeeze = { { x(2, 1, 3) } },
    unsqueeze = { { x(3), 2 } },
    narrow = { { x(4, 2), 1, 2, 2 } }, select = { { x(3, 2), 2, 1 } },
    slice = { { x(5), 1, 1, 5, 2 } }, flatten = { { x(2, 3, 2), 2, 3 } },
    unflatten = { { x(6), 1, { 2, 3 } } },
    diagonal = { { x(3, 4), 1 } }, unfold = { { x(7), 1, 3, 2 }, { x(6), 1, 2, 2 } },
    to = { { x(3), "cpu" } }, contiguous = { { x(2, 3).T:detach():requires_grad_() } },
    as_strided = { { x(6), { 2, 2 }, { 3, 1 }, 2 } }, copy = { { x(3) } }, fill = {},
    matmul = { { x(2, 3), x(3, 2) }, { x(3), x(3) }, { x(3), x(2, 3, 2) }, { x(2, 2, 3), x(3) },
        { x(2, 1, 2, 3), x(3, 3, 2) } }, mm = { { x(2, 3), x(3, 2) } },
    bmm = { { x(2, 2, 3), x(2, 3, 2) } }, mv = { { x(2, 3), x(3) } }, dot = { { x(3), x(3) } },
    var = { { x(2, 3) }, { x(2, 4), { 2 } }, { x(2, 3), nil, 1, false, false } },
    std = { { x(2, 3) }, { x(2, 4), { 1 } }, { x(2, 3), 2, 1, true, false } },
    softmax = { { x(2, 3), 2 } }, log_softmax = { { x(2, 3), 1 } },
    cumsum = { { x(2, 3), 2 } }, flip = { { x(2, 3), { 1, 2 } } }, tril = { { x(3, 3), -1 } },
    triu = { { x(3, 3), 1 } },
    where = { { mask, x(2, 3), x(3) }, { mask, x(2, 3), 0 } },
    masked_fill = { { x(2, 3), mask, 2 }, { x(2, 3), mask, x() } },
    masked_select = { { x(2, 3), mask }, { x(3), mask } },
    masked_put = { { x(2, 3), mask, x(4) } },
    gather = { { x(3, 2), 1, ints(1, 3):view(1, 2) },
        { x(3, 2), 2, ints(1, 1, 2, 2):view(2, 2) } },
    scatter = { { x(3, 2), 1, ints(1, 3):view(1, 2), x(1, 2) },
        { x(3, 2), 1, ints(2, 3):view(1, 2), 4 } },
            index_select = { { x(3, 2), 1, ints(1, 1, 3) } },
    index = { { x(3, 2), { ints(1, 1, 3) } }, { x(3, 2), { ints(1, 2), ints(2, 2) } },
        { x(2, 3, 2), { ints(3, 1) }, { 2 } } },
    index_put = { { x(3, 2), { ints(1, 3) }, x(2, 2) }, { x(3, 2), { ints(1, 1) }, x(2, 2), true },
        { x(3, 2), { ints(2) }, 5 } },
    cat = { { { x(2, 3), x(1, 3) }, list = true }, { { x(2, 3), x(2, 1) }, 2, list = true } },
    stack = { { { x(2), x(2) }, 2, list = true } },
    sort = { { x(2, 4), 2, first = true } }, msort = { { x(4, 2) } },
    max = { { x(2, 3) }, { x(2, 3), 2, first = true }, { x(2, 3), pos(2, 3) } },
    min = { { x(2, 3) }, { x(2, 3), 1, true, first = true } },
    uniform = {}, normal = {}, bernoulli = {}, poisson = {},
}
-- Further files may add cases for their rows.
for name, list in pairs(require "cases.grad") do cases[name] = list end

local function row_of(name)
    local group, rest = name:match "^(%a+)_(.+)$"
    return group and type(g[group]) == "table" and g[group][rest] or g[name]
end

-- The inputs of a case as a flat list for gradcheck, and a function of that list.
local function call(name, case)
    local fn, args = case.fn or row_of(name), table.pack(table.unpack(case))
    if case.first then fn = first(fn) end
    if case.random then
        local drawn = fn
        fn = function(...)
            g.manual_seed(7)
            return drawn(...)
        end
    end
    if case.make or case.post then
        local plain, make, post = fn, case.make or function(a) return a end, case.post
            or function(...) return ... end
        fn = function(a, ...) return post(plain(make(a), ...)) end
    end
    args.n = case.n or args.n
    if not case.list then return fn, args end
    local list, rest = case[1], { table.unpack(case, 2) }
    return function(...) return fn({ ... }, table.unpack(rest)) end,
        { n = #list, table.unpack(list) }
end

local function on_device(args, device)
    local moved = { n = args.n }
    for i = 1, args.n or #args do
        local a = args[i]
        if g.is_tensor(a) then a = a:detach():to(device):requires_grad_(a.requires_grad) end
        if type(a) == "table" and g.is_tensor(a[1]) then a = on_device(a, device) end
        moved[i] = a
    end
    return moved
end


local kinds = { unary = 1, param = 1, binary = 2, ternary = 3 }

-- A list of cases for row `name`; nil: none, but it needs some; false: it takes no floats.
local function cases_of(name, op)
    local n, list, d = kinds[op.kind], cases[name], domain[name] or { -1.9, 1.9 }
    if op.kind == "unary" then
        local low, high = table.unpack(op.domain)
        d = { low + 0.05 * (high - low), high - 0.05 * (high - low) }
    end
    if not list and n then
        if op.sig:find "operand c" then n = 3 end
        local args = {}
        for i = 1, n do
            args[i] = spread(d[1] + 0.01 * i, d[2], i == 2 and 1 or 5)
            if (op.no_derivative or ""):find(("abc"):sub(i, i)) then args[i] = args[i]:detach() end
        end
        list = { args }
    end
    if n and not pcall(row_of(name), table.unpack(list[1])) then return false end
    return list
end

local M = { call = call, on_device = on_device }
-- Calls visit(name, op, cases) for every row, in order.
function M.each(visit)
    local ops, names = g.ops(), {}
    for name in pairs(ops) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
        local list = cases_of(name, ops[name])
        if list ~= false then visit(name, ops[name], list) end
    end
end
return M
