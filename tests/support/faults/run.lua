-- Runs one program of programs.lua with failures. Each point must end with an error that says why
-- or the right result, and leave all as it was: modes, tensors' memory, descriptors, the names in
-- the folder; what was saved before or then must be there.
-- run.lua PROGRAM FAULT [MOST]: in one process, each allocation in turn, alone and with all later
-- ones; at most MOST points.
-- run.lua PROGRAM FILE [MOST]: each system call on a file, alone and with all later ones, by an
-- input error, a full disk and too many open files; interrupted, three in a row; and reads and
-- writes of half.
-- run.lua PROGRAM FAULT:N:K, or FILE:N:K:ERRNO: that point at the program's first run; N 0 prints
-- how many there are.
local name, what = arg[1], arg[2]
local program
local getenv, g = os.getenv, require "gpush"
local programs = require "programs"
local ALL = 1000000000
local folder = getenv "HOME"

-- Errors of files, by what lets them fail, and how many in a row besides one.
local file_faults = { { ":5", { "Input/output error" } }, { ":28", { "No space left" } },
    { ":24", { "Too many open files" } }, { ":4", { "Interrupted system call", "interrupted" }, 3 },
    { ":0", {} } }
local memory_faults = { { "", { "memory", "no thread", "dropped" } } }

-- What a failure must not change.
local function state()
    synchronize()
    local x = ones(3):requires_grad_()
    local y = (x + 1):sum()
    return table.concat({ y:item(), tostring(y.requires_grad), sync.mode, g.default_device(),
        g.default_dtype() }, " ")
end
local STATE = "6.0 true off cpu f32"

-- A name without what may change from save to save: numbers, and what libraries add to temporaries.
local function alike(word) return (word:gsub("%d+", "#"):gsub("%.tmp.*", ".tmp")) end

-- What may not grow from point to point: bytes of tensors, descriptors, the folder's names.
local function left()
    collectgarbage()
    collectgarbage()
    local bytes, names, count = 0, {}, {}
    for _, device in ipairs { "cpu", "sim" } do bytes = bytes + g.memory(device).in_use end
    local fds, kept, list = getenv("LEFT:" .. folder):match "^(%d+) (%S+) (.*)$"
    for word in list:gmatch "%S+" do
        names[#names + 1] = word
        count[alike(word)] = (count[alike(word)] or 0) + 1
    end
    return { bytes = bytes, fds = tonumber(fds), names = names, count = count }, kept ~= "-"
end

-- What a point left that was not there before. A file that could not be removed may stay.
local function litter(before)
    local now, kept = left()
    local more
    for _, word in ipairs(now.names) do
        if now.count[alike(word)] > (before.count[alike(word)] or 0) then
            more = word
            os.remove(folder .. "/" .. word)
        end
    end
    if more then program() end -- what belongs there
    if more and not kept then return "left the file " .. more end
    if now.fds > before.fds then return ("left %d descriptors"):format(now.fds - before.fds) end
    if now.bytes > before.bytes then
        return ("left %d bytes of tensors"):format(now.bytes - before.bytes)
    end
end

-- Before what the system's loader says in its own words, of any failure.
local LOADER = "the libraries of linear algebra cannot be loaded: "

-- Whether the message says one of the reasons.
local function says(message, why)
    if tostring(message):find(LOADER, 1, true) then return true end
    for _, reason in ipairs(why) do
        if type(message) == "string" and message:find(reason, 1, true) then return true end
    end
end

-- Runs the program with what `fault` names failing. Returns what is wrong, or nil, and what it
-- raised.
local function point(fault, why, want)
    local off = fault:match "^%u+:" .. "0" -- made here, where there is memory
    pcall(g.add, ones(2), ones(3)) -- a message that is none of the point's
    local ok, got = pcall(function()
        getenv(fault)
        return program()
    end)
    getenv(off)
    local raised = not ok and got or nil
    local fine, after = pcall(state)
    if not fine or after ~= STATE then return "left " .. tostring(after), raised end
    if raised and not says(got, why) then return "raised " .. tostring(got), raised end
    local load = want and programs.loads[name]
    fine, after = pcall(load or program)
    if load and not (fine and after == want) then return "lost the file: " .. after, raised end
    fine, after = pcall(program)
    -- the loader remembers folders that it could not look into
    if not fine and after:find(LOADER .. ".*No such file") then return nil, raised end
    if not fine then return "cannot run again: " .. after, raised end
    if ok and got ~= (want or after) then return "gave " .. tostring(got), raised end
    if want and want ~= after then return "changed to " .. after, raised end
    return nil, raised
end

-- The points of a kind, FAULT or FILE, for each of the errors; of more than `most` a sample.
local function all(kind, errors, most)
    local want = program()
    program()
    if getenv(kind .. ":" .. ALL) == "no seccomp" then return print "SKIP" end
    program()
    local total = tonumber(getenv(kind .. ":0"))
    local before = left()
    local points, raised, bad = 0, 0, 0
    local function try(n, k, why)
        local fault = ("%s:%d:%d%s"):format(kind, n, k, why[1])
        local wrong, threw = point(fault, why[2], want)
        wrong = wrong or litter(before)
        points, raised = points + 1, raised + (threw and 1 or 0)
        if getenv "FAULTS_SHOW" then print(fault, threw or "") end
        if wrong then
            bad = bad + 1
            print("BAD " .. fault .. " " .. wrong)
        end
    end
    local each = 2 * #errors
    local step = math.max(1, math.ceil(total * each / most))
    while step > 1 and (step % 2 == 0 or step % 5 == 0) do step = step + 1 end -- each kind comes
    for i = 0, total * each - 1, step do
        local why = errors[i % each // 2 + 1]
        try(i // each + 1, i % 2 == 0 and 1 or why[3] or ALL, why)
    end
    print(("%d points, %d errors, %d bad"):format(points, raised, bad))
end

program = programs[name]
local kind, n = what:match "^(%u+):?(%d*)"
local faults = kind == "FILE" and file_faults or memory_faults
if n == "" then
    all(kind, faults, tonumber(arg[3] or ALL))
elseif n == "0" then
    getenv(kind .. ":" .. ALL)
    program()
    print((getenv(what)))
else
    local code = what:match "^FILE:%d+:%d+(.*)$" or ""
    for _, fault in ipairs(faults) do
        if fault[1] == code then
            local wrong, raised = point(what, fault[2])
            print(wrong and "BAD " .. wrong or raised and "error" or "fine")
        end
    end
end
