--!plain
-- A notebook's requests, answered one after the other on the main thread: cells by cells.lua, and
-- what is asked beside them. Each is asked of the functions that the prompt asks. Returns the loop.
local require = ...
local gpush, shell, native = require "gpush", require "shell", require "kernel.native"
local cells, places = require "shell.kernel.cells", require "shell.kernel.places"
local json = gpush.json
local array = { __jsontype = "array" }

local answer = {}

local function send(type, content) native.send(type, json.encode(content)) end
local function list(t) return setmetatable(t, array) end

-- A field that the request must have, of that type; raises.
local function field(content, name, kind)
    local v = content[name]
    if type(v) ~= kind then error(("%s: expected a %s, got %s"):format(name, kind, type(v)), 0) end
    return v
end

-- The field, or the default where it is missing or null.
local function optional(content, name, default)
    local v = content[name]
    if type(v) ~= type(default) then return default end
    return v
end

-- ---- Text ----

-- The spaces that a further line of an incomplete chunk begins with.
local function indent(code)
    local last = code:match "([^\n]*)%s*$"
    local opens = last:find "[{(]%s*$" or last:find "%f[%w_]then%s*$" or last:find "%f[%w_]do%s*$"
        or last:find "%f[%w_]else%s*$" or last:find "%f[%w_]repeat%s*$"
        or last:find "%f[%w_]function%f[^%w_][^)]*%)%s*$"
    return last:match "^%s*" .. (opens and "    " or "")
end

function answer.is_complete_request(content)
    local code = native.clean(field(content, "code", "string"))
    local state = native.state(code)
    send("is_complete_reply", { status = state,
        indent = state == "incomplete" and indent(code) or nil })
end

-- The candidates in order, each once.
local function sorted(found)
    local out, seen = list {}, {}
    for _, word in ipairs(found or {}) do
        if not seen[word] then out[#out + 1], seen[word] = native.utf8(word), true end
    end
    table.sort(out)
    return out
end

function answer.complete_request(content)
    local code = field(content, "code", "string")
    local before = places.before(code, content.cursor_pos)
    local found = shell.complete(before)
    local first = places.count(found and before:sub(1, found.from - 1) or before)
    local last = places.count(before)
    local words, kinds = sorted(found), list {}
    for i, word in ipairs(words) do -- of all: VS Code takes no other list
        local kind, signature = found.kind(word)
        kinds[i] = { start = first, ["end"] = last, text = word, type = kind,
            signature = signature }
    end
    send("complete_reply", { status = "ok", matches = words, cursor_start = first,
        cursor_end = last, metadata = { _jupyter_types_experimental = kinds } })
end

function answer.inspect_request(content)
    local code = field(content, "code", "string")
    local source = optional(content, "detail_level", 0) > 0
    local name = places.name_at(code, places.before(code, content.cursor_pos))
    local page = name and shell.page(name, source)
    send("inspect_reply", { status = "ok", found = page ~= nil, metadata = {},
        data = page and { ["text/plain"] = native.utf8(page) } or {} })
end

-- ---- History ----

-- A Lua pattern for one with * and ?.
local function pattern_of(glob)
    local text = glob:gsub("[%^%$%(%)%%%.%[%]%+%-]", "%%%0")
    return "^" .. text:gsub("%*", ".*"):gsub("%?", ".") .. "$"
end

local EARLIER <const>, OURS <const> = 1, 2 -- sessions; 0 in a request is ours, too
local earlier = #native.history()

-- {session, number, text} of all inputs, the oldest first: those of other sessions, then ours.
local function past()
    local out, all = {}, native.history()
    for i = 1, earlier do out[i] = { EARLIER, i, native.utf8(all[i]) } end
    for n, text in ipairs(cells.inputs) do out[#out + 1] = { OURS, n, native.utf8(text) } end
    return out
end

-- Those that fit, the newest first; unique: each text once.
local function search(pattern, unique)
    local out, seen, all = {}, {}, past()
    for i = #all, 1, -1 do
        local text = all[i][3]
        if (not pattern or text:find(pattern)) and not (unique and seen[text]) then
            out[#out + 1], seen[text] = all[i], true
        end
    end
    return out
end

-- Those of a session of these numbers.
local function range(content)
    local out, session = list {}, optional(content, "session", 0)
    local first, stop = optional(content, "start", 1), optional(content, "stop", math.maxinteger)
    for _, row in ipairs(past()) do
        local of = row[1] == session or (session == 0 and row[1] == OURS)
        if of and row[2] >= first and row[2] < stop then out[#out + 1] = row end
    end
    return out
end

local function last_of(found, n)
    local out = list {}
    for i = math.min(n, #found), 1, -1 do out[#out + 1] = found[i] end
    return out
end

function answer.history_request(content)
    local how = optional(content, "hist_access_type", "tail")
    local found
    if how == "range" then
        found = range(content)
    else
        local glob = how == "search" and pattern_of(optional(content, "pattern", "*"))
        found = last_of(search(glob, optional(content, "unique", false)),
            optional(content, "n", 1000))
    end
    if optional(content, "output", false) then
        for _, row in ipairs(found) do row[3] = { row[3], json.null } end
    end
    send("history_reply", { status = "ok", history = found })
end

-- ---- Comms: this kernel has none ----

function answer.comm_info_request() send("comm_info_reply", { status = "ok", comms = {} }) end

function answer.comm_open(content)
    send("comm_close", { comm_id = native.utf8(field(content, "comm_id", "string")), data = {} })
end

function answer.comm_msg() end
function answer.comm_close() end

-- ---- Cells ----

function answer.execute_request(content)
    cells.execute(field(content, "code", "string"), {
        silent = optional(content, "silent", false),
        store = optional(content, "store_history", true),
        stop = optional(content, "stop_on_error", true),
        ask = optional(content, "allow_stdin", true),
        expressions = optional(content, "user_expressions", {}),
    })
end

-- ---- The loop ----

local function fail(type, name, message)
    local reply = type:match "^(.*)_request$"
    if not reply then return end
    send(reply .. "_reply", { status = "error", ename = name, evalue = native.utf8(message),
        traceback = list {} })
end

local function handle(type, content, aborted)
    if aborted and type == "execute_request" then
        return send("execute_reply", { status = "aborted" })
    end
    local f = answer[type]
    if not f then return fail(type, "NotSupported", "this kernel does not know such requests") end
    local ok, message = pcall(f, json.decode(content))
    if not ok then fail(type, "BadRequest", tostring(message)) end
end

_G.notebook = require "shell.kernel.display"

-- os.exit, as exit and quit do, leaves no cell without its answer.
local exit = os.exit
rawset(os, "exit", function(...)
    pcall(cells.leave)
    exit(...)
end)

return function()
    for type, content, _, aborted in native.receive do
        pcall(handle, type, content, aborted)
        native.finish()
    end
end
