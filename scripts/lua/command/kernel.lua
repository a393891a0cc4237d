--!plain
-- gpush kernel: runs a kernel for notebooks (shell/kernel/kernel.c), as Jupyter starts it, or
-- installs its kernelspec, which tells Jupyter how.
local require = debug.getregistry()["gpush.require"] -- that of the files here
local gpush, registry = require "gpush", require "registry"

local keys = {}
for key in pairs(gpush.sim.cards()) do keys[#keys + 1] = key end
table.sort(keys)

local command = require "command_line"("kernel", [[
usage: gpush kernel --connection FILE
       gpush kernel install [options]
Runs a kernel for Jupyter, which starts it with a connection file; install tells Jupyter about it.
  --connection FILE  the ports and the key, as Jupyter writes them
  --user             install for this user, in ~/.local/share/jupyter, as it is without an option
  --prefix FOLDER    install in FOLDER/share/jupyter, such as a virtual environment
  --name NAME        the kernel's name; gpush
  --card NAME        "gpu" is that card, modelled, as with gpush --card
]], { ["--connection"] = "a file", ["--user"] = true, ["--prefix"] = "a folder",
    ["--name"] = "a name", ["--card"] = keys })

local given, words = command.read({ ... }, true)
if not given then return words end
if words[1] and (words[1] ~= "install" or words[2]) then
    return command.refuse("expected install, or nothing more, got '%s'", words[2] or words[1])
end

if not words[1] and not given["--connection"] then
    return command.refuse "--connection needs a file"
end
if not registry["gpush.notebooks"] then
    command.say "gpush kernel is left out of this build: CMake's option GPUSH_NOTEBOOK=ON brings \z
        it, where libzmq is (Debian's libzmq3-dev)"
    return false
end
if words[1] then return require "kernelspec" (command, given) end
registry["gpush.kernel"] = given["--connection"]
return true
