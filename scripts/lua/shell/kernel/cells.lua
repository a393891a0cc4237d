--!plain
-- Cells: run as the prompt runs what is typed, piece by piece where a cell is not one chunk. The
-- last value is the cell's result, earlier ones are printed.
local require = ...
local gpush, shell, native = require "gpush", require "shell", require "kernel.native"
local show, places = require "shell.kernel.show", require "shell.kernel.places"
local json = gpush.json
local array = { __jsontype = "array" }
local cells = { inputs = {} }
local count = 0 -- cells that are kept, which is the number of the last one

local function send(type, content) native.send(type, json.encode(content)) end

-- ---- Errors ----

-- The error of a message: its name, its first line, and all lines.
local function failure(message, name)
    message = native.utf8(message)
    local lines = setmetatable({}, array)
    for line in (message .. "\n"):gmatch "([^\n]*)\n" do lines[#lines + 1] = line end
    return { ename = name or "Error", evalue = lines[1], traceback = lines }
end

-- ---- Chunks ----

-- What a text is as functions: {f, text} of each chunk; or nil and an error. A command ends with
-- its line, unless what follows cannot stand alone, as the body of :time for, or it is %%time.
local function chunks_of(code, number)
    local first = code:match "^%s*()"
    if not native.command(code:sub(first)) then first = 1 end
    local f, message = native.load(code:sub(first), number)
    local pieces = not code:find("^%%%%", first) and native.pieces(code:sub(first), f ~= nil)
    native.keep(code)
    if f and not pieces then return { { f = f, text = code } } end
    if not pieces then return nil, failure(shell.native.explained(message), "SyntaxError") end
    local from = 1
    for i, piece in ipairs(pieces) do
        local at = code:find(piece, from, true) or from
        local _, lines = code:sub(1, at - 1):gsub("\n", "")
        from = at + #piece
        pieces[i] = { text = piece, padded = native.command(piece) and piece
            or ("\n"):rep(lines) .. piece }
    end
    return pieces
end

-- Runs a chunk. Its values, packed; or nil and an error.
local function run(chunk, code, number)
    if not chunk.f then
        local f, message = native.load(chunk.padded, number)
        native.keep(code)
        if not f then return nil, failure(shell.native.explained(message), "SyntaxError") end
        chunk.f = f
    end
    local results = table.pack(native.call("", chunk.f))
    if not results[1] then
        return nil, failure(results[2], results[3] and "Interrupted")
    end
    native.remember(chunk.text, table.unpack(results, 2, results.n))
    local values = table.pack(table.unpack(results, 2, results.n))
    if values.n > 0 and (native.muted(chunk.text)
        or native.told(chunk.text, table.unpack(values, 1, values.n))) then
        values.n = 0
    end
    return values
end

-- Runs the chunks; what is to be shown of the last one's values, or nil; and an error.
local function run_all(code, number, silent)
    code = native.clean(code)
    local chunks, wrong = chunks_of(code, number)
    if not chunks then return nil, wrong end
    for i, chunk in ipairs(chunks) do
        native.begin()
        local values, shown
        values, wrong = run(chunk, code, number)
        if values and values.n > 0 and not silent then
            local message, interrupted
            shown, message, interrupted = show.values(table.unpack(values, 1, values.n))
            wrong = message and failure(message, interrupted and "Interrupted")
        end
        if shown and i < #chunks then send("display_data", shown) end
        native.ended(not wrong)
        if wrong or i == #chunks then return shown, wrong end
    end
end

-- ---- Requests ----

-- What was asked about variables, name by name.
local function evaluate(expressions, number)
    local out = {}
    for name, text in pairs(expressions) do
        local shown, wrong = nil, failure "expected a text"
        if type(text) == "string" then shown, wrong = run_all(text, number) end
        if wrong then
            wrong.status = "error"
            out[name] = wrong
        else
            out[name] = { status = "ok", data = shown and shown.data or {}, metadata = {} }
        end
    end
    return out
end

local function reply_failed(wrong, asked)
    if not asked.silent then send("error", wrong) end
    if asked.stop then native.abort() end
    wrong.status, wrong.execution_count, wrong.payload = "error", count, setmetatable({}, array)
    wrong.user_expressions = {}
    send("execute_reply", wrong)
end

-- A cell that only asks for help about a name is answered by a page, which front ends show.
local function page_of(code)
    local name, source = places.question(code)
    local page = name and shell.page(name, source)
    return page and { source = "page", start = 0, data = { ["text/plain"] = native.utf8(page) } }
end

-- Answers the cell that runs, which ends the program, and asks the front end to let the kernel go.
function cells.leave()
    if not cells.runs then return end
    cells.runs = false
    local payload = setmetatable({ { source = "ask_exit", keepkernel = false } }, array)
    send("execute_reply", { status = "ok", execution_count = count, payload = payload,
        user_expressions = {} })
    native.finish()
end

-- Runs a cell and answers.
function cells.execute(code, asked)
    local _ <close> = setmetatable({}, { __close = function() cells.runs = false end })
    cells.runs = true
    if not asked.silent and asked.store then
        count = count + 1
        cells.inputs[count] = code
        native.history(code)
    end
    if not asked.silent then send("execute_input", { code = native.utf8(code),
        execution_count = count }) end
    native.ask(asked.ask)
    local shown, wrong
    local page = not asked.silent and page_of(code)
    if page and native.load(code, count) then native.keep(code) end -- for :list
    if not page and code:find "%S" then
        shown, wrong = run_all(code, math.max(count, 1), asked.silent)
    end
    if wrong then return reply_failed(wrong, asked) end
    if shown then
        shown.execution_count = count
        send("execute_result", shown)
    end
    send("execute_reply", { status = "ok", execution_count = count,
        payload = setmetatable({ page or nil }, array),
        user_expressions = evaluate(asked.expressions, math.max(count, 1)) })
end

return cells
