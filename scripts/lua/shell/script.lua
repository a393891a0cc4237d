--!plain
-- The kind of a file that was to be run and is not Lua: script(name, kind) is a line about it, or
-- nil. kind: the kind by the file's first bytes, or nil.
local python =
    "this is Python, and gpush runs Lua: run it with python3; at gpush's prompt each line is \z
        answered with what to write in Lua"
local notebook =
    "this is a Jupyter notebook, and gpush runs Lua: jupyter nbconvert --to script FILE makes a \z
        program of Python of it"

local marks = { "^import%s+[%a_]", "^from%s+[%w_.]+%s+import%s", "^%s*def%s+[%w_]+%s*%(.*:%s*$",
    "^%s*class%s+[%w_]+.*:%s*$",
    "^#!.*python" }

-- Whether one of the first lines has something that only Python has.
local function is_python(name)
    local n = 0
    for line in io.lines(name) do
        for _, mark in ipairs(marks) do
            if line:find(mark) then return true end
        end
        n = n + 1
        if n == 200 then return false end
    end
end

return function(name, kind)
    if kind then return "this is " .. kind end
    if name:find "%.ipynb$" then return (notebook:gsub("FILE", function() return name end)) end
    -- a .lua file needs such a line
    if name:find "%.pyw?$" or not name:find "%.lua$" and is_python(name) then return python end
end
