--!plain
-- The part of the module that is written in Lua. luaopen_gpush loads it with the module table, the
-- folder of these files, the table of methods, the function that makes composites, the table of
-- composites for help, the loader of these files (as loadfile, but shared with a data loader's
-- workers), the functions that data loaders are made of, and save(op, file, text).
local gpush, dir, methods, composite, composites, chunk, loader, save = ...

-- define { "name", sig = "tensor x, int k=1, bool keepdim=false", help = "one line", fn =
-- function(x, k, keepdim) … end } in a file of scripts/ops makes a composite, an op made of other
-- ops. Arguments are read by the signature as for the rows of tensor/ops/table/ops.def (see
-- tensor/sig.h): by position, or by name in a last table, checked, defaults filled in. fn gets them
-- all, in order: lists of integers as tables, absent ones as nil, dtypes and devices as strings. A
-- name like "linalg.norm" goes into that table. A function whose first argument is a tensor is a
-- method, too. For help `waits` says for what the host waits, if it does, `raises` which elements
-- are an error, `indices` which of the results is the first of indices, and `dtypes` which operands
-- may have: names, "all", "numbers", "floats" or "integers". `autocast` says what autocast makes of
-- the arguments: "low", "wide" or "promote", as the column of that name does for rows; fn's own ops
-- then run as outside. `strict` and `promotes` check and convert tensors before fn: see
-- ops/strict.lua. A file is run when one of its composites is first called or asked about. Until
-- then it is only text, in which a definition is found by its beginning: at the start of a line, as
-- above, up to the first type of the signature.
local function declare(name, first, read, rows)
    local fn, group, short = composite(name, read), name:match "^(%w+)%.(.+)$"
    composites[name] = fn
    if group then
        gpush[group] = gpush[group] or {}
        gpush[group][short] = fn
        return
    end
    rows[name] = gpush[name] -- the row that the composite replaces
    gpush[name] = fn
    if first == "tensor" or first == "operand" then methods[name] = fn end
end

-- declared(into, prefix, { name = signature, … }): wraps the functions of those names in a table,
-- so that their arguments are checked and filled in as a composite's. Their names in messages:
-- prefix .. name. A class whose methods begin with "self CLASS" is
-- debug.getregistry()["gpush.CLASS"].
local function declared(into, prefix, signatures)
    for name, sig in pairs(signatures) do
        into[name] = composite { name = prefix .. name, sig = sig, help = "", fn = into[name],
            plain = true }
    end
end

-- fail(format, …): raises an error of a composite, at the script's line and with the layer's place,
-- as an op does.
local raise
local function fail(text, ...)
    raise = raise or chunk(dir .. "/raise.lua")(dir)
    local place = debug.getregistry()["gpush.place"] -- see nn/init.lua
    place = place and place()
    if select("#", ...) > 0 then text = text:format(...) end
    raise(place and place .. ": " .. text or text)
end

-- Rewords an error's message where a method was called with a dot; see dotted.lua.
local dotted
debug.getregistry()["gpush.dotted"] = function(...)
    dotted = dotted or chunk(dir .. "/dotted.lua")(dir)
    return dotted(...)
end

-- The result of scripts/lua/NAME.lua for the module: for files of composites that share something.
local function part(name) return chunk(("%s/%s.lua"):format(dir, name))(gpush) end

-- The file gets the module, define, the rows of the op table that its names replace, fail and part.
local function declare_all(path)
    local rows, defs = {}, nil
    local function read(name)
        if not defs then
            local list = {}
            chunk(path)(gpush, function(def)
                def.name = def[1]
                if not composites[def.name] then
                    error(("%s: '%s' is not at the start of a line"):format(path, def.name))
                end
                if def.strict then def.fn = part "ops/strict"(def, fail) end
                if def.autocast then def.fn = part "ops/cast_args"(def.autocast, def.fn) end
                list[def.name] = def
            end, rows, fail, part)
            defs = list
        end
        return assert(defs[name], path .. " does not define " .. name)
    end
    local file <close> = assert(io.open(path))
    local text, at = assert(file:read "a"), 0
    while true do
        at = text:find('\ndefine { "', at + 1, true)
        if not at then return end
        local name, first = text:match('^\ndefine { "([%w_.]+)",%s*sig = "(%l+)', at)
        declare(name, first, read, rows)
    end
end
for _, area in ipairs { "create", "elementwise", "reduce", "shape", "index", "linalg", "fft", "rnn",
    "loss", "nn", "image", "einsum" }
do
    declare_all(dir .. "/ops/" .. area .. ".lua")
end

-- Second names (bindings/args/names.def, and the column also of rows) refer to the same function:
-- help and records show the first.
for first, names in pairs(debug.getregistry()["gpush.synonyms"]) do
    local of_linalg = first:match "^linalg%.(.+)"
    local fn = of_linalg and gpush.linalg[of_linalg] or gpush[first]
    for _, name in ipairs(names) do
        gpush[name] = fn
        methods[name] = of_linalg and fn or methods[first]
        methods[name .. "_"] = methods[first .. "_"]
    end
end

gpush.clone = methods.clone
local inputs_of = chunk(dir .. "/autograd.lua")(gpush, declared, fail)
chunk(dir .. "/diverge.lua")(gpush, declared, fail, inputs_of)
chunk(dir .. "/profile/schedule.lua")(gpush, declared, fail)

local NO_SUCH_FILE <const> = 2 -- ENOENT

-- A table of the module that costs nothing before it is used. NAME/init.lua in this folder, run
-- at the first use, gets the module, the table and its folder, and fills it; nn.Linear then runs
-- nn/Linear.lua, which gets the same and returns the value of that name. They also get the function
-- that makes composites, the functions that loaders are made of, and declared. The metatable's
-- `homes` gives the file of a name that has none of its own: Conv2d = "Conv"; such a file puts all
-- of its names into the table.
local function on_demand(area)
    local t, folder, meta = {}, dir .. "/" .. area, { homes = {} }
    function meta.__tostring()
        return ("%s: Tab after %s. lists what it has, ?%s tells more"):format(area, area, area)
    end
    -- A file that fails (at Ctrl-C, without memory) leaves the table as it was: it is read again.
    local function read(name)
        local before = {}
        for key, value in next, t do before[key] = value end
        local run = chunk(folder .. "/" .. name .. ".lua")
        local ok, value = pcall(run, gpush, t, folder, composite, loader, declared)
        if ok then return value end
        for key in next, t do if before[key] == nil then t[key] = nil end end
        error(value, 0)
    end
    local function find(_, name)
        local home = type(name) == "string" and (meta.homes[name] or name:match "^%u%w*$")
        if not home then return nil end
        local file, message, code = io.open(folder .. "/" .. home .. ".lua")
        if not file and code == NO_SUCH_FILE then return nil end
        if not file then error(("%s.%s: %s"):format(area, name, message), 0) end
        file:close()
        local value = read(home)
        if rawget(t, name) == nil then rawset(t, name, value) end
        return rawget(t, name)
    end
    local first, assign
    local function begin()
        meta.__index, meta.__newindex = find, nil
        local ok, message = pcall(read, "init")
        if ok then return end
        meta.__index, meta.__newindex, meta.homes = first, assign, {}
        error(message, 0)
    end
    function first(_, name)
        begin()
        return t[name]
    end
    -- The first assignment must not bypass init's own checks.
    function assign(_, name, value)
        begin()
        t[name] = value
    end
    meta.__index, meta.__newindex = first, assign
    gpush[area] = setmetatable(t, meta)
end
local distance = gpush.dist -- torch.dist: dist(a, b) still calls it
for _, area in ipairs { "nn", "optim", "amp", "data", "checkpoint", "cuda", "dist" } do
    on_demand(area)
end
getmetatable(gpush.dist).__call = function(_, ...) return distance(...) end

-- Loaded on the first call.
local bar
function gpush.progress(...)
    bar = bar or chunk(dir .. "/progress.lua")(gpush, declared, fail)
    return bar(...)
end
declared(gpush, "", { progress = "value total, text? text" })

-- Functions of a file that is loaded when one of them is first called; it returns them in a table.
local function when_called(into, file, ...)
    local functions
    for _, name in ipairs { ... } do
        into[name] = function(...)
            functions = functions or chunk(dir .. file)(gpush, fail, dir, save, declared)
            return functions[name](...)
        end
    end
end
when_called(gpush, "/plot/init.lua", "plot", "hist", "heatmap", "imshow")
for _, name in ipairs { "plot", "hist", "heatmap", "imshow" } do
    declared(gpush, "", { [name] = "value data, table? options" })
end
local of_sync = {}
when_called(of_sync, "/sync/baseline.lua", "baseline")
when_called(of_sync, "/sync/async.lua", "async", "finish")
declared(of_sync, "sync.", { baseline = "text file, bool? update",
    async = "tensor x, function fn, rest args", finish = "" })
for name, fn in pairs(of_sync) do rawset(gpush.sync, name, fn) end
when_called(gpush, "/fuse.lua", "fuse", "capture")
declared(gpush, "", { fuse = "function fn", capture = "function fn" })
-- their methods
local _, of_profiles = debug.getupvalue(debug.getregistry()["gpush.profile"].__index, 1)
when_called(of_profiles, "/profile/diff.lua", "diff")
when_called(of_profiles, "/report/init.lua", "report")
when_called(of_profiles, "/profile/averages.lua", "key_averages")
when_called(of_profiles, "/profile/export.lua", "folded", "speedscope")
when_called(debug.getregistry(), "/profile/export.lua", "gpush.table_as")
when_called(of_profiles, "/profile/whatif.lua", "savings", "critical_path", "idle")
when_called(of_profiles, "/profile/verdict.lua", "verdict")
when_called(of_profiles, "/profile/usage.lua", "sync", "waits", "devices", "queues", "memory")
when_called(of_profiles, "/profile/collectives.lua", "collectives")
when_called(gpush, "/profile/usage.lua", "alive")
declared(gpush, "", { alive = "" })
declared(of_profiles, "profile.", { savings = "self profile, int? rank",
    idle = "self profile, int? rank", verdict = "self profile, int? rank",
    critical_path = "self profile, text? group, int? rank",
    sync = "self profile", waits = "self profile",
    devices = "self profile", queues = "self profile, bool? series", memory = "self profile",
    collectives = "self profile",
    diff = "self profile, any before, text? group, int? limit",
    report = "self profile, text file", folded = "self profile, text file, bool? device",
    speedscope = "self profile, text file",
    key_averages = "self profile, bool? group_by_input_shape, int group_by_stack_n=0" })
for area, names in pairs(debug.getregistry()["gpush.members"]) do
    for second, first in pairs(names) do
        local into = gpush[area][first] and gpush[area] or of_profiles
        into[second] = into[first]
    end
end
