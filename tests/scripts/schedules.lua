--!plain
-- Learning rate schedules against numbers from PyTorch; state, resume, errors.
local t = require "tap"
local g = require "gpush"
local lr, SGD = g.optim.lr, g.optim.SGD

-- torch.optim.SGD([{"params": [a]}, {"params": [b], "lr": 0.5}], lr=1.0, momentum=0.9) with the
-- schedule, 8 steps: the lr of groups 1, 2, 1, 2 … before each, and for the cycles group 1's
-- momentum after each. Printed with %.12g.
local cases = {
    { "StepLR", { 1, 0.5, 1, 0.25, 0.5, 0.25, 0.25, 0.125 } },
    { "MultiStepLR", { 1, 0.5, 0.1, 0.05, 0.1, 0.005, 0.01, 0.005 } },
    { "ExponentialLR", { 1, 0.45, 0.81, 0.3645, 0.6561, 0.295245, 0.531441, 0.23914845 } },
    { "ConstantLR", { 0.25, 0.125, 0.25, 0.125, 1, 0.5, 1, 0.5 } },
    { "LinearLR", { 0.1, 0.14, 0.46, 0.32, 0.82, 0.5, 1, 0.5 } },
    { "CosineAnnealingLR",
        { 1, 0.453209163622, 0.657963412216, 0.179290836378, 0.104536587784, 0.01, 0.104536587784,
            0.179290836378 } },
    { "LambdaLR",
        { 1, 0.25, 0.333333333333, 0.125, 0.2, 0.0833333333333, 0.142857142857, 0.0625 } },
    { "OneCycleLR",
        { 0.08, 0.95, 1.63855020978, 0.868825509907, 1.94388355478, 0.852805833485, 1.6234913079,
            0.868825509907, 1.11196802825, 0.894401776195, 0.566121996417, 0.921694186956,
            0.153283187669, 0.942336209961, 8e-06, 0.95 } },
    { "OneCycleLR linear",
        { 0.08, 0.95, 0.476363636364, 0.904545454545, 1.82545454545, 0.859090909091, 0.650909090909,
            0.886363636364, 0.429090909091, 0.931818181818, 0.0307701538462, 0.95, 0.0307741538462,
            0.95, 4e-06, 0.95 } },
    { "MultiplicativeLR", { 1, 0.45, 0.72, 0.252, 0.3024, 0.0756, 0.06048, 0.009072 } },
    { "PolynomialLR", { 1, 0.32, 0.36, 0.08, 0.04, 0, 0, 0 } },
    { "CosineAnnealingWarmRestarts",
        { 1, 0.255, 1, 0.428241161391, 0.505, 0.0817588386093, 1, 0.481350485465 } },
    { "CosineAnnealingWarmRestarts equal", { 1, 0.3775, 0.2575, 0.5, 0.7525, 0.1325, 1, 0.3775 } },
    { "CyclicLR",
        { 0.1, 0.9, 0.45, 0.8, 0.8, 0.7, 0.566666666667, 0.766666666667, 0.333333333333,
            0.833333333333, 0.1, 0.9, 0.275, 0.85, 0.45, 0.8 } },
    { "CyclicLR exp_range",
        { 0.1, 0.9, 0.29, 0.855, 0.667, 0.819, 0.2729, 0.86355, 0.1, 0.9, 0.259049, 0.8704755,
            0.4720087, 0.8468559, 0.24782969, 0.876085155 } },
    { "ChainedScheduler", { 0.1, 0.045, 0.081, 0.3645, 0.6561, 0.295245, 0.531441, 0.23914845 } },
    { "ChainedScheduler cosine", { 1, 0.36, 0.26925, 0.09, 0.2835, 0.2817, 0.67254, 0.230427 } },
    { "ChainedScheduler cosine last",
        { 0.25, 0.220710678119, 0.402144660941, 0.119179293251, 0.05, 0.115900974233, 0.525,
            0.434099025767 } },
    { "ChainedScheduler lambda", { 1, 0.225, 0.3, 0.1125, 0.18, 0.075, 0.128571428571, 0.05625 } },
    { "SequentialLR", { 0.1, 0.2, 0.7, 0.5, 0.5, 0.125, 0.125, 0.03125 } },
}

local make = {
    StepLR = function(o) return lr.StepLR(o, 3, 0.5) end,
    MultiStepLR = function(o) return lr.MultiStepLR(o, { 2, 5 }, 0.1) end,
    ExponentialLR = function(o) return lr.ExponentialLR(o, { gamma = 0.9 }) end,
    ConstantLR = function(o) return lr.ConstantLR(o, 0.25, 4) end,
    LinearLR = function(o) return lr.LinearLR(o, 0.1, 1, 5) end,
    CosineAnnealingLR = function(o) return lr.CosineAnnealingLR(o, 5, { eta_min = 0.01 }) end,
    LambdaLR = function(o) return lr.LambdaLR(o, function(n) return 1 / (1 + n) end) end,
    OneCycleLR = function(o) return lr.OneCycleLR(o, 2, { total_steps = 8 }) end,
    ["OneCycleLR linear"] = function(o)
        return lr.OneCycleLR(o,
            { max_lr = { 2, 1 }, epochs = 2, steps_per_epoch = 4, anneal_strategy = "linear",
            three_phase = true, pct_start = 0.4 })
    end,
    MultiplicativeLR = function(o)
        return lr.MultiplicativeLR(o, function(n) return 1 - n / 10 end)
    end,
    PolynomialLR = function(o) return lr.PolynomialLR(o, 5, 2) end,
    CosineAnnealingWarmRestarts = function(o)
        return lr.CosineAnnealingWarmRestarts(o, 2, 2, 0.01)
    end,
    ["CosineAnnealingWarmRestarts equal"] =
        function(o) return lr.CosineAnnealingWarmRestarts(o, 3, { eta_min = 0.01 }) end,
    CyclicLR = function(o)
        return lr.CyclicLR(o, 0.1, 0.8, 2, 3, { mode = "triangular2", base_momentum = 0.7 })
    end,
    ["CyclicLR exp_range"] = function(o)
        return lr.CyclicLR(o, { 0.1, 0.2 }, { 0.8, 0.4 },
            { step_size_up = 2, mode = "exp_range", gamma = 0.9 })
    end,
    ChainedScheduler = function(o)
        return lr.ChainedScheduler { lr.ConstantLR(o, 0.1, 3), lr.ExponentialLR(o, 0.9) }
    end,
    ["ChainedScheduler cosine"] = function(o)
        return lr.ChainedScheduler { lr.CosineAnnealingLR(o, 3, { eta_min = 0.1 }),
            lr.ExponentialLR(o, 0.9) }
    end,
    ["ChainedScheduler cosine last"] = function(o)
        return lr.ChainedScheduler { lr.LinearLR(o, 0.25, 1, 3),
            lr.CosineAnnealingLR(o, 4, { eta_min = 0.05 }) }
    end,
    ["ChainedScheduler lambda"] = function(o)
        return lr.ChainedScheduler { lr.StepLR(o, 2, 0.5),
            lr.LambdaLR(o, function(n) return 1 / (1 + n) end), lr.ExponentialLR(o, 0.9) }
    end,
    SequentialLR = function(o)
        return lr.SequentialLR(o, { lr.LinearLR(o, 0.1, 1, 3), lr.ExponentialLR(o, 0.5) }, { 3 })
    end,
}

local function optimizer()
    return SGD({ { params = { g.zeros(1):requires_grad_() } },
        { params = { g.zeros(1):requires_grad_() }, lr = 0.5 } },
        { lr = 1, momentum = 0.9 })
end

for _, case in ipairs(cases) do
    local name, want = table.unpack(case)
    local o, got = optimizer(), {}
    local s = make[name](o)
    for i = 0, 7 do
        got[#got + 1] = o.param_groups[i % 2 + 1].lr
        if #want == 16 then got[#got + 1] = o.param_groups[1].momentum end
        t.is(s:get_last_lr()[2], o.param_groups[2].lr, name .. ": get_last_lr")
        o:step()
        if i < 7 then s:step() end
    end
    t.close(got, want, 1e-11, name)

    -- saved after 3 steps, and loaded into another one
    local a, b = optimizer(), optimizer()
    local one, other = make[name](a), make[name](b)
    for _ = 1, 3 do one:step() end
    other:load_state_dict(one:state_dict())
    for _ = 1, 3 do one:step() other:step() end
    t.is(other:get_last_lr(), one:get_last_lr(), name .. ": resumed bit for bit")
    t.is(b.param_groups[1].momentum, a.param_groups[1].momentum, name .. ": momentum too")
end

-- Resumed by last_epoch: PyTorch 2.15's rates of the 5th step and two more, of one group at 0.1.
for _, case in ipairs {
    { "StepLR", { step_size = 3, gamma = 0.5 }, { 0.05, 0.025, 0.025 } },
    { "LambdaLR", { lr_lambda = function(n) return 1 / (n + 1) end },
        { 0.016666666666666666, 0.014285714285714285, 0.0125 } },
    { "OneCycleLR", { max_lr = 1, total_steps = 20 },
        { 1.0, 0.9874640062350873, 0.9504846320134737 } },
    { "CyclicLR", { base_lr = 0.1, max_lr = 1, step_size_up = 4 }, { 0.775, 0.55, 0.325 } },
} do
    local name, options, want = table.unpack(case)
    local function sgd()
        return SGD({ g.zeros(1):requires_grad_() }, { lr = 0.1, momentum = 0.9 })
    end
    local before, after, got = sgd(), sgd(), {}
    local s = lr[name](before, options)
    for _ = 1, 4 do s:step() end
    after:load_state_dict(before:state_dict())
    options.last_epoch = s.last_epoch
    s = lr[name](after, options)
    t.is(s.last_epoch, 5, name .. " begins one step on")
    for i = 1, 3 do
        got[i] = after.param_groups[1].lr
        s:step()
    end
    t.close(got, want, 1e-12, name .. " by last_epoch")
end
t.error(function() lr.StepLR(optimizer(), 3, { last_epoch = 2 }) end,
    "optim.lr.StepLR: option 'last_epoch' is 2, and group 1 has no initial_lr", "nothing to resume")
t.error(function() lr.StepLR(optimizer(), 3, { last_epoch = -2 }) end,
    "option 'last_epoch' is %-2 %(expected %-1 or more%)", "an epoch before the first")

do
    local o = optimizer()
    local s = lr.CosineAnnealingWarmRestarts(o, 2)
    s:step(0.5)
    t.close(o.param_groups[1].lr, (1 + math.cos(math.pi / 4)) / 2, 1e-15,
        "warm restarts between whole steps")
    s:step()
    t.close(o.param_groups[1].lr, (1 + math.cos(math.pi * 0.75)) / 2, 1e-15, "and on from there")
    o = g.optim.Adam({ g.zeros(1) }, { betas = { 0.9, 0.99 } })
    s = lr.CyclicLR(o, 0.1, 1, 2)
    s:step()
    t.close(o.param_groups[1].betas, { 0.85, 0.99 }, 1e-15,
        "CyclicLR: Adam's first beta is its momentum")
end

do -- torch.optim.lr_scheduler.SequentialLR of the same: [0.5, 0.5, 1.0, 0.9, 0.81]
    local o, got = optimizer(), {}
    local s = lr.SequentialLR(o, { lr.ConstantLR(o, 0.5, 100), lr.ExponentialLR(o, 0.9) }, { 2 })
    for i = 1, 5 do
        got[i] = o.param_groups[1].lr
        s:step()
    end
    t.close(got, { 0.5, 0.5, 1, 0.9, 0.81 }, 1e-12,
        "SequentialLR: the next one begins at its milestone")
    o = optimizer() -- back to where it was saved
    s = lr.ChainedScheduler { lr.StepLR(o, 2, 0.5), lr.ExponentialLR(o, 0.9) }
    s:step()
    local saved, then_ = s:state_dict(), o.param_groups[1].lr
    for _ = 1, 4 do s:step() end
    s:load_state_dict(saved)
    t.is({ o.param_groups[1].lr, then_ }, { 0.9, 0.9 }, "ChainedScheduler goes back")
end

-- torch: ReduceLROnPlateau(SGD(lr=1.0), factor=0.5, patience=1, cooldown=1, min_lr=0.2)
local o = SGD({ g.zeros(1):requires_grad_() }, { lr = 1 })
local s, got = lr.ReduceLROnPlateau(o, { factor = 0.5, patience = 1, cooldown = 1, min_lr = 0.2 }),
    {}
for i, v in ipairs { 3, 2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1 } do
    s:step(i == 1 and g.tensor(3.0) or v)
    got[i] = o.param_groups[1].lr
end
t.is(got, { 1, 1, 1, 0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 0.2, 0.2, 0.2, 0.2 }, "ReduceLROnPlateau")
local p = lr.ReduceLROnPlateau(o, { mode = "max", threshold_mode = "abs", patience = 0 })
p:load_state_dict(s:state_dict())
t.is({ p.best, p.mode, p.num_bad_epochs }, { 1, "min", s.num_bad_epochs }, "its state comes back")
p:load_state_dict(lr.ReduceLROnPlateau(o):state_dict())
t.is(p.best, nil, "also that of one that has seen nothing")

-- ---- errors ----

local function fails(f, pattern, name) t.error(f, pattern, name) end
fails(function() lr.StepLR(o, { step = 3 }) end,
    "schedules.lua:%d+: optim.lr.StepLR: unknown option 'step' %(expected step_size, gamma, \z
        last_epoch%)",
        "an unknown option, at the user's line")
fails(function() lr.StepLR(o) end,
    "StepLR: argument 'step_size' %(#2%): expected an integer, got nothing", "a missing one")
fails(function() lr.StepLR(o, 0) end, "StepLR: option 'step_size' is 0", "a size of 0")
fails(function() lr.StepLR(5, 3) end,
    "StepLR: argument 'optimizer' %(#1%): expected an optimizer, got number", "no optimizer")
fails(function() lr.OneCycleLR(o, 1) end, "OneCycleLR: option 'total_steps' .* is missing",
    "a cycle without an end")
fails(function() lr.OneCycleLR(g.optim.Adagrad { g.zeros(1) }, 1, 5) end, "Adagrad has no momentum",
    "Adagrad has none")
fails(function() lr.CyclicLR(o, 0.1, 1, { mode = "round" }) end,
    "CyclicLR: option 'mode': expected 'triangular', .* got 'round'", "no such cycle")
fails(function() lr.ChainedScheduler {} end, "ChainedScheduler: expected a list of schedules",
    "a chain of nothing")
fails(function() lr.LinearLR(o, { start_factor = "a" }) end,
    "option 'start_factor': expected a number, got 'a'", "another kind")
local c = lr.OneCycleLR(SGD({ g.zeros(1) }, { momentum = 0.5 }), 1, 3)
for _ = 1, 3 do c:step() end
fails(function() c:step() end, "OneCycleLR: step 5 of 3 steps in all", "a step too many")
fails(function() c:load_state_dict(s:state_dict()) end,
    "OneCycleLR: load_state_dict: the state is of ReduceLROnPlateau", "another schedule's state")
t.is(g.optim.lr_scheduler, lr, "PyTorch's name")
-- A cycle in a chain sets the rate regardless of the one before: PyTorch's lrs of steps 2 to 4.
do
    local o, got = optimizer(), {}
    local chained = lr.ChainedScheduler { lr.ExponentialLR(o, 0.5),
        lr.CyclicLR(o, 0.1, 1, { step_size_up = 2 }) }
    for _ = 1, 3 do
        o:step()
        chained:step()
        for _, group in ipairs(o.param_groups) do got[#got + 1] = group.lr end
    end
    t.close(got, { 0.55, 0.55, 1, 1, 0.55, 0.55 }, 1e-12, "a cycle in a chain")
end

-- A state that lacks a field, or has another kind of one, changes nothing.
local whole = lr.StepLR(SGD({ g.ones(2):requires_grad_() }, 0.1), 2, { gamma = 0.5 })
for field, message in pairs { last_epoch = "is missing %(expected a number%)",
    gamma = "is a string %(expected a number%)" } do
    local state = whole:state_dict()
    state[field] = field == "gamma" and "x" or nil
    t.error(function() whole:load_state_dict(state) end,
        "optim.lr.StepLR: load_state_dict: field '" .. field .. "' " .. message, field)
end
t.is({ whole.gamma, whole.last_epoch }, { 0.5, 0 }, "the schedule is what it was")

-- The methods that schedules are made of, called by hand: each argument has a name.
local by_hand = SGD({ g.ones(2):requires_grad_() }, 0.1)
local function schedules()
    return { lr.StepLR(by_hand, 2), lr.CosineAnnealingLR(by_hand, 3),
        lr.OneCycleLR(by_hand, 0.1, 10, { cycle_momentum = false }),
        lr.SequentialLR(by_hand, { lr.StepLR(by_hand, 2), lr.StepLR(by_hand, 3) }, { 2 }),
        lr.ChainedScheduler { lr.StepLR(by_hand, 2) } }
end
for i, s in ipairs(schedules()) do
    t.error(function() s:rate() end, "schedule.rate: argument 'base' %(#1%): expected a number", i)
    t.error(function() s:rate(0.1) end, "argument 'epoch' %(#2%): expected a number, got nothing",
        i)
    t.error(function() s:chain() end, "schedule.chain: argument 'rate' %(#1%): expected a number",
        i)
    t.error(function() s.rate(0.1) end, "with a colon", i)
end
t.done()
