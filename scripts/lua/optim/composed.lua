--!plain
-- Adamax, NAdam, RAdam, Adadelta, Rprop and ASGD: optimizers whose steps are made of ops, several
-- for each parameter. Nothing waits. Options, defaults and formulas are those of torch.optim.
local require = ...
local gpush, optim = require "gpush", require "optim"

local positive = optim.check_positive

-- The gradient that p is stepped by: in p's dtype, upward if maximize, with weight decay in it
-- unless that shrinks p itself, which is done here.
local function gradient(o, p, g)
    local decay = o.weight_decay or 0
    if g.dtype ~= p.dtype then g = g:to(p.dtype) end
    if o.maximize then g = -g end
    if decay == 0 then return g end
    if not o.decoupled_weight_decay then return g + p * decay end
    p:mul_(1 - o.lr * decay)
    return g
end

-- define(name, help, sig, row): row has fill, check, slots and fresh of optim.define, and
-- step(group, p, g, slots of p by name, n, state): the n-th step of p in place, by the gradient g.
local function define(name, help, sig, row)
    local names, step = row.slots, row.step
    optim[name] = optim.define {
        name = name, help = help .. "; params as of optim.SGD",
        sig = sig .. ", bool maximize=false",
        fill = row.fill, check = row.check, fresh = row.fresh,
        slots = function() return table.move(names, 1, #names, 1, {}) end,
        launch = function(o, l, n)
            for i, p in ipairs(l.params) do
                local own = {}
                for _, slot in ipairs(names) do own[slot] = l[slot][i] end
                step(o, p, gradient(o, p, l.grads[i]), own, n, l.states[i])
            end
        end,
    }
end

local function fill_betas(o) o.betas = o.betas or { 0.9, 0.999 } end
local function check_adam(o, fail)
    positive(o, fail, "lr", "eps", "weight_decay")
    optim.check_betas(o.betas, fail)
end

-- Kingma and Ba 2015, section 7.1.
define("Adamax", "Adam with the infinity norm: the average gradient divided by the largest one, \z
        which decays",
    "float lr=0.002, numbers? betas, float eps=1e-8, float weight_decay=0", {
    fill = fill_betas, check = check_adam, slots = { "exp_avg", "exp_inf" },
    step = function(o, p, g, s, n)
        s.exp_avg:lerp_(g, 1 - o.betas[1])
        s.exp_inf:copy_((s.exp_inf * o.betas[2]):maximum(g:abs() + o.eps))
        p:addcdiv_(s.exp_avg, s.exp_inf, { value = -o.lr / (1 - o.betas[1] ^ n) })
    end,
})

local function averages(o, g, s)
    s.exp_avg:lerp_(g, 1 - o.betas[1])
    s.exp_avg_sq:mul_(o.betas[2]):addcmul_(g, g, { value = 1 - o.betas[2] })
end

-- Dozat 2016.
define("NAdam", "Adam with Nesterov's momentum",
    "float lr=0.002, numbers? betas, float eps=1e-8, float weight_decay=0, \z
        float momentum_decay=0.004, bool decoupled_weight_decay=false", {
    fill = fill_betas, slots = { "exp_avg", "exp_avg_sq" },
    check = function(o, fail)
        check_adam(o, fail)
        positive(o, fail, "momentum_decay")
    end,
    step = function(o, p, g, s, n, state)
        local function mu(k) return o.betas[1] * (1 - 0.5 * 0.96 ^ (k * o.momentum_decay)) end
        local now, after = mu(n), mu(n + 1)
        state.mu_product = (state.mu_product or 1) * now
        averages(o, g, s)
        local root = (s.exp_avg_sq / (1 - o.betas[2] ^ n)):sqrt() + o.eps
        p:addcdiv_(g, root, { value = -o.lr * (1 - now) / (1 - state.mu_product) })
        p:addcdiv_(s.exp_avg, root, { value = -o.lr * after / (1 - state.mu_product * after) })
    end,
})

-- Liu et al. 2020: as long as the variance cannot be estimated, momentum alone.
define("RAdam", "Adam whose first steps are smaller, by how well the variance is known",
    "float lr=0.001, numbers? betas, float eps=1e-8, float weight_decay=0, \z
        bool decoupled_weight_decay=false", {
    fill = fill_betas, check = check_adam, slots = { "exp_avg", "exp_avg_sq" },
    step = function(o, p, g, s, n)
        averages(o, g, s)
        local beta, power = o.betas[2], o.betas[2] ^ n
        local most = 2 / (1 - beta) - 1
        local length = most - 2 * n * power / (1 - power)
        local rate = o.lr / (1 - o.betas[1] ^ n)
        if length <= 5 then return p:sub_(s.exp_avg * rate) end
        local rectified = math.sqrt((length - 4) * (length - 2) * most
            / ((most - 4) * (most - 2) * length) * (1 - power))
        p:addcdiv_(s.exp_avg, s.exp_avg_sq:sqrt() + o.eps, { value = -rate * rectified })
    end,
})

-- Zeiler 2012.
define("Adadelta",
    "the gradient times the root of past steps' average over that of past gradients'",
    "float lr=1, float rho=0.9, float eps=1e-6, float weight_decay=0", {
    slots = { "square_avg", "acc_delta" },
    check = function(o, fail)
        positive(o, fail, "lr", "rho", "eps", "weight_decay")
        if o.rho > 1 then fail("option 'rho' is %s (expected 0 to 1)", o.rho) end
    end,
    step = function(o, p, g, s)
        s.square_avg:mul_(o.rho):addcmul_(g, g, { value = 1 - o.rho })
        local delta = (s.acc_delta + o.eps):sqrt() / (s.square_avg + o.eps):sqrt() * g
        s.acc_delta:mul_(o.rho):addcmul_(delta, delta, { value = 1 - o.rho })
        p:sub_(delta * o.lr)
    end,
})

local function check_pair(o, fail, name)
    local list = type(o[name]) == "table" and o[name] or {}
    if #list ~= 2 or not math.type(list[1]) or not math.type(list[2]) then
        fail("option '%s': expected 2 numbers", name)
    end
    return list[1], list[2]
end

-- Riedmiller and Braun 1993; a gradient whose sign has changed is left out once.
define("Rprop", "steps by the gradient's sign alone, which grow while it stays the same",
    "float lr=0.01, numbers? etas, numbers? step_sizes", {
    slots = { "prev", "step_size" },
    fill = function(o)
        o.etas, o.step_sizes = o.etas or { 0.5, 1.2 }, o.step_sizes or { 1e-6, 50 }
    end,
    check = function(o, fail)
        positive(o, fail, "lr")
        local down, up = check_pair(o, fail, "etas")
        if not (0 < down and down < 1 and 1 < up) then
            fail("option 'etas' is {%s, %s} (expected a number below 1, and one above)", down, up)
        end
        local least, most = check_pair(o, fail, "step_sizes")
        if not (least <= most) then
            fail("option 'step_sizes' is {%s, %s} (expected the smaller one first)", least, most)
        end
    end,
    fresh = function(o, slot, p)
        return slot == "step_size" and gpush.full_like(p, o.lr) or gpush.zeros_like(p)
    end,
    step = function(o, p, g, s)
        local sign, size = (g * s.prev):sign(), s.step_size
        size:copy_(gpush.where(sign:gt(0), size * o.etas[2],
            gpush.where(sign:lt(0), size * o.etas[1], size)))
        size:clamp_(o.step_sizes[1], o.step_sizes[2])
        g = gpush.where(sign:lt(0), 0, g)
        p:addcmul_(g:sign(), size, { value = -1 })
        s.prev:copy_(g)
    end,
})

-- Polyak and Juditsky 1992: opt.state[p].ax is the average of p, from step t0 on.
define("ASGD", "stochastic gradient descent that keeps the average of each parameter, ax",
    "float lr=0.01, float lambd=0.0001, float alpha=0.75, float t0=1000000, float weight_decay=0", {
    slots = { "ax" },
    check = function(o, fail) positive(o, fail, "lr", "weight_decay") end,
    step = function(o, p, g, s, n, state)
        local eta, mu = state.eta or o.lr, state.mu or 1
        p:mul_(1 - o.lambd * eta):sub_(g * eta)
        if mu == 1 then s.ax:copy_(p) else s.ax:add_((p - s.ax) * mu) end
        state.eta = o.lr / (1 + o.lambd * o.lr * n) ^ o.alpha
        state.mu = 1 / math.max(1, n - o.t0)
    end,
})
