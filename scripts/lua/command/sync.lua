--!plain
-- gpush sync [options] script [args]: runs a script and reports who waited for a device. As a
-- check it fails where waits are new, too many or refused.
local require = debug.getregistry()["gpush.require"] -- that of the files here
local gpush = require "gpush"
local sync = gpush.sync

local command = require "command_line"("sync", [[
usage: gpush sync [options] script [args]
Runs the script, then prints on stderr which lines waited for a device, why and for how long.
  --warn           print a line at each wait, as sync.mode = "warn" does
  --error          refuse waits, as sync.mode = "error" does
  --baseline FILE  fail if there are waits that FILE lacks or has half as often;
                   write it where there is none
  --update         write FILE again
  --budget N       fail if there are more than N waits
  --skip N         nothing counts, and nothing is refused, before the end of an optimizer's Nth step
  --json           print one line of JSON (docs/answer.schema.json) on stdout instead of the report
  --quiet          no report, only what fails
Waits that the script allows (sync.allow) or asks for (synchronize) do not count.
The exit status is the script's, 1 where a check fails, 2 for wrong options, or 3 for a file of
waits that cannot be read or written.
]], { ["--warn"] = true, ["--error"] = true, ["--update"] = true, ["--quiet"] = true,
    ["--json"] = true,
    ["--baseline"] = "a file", ["--budget"] = 0, ["--skip"] = 0 })
local say <const> = command.say

local function describe(row)
    local where = row.file and ("%s:%d"):format(row.file, row.line) or "?"
    say("%s: %s: %s waited %d time%s%s%s; %s", row.before and "more" or "new", where, row.what,
        row.times, row.times == 1 and "" or "s",
        row.alike and (", with lines of the same text %d"):format(row.alike) or "",
        row.before and (", %d in the file"):format(row.before) or "", row.advice)
end

-- Whether the waits are those of the file; writes it where it is to be written.
local function keeps(path, update)
    local file = not update and io.open(path)
    update = not file
    if file then file:close() end
    local ok, new = pcall(sync.baseline, path, { update = update })
    if not ok then
        return command.files(new:match "sync%.baseline.*" or new) -- without who called os.exit
    end
    if update then
        say("wrote %s", path)
        return true
    end
    local more = false
    for _, row in ipairs(new) do
        describe(row)
        more = more or row.before ~= nil
    end
    if #new > 0 then
        say("%d %s not in %s%s; --update accepts %s", #new, #new == 1 and "wait is" or "waits are",
            path, more and ", or half as often" or "", #new == 1 and "it" or "them")
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
local given, at = command.read(args)
if not given then return at end
local budget = given["--budget"]
if given["--update"] and not given["--baseline"] then
    return command.refuse "--update needs --baseline FILE"
elseif given["--warn"] and given["--error"] then
    return command.refuse "--warn and --error exclude each other"
elseif not args[at] then
    return command.refuse "expected a script"
end
if not command.may_write(given, { "--baseline" }, { table.unpack(args, at) }) then return false end

local steps, skip = 0, given["--skip"] or 0
local function begin()
    if given["--warn"] then sync.mode = "warn" end
    if given["--error"] then sync.mode = "error" end
end
if skip == 0 then begin() end
require "registry"["gpush.stepped"] = function()
    steps = steps + 1
    if steps ~= skip then return end
    sync.reset()
    begin()
end

-- Whether --skip steps were taken; says what --skip is for where the first refusal came before.
local function skipped(ok)
    if steps < skip then
        say("%d step%s of an optimizer, --skip %d waits for more", steps, steps == 1 and "" or "s",
            skip)
        return false
    end
    local refused = 0
    for _, row in ipairs(sync.lines()) do refused = refused + row.refused end
    if not ok and refused > 0 and steps == 0 then
        say "refused before the first step; --skip 1 begins after it"
    end
    return ok
end

command.after_script(function(ok, began)
    sync.mode = "off"
    if not began then return false end
    if given["--json"] then
        local answer = require "profile.answer"
        answer.print(answer.of_waits(sync.lines()))
    elseif not given["--quiet"] then
        io.stdout:flush()
        io.stderr:write(sync.report(false))
    end
    ok = skipped(ok)
    if given["--baseline"] and ok then ok = keeps(given["--baseline"], given["--update"]) end
    if budget then ok = within(budget) and ok end
    return ok
end)
return at
