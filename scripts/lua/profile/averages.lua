--!plain
-- prof:key_averages(): the rows of a profile as torch.profiler gives them, a list with a method
-- table.
local require = ...
local fail, declared, registry = require "fail", require "declared", require "registry"

local Averages = { __name = "averages" }
Averages.__index = Averages
registry["gpush.averages"] = Averages

--- averages:table{sort =, limit =}: prof:table of the same group.
function Averages:table(sort, limit)
    return self.profile:table { group = self.group, sort = sort, limit = limit }
end
declared(Averages, "averages.", { table = "self averages, text? sort, int? limit" })
function Averages:__tostring() return self:table() end

-- prof:key_averages{group_by_input_shape = false, group_by_stack_n = 0} -> list of rows
local function key_averages(prof, shapes, stack_n)
    if stack_n < 0 then
        fail("profile.key_averages: group_by_stack_n: expected 0 or more frames, got %d", stack_n)
    end
    if shapes and stack_n > 0 then
        fail "profile.key_averages: group_by_input_shape and group_by_stack_n exclude each other"
    end
    local group = shapes and "shape" or stack_n > 0 and "stack" or "op"
    local ok, rows = pcall(prof.rows, prof, { group = group })
    if not ok then
        fail("profile.key_averages: %s: %s", shapes and "group_by_input_shape"
            or "group_by_stack_n", rows:match "needs a profile.*" or rows)
    end
    rows.group, rows.profile, rows.kind = group, prof, prof.kind
    return setmetatable(rows, Averages)
end

return { key_averages = key_averages }
