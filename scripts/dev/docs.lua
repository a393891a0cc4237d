--!plain
-- Writes the documents generated from the help texts: gpush docs.lua FOLDER makes there gpush.1
-- (the man page, from scripts/man/gpush.1), reference.md (the help of every op, class and command),
-- gpush.lua (declarations for editors that read LuaLS's annotations) and luacheck-std.lua (names
-- for luacheck). The build runs it; nothing here is written twice.
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

reference()
man()
write("gpush.lua", assert(loadfile(scripts .. "/dev/declarations.lua"))()(ops, classes, help_lines))
write("luacheck-std.lua", assert(loadfile(scripts .. "/dev/luacheck.lua"))()(classes))
