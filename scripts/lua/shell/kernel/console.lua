--!plain
-- A console while a cell runs: :sync, :mem, :dev and :status are answered by the prompt's own
-- commands from a Lua state beside the cell's, as the ledger of waits, memory and devices are the
-- process's; so is help about gpush's names. All else fails with a sentence that says that the cell
-- has the session.
local require = ...
local gpush, shell, places = require "gpush", require "shell", require "shell.kernel.places"
local json = gpush.json
local array = { __jsontype = "array" }
shell.looks_on = true

local SORRY <const> = "a cell is running; until it ends, this console answers :sync, :mem, :dev, \z
    :status and ?name"

local function list(t) return setmetatable(t or {}, array) end

-- The device with memory, and the waits so far.
local function status(seconds, number)
    local n = 0
    for _, line in ipairs(gpush.sync.lines()) do n = n + line.times end
    local held = {}
    for _, name in ipairs(gpush.devices()) do
        held[#held + 1] = ("%s %.1f MiB"):format(name, gpush.memory(name).in_use / (1 << 20))
    end
    return ("-- cell %d has run for %.1f s (measured), %d wait%s in the ledger, %s"):format(number,
        seconds, n, n == 1 and "" or "s", table.concat(held, ", "))
end

-- What a command prints.
local function printed(command)
    local out, before = {}, print
    _G.print = function(...)
        local words = table.pack(...)
        for i = 1, words.n do words[i] = tostring(words[i]) end
        out[#out + 1] = table.concat(words, "\t")
    end
    local ok, message = pcall(shell.command, command)
    _G.print = before
    return ok and table.concat(out, "\n"):gsub("%s+$", "") or tostring(message)
end

-- The page of help about a name; a function of the user's is not known here.
local function page(name, source)
    local ok, text = pcall(shell.page, name, source)
    return ok and text or nil
end

-- What is shown, or nil.
local function answer_to(code, seconds, number)
    local word, asked, source = code:match "^%s*:(%l+)%s*$", places.question(code)
    if asked then return page(asked, source) end
    for _, name in ipairs { "sync", "mem", "dev", "status" } do
        if word and name:sub(1, #word) == word then
            return name == "status" and status(seconds, number) or printed(":" .. name)
        end
    end
end

local function inspected(asked)
    local code = type(asked.code) == "string" and asked.code or ""
    local name = places.name_at(code, places.before(code, asked.cursor_pos))
    local text = name and page(name, asked.detail_level == 1)
    return { status = "ok", found = text ~= nil, data = { ["text/plain"] = text }, metadata = {} }
end

-- What other requests get: nothing, as long as the cell has the session.
local nothing = {
    complete_request = { status = "ok", matches = list(), cursor_start = 0, cursor_end = 0,
        metadata = {} },
    is_complete_request = { status = "unknown" },
    history_request = { status = "ok", history = list() },
    comm_info_request = { status = "ok", comms = {} },
}

-- Answers a request by send(type, content). seconds, number: of the cell that runs.
return function(send, type, content, seconds, number)
    local asked = json.decode(content)
    if type == "execute_request" then
        local code = _G.type(asked.code) == "string" and asked.code or ""
        local text = answer_to(code, seconds, number)
        local wrong = { ename = "Busy", evalue = SORRY, traceback = list { SORRY } }
        if asked.silent ~= true then
            send("execute_input", json.encode { code = code, execution_count = number })
            send(text and "stream" or "error", json.encode(text
                and { name = "stdout", text = text .. "\n" } or wrong))
        end
        wrong.status, wrong.execution_count = "error", number
        return send("execute_reply", json.encode(not text and wrong or { status = "ok",
            execution_count = number, payload = list(), user_expressions = {} }))
    end
    if type == "inspect_request" then
        return send("inspect_reply", json.encode(inspected(asked)))
    end
    local reply = type:match "^(.*)_request$"
    if reply then
        send(reply .. "_reply", json.encode(nothing[type] or { status = "error",
            ename = "Busy", evalue = SORRY, traceback = list() }))
    end
end
