--!plain
-- Schedules of one or many cycles, in which the momentum falls as the rate rises: for lr.lua.
local require = ...
local raise, schedule = require "raise", require "optim.schedule"
local define, chain_anew = schedule.define, schedule.chain_anew
local check_whole, check_rates = schedule.check_whole, schedule.check_rates

-- What cycles change besides the rate: SGD's momentum, Adam's first beta.
local function check_momentum(self)
    local group = self.optimizer.param_groups[1]
    if self.cycle_momentum and not group.betas and not group.momentum then
        raise("optim.lr.%s: %s has no momentum to change (cycle_momentum = false leaves it)",
            self.name,
            self.optimizer.name)
    end
end

local function set_momentum(group, momentum)
    if group.betas then
        group.betas = { momentum, group.betas[2] }
    else
        group.momentum = momentum
    end
end

local scales = {
    triangular = function() return 1 end,
    triangular2 = function(cycle) return 0.5 ^ (cycle - 1) end,
    exp_range = function(_, epoch, gamma) return gamma ^ epoch end,
}

define("CyclicLR",
    "numbers base_lr, numbers max_lr, int step_size_up=2000, int? step_size_down, "
    .. "str mode=\"triangular\", float gamma=1, bool cycle_momentum=true, "
    .. "float base_momentum=0.8, float max_momentum=0.9",
    "up from base_lr to max_lr and down again, over and over, the momentum down and up; mode: \z
        'triangular', "
    .. "'triangular2' (half as high each time) or 'exp_range' (times gamma at each step)", {
    check = function(o)
        o.step_size_down = o.step_size_down or o.step_size_up
        check_whole("CyclicLR", o, "step_size_up", "step_size_down")
        check_rates("CyclicLR", o, "base_lr", "max_lr")
        if not scales[o.mode] then
            raise("optim.lr.CyclicLR: option 'mode': expected 'triangular', 'triangular2' or \z
                'exp_range', got '%s'", o.mode)
        end
    end,
    begin = check_momentum, chain = chain_anew,
    rate = function(self, _, epoch, i, group)
        local function of(v) return type(v) == "table" and v[i] or v end
        local length = self.step_size_up + self.step_size_down
        local cycle, at, top = 1 + epoch // length, epoch % length / length,
        self.step_size_up / length
        local height = (at <= top and at / top or (at - 1) / (top - 1)) *
            scales[self.mode](cycle, epoch, self.gamma)
        if self.cycle_momentum then
            set_momentum(group, self.max_momentum -
                (self.max_momentum - self.base_momentum) * height)
        end
        return of(self.base_lr) + (of(self.max_lr) - of(self.base_lr)) * height
    end,
})

local function cosine(from, to, at) return to + (from - to) / 2 * (1 + math.cos(math.pi * at)) end
local function linear(from, to, at) return (to - from) * at + from end

-- Phases as {end step, lr from, lr to, momentum from, momentum to}, the lrs as names of factors.
local function phases(o)
    local first, last = o.pct_start * o.total_steps - 1, o.total_steps - 1
    local low, high = o.base_momentum, o.max_momentum
    if o.three_phase then
        return { { first, "initial", "max", high, low },
            { 2 * o.pct_start * o.total_steps - 2, "max", "initial", low, high },
            { last, "initial", "min", high, high } }
    end
    return { { first, "initial", "max", high, low }, { last, "max", "min", low, high } }
end

local cycle = {
    check = function(o)
        check_rates("OneCycleLR", o, "max_lr")
        if not o.total_steps then
            if not (o.epochs and o.steps_per_epoch) then
                raise "optim.lr.OneCycleLR: option 'total_steps' (or epochs and steps_per_epoch) \z
                    is missing"
            end
            o.total_steps = o.epochs * o.steps_per_epoch
        end
        check_whole("OneCycleLR", o, "total_steps")
        if o.anneal_strategy ~= "cos" and o.anneal_strategy ~= "linear" then
            raise("optim.lr.OneCycleLR: option 'anneal_strategy': expected 'cos' or 'linear', got \z
                '%s'",
                o.anneal_strategy)
        end
        if not (o.pct_start >= 0 and o.pct_start <= 1) then
            raise("optim.lr.OneCycleLR: option 'pct_start' is %s (expected 0 to 1)", o.pct_start)
        end
    end,
    begin = check_momentum, chain = chain_anew,
}
function cycle:rate(_, epoch, i, group)
    if epoch > self.total_steps then
        raise("optim.lr.OneCycleLR: step %d of %d steps in all", epoch + 1, self.total_steps)
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
            if self.cycle_momentum then set_momentum(group, momentum) end
            return between(rates[p[2]], rates[p[3]], at)
        end
        start = p[1]
    end
end
define("OneCycleLR",
    "numbers max_lr, int? total_steps, int? epochs, int? steps_per_epoch, float pct_start=0.3, "
    ..
        "str anneal_strategy=\"cos\", bool cycle_momentum=true, float base_momentum=0.85, float \z
            max_momentum=0.95, "
    .. "float div_factor=25, float final_div_factor=10000, bool three_phase=false",
    "the rate up to max_lr and down to almost nothing, the momentum down and up: one cycle of \z
        total_steps", cycle)
