--!plain
-- The text of a chunk by its source, as debug.getinfo gives it: of a file, of typed input, or of a
-- loaded string; nil where unknown. And its line n.
local require = ...
local registry = require "registry"
local source = {}

function source.text(name)
    local kind = name:sub(1, 1)
    if kind == "=" then return (registry["gpush.inputs"] or {})[name] end
    if kind ~= "@" then return name end
    local file <close> = io.open(name:sub(2))
    return file and file:read "a"
end

function source.line(text, n)
    local i = 0
    for line in ((text or "") .. "\n"):gmatch "([^\n]*)\r?\n" do
        i = i + 1
        if i == n then return line end
    end
end

return source
