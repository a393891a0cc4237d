-- The first inputs of scripts/dev/fuzz: seeds.lua FOLDER TREE writes a folder of files for each
-- reader, files that gpush itself saves and the tree's own Lua texts.
local folder, tree = arg[1], arg[2]

local function path(reader, name)
    os.execute(("mkdir -p '%s/%s'"):format(folder, reader))
    return ("%s/%s/%s"):format(folder, reader, name)
end
local function write(reader, name, text)
    local f <close> = assert(io.open(path(reader, name), "wb"))
    assert(f:write(text))
end

for _, dtype in ipairs { "f64", "f32", "f16", "i64", "i8", "bool" } do
    local x = arange(1, 12):reshape(3, 4):to(dtype)
    npy.save(path("npy", dtype), x)
    npz.save(path("npz", dtype), { x = x, y = x:t() })
    npz.save(path("npz", dtype .. "-deflated"), { x = x }, { compressed = true })
    safetensors.save(path("safetensors", dtype), { x = x, ["a.b"] = x[1] })
end
npy.save(path("npy", "scalar"), tensor(1.5))
npy.save(path("npy", "empty"), zeros(0, 3))
for channels = 1, 4 do
    local x = rand(channels, 5, 7)
    image.save(path("png", "8x" .. channels), x)
    image.save(path("png", "16x" .. channels), x, { bits = 16 })
end

-- Profiles, and traces as PyTorch writes them.
package.path = tree .. "/tests/support/?.lua;" .. package.path
local made = require "torch_trace"
write("trace", "steps", made.steps(8, { rank = 1 }):text())
write("trace", "streams", made.streams(5, 3, { base = 1735632360000000000, hip = true }):text())
write("trace", "old", made.streams(4, 4, { old = true }):text())
local stacks = made.trace()
stacks:python("a.py(1): f", 1, 90, "b.py:3")
stacks:op("aten::mm", 5, 50, { ["Input Dims"] = "[[2], [2]]", ["Input type"] = '["float", "int"]',
    ["Call stack"] = '"a.py(1): f;b.py(2): g"', ["External id"] = 9 })
stacks:raw('{"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 7, "tid": 7, \z
    "ts": 9, "args": {"Total Allocated": 5, "Bytes": 5, "Device Id": 0, "Device Type": 1}}')
stacks:raw('{"ph": "M", "name": "thread_name", "pid": 7, "tid": 7, "args": {"name": "n"}}')
write("trace", "stacks", stacks:text())
-- One as JAX writes it, and its first half.
local jax <const> = [[{"displayTimeUnit": "ns", "traceEvents": [
{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
{"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "/host:CPU"}},
{"ph": "X", "pid": 7, "tid": 5, "ts": 3, "dur": 4, "name": "cuLaunchKernel",
  "args": {"correlation_id": "7"}},
{"ph": "X", "pid": 1, "tid": 13, "ts": 10, "dur": 9, "name": "fusion",
  "args": {"correlation_id": "7"}}]}]]
write("trace", "jax", jax)
write("trace", "jax_cut", jax:sub(1, #jax // 2))
local recorded = profile.run({ stack = true, memory = true, shapes = true }, function()
    profile.region("r", function() return ones(2, { device = "sim" }):sum():item() end)
end)
recorded:save(path("trace", "own"))
recorded:save(path("trace", "packed.gz"))

local values = { "[1,-2.5e300,true,null,\"a\\u00e9\\n\"]", '{"a":{"b":[[],{}]},"":1}', "1e400",
    '"\\ud83d\\ude00"', "-0", "9223372036854775807" }
for i, text in ipairs(values) do write("json", tostring(i), text) end

local texts = io.popen(("ls '%s'/scripts/labs/*.lua '%s'/tests/bindings/s*.lua"):format(tree,
    tree))
local i = 0
for name in texts:lines() do
    i = i + 1
    local f <close> = assert(io.open(name))
    local text = f:read(4000)
    for _, reader in ipairs { "rewrite", "highlight", "paste" } do
        write(reader, tostring(i), text)
    end
    write("history", tostring(i), text:sub(1, 1000):gsub("\n\n", "\0"))
end
for k, header in ipairs { '{"msg_id": "a", "msg_type": "execute_request"}',
    '{"msg_id": "a", "msg_type": "x_request", "subshell_id": "s"}' } do
    write("message", "whole" .. k, "id\0<IDS|MSG>\0\0" .. header .. "\0{}\0{}\0{\"code\": \"é\"}")
end
local pieces = { "if x > 0 then y = x @ w end", "a < b and b < c", "n, d = x.shape",
    "x[{1, {2, 3}}]", "for i = 1, x do print(i) end", "return not t == 0", ":time x = 1",
    "?sum\nx = 1", "!ls", "--!plain\nreturn 1", "[==[\n]==]", "goto a ::a::",
    "local x <const> = 1\nx = 2" }
for k, text in ipairs(pieces) do
    for _, reader in ipairs { "rewrite", "highlight", "paste", "history" } do
        write(reader, "piece" .. k, text)
    end
end
