-- Lab: find the wait. A training step like many others, in which six lines make
-- the host wait for the device. You say which, the lab runs the step and marks
-- your answer; then you rewrite it, and the lab accepts the rewrite when nothing
-- in it waits and it trains to the same weights.
--
-- What to look at
--   1. a wait hides in what looks like arithmetic: an `if`, a mask, a count, a
--      copy, a line of a log;
--   2. the first wait of a step takes the time of all that is queued before it:
--      taking it away moves the time to the next one, until there is none;
--   3. what you write instead gives the same numbers, a step later or on the
--      device.
--
--   gpush lab find_the_wait                  shows the step and asks
--   gpush lab find_the_wait --guess 3,5,8    answers without being asked
--   gpush lab find_the_wait --write mine.lua writes the step to a new file, to be
--                                            edited
--   gpush lab find_the_wait --check mine.lua runs it, counts its waits, launches
--                                            and copies, and compares what it
--                                            computed
-- `sync.explain()` lists the causes, with a program that waits and one that does
-- not for each.
--
-- Where there is no GPU the step is measured on sim, which is made of the
-- processor, and then timed on a modelled card (--card none: not), with a host
-- that takes 8 us an op, as PyTorch's does.
--
--   gpush lab find_the_wait [--guess LINES] [--write FILE] [--check FILE]
--     [--steps 20] [--size 64] [--device gpu|sim|cuda] [--card h200]

local here = arg[0]:match ".*/" or ""
local options, grade = dofile(here .. "options.lua"), dofile(here .. "grade.lua")
local say = dofile(here .. "text.lua")
local clock = debug.getregistry()["gpush.clock"] -- no word about what is queued on purpose

-- The numbers of lines.
local function guess(text)
    if text:find "%d" then return text end
    return nil, "expected numbers of lines, such as 3,5,8"
end

local opt, _ <close> = options({
    device = "gpu", steps = 20, size = 64, guess = false, write = false, check = false,
    card = "h200" }, { guess = guess, write = "new", check = "read" })
if opt.device:find "^cpu" then
    dofile(here .. "refuse.lua")("--device %s: nothing waits there: choose a device that \z
        computes beside the host, gpu or sim", opt.device)
end
local BATCH, CLASSES = 256, 10

-- The step. `state` lives as long as the training; x is on the device already, labels are in pinned
-- memory of the host.
local STEP = [[
return function(model, optimizer, x, labels, state)
    local y = labels:to(x.device)
    optimizer:zero_grad()
    local logits = model(x)
    local losses = cross_entropy(logits, y, {reduction = "none"})
    local hard = losses[losses > 2]
    local loss = hard:sum() / losses:numel()
    loss:backward()
    local norm = nn.utils.clip_grad_norm_(model:parameters(), 0.1)
    if norm:isfinite() then optimizer:step() end
    state.right = state.right + (logits:argmax(2) == y):sum():item()
    state.log[#state.log + 1] = ("loss %s"):format(loss)
    state.seen = state.seen + x.shape[1]
    local used = y:unique():numel()
    state.classes = math.max(state.classes, used)
end
]]
-- The lines of it that wait, and a way without each: shown after the reader's answer.
local INSTEAD = {
    [2] = "labels are pinned: copied with {non_blocking = true} they come while the host goes on",
    [6] = "where(losses > 2, losses, 0) has a fixed size, and the same sum",
    [10] = "step always, and let where() or amp.GradScaler decide on the device",
    [11] = "add on the device, and read the sum once after the training",
    [12] = "sync.async(loss:detach(), fn), or every N steps",
    [14] = "y:one_hot(CLASSES):amax(1):sum() counts with a fixed size, and stays a tensor",
}

-- ---- the training ----

local function lines_of(text)
    local list = {}
    for line in text:gmatch "([^\n]*)\n" do list[#list + 1] = line end
    return list
end

-- A model, an optimizer, and a batch for each of n steps, that are the same each time for a seed.
local function prepare(n, seed)
    manual_seed(seed or 7)
    local model = nn.Sequential(nn.Linear(opt.size, 4 * opt.size), nn.ReLU(),
        nn.Linear(4 * opt.size, CLASSES))
    local right, batches = randn(opt.size, CLASSES), {}
    for i = 1, n do
        local x = randn(BATCH, opt.size)
        batches[i] = { x:to(opt.device), x:matmul(right):argmax(2):pin_memory() }
    end
    model:to(opt.device)
    return model, optim.SGD(model:parameters(), 0.05), batches
end

local function new_state() return { right = 0, seen = 0, classes = 0, log = {} } end

-- Trains with the step; gives its time per step in seconds, that of the host alone, and the waits
-- by line.
local function train(step, steps)
    local model, optimizer, batches = prepare(steps + 1)
    local state = new_state()
    local function run(i)
        step(model, optimizer, batches[i][1], batches[i][2], state)
    end
    run(1) -- first uses
    synchronize()
    sync.reset()
    local begin = clock()
    for i = 2, steps + 1 do run(i) end
    local queued = clock() - begin
    local waits = sync.lines()
    synchronize()
    sync.finish() -- what the step's log was to get later
    local result = { time = (clock() - begin) / steps, host = queued / steps, waits = waits }
    result.kind = timeit(function() return zeros(1, { device = opt.device }) end, { n = 1 }).kind
    return result
end

local function compiled(text, name)
    local chunk, message = load(text, name, "t")
    if not chunk then error(message, 0) end
    local step = chunk()
    if type(step) ~= "function" then
        error(name .. ": expected a chunk that returns the step, a function", 0)
    end
    return step
end

local simulated = opt.device:find "^sim" or opt.device == "gpu" and not cuda.is_available()

-- Trains with a step on a modelled card; nil where there is none to model.
local function on_card(step)
    if not simulated or opt.card == "none" then return nil end
    sim.card, sim.host = opt.card, 8e-6
    local run = train(step, opt.steps)
    sim.card, sim.host = nil, nil
    return run
end

-- ---- the answer ----

local function show(lines, mark)
    for n, line in ipairs(lines) do
        print(("%s %2d  %s"):format(mark and mark(n) or " ", n, line))
    end
end

local function ask()
    if opt.guess then return opt.guess end
    if not is_terminal(io.stdin) then return nil end
    io.write "\nWhich lines make the host wait? (numbers, such as 3, 5, 8) "
    return io.read "l"
end

local function set_of(text)
    local set, n = {}, 0
    for number in text:gmatch "%d+" do
        if not set[tonumber(number)] then n = n + 1 end
        set[tonumber(number)] = true
    end
    return set, n
end

local function time(s) return ("%.3g %s"):format(s < 1e-3 and s * 1e6 or s * 1e3,
    s < 1e-3 and "us" or "ms") end

-- Waits by line of the step.
local function by_line(waits)
    local found, lines = {}, 0
    for _, row in ipairs(waits) do
        if row.file and row.file:find "^step" and row.why ~= "explicit" then
            local at = found[row.line] or { times = 0, wait = 0, advice = row.advice }
            if not found[row.line] then lines = lines + 1 end
            at.times, at.wait, at.why = at.times + row.times, at.wait + row.wait, row.why
            found[row.line] = at
        end
    end
    return found, lines
end

local function mark_answer(guess, found, lines)
    local right, wrong = 0, {}
    for n in pairs(guess) do
        if found[n] then right = right + 1 else wrong[#wrong + 1] = n end
    end
    table.sort(wrong)
    print(("\n%d of %d lines found%s"):format(right, lines, #wrong == 0 and "" or
        "; no wait in " .. table.concat(wrong, ", ")))
end

-- Says how long a step takes and the host waits in it.
local function tell_step(run, found, where)
    local total = 0
    for _, at in pairs(found) do total = total + at.wait end
    say(("a step takes %s %s, in which the host waits %s"):format(time(run.time), where,
        time(total / opt.steps)))
end

local function tell_costs(found, run)
    local card = on_card(compiled(STEP, "=step"))
    local modelled = card and by_line(card.waits) or {}
    for n = 1, #lines_of(STEP) do
        local at, there = found[n], modelled[n]
        if at then
            print(("%4d  %-7s %3d waits, %s a step%s. Instead:"):format(n, at.why, at.times,
                time(at.wait / opt.steps), card and (", on the card %s"):format(
                    time(there and there.wait / opt.steps or 0)) or ""))
            say(INSTEAD[n] or at.advice, "      ")
        end
    end
    tell_step(run, found, ("on %s (%s)"):format(opt.device, run.kind))
    if card then tell_step(card, modelled, "on the card (" .. card.kind .. ")") end
end

-- ---- the rewrite ----

-- Whether the file's step is clean, trains to the same weights, and counts and logs as before; then
-- says what it gained.
local function check(file)
    local mine = grade(file, { step = compiled(STEP, "=step"), steps = opt.steps,
        prepare = prepare, state = new_state, device = opt.device })
    if not mine then return false end
    local before, now = train(compiled(STEP, "=step"), opt.steps), train(mine, opt.steps)
    say(("a step took %s, now %s; the host is free after %s (%s)"):format(time(before.time),
        time(now.time), time(now.host), now.kind))
    before, now = on_card(compiled(STEP, "=step")), on_card(mine)
    if now then
        say(("on the card (%s): a step took %s, now %s"):format(now.kind, time(before.time),
            time(now.time)))
    end
    return true
end

-- Writes the step to a file.
local function write(file)
    local f <close>, message = io.open(file, "w")
    if not f or not f:write(STEP) or not f:flush() then
        io.stderr:write(("find_the_wait: cannot write %s\n"):format(message or file))
        return false
    end
    say(("%s has the step: take its waits out, then run with --check %s"):format(file, file))
    return true
end

if opt.write then
    os.exit(write(opt.write), true)
elseif opt.check then
    os.exit(check(opt.check), true)
else
    local lines = lines_of(STEP)
    show(lines)
    local guess = ask()
    if not guess then
        print "\nAnswer with --guess and the numbers of the lines that make the host wait."
        return
    end
    local run = train(compiled(STEP, "=step"), opt.steps)
    local found, n = by_line(run.waits)
    local set = set_of(guess)
    print ""
    show(lines, function(k)
        return found[k] and (set[k] and "+" or "-") or set[k] and "!" or " "
    end)
    print "\n+ found   - missed   ! does not wait"
    mark_answer(set, found, n)
    tell_costs(found, run)
    print "now write it without: --write mine.lua, then --check mine.lua"
end
