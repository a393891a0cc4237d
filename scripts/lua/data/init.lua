--!plain
-- data: shared by data sets and loaders. A data set is a table with a function get(self, index),
-- which returns one or several values, and its size: a number, a function size(self), or #dataset.
local require = ...
local data, declared = require "data", require "declared"

-- Raises a message at the script's line.
data.raise = require "raise"

local homes = getmetatable(data).homes
homes.transforms = "transforms"
for _, name in ipairs { "Subset", "ConcatDataset", "random_split" } do homes[name] = "Subset" end

-- The number of samples of a data set, checked; what: for messages. That of an empty table is not
-- taken for 0: it rather lacks a size.
function data.size(dataset, what)
    local size = dataset.size
    if type(size) == "function" then size = size(dataset)
    elseif size == nil and (#dataset > 0 or getmetatable(dataset)) then size = #dataset end
    if math.type(size) ~= "integer" or size < 0 then
        data.raise("%s: its size is %s (expected an integer, a function that gives one, or \z
            #dataset)",
            what or "dataset", tostring(size))
    end
    return size
end

-- The value from which a loader's workers build the data set, and the function that does; nil: the
-- data set itself is sent.
function data.source(dataset)
    local origin = rawget(dataset, "origin")
    if origin then return origin.spec, origin.make end
    return dataset
end

declared(data, "data.", { size = "table dataset, text? what", source = "table dataset" })
