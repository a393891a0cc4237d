--!plain
-- The part of autograd that is written in Lua: gradcheck, gradgradcheck and checkpoint.
local require = ...
local gpush, fail = require "gpush", require "fail"
local autograd = {}

-- The results of fn, as a list of tensors.
local function results(fn, inputs)
    local list = table.pack(fn(table.unpack(inputs, 1, inputs.n)))
    for i = 1, list.n do
        if not gpush.is_tensor(list[i]) then
            fail("gradcheck: result %d is a %s (expected tensors)", i, type(list[i]))
        end
    end
    return list
end

-- Column j of the Jacobian of output out by input k, by central differences: a flat f64 tensor on
-- the cpu.
local function numeric(fn, inputs, k, j, eps, out)
    local x = inputs[k].flat[j]
    local function at(value)
        inputs[k].flat[j] = value
        return gpush.no_grad(function()
            return results(fn, inputs.values)[out]:detach():clone():to("cpu", "f64")
        end)
    end
    local x0 = x:item()
    local high, low = at(x0 + eps), at(x0 - eps)
    inputs[k].flat[j] = x0
    return ((high - low) / (2 * eps)):reshape(-1)
end

-- Gives each input with gradients its own values, which may be written, and their flat view.
local function prepare(list)
    local inputs = { values = { n = list.n } }
    for k = 1, list.n do
        local x = list[k]
        inputs.values[k] = x
        if gpush.is_tensor(x) and x.requires_grad then
            local own = x:detach():clone()
            inputs[k] = { flat = own:view(-1), own = own, count = own:numel() }
            inputs.values[k] = own
        end
    end
    return inputs
end

local function analytic(y, x, row)
    local seed = gpush.zeros(y:numel(), { dtype = y.dtype, device = y.device })
    seed[row] = 1
    local g = gpush.grad(y, x, seed:view(y.shape), { retain_graph = true, allow_unused = true })
    return g and g:to("cpu", "f64"):reshape(-1) or gpush.zeros(x:numel(), { dtype = "f64" })
end

-- The worst element of |a - n| - (atol + rtol |n|), and its index; nil if all are close.
local function worst(a, n, atol, rtol)
    local over = (a - n):abs() - (n:abs() * rtol + atol)
    over = gpush.where(over:ne(over), math.huge, over) -- NaN counts as infinitely far
    local at = over:argmax():item()
    if over[at]:item() > 0 then return at end
end

local MOST = 250 -- inputs: the most that a function written in Lua may name

-- The inputs of check `name`: a tensor, or a list that may have gaps where it says its n.
local function inputs_of(name, list)
    if gpush.is_tensor(list) then return { list, n = 1 } end
    if type(list) ~= "table" then
        fail("%s: argument 'inputs': expected a tensor or a list of them, got %s", name, type(list))
    end
    local n = list.n or #list
    if math.type(n) ~= "integer" or n < 0 or n > MOST then
        fail("%s: argument 'inputs': expected 0 to %d inputs, got n = %s", name, MOST, tostring(n))
    end
    local own = table.move(list, 1, n, 1, {})
    own.n = n
    return own
end

--- gradcheck(fn, {x, …}, {eps = 1e-6, atol = 1e-5, rtol = 1e-3}): whether backward of fn agrees
--- with central differences
-- for every input that requires gradients (f64, or the differences are noise). Raises with the
-- first element that does not; true otherwise. Source: torch.autograd.gradcheck.
function autograd.gradcheck(fn, list, eps, atol, rtol)
    list = inputs_of("gradcheck", list)
    local inputs, outs = prepare(list), results(fn, list)
    for k = 1, list.n do
        for o = 1, inputs[k] and outs.n or 0 do
            local y, x = outs[o], list[k]
            local rows, n = {}, inputs[k].count
            if y.requires_grad then
                for r = 1, y:numel() do rows[r] = analytic(y, x, r) end
                local a = y:numel() > 0 and gpush.stack(rows, 1)
                for j = 1, a and n or 0 do
                    local expected = numeric(fn, inputs, k, j, eps, o)
                    local at = worst(a:select(2, j), expected, atol, rtol)
                    if at then
                        fail("gradcheck: d output%d[%d] / d input%d[%d] is %.9g, by differences \z
                            %.9g", o, at, k, j,
                            a[at][j]:item(), expected[at]:item())
                    end
                end
            end
        end
    end
    return true
end

-- Numbers between -1 and 1, all different, of the shape and device of y.
local function seed_like(y)
    local n = y:numel()
    local v = gpush.arange(1, n > 0 and n or 1, { dtype = "f64" }):narrow(1, 1, n) * 0.7548776662
    return ((v - v:floor()) * 2 - 1):reshape(y.shape):to(y.device, y.dtype):requires_grad_()
end

--- gradgradcheck(fn, {x, …}, {eps =, atol =, rtol =}): whether second derivatives (backward of a
--- backward with
-- create_graph) agree with differences of the first ones, as gradcheck says. Source:
-- torch.autograd.gradgradcheck.
function autograd.gradgradcheck(fn, list, eps, atol, rtol)
    list = inputs_of("gradgradcheck", list)
    local n, all, which = list.n, table.move(list, 1, list.n, 1, {}), {}
    local outs = results(fn, list)
    all.n = n
    for o = 1, outs.n do
        if outs[o].requires_grad then
            which[#which + 1], all.n = o, all.n + 1
            all[all.n] = seed_like(outs[o]:detach())
        end
    end
    -- The gradients of fn as a function of its inputs and of the results' gradients.
    local function first(...)
        local given, xs, ys = table.pack(...), {}, {}
        for k = 1, n do
            if gpush.is_tensor(list[k]) and list[k].requires_grad then
                if not given[k].requires_grad then given[k] = given[k]:detach():requires_grad_() end
                xs[#xs + 1] = given[k]
            end
        end
        local recorded = gpush.is_grad_enabled()
        local back = gpush.enable_grad(function()
            local r = results(fn, { n = n, table.unpack(given, 1, n) })
            for k, o in ipairs(which) do ys[k] = r[o] end
            local seeds = { table.unpack(given, n + 1, n + #which) }
            return table.pack(gpush.grad(ys, xs, seeds,
                { create_graph = recorded, allow_unused = true }))
        end)
        for k = 1, #xs do back[k] = back[k] or xs[k]:detach():clone():fill_(0) end
        return table.unpack(back, 1, #xs)
    end
    return autograd.gradcheck(first, all, eps, atol, rtol)
end

-- The gradients of ys for the leaves xs. In grad() leaves that fn captured keep their grad;
-- otherwise they get their part, too.
local function gradients(ys, xs, gs)
    if gpush.autograd.apart() then
        if #xs == 0 or #ys == 0 then return {} end
        return table.pack(gpush.grad(ys, xs, gs, { allow_unused = true }))
    end
    for k = 1, #ys do ys[k]:backward(gs[k], { retain_graph = k < #ys }) end
    local grads = {}
    for k = 1, #xs do grads[k] = xs[k].grad end
    return grads
end

--- checkpoint(fn, x, …): fn(x, …) whose intermediate results are not kept: backward computes them
--- again, from the same
-- random numbers and under the same autocast.
function autograd.checkpoint(fn, ...)
    local args = table.pack(...)
    local state, dtype = gpush.get_rng_state(), gpush.get_autocast_dtype()
    local outs = gpush.no_grad(function() return table.pack(fn(table.unpack(args, 1, args.n))) end)
    if outs.n == 0 then fail "checkpoint: the function returned nothing (expected tensors)" end
    for i = 1, outs.n do
        if not gpush.is_tensor(outs[i]) then
            fail("checkpoint: result %d is a %s (expected tensors)", i, type(outs[i]))
        end
    end
    local inputs, places = {}, {}
    for i = 1, args.n do
        local x = args[i]
        if gpush.is_tensor(x) then
            if x.requires_grad then inputs[#inputs + 1], places[#places + 1] = x, i end
            -- a later write may give x a history that leads back to the function below
            args[i] = x:detach()
        end
    end
    -- tensors that fn captured may require gradients all the same
    if #inputs == 0 then
        inputs[1] = gpush.zeros({}, { device = outs[1].device }):requires_grad_()
    end
    gpush.autograd.node(inputs, outs, function(...)
        if gpush.is_grad_enabled() then
            error("checkpoint: there are no second derivatives through it", 0)
        end
        local given, again, now = table.pack(...), table.move(args, 1, args.n, 1, {}),
            gpush.get_rng_state()
        local xs, ys, gs = {}, {}, {}
        for k, i in ipairs(places) do
            again[i] = args[i]:detach():requires_grad_()
            xs[k] = again[i]
        end
        gpush.set_rng_state(state)
        local y = gpush.enable_grad(function()
            return table.pack(gpush.autograd.autocast_as(dtype, fn, table.unpack(again, 1, args.n)))
        end)
        gpush.set_rng_state(now)
        for k = 1, y.n do
            if y[k].requires_grad then ys[#ys + 1], gs[#gs + 1] = y[k], given[k] end
        end
        return table.unpack(gradients(ys, xs, gs), 1, #places)
    end)
    return table.unpack(outs, 1, outs.n)
end

autograd.inputs_of = inputs_of
return autograd
