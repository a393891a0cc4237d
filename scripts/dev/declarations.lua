--!plain
-- Declarations of gpush for editors that read LuaLS's annotations: classes of objects with their
-- methods, every function of the module and its tables, operators and indices of tensors. Made of
-- what help says of each name, whose first line is the call. Returns a function that docs.lua
-- calls.
local gpush = require "gpush"
local members = assert(loadfile((arg[0]:match "^(.*)/[^/]*$" or ".") .. "/members.lua"))()

local kinds = { tensor = "gpush.Tensor", operand = "gpush.Tensor|number",
    tensors = "gpush.Tensor[]", int = "integer", dim = "integer", dims = "integer|integer[]",
    ints = "integer|integer[]", shape = "integer|integer[]", padding = "integer|integer[]|string",
    numbers = "number|number[]", order = "number|string", float = "number", number = "number",
    bool = "boolean", str = "string", text = "string", dtype = "gpush.dtype",
    device = "gpush.device" }

local header = [[
---@meta gpush
-- Declarations of gpush for editors: made of the help texts, never run.

---@alias gpush.dtype "f64"|"f32"|"f16"|"bf16"|"i64"|"i32"|"i16"|"i8"|"u8"|"bool"
---@alias gpush.device "cpu"|"gpu"|"sim"|"cuda"|string
---@alias gpush.index integer|string|gpush.Tensor|table

---What cuda.kernel and cuda.module give.
---@class gpush.Kernel
---@overload fun(grid: integer|integer[], block: integer|integer[], ...: any)
local Kernel = {}
---@param n integer
---@return fun(...: any)
function Kernel:over(n) end
---@param name string
---@return gpush.Tensor
function Kernel:global(name) end
---@param name? string
---@return gpush.Kernel
function Kernel:kernel(name) end
---@param grid? integer|integer[]
---@param block? integer|integer[]
---@param ... any
---@return table
function Kernel:counts(grid, block, ...) end]]

local settings = { ["sync.mode"] = '"off"|"warn"|"error"', ["sync.warn"] = "boolean",
    ["sim.card"] = "string|table?", ["sim.host"] = "number?", ["sim.label"] = "string?",
    ["sim.script"] = "number?", ["sim.loader"] = "number?", ["sim.tf32"] = "boolean",
    ["dist.rank"] = "integer", ["dist.size"] = "integer", ["dist.engine"] = "string" }

local operators = { "add", "sub", "mul", "div", "idiv", "mod", "pow", "band", "bor", "bxor", "shl",
    "shr" }

-- ---- What help says ----

-- The parameters of a call, as {name, type, optional}; types: by name, of help's list "x: tensor".
local function parameters(call, types)
    local out, depth, piece, open = {}, 0, "", false
    local inside = call:match "^[^(]*(%b())$"
    if not inside then return { { "...", "any" } } end
    local function add()
        local text = piece:gsub("^%s*%[?%s*", ""):gsub("[%[%]]*%s*$", "")
        local name, default = text:match "^([%a_][%w_]*)%s*=?%s*(.-)$"
        if text:find("…", 1, true) then
            out[#out + 1] = { "...", "any" }
        elseif name then
            local guess = tonumber(default) and "number"
                or (default == "true" or default == "false") and "boolean" or "any"
            if not load("local " .. name) then name = name .. "_" end
            local optional = open or piece:find "^%s*%[" ~= nil
            out[#out + 1] = { name, kinds[types[name]] or guess, optional }
        elseif text ~= "" then
            out[#out + 1] = { "...", "any" }
        end
        open, piece = piece:find "%[%s*$" ~= nil, "" -- f(a[, b])
    end
    for c in inside:sub(2, -2):gmatch "." do
        depth = depth + ((c == "{" or c == "(") and 1 or (c == "}" or c == ")") and -1 or 0)
        if c == "," and depth == 0 then add() else piece = piece .. c end
    end
    add()
    for i, p in ipairs(out) do
        if p[1] == "..." then return table.move(out, 1, i, 1, {}) end
    end
    return out
end

-- The first sentence, from the i-th line on; "" where help says only that it is a function.
local function sentence(lines, i)
    local text = ""
    while lines[i] and lines[i]:find "%S" and not lines[i]:find "^    [%a_ ]+: " do
        text = text .. " " .. lines[i]:match "^%s*(.-)%s*$"
        i = i + 1
    end
    text = (text .. " "):match "^ (.-)[.;]? $" or ""
    text = text:match "^(.-)[.;] " or text
    return text:find "^a function of" and "" or text
end

-- The call, the sentence about it, and the types of its parameters, from help's lines.
local function read(lines)
    local i, call = 1, lines[1] or ""
    while call:find("(", 1, true) and not call:find "%b()" and lines[i + 1] do
        i = i + 1
        call = call .. " " .. lines[i]:match "^%s*(.*)$"
    end
    local alone, rest = call:match "^([^(]*%b()):%s+(%S+%s.*)$" -- f(a): what it does
    if not alone then alone, rest = call:match "^([%w_.]+%b{}):%s+(%S+%s.*)$" end
    if alone then
        call, lines = alone, table.move(lines, i, #lines, i, {})
        lines[i], i = rest, i - 1
    end
    local types = {}
    for _, line in ipairs(lines) do
        for name, kind in line:gmatch "([%a_][%w_]*): (%l+)%f[,\0]" do types[name] = kind end
        if line:find "^    example:" then break end
    end
    return call, sentence(lines, i + 1), types
end

-- ---- Writing ----

local out

local function put(...) out[#out + 1] = (...):format(select(2, ...)) end

-- "function gpush.sum(", or "gpush["end"] = function(" where the name is a word of Lua.
local function head(where, separator, name)
    if load("local " .. name:match "[%w_]+$") then
        return "function " .. where .. separator .. name
    end
    return ("%s[%q] = function"):format(where, name)
end

-- An overload without the parameters that may be left out before others that may not, as in
-- profile.run([options,] fn): "fn: any, ...: any"; nil where there are none.
local function without_first(list)
    local out, left_out, needed = {}, false, false
    for i = #list, 1, -1 do
        local p = list[i]
        needed = needed or not p[3] and p[1] ~= "..."
        if p[3] and needed then left_out = true
        else table.insert(out, 1, p[1] .. (p[3] and "?: " or ": ") .. p[2]) end
    end
    return left_out and table.concat(out, ", ") or nil
end

-- A function with its parameters; several integers may stand where a shape or dims may.
local function declare(start, about, list, result, method)
    local names = {}
    local first = not method and list[1] and list[1][2] == "gpush.Tensor" and 2 or 1
    if about ~= "" then put("---%s", about) end
    for i, p in ipairs(list) do
        names[i] = p[1]
        local name, kind = p[1], p[2]
        if p[3] then name, kind = name .. "?", kind .. "|table" end
        put("---@param %s %s", name, kind)
    end
    put("---@return %s", result)
    if list[first] and list[first][2] == "integer|integer[]" then
        put("---@overload fun(%s...: integer|table): %s", method and "self: gpush.Tensor, "
            or first == 2 and "x: gpush.Tensor, " or "", result)
    end
    local fewer = without_first(list)
    local self = start:find(":", 1, true) and "self: any, " or ""
    if fewer then put("---@overload fun(%s%s): %s", self, fewer, result) end
    put("%s(%s) end\n", start, table.concat(names, ", "))
end

-- The function of that name, by what help says: "sync.report", of the table it stands in.
local function by_help(name, where, separator, last, result, help)
    local call, about, types = read(help(name))
    declare(head(where, separator, last), about, parameters(call, types), result)
end

-- ---- What there is ----

-- The names of an object's methods.
local function methods_of(v)
    local names, seen, t = {}, {}, type(v) == "table" and v or nil
    local meta = debug.getmetatable(v)
    t = t or meta and meta.__index
    if type(t) == "function" then t = select(2, debug.getupvalue(t, 1)) end
    while type(t) == "table" do
        for k, f in next, t do
            local named = type(k) == "string" and not seen[k] and not k:find "^_"
            if named and type(f) == "function" then names[#names + 1], seen[k] = k, true end
        end
        meta = debug.getmetatable(t)
        t = meta and rawget(meta, "__index")
    end
    table.sort(names)
    return names
end

-- Objects of each class, by the global name that help is asked with, and what makes them.
local function objects()
    local made = { x = gpush.randn(2, 2), prof = gpush.profile.run(function() end),
        recording = gpush.profile.schedule {}, st = gpush.stream "sim",
        linear = gpush.nn.Linear(2, 2),
        opt = gpush.optim.SGD({ gpush.ones(1):requires_grad_() }, { lr = 1 }),
        set = gpush.data.TensorDataset(gpush.ones(4)) }
    made.event, made.schedule = made.st:record(), gpush.optim.lr.StepLR(made.opt, 2)
    made.loader, made.capsule = gpush.data.Loader { made.set }, made.x:to_dlpack()
    made.scaler, made.bar = gpush.amp.GradScaler(), gpush.progress(1)
    made.list = gpush.nn.ModuleList {}
    return made, { { "Module", "linear" }, { "ModuleList", "list" }, { "Progress", "bar" },
        { "Optimizer", "opt" }, { "Scheduler", "schedule" },
        { "Loader", "loader" }, { "Dataset", "set" }, { "Profile", "prof" },
        { "Recording", "recording" }, { "Stream", "st" }, { "Event", "event" },
        { "Capsule", "capsule" }, { "GradScaler", "scaler" } }
end

local results = { stream = "gpush.Stream", progress = "gpush.Progress",
    ["nn.ModuleList"] = "gpush.ModuleList", ["nn.Sequential"] = "gpush.ModuleList",
    current_stream = "gpush.Stream",
    ["profile.run"] = "gpush.Profile, any ...", ["profile.schedule"] = "gpush.Recording",
    ["amp.GradScaler"] = "gpush.GradScaler", tensor = "gpush.Tensor", ["npy.load"] = "gpush.Tensor",
    ["image.load"] = "gpush.Tensor", ["cuda.kernel"] = "gpush.Kernel",
    ["cuda.module"] = "gpush.Kernel", elementwise = "gpush.Kernel", reduction = "gpush.Kernel",
    from_dlpack = "gpush.Tensor", to_dlpack = "gpush.Capsule" }

local function result_of(name)
    if results[name] then return results[name] end
    if name:find "^optim%.lr%.%u" then return "gpush.Scheduler" end
    if name:find "^optim%.%u" then return "gpush.Optimizer" end
    if name:find "^nn%.%u" then return "gpush.Module" end
    if name == "data.Loader" then return "gpush.Loader" end
    return name:find "^data%.%u" and "gpush.Dataset" or "any ..."
end

local function tensor_class(ops, help)
    put "---@class gpush.Tensor"
    for _, field in ipairs { "shape integer[]", "dtype gpush.dtype", "device gpush.device",
        "ndim integer", "requires_grad boolean", "grad gpush.Tensor?", "is_leaf boolean",
        "T gpush.Tensor", "mT gpush.Tensor", "[gpush.index] gpush.Tensor" } do
        put("---@field %s", field)
    end
    for _, name in ipairs(operators) do put("---@operator %s(any): gpush.Tensor", name) end
    put "---@operator unm: gpush.Tensor\n---@operator bnot: gpush.Tensor\n---@operator len: integer"
    put "local Tensor = {}\n"
    local methods, names = debug.getregistry()["gpush.tensor.methods"], {}
    for name in next, methods do names[#names + 1] = not name:find "^_" and name or nil end
    table.sort(names)
    for _, name in ipairs(names) do
        local call, about, types = read(help("x." .. name))
        local list = parameters(call, types)
        local op = list[1] and types[list[1][1]] and not call:find("x:", 1, true)
        if op and load("local " .. name) then list = table.move(list, 2, #list, 1, {}) end
        declare(head("Tensor", ":", name), about, list,
            (op or ops[name]) and "gpush.Tensor ..." or "any ...", true)
    end
end

-- A table of the module: with its settings, as sync.mode, where it has them.
local function table_head(name, list)
    local class = false
    for _, member in ipairs(list) do
        if member[2] == "field" then
            if not class then put("---@class gpush.%s", name) end
            class = true
            put("---@field %s %s", member[1], settings[name .. "." .. member[1]] or "any")
        end
    end
    put("gpush.%s = {}", name)
end

-- Every function of the table called `path`, and of those in it.
local function walk(v, path, list, ops, classes, help)
    for _, member in ipairs(list) do
        local k, kind = member[1], member[2]
        local name = path .. k
        if kind == "function" then
            by_help(name, path == "" and "gpush" or "gpush." .. path:sub(1, -2), ".", k,
                ops[name] and "gpush.Tensor ..." or result_of(name), help)
        elseif kind == "table" and select(2, path:gsub("%.", "")) < 3 then
            local inside = members(v[k], name .. ".", classes)
            table_head(name, inside)
            walk(v[k], name .. ".", inside, ops, classes, help)
        end
    end
end

-- The lines of the declarations. ops: rows by the names that users write; classes: names such as
-- "nn.Linear"; help(name): the lines of its help.
return function(ops, classes, help)
    out = { header, "" }
    local made, list = objects()
    for name, v in next, made do rawset(_G, name, v) end -- help looks for them there
    tensor_class(ops, help)
    for _, class in ipairs(list) do
        local short, sample = class[1], class[2]
        put("---@class gpush.%s", short)
        if short:find "^Module" then put "---@field [any] any" end -- of the user's
        put "---@overload fun(...: any): any ..."
        put("local %s = {}\n", short)
        for _, name in ipairs(methods_of(made[sample])) do
            by_help(sample .. "." .. name, short, ":", name, "any ...", help)
        end
    end
    put "---@class gpush\nlocal gpush = {}\n"
    walk(gpush, "", members(gpush, "", classes), ops, classes, help)
    for name in next, made do rawset(_G, name, nil) end
    put "-- In the shell these are globals."
    local names = {}
    for name in next, gpush do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
        if rawget(_G, name) == gpush[name] and load("local " .. name) then
            put("%s = gpush.%s", name, name)
        end
    end
    put "\nreturn gpush"
    return out
end
