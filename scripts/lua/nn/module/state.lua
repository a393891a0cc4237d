--!plain
-- The state of a model by name, to save and to load. Methods of every module.
local require = ...
local gpush, nn = require "gpush", require "nn"
local Module = nn.Module

local function shape_text(t)
    return t:dim() == 0 and "scalar" or table.concat(t.shape, "x")
end
nn.shape_text = shape_text

--- name -> tensor of every parameter and saved buffer: the same memory, detached.
function Module:state_dict()
    local state = {}
    nn.tensors(self, function(path, value, kind)
        if kind ~= "passing" then state[path] = value:detach() end
    end, true)
    return state
end

-- The names that are missing, unexpected, or whose shapes differ: sorted lists.
local function differences(own, state)
    local missing, unexpected, shapes = {}, {}, {}
    for name, t in pairs(own) do
        local given = state[name]
        if given == nil then missing[#missing + 1] = name
        elseif not gpush.is_tensor(given) then
            shapes[#shapes + 1] = ("%s is a %s (expected a tensor)"):format(name, type(given))
        elseif shape_text(t) ~= shape_text(given) then
            shapes[#shapes + 1] = ("%s is %s (expected %s)"):format(
                name, shape_text(given), shape_text(t))
        end
    end
    for name in pairs(state) do
        if own[name] == nil then unexpected[#unexpected + 1] = tostring(name) end
    end
    for _, list in ipairs { missing, unexpected, shapes } do table.sort(list) end
    return missing, unexpected, shapes
end

--- Copies a state's tensors into the model's own, from any device and of any dtype. Missing or
--- unexpected names are an error unless strict is false, different shapes always are; the model is
--- then unchanged. Returns the lists of both kinds of names.
function Module:load_state_dict(state, strict)
    if type(state) ~= "table" then
        nn.raise("load_state_dict: expected a table of tensors by name, got %s", type(state))
    end
    local own = self:state_dict()
    local missing, unexpected, shapes = differences(own, state)
    local faults = {}
    local function fault(text, list)
        if #list > 0 then
            faults[#faults + 1] = "\n  " .. text .. ": " .. table.concat(list, ", ")
        end
    end
    if strict then
        fault("missing", missing)
        fault("unexpected", unexpected)
    end
    fault("of another shape", shapes)
    if #faults > 0 then
        nn.raise("load_state_dict: this is not a state of %s:%s", nn.class_of(self),
            table.concat(faults))
    end
    for name, t in pairs(own) do
        if state[name] ~= nil then t:copy_(state[name]) end
    end
    return missing, unexpected
end
