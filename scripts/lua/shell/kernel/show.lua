--!plain
-- What a notebook shows of values: the text that the prompt prints, and where there is more to
-- show, HTML.
local require = ...
local native = require "kernel.native"
local html = require "shell.kernel.html"
local show = {}

-- The texts that print would print.
local function text_of(...)
    local values = table.pack(native.shown(...))
    for i = 1, values.n do values[i] = tostring(values[i]) end
    return table.concat(values, "\t")
end

-- The data of values by their type, as display messages have them; or nil, a message, and whether
-- it was interrupted.
function show.values(...)
    local ok, text, interrupted = native.call("echo", text_of, ...)
    if not ok then return nil, text, interrupted end
    local data = { ["text/plain"] = native.utf8(text) }
    local rich, more = native.call("quiet", html.of, (...), text)
    if select("#", ...) == 1 and rich then data["text/html"] = more end
    return { data = data, metadata = {} }
end

return show
