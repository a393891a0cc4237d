--!plain
-- failing(name): fail(text, …), which raises with the optimizer's name in front.
local require = ...
local raise = require "raise"

return function(name)
    return function(text, ...)
        raise("optim.%s: %s", name, select("#", ...) > 0 and text:format(...) or text)
    end
end
