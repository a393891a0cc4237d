--!plain
-- gpush mcp: answers an assistant's questions about profiles and traces over standard input and
-- output, by the Model Context Protocol (modelcontextprotocol.io, version 2025-06-18): one JSON-RPC
-- message a line. Each question reads files and changes nothing; its answer is a part of what
-- gpush analyze --json prints.
local require = debug.getregistry()["gpush.require"] -- that of the files here
local gpush = require "gpush"
local command = require "command_line"("mcp", [[
usage: gpush mcp
Answers questions about profiles and traces of torch.profiler for an assistant, by the Model Context
Protocol on standard input and output. An assistant starts it by itself; its settings name this as
the command: {"mcpServers": {"gpush": {"command": "gpush", "args": ["mcp"]}}}.
The questions are verdict, waits, ops, kernels, devices, critical_path, compare and analyze, each of
files that it names. They are read, and nothing is changed.
]], {})
local answer, is_regular = require "profile.answer", require "is_regular"
local json = gpush.json

local VERSIONS <const> = { ["2024-11-05"] = true, ["2025-03-26"] = true, ["2025-06-18"] = true }
local LATEST <const> = "2025-06-18"
local LONGEST <const> = 1 << 20 -- bytes of a message
local MOST <const> = 1000       -- rows that may be asked for

-- JSON-RPC's codes.
local PARSE <const>, INVALID <const>, METHOD <const> = -32700, -32600, -32601
local PARAMS <const>, INTERNAL <const> = -32602, -32603

-- An error that the client is to see as the request's, with its code.
local function refuse(code, text, ...) error({ code = code, message = text:format(...) }, 0) end

-- ---- questions ----

local FILES <const> = { type = "array", items = { type = "string" }, minItems = 1,
    description = "paths of a profile or a trace; several are those of a job's ranks" }
local LIMIT <const> = { type = "integer", minimum = 1, maximum = MOST, description = "rows; 15" }
local FILE <const> = { type = "string", description = "the path of a profile or a trace" }

-- A pipe may never end, and standard input is that of the messages.
local function load(files)
    for _, path in ipairs(files) do
        if path == "-" or is_regular(path) == false then
            error(("%s: expected a file, not a pipe, a device or a folder"):format(path), 0)
        end
    end
    local ok, prof = pcall(gpush.profile.load, #files > 1 and files or files[1])
    if not ok then error(command.plain(prof), 0) end
    return prof
end

-- What a question about files answers: some fields of the whole answer.
local function part(...)
    local names = { ... }
    return function(asked)
        local whole = answer.of(load(asked.files), asked.limit)
        local out = { schema = whole.schema, kind = whole.kind, wall_ns = whole.wall_ns }
        for _, name in ipairs(names) do out[name] = whole[name] end
        return out
    end
end

local function compare(asked)
    local before, after = load { asked.before }, load { asked.after }
    local refused = require "profile.diff".refused(asked.before, before, asked.after, after)
    if refused then error(refused, 0) end
    local out = {}
    for name, prof in pairs { before = before, after = after } do
        local whole = answer.of(prof, 1)
        out[name] = { kind = whole.kind, wall_ns = whole.wall_ns, waits = whole.waits.count,
            waited_ns = whole.waits.waited_ns, cause = whole.verdict and whole.verdict.cause }
    end
    out.changes = after:diff(before)
    return out
end

local files_only <const> = { files = FILES }
local with_limit <const> = { files = FILES, limit = LIMIT }
local questions = {
    { "verdict", "What dominated the run, what each cause is worth, and what to do about it",
        files_only, part "verdict" },
    { "waits", "Which lines made the host wait for the device, why, for how long, and what to \z
        write instead; of a record of the CPU, which would on a card", files_only,
        part("waits", "would_wait") },
    { "ops", "The ops with the most time of their own", with_limit, part "ops" },
    { "kernels", "The device's kernels with the most time, by name", with_limit, part "kernels" },
    { "devices", "What each device and stream did: kernels, copies, collectives, how work was \z
        launched, and why the device was idle", files_only,
        part("devices", "streams", "launches", "idle") },
    { "critical_path", "The chain of work that decided the wall time", with_limit,
        part "critical_path" },
    { "compare", "What changed from one profile to another", { before = FILE, after = FILE },
        compare },
    { "analyze", "All of these in one answer", with_limit,
        function(asked) return answer.of(load(asked.files), asked.limit) end },
}
local by_name = {}
for _, q in ipairs(questions) do by_name[q[1]] = q end

local function names_of(properties, needed)
    local names = setmetatable({}, { __jsontype = "array" })
    for name, form in pairs(properties) do
        if not needed or form ~= LIMIT then names[#names + 1] = name end
    end
    table.sort(names)
    return names
end

local function list()
    local tools = {}
    for i, q in ipairs(questions) do
        tools[i] = { name = q[1], description = q[2],
            annotations = { readOnlyHint = true, openWorldHint = false },
            inputSchema = { type = "object", properties = q[3], required = names_of(q[3], true),
                additionalProperties = false } }
    end
    return { tools = tools }
end

-- The integer that a number of JSON is, however it is written: 10, 10.0 or 1e1; nil: none.
local function integer(value)
    return type(value) == "number" and math.tointeger(value)
end

-- What is wrong with an argument's value; nil: nothing.
local function wrong(value, form)
    if form == LIMIT then
        local n = integer(value)
        local fine = n and n >= 1 and n <= MOST
        return not fine and ("expected an integer from 1 to %d"):format(MOST)
    end
    if form ~= FILES then return type(value) ~= "string" and "expected text" end
    local fine = type(value) == "table" and #value > 0
    for k, path in pairs(fine and value or {}) do
        fine = fine and math.type(k) == "integer" and type(path) == "string"
    end
    return not fine and "expected a list of paths"
end

local function check(asked, properties)
    for name, value in pairs(asked) do
        local form = properties[name]
        if not form then
            refuse(PARAMS, "there is no argument '%s' (expected %s)", tostring(name),
                table.concat(names_of(properties), ", "))
        end
        local message = wrong(value, form)
        if message then refuse(PARAMS, "%s: %s", name, message) end
    end
    for _, name in ipairs(names_of(properties, true)) do
        if asked[name] == nil then refuse(PARAMS, "the argument %s is missing", name) end
    end
end

-- A question's answer; an error of its files is an answer, too, which the assistant reads.
local function call(params)
    if type(params.name) ~= "string" then refuse(PARAMS, "name: expected a question's name") end
    local question = by_name[params.name]
    if not question then refuse(PARAMS, "there is no question '%s'", params.name) end
    local asked = params.arguments or {}
    if type(asked) ~= "table" then refuse(PARAMS, "arguments: expected an object") end
    check(asked, question[3])
    asked.limit = integer(asked.limit)
    local ok, result = pcall(question[4], asked)
    if not ok then
        return { isError = true, content = { { type = "text", text = command.plain(result) } } }
    end
    local text = { type = "text", text = json.encode(result) }
    return { content = { text }, structuredContent = result }
end

-- ---- messages ----

local methods = {
    ["initialize"] = function(params)
        local version = VERSIONS[params.protocolVersion] and params.protocolVersion or LATEST
        return { protocolVersion = version, capabilities = { tools = {} },
            serverInfo = { name = "gpush", version = gpush._VERSION },
            instructions = "Times are whole nanoseconds. Each number says in kind whether it was \z
                measured, modelled or predicted; a worth is predicted." }
    end,
    ["ping"] = function() return {} end,
    ["tools/list"] = list,
    ["tools/call"] = call,
}

-- What a message is answered with; nil: it is a notification, or an answer.
local function reply(message)
    if type(message) ~= "table" or message.jsonrpc ~= "2.0" then
        refuse(INVALID, "expected a message of JSON-RPC 2.0")
    end
    local answers = message.result ~= nil or message.error ~= nil
    if type(message.method) ~= "string" and not answers then
        refuse(INVALID, "method: expected text")
    end
    if message.id == nil or message.method == nil then return nil end
    local method = methods[message.method]
    if not method then refuse(METHOD, "there is no method '%s'", tostring(message.method)) end
    local params = message.params or {}
    if type(params) ~= "table" then refuse(PARAMS, "params: expected an object") end
    return { jsonrpc = "2.0", id = message.id, result = method(params) }
end

-- What a line says. Numbers of more than 64 bits are JSON, but could not be given back unchanged.
local function decoded(line)
    local ok, message = pcall(json.decode, line)
    if ok then return message end
    local text = command.plain(message)
    refuse((text:find("too big integer", 1, true) or text:find("real number overflow", 1, true))
        and INVALID or PARSE, "%s", text)
end

-- A message's id, to be given back with its answer.
local function checked_id(id)
    local fine = type(id) == "string" or type(id) == "number" or id == json.null
    if not fine then refuse(INVALID, "id: expected text or a number") end
    return integer(id) or id
end

local function answer_line(line, bytes)
    local id = json.null
    local ok, result = pcall(function()
        if bytes > LONGEST then
            refuse(INVALID, "a message has %d bytes (expected at most %d)", bytes, LONGEST)
        end
        local message = decoded(line)
        if type(message) == "table" and message.id ~= nil then
            id = checked_id(message.id)
            message.id = id
        end
        return reply(message)
    end)
    if not ok then
        local known = type(result) == "table"
        result = { jsonrpc = "2.0", id = id, error = known and result
            or { code = INTERNAL, message = command.plain(result) } }
    end
    if result then
        io.stdout:write(json.encode(result), "\n")
        io.stdout:flush()
    end
end

-- The next line, of which no more is kept than a message may have; nil at the end.
local function next_line()
    local piece, bytes = {}, 0
    for c in function() return io.read(1) end do
        if c == "\n" then return table.concat(piece), bytes end
        bytes = bytes + 1
        if bytes <= LONGEST then piece[bytes] = c end
    end
    if bytes > 0 then return table.concat(piece), bytes end
end

local given, at = command.read { ... }
if not given then return at end
if ({ ... })[at] then return command.refuse("expected no argument, got '%s'", ({ ... })[at]) end
for line, bytes in next_line do
    if line:find "%S" then answer_line(line, bytes) end
end
return true
