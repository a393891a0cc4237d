--!plain
-- gpush lab NAME [options]: runs a lab. It gets the options as if its file had been called.
local dir = debug.getinfo(1, "S").source:match "^@(.*)/command/[^/]*$"
local command = assert(loadfile(dir .. "/command_line.lua", "t"))("lab", [[
usage: gpush lab NAME [options]
Runs a lab; gpush labs lists them. gpush lab NAME --help tells what to look at, and the options.
]], {})
local labs = assert(loadfile(dir .. "/labs.lua", "t"))(dir)

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
