--!plain
-- gpush profile [options] script [args]: runs a script, records it, and shows or writes the
-- profile, however the script ends.
local require = debug.getregistry()["gpush.require"] -- that of the files here
local gpush = require "gpush"
local profile = gpush.profile

-- Files that are written, and the profile's method for each.
local FILES <const> = { { "--html", "report" }, { "--trace", "trace" }, { "--save", "save" },
    { "--folded", "folded" }, { "--speedscope", "speedscope" } }
local COLUMNS <const> = { "count", "cpu_time_total", "self_cpu_time_total", "device_time_total",
    "self_device_time_total" }
local OPTIONS <const> = { ["--json"] = true, ["--table"] = true,
    ["--stack"] = true, ["--memory"] = true,
    ["--shapes"] = true, ["--flops"] = true, ["--steps"] = "steps, as in 10-12",
    ["--group"] = { "op", "region", "line", "shape", "stack", "module", "kernel" },
    ["--sort"] = COLUMNS,
    ["--limit"] = 1, ["--stack-depth"] = 1, ["--max-events"] = 1 }
local OUTPUTS <const> = {}
for i, it in ipairs(FILES) do OPTIONS[it[1]], OUTPUTS[i] = "a file", it[1] end

local command = require "command_line"("profile", [[
usage: gpush profile [options] script [args]
Runs the script and says on stderr where its time went, unless it is to write files only.
  --json             print one line of JSON (docs/answer.schema.json) on stdout instead of the text
  --table            show only the table, also beside files
  --html FILE        write a page for a browser
  --trace FILE       write a trace for Perfetto
  --save FILE        write all of the record, for gpush analyze and gpush compare
  --folded FILE      write stacks for flamegraph.pl
  --speedscope FILE  write stacks for speedscope.app
  --group NAME       rows of the table by op (the default), region, line, shape, stack, module or
                     kernel
  --sort COLUMN      their order: count, cpu_time_total, self_cpu_time_total, device_time_total or
                     self_device_time_total
  --limit N          rows of the table; 15
  --stack            record where in the script each op was called
  --stack-depth N    the same, with the N innermost calls only, of 32
  --memory           record who allocated and freed memory
  --shapes           record the ops' shapes
  --flops            record the ops' operations and bytes
  --steps A-B        record steps A to B only, each as a region; A- for all from A on. A step ends
                     where an optimizer has stepped, the first to do so of several, or where a
                     captured function returns in which it steps
  --max-events N     record no more; 4194304
The exit status is the script's, 2 for wrong options, or 3 where a file cannot be written.
]], OPTIONS)

-- ---- steps ----

local steps -- from, to, done, mark; nil: everything is recorded
local start, finished, prof

-- Ends a step and begins the next, where either is to be recorded.
local function next_step()
    if steps.mark then getmetatable(steps.mark).__close(steps.mark) end
    steps.mark = nil
    steps.done = steps.done + 1
    local coming = steps.done + 1
    if coming == steps.from then start() end
    if coming >= steps.from and coming <= steps.to and not finished then
        steps.mark = profile.region(("step %d"):format(coming))
    elseif coming == steps.to + 1 then
        finished, prof = true, profile.stop()
    end
end

local taken -- steps of the optimizer in the captured function that runs; nil: none runs

-- What makes captured functions, whose replays step without the optimizer's Lua: they end as many
-- steps as the run that they repeat, when they return.
local function counting(make)
    local function count_steps(captured, known, ...)
        if taken then return nil, captured(...) end -- a part of another
        local _ <close> = setmetatable({}, { __close = function() taken = nil end })
        taken = 0
        local results = table.pack(captured(...))
        return taken > 0 and taken or known, table.unpack(results, 1, results.n)
    end
    return function(...)
        local captured, known = make(...), 0
        local function done(count, ...)
            known = count or known
            for _ = 1, count or 0 do next_step() end
            return ...
        end
        return function(...) return done(count_steps(captured, known, ...)) end
    end
end

-- Calls next_step after each step of the optimizer that steps first.
local function watch_steps()
    local _ = gpush.optim.SGD -- which reads the file that sets the next two
    local registry, first = require "registry", nil
    local optimizer, step, scaled_step = registry["gpush.optimizer"],
        registry["gpush.optimizer"].step, registry["gpush.scaled_step"]
    local function after(self, ...)
        first = first or self
        if first ~= self then return ... end
        if taken then taken = taken + 1 else next_step() end
        return ...
    end
    rawset(optimizer, "step", function(self, ...) return after(self, step(self, ...)) end)
    registry["gpush.scaled_step"] = function(self, ...)
        return scaled_step(self, ...) and after(self, true) -- false: the optimizer's own step comes
    end
    registry["gpush.capture"] = counting(registry["gpush.capture"])
end

-- "10-12", "10-" or "10" as the first and the last step; nil: it is none of these.
local function read_steps(text)
    local from, dash, to = text:match "^(%d+)(%-?)(%d*)$"
    from = math.tointeger(from)
    to = to ~= "" and math.tointeger(to) or dash == "-" and math.maxinteger or from
    if from and to and from >= 1 and to >= from then return { from = from, to = to, done = 0 } end
end

-- ---- the profile ----

-- Writes one file; false after a message.
local function write(method, path)
    local ok, message = pcall(prof[method], prof, path)
    if not ok then return command.files(message) end
    command.say("wrote %s", path)
    return true
end

-- Shows and writes what the options ask for; whether all of it worked.
local function deliver(given)
    local fine, files = true, false
    for _, it in ipairs(FILES) do
        local path = given[it[1]]
        if path then files, fine = true, write(it[2], path) and fine end
    end
    local group, limit, sort = given["--group"], given["--limit"], given["--sort"]
    local only_table = given["--table"] or files and (group or limit or sort)
    if given["--json"] then command.answer(prof, limit) end
    if given["--json"] or files and not only_table then return fine end
    local ok, text = pcall(function()
        if not only_table then return command.summary(prof, group, limit, sort) end
        return prof:table { group = group, limit = limit or 15, sort = sort }
    end)
    io.stdout:flush()
    if not ok then return command.wrong(text) end
    io.stderr:write(text, text:find "\n$" and "" or "\n")
    return fine
end

local function stop()
    if finished then return true end
    if steps and steps.done + 1 < steps.from then
        command.say("%d steps of an optimizer were taken, and step %d was to be the first recorded",
            steps.done, steps.from)
        return false
    end
    local ok, result = pcall(profile.stop)
    if ok then prof = result
    else command.say("%s", command.plain(result)) end
    return ok
end

-- At the script's error: what makes its message is not the script.
local function stop_at_error()
    if not finished and not (steps and steps.done + 1 < steps.from) then
        prof, finished = profile.stop(), true
    end
end

local args = table.pack(...)
local given, at = command.read(args)
if not given then return at end
if not args[at] then return command.refuse("expected a script") end
if not command.may_write(given, OUTPUTS, { table.unpack(args, at) }) then return false end
for _, it in ipairs(FILES) do -- before the script: it may run for hours
    local folder = given[it[1]] and given[it[1]]:match "^(.*)/[^/]*$"
    local there = folder and io.open(folder .. "/.")
    if folder and not there then
        return command.files(("%s: cannot write %s: there is no folder %s"):format(it[1],
            given[it[1]], folder))
    end
    if there then there:close() end
end
if given["--steps"] then
    steps = read_steps(given["--steps"])
    if not steps then
        return command.refuse("--steps: expected steps such as 10-12, got '%s'", given["--steps"])
    end
end
if given["--stack-depth"] then
    local ok, message = pcall(require "registry"["gpush.check_depth"], given["--stack-depth"],
        "gpush profile")
    if not ok then
        return command.refuse("--stack-depth: %s", message:match "expected.*" or message)
    end
end
if given["--group"] == "shape" then given["--shapes"] = true end
if given["--group"] == "stack" or given["--group"] == "module" or given["--folded"]
    or given["--speedscope"] then
    given["--stack"] = true
end

function start()
    profile.start { stack = given["--stack-depth"] or given["--stack"], memory = given["--memory"],
        shapes = given["--shapes"], flops = given["--flops"], limit = given["--max-events"],
        lua = true }
end

debug.getregistry()["gpush.at_error"] = stop_at_error
command.after_script(function(ok, began)
    if not stop() or not began then return false end
    return deliver(given) and ok
end)
if steps then watch_steps() end
if not steps then start() elseif steps.from == 1 then
    start()
    steps.mark = profile.region "step 1"
end
return at
