--!plain
-- :debug, after an error at the prompt: the frames with their variables, expressions in one of
-- them, and what devices had queued. keep() runs in the message handler, while the frames exist,
-- keep_coroutine() before a coroutine that failed is closed.
local require = ...
local gpush, shell, source = require "gpush", require "shell", require "source"
local registry = require "registry"
local native = shell.native
local safe = registry["gpush.safe"]
local HEAD <const> = "stack traceback:"
local KEPT, VARARGS = 50, 10 -- frames, the innermost; and values of a function's "..."
local CAUGHT <const> = 8 -- coroutines whose errors were caught that are described

local frames = {}
local function commands() return require "shell.commands" end -- which requires this

-- The variables of the function at that level of a thread that does not run this: its locals, of
-- equal names the last, then its upvalues.
local function variables(thread, level, f)
    local names, values, at = {}, {}, {}
    local function add(name, value)
        if not at[name] then names[#names + 1], at[name] = name, #names + 1 end
        values[name] = value
    end
    for i = 1, 250 do
        local name, value = debug.getlocal(thread, level, i)
        if not name then break end
        if name:find "^[%a_]" and name ~= "gpush_line_" then add(name, value) end
    end
    for i = 1, VARARGS do
        local name, value = debug.getlocal(thread, level, -i)
        if not name then break end
        add(("(argument %d of ...)"):format(i), value)
    end
    for i = 1, 250 do
        local name, value = debug.getupvalue(f, i)
        if not name then break end
        if name ~= "_ENV" and name ~= "" and not at[name] then add(name, value) end
    end
    return names, values
end

-- The line that runs, or nil.
local function line_of(info, texts)
    local text = texts[info.source] or source.text(info.source)
    texts[info.source] = text
    local line = source.line(text, info.currentline)
    return line and safe(line:match "^%s*(.-)%s*$"):sub(1, 200)
end

-- Where memory is short no values are kept, but their descriptions: the frames must not hold what
-- the user then wants to free. What was interrupted may hold a running profile.
local function is_short(message)
    return message:find "out of memory" or message:find "not enough memory"
        or message:find "interrupted!"
end

-- The user's frames of a thread, the innermost first. short: without the values of variables.
local function frames_of(thread, short)
    local all, describe, chunks = {}, commands().describe, {}
    for level = 0, 1000 do
        local info = debug.getinfo(thread, level, "nSlf")
        if not info or #all == KEPT then break end
        if info.what ~= "C" and info.currentline >= 0 and not native.ours(info.source) then
            local names, values = variables(thread, level, info.func)
            local texts = {}
            for _, name in ipairs(names) do texts[name] = describe(values[name]) end
            all[#all + 1] = { place = ("%s:%d"):format(info.short_src, info.currentline),
                file = info.short_src, source = info.source, name = info.name,
                text = line_of(info, chunks),
                names = names, texts = texts, values = not short and values or nil }
        end
    end
    return all
end

-- ---- Coroutines ----

-- registry["gpush.failed"]: by coroutine its error value raw, what resumed it, and its place in
-- their order (postmortem.c); here `part` is added, what is kept of it. The last ones whose errors
-- were caught are in it by number, too, or by the error value: their coroutines may go.
local part_of
local caught = 0

-- Whether an error value is, or its text has, that of a coroutine.
local function has(raw, inner)
    if rawequal(raw, inner) then return true end
    return type(raw) == "string" and type(inner) == "string" and inner ~= ""
        and raw:find(inner, 1, true) ~= nil
end

-- The part of the last coroutine that the thread resumed and whose error this is, or nil.
local function origin(thread, raw)
    local by, co, last = ("%p"):format(thread), nil, nil
    for other, one in next, registry["gpush.failed"] or {} do
        if one.by == by and has(raw, one.raw) and (not last or one.order > last.order) then
            co, last = other, one
        end
    end
    if not last then return nil end
    last.part = last.part or part_of(co, last.raw)
    return last.part
end

-- The frames of the thread that raised the error, after those of the coroutine it came from. Then
-- `calls` has that one's, and `about` is there if the message is its, too, but for the place of
-- the caller, which coroutine.wrap, error and assert put before it.
local function kept(thread, raw, message, short)
    local own, inner = frames_of(thread, short or is_short(message)), origin(thread, raw)
    own.message, own.raw = message, raw
    if not inner then return own end
    local all = { message = message, raw = raw, calls = inner.calls }
    table.move(inner, 1, #inner, 1, all)
    table.move(own, 1, math.min(#own, KEPT - #inner), #inner + 1, all)
    local place = own[1] and own[1].place .. ": "
    if type(raw) ~= "string" then
        all.about = inner.about
    elseif message == inner.raw or place and message == place .. inner.raw
        and inner.raw:find "^[^\n]-:%d+: " then
        all.about, all.message = inner.about, inner.message
    end
    return all
end

function part_of(co, raw, short)
    local message = type(raw) == "string" and raw or ""
    local part = kept(co, raw, message, short)
    local about, calls = native.about(co, message)
    part.about = part.about or about
    part.calls = (part.calls or HEAD) .. (calls or HEAD):sub(#HEAD + 1) -- nil: its stack is full
    return part
end

-- Keeps the frames of a coroutine that is about to be closed; short: its error is caught.
function frames.keep_coroutine(co, short)
    local failed = registry["gpush.failed"]
    local one = failed[co]
    if not one or one.part then return end
    one.part = part_of(co, one.raw, short)
    if not short then return end
    caught = caught % CAUGHT + 1
    failed[type(one.raw) == "table" and one.raw or caught] = one
end

-- ---- The error ----

-- What :debug needs of the error with that value and message.
function frames.keep(thread, raw, message)
    local failed = registry["gpush.failed"] or {}
    local _ <close> = setmetatable({}, { __close = function()
        for co in next, failed do failed[co] = nil end
    end })
    if frames.evaluating then return nil end
    local all = kept(thread, raw, message)
    all.streams, all.input = native.streams(), native.inputs()
    return all
end

local function heading(i, frame)
    print(("%d  %s%s"):format(i, safe(frame.place),
        frame.name and (" in '%s'"):format(safe(frame.name)) or ""))
    if frame.text then print("       " .. frame.text) end
end

local function list(frame)
    local wide = 0
    for _, name in ipairs(frame.names) do wide = math.max(wide, #name) end
    for _, name in ipairs(frame.names) do
        print(("    %s%s  %s"):format(name, (" "):rep(wide - #name), frame.texts[name]))
    end
end

-- The line that queued what failed, or nil.
local function queued_line(all, file, n)
    local name = source.text("=" .. file) and "=" .. file or "@" .. file
    for _, frame in ipairs(all) do name = frame.file == file and frame.source or name end
    return source.line(source.text(name), n)
end

-- The tensors on that line, by a kept frame's variables or globals.
local function inputs(all, line)
    print("       " .. safe(line:match "^%s*(.-)%s*$"):sub(1, 200))
    local seen = {}
    for name in line:gmatch "%f[%w_.:][%a_][%w_]*" do
        local text
        for _, frame in ipairs(all) do text = text or frame.texts[name] end
        local global = rawget(_G, name)
        if not text and gpush.is_tensor(global) then text = commands().describe(global) end
        if text and not seen[name] then print(("    %s  %s"):format(name, text)) end
        seen[name] = true
    end
end

local function devices(all)
    local file, n, device = all.message:match "%(queued at (.-):(%d+) on (.-)%)"
    if file then
        print(("%s  failed an op that was queued at %s:%s"):format(device, safe(file), n))
        local line = queued_line(all, file, tonumber(n))
        if line then inputs(all, line) end
    end
    for _, s in ipairs(all.streams) do
        local name = s.stream == 0 and s.device or ("%s, stream %d"):format(s.device, s.stream)
        print(("%s  had %d op%s queued, the last %s%s"):format(name, s.queued,
            s.queued == 1 and "" or "s", s.op or "?",
            s.file and (" (%s:%d)"):format(safe(s.file), s.line) or ""))
    end
    if #all.streams == 0 and not file then print "no device had work queued" end
end

-- The variables of a frame as an environment: unset names are the session's.
local function environment(frame)
    local has = {}
    for _, name in ipairs(frame.names) do has[name] = true end
    return setmetatable({}, {
        __index = function(_, k) if has[k] then return frame.values[k] end return _G[k] end,
        __newindex = function(_, k, v) if has[k] then frame.values[k] = v else _G[k] = v end end,
    })
end

local function evaluate(frame, text, compile)
    if not frame.values then
        shell.fail ":debug: of this frame the values were not kept: memory was short, \z
            or the error had been caught"
    end
    local _ <close> = setmetatable({}, { __close = function() frames.evaluating = false end })
    frames.evaluating = true -- an error here leaves the frames as they are
    local results = table.pack(compile(text, environment(frame))())
    return table.unpack(results, 1, results.n)
end

-- :debug, :debug 2, :debug x:sum(); compile(text, environment) is the prompt's.
function frames.command(text, compile)
    local all = registry["gpush.frames"]
    if not all then shell.fail ":debug: no error since the last input that succeeded" end
    local at = tonumber(text) or all.at or 1
    local frame = all[at] or not tonumber(text) and { names = {}, values = {} }
    if not frame then
        shell.fail((":debug: there is no frame %d, of %d"):format(at, #all))
    end
    all.at = at
    if text ~= "" and not tonumber(text) then return evaluate(frame, text, compile) end
    local ago = native.inputs() - all.input
    if text == "" and ago > 1 then print(("an error %d inputs ago:"):format(ago)) end
    if text == "" then print((safe(all.message, true))) end
    for i, other in ipairs(all) do
        if text == "" or i == all.at then heading(i, other) end
        if i == all.at then list(other) end
    end
    if text == "" then devices(all) end
end

return frames
