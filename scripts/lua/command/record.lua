--!plain
-- gpush record [options] train.py [args]: runs a PyTorch program unchanged, has some of its steps
-- recorded by torch.profiler, and ends with what gpush analyze says of them. The recording is done
-- by scripts/python, which Python loads since its folder stands first in PYTHONPATH.
local require = debug.getregistry()["gpush.require"] -- that of the files here
local dir = require "dir"
local command = require "command_line"("record", [[
usage: gpush record [options] train.py [args]
       gpush record [options] -m module [args]
       gpush record [options] -- command [args]
Runs a PyTorch program unchanged, or a command that starts it, as in -- torchrun train.py. Some of
its steps are recorded by torch.profiler; at the end the verdict on them follows on stderr. A step
ends where an optimizer has stepped; in a program without one, where a module is called again.
Python is the first python3 in PATH, as an activated environment's; -- .venv/bin/python train.py
names another.
  -m module      run a module, as python -m does
  --skip N       leave out the first N steps; 10. The first is left out in any case
  --steps N      record N steps; 3
  --seconds N    record N seconds instead, from N seconds after torch was imported
  --stacks       record the lines of the program; they cost time, which the record contains
  --shapes       record the shapes of ops
  --memory       record who allocated and freed memory
  --json         print one line of JSON (docs/answer.schema.json) on stdout instead of the text
  --html FILE    write a page for a browser
  --save FILE    keep the record, for gpush analyze and gpush compare
  --group NAME   rows of the table by op (the default), region, line, shape, stack, module, kernel
                 or rank
  --limit N      rows of the table; 15
and of the record is checked, which needs no quiet machine:
  --baseline FILE  fail where the record has more than FILE of what asks for no times; write it
                   where there is none
  --update         write FILE again
  --fail-on LIST   check only some, as in waits,bytes: waits (by line), launches, copies, bytes
                   (copied), peak (of memory)
  --tap            print the checks as TAP on stdout instead of the text
  --junit FILE     write them in JUnit's form
The exit status is the program's, or 1 if that is 0 and nothing was recorded or a check fails; 2
for wrong options, 3 where a file cannot be written.
]], { ["--skip"] = 0, ["--steps"] = 1, ["--seconds"] = 1, ["--stacks"] = true, ["--shapes"] = true,
    ["--memory"] = true, ["--json"] = true, ["--baseline"] = "a file", ["--update"] = true,
    ["--fail-on"] = "a list, as in waits,bytes", ["--tap"] = true, ["--junit"] = "a file",
    ["--html"] = "a file", ["--save"] = "a file",
    ["--limit"] = 1,
    ["--group"] = { "op", "region", "line", "shape", "stack", "module", "kernel", "rank" },
    ["-m"] = "rest" })

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- The lines that a shell command prints; what it says on stderr is not shown.
local function lines_of(line)
    local pipe <close> = assert(io.popen("{ " .. line .. "; } 2>/dev/null"))
    local lines = {}
    for each in pipe:lines() do lines[#lines + 1] = each end
    return lines
end

-- The command that runs the program, as words of a shell; nil after a message.
local function program(given, args, at)
    if not given["--"] then
        local python = lines_of "command -v python3 || command -v python"[1]
        if not python then
            command.say "there is no python3 here: activate your environment, or name it after --"
            return nil
        end
        table.insert(args, at, python)
        if given["-m"] then table.insert(args, at + 1, "-m") end
    elseif #lines_of("command -v " .. quoted(args[at])) == 0 then
        command.say("there is no command '%s' here", args[at])
        return nil
    end
    local words = {}
    for i = at, #args do words[#words + 1] = quoted(args[i]) end
    return table.concat(words, " ")
end

-- Removes a folder once it is closed, or this process is gone, however that ends.
local function remover(folder)
    return io.popen(("exec $(command -v setsid) sh -c %s >/dev/null 2>&1"):format(quoted(
        "trap '' HUP INT TERM; cat; rm -rf " .. quoted(folder))), "w")
end

-- Runs the program with gpush's folder in front; its exit status, as a shell gives it, and how
-- it ended (shell/attend.c). It does not inherit that file.
local function run(given, line, folder, file)
    local words = { "skip=" .. (given["--skip"] or 10), "steps=" .. (given["--steps"] or 3) }
    if given["--seconds"] then words[3] = "seconds=" .. given["--seconds"] end
    for _, option in ipairs { "stacks", "shapes", "memory" } do
        if given["--" .. option] then words[#words + 1] = option end
    end
    -- Without Kineto's log, which says on stderr that it has begun and ended. The program ends when
    -- gpush does.
    return require "registry"["gpush.attend"](([[
export PYTHONPATH=%s"${PYTHONPATH:+:$PYTHONPATH}" GPUSH_RECORD_DIR=%s GPUSH_RECORD=%s
export KINETO_LOG_LEVEL="${KINETO_LOG_LEVEL:-99}"
end_with_gpush=$(command -v setpriv) && end_with_gpush="$end_with_gpush --pdeathsig TERM"
exec $end_with_gpush %s]]):format(quoted(dir:gsub("/[^/]*$", "") .. "/python"), quoted(folder),
        quoted(table.concat(words, " ")), line), file)
end

-- ---- what was recorded ----

-- Says why nothing was recorded.
local function say_why(folder, status)
    local notes = lines_of("sort -u " .. quoted(folder) .. "/note-*")
    if #notes == 0 then notes = lines_of("cat " .. quoted(folder) .. "/idle") end
    if #notes == 0 then
        local without = lines_of("cat " .. quoted(folder) .. "/no-torch")[1]
        if #lines_of(("ls %s/note-* %s/idle"):format(quoted(folder), quoted(folder))) > 0 then
            notes[1] = ("there is no room in %s (TMPDIR)"):format(folder)
        elseif without then
            notes[1] = without .. ": activate the environment that has it, or name its Python: \z
                gpush record -- /path/to/python train.py"
        elseif #lines_of("ls " .. quoted(folder) .. "/python") == 0 then
            notes[1] = "no Python started that loads gpush's package (python -I, -E and -S do not)"
        elseif status > 128 then
            notes[1] = ("signal %d ended the program before"):format(status - 128)
        else
            notes[1] = "the program did not import torch, or ended by os._exit before"
        end
    end
    command.say("nothing was recorded: %s", table.concat(notes, "; "))
end

-- The ranks' files, how many ranks there were, and whether they are by time: records of steps
-- before those by time, and of ranks before those of a process that knows of none, such as a
-- launcher.
local function recorded(folder)
    for _, kind in ipairs { "steps-rank", "steps-lone", "time-rank", "time-lone" } do
        local files, world = {}, 0
        for _, file in ipairs(lines_of(("ls -v %s/%s-*.json"):format(quoted(folder), kind))) do
            local size = tonumber(file:match "%-of%-(%d+)%.json$")
            if size > world then files, world = {}, size end
            if size == world then files[#files + 1] = file end
        end
        if #files > 0 then return files, world, kind:find "^time" end
    end
    return {}, 0
end

-- Shows the record, as text on stderr or as JSON.
local function show(given, prof, several)
    if given["--json"] then return command.answer(prof, given["--limit"]) end
    local text = command.summary(prof, given["--group"], given["--limit"], nil, several)
    text = text:gsub("(Loaded from )/%S+/", "%1") -- the folder is gone when this is read
    io.stderr:write(text)
end

-- The profile of all ranks' files; of the first alone, which is said, where they do not make one.
local function load(files)
    if #files == 1 then return command.load(files[1]), 1 end
    local ok, prof = pcall(gpush.profile.load, files)
    if ok then return prof, #files end
    if not tostring(prof):find "no ranks of one job" then return command.files(prof) end
    command.say("the %d ranks ran no step at the same time, so they make no record of one job; \z
        what follows is of the first of them alone", #files)
    return command.load(files[1]), 1
end

-- Shows and writes what was recorded; whether all of it worked.
local function deliver(given, files, world, by_time)
    local prof, ranks = load(files)
    if not prof then return false end
    if #files < world then command.say("%d of %d ranks were recorded", #files, world) end
    io.stdout:flush()
    if not given["--tap"] then show(given, prof, ranks > 1) end
    for option, method in pairs { ["--html"] = "report", ["--save"] = "save" } do
        if given[option] then
            local ok, message = pcall(prof[method], prof, given[option])
            if not ok then return command.files(message) end
            command.say("wrote %s", given[option])
        end
    end
    return command.check(prof, given, by_time)
end

local args = table.pack(...)
local given, at = command.read(args)
if not given then return at end
if not args[at] then return command.refuse "expected a program" end
if args[at] == "" then return command.refuse "expected a program, got ''" end
if not command.may_write(given, { "--html", "--save", "--baseline", "--junit" },
    { table.unpack(args, at) }) or not command.may_check(given) then
    return false
end
if given["--json"] and given["--tap"] then
    return command.refuse "--json and --tap exclude each other"
end
local recorder = dir:gsub("/[^/]*$", "") .. "/python/sitecustomize.py"
if not io.open(recorder) then
    command.say("cannot record: %s is missing; gpush doctor says how to bring it back", recorder)
    return false
end
require "registry"["gpush.recorded"] = table.move(args, at, #args, 1, {}) -- for the page's title
local line = program(given, args, at)
if not line then return false end
-- The program may go to another folder, so that the path must be a whole one.
local folder = table.concat(
    lines_of 'folder=$(mktemp -d) && CDPATH= cd -- "$folder" && pwd', "\n")
if folder == "" then return command.files "cannot make a folder for temporary files" end
local removes <close> = remover(folder)
local status, how = run(given, line, folder, removes)
local files, world, by_time = {}, 0, nil
if how ~= "killed" then files, world, by_time = recorded(folder) end
local fine = #files > 0 and deliver(given, files, world, by_time)
if how == "killed" then
    command.say "a second signal came: the program was killed, and what it recorded is not shown"
elseif #files == 0 then
    say_why(folder, status)
end
if status ~= 0 then require "registry"["gpush.status"] = status end
return fine and status == 0
