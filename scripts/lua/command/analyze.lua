--!plain
-- gpush analyze FILE [...]: what a saved profile or a trace of torch.profiler shows, without a
-- script.
local gpush = require "gpush"

local GROUPS <const> = { op = true, region = true, line = true, shape = true, stack = true,
    rank = true }
local USAGE <const> = [[
usage: gpush analyze FILE... [options]
FILE is a profile that prof:save wrote or a trace of torch.profiler, packed by gzip or not; several
are the traces of a job's ranks.
  --html FILE   write a page for a browser
  --diff FILE   show what changed since that profile or trace
  --group NAME  rows of the table by op (the default), region, line, shape, stack or rank
  --limit N     rows of the table; 15
]]

-- The options' values by name, and the files; or nil and what is wrong.
local function read(list)
    local values, files = {}, {}
    local known <const> = { ["--html"] = true, ["--diff"] = true, ["--group"] = true,
        ["--limit"] = true }
    local i = 1
    while i <= #list do
        local word = list[i]
        if word == "--help" or word == "-h" then return { help = true }, files end
        if known[word] then
            i = i + 1
            if not list[i] then return nil, ("'%s' needs a value"):format(word) end
            values[word:sub(3)] = list[i]
        elseif word:sub(1, 1) == "-" then
            return nil, ("unrecognized option '%s'"):format(word)
        else
            files[#files + 1] = word
        end
        i = i + 1
    end
    if #files == 0 then return nil, "no file is given" end
    local n = values.limit
    values.limit = n and math.tointeger(tonumber(n)) or not n and 15
    if not values.limit or values.limit < 1 then
        return nil, ("--limit: expected a number of rows, got '%s'"):format(n)
    end
    if not GROUPS[values.group or "op"] then
        return nil, ("--group: expected op, region, line, shape, stack or rank, got '%s'"):format(
            values.group)
    end
    return values, files
end

local function section(name, text) print(("\n%s\n%s"):format(name, text)) end

local function show(prof, values)
    local devices = prof:devices()
    print(prof)
    section("Ops", prof:table { group = values.group, limit = values.limit,
        sort = #devices > 0 and "device_time_total" or "cpu_time_total" })
    section("Waits of the host", tostring(prof:sync()))
    if #devices > 0 then
        section("Devices", tostring(devices))
        section("Streams", tostring(prof:queues()))
    end
end

local function run(values, files)
    local prof = gpush.profile.load(#files > 1 and files or files[1])
    local before = values.diff and gpush.profile.load(values.diff)
    show(prof, values)
    if before then section("Changes since " .. values.diff, prof:diff(before)) end
    if values.html then
        prof:report(values.html)
        print(("\nThe page is in %s"):format(values.html))
    end
end

local values, files = read { ... }
if not values then
    io.stderr:write("gpush analyze: ", files, "\n", USAGE)
    return false
end
if values.help then
    io.stdout:write(USAGE)
    return true
end
local ok, message = pcall(run, values, files)
if not ok then
    io.stderr:write("gpush analyze: ", message:match "profile%.%l+: .*" or message, "\n")
end
return ok
