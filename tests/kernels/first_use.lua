--!plain
-- An op that is the first of its process to need the libraries of linear algebra, which are loaded
-- then, runs as any other: each op of linalg, and what multiplies, in a process of its own.
local t = require "tap"
local g = require "gpush"
local A, S = require "audit", require "audit.samples"

local calls = {}
local function add(name, text) calls[#calls + 1] = { name, text } end
for name, row in pairs(g.ops(true)) do
    local text = name:find "^linalg[_.]" and S.call(name, row)
    if text then add(name, text) end
end
for _, driver in ipairs { "gels", "gelsy", "gelsd", "gelss" } do
    add("linalg_lstsq", ("f(4, 2), f(4, 1), {driver = '%s'}"):format(driver))
end
for _, op in ipairs { { "mm", "f(99, 99), f(99, 99)" }, { "mv", "f(99, 99), f(99)" },
    { "conv2d", "f(2, 8, 9, 9), f(8, 8, 3, 3)" } } do
    add(op[1], op[2])
end
table.sort(calls, function(a, b) return a[1] .. a[2] < b[1] .. b[2] end)

if arg[1] then -- a child: call number arg[1], with another dtype if there is arg[2]
    local name, text = table.unpack(calls[tonumber(arg[1])])
    local env = setmetatable({}, { __index = A.env })
    function env.f(...) return A.env.f(...):to(arg[2] or "f32") end
    local args = table.pack(load("return " .. text, "=sample", "t", env)())
    local fn = g.linalg[name:match "^linalg[_.](.*)"] or g[name]
    pcall(fn, table.unpack(args, 1, args.n))
    os.exit(true, true)
end
t.ok(#calls > 30, "there are such ops")
for i, call in ipairs(calls) do
    for _, dtype in ipairs { "f32", "f64" } do
        local p = assert(io.popen(("%s/gpush %s %d %s 2>&1"):format(os.getenv "GPUSH_BUILD",
            arg[0], i, dtype)))
        local out = p:read "a"
        if not t.ok(p:close(), ("%s(%s) in %s"):format(call[1], call[2], dtype)) then
            io.stderr:write("#   ", out:sub(1, 200), "\n")
        end
    end
end
t.done()
