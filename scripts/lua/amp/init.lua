--!plain
-- amp: training in 16 bits. autocast, and GradScaler, which keeps small gradients of f16 above 0:
-- the loss is multiplied by a scale, and a step whose gradients overflow is skipped, which the
-- device decides. Source: torch.amp.GradScaler.
local require = ...
local gpush, amp, registry = require "gpush", require "amp", require "registry"
local composite, declared = require "composite", require "declared"
local raise = require "raise"
local is_tensor = gpush.is_tensor

amp.autocast = gpush.autocast

local GradScaler = {}
GradScaler.__index = GradScaler
GradScaler.__name = "amp.GradScaler"

local function fail(name, text, ...)
    raise("amp.GradScaler:%s: %s", name, select("#", ...) > 0 and text:format(...) or text)
end

-- The scale and the number of steps since it grew, on the device: made by the first scale().
local function on(self, device)
    local there = self.copies[device]
    if there then return there end
    there = {}
    if not self.device then
        self.device = device
        there.scale = gpush.full({}, self.init_scale, { dtype = "f32", device = device })
        there.tracker = gpush.full({}, self.init_growth_tracker,
            { dtype = "f32", device = device })
    else
        there.scale = self.copies[self.device].scale:to(device)
    end
    self.copies[device] = there
    return there
end

-- ---- one step ----

local function scaled(self, x)
    if not is_tensor(x) then
        fail("scale", "expected a tensor or a list of them, got %s", type(x))
    end
    -- a scale above f16's largest number would be infinite in it
    if x.dtype == "f16" then x = x:to "f32" end
    return x * on(self, x.device).scale
end

--- loss times the scale, or each of a list: what backward is called on.
function GradScaler:scale(loss)
    if not self.enabled then return loss end
    if type(loss) ~= "table" then return scaled(self, loss) end
    local list = {}
    for i, x in ipairs(loss) do list[i] = scaled(self, x) end
    return list
end

-- The gradients of an optimizer's parameters, a list for each device, in order.
local function gradients(optimizer)
    local by_device, order = {}, {}
    for _, group in ipairs(optimizer.param_groups) do
        for _, p in ipairs(group.params) do
            local g = p.grad
            if g then
                local there = by_device[p.device]
                if not there then
                    there = { device = p.device, list = {} }
                    by_device[p.device], order[#order + 1] = there, there
                end
                table.insert(there.list, g)
            end
        end
    end
    return order
end

-- Looks at an optimizer's gradients, and divides them by the scale unless `check`. Returns its
-- record: found_inf of each device.
local function look(self, name, optimizer, check)
    if not self.device then fail(name, "call it after scale(loss) and backward") end
    local _ <close> = gpush.no_grad()
    local found = {}
    local all = gradients(optimizer)
    if #all == 0 then
        fail(name, "none of the optimizer's parameters has a gradient: call it after backward")
    end
    for i, there in ipairs(all) do
        local flag = gpush.zeros({}, { device = there.device })
        gpush.amp_unscale(there.list, on(self, there.device).scale, flag, check)
        found[i] = flag
    end
    return { found = found, unscaled = not check }
end

--- Divides the optimizer's gradients by the scale, in place: to clip or look at them before step.
function GradScaler:unscale_(optimizer)
    if not self.enabled then return end
    local record = self.optimizers[optimizer]
    if record and record.stepped then fail("unscale_", "step was already called") end
    if record then fail("unscale_", "was already called on this optimizer since update") end
    self.optimizers[optimizer] = look(self, "unscale_", optimizer, false)
end

-- 1 on the device where an element on any of them was infinite or NaN.
local function found_on(record, device)
    local sum
    for _, flag in ipairs(record.found) do
        flag = flag:to(device)
        sum = sum and sum + flag or flag
    end
    return sum
end

--- optimizer:step(…), which writes nothing where a gradient is infinite or NaN. Neither waits for
--- the device; an optimizer of your own that does not know how to skip a step there does.
function GradScaler:step(optimizer, ...)
    if not self.enabled then return optimizer:step(...) end
    if select("#", ...) > 0 then
        fail("step", "a closure would run before its gradients are checked; call it before")
    end
    local record = self.optimizers[optimizer]
    if record and record.stepped then
        fail("step", "was already called on this optimizer since update")
    end
    record = record or look(self, "step", optimizer, true)
    self.optimizers[optimizer] = record
    local known = registry["gpush.scaled_step"](optimizer, function(device)
        return not record.unscaled and on(self, device).scale or nil, found_on(record, device)
    end)
    if not known then
        if not record.unscaled then
            self.optimizers[optimizer] = nil
            self:unscale_(optimizer)
            record = self.optimizers[optimizer]
        end
        if found_on(record, self.device):item() == 0 then optimizer:step() end
    end
    record.stepped = true
end

--- After the steps: the scale shrinks where one found something infinite, and grows after
--- growth_interval steps that did not, on the device; or it becomes new_scale.
function GradScaler:update(new_scale)
    if not self.enabled then return end
    if not self.device then fail("update", "call it after scale(loss) and step(optimizer)") end
    local _ <close> = gpush.no_grad()
    local own = self.copies[self.device]
    if new_scale ~= nil then
        if is_tensor(new_scale) then own.scale:copy_(new_scale)
        elseif math.type(new_scale) and new_scale > 0 and new_scale < math.huge then
            own.scale:fill_(new_scale)
        else
            fail("update", "expected a number above 0 or a tensor, got %s",
                math.type(new_scale) and new_scale or type(new_scale))
        end
    else
        local sum
        for _, record in pairs(self.optimizers) do
            local found = found_on(record, self.device)
            sum = sum and sum + found or found
        end
        if not sum then fail("update", "no optimizer was stepped since the last update") end
        gpush.amp_update_scale({ own.scale, own.tracker }, sum, self.growth_factor,
            self.backoff_factor, self.growth_interval)
    end
    -- other devices copy it again; the tables stay, which captured steps read
    for device in pairs(self.copies) do
        if device ~= self.device then self.copies[device] = nil end
    end
    for optimizer in pairs(self.optimizers) do self.optimizers[optimizer] = nil end
end

-- ---- what it is ----

--- The scale as a number. Waits for the device.
function GradScaler:get_scale()
    if not self.enabled then return 1.0 end
    return self.device and self.copies[self.device].scale:item() or self.init_scale
end

function GradScaler:is_enabled() return self.enabled end

local OPTIONS <const> = { "growth_factor", "backoff_factor", "growth_interval" }

--- What load_state_dict takes, and checkpoint.save saves. Waits for the device.
function GradScaler:state_dict()
    if not self.enabled then return {} end
    local dict = { scale = self:get_scale(), growth_tracker = self.init_growth_tracker }
    if self.device then
        dict.growth_tracker = math.tointeger(self.copies[self.device].tracker:item())
    end
    for _, name in ipairs(OPTIONS) do dict[name] = self[name] end
    return dict
end

--- Raises if dict is not the state of a scaler.
function GradScaler:check_state_dict(dict)
    if not self.enabled then return end
    if type(dict) ~= "table" then
        fail("load_state_dict", "expected a table of state_dict(), got %s", type(dict))
    end
    for _, name in ipairs { "scale", "growth_tracker", table.unpack(OPTIONS) } do
        if not math.type(dict[name]) then
            fail("load_state_dict", "'%s' is %s (expected a number); the state of a scaler that \z
                was enabled is needed", name, type(dict[name]))
        end
    end
end

function GradScaler:load_state_dict(dict)
    self:check_state_dict(dict)
    if not self.enabled then return end
    for _, name in ipairs(OPTIONS) do self[name] = dict[name] end
    self.init_scale, self.init_growth_tracker = dict.scale, dict.growth_tracker
    self.copies, self.device, self.optimizers = {}, nil, {}
end

function GradScaler:__tostring()
    return ("amp.GradScaler(growth_factor = %s, backoff_factor = %s, growth_interval = %d, \z
        enabled = %s)"):format(self.growth_factor, self.backoff_factor, self.growth_interval,
        self.enabled)
end

local MOST_STEPS <const> = 1 << 24 -- counted in f32

local function check(name, value, least, most)
    if value > least and value < most then return end
    raise("amp.GradScaler: argument '%s' is %s (expected a number above %s and below %s)", name,
        value, least, most == math.huge and "infinity" or most)
end

amp.GradScaler = composite {
    name = "amp.GradScaler",
    sig = "float init_scale=65536, float growth_factor=2, float backoff_factor=0.5, int \z
        growth_interval=2000, bool enabled=true",
    help = "multiplies losses so that gradients of f16 do not become 0, and skips steps whose \z
        gradients overflow, on the device",
    plain = true,
    fn = function(init_scale, growth_factor, backoff_factor, growth_interval, enabled)
        check("init_scale", init_scale, 0, math.huge)
        check("growth_factor", growth_factor, 1, math.huge)
        check("backoff_factor", backoff_factor, 0, 1)
        check("growth_interval", growth_interval, 0, MOST_STEPS)
        return setmetatable({ init_scale = init_scale, init_growth_tracker = 0,
            growth_factor = growth_factor, backoff_factor = backoff_factor,
            growth_interval = growth_interval, enabled = enabled, copies = {}, optimizers = {} },
            GradScaler)
    end,
}

registry["gpush.gradscaler"] = GradScaler
local own = "self gradscaler"
declared(GradScaler, "amp.GradScaler:", { scale = own .. ", value loss",
    unscale_ = own .. ", table optimizer", step = own .. ", table optimizer, rest args",
    update = own .. ", any? new_scale", get_scale = own, is_enabled = own, state_dict = own,
    check_state_dict = own .. ", value dict", load_state_dict = own .. ", value dict" })
