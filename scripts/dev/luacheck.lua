--!plain
-- The names that gpush adds to Lua's, as a set of globals for luacheck: a file that a .luacheckrc
-- reads. Returns a function that docs.lua calls.
local gpush = require "gpush"
local members = assert(loadfile((arg[0]:match "^(.*)/[^/]*$" or ".") .. "/members.lua"))()

local out

local function put(...) out[#out + 1] = (...):format(select(2, ...)) end

local function key(name) return load("local " .. name) and name or ('["%s"]'):format(name) end

-- The fields of the table called `path`, and of those in it.
local function walk(v, path, classes, indent)
    for _, member in ipairs(members(v, path, classes)) do
        local name, kind = key(member[1]), member[2]
        if kind == "table" and select(2, path:gsub("%.", "")) < 3 then
            put("%s%s = { fields = {", indent, name)
            walk(v[member[1]], path .. member[1] .. ".", classes, indent .. "    ")
            put("%s} },", indent)
        else
            put("%s%s = %s,", indent, name, kind == "field" and "{ read_only = false }" or "{}")
        end
    end
end

-- The lines of the set. classes: names such as "nn.Linear".
return function(classes)
    out = { "-- The names of gpush for luacheck: made of the module, read by a .luacheckrc:",
        '--     stds.gpush = dofile "/usr/share/gpush/luacheck-std.lua"',
        '--     std = "lua54+gpush"',
        "local names = {" }
    walk(gpush, "", classes, "    ")
    put "}"
    put "local globals = { gpush = { fields = names } }"
    put "for name, what in pairs(names) do globals[name] = what end"
    for _, member in ipairs(members(gpush, "", classes)) do
        local name = member[1]
        if rawget(_G, name) ~= gpush[name] then put("globals.%s = nil -- Lua's own", name) end
    end
    put "return { read_globals = globals,"
    put '    globals = { "_PROMPT", "_PROMPT2", "_SUGGEST", "notebook" } }'
    return out
end
