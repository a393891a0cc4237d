--!plain
-- nn: shared by all layers, the classes that nn.module makes; each layer has a file in this folder.
local require = ...
local gpush, nn, registry = require "gpush", require "nn", require "registry"
local composite, declared = require "composite", require "declared"

local Module = {} -- the methods of all modules; the files of module/ add theirs
nn.Module = Module

function nn.is_module(value)
    local meta = type(value) == "table" and getmetatable(value)
    return meta and rawget(meta, "__module") == true or false
end
local is_module, is_tensor = nn.is_module, gpush.is_tensor

--- The name of a module's class.
function nn.class_of(module) return getmetatable(module).__name end
local class_of = nn.class_of

--- A tensor of its own, of the same values, that requires gradients: what a layer learns.
function nn.parameter(t)
    return t:detach():requires_grad_()
end

-- ---- calls ----

-- Keeps the caller's frame, which a tail call would drop: the path in an error is read from frames.
local function pass(...) return ... end

local function hooked(self, hooks, ...)
    local args = table.pack(...)
    for _, hook in ipairs(hooks.before) do
        local new = hook(self, args)
        if new ~= nil then args = type(new) == "table" and new or { new, n = 1 } end
    end
    local out = table.pack(self:forward(table.unpack(args, 1, args.n or #args)))
    for _, hook in ipairs(hooks.after) do
        local new = hook(self, args, table.unpack(out, 1, out.n))
        if new ~= nil then out = { new, n = 1 } end
    end
    return table.unpack(out, 1, out.n)
end

-- The number of arguments that a forward takes, without self.
local function most_of(fn)
    local info = debug.getinfo(fn, "u")
    return info.isvararg and math.huge or info.nparams - 1
end

local function check_count(self, n, most)
    if n <= most then return end
    local place = registry["gpush.place"]() or class_of(self)
    nn.raise("%s: %d argument%s given, at most %d expected", place, n, n == 1 and "" or "s", most)
end

-- By the forward that check_forward made: the class's own, as a field, by which traces name it, and
-- the number of arguments that it takes.
local checked = setmetatable({}, { __mode = "k" })

-- On the path of each step: with one argument no function of C runs.
local watch, watched, entering = registry["gpush.module_watch"], nil, nil
local function call(self, ...)
    if watch.on then
        if entering ~= self then return pass(watched(self, ...)) end
        entering = nil
    end
    local class, _, second, third = checked[self.forward], ...
    if self._hooks then return pass(hooked(self, self._hooks, ...)) end
    if not class then
        check_count(self, select("#", ...), most_of(self.forward))
        return pass(self:forward(...))
    end
    if class.most ~= 1 or second ~= nil or third ~= nil then
        check_count(self, select("#", ...), class.most)
    end
    return pass(class.forward(self, ...))
end

local entered -- the function below that notes a call for nan.watch, and returns what ends it
function watched(self, ...)
    local _ <close> = entered(self)
    entering = self
    return pass(call(self, ...))
end

function Module:forward(...) -- luacheck: ignore
    nn.fail("the class has no method forward")
end

-- The text inside the brackets of a module's line in a printed tree.
function Module:extra_repr() return "" end

-- A registered hook: handle:remove() removes it, and so does handle(), as for x:register_hook.
local Handle = {}
Handle.__index = Handle
function Handle:remove()
    for i = #self.list, 1, -1 do
        if rawequal(self.list[i], self.fn) then return table.remove(self.list, i) end
    end
end
function Handle:__call() self:remove() end
registry["gpush.module_hook"] = Handle
declared(Handle, "module_hook.", { remove = "self module_hook" })

local function register(self, list, fn)
    if not rawget(self, "_hooks") then rawset(self, "_hooks", { before = {}, after = {} }) end
    list = self._hooks[list]
    list[#list + 1] = fn
    return setmetatable({ list = list, fn = fn }, Handle)
end

--- fn(module, args) runs before forward; what it returns, one argument or a table of them, replaces
--- the arguments. Both return a handle, whose remove() removes the hook.
function Module:register_forward_pre_hook(fn) return register(self, "before", fn) end

--- fn(module, args, result, …) runs after forward; a result that it returns replaces forward's.
function Module:register_forward_hook(fn) return register(self, "after", fn) end

-- ---- the place in the model, for errors ----

-- The path from a module to one inside it, or nil.
local function path_below(parent, module)
    for path, m in parent:named_modules() do
        if rawequal(m, module) then return path end
    end
end

-- "Net.hidden.3" for modules that call one another, the innermost first.
local function path_of(calls)
    local n = #calls
    local text = class_of(calls[n])
    for i = n - 1, 1, -1 do
        text = text .. "." .. (path_below(calls[i + 1], calls[i]) or class_of(calls[i]))
    end
    return text
end

-- The paths that profiles have asked for, by the outermost and the innermost module.
-- bindings/sampling/stack.c finds the calls by the frames of `call`.
local paths = setmetatable({}, { __mode = "k" })
registry["gpush.module_call"] = call
registry["gpush.module_paths"] = paths
registry["gpush.module_path"] = function(...)
    local calls = { ... }
    local outer, text = calls[#calls], path_of(calls)
    paths[outer] = paths[outer] or setmetatable({}, { __mode = "k" })
    paths[outer][calls[1]] = text
    return text
end

-- The calls that nan.watch sees, the innermost last.
local seen = {}
local function tell()
    local n = #seen
    if n == 0 then return watch.enter(nil) end
    local outer, inner, calls = seen[1], seen[n], {}
    local text = paths[outer] and paths[outer][inner]
    for i = 1, text and 0 or n do calls[i] = seen[n + 1 - i] end
    text = text or registry["gpush.module_path"](table.unpack(calls))
    watch.enter(text)
end
local leave = setmetatable({}, { __close = function()
    seen[#seen] = nil
    tell()
end })
function entered(self)
    seen[#seen + 1] = self
    tell()
    return leave
end

-- The modules that are being called, as "Net.hidden.3 (Linear)", nil if there are none. A call is
-- recognised by its frame.
local function place()
    local calls, again = {}, false -- the innermost first; a watched call is two frames of `call`
    for level = 2, math.huge do
        local info = debug.getinfo(level, "f")
        if not info then break end
        if rawequal(info.func, call) and not again then
            local _, module = debug.getlocal(level, 1)
            calls[#calls + 1] = module
        end
        again = rawequal(info.func, watched)
    end
    local n = #calls
    if n == 0 then return nil end
    local text = path_of(calls)
    return n == 1 and text or ("%s (%s)"):format(text, class_of(calls[1]))
end
registry["gpush.place"] = place -- gp_lua_raise puts it before an op's message

--- Raises a message at the script's line.
nn.raise = require "raise"

--- Raises a message that begins with the path of the module that is being called.
function nn.fail(text, ...)
    nn.raise("%s: %s", place() or "nn", text:format(...))
end

-- ---- classes ----

-- Raises for the number of a list that counts from 0 or from its end.
local function check_number(key)
    if type(key) ~= "number" or math.tointeger(key) and key > 0 then return end
    if key % 1 ~= 0 then nn.raise("module[%s]: expected an integer", key) end
    nn.raise("module[%d]: modules in a list count from 1; the last one is model[#model]", key)
end

-- What no class has: nil, but for indices of another language, and tensors.
setmetatable(Module, { __index = function(_, key)
    if is_tensor(key) then
        nn.raise "module[t]: a tensor is no index of a list of modules; t:item() is its number"
    end
    check_number(key)
end })

-- The forward of a class as others call it, model:forward(x): an error names the mistake where it
-- is called with a dot, or with more arguments than it takes.
local function check_forward(fn)
    if type(fn) ~= "function" then return fn end
    local class = { forward = fn, most = most_of(fn) }
    local function forward(self, ...)
        if type(self) ~= "table" then
            nn.raise(registry["gpush.dotted"](2, 2)
                or ("forward: expected a module in front, got %s: call it with a colon, \z
                    model:forward(x)"):format(is_tensor(self) and "tensor" or type(self)))
        end
        check_count(self, select("#", ...), class.most)
        return pass(class.forward(self, ...))
    end
    checked[forward] = class
    return forward
end

-- Called when a field of a class is first set.
local function assign_class(class, key, value)
    rawset(class, key, key == "forward" and check_forward(value) or value)
end

local function kind_of(value)
    if is_module(value) then return "module" end
    if is_tensor(value) and value.is_leaf and value.requires_grad then return "parameter" end
end

-- Called when a field is first set: modules and parameters are recorded, in this order (Lua assigns
-- `self.a, self.b = …` from the right).
local function assign(self, key, value)
    check_number(key)
    rawset(self, key, key == "forward" and check_forward(value) or value)
    local kind = kind_of(value)
    if kind and not self._kinds[key] then
        self._keys[#self._keys + 1] = key
        self._kinds[key] = kind
    end
end

-- Finds fields that held another value before a module or a parameter: assign was not called for
-- these.
local function find_late(self)
    local late = {}
    for key, value in next, self do
        if not self._kinds[key] and kind_of(value) then late[#late + 1] = key end
    end
    table.sort(late, function(a, b) return tostring(a) < tostring(b) end)
    for _, key in ipairs(late) do
        self._keys[#self._keys + 1] = key
        self._kinds[key] = kind_of(self[key])
    end
end

-- A field that held a parameter, a buffer or a module, and holds something else. Lua does not tell
-- of the assignment itself, as the field was there: it is found when the module is next walked.
local function refuse_field(self, key, value)
    local kind = self._kinds[key]
    local what = kind == "module" and "a module" or "a tensor"
    nn.raise("%s: '%s' held a %s, and was assigned %s (expected %s, or nil to remove it)",
        class_of(self), key, kind == "passing" and "buffer" or kind,
        is_tensor(value) and "a tensor" or type(value) == "table" and "a table"
            or ("%s (a %s)"):format(tostring(value), type(value)), what)
end

--- The module's own parameters, buffers and submodules, as they were assigned: for key, value, kind
--- in nn.entries(m);
--- kind: "parameter", "buffer", "passing" (a buffer that is not saved) or "module".
function nn.entries(self)
    find_late(self)
    local i, keys, kinds = 0, self._keys, self._kinds
    return function()
        repeat
            i = i + 1
            local key = keys[i]
            if key == nil then return nil end
            local value = rawget(self, key)
            if is_module(value) then return key, value, "module" end
            if is_tensor(value) and kinds[key] ~= "module" then return key, value, kinds[key] end
            if value then refuse_field(self, key, value) end
        until false
    end
end

--- A tensor that belongs to the state but is not learnt; saved unless persistent is false. nil
--- reserves the name.
function Module:register_buffer(key, value, persistent)
    if value ~= nil and not is_tensor(value) then
        nn.raise("register_buffer: '%s': expected a tensor, got %s", key, type(value))
    end
    if not self._kinds[key] then self._keys[#self._keys + 1] = key end
    self._kinds[key] = persistent == false and "passing" or "buffer"
    rawset(self, key, value)
end

--- The same as assigning nn.parameter(value).
function Module:register_parameter(key, value)
    self[key] = value and nn.parameter(value)
end

-- Takes a field, of whatever kind, out of the module.
function nn.forget(self, key)
    for i = #self._keys, 1, -1 do
        if self._keys[i] == key then table.remove(self._keys, i) end
    end
    self._kinds[key] = nil
    rawset(self, key, nil)
end

local function new(class, ...)
    local self = setmetatable({ training = true, _hooks = false, _keys = {}, _kinds = {} }, class)
    class.init(self, ...)
    return self
end
function Module:init() end

--- nn.module "Name" makes a class: give it the methods init(…) and forward(…), and Name(…) makes a
--- module. With a signature, nn.module{"Name", sig = "int size, bool bias=true", help = …}, init
--- gets its arguments checked and filled in (see define in ops/init.lua). base: the class
--- whose methods it inherits.
function nn.module(def, base)
    def = type(def) == "table" and def or { def }
    if type(def[1]) ~= "string" then
        nn.raise("nn.module: expected a name, got %s", type(def[1]))
    end
    if base ~= nil
        and not (type(base) == "table" and (base == Module or rawget(base, "__module"))) then
        nn.raise("nn.module: argument 'base': expected a class, got %s", type(base))
    end
    local class, make = { __name = def[1], __module = true, __call = call, __newindex = assign },
        new
    class.__index = class
    class.__tostring = Module.__tostring
    if def.sig then
        local checked = composite {
            name = "nn." .. def[1], sig = def.sig, help = def.help or "",
            fn = function(...) return new(class, ...) end, plain = true }
        class.__help = checked -- for help(nn.Linear)
        make = function(_, ...) return checked(...) end
    end
    return setmetatable(class, { __index = base or Module, __newindex = assign_class,
        __call = make, __tostring = function() return "class " .. def[1] end })
end

require "nn.module.tree"
require "nn.module.state"
require "nn.module.print"
require "nn.start"
require "nn.module.declare"

-- ---- files of several layers ----

local homes = getmetatable(nn).homes
for file, names in pairs {
    Conv = "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    BatchNorm = "BatchNorm1d BatchNorm2d BatchNorm3d InstanceNorm1d InstanceNorm2d InstanceNorm3d",
    Pool = "MaxPool1d MaxPool2d AvgPool1d AvgPool2d AdaptiveAvgPool1d AdaptiveAvgPool2d \z
        AdaptiveMaxPool1d AdaptiveMaxPool2d MaxPool3d AvgPool3d AdaptiveAvgPool3d \z
        AdaptiveMaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d",
    Recurrent = "RNN LSTM GRU",
    Dropout = "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout",
    Cell = "RNNCell LSTMCell GRUCell",
    Transformer = "Transformer TransformerEncoderLayer TransformerEncoder \z
        TransformerDecoderLayer TransformerDecoder",
    Shape = "Identity Flatten Unflatten Upsample UpsamplingNearest2d UpsamplingBilinear2d \z
        PixelShuffle PixelUnshuffle ChannelShuffle LocalResponseNorm Fold Unfold CosineSimilarity \z
        PairwiseDistance",
    ModuleList = "ModuleList ModuleDict ParameterList ParameterDict", Linear = "Linear Bilinear",
    Embedding = "Embedding EmbeddingBag",
    Activation = "ReLU ReLU6 LeakyReLU ELU CELU SELU GELU SiLU Mish Tanh Sigmoid LogSigmoid \z
        Softplus Softsign Softmin "
        ..
            "Softmax LogSoftmax Tanhshrink Softshrink Hardshrink GLU Hardtanh Hardsigmoid \z
                Hardswish Threshold PReLU Softmax2d",
    Loss = "CrossEntropyLoss NLLLoss MSELoss L1Loss SmoothL1Loss HuberLoss BCELoss \z
        BCEWithLogitsLoss KLDivLoss "
        ..
            "PoissonNLLLoss GaussianNLLLoss SoftMarginLoss HingeEmbeddingLoss MarginRankingLoss \z
                CosineEmbeddingLoss TripletMarginLoss MultiMarginLoss MultiLabelMarginLoss \z
                MultiLabelSoftMarginLoss CTCLoss",
} do
    for name in names:gmatch "%S+" do homes[name] = file end
end
for _, kind in ipairs { "Zero", "Constant", "Reflection", "Replication", "Circular" } do
    for dims = 1, 3 do homes[("%sPad%dd"):format(kind, dims)] = "Shape" end
end
homes.utils = "utils"
homes.parallel = "parallel"
