--!plain
-- What is in the tables of the module, for the documents that are made of it: the declarations for
-- editors and the names for luacheck. members(v, path) lists {name, kind} in order: kind is
-- "function", as classes are that are called, "table", or "field", a setting such as sync.mode.
-- path: "nn." of v in the module; "" of the module. classes: names such as "nn.Linear".
local gpush = require "gpush"
local settings = debug.getregistry()["gpush.require"] "help.settings"

local function kind_of(v, path, name)
    local value = v[name]
    if type(value) == "function" or (path .. name):find "%.%u" then return "function" end
    return type(value) == "table" and value ~= gpush and value ~= _G and "table" or nil
end

return function(v, path, classes)
    local meta = debug.getmetatable(v) or {}
    local _ = path ~= "" and meta.homes and v.Nothing -- loads what waits for its use
    local kinds, names, out = {}, {}, {}
    for name in next, path ~= "" and settings(path:sub(1, -2), v) or {} do kinds[name] = "field" end
    local behind = type(meta.__index) == "table" and meta.__index or {} -- as of cuda
    for _, t in ipairs { v, behind, meta.homes or {} } do
        for k in next, t do
            if type(k) == "string" and not k:find "^_" then kinds[k] = kind_of(v, path, k) end
        end
    end
    for _, class in ipairs(classes) do
        local last = path ~= "" and class:match("^" .. path:gsub("%p", "%%%0") .. "(%w+)$")
        if last then kinds[last] = kind_of(v, path, last) end
    end
    for name in next, kinds do names[#names + 1] = name end
    table.sort(names)
    for i, name in ipairs(names) do out[i] = { name, kinds[name] } end
    return out
end
