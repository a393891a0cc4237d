--!plain
-- The part of the module that is written in Lua, run by luaopen_gpush. All files here are loaded by
-- a `require` of their own (bindings/chunks.c), which each gets as its argument: require "nn.utils"
-- is what nn/utils.lua returns, require "help" what help/init.lua does, at the first call. The
-- scripts' require and package.loaded know nothing of it. Not files are "gpush", the module;
-- "registry", Lua's, in which C and these files leave each other functions and classes as
-- "gpush.NAME"; "dir", the folder of these files; and functions of C (bindings/module.c). At start
-- only what is below runs: the rest when it is first used.
local require = ...
local gpush, registry, composite = require "gpush", require "registry", require "composite"
local dir, methods = require "dir", registry["gpush.tensor.methods"]

require "ops" -- the composites

-- Second names (bindings/args/names.def, and the column also of rows) refer to the same function:
-- help and records show the first.
for first, names in pairs(registry["gpush.synonyms"]) do
    local of_linalg = first:match "^linalg%.(.+)"
    local fn = of_linalg and gpush.linalg[of_linalg] or gpush[first]
    for _, name in ipairs(names) do
        gpush[name] = fn
        methods[name] = of_linalg and fn or methods[first]
        methods[name .. "_"] = methods[first .. "_"]
    end
end

gpush.clone = methods.clone

-- Rewords an error's message where a method was called with a dot; see dotted.lua.
registry["gpush.dotted"] = function(...) return require "dotted"(...) end

-- ---- tables that are filled when they are used ----

local NO_SUCH_FILE <const> = 2 -- ENOENT
local loaded = registry["gpush.loaded"]

local function keys(t)
    local set = {}
    for key in next, t do set[key] = true end
    return set
end

local NONE <const> = {}

-- Takes all keys out of t but those in the set; needs no memory.
local function forget(t, others)
    for key in next, t do if not others[key] then t[key] = nil end end
end

-- What the prompt shows of a table whose contents are not in it.
local function said_of(area)
    return ("%s: Tab after %s. lists what it has, ?%s tells more"):format(area, area, area)
end

-- A table of the module that costs nothing before it is used. NAME/init.lua in this folder, run
-- at the first use, fills it; nn.Linear then runs nn/Linear.lua, which returns the value of that
-- name. The metatable's `homes` gives the file of a name that has none of its own: Conv2d = "Conv";
-- such a file puts all of its names into the table.
local function on_demand(area)
    local t, meta = {}, { homes = {} }
    function meta.__tostring() return said_of(area) end
    -- A file that fails (at Ctrl-C, without memory) leaves the table as it was: it is read again,
    -- as are those that it required.
    local function read(name)
        local file, fields, files = area .. "." .. name, keys(t), keys(loaded)
        loaded[file] = nil -- nn.Conv2d = nil brings the shipped one back
        local ok, value = pcall(require, file)
        if ok then return value end
        forget(t, fields)
        forget(loaded, files)
        error(value, 0)
    end
    local function find(_, name)
        local home = type(name) == "string" and (meta.homes[name] or name:match "^%u%w*$")
        if not home then return nil end
        local file, message, code = io.open(("%s/%s/%s.lua"):format(dir, area, home))
        if not file and code == NO_SUCH_FILE then return nil end
        if not file then error(("%s.%s: %s"):format(area, name, message), 0) end
        file:close()
        local value = read(home) -- true where the file returns nothing
        if rawget(t, name) == nil and value ~= true then rawset(t, name, value) end
        return rawget(t, name)
    end
    local first, assign
    -- Without memory already a call may fail: what is to be undone is done within pcall.
    local function fill()
        meta.__index, meta.__newindex = find, rawset -- nil would need memory to be set again
        read "init"
    end
    local function begin()
        local ok, message = pcall(fill)
        if ok then return end
        meta.__index, meta.__newindex = first, assign
        forget(meta.homes, NONE)
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
    loaded[area] = t
end
local distance = gpush.dist -- torch.dist: dist(a, b) still calls it
for _, area in ipairs { "nn", "optim", "amp", "data", "checkpoint", "cuda", "dist" } do
    on_demand(area)
end
getmetatable(gpush.dist).__call = function(_, ...) return distance(...) end

-- ---- functions whose file is loaded when one of them is called or asked about ----

-- The file returns them in a table; signatures: name = signature, as for declared.lua.
local function late(into, prefix, file, signatures)
    for name, sig in pairs(signatures) do
        rawset(into, name, composite(prefix .. name, function()
            return { name = prefix .. name, sig = sig, help = "", fn = require(file)[name],
                plain = true }
        end))
    end
end

local SHOWN <const> = "value data, table? options"
late(gpush, "", "plot", { plot = SHOWN, hist = SHOWN, heatmap = SHOWN, imshow = SHOWN })
late(gpush, "", "progress", { progress = "value total, text? text" })
late(gpush, "", "fuse", { fuse = "function fn", capture = "function fn" })
late(gpush, "", "kernel", { elementwise = "text inputs, text outputs, text formula, text? name, \z
    function? backward, bool check=true" })
late(gpush, "", "kernel.reduction", { reduction = "any inputs, rest parts" })
late(gpush, "", "profile.usage", { alive = "" })
late(gpush, "", "diverge", { diverge = "function fn, any inputs, device? device, dtype? dtype, \z
    float ulp=16" })
local CHECKED <const> = "function fn, any inputs, float eps=1e-6, float atol=1e-5, float rtol=1e-3"
late(gpush.autograd, "autograd.", "autograd", { gradcheck = CHECKED, gradgradcheck = CHECKED,
    checkpoint = "function fn, rest args" })
late(gpush.sync, "sync.", "sync.baseline", { baseline = "text file, bool? update" })
late(gpush.sync, "sync.", "sync.async", { async = "tensor x, function fn, rest args", finish = "" })
late(gpush.profile, "profile.", "profile.schedule", { schedule = "int wait=0, int warmup=0, \z
    int active=1, int repeats=0, function? on_trace_ready, any? stack, bool? memory, \z
    bool? shapes, int? limit, bool? flops, int skip_first=0, bool? lua" })

-- Methods of profiles.
local of_profiles, OF_RANK <const> = registry["gpush.profile.methods"], "self profile, int? rank"
for file, signatures in pairs {
    ["profile.diff"] = { diff = "self profile, any before, text? group, int? limit" },
    report = { report = "self profile, text file" },
    ["profile.averages"] = { key_averages = "self profile, bool? group_by_input_shape, \z
        int group_by_stack_n=0" },
    ["profile.export"] = { folded = "self profile, text file, bool? device",
        speedscope = "self profile, text file" },
    ["profile.whatif"] = { savings = OF_RANK, idle = OF_RANK,
        critical_path = "self profile, text? group, int? rank" },
    ["profile.verdict"] = { verdict = OF_RANK },
    ["profile.usage"] = { sync = "self profile", waits = "self profile", devices = "self profile",
        queues = "self profile, bool? series", launches = "self profile",
        memory = "self profile" },
    ["profile.collectives"] = { collectives = "self profile" },
} do late(of_profiles, "profile.", file, signatures) end

registry["gpush.table_as"] = function(...) return require "profile.export".table_as(...) end

for area, names in pairs(registry["gpush.members"]) do
    for second, first in pairs(names) do
        local into = gpush[area][first] and gpush[area] or of_profiles
        into[second] = into[first]
    end
end

-- ---- assignments to functions ----

-- Tables whose names may be taken for settings: an assignment such as sync.error = true, which
-- would take the function away and change nothing, is an error. Their functions are in a table
-- behind theirs, registry["gpush.guarded"][t], so that it arrives; a function may replace one.
local guarded = {}
registry["gpush.guarded"] = guarded
for _, area in ipairs { "sync", "sim", "nan", "autograd", "profile" } do
    local t, functions = gpush[area], {}
    local meta = getmetatable(t) or {}
    local set = meta.__newindex or rawset
    for name, value in next, t do functions[name], t[name] = value, nil end
    function meta.__newindex(_, name, value)
        local known = rawget(functions, name) ~= nil
        if known and type(value) ~= "function" then require "assigned"(area, name, value) end
        local ok, message = pcall(known and rawset or set, known and functions or t, name, value)
        if not ok then require "raise"(message) end
    end
    function meta.__pairs() return next, functions, nil end
    function meta.__tostring() return said_of(area) end
    guarded[t], meta.__index = functions, setmetatable(functions, { __index = meta.__index })
    setmetatable(t, meta)
end
