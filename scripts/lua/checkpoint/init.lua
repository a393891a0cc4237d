--!plain
-- checkpoint: saves and loads a training run in one safetensors file, with the model, its
-- optimizer, the random generator and any other state: tensors by name, everything else as JSON in
-- the file's metadata. sharded.lua has those of many ranks.
local require = ...
local gpush, checkpoint = require "gpush", require "checkpoint"
local declared, raise = require "declared", require "raise"
local is_tensor, json, safetensors = gpush.is_tensor, gpush.json, gpush.safetensors
local FORMAT = "gpush checkpoint"
local LEVELS <const> = 190 -- tables in one another; json.encode takes 200

local function has_state(value)
    return type(value) == "table" and type(value.state_dict) == "function"
end

-- ---- saving ----

local function below(path, key) return path == "" and key or path .. "." .. key end

-- A table's keys, sorted: every rank of a job gives tensors the same names.
local function sorted_keys(value)
    local keys = {}
    for k in pairs(value) do keys[#keys + 1] = k end
    table.sort(keys, function(a, b)
        if type(a) == type(b) and type(a) ~= "boolean" then return a < b end
        return type(a) < type(b)
    end)
    return keys
end

-- Converts value to what JSON can hold: tensors go to out.tensors and are replaced by their name,
-- numbers that JSON lacks become strings. out.first has the names of tensors that may differ
-- between ranks: buffers, and those outside of objects with a state. out.parts: of a state that is
-- divided among ranks this one's part is enough. level: of tables around value, 0 without.
local function encode(value, path, out, in_state, level)
    local buffers = {}
    level = (level or 0) + 1
    if level > LEVELS then
        raise("checkpoint.save: '%s ...' is nested deeper than %d levels: does a table contain \z
            itself?", path:sub(1, 40), LEVELS)
    end
    if has_state(value) then
        if gpush.nn.is_module(value) then
            gpush.nn.tensors(value, function(name, _, kind)
                buffers[name] = kind ~= "parameter" or nil
            end, true)
        end
        local part = out.parts and value.local_state_dict
        value, in_state = part and part(value) or value:state_dict(), true
    end
    if is_tensor(value) then
        local name, n = path, 2
        while out.tensors[name] do name, n = path .. "#" .. n, n + 1 end
        out.tensors[name] = value:detach()
        out.first[name] = not in_state or nil
        return { ["$tensor"] = name }
    elseif type(value) == "number"
        and (value ~= value or value == math.huge or value == -math.huge) then
        return { ["$number"] = value ~= value and "nan" or value > 0 and "inf" or "-inf" }
    elseif type(value) == "table" then
        local result, array = {}, #value > 0
        for _, k in ipairs(sorted_keys(value)) do
            local wrong = type(k) ~= "string" or k:sub(1, 1) == "$"
            if array then wrong = math.type(k) ~= "integer" or k > #value end
            if wrong then
                raise("checkpoint.save: '%s' has the key %s (expected names without $, or 1 to n)",
                    path, tostring(k))
            end
            result[k] = encode(value[k], below(path, k), out, in_state and not buffers[k], level)
        end
        return result
    elseif type(value) == "number" or type(value) == "string" or type(value) == "boolean" then
        return value
    end
    raise("checkpoint.save: '%s' is a %s (expected what has state_dict(), tensors, tables, \z
        numbers, texts and booleans)",
        path, type(value))
end

local function shards() return require "checkpoint.sharded" end

-- checkpoint.save(file, {model = m, optimizer = o, step = n, …}, {rng = true}): objects are saved
-- by their state_dict(), tensors, numbers, strings, booleans and tables as they are; and the state
-- of the random generator, which all devices share. file is replaced once everything is written.
-- sharded: all ranks of a job call it, and each writes a part of the tensors.
function checkpoint.save(file, objects, rng, sharded)
    if sharded then return shards().save(file, objects, rng) end
    local out = { tensors = {}, first = {} }
    local data = encode(objects, "", out)
    local metadata = { format = FORMAT, version = "1", data = json.encode(data) }
    if rng then metadata.rng = json.encode(gpush.get_rng_state()) end
    local ok, message = pcall(safetensors.save, file, out.tensors, { metadata = metadata })
    if not ok then raise("%s", (message:gsub("^.-safetensors%.save: ", "checkpoint.save: "))) end
end

-- ---- loading ----

local function decode(value, tensors)
    if type(value) ~= "table" then return value end
    local name = value["$tensor"]
    if name then return tensors[name] or error("the tensor '" .. name .. "' is missing", 0) end
    if value["$number"] then
        return ({ nan = 0 / 0, inf = math.huge, ["-inf"] = -math.huge })[value["$number"]]
    end
    local out = {}
    for k, v in pairs(value) do out[k] = decode(v, tensors) end
    return out
end

local function read(file)
    local ok, tensors, texts = pcall(safetensors.load, file)
    if not ok then raise("%s", (tensors:gsub("^.-safetensors%.load: ", "checkpoint.load: "))) end
    local sharded = texts.version == "2"
    if texts.format ~= FORMAT or not (texts.version == "1" or sharded) then
        raise("checkpoint.load: %s is no checkpoint of this version (safetensors.load reads its \z
            tensors)", file)
    end
    if sharded then tensors = shards().load(file, texts) end
    local parsed, data = pcall(function() return decode(json.decode(texts.data), tensors) end)
    if not parsed then raise("checkpoint.load: %s: %s", file, data) end
    local rng = texts.rng and json.decode(texts.rng)
    return data, rng and sharded and shards().rng_state(rng) or rng
end

local function flat(state)
    for _, v in pairs(state) do if not is_tensor(v) then return false end end
    return true
end

local function some(list)
    table.sort(list)
    local text = table.concat(list, ", ", 1, math.min(#list, 12))
    return #list > 12 and ("%s, … (%d in all)"):format(text, #list) or text
end

-- The difference of two tables of tensors by name, in words; nil if there is none.
local function difference(here, saved)
    local missing, unknown, shapes, lines = {}, {}, {}, {}
    for name, x in pairs(here) do
        local y = saved[name]
        if y == nil then missing[#missing + 1] = name
        else
            local a, b = table.concat(x.shape, "x"), table.concat(y.shape, "x")
            if a ~= b then shapes[#shapes + 1] = ("%s (%s, in the file %s)"):format(name, a, b) end
        end
    end
    for name in pairs(saved) do if here[name] == nil then unknown[#unknown + 1] = name end end
    if #missing > 0 then lines[#lines + 1] = "\n  not in the file: " .. some(missing) end
    if #unknown > 0 then lines[#lines + 1] = "\n  only in the file: " .. some(unknown) end
    if #shapes > 0 then lines[#lines + 1] = "\n  other shapes: " .. some(shapes) end
    return lines[1] and table.concat(lines)
end

-- Raises where saved is not the state of object, before anything is changed.
local function check(file, name, object, saved)
    if saved == nil then raise("checkpoint.load: %s has no '%s'", file, name) end
    if not has_state(object) or type(object.load_state_dict) ~= "function" then
        raise("checkpoint.load: '%s': expected what has load_state_dict, got %s", name,
            type(object))
    end
    local ok, problem
    if object.check_state_dict then
        ok, problem = pcall(object.check_state_dict, object, saved)
    else
        local here = object:state_dict()
        if type(saved) == "table" and flat(here) and flat(saved) then
            problem = difference(here, saved)
        end
        ok = not problem
    end
    if not ok then
        raise("checkpoint.load: %s: '%s' is the state of another one: %s", file, name, problem)
    end
end

local ABSENT <const> = { [2] = true, [20] = true } -- ENOENT, ENOTDIR

-- Whether there is such a file. One that cannot be opened is an error: a program that takes it for
-- absent starts again from nothing, and replaces it.
function checkpoint.exists(file)
    local f <close>, why, code = io.open(file, "rb")
    if not f and not ABSENT[code] then raise("checkpoint.exists: cannot open %s", why) end
    return f ~= nil
end

-- checkpoint.load(file, {model = m, optimizer = o}, {rng = true}): the objects load what was saved
-- under their names, if all of it matches; the generator continues where it was. Returns the table
-- of everything that was saved: states, tensors (on the cpu), numbers, strings.
function checkpoint.load(file, objects, rng)
    local data, state = read(file)
    for name, object in pairs(objects or {}) do check(file, name, object, data[name]) end
    if rng and state then -- before the objects: a state that is refused leaves them as they were
        local ok, problem = pcall(gpush.set_rng_state, state)
        if not ok then raise("checkpoint.load: %s: %s", file, (problem:gsub("^%S+:%d+: ", ""))) end
    end
    for name, object in pairs(objects or {}) do object:load_state_dict(data[name]) end
    return data
end

declared(checkpoint, "checkpoint.", { exists = "text file",
    save = "text file, table objects, bool rng=true, bool sharded=false",
    load = "text file, table? objects, bool rng=true" })

return { encode = encode } -- for sharded.lua
