-- Runs one program of programs.lua with failing allocations. run.lua PROGRAM: in one process, each
-- in turn, alone and together with all later ones. run.lua PROGRAM N K: the N-th and the K-1 after
-- it at the program's first run; N 0 prints how many allocations that makes. Each point must end
-- with an error or the right result, and leave all as it was.
-- run.lua PROGRAM files: each system call on a file in turn, alone and with all later ones, by an
-- input error, a full disk and too many open files; what was saved before or then must be there.
local name, first, many = arg[1], tonumber(arg[2]), tonumber(arg[3])
local program
local getenv, g = os.getenv, require "gpush"
local programs = require "programs"
local ALL = 1000000000

-- What a failure must not change.
local function state()
    synchronize()
    local x = ones(3):requires_grad_()
    local y = (x + 1):sum()
    return table.concat({ y:item(), tostring(y.requires_grad), sync.mode, g.default_device(),
        g.default_dtype() }, " ")
end
local STATE = "6.0 true off cpu f32"

-- Runs the program with what `fault` names failing. Returns what is wrong, or nil, and whether it
-- raised.
local function point(fault, want)
    local ok, got = pcall(function()
        getenv(fault)
        return program()
    end)
    getenv(fault:match "^%u+:" .. "0")
    local fine, after = pcall(state)
    if not fine or after ~= STATE then return "left " .. tostring(after), not ok end
    if not ok and (type(got) ~= "string" or got == "") then return "no message", true end
    local load = want and programs.loads[name]
    fine, after = pcall(load or program)
    if load and not (fine and after == want) then return "lost the file: " .. after, not ok end
    fine, after = pcall(program)
    if not fine then return "cannot run again: " .. after, not ok end
    if ok and got ~= (want or after) then return "gave " .. tostring(got), false end
    if want and want ~= after then return "changed to " .. after, not ok end
    return nil, not ok
end

-- All points of a kind, FAULT or FILE, for each of the errors.
local function all(kind, errors)
    local want = program()
    program()
    if getenv(kind .. ":" .. ALL) == "no seccomp" then return print "SKIP" end
    program()
    local total = tonumber(getenv(kind .. ":0"))
    local points, raised, bad = 0, 0, 0
    for n = 1, total do
        for i = 1, 2 * #errors do
            local fault = ("%s:%d:%d%s"):format(kind, n, i % 2 == 0 and ALL or 1,
                errors[(i + 1) // 2])
            local wrong, threw = point(fault, want)
            points, raised = points + 1, raised + (threw and 1 or 0)
            if wrong then
                bad = bad + 1
                print("BAD " .. fault .. " " .. wrong)
            end
        end
    end
    print(("%d points, %d errors, %d bad"):format(points, raised, bad))
end

program = programs[name]
if arg[2] == "files" then
    all("FILE", { ":5", ":28", ":24" }) -- EIO, ENOSPC, EMFILE
elseif first == 0 then
    getenv("FAULT:" .. ALL)
    program()
    print((getenv "FAULT:0"))
elseif first then
    local wrong, raised = point(("FAULT:%d:%d"):format(first, many))
    print(wrong and "BAD " .. wrong or raised and "error" or "fine")
else
    all("FAULT", { "" })
end
