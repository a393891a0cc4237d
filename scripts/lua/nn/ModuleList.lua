--!plain
-- ModuleList, ModuleDict, ParameterList and ParameterDict: modules or parameters that count, by
-- number or by name, without a forward of their own.
local require = ...
local gpush, nn, declared = require "gpush", require "nn", require "declared"
local expect = require "nn.module.expect"
local ModuleList = nn.module { "ModuleList", sig = "list? modules",
    help = "a list of modules, whose parameters are part of the model's; it has no forward itself" }

--- nn.ModuleList{a, b, …}
function ModuleList:init(list)
    if nn.is_module(list) then
        nn.raise "nn.ModuleList: expected a list of modules, got a module"
    end
    for _, module in ipairs(list or {}) do self:append(module) end
end

function ModuleList:append(module)
    expect(module, "nn.ModuleList: entry " .. #self + 1)
    self[#self + 1] = module
    return self
end
declared(ModuleList, "nn.ModuleList.", { append = "self module, any module" })
nn.ModuleList = ModuleList

-- ---- by name ----

local Dict = nn.module "Dict" -- what ModuleDict and ParameterDict share: entries are fields

-- The names in t, as they come in a list of pairs {name, value}, else sorted.
local function entries_of(self, t)
    local list = {}
    if nn.is_module(t) then
        nn.raise("nn.%s: expected a table of names, got a module", nn.class_of(self))
    end
    for i, entry in ipairs(t) do
        if type(entry) ~= "table" or #entry ~= 2 or nn.is_module(entry) then
            nn.raise("nn.%s: entry %d: expected {name, value}", nn.class_of(self), i)
        end
        list[i] = entry
    end
    local names = {}
    for name in next, t do
        if type(name) == "string" then names[#names + 1] = name end
    end
    table.sort(names)
    for _, name in ipairs(names) do list[#list + 1] = { name, t[name] } end
    return list
end

--- Adds the entries of a table of names, in their order, or of a list of {name, value}.
function Dict:update(t)
    for _, entry in ipairs(entries_of(self, t)) do
        local name, value = entry[1], entry[2]
        if type(name) ~= "string" or name == "" or name:find("[.]") then
            nn.raise("nn.%s: a name is %s (expected a text without dots)", nn.class_of(self),
                type(name) == "string" and "'" .. name .. "'" or type(name))
        end
        if self._kinds[name] == nil and self[name] ~= nil then
            nn.raise("nn.%s: '%s' is a name that every module has", nn.class_of(self), name)
        end
        self[name] = self:accept(name, value)
    end
    return self
end

--- The names, in order, as a list; the values; and name, value, … for a loop.
function Dict:keys()
    local list = {}
    for name in nn.entries(self) do list[#list + 1] = name end
    return list
end
function Dict:values()
    local list = {}
    for _, value in nn.entries(self) do list[#list + 1] = value end
    return list
end
function Dict:items() return nn.entries(self) end

--- Takes an entry out, and returns it.
function Dict:pop(name)
    local value = self._kinds[name] and rawget(self, name)
    if value == nil then nn.raise("nn.%s: pop: there is no '%s'", nn.class_of(self), name) end
    nn.forget(self, name)
    return value
end

-- A class with accept(self, name, value), which checks a value and may replace it.
local function dict(name, help, accept)
    local class = nn.module({ name, sig = "table? entries", help = help }, Dict)
    class.accept, class.__len = accept, function(self) return #self:keys() end
    function class:__pairs() return nn.entries(self) end
    function class:init(entries) self:update(entries or {}) end
    nn[name] = class
end

dict("ModuleDict", "modules by name whose parameters count; from a table they are sorted, from a \z
    list of {name, module} not", function(_, name, module)
    expect(module, ("nn.ModuleDict: '%s'"):format(name))
    return module
end)

-- A parameter stays the same tensor; another becomes one.
local function parameter(class, name, value)
    if not gpush.is_tensor(value) then
        nn.raise("nn.%s: '%s': expected a tensor, got %s", class, name, type(value))
    end
    return value.is_leaf and value.requires_grad and value or nn.parameter(value)
end

dict("ParameterDict", "parameters by name; from a table they are sorted, from a list of {name, \z
    tensor} not", function(_, name, value) return parameter("ParameterDict", name, value) end)

local ParameterList = nn.module { "ParameterList", sig = "list? values",
    help = "a list of parameters; it has no forward itself" }
function ParameterList:init(list)
    for _, value in ipairs(list or {}) do self:append(value) end
end
function ParameterList:append(value)
    self[#self + 1] = parameter("ParameterList", #self + 1, value)
    return self
end
nn.ParameterList = ParameterList

local own = "self module"
declared(Dict, "nn.Dict.", { update = own .. ", value entries", keys = own, values = own,
    items = own, pop = own .. ", text name" })
declared(ParameterList, "nn.ParameterList.", { append = own .. ", tensor value" })
