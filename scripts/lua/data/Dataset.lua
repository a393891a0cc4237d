--!plain
-- data.Dataset{size = n, get = function(self, i) … end, …}: a data set of a
-- function; other fields are its own, and get finds them in self. ds[i] is the
-- first value of a sample, #ds the size.
-- data.Dataset{file = "faces.lua", …}: a data set made by a file. The file is
-- run with the table as its argument and returns a table with size and get; each
-- worker of a loader runs it, so it may open values that cannot be copied to a
-- worker.
local require = ...
local data, composite = require "data", require "composite"

local Dataset = {}

function Dataset.__index(self, key)
    if type(key) ~= "number" then return nil end
    local i = math.tointeger(key)
    if not i then
        error(("dataset: sample %s: expected an integer, 1 to %d"):format(key, #self), 2)
    end
    if i < 1 or i > #self then error(("dataset: sample %d of %d"):format(i, #self), 2) end
    return self:get(i)
end

function Dataset.__len(self) return data.size(self) end

function Dataset:__tostring()
    return ("a data set of %d sample%s"):format(#self, #self == 1 and "" or "s")
end

local function from_file(t)
    local chunk, message = loadfile(t.file, "t")
    if not chunk then error("data.Dataset: " .. message, 0) end
    local made = chunk(t)
    if type(made) ~= "table" or not made.get then
        error(("data.Dataset: %s returned a %s (expected a table with size and get)"):format(
            t.file, type(made)), 0)
    end
    return made
end

local function new(t)
    if type(t) ~= "table" then
        data.raise("data.Dataset: expected a table with size and get, or file, got %s", type(t))
    end
    if t.file then
        local made = from_file(t)
        made.origin = { spec = t, make = from_file } -- for data.source
        t = made
    end
    if type(t.get) ~= "function" then
        data.raise("data.Dataset: field 'get' is %s (expected a function get(self, index))",
            type(t.get))
    end
    data.size(t, "data.Dataset") -- before __len, which asks it
    if getmetatable(t) == nil then setmetatable(t, Dataset) end
    return t
end

return composite { name = "data.Dataset", sig = "value spec", help = "", fn = new }
