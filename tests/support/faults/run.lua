-- Runs one program of programs.lua with failing allocations. run.lua PROGRAM: in one process, each
-- in turn, alone and together with all later ones. run.lua PROGRAM N K: the N-th and the K-1 after
-- it at the program's first run; N 0 prints how many allocations that makes. Each point must end
-- with an error or the right result, and leave all as it was.
local name, first, many = arg[1], tonumber(arg[2]), tonumber(arg[3])
local program = require "programs"[name]
local getenv, g = os.getenv, require "gpush"
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

-- Runs the program with the n-th allocation and the k-1 after it failing. Returns what is wrong, or
-- nil, and whether it raised.
local function point(n, k, want)
    local ok, got = pcall(function()
        getenv(("FAULT:%d:%d"):format(n, k))
        return program()
    end)
    getenv "FAULT:0"
    local fine, after = pcall(state)
    if not fine or after ~= STATE then return "left " .. tostring(after), not ok end
    if not ok and (type(got) ~= "string" or got == "") then return "no message", true end
    fine, after = pcall(program)
    if not fine then return "cannot run again: " .. after, not ok end
    if ok and got ~= (want or after) then return "gave " .. tostring(got), false end
    if want and want ~= after then return "changed to " .. after, not ok end
    return nil, not ok
end

if first == 0 then
    getenv("FAULT:" .. ALL)
    program()
    print((getenv "FAULT:0"))
elseif first then
    local wrong, raised = point(first, many)
    print(wrong and "BAD " .. wrong or raised and "error" or "fine")
else
    local want = program()
    program()
    getenv("FAULT:" .. ALL)
    program()
    local total = tonumber(getenv "FAULT:0")
    local points, errors, bad = 0, 0, 0
    for n = 1, total do
        for _, k in ipairs { 1, ALL } do
            local wrong, raised = point(n, k, want)
            points, errors = points + 1, errors + (raised and 1 or 0)
            if wrong then
                bad = bad + 1
                print(("BAD %d:%d %s"):format(n, k, wrong))
            end
        end
    end
    print(("%d points, %d errors, %d bad"):format(points, errors, bad))
end
