--!plain
-- The tree of modules: walking it, and operations on all of it. Methods of every module.
local require = ...
local gpush, nn, registry = require "gpush", require "nn", require "registry"
local Module, is_tensor = nn.Module, gpush.is_tensor

local function below(prefix, key)
    return prefix == "" and tostring(key) or prefix .. "." .. tostring(key)
end

-- Calls visit(path, module) for every module of the tree, each once, parents first.
local function walk(self, path, seen, visit)
    if seen[self] then return end
    seen[self] = true
    visit(path, self)
    for key, value, kind in nn.entries(self) do
        if kind == "module" then walk(value, below(path, key), seen, visit) end
    end
end

-- Calls visit(path, tensor, kind) for every parameter and buffer; a tensor with two names is
-- visited under the first, or, if twice, under both.
local function tensors(self, visit, twice)
    local seen = {}
    walk(self, "", {}, function(path, module)
        for key, value, kind in nn.entries(module) do
            if kind ~= "module" and (twice or not seen[value]) then
                seen[value] = true
                visit(below(path, key), value, kind)
            end
        end
    end)
end
nn.tensors = tensors

-- for name, value in …: over two lists.
local function pairs_of(names, values)
    local i = 0
    return function()
        i = i + 1
        return names[i], values[i]
    end
end

local function collect(self, wanted)
    local names, values = {}, {}
    tensors(self, function(path, value, kind)
        if wanted[kind] then names[#names + 1], values[#values + 1] = path, value end
    end)
    return names, values
end
local learned, kept = { parameter = true }, { buffer = true, passing = true }

--- The tensors that the model learns, as a list.
function Module:parameters() return select(2, collect(self, learned)) end
function Module:buffers() return select(2, collect(self, kept)) end

--- for name, tensor in model:named_parameters() do … end
function Module:named_parameters() return pairs_of(collect(self, learned)) end
function Module:named_buffers() return pairs_of(collect(self, kept)) end

--- for path, module in model:named_modules() do … end; the model itself comes first, with the path
--- "".
function Module:named_modules()
    local names, values = {}, {}
    walk(self, "", {},
        function(path, module) names[#names + 1], values[#values + 1] = path, module end)
    return pairs_of(names, values)
end
function Module:modules()
    local list = {}
    for _, module in self:named_modules() do list[#list + 1] = module end
    return list
end

--- for key, module in model:named_children() do … end: the direct submodules.
function Module:named_children()
    local keys, values = {}, {}
    for key, value, kind in nn.entries(self) do
        if kind == "module" then keys[#keys + 1], values[#values + 1] = key, value end
    end
    return pairs_of(keys, values)
end
function Module:children()
    local list = {}
    for _, module in self:named_children() do list[#list + 1] = module end
    return list
end

-- around: the modules that this one is part of.
local function apply(module, fn, around)
    if around[module] then return end
    around[module] = true
    for _, child in module:named_children() do apply(child, fn, around) end
    around[module] = nil
    fn(module)
end

--- fn(module) for every submodule, then for the module itself; returns it.
function Module:apply(fn)
    apply(self, fn, {})
    return self
end

--- Training mode, for the whole tree: dropout and batch norm depend on it.
function Module:train(on)
    on = on == nil or on
    for _, module in self:named_modules() do module.training = on end
    return self
end
function Module:eval() return self:train(false) end

function Module:requires_grad_(on)
    for _, p in ipairs(self:parameters()) do p:requires_grad_(on == nil or on) end
    return self
end

--- Clears all gradients.
function Module:zero_grad()
    for _, p in ipairs(self:parameters()) do p.grad = nil end
end

-- ---- copies ----

local function copied(value, seen)
    if seen[value] ~= nil then return seen[value] end
    if is_tensor(value) then
        local y = value:detach():clone():requires_grad_(value.is_leaf
            and value.requires_grad)
        if value.is_leaf and value.grad then y.grad = value.grad:clone() end
        seen[value] = y
        return y
    end
    local meta = type(value) == "table" and getmetatable(value)
    if type(value) ~= "table" or meta and not nn.is_module(value) then return value end
    local y = {}
    seen[value] = y
    for k, v in next, value do y[copied(k, seen)] = copied(v, seen) end
    return setmetatable(y, meta)
end

--- A copy of the model and of all that it holds: its tensors are new ones, shared where they were
--- shared; results of ops among its fields come without their history. copy.deepcopy of Python.
function Module:deepcopy() return copied(self, {}) end

-- ---- to ----

local dtypes = {}
for name in ("f64 f32 f16 bf16 i64 i32 i16 i8 u8 bool"):gmatch "%S+" do dtypes[name] = true end
local function is_float(t) return t.dtype:find "^b?f%d" ~= nil end

-- Reads the arguments of `to` as options: a device, a dtype, or a tensor to match, in any order.
local function where_to(a, b, non_blocking)
    local opt = { non_blocking = non_blocking }
    for _, v in pairs { a, b } do
        if gpush.is_tensor(v) then opt.device, opt.dtype = v.device, v.dtype
        elseif dtypes[v] then opt.dtype = v
        else opt.device = v end
    end
    return opt
end

local set_data = registry["gpush.set_data"]
local for_model = registry["gpush.for_model"]
local no_grad = gpush.no_grad

-- t moved and converted by opt, as a leaf, and its gradient; t itself if nothing changes.
local function moved(t, opt)
    local o = { device = opt.device, dtype = is_float(t) and opt.dtype or nil,
        non_blocking = opt.non_blocking }
    local y = for_model(no_grad, t.to, t, o)
    if y.dtype == t.dtype and y:shares_storage(t) then return t end
    return y:detach(), t.grad and for_model(no_grad, t.grad.to, t.grad, o)
end


--- model:to("gpu"), to("f16"), to(device, dtype), to(tensor), to{device =, dtype =, non_blocking
--- =}: moves every parameter and buffer, and converts those of floating types; returns the model.
--- As in PyTorch parameters stay the same objects, which optimizers made before hold, too, and
--- buffers are new ones.
function Module:to(device, dtype, non_blocking)
    local opt, new, grads = where_to(device, dtype, non_blocking), {}, {}
    local stays, changes = {}, {}
    for _, module in self:named_modules() do
        for key, value, kind in nn.entries(module) do
            if kind ~= "module" then
                if not new[value] then new[value], grads[value] = moved(value, opt) end
                if kind == "parameter" and value.is_leaf then stays[value] = true end
                changes[#changes + 1] = { module, key, value }
            end
        end
    end
    for _, c in ipairs(changes) do -- all or, if one raised, none
        local module, key, value = table.unpack(c)
        local y = new[value]
        if not stays[value] and not rawequal(y, value) then
            y:requires_grad_(value.requires_grad).grad = grads[value]
            rawset(module, key, y)
        end
    end
    for p in pairs(stays) do
        if not rawequal(new[p], p) then set_data(p, new[p], grads[p]) end
    end
    return self
end

for method,
    to in pairs { cpu = "cpu", gpu = "gpu", cuda = "cuda", double = "f64", float = "f32",
        half = "f16",
    bfloat16 = "bf16" } do
    Module[method] = function(self) return self:to(to) end
end
