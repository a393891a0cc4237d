--!plain
-- gpush sync [options] script [args]: runs a script and reports who waited for a device. As a
-- check it fails where waits are new, too many or refused.
local gpush = require "gpush"
local sync = gpush.sync

local USAGE <const> = [[
usage: gpush sync [options] script [args]
Runs the script, then prints on stderr which lines waited for a device, why and for how long.
  --warn           print a line at each wait, as sync.mode = "warn" does
  --error          refuse waits, as sync.mode = "error" does
  --baseline FILE  fail if there are waits that FILE lacks; write it where there is none
  --update         write FILE again
  --budget N       fail if there are more than N waits
  --quiet          no report, only what fails
Waits that the script allows (sync.allow) or asks for (synchronize) do not count.
]]

local options = { ["--warn"] = true, ["--error"] = true, ["--update"] = true, ["--quiet"] = true,
    ["--baseline"] = "a file", ["--budget"] = "a number" }

-- The options by name, and the place of the script among the arguments.
local function read(args)
    local given, at = {}, 1
    while args[at] and args[at]:sub(1, 1) == "-" and args[at] ~= "-" do
        local name, value = args[at]:match "^(%-%-%l+)=(.*)$"
        name = name or args[at]
        if name == "--help" or name == "-h" then return nil, io.write(USAGE) and true end
        if name == "--" then return given, at + 1 end
        local kind = options[name]
        if not kind then return nil, false, ("unknown option '%s'"):format(name) end
        if kind ~= true and not value then
            at = at + 1
            value = args[at]
            if not value then return nil, false, ("%s needs %s"):format(name, kind) end
        end
        given[name] = value or true
        at = at + 1
    end
    return given, at
end

local function say(text, ...) io.stderr:write("gpush sync: ", text:format(...), "\n") end

local function describe(row)
    local where = row.file and ("%s:%d"):format(row.file, row.line) or "?"
    say("new: %s: %s waited %d time%s; %s", where, row.what, row.times,
        row.times == 1 and "" or "s", row.advice)
end

-- Whether the waits are those of the file; writes it where it is to be written.
local function keeps(path, update)
    local file = not update and io.open(path)
    update = not file
    if file then file:close() end
    local ok, new = pcall(sync.baseline, path, { update = update })
    if not ok then
        say("%s", new:match "sync%.baseline.*" or new) -- without the line that calls os.exit
        return false
    end
    if update then
        say("wrote %s", path)
        return true
    end
    for _, row in ipairs(new) do describe(row) end
    if #new > 0 then
        say("%d %s not in %s; --update accepts %s", #new, #new == 1 and "wait is" or "waits are",
            path, #new == 1 and "it" or "them")
    end
    return #new == 0
end

local function within(budget)
    local n = 0
    for _, row in ipairs(sync.lines()) do
        if row.watched and not row.reason then n = n + row.times end
    end
    if n > budget then say("%d wait%s, at most %d allowed", n, n == 1 and "" or "s", budget) end
    return n <= budget
end

local args = table.pack(...)
local given, at, message = read(args)
if not given then
    if message then io.stderr:write("gpush sync: ", message, "\n", USAGE) end
    return at
end
local budget = given["--budget"] and math.tointeger(tonumber(given["--budget"]))
if given["--budget"] and not (budget and budget >= 0) then
    message = ("--budget: expected a number of waits, got '%s'"):format(given["--budget"])
elseif given["--update"] and not given["--baseline"] then
    message = "--update needs --baseline FILE"
elseif given["--warn"] and given["--error"] then
    message = "--warn and --error exclude each other"
elseif not args[at] then
    message = "expected a script"
end
if message then
    io.stderr:write("gpush sync: ", message, "\n", USAGE)
    return false
end
if given["--warn"] then sync.mode = "warn" end
if given["--error"] then sync.mode = "error" end

-- After the script, once: also where it calls os.exit.
local finished
local function finish(ok)
    if finished ~= nil then return finished end
    finished = ok
    sync.mode = "off"
    if not given["--quiet"] then
        io.stdout:flush()
        io.stderr:write(sync.report(false))
    end
    if given["--baseline"] and ok then
        finished = keeps(given["--baseline"], given["--update"]) and finished
    end
    if budget then finished = within(budget) and finished end
    return finished
end
local exit = os.exit
rawset(os, "exit", function(status, close)
    local fine = status == nil or status == true or status == 0
    if not finish(fine) and fine then status = false end
    return exit(status, close)
end)
return at, finish
