--!plain
-- optim.lr: learning rates that change as training goes on. A schedule gives each group's lr as a function of its first
-- lr and of how many steps were taken, so that what was saved resumes exactly; optim.lr_scheduler is the same table.
local gpush, optim = ...
local lr, raise = {}, optim.raise

local Schedule = {}
Schedule.__index = Schedule

-- Options by name, or by position in `order`; what has no default (nil) must be given.
local function read(name, order, defaults, optional, ...)
    local args, o = table.pack(...), {}
    local last = args[args.n]
    for k, v in pairs(defaults) do o[k] = v end
    if type(last) == "table" and #last == 0 and next(last) ~= nil then
        for k, v in pairs(last) do
            local known = optional[k]
            for _, n in ipairs(order) do known = known or n == k end
            if not known then raise("%s: unknown option '%s' (expected %s)", name, k, table.concat(order, ", ")) end
            o[k] = v
        end
        args.n = args.n - 1
    end
    if args.n > #order then raise("%s: too many arguments (expected %s)", name, table.concat(order, ", ")) end
    for i = 1, args.n do
        if args[i] ~= nil then o[order[i]] = args[i] end
    end
    for _, n in ipairs(order) do
        if o[n] == nil and not optional[n] then raise("%s: option '%s' is missing", name, n) end
        local want = type(defaults[n])
        if want ~= "nil" and type(o[n]) ~= want and not optional[n] then
            raise("%s: option '%s': expected a %s, got %s", name, n, want, type(o[n]))
        end
    end
    return o
end

local function check_whole(name, o, ...)
    for _, k in ipairs { ... } do
        if not (math.tointeger(o[k]) and o[k] > 0) then
            raise("%s: option '%s' is %s (expected a whole number above 0)", name, k, tostring(o[k]))
        end
    end
end

-- Sets every group's lr to what it is after self.last_epoch steps.
local function apply(self)
    self._last_lr = {}
    for i, group in ipairs(self.optimizer.param_groups) do
        group.lr = self:rate(self.base_lrs[i], self.last_epoch, i, group)
        self._last_lr[i] = group.lr
    end
end

local function check_optimizer(name, optimizer)
    if type(optimizer) ~= "table" or type(optimizer.param_groups) ~= "table" then
        raise("%s: argument 'optimizer' (#1): expected an optimizer, got %s", name, type(optimizer))
    end
end

-- define(name, {order of options}, {defaults}, {check =, begin =, rate = fn(self, base, epoch, group number, group)})
local function define(name, order, defaults, methods, optional)
    local class = setmetatable(methods, Schedule)
    class.__index, class.name, class.__name = class, name, "optim.lr." .. name
    lr[name] = function(optimizer, ...)
        check_optimizer(name, optimizer)
        local self = read(name, order, defaults, optional or {}, ...)
        if class.check then class.check(self) end
        self.optimizer, self.last_epoch, self.base_lrs = optimizer, 0, {}
        for i, group in ipairs(optimizer.param_groups) do
            group.initial_lr = group.initial_lr or group.lr
            self.base_lrs[i] = group.initial_lr
        end
        setmetatable(self, class)
        if class.begin then class.begin(self) end
        apply(self)
        return self
    end
end

-- One step on: after each epoch, or after each step of the optimizer, as the schedule was meant.
function Schedule:step()
    self.last_epoch = self.last_epoch + 1
    apply(self)
end

-- The groups' rates, as they were set last.
function Schedule:get_last_lr() return table.move(self._last_lr, 1, #self._last_lr, 1, {}) end

local function plain(v)
    if type(v) ~= "table" then return v end
    local copy = {}
    for k, x in pairs(v) do copy[k] = plain(x) end
    return copy
end

-- Options, base_lrs and last_epoch; functions (LambdaLR) are left out.
function Schedule:state_dict()
    local dict = { name = self.name }
    for k, v in pairs(self) do
        if k ~= "optimizer" and k ~= "schedulers" and type(v) ~= "function" and
            not (type(v) == "table" and type(v[1]) == "function") then dict[k] = plain(v) end
    end
    for i, s in ipairs(self.schedulers or {}) do
        dict.schedulers = dict.schedulers or {}
        dict.schedulers[i] = s:state_dict()
    end
    return dict
end

function Schedule:check_state_dict(dict)
    if type(dict) ~= "table" or dict.name ~= self.name then
        raise("%s: load_state_dict: the state is of %s", self.name, tostring(type(dict) == "table" and dict.name))
    end
    if #dict.base_lrs ~= #self.base_lrs then
        raise("%s: load_state_dict: %d groups were saved, %d are here", self.name, #dict.base_lrs, #self.base_lrs)
    end
end

-- The optimizer's own state holds the rates as they were.
function Schedule:load_state_dict(dict)
    self:check_state_dict(dict)
    for k, v in pairs(dict) do
        if k ~= "schedulers" and k ~= "name" then self[k] = plain(v) end
    end
    for i, s in ipairs(self.schedulers or {}) do s:load_state_dict(dict.schedulers[i]) end
    if self.rate then apply(self) end
end

-- ---- the schedules ----

define("StepLR", { "step_size", "gamma" }, { gamma = 0.1 }, {
    check = function(o) check_whole("StepLR", o, "step_size") end,
    rate = function(self, base, epoch) return base * self.gamma ^ (epoch // self.step_size) end,
})

define("MultiStepLR", { "milestones", "gamma" }, { milestones = {}, gamma = 0.1 }, {
    rate = function(self, base, epoch)
        local passed = 0
        for _, m in ipairs(self.milestones) do if m <= epoch then passed = passed + 1 end end
        return base * self.gamma ^ passed
    end,
})

define("ExponentialLR", { "gamma" }, {}, {
    rate = function(self, base, epoch) return base * self.gamma ^ epoch end,
})

-- factor times the lr for the first total_iters steps.
define("ConstantLR", { "factor", "total_iters" }, { factor = 1 / 3, total_iters = 5 }, {
    rate = function(self, base, epoch) return epoch < self.total_iters and base * self.factor or base end,
})

-- Warm-up: from start_factor to end_factor times the lr in total_iters steps.
define("LinearLR", { "start_factor", "end_factor", "total_iters" }, { start_factor = 1 / 3, end_factor = 1, total_iters = 5 }, {
    check = function(o) check_whole("LinearLR", o, "total_iters") end,
    rate = function(self, base, epoch)
        local at = math.min(epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * at)
    end,
})

-- Down to eta_min in T_max steps, along half a cosine; and up again in as many.
define("CosineAnnealingLR", { "T_max", "eta_min" }, { eta_min = 0 }, {
    check = function(o) check_whole("CosineAnnealingLR", o, "T_max") end,
    rate = function(self, base, epoch)
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2
    end,
})

-- lr_lambda(number of steps) times the lr; a function, or one for each group.
define("LambdaLR", { "lr_lambda" }, {}, {
    rate = function(self, base, epoch, i)
        local f = type(self.lr_lambda) == "table" and self.lr_lambda[i] or self.lr_lambda
        return base * f(epoch)
    end,
})

-- ---- one cycle ----

local function cosine(from, to, at) return to + (from - to) / 2 * (1 + math.cos(math.pi * at)) end
local function linear(from, to, at) return (to - from) * at + from end

-- Phases as {end step, lr from, lr to, momentum from, momentum to}, the lrs as names of factors.
local function phases(o)
    local first, last = o.pct_start * o.total_steps - 1, o.total_steps - 1
    local low, high = o.base_momentum, o.max_momentum
    if o.three_phase then
        return { { first, "initial", "max", high, low }, { 2 * o.pct_start * o.total_steps - 2, "max", "initial", low, high },
            { last, "initial", "min", high, high } }
    end
    return { { first, "initial", "max", high, low }, { last, "max", "min", low, high } }
end

local cycle = {
    check = function(o)
        if not o.total_steps then
            if not (o.epochs and o.steps_per_epoch) then
                raise "OneCycleLR: option 'total_steps' (or epochs and steps_per_epoch) is missing"
            end
            o.total_steps = o.epochs * o.steps_per_epoch
        end
        check_whole("OneCycleLR", o, "total_steps")
        if o.anneal_strategy ~= "cos" and o.anneal_strategy ~= "linear" then
            raise("OneCycleLR: option 'anneal_strategy': expected 'cos' or 'linear', got '%s'", o.anneal_strategy)
        end
        if not (o.pct_start >= 0 and o.pct_start <= 1) then
            raise("OneCycleLR: option 'pct_start' is %s (expected 0 to 1)", o.pct_start)
        end
    end,
    begin = function(self)
        local group = self.optimizer.param_groups[1]
        if self.cycle_momentum and not group.betas and not group.momentum then
            raise("OneCycleLR: %s has no momentum to change (cycle_momentum = false leaves it)", self.optimizer.name)
        end
    end,
}
function cycle:rate(_, epoch, i, group)
    if epoch > self.total_steps then
        raise("OneCycleLR: step %d of %d steps in all", epoch + 1, self.total_steps)
    end
    local most = type(self.max_lr) == "table" and self.max_lr[i] or self.max_lr
    local rates = { max = most, initial = most / self.div_factor }
    rates.min = rates.initial / self.final_div_factor
    local list, start = phases(self), 0
    local between = self.anneal_strategy == "cos" and cosine or linear
    for n, p in ipairs(list) do
        if epoch <= p[1] or n == #list then
            local at = (epoch - start) / (p[1] - start)
            local momentum = between(p[4], p[5], at)
            if self.cycle_momentum and group.betas then group.betas = { momentum, group.betas[2] }
            elseif self.cycle_momentum then group.momentum = momentum end
            return between(rates[p[2]], rates[p[3]], at)
        end
        start = p[1]
    end
end
define("OneCycleLR", { "max_lr", "total_steps", "epochs", "steps_per_epoch", "pct_start", "anneal_strategy",
    "cycle_momentum", "base_momentum", "max_momentum", "div_factor", "final_div_factor", "three_phase" },
    { pct_start = 0.3, anneal_strategy = "cos", cycle_momentum = true, base_momentum = 0.85, max_momentum = 0.95,
        div_factor = 25, final_div_factor = 1e4, three_phase = false }, cycle,
    { total_steps = true, epochs = true, steps_per_epoch = true })

-- ---- one after the other, and by what is measured ----

-- schedulers {a, b, …}, the next one from each of milestones on, counting its own steps from there.
lr.SequentialLR = function(optimizer, schedulers, milestones)
    check_optimizer("SequentialLR", optimizer)
    local o = type(schedulers) == "table" and schedulers.schedulers and schedulers
    if o then schedulers, milestones = o.schedulers, o.milestones end
    if type(schedulers) ~= "table" or type(milestones) ~= "table" or #milestones ~= #schedulers - 1 then
        raise "SequentialLR: expected a list of schedules and one milestone less than there are schedules"
    end
    local self = { name = "SequentialLR", optimizer = optimizer, schedulers = schedulers, milestones = milestones,
        last_epoch = 0, base_lrs = schedulers[1].base_lrs }
    function self.rate(_, base, epoch, i, group)
        local n, start = 1, 0
        while milestones[n] and milestones[n] <= epoch do n, start = n + 1, milestones[n] end
        return schedulers[n]:rate(base, epoch - start, i, group)
    end
    setmetatable(self, Schedule)
    apply(self)
    return self
end

local Plateau = setmetatable({ name = "ReduceLROnPlateau" }, Schedule)
Plateau.__index = Plateau

-- factor times the lr when the value given to step(value) has not become better for `patience` steps.
lr.ReduceLROnPlateau = function(optimizer, ...)
    check_optimizer("ReduceLROnPlateau", optimizer)
    local self = read("ReduceLROnPlateau", { "mode", "factor", "patience", "threshold", "threshold_mode", "cooldown",
        "min_lr", "eps" }, { mode = "min", factor = 0.1, patience = 10, threshold = 1e-4, threshold_mode = "rel",
        cooldown = 0, min_lr = 0, eps = 1e-8 }, {}, ...)
    if self.mode ~= "min" and self.mode ~= "max" then
        raise("ReduceLROnPlateau: option 'mode': expected 'min' or 'max', got '%s'", self.mode)
    end
    if self.threshold_mode ~= "rel" and self.threshold_mode ~= "abs" then
        raise("ReduceLROnPlateau: option 'threshold_mode': expected 'rel' or 'abs', got '%s'", self.threshold_mode)
    end
    if not (self.factor < 1) then
        raise("ReduceLROnPlateau: option 'factor' is %s (expected a number below 1)", self.factor)
    end
    self.optimizer, self.last_epoch, self.num_bad_epochs, self.cooldown_counter = optimizer, 0, 0, 0
    self.base_lrs, self._last_lr = {}, {}
    for i, group in ipairs(optimizer.param_groups) do self.base_lrs[i], self._last_lr[i] = group.lr, group.lr end
    return setmetatable(self, Plateau)
end

local function better(self, value)
    local best, rel = self.best, self.threshold_mode == "rel"
    if not best then return value == value end
    if self.mode == "min" then
        return value < (rel and best * (1 - self.threshold) or best - self.threshold)
    end
    return value > (rel and best * (1 + self.threshold) or best + self.threshold)
end

-- value: a number, or a one-element tensor, which is waited for.
function Plateau:step(value)
    if gpush.is_tensor(value) then value = value:item() end
    if type(value) ~= "number" then
        raise("ReduceLROnPlateau: step: expected the value that is watched, got %s", type(value))
    end
    self.last_epoch = self.last_epoch + 1
    if better(self, value) then self.best, self.num_bad_epochs = value, 0
    else self.num_bad_epochs = self.num_bad_epochs + 1 end
    if self.cooldown_counter > 0 then
        self.cooldown_counter, self.num_bad_epochs = self.cooldown_counter - 1, 0
    end
    local reduce = self.num_bad_epochs > self.patience
    if reduce then self.cooldown_counter, self.num_bad_epochs = self.cooldown, 0 end
    for i, group in ipairs(self.optimizer.param_groups) do
        local new = math.max(group.lr * self.factor, self.min_lr)
        if reduce and group.lr - new > self.eps then group.lr = new end
        self._last_lr[i] = group.lr
    end
end

return lr
