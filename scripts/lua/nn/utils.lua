--!plain
-- nn.utils: clipping by PyTorch's name, parameters as one vector, sequences padded to one length
-- or packed (packed.lua), and weights that are computed from others: weight_norm and spectral_norm.
local require = ...
local gpush, nn, composite = require "gpush", require "nn", require "composite"

local utils = { clip_grad_norm_ = gpush.optim.clip_grad_norm_,
    clip_grad_value_ = gpush.optim.clip_grad_value_, rnn = {} }
nn.utils = utils

local function define(into, prefix, name, sig, help, fn)
    into[name] = composite { name = prefix .. name, sig = sig, help = help, fn = fn }
end

-- ---- parameters as one vector ----

local parameters = require "parameters"

local function list_of(name, params)
    local what = "nn.utils." .. name
    local function fail(text, ...) nn.raise("%s: " .. text, what, ...) end
    local list = parameters(params, fail, what)
    if #list == 0 then fail "params: expected a list of tensors or a model, got an empty list" end
    return list
end

define(utils, "nn.utils.", "parameters_to_vector", "any params",
    "the elements of all parameters, of a list or a model, one after the other", function(params)
    local parts = {}
    for i, p in ipairs(list_of("parameters_to_vector", params)) do parts[i] = p:reshape(-1) end
    return gpush.cat(parts, 1)
end)

define(utils, "nn.utils.", "vector_to_parameters", "tensor vec, any params",
    "writes the elements of a vector into parameters, of a list or a model, without recording",
    function(vec, params)
        local list, n = list_of("vector_to_parameters", params), 0
        for _, p in ipairs(list) do n = n + p:numel() end
        if vec:dim() ~= 1 or vec:numel() ~= n then
            nn.raise("nn.utils.vector_to_parameters: vec is %s (expected %d)", nn.shape_text(vec),
                n)
        end
        local _ <close>, at = gpush.no_grad(), 1
        for _, p in ipairs(list) do
            p:copy_(vec:narrow(1, at, p:numel()):view(p.shape))
            at = at + p:numel()
        end
    end)

-- ---- sequences ----

define(utils.rnn, "nn.utils.rnn.", "pad_sequence",
    "tensors sequences, bool batch_first=false, number padding_value=0, str \z
        padding_side=\"right\"",
    "sequences of different lengths as one tensor, time x sequences, with padding_value at the end",
    function(list, batch_first, value, side)
        if side ~= "right" and side ~= "left" then
            nn.raise("nn.utils.rnn.pad_sequence: padding_side: expected 'right' or 'left', got \z
                '%s'", side)
        end
        local most, rows = 0, {}
        for _, x in ipairs(list) do most = math.max(most, x:size(1)) end
        for i, x in ipairs(list) do
            local pads = {}
            for d = 1, 2 * x:dim() do pads[d] = 0 end
            pads[#pads - (side == "left" and 1 or 0)] = most - x:size(1)
            rows[i] = x:pad(pads, { value = value })
        end
        return gpush.stack(rows, batch_first and 1 or 2)
    end)

for name, fn in pairs(require "nn.packed".functions) do utils.rnn[name] = fn end

-- ---- computed weights ----

-- The hooks by module and name, so that they can be taken away.
local handles = setmetatable({}, { __mode = "k" })

local function parameter_of(op, module, name)
    if not nn.is_module(module) then
        nn.raise("nn.utils.%s: module: expected a module, got %s", op, type(module))
    end
    for key, value, kind in nn.entries(module) do
        if key == name and kind == "parameter" then return value end
    end
    nn.raise("nn.utils.%s: %s has no parameter '%s'", op, nn.class_of(module), name)
end

-- Takes the parameter `name` out; compute(module) gives it before each forward from now on.
local function replace(module, name, compute)
    nn.forget(module, name)
    rawset(module, name, compute(module))
    handles[module] = handles[module] or {}
    handles[module][name] = module:register_forward_pre_hook(function(self)
        rawset(self, name, compute(self))
    end)
    return module
end

-- Makes `name` a parameter again, with the value that it has now, and takes its parts out.
local function restore(op, module, name, parts)
    if not nn.is_module(module) then
        nn.raise("nn.utils.%s: module: expected a module, got %s", op, type(module))
    end
    if not rawget(module, name .. parts[1]) then
        nn.raise("nn.utils.%s: '%s' of %s is not computed", op, name, nn.class_of(module))
    end
    local handle = handles[module] and handles[module][name]
    if not handle then
        nn.raise("nn.utils.%s: this is a copy of the module: take it off before copying", op)
    end
    handle:remove()
    handles[module][name] = nil
    local value = rawget(module, name):detach():clone()
    for _, part in ipairs(parts) do nn.forget(module, name .. part) end
    nn.forget(module, name)
    module[name] = nn.parameter(value)
    return module
end

-- The norm of each slice of v along dim, with dims of size 1.
local function norms(v, dim)
    local others = {}
    for d = 1, v:dim() do if d ~= dim then others[#others + 1] = d end end
    if #others == 0 then return v:abs() end
    return gpush.linalg.vector_norm(v, 2, others, true)
end

define(utils, "nn.utils.", "weight_norm", "any module, str name=\"weight\", int dim=1",
    "makes a module's weight the direction of name_v times the length name_g, one for each slice \z
        along dim (Salimans and Kingma 2016); returns the module",
    function(module, name, dim)
        local v = parameter_of("weight_norm", module, name)
        if dim < 1 or dim > v:dim() then
            nn.raise("nn.utils.weight_norm: dim: expected 1 to %d, got %d", v:dim(), dim)
        end
        module[name .. "_g"] = nn.parameter(norms(v:detach(), dim))
        module[name .. "_v"] = nn.parameter(v:clone())
        return replace(module, name, function(self)
            local own = rawget(self, name .. "_v")
            return own * (rawget(self, name .. "_g") / norms(own, dim))
        end)
    end)

define(utils, "nn.utils.", "remove_weight_norm", "any module, str name=\"weight\"",
    "makes the weight a parameter again, with its present value; returns the module",
    function(module, name) return restore("remove_weight_norm", module, name, { "_g", "_v" }) end)

-- weight as a matrix with the outputs for rows.
local function as_rows(weight, dim)
    return (dim == 1 and weight or weight:transpose(1, dim)):flatten(2, -1)
end

local function unit(x, eps) return x / x:norm():clamp(eps) end

define(utils, "nn.utils.", "spectral_norm",
    "any module, str name=\"weight\", int n_power_iterations=1, float eps=1e-12, int? dim",
    "divides a module's weight by its largest singular value, which steps of power iteration \z
        follow while training (Miyato et al. 2018); returns the module",
    function(module, name, n, eps, dim)
        local weight = parameter_of("spectral_norm", module, name)
        dim = dim or nn.class_of(module):find "^ConvTranspose" and 2 or 1
        if weight:dim() < 2 or dim < 1 or dim > weight:dim() then
            nn.raise("nn.utils.spectral_norm: '%s' is %s, dim %d (expected a matrix or more, and \z
                a dim of it)", name, nn.shape_text(weight), dim)
        end
        if n < 1 or n > 10000 then
            nn.raise("nn.utils.spectral_norm: n_power_iterations: expected 1 to 10000, got %d", n)
        end
        local rows = as_rows(weight:detach(), dim)
        local function random(size)
            return unit(gpush.randn(size, { dtype = weight.dtype, device = weight.device }), eps)
        end
        module[name .. "_orig"] = nn.parameter(weight:clone())
        module:register_buffer(name .. "_u", random(rows:size(1)))
        module:register_buffer(name .. "_v", random(rows:size(2)))
        return replace(module, name, function(self)
            local own = rawget(self, name .. "_orig")
            local matrix = as_rows(own, dim)
            local u, v = rawget(self, name .. "_u"), rawget(self, name .. "_v")
            if self.training then
                gpush.no_grad(function()
                    for _ = 1, n do
                        v:copy_(unit(matrix:t():mv(u), eps))
                        u:copy_(unit(matrix:mv(v), eps))
                    end
                end)
                u, v = u:clone(), v:clone() -- the next forward writes them
            end
            return own / u:dot(matrix:mv(v))
        end)
    end)

define(utils, "nn.utils.", "remove_spectral_norm", "any module, str name=\"weight\"",
    "makes the weight a parameter again, with its present value; returns the module",
    function(module, name)
        return restore("remove_spectral_norm", module, name, { "_orig", "_u", "_v" })
    end)
