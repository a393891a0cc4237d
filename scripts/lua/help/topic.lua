--!plain
-- topic(name): the longer help text of that name, nil if there is none; and the table of them all.
local require = ...

return function(name)
    local topics = require "help.topics"
    return topics[name], topics
end
