--!plain
-- gpush lab NAME [options]: runs a lab. It gets the options as if its file had been called.
local require = debug.getregistry()["gpush.require"] -- that of the files here
local command = require "command_line"("lab", [[
usage: gpush lab NAME [options]
Runs a lab; gpush labs lists them. gpush lab NAME --help tells what to look at, and the options.
]], {})
local labs = require "labs"

local args = { ... }
local given, at = command.read(args)
if not given then return at end
local name = args[at]
if not name then return command.refuse "expected a lab's name" end
local file, near = labs.file(name)
if not file then
    command.say("no lab '%s'%s", name, near and (", did you mean %s?"):format(near) or "")
    io.stderr:write(labs.text(), "\n")
    return false
end
_G.arg = table.move(args, at + 1, #args, 1, { [0] = file })
assert(loadfile(file))(table.unpack(arg))
return true
