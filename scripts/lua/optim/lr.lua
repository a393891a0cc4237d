--!plain
-- optim.lr: learning rate schedules. A schedule gives each group's lr as a function of its first lr
-- and the number of steps taken, so that a saved one resumes exactly; optim.lr_scheduler is the
-- same table.
local require = ...
local composite, declared, raise = require "composite", require "declared", require "raise"
local schedule = require "optim.schedule"
local lr, define, options, apply = schedule.lr, schedule.define, schedule.options, schedule.apply
local Schedule, chain_anew = schedule.Schedule, schedule.chain_anew
local check_whole, check_steps = schedule.check_whole, schedule.check_steps
local check_schedules, check_share = schedule.check_schedules, schedule.check_share
local check_groups = schedule.check_groups

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

require "optim.lr_cycles"

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
    schedule.declare_rates(self)
    setmetatable(self, Schedule)
    apply(self)
    return self
end)

lr.ChainedScheduler = composite { name = "optim.lr.ChainedScheduler", sig = "list schedulers",
    help = "schedulers {a, b, …} of one optimizer at once: each changes the rate that the one \z
        before it gave",
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
        schedule.declare_rates(self)
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
