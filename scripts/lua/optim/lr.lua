--!plain
-- optim.lr: learning rate schedules. A schedule gives each group's lr as a function of its first lr
-- and the number of steps taken, so that a saved one resumes exactly; optim.lr_scheduler is the
-- same table.
local gpush, optim, folder, composite, _, declared = ...
local lr, raise = {}, optim.raise
local check_list = debug.getregistry()["gpush.check_list"]

local Schedule = {}
Schedule.__index = Schedule

local function check_whole(name, o, ...)
    for _, k in ipairs { ... } do
        if not (math.tointeger(o[k]) and o[k] > 0) then
            raise("optim.lr.%s: option '%s' is %s (expected an integer above 0)", name, k,
                tostring(o[k]))
        end
    end
end

-- Milestones: a list of numbers of steps.
local function check_steps(name, milestones)
    for i, v in ipairs(milestones) do
        if not math.tointeger(v) then
            raise("optim.lr.%s: argument 'milestones': entry %d: expected an integer, got %s", name,
                i, tostring(v))
        end
    end
end

-- Schedules: a list of them, all of that optimizer; nil: of the first one's.
local function check_schedules(name, list, optimizer)
    for i, s in ipairs(list) do
        if type(s) ~= "table" or not s.rate then
            raise("optim.lr.%s: argument 'schedulers': entry %d: expected a schedule, got %s", name,
                i, type(s) == "table" and s.name or type(s))
        end
        optimizer = optimizer or s.optimizer
        if not rawequal(s.optimizer, optimizer) then
            raise("optim.lr.%s: argument 'schedulers': entry %d is of another optimizer", name, i)
        end
    end
end

-- Sets every group's lr to its value after self.last_epoch steps.
local function apply(self)
    self._last_lr = {}
    for i, group in ipairs(self.optimizer.param_groups) do
        group.lr = self:rate(self.base_lrs[i], self.last_epoch, i, group)
        self._last_lr[i] = group.lr
    end
end

local function check_optimizer(name, optimizer)
    if type(optimizer) ~= "table" or type(optimizer.param_groups) ~= "table" then
        raise("optim.lr.%s: argument 'optimizer' (#1): expected an optimizer, got %s", name,
            type(optimizer))
    end
end

-- The function that makes schedules from an optimizer and options, read by a signature; fn gets a
-- table of them.
local function options(name, sig, help, fn)
    local names = {}
    for n in sig:gmatch "%a+%?? ([%w_]+)" do names[#names + 1] = n end
    lr[name] = composite { name = "optim.lr." .. name, sig = "any optimizer, " .. sig, help = help,
        fn = function(optimizer, ...)
            check_optimizer(name, optimizer)
            local o = { optimizer = optimizer }
            for i, n in ipairs(names) do o[n] = (select(i, ...)) end
            return fn(o)
        end }
end

-- The rate after `epoch` steps of a group, its number and its table; chain: from the rate before.
local function declare_rates(class)
    local of_group = ", number epoch, int i, table group"
    for name, first in pairs { rate = "base", chain = "rate" } do
        if rawget(class, name) then
            declared(class, "schedule.", { [name] = "self schedule, number " .. first .. of_group })
        end
    end
end

-- define(name, signature, help, {check =, begin =, rate = fn(self, base, epoch, group number,
-- group)})
local function define(name, sig, help, methods)
    local class = setmetatable(methods, Schedule)
    declare_rates(class)
    class.__index, class.name, class.__name = class, name, "optim.lr." .. name
    options(name, sig, help, function(self)
        if class.check then class.check(self) end
        self.last_epoch, self.base_lrs = 0, {}
        for i, group in ipairs(self.optimizer.param_groups) do
            group.initial_lr = group.initial_lr or group.lr
            self.base_lrs[i] = group.initial_lr
        end
        setmetatable(self, class)
        if class.begin then class.begin(self) end
        apply(self)
        return self
    end)
end

-- One step: after each epoch, or after each step of the optimizer, as the schedule was meant.
function Schedule:step()
    self.last_epoch = self.last_epoch + 1
    apply(self)
end

-- For ChainedScheduler: the rate after a step to epoch, where other schedules change it too. As in
-- PyTorch it is multiplied as without them.
function Schedule:chain(rate, epoch, i, group)
    local before = epoch == 0 and 1 or self:rate(1, epoch - 1, i, group)
    return before == 0 and rate or rate * (self:rate(1, epoch, i, group) / before)
end

-- The same for schedules that set the rate regardless of its old value.
local function chain_anew(self, _, epoch, i, group)
    return self:rate(self.base_lrs[i], epoch, i, group)
end

declare_rates(Schedule)

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
        raise("optim.lr.%s: load_state_dict: the state is of %s", self.name,
            tostring(type(dict) == "table" and dict.name))
    end
    for k, v in pairs(self:state_dict()) do -- `best` is absent until there is one
        if type(dict[k]) ~= type(v) and k ~= "best" then
            raise("optim.lr.%s: load_state_dict: field '%s' is %s (expected a %s)", self.name, k,
                dict[k] == nil and "missing" or "a " .. type(dict[k]), type(v))
        end
    end
    for i, s in ipairs(self.schedulers or {}) do s:check_state_dict(dict.schedulers[i]) end
    if #dict.base_lrs ~= #self.base_lrs then
        raise("optim.lr.%s: load_state_dict: %d groups were saved, %d are here", self.name,
            #dict.base_lrs,
            #self.base_lrs)
    end
end

-- The optimizer's own state holds the rates as they were.
function Schedule:load_state_dict(dict)
    self:check_state_dict(dict)
    for k, v in pairs(dict) do
        if k ~= "schedulers" and k ~= "name" then self[k] = plain(v) end
    end
    for i, s in ipairs(self.schedulers or {}) do s:load_state_dict(dict.schedulers[i]) end
    self.best = dict.best -- what a plateau has not seen yet is absent
    if self.rate then apply(self) end
end

debug.getregistry()["gpush.schedule"] = Schedule
declared(Schedule, "schedule.",
    { step = "self schedule", get_last_lr = "self schedule", state_dict = "self schedule",
    check_state_dict = "self schedule, value dict", load_state_dict = "self schedule, value dict" })

-- ---- the schedules ----

define("StepLR", "int step_size, float gamma=0.1",
    "the rate times gamma every step_size steps", {
    check = function(o) check_whole("StepLR", o, "step_size") end,
    rate = function(self, base, epoch) return base * self.gamma ^ (epoch // self.step_size) end,
})

define("MultiStepLR", "list milestones, float gamma=0.1",
    "the rate times gamma at each of milestones, a list of steps", {
    check = function(o) check_steps("MultiStepLR", o.milestones) end,
    rate = function(self, base, epoch)
        local passed = 0
        for _, m in ipairs(self.milestones) do if m <= epoch then passed = passed + 1 end end
        return base * self.gamma ^ passed
    end,
})

define("ExponentialLR", "float gamma",
    "the rate times gamma at every step", {
    rate = function(self, base, epoch) return base * self.gamma ^ epoch end,
})

-- PyTorch's limits for factors of the rate.
local function check_share(name, o, option, above)
    local v = o[option]
    if v <= 1 and (v > 0 or v == 0 and not above) then return end
    raise("optim.lr.%s: option '%s': expected a number %s to 1, got %s", name, option,
        above and "above 0, up" or "from 0", v)
end

-- A list has an entry for each group.
local function check_groups(name, o, option)
    local v, n = o[option], #o.optimizer.param_groups
    if type(v) ~= "table" then return end
    check_list("optim.lr." .. name, option, v)
    if #v > n then
        raise("optim.lr.%s: argument '%s': expected an entry for each group, %d, got %d", name,
            option, n, #v)
    end
end

-- A rate, or a list of one for each group.
local function check_rates(name, o, ...)
    for _, option in ipairs { ... } do
        check_groups(name, o, option)
        for i in ipairs(o.optimizer.param_groups) do
            local v = o[option]
            if type(v) == "table" then v = v[i] end
            if type(v) ~= "number" then
                raise("optim.lr.%s: argument '%s': expected a number, or a list of one for each \z
                    group, got %s", name, option, type(v))
            end
        end
    end
end

define("ConstantLR", "float factor=0.3333333333333333, int total_iters=5",
    "factor times the rate for the first total_iters steps", {
    check = function(o) check_share("ConstantLR", o, "factor") end,
    rate = function(self, base, epoch)
        return epoch < self.total_iters and base * self.factor or base
    end,
})

define("LinearLR", "float start_factor=0.3333333333333333, float end_factor=1, int total_iters=5",
    "warm-up: from start_factor to end_factor times the rate in total_iters steps", {
    check = function(o)
        check_whole("LinearLR", o, "total_iters")
        check_share("LinearLR", o, "start_factor", true)
        check_share("LinearLR", o, "end_factor")
    end,
    rate = function(self, base, epoch)
        local at = math.min(epoch, self.total_iters) / self.total_iters
        return base * (self.start_factor + (self.end_factor - self.start_factor) * at)
    end,
})

define("CosineAnnealingLR", "int T_max, float eta_min=0",
    "down to eta_min in T_max steps along half a cosine, and up again in as many", {
    check = function(o) check_whole("CosineAnnealingLR", o, "T_max") end,
    rate = function(self, base, epoch)
        return self.eta_min +
            (base - self.eta_min) * (1 + math.cos(math.pi * epoch / self.T_max)) / 2
    end,
    chain = function(self, rate, epoch, i)
        local n, low = self.T_max, self.eta_min
        if epoch == 0 then return rate end
        if (epoch - 1 - n) % (2 * n) == 0 then
            return rate + (self.base_lrs[i] - low) * (1 - math.cos(math.pi / n)) / 2
        end
        return (1 + math.cos(math.pi * epoch / n)) / (1 + math.cos(math.pi * (epoch - 1) / n)) *
            (rate - low) + low
    end,
})

-- The result of lr_lambda for group i and a number of steps.
local function lambda(name, self, i, steps)
    local f = type(self.lr_lambda) == "table" and self.lr_lambda[i] or self.lr_lambda
    local v = f(steps)
    if type(v) == "number" then return v end
    raise("optim.lr.%s: argument 'lr_lambda' gave a %s for %d steps (expected a number)", name,
        type(v), steps)
end

local function check_lambda(name, o)
    local f = o.lr_lambda
    if type(f) == "function" then return end
    if type(f) ~= "table" then raise("optim.lr.%s: argument 'lr_lambda': expected a function, or \z
        a list of one for each group, got %s", name, type(f)) end
    check_groups(name, o, "lr_lambda")
    for i in ipairs(o.optimizer.param_groups) do
        if type(f[i]) ~= "function" then
            raise("optim.lr.%s: argument 'lr_lambda': entry %d: expected a function, got %s", name,
                i, type(f[i]))
        end
    end
end

define("LambdaLR", "any lr_lambda",
    "lr_lambda(number of steps) times the rate: a function, or a list of one for each group", {
    rate = function(self, base, epoch, i)
        return base * lambda("LambdaLR", self, i, epoch)
    end,
    check = function(o) check_lambda("LambdaLR", o) end,
    chain = chain_anew,
})

define("MultiplicativeLR", "any lr_lambda",
    "the rate times lr_lambda(number of steps) at every step: a function, or a list of one for \z
        each group", {
    check = function(o) check_lambda("MultiplicativeLR", o) end,
    rate = function(self, base, epoch, i)
        for n = 1, epoch do base = base * lambda("MultiplicativeLR", self, i, n) end
        return base
    end,
})

define("PolynomialLR", "int total_iters=5, float power=1",
    "down to 0 in total_iters steps as a power of the part that is left", {
    check = function(o) check_whole("PolynomialLR", o, "total_iters") end,
    rate = function(self, base, epoch)
        return base * (1 - math.min(epoch, self.total_iters) / self.total_iters) ^ self.power
    end,
})

local restarts = {
    chain = chain_anew,
    check = function(o) check_whole("CosineAnnealingWarmRestarts", o, "T_0", "T_mult") end,
    rate = function(self, base, epoch)
        local period = self.T_0
        if self.T_mult == 1 then epoch = epoch % period end
        while epoch >= period do epoch, period = epoch - period, period * self.T_mult end
        return self.eta_min + (base - self.eta_min) * (1 + math.cos(math.pi * epoch / period)) / 2
    end,
}
-- step(epoch), with fractions, too, moves there.
function restarts:step(epoch)
    self.last_epoch = epoch or self.last_epoch + 1
    apply(self)
end
declared(restarts, "schedule.", { step = "self schedule, number? epoch" })
define("CosineAnnealingWarmRestarts", "int T_0, int T_mult=1, float eta_min=0",
    "down to eta_min along half a cosine in T_0 steps, then again, each time in T_mult times as \z
        many", restarts)

assert(loadfile(folder .. "/lr_cycles.lua", "t"))(define, raise, check_whole, check_share,
    check_rates, chain_anew)

-- ---- sequences of schedules, and schedules by a measured value ----

options("SequentialLR", "list schedulers, list milestones",
    "schedulers {a, b, …}, the next one from each of milestones on, counting its own steps from \z
        there", function(o)
    local optimizer, schedulers, milestones = o.optimizer, o.schedulers, o.milestones
    check_schedules("SequentialLR", schedulers, optimizer)
    check_steps("SequentialLR", milestones)
    if #milestones ~= #schedulers - 1 then
        raise "optim.lr.SequentialLR: expected a list of schedules and one milestone less than \z
            there are schedules"
    end
    local self = { name = "SequentialLR", optimizer = optimizer, schedulers = schedulers,
        milestones = milestones,
        last_epoch = 0, base_lrs = schedulers[1].base_lrs }
    function self.rate(_, base, epoch, i, group)
        local n, start = 1, 0
        while milestones[n] and milestones[n] <= epoch do n, start = n + 1, milestones[n] end
        return schedulers[n]:rate(base, epoch - start, i, group)
    end
    declare_rates(self)
    setmetatable(self, Schedule)
    apply(self)
    return self
end)

lr.ChainedScheduler = composite { name = "optim.lr.ChainedScheduler", sig = "list schedulers",
    help = "schedulers {a, b, …} of one optimizer at once: each takes what the one before gave \z
        for the rate",
    fn = function(schedulers)
        local list = schedulers
        check_schedules("ChainedScheduler", list)
        if not list[1] then raise "optim.lr.ChainedScheduler: expected a list of schedules" end
        local walked = {} -- per group, how far the rate was followed from its first value on
        local self = { name = "ChainedScheduler", optimizer = list[1].optimizer,
            schedulers = schedulers, last_epoch = 0,
            base_lrs = list[1].base_lrs }
        function self.rate(_, base, epoch, i, group)
            local w = walked[i]
            if not w or w.base ~= base or w.epoch > epoch then
                w = { base = base, epoch = -1, rate = base }
            end
            walked[i] = w
            while w.epoch < epoch do
                w.epoch = w.epoch + 1
                for _, s in ipairs(schedulers) do w.rate = s:chain(w.rate, w.epoch, i, group) end
            end
            return w.rate
        end
        declare_rates(self)
        setmetatable(self, Schedule)
        apply(self)
        return self
    end }

local Plateau = setmetatable({ name = "ReduceLROnPlateau" }, Schedule)
Plateau.__index = Plateau

options("ReduceLROnPlateau",
    "str mode=\"min\", float factor=0.1, int patience=10, float threshold=1e-4, "
    .. "str threshold_mode=\"rel\", int cooldown=0, float min_lr=0, float eps=1e-8",
    "factor times the rate when the value given to step(value) has not become better for patience \z
        steps", function(self)
    if self.mode ~= "min" and self.mode ~= "max" then
        raise("optim.lr.ReduceLROnPlateau: option 'mode': expected 'min' or 'max', got '%s'",
            self.mode)
    end
    if self.threshold_mode ~= "rel" and self.threshold_mode ~= "abs" then
        raise("optim.lr.ReduceLROnPlateau: option 'threshold_mode': expected 'rel' or 'abs', got \z
            '%s'",
            self.threshold_mode)
    end
    if not (self.factor >= 0 and self.factor < 1) then
        raise("optim.lr.ReduceLROnPlateau: option 'factor' is %s (expected a number below 1)",
            self.factor)
    end
    self.last_epoch, self.num_bad_epochs, self.cooldown_counter = 0, 0, 0
    self.base_lrs, self._last_lr = {}, {}
    for i, group in ipairs(self.optimizer.param_groups) do
        self.base_lrs[i], self._last_lr[i] = group.lr, group.lr
    end
    return setmetatable(self, Plateau)
end)

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
        raise("optim.lr.ReduceLROnPlateau: step: expected the value that is watched, got %s",
            type(value))
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

declared(Plateau, "schedule.", { step = "self schedule, any value" })

return lr
