-- gpush mcp: questions and answers by the Model Context Protocol, and requests that are none.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"
local folder, build = os.getenv "TMPDIR" or "/tmp", os.getenv "GPUSH_BUILD"

local trace = made.one_wait()
local path = folder .. "/step.json"
local file <close> = assert(io.open(path, "w"))
file:write(trace:text())
file:flush()

-- The answers to lines of requests.
local function ask(...)
    local input <close> = assert(io.open(folder .. "/in", "w"))
    input:write(table.concat({ ... }, "\n"), "\n")
    input:flush()
    local pipe <close> = assert(io.popen(("%s/gpush mcp <%s/in"):format(build, folder)))
    local out = {}
    for line in pipe:lines() do out[#out + 1] = g.json.decode(line) end
    return out
end
local function request(id, method, params)
    return g.json.encode { jsonrpc = "2.0", id = id, method = method, params = params }
end
local function question(name, arguments)
    return request(7, "tools/call", { name = name, arguments = arguments })
end

local a = ask(request(1, "initialize", { protocolVersion = "2024-11-05" }),
    '{"jsonrpc": "2.0", "method": "notifications/initialized"}', request("two", "tools/list"),
    request(3, "initialize", { protocolVersion = "1999-01-01" }), request(4, "ping"))
t.is(#a, 4, "a notification has no answer")
t.is(a[1].result.protocolVersion, "2024-11-05", "the client's version, if it is known")
t.is(a[3].result.protocolVersion, "2025-06-18", "else the latest")
t.is(a[2].id, "two", "ids come back")
for id, back in pairs { ["9007199254740993"] = "9007199254740993",
    ["-9223372036854775808"] = "-9223372036854775808", ["1e1"] = "10", ["0"] = "0",
    ["null"] = "null", ['""'] = '""' } do
    local line = ('{"jsonrpc": "2.0", "id": %s, "method": "ping"}'):format(id)
    local pipe <close> = assert(io.popen(("echo '%s' | %s/gpush mcp"):format(line, build)))
    t.is(pipe:read "l", ('{"id":%s,"jsonrpc":"2.0","result":{}}'):format(back), "the id " .. id)
end
local names = {}
for i, tool in ipairs(a[2].result.tools) do
    names[i] = tool.name
    t.ok(tool.annotations.readOnlyHint and tool.inputSchema.type == "object", tool.name)
end
t.is(table.concat(names, " "),
    "verdict waits ops kernels devices critical_path compare analyze", "the questions")

-- Every number of an answer is one of the JSON's.
local pipe <close> = assert(io.popen(("%s/gpush analyze --json %s"):format(build, path)))
local whole = g.json.decode(pipe:read "a")
local function same(x, y)
    if type(x) ~= "table" then return x == y end
    for k, v in pairs(x) do if not same(v, y[k]) then return false end end
    return true
end
for _, name in ipairs(names) do
    if name ~= "compare" then
        local r = ask(question(name, { files = { path } }))[1].result
        t.ok(same(r.structuredContent, whole), name .. ": parts of gpush analyze --json")
        t.ok(same(g.json.decode(r.content[1].text), r.structuredContent), name .. ": as text, too")
    end
end
local r = ask(question("kernels", { files = { path }, limit = 1 }))[1].result.structuredContent
t.is(#r.kernels .. r.kernels[1].name, "1gemm", "a limit")
for _, one in ipairs { "1.0", "1e0", "10e-1" } do
    r = ask((question("kernels", { files = { path }, limit = 77 }):gsub("77", one)))[1].result
    t.is(#r.structuredContent.kernels, 1, one .. " is the integer 1 in JSON")
end
r = ask(question("compare", { before = path, after = path }))[1].result.structuredContent
t.ok(r.before.waits == 1 and r.after.wall_ns == whole.wall_ns and r.changes, "compare")
r = ask(question("verdict", { files = { folder .. "/none" } }))[1].result
for params, says in pairs { ["{}"] = "name: expected a question's name",
    ['{"name":"no"}'] = "there is no question 'no'" } do
    local asked = ('{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": %s}')
        :format(params)
    t.is(ask(asked)[1].error.message, says, "a question of " .. params)
end
t.ok(r.isError and r.content[1].text:find("/none", 1, true), "a file that is not there")
os.execute(("mkfifo '%s/pipe'"):format(folder))
for _, other in ipairs { "-", folder .. "/pipe", "/dev/zero", folder } do
    for name, asked in pairs { verdict = { files = { other } },
        compare = { before = path, after = other } } do
        r = ask(question(name, asked), request(99, "ping"))
        t.ok(#r == 2 and r[1].result.isError and
            r[1].result.content[1].text:find(other .. ": expected a file", 1, true),
            name .. " of " .. other)
    end
end

-- What is no request.
local function code(line)
    local out = ask(line, request(99, "ping"))
    t.is(#out, 2, "one answer, and the next request is served: " .. line:sub(1, 40))
    return out[1].error and out[1].error.code
end
t.is(code '{"jsonrpc": "2.0", "id": 1, "method"', -32700, "cut")
t.is(code(("["):rep(100000)), -32700, "nested deeply")
t.is(code '"\xff\xfe"', -32700, "no text")
t.is(code "[]", -32600, "no message")
t.is(code "7", -32600, "a number")
t.is(code '{"jsonrpc": "1.0", "id": 1, "method": "ping"}', -32600, "another version")
t.is(code '{"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}', -32600, "an id that is none")
t.is(code '{"jsonrpc": "2.0", "id": 1, "method": "files/delete"}', -32601, "no method")
t.is(code '{"jsonrpc": "2.0", "id": 1, "method": ["ping"]}', -32600, "a method that is no text")
t.is(code '{"jsonrpc": "2.0", "id": 1, "method": null}', -32600, "null as the method")
t.is(code '{"jsonrpc": "2.0", "id": 1}', -32600, "neither a method nor an answer")
t.is(code '{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, "true as the id")
t.is(code '{"jsonrpc": "2.0", "id": false, "method": "ping"}', -32600, "false as the id")
t.is(code '{"jsonrpc": "2.0", "id": 12345678901234567890, "method": "ping"}', -32600,
    "an id that would not come back unchanged")
t.is(code '{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": 3}', -32602, "parameters")
t.is(code(question "delete"), -32602, "no question")
t.is(code(question("verdict", { files = {} })), -32602, "no file")
t.is(code(question("verdict", { files = "x" })), -32602, "a file that is no list")
t.is(code(question("verdict", { files = { path }, html = "x.html" })), -32602, "another argument")
for _, limit in ipairs { 1e9, 1e300, 0, -1, 10.5, true, "10" } do
    t.is(code(question("ops", { files = { path }, limit = limit })), -32602, "limit " ..
        tostring(limit))
end
t.is(code('"' .. ("x"):rep(3 << 20) .. '"'), -32600, "a message of three million bytes")
t.is(select(3, os.execute(build .. "/gpush mcp now </dev/null 2>/dev/null")), 2, "an argument")
t.done()
