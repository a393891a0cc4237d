--!plain
-- fail(what, format, …): raises "WHAT: …" as an error of one of plot's functions.
local require = ...
local fail = require "fail"

return function(what, format, ...) fail("%s", what .. ": " .. format:format(...)) end
