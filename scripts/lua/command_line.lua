--!plain
-- What the commands of scripts/lua/command share: their options, their messages, and what they do
-- after a script.
local require = ...
local gpush, registry, fit = require "gpush", require "registry", require "fit"
local name, usage, options -- of the command that runs
local M = {}

--- Prints a message of the command on standard error, escaped: names of files may be in it.
function M.say(text, ...)
    io.stderr:write("gpush ", name, ": ", fit.safe(text:format(...)), "\n")
end

-- Exit statuses beside 1, which is for what a command found (shell/shell.h).
local USAGE <const>, FILES <const> = 2, 3

local function fail(status)
    registry["gpush.status"] = status
    return false
end

--- Prints a message, and the usage; returns what the command returns then, false: it exits with 2.
function M.refuse(text, ...)
    M.say(text, ...)
    io.stderr:write(usage)
    return fail(USAGE)
end

--- The message of an error that was raised, because of how the command was called; the same.
function M.wrong(message)
    M.say("%s", M.plain(message))
    return fail(USAGE)
end

--- The same, because of a file that cannot be read or written, or does not hold what is expected:
--- it exits with 3.
function M.files(message)
    M.say("%s", M.plain(message))
    return fail(FILES)
end

--- An error's message without the place of the Lua line that called, and with the command's own
--- options in place of those of Lua's functions: "--group stack", not 'group = "stack"'.
function M.plain(message)
    local text = tostring(message):gsub("^[^\n]-:%d+: ", "", 1)
    for option in pairs(options) do
        local word = option:sub(3):gsub("-", "_")
        text = text:gsub("^profile%.%l+: " .. word .. ": ", option .. ": ")
            :gsub("%f[%w_]" .. word .. ' = "?([%w_.]+)"?', option .. " %1")
    end
    return text
end

-- An option's value, checked by its kind, or nil and what is wrong: a text says what the value is,
-- a number is the least integer, a list has the choices.
local function checked(option, kind, value)
    if not value then
        return nil, ("%s needs %s"):format(option, type(kind) == "string" and kind or "a value")
    end
    if type(kind) == "string" then
        if value ~= "" then return value end
        return nil, ("%s: expected %s, got ''"):format(option, kind)
    end
    if math.type(kind) == "integer" then
        local n = value:find "^%d+$" and math.tointeger(tonumber(value))
        if n and n >= kind then return n end
        return nil, ("%s: expected an integer of at least %d, got '%s'"):format(option, kind, value)
    end
    for _, choice in ipairs(kind) do if choice == value then return value end end
    return nil, ("%s: expected %s or %s, got '%s'"):format(option,
        table.concat(kind, ", ", 1, #kind - 1), kind[#kind], value)
end

-- Reads the option at args[at] into given; returns the place after it, or nil and what is wrong.
local function read_option(args, at, given)
    local option, value = args[at]:match "^(%-%-%l[%l-]*)=(.*)$"
    option = option or args[at]
    local kind = options[option]
    if not kind and option == "--card" then
        return nil, "unknown option '--card' (it stands before the command: \z
            gpush --card t4 profile)"
    end
    if not kind then return nil, ("unknown option '%s'"):format(option) end
    if kind == true then
        if value then return nil, ("%s takes no value"):format(option) end
        given[option] = true
        return at + 1
    end
    if not value then value, at = args[at + 1], at + 1 end
    local read, message = checked(option, kind, value)
    given[option] = read
    if read == nil then return nil, message end
    return at + 1
end

--- The options' values by name, and the place of the first argument that is none: "--" is true in
--- them where it came before that, and ends the options as those of kind "rest" do. `between`: the
--- list of the arguments that are none, and options may stand between them. Or nil, and what the
--- command returns: the usage, or what is wrong, is printed.
function M.read(args, between)
    local given, rest, at = {}, {}, 1
    while args[at] do
        local word = args[at]
        if word == "--help" or word == "-h" then return nil, io.write(usage) and true end
        if word == "--" or options[word] == "rest" then
            given[word] = true
            at = at + 1
            break
        elseif word:sub(1, 1) == "-" and word ~= "-" then
            local after, message = read_option(args, at, given)
            if not after then return nil, M.refuse("%s", message) end
            at = after
        elseif between then
            rest[#rest + 1] = word
            at = at + 1
        else
            break
        end
    end
    return given, between and table.move(args, at, #args, #rest + 1, rest) or at
end

local same_file = require "same_file"

--- Whether the files of the options named in `outputs` may be written: none of them is one of the
--- inputs, a list of paths, or another output. Else false, after a message.
function M.may_write(given, outputs, inputs)
    for i, option in ipairs(outputs) do
        local path = given[option]
        if path == "-" then
            M.say("%s: expected a file, got '-' (/dev/stdout is one)", option)
            return fail(USAGE)
        end
        for _, input in ipairs(path and inputs or {}) do
            if same_file(path, input) then
                M.say("%s %s would replace a file that is read, %s", option, path, input)
                return fail(USAGE)
            end
        end
        for k = 1, path and i - 1 or 0 do
            local other = outputs[k]
            if given[other] and same_file(path, given[other]) then
                M.say("%s and %s are to write the same file, %s", other, option, path)
                return fail(USAGE)
            end
        end
    end
    return true
end

--- finish(ok, began) -> whether the command succeeded, to be called once after the script, however
--- that ends (shell/end.c); an exit status of its own stays unless it is a success and finish
--- fails. began: the script was read and ran; if not, its error has been shown.
function M.after_script(finish)
    local result
    registry["gpush.finish"] = function(ok)
        if result == nil then
            result = false -- what finish raises is not tried again
            result = finish(ok, registry["gpush.began"]) or false
            -- the script has failed, and that is the status, unless it could not be read
            if not ok then fail(registry["gpush.unread"] and FILES or nil) end
        end
        return result and ok
    end
end

-- ---- profiles ----

local function computes(devices)
    for _, d in ipairs(devices) do if d.compute > 0 or d.copies > 0 then return true end end
    return false
end

--- What a profile shows at a glance, as text: the verdict, its ops, who waited, and what devices
--- did; of several ranks, who waited for whom before those.
function M.summary(prof, group, limit, sort, several)
    if prof.count == 0 then
        return ("%s\nnothing was recorded: no op ran, and no sample of the script was taken\n")
            :format(tostring(prof))
    end
    local job = rawget(registry["gpush.replay"], "job")
    local _ <const>, _ <const> = job and job(prof), registry["gpush.usage"].of(prof) -- held here
    local devices, out = prof:devices(), { tostring(prof) }
    local function add(title, text) out[#out + 1] = ("\n%s\n%s"):format(title, text) end
    local waits = prof:sync()
    local verdict = waits.verdict -- nil: a build without the analysis of profiles has none
    if verdict then add("Verdict", tostring(verdict)) end
    waits.verdict = nil -- which is not said twice
    local met = several and (verdict and verdict.met or prof:collectives()) or {}
    if #met > 0 or met.unpaired then add("Collectives", tostring(met)) end
    add("Ops", prof:table { group = group, limit = limit or 15,
        sort = sort or computes(devices) and "self_device_time_total" or "self_cpu_time_total" })
    add("Waits of the host", tostring(waits))
    local savings = verdict and prof:savings() or {}
    if #savings > 0 then add("What the waits cost", tostring(savings)) end
    if #devices > 0 then
        add("Devices", tostring(devices))
        add("Streams", tostring(prof:queues()))
        local launches = prof:launches()
        if #launches > 0 then add("Launches", tostring(launches)) end
    end
    return table.concat(out, "\n") .. "\n"
end

--- Prints what a profile says as a line of JSON on standard output; limit: of its ops and kernels.
function M.answer(prof, limit)
    local answer = require "profile.answer"
    answer.print(answer.of(prof, limit))
end

-- The names in a list, as "waits,bytes"; nil and what is wrong.
local function names_of(text, known)
    local names = {}
    for name in (text .. ","):gmatch "([^,]*)," do
        local found = false
        for _, it in ipairs(known) do found = found or it == name end
        if not found then
            return nil, ("--fail-on: expected a list of %s, got '%s'"):format(
                table.concat(known, ", "), name)
        end
        names[#names + 1] = name
    end
    return names
end

--- Whether the options of checks, which analyze and record have, go together; false after a
--- message.
function M.may_check(given)
    for _, option in ipairs { "--update", "--fail-on", "--tap", "--junit" } do
        if given[option] and not given["--baseline"] then
            return M.refuse("%s needs --baseline FILE", option)
        end
    end
    local path = given["--baseline"]
    local file = path and not given["--update"] and io.open(path)
    if file then -- before a program runs whose record it would be compared with
        file:close()
        local ok, message = pcall(require "profile.gate".read, path)
        if not ok then return M.files(message) end
    end
    local list = given["--fail-on"]
    if not list then return true end
    local names, message = names_of(list, require "profile.gate".names)
    if not names then return M.refuse("%s", message) end
    given["--fail-on"] = names
    return true
end

local function say_checks(checks)
    for _, check in ipairs(checks) do
        M.say("%s: %s", check.ok and "passed" or "failed", check.text)
        for _, line in ipairs(require "profile.gate".told(check)) do M.say("  %s", line) end
    end
end

--- Whether the profile passes the checks that --baseline asks for; true without it. by_time: it is
--- of a span of time, which is no step.
function M.check(prof, given, by_time)
    local path = given["--baseline"]
    if not path then return true end
    local gate = require "profile.gate"
    local file = not given["--update"] and io.open(path)
    if file then file:close() end
    local note, own
    local ok, checks = pcall(function()
        local found = gate.measure(prof)
        if by_time then found.steps = nil end
        own = found.own
        if not file then
            return gate.write(path, found, given["--fail-on"], prof.writer)
        end
        local kept = gate.read(path)
        local list = gate.check(found, kept, given["--fail-on"], prof.writer)
        note = gate.note(found, kept)
        if given["--junit"] then gate.junit(given["--junit"], list) end
        return list
    end)
    if not ok then return M.files(checks) end
    if not checks then
        M.say("wrote %s", path)
        return true
    end
    if note then M.say("%s", note) end
    if own > 0 then
        M.say("%d wait%s of the profiler's own %s not counted", own, own == 1 and "" or "s",
            own == 1 and "is" or "are")
    end
    if given["--tap"] then io.stdout:write(gate.tap(checks)) else say_checks(checks) end
    for _, check in ipairs(checks) do ok = ok and check.ok end
    return ok
end

--- profile.load, or nil after a message: the command exits with 3.
function M.load(files, max_bytes)
    for i, file in ipairs(type(files) == "table" and files or {}) do
        for k = 1, i - 1 do
            if same_file(files[k], file) then
                M.files(("%s and %s are one file (expected one for each rank)"):format(files[k],
                    file))
                return nil
            end
        end
    end
    local ok, prof = pcall(gpush.profile.load, files, { max_bytes = max_bytes })
    if ok then return prof end
    M.files(prof)
end

--- The functions above, for the command of that name, usage, and options by name.
return function(...)
    name, usage, options = ...
    return M
end
