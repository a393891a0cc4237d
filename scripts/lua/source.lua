--!plain
-- The text of a chunk by its source, as debug.getinfo gives it: of a file, of typed input, or of a
-- loaded string; nil where unknown. And its line n, and where in a chunk a text stands.
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

-- {file =, line =}: the chunk that runs, and the first line of `part` in it; empty where it isn't
-- found there, or is there twice.
function source.place_of(part)
    for level = 3, 12 do
        local info = debug.getinfo(level, "S")
        if not info then break end
        local chunk = info.what ~= "C" and source.text(info.source)
        local at = chunk and chunk:find(part, 1, true)
        if at and not chunk:find(part, at + 1, true) then
            local before = select(2, chunk:sub(1, at - 1):gsub("\n", ""))
            return { file = info.short_src, line = before + 1 }
        end
    end
    return {}
end

return source
