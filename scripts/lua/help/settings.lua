--!plain
-- The variables of a table of the module that are no fields of it, as sync.mode: they have a help
-- text, and are not called. settings(path, v) -> {mode = true, …} of the table v called "sync".
local require = ...
local topics = require "help.topics"
local guarded = require "registry"["gpush.guarded"]

return function(path, v)
    local out, before = {}, "^" .. path:gsub("%p", "%%%0") .. "%.([%l%d_]+)$"
    for name, topic in next, topics do
        local last = type(name) == "string" and not topic.call and name:match(before)
        if last and rawget(guarded[v] or v, last) == nil then out[last] = true end
    end
    return out
end
