-- Grades a rewritten training step of find_the_wait by what it did, never by a time. The file runs
-- in an environment of its own: tensors, layers, sync.async and Lua's plain library, but nothing
-- by which waits, clocks, errors or the program could be tampered with. Its data are new to it:
-- another batch in each step, from a seed that depends on the file's text. From the first step to
-- the last callback the ledger has its waits, and the record of a profile its launches and copies;
-- then weights, counts and log must be those of the given step.

local LUA = { "assert", "error", "ipairs", "next", "pairs", "print", "select", "tonumber",
    "tostring", "type" }
local TABLES = { "math", "string", "table", "nn", "linalg" }
local TENSORS = { "tensor", "zeros", "ones", "full", "empty", "arange", "eye", "is_tensor", "where",
    "no_grad", "autocast" }

-- A table's fields, which can be read only through the copy: what is assigned stays in it, and in
-- copies of the tables within it. A class is a function that makes its objects.
local function copy_of(t)
    local copies = {}
    return setmetatable({}, { __metatable = false, __index = function(_, name)
        local v = t[name]
        if type(v) ~= "table" then return v end
        copies[name] = copies[name] or getmetatable(v) and function(...) return v(...) end
            or copy_of(v)
        return copies[name]
    end })
end

-- Callbacks of sync.async whose values have come: they run after the last step, however early
-- that was, so that what they launch and wait for is told from the steps' own.
local arrived = {}
local function async(x, fn, ...)
    local rest = table.pack(...)
    return sync.async(x, function(v)
        arrived[#arrived + 1] = function() fn(v, table.unpack(rest, 1, rest.n)) end
    end)
end
local function finish()
    sync.finish()
    for i = 1, #arrived do arrived[i]() end
end

-- What the file may use. Another name of gpush or Lua is refused where it is used.
local function environment()
    local env = { sync = setmetatable({ async = async }, { __metatable = false,
        __index = function(_, name)
            error(("a step may use sync.async, not sync.%s"):format(name), 2)
        end }) }
    for name in pairs(ops(true)) do env[name] = gpush[name] end
    for _, list in ipairs { LUA, TENSORS } do
        for _, name in ipairs(list) do env[name] = _G[name] end
    end
    for _, name in ipairs(TABLES) do env[name] = copy_of(_G[name]) end
    env._G = env
    return setmetatable(env, { __metatable = false, __index = function(_, name)
        if _G[name] ~= nil then error(("a step has no use for %s"):format(name), 2) end
    end })
end

-- The step in a file, and its text; or nil and what is wrong.
local function read_step(file)
    local f <close>, message = io.open(file)
    if not f then return nil, message end
    local text = f:read "a"
    local chunk, wrong = load(text, "@" .. file, "t", environment())
    if not chunk then return nil, wrong end
    local ok, step = pcall(chunk)
    if not ok then return nil, tostring(step) end
    if type(step) ~= "function" then
        return nil, file .. ": expected a chunk that returns the step, a function"
    end
    return step, text
end

local own = debug.getinfo(1, "S").short_src

-- What a record has: kernels, and bytes copied.
local function counts_of(prof)
    local launches, bytes = 0, 0
    for _, event in ipairs(prof:events()) do
        if event.kind == "kernel" then launches = launches + 1 end
        if event.kind == "copied" then bytes = bytes + event.bytes end
    end
    return launches, bytes
end

-- Trains with the step: its waits by line, launches and bytes; and what it left behind.
local function count(step, task, seed)
    local model, optimizer, batches = task.prepare(task.steps, seed)
    local state, ok, message = task.state(), nil, nil
    local parameters = model:parameters()
    synchronize()
    sync.reset()
    arrived = {}
    local prof = profile.run(function()
        ok, message = pcall(function()
            for _, batch in ipairs(batches) do
                step(model, optimizer, batch[1], batch[2], state)
            end
        end)
        synchronize()
    end)
    local late = profile.run(function()
        local done, wrong = pcall(finish) -- what the log was to get later
        if ok and not done then ok, message = done, wrong end
    end)
    local waits = {}
    for _, row in ipairs(sync.lines()) do
        if row.file ~= own then waits[#waits + 1] = row end
    end
    local launches, bytes = counts_of(prof)
    return { ok = ok, message = message, waits = waits, launches = launches, bytes = bytes,
        late = counts_of(late), state = state, parameters = parameters }
end

local function weights_of(run)
    local list = {}
    for i, p in ipairs(run.parameters) do list[i] = p:detach():cpu():flatten() end
    return cat(list)
end

-- The number that a value of the state is, which may still be on the device; nil for another value.
local function number_of(v)
    if is_tensor(v) then return v:numel() == 1 and v:item() or nil end
    return math.type(v) and v
end

-- The numbers of an entry of the log: it is one, or a text that has them.
local function numbers_of(entry)
    if type(entry) ~= "string" then return { number_of(entry) } end
    local list = {}
    for text in entry:gmatch "%-?%d+%.?%d*[eE]?[-+]?%d*" do list[#list + 1] = tonumber(text) end
    return list
end

-- What is wrong with the waits and the work, or nil.
local function find_work(run, reference, device)
    local lines = {}
    for i, row in ipairs(run.waits) do
        lines[i] = ("%s:%d waits %d time%s: %s; %s"):format(row.file or "?", row.line or 0,
            row.times, row.times == 1 and "" or "s", row.what, row.advice)
    end
    if not run.ok then lines[#lines + 1] = tostring(run.message) end
    if #lines > 0 then return table.concat(lines, "\n") end
    for _, p in ipairs(run.parameters) do
        if p.device ~= device then return "the model has left the device for " .. p.device end
    end
    if run.late > 0 then return ("%d launches came after the last step"):format(run.late) end
    if run.bytes > reference.bytes then
        return ("it copies %d bytes, and the step as given %d: work has moved"):format(run.bytes,
            reference.bytes)
    end
end

-- What is wrong with the log: each entry is the loss of a step, as a number or in a text.
local function find_log(log, losses)
    if type(log) ~= "table" or #log == 0 then
        return "state.log is empty: the losses are to be logged, later or seldom"
    end
    for i, entry in ipairs(log) do
        local found = false
        for _, value in ipairs(numbers_of(entry)) do
            for _, loss in ipairs(losses) do
                local want = numbers_of(loss)[1]
                found = found or math.abs(value - want) <= 1e-3 * math.max(1, want)
            end
        end
        if not found then
            return ("state.log[%d] is %s, which is the loss of no step"):format(i, tostring(entry))
        end
    end
end

-- What is wrong with the results, or nil; and how far the weights are apart.
local function find_results(run, reference)
    local mine, given = weights_of(run), weights_of(reference)
    local apart, scale = (mine - given):abs():max():item(), given:abs():max():item()
    if not (apart <= 1e-4 * scale) then
        return ("nothing waits, but the weights differ by %.2g of %.2g: the rewrite computes \z
            something else"):format(apart, scale)
    end
    for _, name in ipairs { "right", "seen", "classes" } do
        local got, want = run.state[name], number_of(reference.state[name])
        if number_of(got) ~= want then
            return ("nothing waits, but state.%s is %s, not %s"):format(name,
                tostring(number_of(got) or got), want)
        end
    end
    local wrong = find_log(run.state.log, reference.state.log)
    return wrong and "nothing waits, but " .. wrong, apart
end

-- A number that the text's author cannot have had in mind.
local function seed_of(text)
    local seed = 7
    for i = 1, #text do seed = (seed * 31 + text:byte(i)) % 2147483647 end
    return seed
end

--- Grades the step in a file beside the given one, of task {step =, steps =, prepare =, state =,
--- device =}: prints why it does not pass, and returns nil; or prints its counts, and returns it.
return function(file, task)
    local say = print -- before the file is loaded
    local step, text = read_step(file)
    if not step then return say("not yet: " .. text) end
    local seed = seed_of(text)
    local reference = count(task.step, task, seed)
    local device = reference.parameters[1].device
    local run = count(step, task, seed)
    local wrong = find_work(run, reference, device)
    if wrong then return say("not yet: " .. wrong) end
    local different, apart = find_results(run, reference)
    if different then return say(different) end
    local before = 0
    for _, row in ipairs(reference.waits) do before = before + row.times end
    say(("passed: nothing waits, and the weights differ by at most %.1g"):format(apart))
    say(("counted in %d steps: %d waits, now 0; %d launches, now %d; %d bytes copied, now %d")
        :format(task.steps, before, reference.launches, run.launches, reference.bytes, run.bytes))
    return step
end
