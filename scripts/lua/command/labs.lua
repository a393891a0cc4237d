--!plain
-- gpush labs: lists the labs, a line each.
local require = debug.getregistry()["gpush.require"] -- that of the files here
local command = require "command_line"("labs", [[
usage: gpush labs
Lists the labs: programs that show what a wait, a copy or a fork costs, a line each.
gpush lab NAME runs one.
]], {})
local labs = require "labs"

local given, words = command.read({ ... }, true)
if not given then return words end
if #words > 0 then return command.refuse("expected nothing more, got '%s'", words[1]) end
print(labs.text())
return true
