--!plain
-- gpush doctor with arguments: it takes none. Alone it is answered before anything else is loaded
-- (shell/main.c).
local require = debug.getregistry()["gpush.require"] -- that of the files here
local command = require "command_line"("doctor", [[
usage: gpush doctor
Says what works on this machine, what does not, and what to do about it.
]], {})

local given, words = command.read({ ... }, true)
if not given then return words end
return command.refuse("expected nothing more, got '%s'", words[1] or "--")
