--!plain
-- The prompt's commands: `:name argument`. A name may be abbreviated as long as it is unambiguous.
local require = ...
local gpush, shell = require "gpush", require "shell"
local native = shell.native
local registry = debug.getregistry()
local safe = registry["gpush.safe"]
local commands, order = {}, {}

local function command(name, argument, help, fn)
    commands[name] = { argument = argument, help = help, fn = fn }
    order[#order + 1] = name
end

-- Raises an error of a command itself: a message without a traceback.
local function fail(message, ...) shell.fail(message:format(...)) end

-- Raises the message of text or a file that is no Lua, as the prompt shows it: with line and caret.
local function no_lua(message) shell.fail(native.explained(message)) end

-- Statements that end in an expression, whose value they then have: nil where they do not.
local function with_value(text, name, env)
    for at = #text, 1, -1 do
        local f = text:byte(at) == 10 and load(text:sub(1, at) .. "return " .. text:sub(at + 1),
            name, "t", env)
        if f then return f end
    end
end

-- Compiles typed text to a function: an expression, or else statements, with the input's lines. As
-- at the prompt an expression is not a tail call, so that called functions find its line; timing
-- must not include that.
local function compile(text, what, env)
    if text == "" then fail(":%s needs an expression or statements", what) end
    local name = native.input(text)
    local f = load((what == "timeit" and "" or "local gpush_line_ <close> = nil ") .. "return " ..
        text .. "\n", name, "t", env or _G)
    if f then return f end
    local g, message = load(text, name, "t", env or _G)
    return g or with_value(text, name, env or _G) or no_lua(message)
end

-- For a traceback, which names a local variable's function by that variable, and this the main
-- chunk.
local function chunk_of(f) return f end

-- For <close>: calls f when the command ends, also by an error.
local function finally(f) return setmetatable({}, { __close = f }) end

local function seconds(s)
    if s >= 1 then return ("%.2f s"):format(s) end
    if s >= 1e-3 then return ("%.2f ms"):format(s * 1e3) end
    return ("%.1f us"):format(s * 1e6)
end

local function bytes(n)
    local unit = 1
    while n >= 1024 and unit < 5 do n, unit = n / 1024, unit + 1 end
    return (unit == 1 and "%d %s" or "%.1f %s"):format(
        n, ({ "B", "KiB", "MiB", "GiB", "TiB" })[unit])
end

-- Of several lines, as a terminal may show it.
local function plain(s) return safe(s, true) end

-- Prints words in lines that fit the terminal, all but the first indented by `indent` columns.
local function put(text, indent)
    local most, line, at = native.terminal() and native.columns() or math.huge, "", 0
    for space, word in text:gmatch "(%s*)(%S+)" do
        if at + #space + #word > most and at > indent then
            print(line) line, space = (" "):rep(indent), ""
        end
        line = line .. space .. word
        at = #line
    end
    print(line)
end

local function waits()
    local n = 0
    for _, line in ipairs(gpush.sync.lines()) do n = n + line.times end
    return n
end

-- ---- Time ----

command("timeit", "expr", "the time of a call: median of many runs, host and device",
    function(text)
    print(gpush.timeit(compile(text, "timeit")))
end)

command("time", "expr", "the time of one run, and its value", function(text)
    local f = compile(text, "time")
    gpush.synchronize()
    local before = waits()
    local _ <close> = finally(function() native.busy(false) end)
    native.busy(true)
    local t0 = native.now()
    local results = table.pack(chunk_of(f)())
    local t1 = native.now()
    local waited = waits() - before
    gpush.synchronize()
    local t2 = native.now()
    local device, kind = native.busy(false)
    print(("%s: host %s, devices %s, %d wait%s (%s)"):format(
        seconds(t2 - t0), seconds(t1 - t0), seconds(device), waited,
        waited == 1 and "" or "s", kind))
    return table.unpack(results, 1, results.n)
end)

local describe
command("dbg", "expr", "a chain of calls step by step: value, times, waits", function(text)
    local of = { compile = compile, chunk_of = chunk_of, describe = describe, seconds = seconds,
        waits = waits }
    return require "shell.debug.chain" (text, of)
end)

command("prof", "expr", "the profile of one run as a table", function(text)
    local prof = gpush.profile.run({ lua = true }, compile(text, "prof"))
    print(prof:table { limit = 15, sort = "cpu_time_total" })
end)

command("sync", "", "the waits for devices since the last report, by line", function()
    if #gpush.sync.lines() == 0 then return print "no waits since the last report" end
    if shell.looks_on then return print(gpush.sync.report { print = false }) end
    gpush.sync.report()
    gpush.sync.reset()
end)

command("status", "on|off", "after each line: device, memory, times and waits",
    function(text)
    if text ~= "" and text ~= "on" and text ~= "off" then
        fail(":status is on or off, not %s", text)
    end
    native.status(text ~= "off")
end)

-- ---- Memory, variables and devices ----

command("mem", "", "memory of the devices and of Lua", function()
    print(("%-8s  %10s  %10s  %10s  %10s"):format("", "in use", "peak", "cached", "limit"))
    for _, name in ipairs(gpush.devices()) do
        local m = gpush.memory(name)
        print(("%-8s  %10s  %10s  %10s  %10s"):format(
            name, bytes(m.in_use), bytes(m.peak), bytes(m.cached),
            m.limit == 0 and "-" or bytes(m.limit)))
    end
    if not shell.looks_on then -- whose Lua has memory of its own
        print(("%-8s  %10s"):format("Lua", bytes(collectgarbage "count" * 1024)))
    end
    local crashed, lost = native.crashed()
    if crashed > 0 then
        print(("%-8s  %10s  by %d worker%s that crashed"):format("lost", bytes(lost), crashed,
            crashed == 1 and "" or "s"))
    end
end)

command("dev", "[name]", "the devices, or another default one", function(text)
    local ok, message = true, nil
    if text ~= "" then ok, message = pcall(gpush.default_device, text) end
    if not ok then fail(":dev: %s", message:match "default_device: (.*)" or message) end
    for _, name in ipairs(gpush.devices()) do
        print((name == gpush.default_device() and "* " or "  ") .. name)
    end
    if text == "" then print "(others open when they are named; gpush doctor looks for them)" end
end)

local stock = {}
for name in ([[_G _VERSION _PROMPT _PROMPT2 arg assert collectgarbage coroutine debug dofile error
    getmetatable io ipairs load loadfile math next os package pairs pcall print rawequal rawget
    rawlen rawset require select setmetatable string table tonumber tostring type utf8 warn xpcall
    gpush notebook _ _1 _2 _3]]):gmatch "%S+" do
    stock[name] = true
end

function describe(v)
    if gpush.is_tensor(v) then
        local shape = table.concat(v.shape, "x")
        return ("%s %s %s, %s"):format(v.dtype, shape == "" and "scalar" or shape, v.device,
            bytes(v:numel() * v:element_size()))
    end
    local meta = type(v) == "table" and debug.getmetatable(v)
    local help = type(meta) == "table" and rawget(meta, "__help") -- of kernels and their modules
    if type(v) == "table" and type(help) ~= "string" then
        local n = 0
        for _ in next, v do n = n + 1 end
        return ("table of %d"):format(n)
    end
    local text = type(help) == "string" and help or shell.show(v)
    return #text > 50 and text:sub(1, 50):gsub("[\x80-\xff]*$", "") .. "…" or text
end

command("who", "", "your global variables", function()
    local names, wide = {}, 0
    for k, v in next, _G do
        if type(k) == "string" and not stock[k] and rawget(gpush, k) ~= v
            and k:find "^[%a_][%w_]*$" then
            names[#names + 1], wide = k, math.max(wide, #k)
        end
    end
    table.sort(names)
    for _, name in ipairs(names) do
        print(name .. (" "):rep(wide - #name + 2) .. describe(rawget(_G, name)))
    end
    if #names == 0 then print "none" end
end)

command("debug", "[n|expr]", "after an error: frames, variables, queued work; an expression there",
    function(text)
    return require "shell.debug.frames".command(text, function(expr, env)
        return compile(expr, "debug", env)
    end)
end)

-- ---- Files ----

-- Calls f; where it fails, its frames are those of :debug, which is shown.
local function debugged(f, ...)
    local frames = require "shell.debug.frames"
    registry["gpush.frames"] = nil
    local results = table.pack(xpcall(f, native.keep, ...))
    if results[1] then return table.unpack(results, 2, results.n) end
    if not registry["gpush.frames"] then error(results[2], 0) end
    return frames.command ""
end

command("run", "[-d] file [args]", "runs a file as gpush would; -d: :debug at an error",
    function(text)
    local words = {}
    for word in text:gmatch "%S+" do words[#words + 1] = word end
    local debugs = words[1] == "-d"
    if debugs then table.remove(words, 1) end
    if not words[1] then fail ":run needs a file" end
    local f, message = loadfile(words[1])
    if not f then no_lua(message) end
    local before = arg
    local _ <close> = finally(function() arg = before end)
    arg = { [0] = words[1], table.unpack(words, 2) }
    local call = debugs and debugged or function(g, ...) return g(...) end
    local results = table.pack(call(chunk_of(f), table.unpack(words, 2)))
    return table.unpack(results, 1, results.n)
end)

-- Old tables get the new fields, so that their holders see the new code.
local function reload(name)
    local old = package.loaded[name]
    package.loaded[name] = nil
    local ok, new = pcall(_G.require, name)
    if not ok then
        package.loaded[name] = old
        error(new, 0)
    end
    if type(old) == "table" and type(new) == "table" and old ~= new then
        for k in next, old do if new[k] == nil then old[k] = nil end end
        for k, v in next, new do rawset(old, k, v) end
        debug.setmetatable(old, debug.getmetatable(new))
        package.loaded[name] = old
    end
    return name
end

command("reload", "[module]", "reloads modules: one, or all of yours", function(text)
    if text ~= "" then
        if not package.loaded[text] then fail("no module '%s' was required", text) end
        return print("reloaded " .. reload(text))
    end
    local names = {}
    for name in next, package.loaded do
        if name ~= "gpush" and not stock[name] and package.searchpath(name, package.path) then
            names[#names + 1] = name
        end
    end
    table.sort(names)
    for _, name in ipairs(names) do reload(name) end
    print(#names == 0 and "no modules of yours" or "reloaded " .. table.concat(names, ", "))
end)

-- Writes all of it, or leaves the file as it was.
local function write_whole(name, text)
    local ok, message = pcall(require "save", "save", name, text)
    if not ok then fail("%s", (message:gsub("^.-save: ", ""))) end
end

local function quoted(s) return "'" .. s:gsub("'", "'\\''") .. "'" end

command("list", "[number]", "the inputs, numbered as in messages: stdin[3] is the third",
    function(text)
    local inputs, numbers = registry["gpush.inputs"], {}
    local typed = registry["gpush.typed"] or {} -- what a command made of its line is in inputs
    for name in next, inputs do numbers[#numbers + 1] = tonumber(name:match "%[(%d+)%]$") end
    table.sort(numbers)
    if text ~= "" and not inputs[("=stdin[%s]"):format(text)] then
        fail("no kept input is stdin[%s]", text)
    end
    for _, n in ipairs(numbers) do
        local name = ("=stdin[%d]"):format(n)
        local chunk = typed[name] or inputs[name]
        local first = "[" .. n .. "] "
        if text == "" or tonumber(text) == n then
            print(first .. plain(chunk):gsub("\n", "\n" .. (" "):rep(#first)))
        end
    end
end)

-- The text that the user's editor leaves in the file.
local function edited(file)
    if not os.execute((os.getenv "VISUAL" or os.getenv "EDITOR" or "vi") .. " " ..
        quoted(file)) then
        fail ":edit: the editor failed"
    end
    local f, message = io.open(file)
    if not f then fail(":edit: %s", message) end
    local _ <close> = f
    return assert(f:read "a")
end

-- Edits a chunk in a file of its own, which is then removed.
local function edited_chunk(chunk)
    local file, message = native.scratch(chunk .. "\n")
    if not file then fail(":edit: %s", message) end
    local _ <close> = finally(function() os.remove(file) end)
    return (edited(file):gsub("%s+$", ""))
end

local unfinished -- what was edited last, if it did not run to its end
command("edit", "[file]", "the last chunk, or a file, in $EDITOR; then runs it", function(text)
    if rawget(_G, "notebook") then fail ":edit needs a terminal, which a notebook is not" end
    local session = native.session()
    local chunk, run, message
    if text == "" then
        chunk = edited_chunk(unfinished or session[#session] or "")
        if chunk == "" then return end
        unfinished = chunk
        native.history(chunk)
        run = compile(chunk, "edit")
    else
        chunk = edited(text)
        run, message = loadfile(text)
        if not run then no_lua(message) end
    end
    local results = table.pack(chunk_of(run)())
    if text == "" then unfinished = nil end
    session[#session + 1] = chunk
    return table.unpack(results, 1, results.n)
end)

-- Statements as they are, in a block of their own where they have locals or labels, which end with
-- a chunk; an expression becomes `_ = expression`, which a file can hold.
local function statement(chunk)
    local value = chunk:match "^%s*return%f[^%w_](.*)" or chunk:match "^=(.*)"
    if not value and load(chunk, "=save") then
        local own = ("\n" .. chunk):find "[\n;]%s*local%f[^%w_]" or chunk:find("::", 1, true)
        return own and "do\n" .. chunk .. "\nend" or chunk
    end
    return "_ = " .. (value or chunk):gsub("[%s;]*$", "")
end

command("save", "file", "successful chunks of this session, as a script", function(text)
    if text == "" then fail ":save needs a file" end
    local out = {}
    for i, chunk in ipairs(native.session()) do out[i] = statement(chunk) .. "\n" end
    write_whole(text, table.concat(out))
    print(("%d chunks in %s"):format(#out, text))
end)

command("load", "file", "runs a saved session and takes it over into this one", function(text)
    if text == "" then fail ":load needs a file" end
    local f = io.open(text)
    local chunk = f and assert(f:read "a")
    if f then f:close() end
    local run, message = loadfile(text)
    if not run then no_lua(message) end
    chunk_of(run)()
    local session = native.session()
    session[#session + 1] = chunk:gsub("%s+$", "")
end)

local function usage(name)
    local c = commands[name]
    return (":" .. name .. " " .. c.argument), c.help
end

command("quit", "", "ends gpush, as Ctrl-D does", function() os.exit(true, true) end)

local find
command("help", "[command]", "this list, or one line of it", function(text)
    if text ~= "" then
        local form, meaning = usage(find((text:gsub("^:", ""))))
        print(form)
        return put("    " .. meaning, 4)
    end
    local wide = 0
    for _, name in ipairs(order) do wide = math.max(wide, #name + #commands[name].argument + 2) end
    local function row(form, meaning)
        put(("%-" .. wide + 1 .. "s %s"):format(form, meaning), wide + 2)
    end
    for _, name in ipairs(order) do row(usage(name)) end
    row("!command", "runs a command of the system")
    row("?name", "help; name? too; ??name shows the source, ? the way in")
    put("A semicolon at the end keeps the value from being shown; _ is the last value, _1 _2 _3 \z
        are the last three.", 0)
end)

-- The name of the command that is, or as the only one begins with, this word.
function find(word)
    if commands[word] then return word end
    local fits = {}
    for _, name in ipairs(order) do
        if word ~= "" and name:sub(1, #word) == word then fits[#fits + 1] = name end
    end
    if #fits == 1 then return fits[1] end
    if #fits > 1 then fail(":%s could be :%s", word, table.concat(fits, ", :")) end
    local near = shell.nearest(word, order)
    fail("no command :%s; %s", word, near and "did you mean :" .. near .. "?" or ":help lists them")
end

local function run(text)
    local word, rest = text:match "^%s*(%S*)%s*(.-)%s*$"
    local name = find(word == "" and "help" or word)
    local c = commands[name]
    if c.argument == "" and rest ~= "" then fail(":%s takes no argument", name) end
    return c.fn(rest)
end

local function magic(text) return require "shell.magics" (text, run, commands) end

local function status(host, device, n, kind)
    local name = gpush.default_device()
    for _, other in ipairs(gpush.devices()) do if other ~= "cpu" then name = other end end
    print(("-- %s %s, host %s, devices %s, %d wait%s (%s)"):format(
        name, bytes(gpush.memory(name).in_use), seconds(host),
        seconds(device), n, n == 1 and "" or "s", kind))
end

return { run = run, magic = magic, status = status, describe = describe, names = order,
    list = commands }
