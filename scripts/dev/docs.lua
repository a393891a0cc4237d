--!plain
-- Writes the documents generated from the help texts: gpush docs.lua FOLDER makes there gpush.1
-- (the man page, from scripts/man/gpush.1), reference.md (the help of every op, class and command)
-- and gpush.lua (declarations for editors that read LuaLS's annotations). The build runs it;
-- nothing here is written twice.
local gpush = require "gpush"
local scripts = (arg[0]:match "^(.*)/[^/]*$" or ".") .. "/.."
local to = arg[1] or error("usage: gpush docs.lua FOLDER", 0)
local rows = gpush.ops(true)
local registry = debug.getregistry()
registry["gpush.loaded"]["shell.native"] = {} -- there is no prompt
local commands = registry["gpush.require"] "shell.commands"

-- ---- Contents ----

-- The output of help for a name, as lines.
local function help_lines(name)
    local text, out, old = "", {}, print
    print = function(s) text = text .. s .. "\n" end -- luacheck: ignore
    local ok, message = pcall(gpush.help, name)
    print = old -- luacheck: ignore
    if not ok then error(name .. ": " .. tostring(message), 0) end
    for line in text:gmatch "([^\n]*)\n" do out[#out + 1] = line end
    return out
end

local function sorted(t)
    local names = {}
    for name in pairs(t) do names[#names + 1] = name end
    table.sort(names)
    return names
end

-- The value of a dotted name in the module.
local function value(name)
    local v = gpush
    for key in name:gmatch "[^.]+" do v = type(v) == "table" and v[key] or nil end
    return v
end

-- Ops by the names that users write: linalg_svd is linalg.svd. Ops that only backward runs are left
-- out.
local ops = {}
for name, row in pairs(rows) do
    local dotted = name:gsub("_", ".", 1)
    local called = value(name) ~= nil and name or type(value(dotted)) == "function" and dotted
    if called and not name:find "_grad$" and not name:find "_backward$" then ops[called] = row end
end

-- The classes of nn, optim and data: one per file, or several.
local classes = {}
for _, area in ipairs { "nn", "optim", "data" } do
    local _ = gpush[area].Nothing
    local homes, families = getmetatable(gpush[area]).homes, {}
    for name, file in pairs(homes) do
        families[file] = not homes[file]
        if name:find "^%u" or area == "data" then classes[#classes + 1] = area .. "." .. name end
    end
    local files <close> = assert(io.popen(("ls '%s/lua/%s'"):format(scripts, area)))
    for file in files:lines() do
        local name = file:match "^(%u%w*)%.lua$"
        if name and not families[name] and not homes[name] then
            classes[#classes + 1] = area .. "." .. name
        end
    end
end
for name in pairs(gpush.optim.lr) do classes[#classes + 1] = "optim.lr." .. name end
table.sort(classes)

-- ---- Writing ----

local function write(name, lines)
    local path = to .. "/" .. name
    local f = assert(io.open(path .. ".new", "w"))
    assert(f:write(table.concat(lines, "\n"), "\n"))
    assert(f:close())
    assert(os.rename(path .. ".new", path))
end

-- ---- The reference ----

local function reference()
    local out = { "# gpush: reference", "",
        "Made of the texts that `help` shows at the prompt. Arguments in brackets may be left \z
            out; the",
        "last argument may be a table of options by name. What takes a tensor first is a method \z
            too.", "" }
    local function chapter(title, names)
        out[#out + 1] = "## " .. title .. "\n"
        for _, name in ipairs(names) do
            local lines = help_lines(name)
            out[#out + 1] = "### " .. name .. "\n\n```"
            for _, line in ipairs(lines) do out[#out + 1] = line end
            out[#out + 1] = "```\n"
        end
    end
    chapter("Ops", sorted(ops))
    chapter("Layers, optimizers, data", classes)
    out[#out + 1] = "## Commands of the prompt\n\n```"
    for _, name in ipairs(commands.names) do
        local c = commands.list[name]
        out[#out + 1] = (":%-20s %s"):format(name .. " " .. c.argument, c.help)
    end
    out[#out + 1] = "```"
    write("reference.md", out)
end

-- ---- The man page ----

local function roff(s)
    return (s:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("^([.'])", "\\&%1"):gsub("…", "..."))
end

local function man()
    local out = {}
    local function item(name, text)
        out[#out + 1] = ".TP\n.B " .. roff(name):gsub('"', "\\(dq")
        out[#out + 1] = roff(text)
    end
    for line in io.lines(scripts .. "/man/gpush.1") do
        if line == '.\\" COMMANDS' then
            for _, name in ipairs(commands.names) do
                item(":" .. name .. " " .. commands.list[name].argument, commands.list[name].help)
            end
        elseif line == '.\\" OPS' then
            for _, name in ipairs(sorted(ops)) do item(help_lines(name)[1], ops[name].help) end
        else
            out[#out + 1] = line
        end
    end
    out[1] = out[1]:gsub("VERSION", gpush._VERSION)
    write("gpush.1", out)
end

-- ---- Declarations ----

local kinds = { tensor = "gpush.Tensor", operand = "gpush.Tensor|number",
    tensors = "gpush.Tensor[]", int = "integer",
    ints = "integer|integer[]", shape = "integer|integer[]", padding = "integer|integer[]|string",
    numbers = "number|number[]", order = "number|string",
    float = "number",
    number = "number", bool = "boolean", str = "string", dtype = "gpush.dtype", device = "string" }

-- The parameters of a signature: {name, type, optional}.
local function parameters(sig)
    local out = {}
    for parameter in (sig .. ","):gmatch "%s*([^,]+)," do
        local kind, mark, name = parameter:match "^(%w+)([!?]*) ([%w_]+)"
        if name then
            if not load("local " .. name) then name = name .. "_" end
            out[#out + 1] = { name, kinds[kind] or "any",
                mark:find("?", 1, true) ~= nil or parameter:find("=", 1, true) ~= nil }
        end
    end
    return out
end

local function declare(out, start, help, list, result)
    local names = {}
    out[#out + 1] = "---" .. help
    for i, p in ipairs(list) do
        names[i] = p[1]
        out[#out + 1] = ("---@param %s%s %s"):format(
            p[1], p[3] and "?" or "", p[3] and p[2] .. "|table" or p[2])
    end
    out[#out + 1] = "---@return " .. result
    out[#out + 1] = ("%s(%s) end\n"):format(start, table.concat(names, ", "))
end

-- "function gpush.sum", or a replacement where the name is a reserved word of Lua.
local function head(where, separator, name)
    if load("local " .. name:match "[%w_]+$") then
        return "function " .. where .. separator .. name
    end
    return ("%s[%q] = function"):format(where, name)
end

local function stubs()
    local out = { "---@meta gpush",
        "-- Declarations of gpush for editors: made of the help texts, never run.", "",
        '---@alias gpush.dtype "f64"|"f32"|"f16"|"bf16"|"i64"|"i32"|"i16"|"i8"|"u8"|"bool"', "",
        "---@class gpush.Tensor", "---@field shape integer[]", "---@field dtype gpush.dtype",
        "---@field device string",
        "---@field ndim integer", "---@field requires_grad boolean", "---@field grad gpush.Tensor?",
        "---@operator add(any): gpush.Tensor", "---@operator sub(any): gpush.Tensor",
        "---@operator mul(any): gpush.Tensor",
        "---@operator div(any): gpush.Tensor", "---@operator pow(any): gpush.Tensor",
        "---@operator unm: gpush.Tensor",
        "local Tensor = {}", "", "---@class gpush", "local gpush = {}" }
    for _, name in ipairs(sorted(gpush)) do
        if type(gpush[name]) == "table" then out[#out + 1] = "gpush." .. name .. " = {}" end
    end
    out[#out + 1] = ""
    local methods, one = debug.getregistry()["gpush.tensor.methods"], "gpush.Tensor ..."
    for _, name in ipairs(sorted(ops)) do
        local list, help = parameters(ops[name].sig), ops[name].help
        declare(out, head("gpush", ".", name), help, list, one)
        local first = ops[name].sig:match "^%w+"
        if methods[name] and (first == "tensor" or first == "operand") then
            local own = load("local " .. name)
            declare(out, head("Tensor", ":", name), help,
                own and table.move(list, 2, #list, 1, {}) or list, one)
        end
    end
    for _, name in ipairs(sorted(methods)) do
        if not ops[name] and not name:find "^_" and not name:find "_$" then
            out[#out + 1] = ("---@return any ...\nfunction Tensor:%s(...) end\n"):format(name)
        end
    end
    for _, name in ipairs(sorted(gpush)) do
        if type(gpush[name]) == "function" and not ops[name] then
            out[#out + 1] = ("---@return any ...\nfunction gpush.%s(...) end\n"):format(name)
        end
    end
    out[#out + 1] = "-- In the shell these are globals."
    for _, name in ipairs(sorted(gpush)) do
        if rawget(_G, name) == gpush[name] and load("local " .. name) then
            out[#out + 1] = name .. " = gpush." .. name
        end
    end
    out[#out + 1] = "\nreturn gpush"
    write("gpush.lua", out)
end

reference()
man()
stubs()
