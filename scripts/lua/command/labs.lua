--!plain
-- gpush labs: lists the labs, a line each.
local dir = debug.getinfo(1, "S").source:match "^@(.*)/command/[^/]*$"
local command = assert(loadfile(dir .. "/command_line.lua", "t"))("labs", [[
usage: gpush labs
Lists the labs: programs that show what a wait, a copy or a fork costs, a line each.
gpush lab NAME runs one.
]], {})
local labs = assert(loadfile(dir .. "/labs.lua", "t"))(dir)

local given, words = command.read({ ... }, true)
if not given then return words end
if #words > 0 then return command.refuse("expected nothing more, got '%s'", words[1]) end
print(labs.text())
return true
