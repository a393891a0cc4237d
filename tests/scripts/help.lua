-- help: its texts about ops, classes, values and words; every example runs and shows the result
-- given.
local t = require "tap"
local gpush = require "gpush"

local function said(...)
    local lines, old = {}, print
    print = function(...) -- luacheck: ignore
        local parts = table.pack(...)
        for i = 1, parts.n do parts[i] = tostring(parts[i]) end
        lines[#lines + 1] = table.concat(parts, "\t")
    end
    local ok, message = pcall(help, ...)
    print = old
    return ok and table.concat(lines, "\n") or "error: " .. tostring(message)
end
local function says(text, name, ...)
    local got = said(...)
    if not t.ok(got:find(text, 1, true) ~= nil, name) then
        io.stderr:write("#   got ", got, "\n")
    end
end

says("sum(x, [dim], [keepdim=false], [dtype])", "a signature", "sum")
says("sum over dims", "its line", "sum")
says("example:", "an example", "conv2d")
says("shapes: x: batch", "shapes", "conv2d")
says("see also: conv_transpose2d", "and others", "conv2d")
t.is(said(gpush.conv2d), said "conv2d", "an op's function is as good as its name")
says("linalg.svd", "a name with a dot", "linalg.svd")
says("also called inverse", "second names", "linalg.inv")
says("clamp(x, [min], [max])", "asked for by one", "clip")
says("matmul", "words that are no name are searched for", "matrix product")
says("matmul", "all words must fit", "matrix product")
says("nothing mentions all of these words; some of them:", "or some of them are looked for",
    "matrix xyzzy")
says("linalg.matrix_norm", "which are found", "matrix xyzzy")
says("error: help: nothing is called 'xyzzy of it'", "words that nothing mentions",
    "xyzzy of it")
says("error: help: nothing is called 'xyzzy'", "what nothing mentions", "xyzzy")
says("expected the name", "no name at all", 5)
says(":help lists", "the way in")
says("nn.Linear(in_features, out_features", "a class", "nn.Linear")
global_m = nn.Sequential(nn.Linear(2, 3))
says("1: Linear(2, 3)", "a model is a tree", "global_m")
global_x = ones(2, 3, { device = "sim" }) * 2
sync.mode = "error"
says("f32, 2x3, on sim:0", "a tensor, without waiting for it", "global_x")
sync.mode = "off"
-- The comment above a function is its help.
function global_f(a, b) return a, b end
says("The comment above a function", "a function's comment", "global_f")
says("2 arguments", "and its arguments", "global_f")
says("function global_f(a, b) return a, b end", "its source", "global_f", { source = true })
says("local function einsum(equation, ...)", "the source of a composite", "einsum",
    { source = true })
says("written in C", "that of a row", "exp", { source = true })
says("linalg_svd's row", "of a group's op by its own name", "svd", { source = true })
says("function Linear:forward", "of a class", "nn.Linear", { source = true })

-- Ops without a text: their kind gives the shapes, and help runs an example.
says("--> tensor({1.2840, 1.6487, 2.1170}, f32 3 cpu)", "an example of a row", "exp")
says("shapes: x: any; the result has the same", "its shapes", "exp")
says("see also: exp2, expm1", "those that are like it", "exp")
local kinds = { unary = true, binary = true, compare = true, reduce = true }
for name, row in pairs(ops()) do
    if kinds[row.kind] and not row.random and not name:find "^_" then
        local text = said(name)
        if not (text:find("example:", 1, true) and text:find("-->", 1, true)) then
            t.ok(false, "an example of " .. name)
        end
    end
end

-- The call stands first and is whole; no line is longer than 80 columns.
local wide, broken = {}, {}
for name, row in pairs(ops(true)) do
    local text = said(name)
    local head = ("\n" .. text .. "\n    -"):match "^(.-)\n    %f[%S]"
    for line in text:gmatch "[^\n]+" do if utf8.len(line) > 80 then wide[#wide + 1] = name end end
    if not head:find "%)%s*$" and row.sig ~= "" then broken[#broken + 1] = name end
end
for _, area in ipairs { "nn", "optim", "data", "optim.lr" } do
    for key, value in pairs(load("return " .. area)()) do
        local name = area .. "." .. tostring(key)
        local text = key:find "^%u" and type(value) == "table" and said(name) or ""
        for line in text:gmatch "[^\n]+" do
            if utf8.len(line) > 80 then wide[#wide + 1] = name end
        end
    end
end
t.is(table.concat(wide, " "), "", "no line is wider than 80 columns")
t.is(table.concat(broken, " "), "", "and no call ends in the middle")
says("[dilation=1],\n        [ceil_mode", "which goes on in the next line", "max_pool2d")
says("dtypes: f64 f32 bf16 f16; integers and bool give f32", "the dtypes of an elementwise op",
    "exp")
says("dtypes: i64 i32 i16 i8 u8 bool", "of one for integers", "bitwise_and")
says("integers and bool give", "of a reduction", "sum")
says("waits: for the number of distinct", "what the host waits for", "unique")
says("raises: a divisor of 0, of integers", "what it raises at", "remainder")
says("in place: x:exp_()", "the form in place", "exp")
says("in place: a:add_(…)", "with arguments", "add")
t.ok(not said("sum"):find "in place:", "which not all ops have")
for name, row in pairs(ops()) do -- the text holds: the first dtype is accepted
    local dtype = kinds[row.kind] and row.kind == "unary" and not name:find "^_"
        and row.dtypes:match "^%w+"
    if dtype then gpush[name](ones(2, { dtype = dtype })) end
end
setmetatable(_ENV, { __index = function() error "no" end })
says("error: help: nothing is called", "no metamethod runs", "global_nothing")
setmetatable(_ENV, nil)

-- Examples.
local topics = debug.getregistry()["gpush.require"] "help.topics"
for name, topic in pairs(topics) do
    if name ~= 1 and topic.example then
        local code, want = {}, {}
        for line in topic.example:gmatch "[^\n]+" do
            local shown = line:match "^%-%-> (.*)$"
            if shown then want[#want + 1] = shown else code[#code + 1] = line end
        end
        local text = table.concat(code, "\n")
        local f = load("return " .. text) or load(text)
        local ok, got = pcall(f or error)
        t.is(ok and tostring(got) or got, table.concat(want, "\n"), "example of " .. name)
    end
    if name ~= 1 and topic.see then
        for other in topic.see:gmatch "[%w_.]+" do
            t.ok(not said(other):find "^error", name .. ": there is help for " .. other)
        end
    end
end
for name, row in pairs(ops(true)) do
    if not said(name):find(row.help:sub(1, 20), 1, true) then t.ok(false, "help for " .. name) end
end
t.done()
