--!plain
-- raise(text, …) for the modules written in Lua: an error at the line of the calling script, not in
-- one of these files.
local require = ...
local scripts = "@" .. require "dir" .. "/"

return function(text, ...)
    if select("#", ...) > 0 then text = text:format(...) end
    local level, info = 2, debug.getinfo(2, "S")
    while info and (info.what == "C" or info.source:sub(1, #scripts) == scripts) do
        level = level + 1
        info = debug.getinfo(level, "S")
    end
    error(text, info and level or 0)
end
