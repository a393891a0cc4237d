--!plain
-- gpush compare BEFORE AFTER [options]: what changed between two profiles; as a check it fails
-- where the second is slower.
local require = debug.getregistry()["gpush.require"] -- that of the files here
local command = require "command_line"("compare", [[
usage: gpush compare BEFORE AFTER [options]
Shows what changed between two profiles, which prof:save or gpush profile --save wrote, or two
traces of torch.profiler.
  --fail-above P%  fail where AFTER has more than P percent more of what is compared
  --of NAME        compared: the wall time (the default), device (its busy time), waited (the host's
                   time in waits) or waits (how many)
  --group NAME     rows by op (the default), region, line, shape, stack, module, kernel or
                   rank
  --limit N        rows; 20
  --max-bytes N    read files of at most N bytes, unpacked; 1073741824
Of records with another number of steps those of a step are compared. A measured profile and a
modelled or predicted one are not compared.
The exit status is 0, 1 where the check fails, 2 for wrong options, or 3 for files that cannot be
read or compared.
]], { ["--fail-above"] = "a percentage, as in 10%",
    ["--of"] = { "wall", "device", "waited", "waits" }, ["--limit"] = 1, ["--max-bytes"] = 1,
    ["--group"] = { "op", "region", "line", "shape", "stack", "module", "kernel", "rank" } })

local MEASURES <const> = {
    wall = function(prof) return prof.wall_ns end,
    device = function(prof)
        local ns = 0
        for _, device in ipairs(prof:devices()) do ns = ns + device.span - device.idle end
        return ns
    end,
    waited = function(prof) return prof:sync().waited end,
    waits = function(prof) return prof:sync().count end,
}

local function shown(name, v)
    return name:find "^waits" and ("%.6g"):format(v) or ("%.3f ms"):format(v / 1e6)
end

-- Whether after has at most that many percent more than before, in a step where both records have
-- steps and another number of them.
local function keeps(before, after, name, percent)
    local a, b = MEASURES[name](before), MEASURES[name](after)
    local _, steps_before, steps = require "profile.diff".steps_of(after, before)
    if steps then a, b, name = a / steps_before, b / steps, name .. " of a step" end
    local fine = b <= a * (1 + percent / 100)
    command.say("%s: %s before, %s now%s: %s %g%% more", name, shown(name, a), shown(name, b),
        a > 0 and (" (%+.1f%%)"):format(100 * (b - a) / a) or "",
        fine and "not more than" or "more than", percent)
    return fine
end

local given, files = command.read({ ... }, true)
if not given then return files end
if #files ~= 2 then return command.refuse("expected two files, got %d", #files) end
local percent = given["--fail-above"]
if percent then
    local number = tonumber(percent:match "^([%d.]+)%%$")
    if not number then
        return command.refuse("--fail-above: expected a percentage, as in 10%%, got '%s'", percent)
    end
    percent = number
elseif given["--of"] then
    return command.refuse "--of needs --fail-above P%%"
end
local before = command.load(files[1], given["--max-bytes"])
local after = before and command.load(files[2], given["--max-bytes"])
if not after then return false end
local refused = require "profile.diff".refused(files[1], before, files[2], after)
if refused then return command.files(refused) end
local ok, text = pcall(after.diff, after, before,
    { group = given["--group"], limit = given["--limit"] })
if not ok then return command.wrong(text) end
io.stdout:write(text)
io.stdout:flush()
return not percent or keeps(before, after, given["--of"] or "wall", percent)
