--!plain
-- Composites: ops made of other ops.
--
-- define { "name", sig = "tensor x, int k=1, bool keepdim=false", help = "one line", fn =
-- function(x, k, keepdim) … end } in a file of this folder makes one. Arguments are read by the
-- signature as for the rows of tensor/ops/table (see tensor/sig.h): by position, or by name
-- in a last table, checked, defaults filled in. fn gets them all, in order: lists of integers as
-- tables, absent ones as nil, dtypes and devices as strings. A name like "linalg.norm" goes into
-- that table. A function whose first argument is a tensor is a method, too. For help `waits` says
-- for what the host waits, if it does, `raises` which elements are an error, `indices` which of the
-- results is the first of indices, and `dtypes` which operands may have: names, "all", "numbers",
-- "floats" or "integers". `autocast` says what autocast makes of the arguments: "low", "wide" or
-- "promote", as the column of that name does for rows; fn's own ops then run as outside. `strict`
-- and `promotes` check and convert tensors before fn: see strict.lua.
--
-- At start only the names are known, from an index that the build makes (cmake/composites.cmake):
-- a file is run when one of its composites is first called or asked about.
local require = ...
local gpush, registry, composite = require "gpush", require "registry", require "composite"
local composites, methods = registry["gpush.composites"], registry["gpush.tensor.methods"]

local definitions = {} -- of the files that were run, by name
local rows = {}        -- those of the op table that composites replace, by name

local function define(def)
    def.name = def[1]
    if not composites[def.name] then
        error(def.name .. " is not in the build's index: build again, with 'define { \"" .. def.name
            .. "\", sig =' at the start of a line")
    end
    if def.strict then def.fn = require "ops.strict"(def) end
    if def.autocast then def.fn = require "ops.cast_args"(def.autocast, def.fn) end
    definitions[def.name] = def
end

local index = require "composite_index"
for i = 1, #index, 3 do
    local name, file, first = index[i], index[i + 1], index[i + 2]
    local fn = composite(name, function()
        require("ops." .. file)
        return assert(definitions[name], file .. ".lua does not define " .. name)
    end)
    local dot = name:find(".", 1, true)
    composites[name] = fn
    if dot then
        local group = name:sub(1, dot - 1)
        gpush[group] = gpush[group] or {}
        gpush[group][name:sub(dot + 1)] = fn
    else
        rows[name], gpush[name] = gpush[name], fn
        if first == "tensor" or first == "operand" then methods[name] = fn end
    end
end

return { define = define, rows = rows }
