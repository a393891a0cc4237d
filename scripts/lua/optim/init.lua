--!plain
-- optim: shared by all optimizers; each optimizer has a file in this folder.
local require = ...
local gpush, optim, registry = require "gpush", require "optim", require "registry"
local composite, declared = require "composite", require "declared"
local is_tensor = gpush.is_tensor

local Optimizer = {}
Optimizer.__index = Optimizer

local raise = require "raise"
optim.raise = raise
local failing = require "optim.failing"


local homes = getmetatable(optim).homes
homes.Adam, homes.AdamW, homes.lr = "Adam", "Adam", "lr"
for _, name in ipairs { "Adamax", "NAdam", "RAdam", "Adadelta", "Rprop", "ASGD" } do
    homes[name] = "composed"
end

-- ---- parameters and groups ----

local check_fields = require "check_fields"
-- For captured steps: whether one is recorded; and that an option is read again for each replay.
local capturing = registry["gpush.capture.running"]
local note_number = registry["gpush.capture.number"]

local parameters = require "parameters"

local function check_parameter(p, name, fail)
    if not p.dtype:find "f" then fail("%s has dtype %s (expected a float)", name, p.dtype) end
    if not p.is_leaf then
        fail("%s is the result of %s (expected a leaf; :detach() cuts it off)", name, p.grad_fn)
    end
end

-- What a class gave to optim.define, apart from it: users do not call these functions.
local rules_of = setmetatable({}, { __mode = "k" })
local function rules(self) return rules_of[getmetatable(self)] end

local function add_group(self, group)
    local number = #self.param_groups + 1
    local fail = failing(self.name)
    local new = { params = parameters(group.params, fail, "optim." .. self.name) }
    if #new.params == 0 then fail("group %d has no parameters", number) end
    local seen = setmetatable({}, { __index = self.place })
    for i, p in ipairs(new.params) do
        local name = ("parameter %d of group %d"):format(i, number)
        check_parameter(p, name, fail)
        if seen[p] then fail(name .. " is there already, as " .. seen[p]) end
        seen[p] = name
    end
    for name, value in pairs(self.defaults) do new[name] = value end
    check_fields("optim." .. self.name, "any params, " .. self.sig, group)
    local given = {}
    for name, value in pairs(group) do given[name] = value end
    given.params = nil
    local read = rules(self).read(given)
    for name in pairs(given) do new[name] = read[name] end
    local check = rules(self).check
    if check then check(new, fail, number) end
    for p, name in pairs(seen) do self.place[p] = name end
    self.param_groups[number] = new
end

function Optimizer:add_param_group(group) add_group(self, group) end

-- optim.define{ name =, help =, sig = "float lr=0.001, …", fill = fn(options), check = fn(group,
-- fail, number of the group), slots = fn(group) -> names of the state tensors, key = fn(group,
-- state) -> the key that parameters of one launch share, launch = fn(group, lists, key), fused =
-- bool }: returns a constructor of such optimizers, with parameters and options. fill sets defaults
-- that a signature cannot express; lists has params, grads and a list for each slot; key is by
-- default the number of the step. Of parameters of 16 bits, lists.params has copies in f32, the
-- state is f32, too, and step rounds. fused: launch hands lists.rounded, steps, grad_scale and
-- found_inf on to a row such as sgd_step, which rounds, counts steps on the device and skips one
-- there. step = fn(optimizer, closure) stands in place of launch and returns the loss.
function optim.define(class)
    class.__index, class.__name, class.__tostring = class, "optim." ..
        class.name, Optimizer.__tostring
    setmetatable(class, Optimizer)
    local own = {}
    for _, name in ipairs { "fill", "check", "slots", "fresh", "key", "launch", "fused",
        "step" } do
        own[name], class[name] = rawget(class, name), nil
    end
    rules_of[class] = own
    local names = {}
    for name in class.sig:gmatch "%a+%?? ([%w_]+)" do names[#names + 1] = name end
    local function options(...)
        local o = {}
        for i, name in ipairs(names) do o[name] = (select(i, ...)) end
        return o
    end
    own.read = composite { name = class.__name, sig = class.sig, help = "", plain = true,
        fn = options }
    local function new(params, ...)
        local self = setmetatable({ param_groups = {}, state = {}, place = {},
            defaults = options(...) }, class)
        if own.fill then own.fill(self.defaults) end
        params = parameters(params, failing(class.name), class.__name, true)
        local first = params[1]
        if type(first) ~= "table" or not first.params then params = { { params = params } } end
        for _, group in ipairs(params) do add_group(self, group) end
        return self
    end
    return composite { name = class.__name, sig = "any params, " .. class.sig, help = class.help,
        fn = new }
end

-- A pair of numbers in [0, 1), for check functions.
function optim.check_betas(betas, fail)
    local list = type(betas) == "table" and betas or {}
    if #list > 2 then fail("option 'betas': expected 2 numbers, got %d", #list) end
    for i = 1, 2 do
        local b = list[i]
        if not math.type(b) or b < 0 or b >= 1 then
            fail("option 'betas': entry %d is %s (expected a number from 0 to below 1)", i,
                tostring(b))
        end
    end
end
function optim.check_positive(group, fail, ...)
    for _, name in ipairs { ... } do
        if not (group[name] >= 0) then
            fail("option '%s' is %s (expected 0 or more)", name, group[name])
        end
    end
end

-- ---- one step ----

local HALF = { f16 = true, bf16 = true }

-- The parameters of 16 bits and what their storage had been written to after a step.
local written = setmetatable({}, { __mode = "k" })

-- What is stepped: p, or of 16 bits its copy in f32, which steps too small for p add up in. Where p
-- was written since the last step, the copy follows.
local function stepped(state, p)
    if not HALF[p.dtype] then return p end
    local master = state.master_param
    if not master then
        master = p:detach():to "f32"
        state.master_param = master
    elseif written[p] ~= p._version or capturing() then
        master:copy_(gpush.where(master:to(p.dtype):eq(p), master, p:to "f32"))
    end
    return master
end

-- The key of a launch's parameters: whether they are of 16 bits, their own key, and the number of
-- their step, or the tensor that counts it.
local function launch_of(launches, own, group, state, p, counted)
    local half, step = HALF[p.dtype] or false, state.step or 0
    local key = not own.key and (is_tensor(step) and 1 or step + 1)
        or own.key and own.key(group, state) or false
    local at = launches
    for _, k in ipairs { p.device, half, key, (counted or is_tensor(step)) and step or false } do
        at[k] = at[k] or {}
        at = at[k]
    end
    at.key = key
    return at
end

-- Whether this rank steps p: of ZeroRedundancyOptimizer.lua, whose state is divided among ranks.
local function owns(self, p) return not self.sharding or self.sharding:owns(p) end

-- The groups that are launched together: parameters of one device with the same key. scaling, of a
-- gradient scaler's step: fn(device) -> the scale and found_inf there.
local function gather(self, group, scaling)
    local own, launches, order = rules(self), {}, {}
    local slots = own.slots(group)
    for _, p in ipairs(group.params) do
        local g = p.grad
        if g and owns(self, p) then
            local state = self.state[p] or {}
            local target = stepped(state, p)
            local l = launch_of(launches, own, group, state, p, scaling or capturing())
            if not l.params then
                l.params, l.own, l.grads, l.states = {}, {}, {}, {}
                l.rounded = not rawequal(target, p) and l.own or nil
                for _, slot in ipairs(slots) do l[slot] = {} end
                order[#order + 1] = l
            end
            local n = #l.params + 1
            l.params[n], l.own[n], l.grads[n], l.states[n] = target, p, g, state
            for _, slot in ipairs(slots) do
                l[slot][n] = state[slot] or own.fresh and own.fresh(group, slot, target)
                    or gpush.zeros_like(target)
            end
        end
    end
    return order, slots
end

-- Gives a launch what the device decides by: the scale, found_inf, and the number of steps, which
-- the host does not know where steps are skipped there, or a captured step is replayed.
local function on_device(l, scaling)
    local step, device = l.states[1].step or 0, l.params[1].device
    if scaling then l.grad_scale, l.found_inf = scaling(device) end
    if is_tensor(step) then l.steps = step
    elseif scaling or capturing() then
        l.steps = gpush.full({}, step, { dtype = "i64", device = device })
    end
end

-- Of a captured step, each replay uses the options as they are then. unread: nothing is launched.
local function note_options(group, unread)
    for name, value in pairs(group) do
        if math.type(value) then note_number(not unread and name, group, name) end
    end
    for i, name in ipairs { "beta1", "beta2" } do
        if group.betas then note_number(not unread and name, group, "betas", i) end
    end
end

local function update(self, group, scaling)
    local own = rules(self)
    if not own.fused and capturing() then
        raise("optim.%s: step: a captured function cannot take it: a replay would repeat this \z
            step's numbers (SGD, Adam, AdamW, RMSprop and Adagrad can be captured)", self.name)
    end
    local order, slots = gather(self, group, scaling)
    if #order == 0 then note_options(group, true) end
    for _, l in ipairs(order) do
        if own.fused then on_device(l, scaling) end
        own.launch(group, l, l.key)
        if capturing() then note_options(group) end
        for i, p in ipairs(l.own) do
            local state = l.states[i]
            if l.rounded and not own.fused then p:copy_(l.params[i]) end
            if l.rounded then written[p] = p._version end
            state.step = l.steps or (state.step or 0) + 1
            for _, slot in ipairs(slots) do state[slot] = l[slot][i] end
            self.state[p] = state
        end
    end
end

local function update_all(self, scaling)
    local _ <close> = gpush.no_grad()
    for _, group in ipairs(self.param_groups) do update(self, group, scaling) end
    if self.sharding then self.sharding:share() end
end

-- Tells whoever counts steps (command/sync.lua) that one is done, and returns the rest.
local function done(...)
    local tell = registry["gpush.stepped"]
    if tell then tell() end
    return ...
end

-- For gradient scalers (amp/init.lua): a step that is skipped on the device. False, and nothing is
-- done, where the optimizer's launch does not know how.
registry["gpush.scaled_step"] = function(self, scaling)
    if not rules(self).fused then return false end
    update_all(self, scaling)
    return done(true)
end

-- One step of all parameters that have a gradient: one launch for each group (and device, and
-- number of steps taken); parameters of 16 bits take it in f32 and are rounded. closure, if given,
-- computes the loss and its gradients first; its value is returned.
function Optimizer:step(closure)
    local loss, own = nil, rules(self)
    if own.step then return done(own.step(self, closure)) end
    if closure then loss = gpush.enable_grad(closure) end
    update_all(self)
    return done(loss)
end

-- Clears the gradients; with set_to_none = false they become zeros.
function Optimizer:zero_grad(set_to_none)
    for _, group in ipairs(self.param_groups) do
        for _, p in ipairs(group.params) do
            if set_to_none ~= false then p.grad = nil
            elseif p.grad then p.grad:detach():fill_(0) end
        end
    end
end

-- ---- saving and loading ----

local function plain(value)
    if type(value) ~= "table" then return value end
    local copy = {}
    for k, v in pairs(value) do copy[k] = plain(v) end
    return copy
end

-- {state = {a table for each parameter}, param_groups = {{lr =, …, params = {numbers of
-- parameters}}, …}}. Tensors are the optimizer's own, not copies.
function Optimizer:state_dict()
    local dict, n = { state = {}, param_groups = {} }, 0
    for i, group in ipairs(self.param_groups) do
        local numbers = {}
        for _, p in ipairs(group.params) do
            n = n + 1
            numbers[#numbers + 1], dict.state[n] = n, {}
            for k, v in pairs(self.state[p] or {}) do dict.state[n][k] = v end
        end
        dict.param_groups[i] = { params = numbers }
        for k, v in pairs(group) do if k ~= "params" then dict.param_groups[i][k] = plain(v) end end
    end
    return dict
end

local function check_state(self, group, p, state, number, fail)
    local slots = rules(self).slots(group)
    for _, slot in ipairs(slots) do
        local s = state[slot]
        if next(state) ~= nil and not is_tensor(s) then
            fail("parameter %d has no '%s'; it was saved by another optimizer, or with other \z
                options", number, slot)
        end
    end
    slots[#slots + 1] = "master_param"
    for _, slot in ipairs(slots) do
        local s = state[slot]
        local have, want = s and table.concat(s.shape, "x"), table.concat(p.shape, "x")
        if s and have ~= want then
            fail("'%s' of parameter %d has shape %s, the parameter %s", slot, number, have, want)
        end
    end
end

-- The saved state of a parameter for p: tensors as copies in the dtype in which p is stepped, the
-- number of steps as one (which waits where it is on a device).
local function loaded(saved, p)
    local own, half = {}, HALF[p.dtype]
    for k, v in pairs(saved) do
        if k == "step" then v = is_tensor(v) and v:item() or v
        elseif is_tensor(v) then
            v = v:detach():to(p.device):to(half and "f32" or p.dtype):clone()
        end
        own[k] = v
    end
    if not half then own.master_param = nil end
    return own
end

-- Raises if dict is not the state of such an optimizer.
function Optimizer:check_state_dict(dict)
    local fail = failing(self.name .. ": load_state_dict")
    if type(dict) ~= "table" or type(dict.state) ~= "table"
        or type(dict.param_groups) ~= "table" then
        fail "expected a table of state_dict(), with state and param_groups"
    end
    if #dict.param_groups ~= #self.param_groups then
        fail("%d groups were saved, %d are here", #dict.param_groups, #self.param_groups)
    end
    local n = 0
    for i, group in ipairs(self.param_groups) do
        local saved = dict.param_groups[i]
        if #saved.params ~= #group.params then
            fail("group %d had %d parameters, here it has %d", i, #saved.params, #group.params)
        end
        for name in pairs(self.defaults) do
            if saved[name] == nil then
                fail("group %d has no option '%s'; another optimizer was saved", i, name)
            end
        end
        for _, p in ipairs(group.params) do
            n = n + 1
            check_state(self, saved, p, dict.state[n] or {}, n, fail)
        end
    end
end

-- Takes over options and state; nothing changes where they do not fit. Tensors are copied to the
-- device of their parameter, in its dtype, or f32 for 16 bits.
function Optimizer:load_state_dict(dict)
    self:check_state_dict(dict)
    local _ <close> = gpush.no_grad()
    local state, n = {}, 0
    for _, group in ipairs(self.param_groups) do
        for _, p in ipairs(group.params) do
            n = n + 1
            local own = loaded(dict.state[n] or {}, p)
            if next(own) ~= nil and owns(self, p) then state[p] = own end
        end
    end
    self.state = state
    for i, group in ipairs(self.param_groups) do
        for k, v in pairs(dict.param_groups[i]) do if k ~= "params" then group[k] = plain(v) end end
    end
end

function Optimizer:__tostring()
    local lines = {}
    for i, group in ipairs(self.param_groups) do
        local options = {}
        for k, v in pairs(group) do
            if k ~= "params" then
                v = type(v) == "table" and "{" .. table.concat(v, ", ") .. "}" or tostring(v)
                options[#options + 1] = ("%s = %s"):format(k, v)
            end
        end
        table.sort(options)
        lines[i] = ("  %d parameter%s, %s"):format(
            #group.params, #group.params == 1 and "" or "s", table.concat(options, ", "))
    end
    return ("%s(\n%s\n)"):format(self.name, table.concat(lines, "\n"))
end

require "optim.clip"
registry["gpush.optimizer"] = Optimizer
local own = "self optimizer"
declared(Optimizer, "optimizer.",
    { add_param_group = own .. ", table group", step = own .. ", function? closure",
    zero_grad = own .. ", bool set_to_none=true", state_dict = own, check_state_dict = own ..
        ", value dict",
    load_state_dict = own .. ", value dict" })
declared(optim, "optim.", { define = "table class", check_betas = "any betas, function fail",
    check_positive = "table group, function fail, rest names" })

optim.lr_scheduler = optim.lr -- PyTorch's name
