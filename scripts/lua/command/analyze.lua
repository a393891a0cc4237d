--!plain
-- gpush analyze FILE [...]: what a saved profile or a trace of torch.profiler shows, without a
-- script.
local require = debug.getregistry()["gpush.require"] -- that of the files here
local command = require "command_line"("analyze", [[
usage: gpush analyze FILE... [options]
FILE is a profile that prof:save wrote or a trace of torch.profiler, packed by gzip or not, a
database by nsys export --type sqlite, or - for standard input; several are those of a job's ranks.
Of a trace that is cut, what came before is read.
  --json        print one line of JSON (docs/answer.schema.json) instead of the text
  --html FILE   write a page for a browser
  --diff FILE   show what changed since that profile or trace
  --group NAME  rows of the table by op (the default), region, line, shape, stack, module, kernel or
                rank
  --limit N     rows of the table; 15
  --max-bytes N read files of at most N bytes, unpacked; 1073741824
and predicted, from profiles with costs (prof:on):
  --network NAME  on that network: 400Gb, nvlink, measured ...; without --ranks a table of 2 to
                  1,024 ranks comes last
  --ranks N       with N ranks, on a network
  --card NAME     on that card: h200, h100, a100, v100, mi250, t4; also before the command
and checked, which needs no quiet machine:
  --baseline FILE  fail where the record has more than FILE of what asks for no times; write it
                   where there is none
  --update         write FILE again
  --fail-on LIST   check only some, as in waits,bytes: waits (by line), launches, copies, bytes
                   (copied), peak (of memory)
  --tap            print the checks as TAP on stdout instead of the text
  --junit FILE     write them in JUnit's form
The exit status is 0, 1 where a check fails, 2 for wrong options, or 3 for a file that cannot be
read or written.
]], { ["--json"] = true,
    ["--baseline"] = "a file", ["--update"] = true, ["--fail-on"] = "a list, as in waits,bytes",
    ["--tap"] = true, ["--junit"] = "a file", ["--html"] = "a file",
    ["--diff"] = "a file", ["--limit"] = 1, ["--ranks"] = 1,
    ["--max-bytes"] = 1, ["--network"] = "a name", ["--card"] = "a name",
    ["--group"] = { "op", "region", "line", "shape", "stack", "module", "kernel", "rank" } })

-- The wall times of other numbers of ranks, as text.
local function scaling(prof, card, network)
    local lines = { "\nPredicted, not measured: the wall time with more ranks", "ranks  wall time" }
    for k = 1, 10 do
        local p = prof:on { card = card, ranks = 1 << k, network = network }
        lines[k + 2] = ("%5d  %9.3fms"):format(1 << k, p.wall_ns / 1e6)
        if k == 1 then
            lines[13] = ("%s; %s"):format(p.predicted:gsub("^(.-)2 ranks on", "%1on"), p.accuracy)
        end
    end
    return table.concat(lines, "\n")
end

local function show(given, several, recorded, before)
    local card, ranks, network = given["--card"], given["--ranks"], given["--network"]
    local predicted = card or ranks or network
    local prof = predicted and recorded:on { card = card, ranks = ranks, network = network }
        or recorded
    if given["--tap"] then return prof end
    if given["--json"] then
        command.answer(prof, given["--limit"])
        return prof
    end
    io.stdout:write(command.summary(prof, given["--group"], given["--limit"], nil, several))
    if before then
        print(("\nChanges since %s\n%s"):format(given["--diff"], prof:diff(before)))
    end
    if network and not ranks then print(scaling(recorded, card, network)) end
    return prof
end

-- What the command does with the files; whether it succeeded.
local function run(given, files)
    local most = given["--max-bytes"]
    local recorded = command.load(#files > 1 and files or files[1], most)
    local before = recorded and given["--diff"] and command.load(given["--diff"], most)
    if not recorded or given["--diff"] and not before then return false end
    local ok, prof = pcall(show, given, #files > 1, recorded, before)
    if not ok then return command.wrong(prof) end
    local passed = command.check(prof, given)
    if not given["--html"] then return passed end
    local written, message = pcall(prof.report, prof, given["--html"])
    if not written then return command.files(message) end
    if not given["--json"] then print(("\nThe page is in %s"):format(given["--html"])) end
    return passed
end

local given, files = command.read({ ... }, true)
if not given then return files end
given["--card"] = given["--card"] or require "gpush".sim.card -- of gpush --card NAME analyze
if #files == 0 then return command.refuse "no file is given" end
local outputs = 0
for _, option in ipairs { "--json", "--tap", "--diff" } do
    outputs = outputs + (given[option] and 1 or 0)
end
if outputs > 1 then
    return command.refuse "--json, --tap and --diff exclude each other"
end
local inputs = table.move(files, 1, #files, 1, {})
inputs[#inputs + 1] = given["--diff"]
if not command.may_write(given, { "--html", "--baseline", "--junit" }, inputs)
    or not command.may_check(given) then
    return false
end
return run(given, files)
