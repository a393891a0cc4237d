--!plain
-- What the schedules of optim.lr have in common: the class Schedule, the checks of their options,
-- and define, which makes one. A schedule gives each group's lr as a function of its first lr and
-- the number of steps taken, so that a saved one resumes exactly.
local require = ...
local registry = require "registry"
local composite, declared, raise = require "composite", require "declared", require "raise"
local lr = {} -- the table optim.lr
local check_list = require "check_list"

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

-- The steps taken at first: none, or, to resume, one more than last_epoch; then the groups have
-- their first rates.
local function first_epoch(name, o)
    if o.last_epoch < -1 then
        raise("optim.lr.%s: option 'last_epoch' is %d (expected -1 or more)", name, o.last_epoch)
    end
    for i, group in ipairs(o.optimizer.param_groups) do
        if o.last_epoch >= 0 and not group.initial_lr then
            raise("optim.lr.%s: option 'last_epoch' is %d, and group %d has no initial_lr (load \z
                the optimizer's state first, or set it)", name, o.last_epoch, i)
        end
    end
    return o.last_epoch + 1
end

-- define(name, signature, help, {check =, begin =, rate = fn(self, base, epoch, group number,
-- group)})
local function define(name, sig, help, methods)
    local class = setmetatable(methods, Schedule)
    declare_rates(class)
    class.__index, class.name, class.__name = class, name, "optim.lr." .. name
    options(name, sig .. ", int last_epoch=-1", help, function(self)
        if class.check then class.check(self) end
        self.last_epoch, self.base_lrs = first_epoch(name, self), {}
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

registry["gpush.schedule"] = Schedule
declared(Schedule, "schedule.",
    { step = "self schedule", get_last_lr = "self schedule", state_dict = "self schedule",
    check_state_dict = "self schedule, value dict", load_state_dict = "self schedule, value dict" })

-- ---- checks of options ----

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

return { Schedule = Schedule, lr = lr, define = define, options = options, apply = apply,
    chain_anew = chain_anew,
    check_whole = check_whole, check_steps = check_steps, check_schedules = check_schedules,
    check_share = check_share, check_groups = check_groups, check_rates = check_rates,
    declare_rates = declare_rates }
