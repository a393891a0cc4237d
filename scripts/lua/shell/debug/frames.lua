--!plain
-- :debug, after an error at the prompt: the frames with their variables, expressions in one of
-- them, and what devices had queued. keep() runs in the message handler, while the frames exist.
local require = ...
local gpush, shell, source = require "gpush", require "shell", require "source"
local registry = require "registry"
local native = shell.native
local safe = registry["gpush.safe"]
local KEPT, VARARGS = 50, 10 -- frames, the innermost; and values of a function's "..."

local frames = {}
local function commands() return require "shell.commands" end -- which requires this

-- The variables of the level's function: its locals, of equal names the last, then its upvalues.
-- Called by keep alone: its own caller is level 2.
local function variables(level, f)
    local names, values, at = {}, {}, {}
    local function add(name, value)
        if not at[name] then names[#names + 1], at[name] = name, #names + 1 end
        values[name] = value
    end
    for i = 1, 250 do
        local name, value = debug.getlocal(level + 1, i)
        if not name then break end
        if name:find "^[%a_]" and name ~= "gpush_line_" then add(name, value) end
    end
    for i = 1, VARARGS do
        local name, value = debug.getlocal(level + 1, -i)
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

-- What :debug needs of the error with that message. Where memory is short no values are kept, but
-- their descriptions: the frames must not hold what the user then wants to free.
function frames.keep(message)
    if frames.evaluating then return registry["gpush.frames"] end
    local short = message:find "out of memory" or message:find "not enough memory"
        or message:find "interrupted!" -- what was stopped may hold a running profile
    local all, describe, chunks = { message = message }, commands().describe, {}
    all.streams = native.streams()
    for level = 2, 1000 do
        local info = debug.getinfo(level, "nSlf")
        if not info or #all == KEPT then break end
        if info.what ~= "C" and info.currentline >= 0 and not native.ours(info.source) then
            local names, values = variables(level, info.func)
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
        shell.fail ":debug: memory was short, so the values of the frame were not kept"
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
    if text == "" then print((safe(all.message, true))) end
    for i, other in ipairs(all) do
        if text == "" or i == all.at then heading(i, other) end
        if i == all.at then list(other) end
    end
    if text == "" then devices(all) end
end

return frames
