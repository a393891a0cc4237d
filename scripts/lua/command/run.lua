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
The exit status is that of the rank that failed first, or 128 and the number of the signal that
ended it, as mpirun tells it; 2 for wrong options, 3 where there is no mpirun.
]]
local MOST <const> = 65536 -- ranks: more is a slip of the hand, and mpirun would try

local function say(text, ...) io.stderr:write("gpush run: ", text:format(...), "\n") end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- What a shell command prints, without the last line's end.
local function output(command)
    local pipe <close> = assert(io.popen(command .. " 2>/dev/null"))
    return (assert(pipe:read "a"):gsub("\n$", ""))
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

local function whole(text) return text and text:find "^%d+$" and math.tointeger(tonumber(text)) end

-- Whether N is a number of processes and there is a script; else the reason.
local function wrong(given)
    local n = whole(given["-n"])
    if not given["-n"] then return "-n N is missing: how many processes" end
    if not n or n < 1 or n > MOST then
        return ("-n: expected a number of processes, 1 to %d, got '%s'"):format(MOST, given["-n"])
    end
    local restarts = whole(given["--restarts"] or "0")
    if not restarts or restarts < 0 then
        return ("--restarts: expected a number from 0, got '%s'"):format(given["--restarts"])
    end
    if not given.script[1] then return "expected a script" end
end

-- The launchers of each MPI, which are tried in turn, and what their versions say.
local mpis = {
    ["Open MPI"] = { "mpirun.openmpi", "mpirun", says = { "Open MPI", "OpenRTE" },
        package = "openmpi-bin" },
    ["MPICH"] = { "mpiexec.hydra", "mpirun.mpich", "mpirun", says = { "HYDRA", "MPICH" },
        package = "mpich" },
}

-- The launcher of one MPI, or nothing.
local function find(mpi)
    for _, name in ipairs(mpi) do
        local version = output(name .. " --version")
        for _, word in ipairs(mpi.says) do
            if version:find(word, 1, true) then return name end
        end
    end
end

-- That of the plug-in's MPI, since another one's would start processes that do not find each
-- other; where there is no plug-in, which dist then says, of any. And the name of its MPI.
local function find_launcher()
    local engine = debug.getregistry()["gpush.dist"].mpi()
    for kind, mpi in pairs(mpis) do
        if engine and engine:find(kind, 1, true) then return find(mpi), kind end
    end
    for _, kind in ipairs { "Open MPI", "MPICH" } do
        local name = find(mpis[kind])
        if name then return name, kind end
    end
    return nil, "Open MPI"
end

-- The launcher with its options. Open MPI refuses root and more processes than cores unless told,
-- and binds each to one core, where a rank's threads would share it.
local function launcher(given, name, kind)
    local list = { name }
    local function add(text) list[#list + 1] = text end
    if kind == "Open MPI" then
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
    debug.getregistry()["gpush.status"] = 2 -- shell/shell.h
    return false
end
if not given then return result end
local there, name, kind = pcall(find_launcher)
if not there then -- a build without dist, which says so
    say("%s", (name:gsub("^[^:]*:%d+: ", "")))
    debug.getregistry()["gpush.status"] = 3
    return false
end
if not name then
    say("there is no mpirun of %s here: install %s, or start the script with srun", kind,
        mpis[kind].package)
    debug.getregistry()["gpush.status"] = 3
    return false
end
local command = launcher(given, name, kind)
local threads = math.max(1, (tonumber(output "nproc") or 1) // given["-n"])
local words = {}
for i, word in ipairs(given.script) do words[i] = quoted(word) end
-- What a shell runs, whose parent is this program.
local function line(before)
    return ('gpush=$(readlink /proc/$PPID/exe) && export OMP_NUM_THREADS="${OMP_NUM_THREADS:-%d}"'
        .. ' && exec %s%s "$gpush" %s'):format(threads, before, command, table.concat(words, " "))
end
if given["--print"] then
    print(line "")
    return true
end
-- mpirun ends its ranks on SIGTERM, which the kernel sends it when this program is gone.
local job = line(output "command -v setpriv" ~= "" and "setpriv --pdeathsig TERM " or "")

-- Runs the job until it succeeds, up to the number of restarts. One that was interrupted (130) or
-- ended (143) by a signal is not started again. Its status is this program's.
local restarts = tonumber(given["--restarts"] or 0)
for again = 0, restarts do
    local code, how, asked = debug.getregistry()["gpush.attend"](
        ("export GPUSH_RESTARTS=%d && %s"):format(again, job))
    if code == 0 then return true end
    if code == 130 or code == 143 or asked or how ~= "exit" or again == restarts then
        os.exit(code)
    end
    say("the job has failed (exit code %d); restart %d of %d", code, again + 1, restarts)
end
