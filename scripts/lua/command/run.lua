--!plain
-- gpush run -n N [options] script [args]: runs a script in N processes that find each other by
-- dist, started by mpirun.
local USAGE <const> = [[
usage: gpush run -n N [options] script [args]
Runs the script in N processes (ranks), which use dist. mpirun starts them: Open MPI's or MPICH's.
  -n N           how many
  --hosts A,B    on these machines, as mpirun takes them (A:4 for four)
  --restarts N   start the job again, up to N times, where it fails; GPUSH_RESTARTS in the script's
                 environment is how often that has happened
  --print        only print the command
OMP_NUM_THREADS, where it is not set, becomes the processors of this machine divided by N.
]]

local function say(text, ...) io.stderr:write("gpush run: ", text:format(...), "\n") end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- What a shell command prints, without the last line's end.
local function output(command)
    local pipe <close> = assert(io.popen(command .. " 2>/dev/null"))
    return (pipe:read "a":gsub("\n$", ""))
end

-- The options by name, and the script with its arguments; or nothing, and what to return.
local function read(args)
    local given, at = {}, 1
    while args[at] and args[at]:sub(1, 1) == "-" do
        local name, value = args[at]:match "^(%-%-%l+)=(.*)$"
        if args[at]:match "^%-n%d+$" then name, value = "-n", args[at]:sub(3) end
        name = name or args[at]
        at = at + 1
        if name == "--help" or name == "-h" then return nil, io.write(USAGE) and true end
        if name == "--" then break end
        if name == "-n" or name == "--hosts" or name == "--restarts" then
            if not value then value, at = args[at], at + 1 end
            if not value then return nil, false, name .. " needs a value" end
            given[name] = value
        elseif name == "--print" then
            given[name] = true
        else
            return nil, false, ("unknown option '%s'"):format(name)
        end
    end
    given.script = table.move(args, at, #args, 1, {})
    return given
end

-- Whether N is a number of processes and there is a script; else the reason.
local function wrong(given)
    local n = math.tointeger(tonumber(given["-n"]))
    if not given["-n"] then return "-n N is missing: how many processes" end
    if not n or n < 1 then
        return ("-n: expected a number of processes, got '%s'"):format(given["-n"])
    end
    local restarts = math.tointeger(tonumber(given["--restarts"] or 0))
    if not restarts or restarts < 0 then
        return ("--restarts: expected a number from 0, got '%s'"):format(given["--restarts"])
    end
    if not given.script[1] then return "expected a script" end
end

-- The launcher's options. Open MPI refuses root and more processes than cores unless told, and
-- binds each to one core, where a rank's threads would share it.
local function launcher(given)
    local version = output "mpirun --version"
    if version == "" then return nil end
    local list = { "mpirun" }
    local function add(text) list[#list + 1] = text end
    if version:find "Open MPI" or version:find "OpenRTE" then
        if output "id -u" == "0" then add "--allow-run-as-root" end
        add "--oversubscribe --bind-to none"
        if given["--hosts"] then add("--host " .. quoted(given["--hosts"])) end
    elseif given["--hosts"] then
        add("-hosts " .. quoted(given["--hosts"]))
    end
    add("-n " .. given["-n"])
    return table.concat(list, " ")
end

local given, result, message = read { ... }
if given then message = wrong(given) end
if message then
    io.stderr:write("gpush run: ", message, "\n", USAGE)
    return false
end
if not given then return result end
local command = launcher(given)
if not command then
    say "there is no mpirun here: install openmpi-bin (or mpich), or start the script with srun"
    return false
end
local threads = math.max(1, (tonumber(output "nproc") or 1) // given["-n"])
local words = {}
for i, word in ipairs(given.script) do words[i] = quoted(word) end
-- the shell's parent is this program
local line = ('gpush=$(readlink /proc/$PPID/exe) && export OMP_NUM_THREADS="${OMP_NUM_THREADS:-%d}"'
    .. ' && exec %s "$gpush" %s'):format(threads, command, table.concat(words, " "))
if given["--print"] then
    print(line)
    return true
end

-- Runs the job until it succeeds, up to the number of restarts. One that was interrupted (130) or
-- ended (143) by a signal is not started again.
local restarts = tonumber(given["--restarts"] or 0)
for again = 0, restarts do
    local ok, how, code = os.execute(("export GPUSH_RESTARTS=%d && %s"):format(again, line))
    if ok then return true end
    local stopped = how == "signal" or code == 130 or code == 143
    if stopped or again == restarts then return false end
    say("the job has failed (exit code %d); restart %d of %d", code, again + 1, restarts)
end
