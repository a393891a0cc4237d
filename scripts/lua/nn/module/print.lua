--!plain
-- How models are printed: the tree with shapes and counts, and nn.summary.
local require = ...
local gpush, nn = require "gpush", require "nn"
local fit = require "fit"
local Module, shape_text = nn.Module, nn.shape_text

-- 1234567 as 1,234,567
local function count_text(n)
    local text = tostring(n)
    repeat
        local changed
        text, changed = text:gsub("^(%d+)(%d%d%d)", "%1,%2")
    until changed == 0
    return text
end

local function total(list)
    local n, bytes = 0, 0
    for _, t in ipairs(list) do
        n = n + t:numel()
        bytes = bytes + t:numel() * t:element_size()
    end
    return n, bytes
end

local function title(module)
    local extra = module:extra_repr()
    return extra == "" and nn.class_of(module) or ("%s(%s)"):format(nn.class_of(module), extra)
end

-- "weight 32x16, bias 32" of the module's own tensors.
local function own_shapes(module)
    local list = {}
    for key, value, kind in nn.entries(module) do
        if kind ~= "module" then list[#list + 1] = ("%s %s"):format(key, shape_text(value)) end
    end
    if #list > 5 then list = { list[1], list[2], list[3], ("… %d more"):format(#list - 3) } end
    return table.concat(list, ", ")
end

-- Adds the lines of a module and those below it; returns the set of their parameters, each of which
-- counts once in every line above it. around: the modules that it is part of; one that is among
-- them, as after m.self = m, is not entered again.
local function add_tree(rows, module, indent, key, around)
    if around[module] then
        local text = ("%s%s: the %s above"):format(indent, key, nn.class_of(module))
        rows[#rows + 1] = { text, "", "" }
        return {}
    end
    local row = { indent .. (key and tostring(key) .. ": " or "") .. title(module),
        own_shapes(module), "" }
    local learned, n = {}, 0
    rows[#rows + 1] = row
    for _, value, kind in nn.entries(module) do
        if kind == "parameter" then learned[value] = true end
    end
    around[module] = true
    for name, child in module:named_children() do
        for p in next, add_tree(rows, child, indent .. "  ", name, around) do learned[p] = true end
    end
    around[module] = nil
    for p in next, learned do n = n + p:numel() end
    if n > 0 then row[3] = count_text(n) end
    return learned
end

--- The tree: one line per module, with the shapes of its own tensors and the number of elements
--- that it learns, submodules included.
function Module:__tostring()
    local rows = {}
    add_tree(rows, self, "", nil, {})
    return fit.columns(rows, { [3] = true })
end

-- The shape of a result, or of the tensors in it.
local function result_text(...)
    local list = {}
    for _, v in ipairs { ... } do
        if gpush.is_tensor(v) then list[#list + 1] = shape_text(v)
        elseif type(v) == "table" and not nn.is_module(v) then list[#list + 1] = "{" ..
            result_text(table.unpack(v)) .. "}" end
    end
    return table.concat(list, ", ")
end

local function size_text(bytes)
    for _, unit in ipairs { "B", "KiB", "MiB" } do
        if bytes < 1024 then return ("%.4g %s"):format(bytes, unit) end
        bytes = bytes / 1024
    end
    return ("%.4g GiB"):format(bytes)
end

-- One row for each call of a module while model runs on the arguments, in the order in which they
-- begin.
local function trace_calls(model, ...)
    local rows, hooks, depth = {}, {}, 0
    for path, module in model:named_modules() do
        local open = {} -- rows of calls that have not returned
        hooks[#hooks + 1] = module:register_forward_pre_hook(function()
            local own = 0
            for _, p, kind in nn.entries(module) do
                own = own + (kind == "parameter" and p:numel() or 0)
            end
            local row = { ("  "):rep(depth) .. (path == "" and "" or path .. ": ") ..
                nn.class_of(module), "", own > 0 and count_text(own) or "" }
            rows[#rows + 1], open[#open + 1] = row, row
            depth = depth + 1
        end)
        hooks[#hooks + 1] = module:register_forward_hook(function(_, _, ...)
            table.remove(open)[2] = result_text(...)
            depth = depth - 1
        end)
    end
    local ok, problem = pcall(gpush.no_grad, model, ...)
    for _, remove in ipairs(hooks) do remove() end
    if not ok then error(problem, 0) end
    return rows
end

--- nn.summary(model, x, …): runs model(x, …) once, without gradients, and returns a text with a
--- line for each call of a layer: path and class, shape of the result, elements that it learns
--- itself; then the totals. The model's mode is kept.
function nn.summary(model, ...)
    if not nn.is_module(model) then
        nn.raise("nn.summary: argument 'model' (#1): expected a module, got %s", type(model))
    end
    local rows = trace_calls(model, ...)
    table.insert(rows, 1, { "layer", "output", "parameters" })
    local list, learning = model:parameters(), {}
    for _, p in ipairs(list) do
        if p.requires_grad then learning[#learning + 1] = p end
    end
    local n, bytes = total(list)
    return ("%s\n\ntotal: %s parameters (%s), %s of them learn"):format(
        fit.columns(rows, { [3] = true }), count_text(n),
        size_text(bytes), count_text((total(learning))))
end
