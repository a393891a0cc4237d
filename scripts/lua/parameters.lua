--!plain
-- Parameters as a caller gives them to an optimizer, to clipping and the like. Returns
-- parameters(x, fail, what, groups), a new list of the tensors in x: a list, a model, a function
-- that gives one after the other (perhaps after its name), or one tensor. groups: entries may be
-- tables, too. fail(format, …) raises; what: the caller's name.
local require = ...
local gpush = require "gpush"
local is_tensor = gpush.is_tensor
local check_list = require "check_list"

local MOST <const> = 1000000 -- entries: more come from what never ends

return function(x, fail, what, groups)
    if is_tensor(x) then return { x } end
    if type(x) == "table" and type(x.parameters) == "function" then x = x:parameters() end
    local list, from = {}, type(x)
    local function add(v)
        local n = #list + 1
        if not (is_tensor(v) or groups and type(v) == "table") then
            fail("params: entry %d: expected a tensor, got %s", n, type(v))
        elseif n > MOST then
            fail("params: a %s gave %d parameters and did not end: it has to give nil after the \z
                last", from, MOST)
        end
        list[n] = v
    end
    if from == "table" then
        check_list(what, "params", x)
        for _, v in ipairs(x) do add(v) end
    elseif from == "function" then
        for a, b in x do add((is_tensor(a) or b == nil) and a or b) end
    else
        fail("params: expected a list of tensors%s or a model, got %s",
            groups and ", a list of groups" or "", from)
    end
    return list
end
