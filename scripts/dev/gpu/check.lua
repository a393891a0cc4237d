-- What scripts/dev/gpu-check does on the machine with the GPU: the parts of parts.lua that were
-- asked for by name, or all of them in their order, each within its own time and all within one;
-- then report.json and REPORT.md (report.lua), and exit status 1 where something failed. gpush
-- check.lua ROOT OUT DEVICE [PART ... | --list]; DEVICE is cuda, or sim to try the program itself.
-- ROOT has scripts/ and tests/. GPUSH_CHECK_SECONDS is the time for all, GPUSH_CHECK_SMALL=1 takes
-- little work for a trial on the stand-in for CUDA, and GPUSH_CHECK_BEFORE names the program of an
-- older gpush, which the part `mended` runs, too.
local root, out, device = arg[1], arg[2], arg[3]
local folder = arg[0]:match ".*/" or ""
local gpush = os.getenv "GPUSH_PROGRAM" or root .. "/build/default/gpush"
local started = os.time()
-- seconds in all: a run of 10 minutes with the report
local most = tonumber(os.getenv "GPUSH_CHECK_SECONDS") or 560

local function quote(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

local function read(path)
    local f = io.open(path)
    local text = f and f:read "a" or ""
    if f then f:close() end
    return text
end

-- The output of a command, or nil if it fails or takes longer than a minute (a driver that hangs,
-- an import from a slow disk).
local function output(command)
    local p = io.popen("timeout -k 5 60 sh -c " .. quote(command) .. " 2>/dev/null </dev/null")
    local text = p:read "a"
    return p:close() and text:gsub("%s+$", "") or nil
end

-- Other programs must not see the libraries of the bundle.
local clean = "env -u LD_LIBRARY_PATH "

-- in order: name, ok, seconds, what, log; the reason if there is no device
local parts, absent = {}, nil
local waiting = {} -- parts that will run at the same time

local function add_part(name, ok, seconds, what, log)
    parts[#parts + 1] = { name = name, ok = ok and true or false, seconds = seconds, what = what,
        log = log, text = log and read(log) or "" }
    return parts[#parts]
end

local function log_of(name) return out .. "/" .. name:gsub("[^%w]+", "-") .. ".log" end

-- What became of a part that has ended with this exit status.
local function judged(name, limit, seconds, status, judge)
    local text, ok = read(log_of(name)), status == 0
    local what = ok and "ran" or "exit status " .. tostring(status)
    if status == 124 or status == 137 then ok, what = false, "stopped after " .. limit .. " s"
    elseif judge then ok, what = judge(text, ok, status) end
    return add_part(name, ok, seconds, what, log_of(name))
end

-- The shell's command for a part, and its limit of time; nil where it does not run.
local function command_of(name, limit, command)
    if absent then add_part(name, false, 0, "not run: there is no CUDA device") return end
    limit = math.min(limit, most - (os.time() - started))
    if limit < 1 then add_part(name, false, 0, "not run: no time was left") return end
    return ("cd %s && timeout -k 5 %d %s >%s 2>&1 </dev/null"):format(quote(root), limit, command,
        quote(log_of(name))), limit
end

-- Runs a part alone, as what is timed must.
local function part(name, limit, command, judge)
    local shell, seconds = command_of(name, limit, command)
    if not shell then return parts[#parts] end
    io.stderr:write(("gpu-check: %s, at most %d s of the %d left\n"):format(name, seconds,
        most - (os.time() - started)))
    local t0 = os.time()
    local _, _, status = os.execute(shell)
    return judged(name, seconds, os.time() - t0, status, judge)
end

-- Puts a part among those that `together` runs.
local function later(name, limit, command, judge)
    waiting[#waiting + 1] = { name = name, limit = limit, command = command, judge = judge }
end

-- Runs the parts of `later`, several at a time: a program takes seconds to begin on a card.
local function together(jobs)
    local script = out .. "/parts.sh"
    local f = assert(io.open(script, "w"))
    for i, p in ipairs(waiting) do
        p.shell, p.limit = command_of(p.name, p.limit, p.command)
        if p.shell then
            f:write(("%d)\nbegun=$(date +%%s)\n%s\necho $? $(($(date +%%s) - begun)) >%s\n;;\n")
                :format(i, p.shell, quote(log_of(p.name) .. ".status")))
        end
    end
    f:close()
    local text = "case $1 in\n" .. read(script) .. "esac\n"
    f = assert(io.open(script, "w"))
    assert(f:write(text))
    f:close()
    io.stderr:write(("gpu-check: %d programs, %d at a time, at most %d s\n"):format(#waiting, jobs,
        most - (os.time() - started)))
    os.execute(("seq %d | timeout -k 5 %d xargs -P %d -n 1 sh %s"):format(#waiting,
        math.max(1, most - (os.time() - started)), jobs, quote(script)))
    for _, p in ipairs(waiting) do
        if p.shell then
            local status, seconds = read(log_of(p.name) .. ".status"):match "(%d+) (%d+)"
            os.remove(log_of(p.name) .. ".status")
            if status then
                judged(p.name, p.limit, tonumber(seconds), tonumber(status), p.judge)
            else
                add_part(p.name, false, 0, "not run to its end: no time was left", log_of(p.name))
            end
        end
    end
    os.remove(script)
    waiting = {}
end

-- ---- which parts ----

local context = { root = root, out = out, device = device, started = started, quote = quote,
    output = output, read = read, clean = clean, part = part, later = later, together = together,
    program = quote(gpush), add_part = add_part, tables = {} }
-- a trial on the stand-in for CUDA, too
context.small = (device ~= "cuda" or os.getenv "GPUSH_CHECK_SMALL") and " small" or ""
-- a script of this folder
function context.script(name)
    return ("%s scripts/dev/gpu/%s %s"):format(context.program, name, device)
end

local known = assert(loadfile(folder .. "parts.lua"))(context)
local asked, by = {}, {}
for _, p in ipairs(known) do by[p.name] = p end
for i = 4, #arg do
    if arg[i] == "--list" then
        local sum = 0
        for _, p in ipairs(known) do
            print(("%-12s at most %3d s  %s"):format(p.name, p.seconds, p.what))
            sum = sum + p.seconds
        end
        print(("%-12s at most %3d s of these %d, in one run; GPUSH_CHECK_SECONDS says how many")
            :format("all", most, sum))
        os.exit(0)
    end
    if not by[arg[i]] then
        io.stderr:write(("gpu-check: no part '%s' (--list names them)\n"):format(arg[i]))
        os.exit(2)
    end
    asked[#asked + 1] = by[arg[i]]
end

part("doctor", 60, context.program .. " doctor",
    function(text) return text ~= "", "see its text below" end)
-- Without a device no other part is tried; if the query itself fails, all are.
local answer = device == "cuda"
    and output(context.program .. " -e 'print(cuda.is_available())'") or ""
absent = answer:match "^false%s*(.*)" -- and the reason

-- The first line of a file that begins with `key`.
local function field(path, key) return read(path):match(key .. "%s*([^\n]+)") end
context.facts = {
    date = os.date "!%Y-%m-%d %H:%M UTC",
    card =
        output "nvidia-smi --query-gpu=name,memory.total,driver_version,compute_cap \z
            --format=csv,noheader" or "nvidia-smi is not here",
    device = device, system = output "uname -srm" or "",
    processor = ("%s, %s processors"):format(field("/proc/cpuinfo", "model name%s*:") or "unknown",
        output "nproc" or "?"),
    load = field("/proc/loadavg", "") or "unknown",
    version = output(context.program .. " -v") or "",
}
for _, p in ipairs(#asked > 0 and asked or known) do p.run(p) end
context.facts.load = context.facts.load .. "; at the end " ..
    (field("/proc/loadavg", "") or "unknown")

context.parts, context.absent = parts, absent
os.exit(assert(loadfile(folder .. "report.lua"))(context) and 0 or 1)
