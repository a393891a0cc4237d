--!plain
-- bad(op, name, expected, got): raises that the argument of that name is not what is expected.
local require = ...
local fail = require "fail"

return function(op, name, expected, got)
    fail("%s: argument '%s': expected %s, got %s", op, name, expected, tostring(got))
end
