--!plain
-- gpush analyze FILE [...]: what a saved profile or a trace of torch.profiler shows, without a
-- script.
local gpush = require "gpush"
local dir = debug.getinfo(1, "S").source:match "^@(.*)/command/[^/]*$"

local command = assert(loadfile(dir .. "/command_line.lua", "t"))("analyze", [[
usage: gpush analyze FILE... [options]
FILE is a profile that prof:save wrote or a trace of torch.profiler, packed by gzip or not; several
are those of a job's ranks.
  --html FILE   write a page for a browser
  --diff FILE   show what changed since that profile or trace
  --group NAME  rows of the table by op (the default), region, line, shape, stack, module or rank
  --limit N     rows of the table; 15
]], { ["--html"] = "a file", ["--diff"] = "a file", ["--limit"] = 1,
    ["--group"] = { "op", "region", "line", "shape", "stack", "module", "rank" } })

local function run(given, files)
    local prof = gpush.profile.load(#files > 1 and files or files[1])
    local before = given["--diff"] and gpush.profile.load(given["--diff"])
    io.stdout:write(command.summary(prof, given["--group"], given["--limit"], nil, #files > 1))
    if before then
        print(("\nChanges since %s\n%s"):format(given["--diff"], prof:diff(before)))
    end
    if given["--html"] then
        prof:report(given["--html"])
        print(("\nThe page is in %s"):format(given["--html"]))
    end
end

local given, files = command.read({ ... }, true)
if not given then return files end
if #files == 0 then return command.refuse "no file is given" end
local ok, message = pcall(run, given, files)
if not ok then command.say("%s", message:match "profile%.%l+: .*" or message) end
return ok
