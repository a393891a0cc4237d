-- Functions of Lua's libraries that use a value's truth or order: a tensor gives its value, or the
-- call raises; plain values are not affected.
local t = require "tap"
local yes, no, many = tensor(true), tensor(false), tensor { true, false }

-- Truth
-- ------------------------------------------------------------------------------------------------

t.error(function() assert((tensor { 1, 2 } == tensor { 1, 3 }):all()) end, "assertion failed!",
    "assert of a false tensor")
t.error(function() assert(no, "they differ") end, ": they differ$", "with its message")
t.error(function() assert(many) end, "with 2 elements is ambiguous",
    "assert of a tensor of more elements")
local seven = tensor(7)
t.is({ assert(seven, "kept", 3) }, { seven, "kept", 3 },
    "assert gives back what holds, the tensor itself")
t.is(pcall(assert), false, "assert of nothing")
t.is(select(2, pcall(assert)), "bad argument #1 to 'assert' (value expected)", "with Lua's message")
t.is(select(2, pcall(assert, false, { 1 })), { 1 }, "messages of any type")
t.is(select(2, pcall(assert, nil)), "assertion failed!", "assert of nil")
t.is({ assert(1, 2, nil, 4) }, { 1, 2, nil, 4 }, "assert of a plain value")

t.is(("a.c"):find(".", 1, no), 1, "string.find: plain is a tensor that is false")
t.is(("a.c"):find(".", 1, yes), 2, "and true")
t.error(function() return ("a.c"):find(".", 1, many) end, "ambiguous", "and neither")
t.is(utf8.len("\u{7FFFFFFF}", 1, -1, yes), 1, "utf8.len: lax, true")
t.is({ utf8.len("\u{7FFFFFFF}", 1, -1, no) }, { nil, 1 }, "and false")
t.is(utf8.codepoint("\u{7FFFFFFF}", 1, 1, yes), 0x7FFFFFFF, "utf8.codepoint: lax, true")
t.error(function() return utf8.codepoint("\u{7FFFFFFF}", 1, 1, no) end, "invalid UTF%-8 code",
    "and false")
t.error(function() for _ in utf8.codes("\u{7FFFFFFF}", no) do end end, "invalid UTF%-8 code",
    "utf8.codes: lax, false")
local function nothing() local unused = 1 return unused end
t.is(string.dump(nothing, no), string.dump(nothing), "string.dump: strip, false")
t.is(string.dump(nothing, yes), string.dump(nothing, true), "and true")
t.error(function() return os.time { year = 2020, month = 1, day = 1, isdst = no } end,
    "field 'isdst' is a tensor",
    "os.time: isdst is no tensor")
t.is(os.time { year = 2020, month = 1, day = 2, hour = 3 } -
    os.time { year = 2020, month = 1, day = 1, hour = 3 }, 86400,
    "os.time of a plain table")

local function exit(code, close)
    local _, how,
        n = os.execute(('"%s" -e "os.exit(%s, %s)" 2>/dev/null'):format(
            arg[-1], code, close or "false"))
    return how == "exit" and n
end
t.is({ exit "tensor(true)", exit "tensor(false)", exit "tensor(3)" }, { 0, 1, 3 },
    "os.exit of a tensor")
t.is({ exit("true", "tensor(false)"), exit "true", exit "false", exit "5" }, { 0, 0, 1, 5 },
    "and of plain values")

t.error(function() many.requires_grad = no end, "requires_grad: expected true or false",
    "x.requires_grad = a tensor")
t.error(function() many.requires_grad = 0 end, "expected true or false, got number",
    "or a number, which Lua takes for true")
t.error(function() nn.Linear(1, 1):train(no) end, "expected true or false, got tensor",
    "model:train(a tensor)")

-- A tensor from a callback
-- ------------------------------------------------------------------------------------------------

t.error(function() return ("a"):gsub("a", function() return no end) end,
    "invalid replacement value", "gsub's function")
t.error(function() return ("a"):gsub("a", { a = no }) end, "invalid replacement value",
    "gsub's table")
t.is(select(2, load(function() return no end)), "reader function must return a string",
    "load's reader")
t.error(function() return tostring(setmetatable({}, { __tostring = function() return no end })) end,
    "must return a string",
    "__tostring")
t.error(function()
    return table.unpack(setmetatable({}, { __len = function() return tensor(1.5) end }))
end,
    "object length is not an integer", "__len in a library")

-- A metamethod of Lua's own comparisons, however it became one: the truth of its result counts.
local function before(a, b) return a.v < b.v end
local function same(a, b) return (a.v == b.v) end
local meta = {}
meta.__lt, meta["__le"] = before, function(a, b) return a.v ~= b.v and a.v <= b.v end
rawset(meta, "__eq", same)
local small, large = setmetatable({ v = tensor(1) }, meta), setmetatable({ v = tensor(2) }, meta)
local function verdicts(a, b)
    local r = {}
    if a < b then r[1] = true end
    if a <= b then r[2] = true end
    while a == b do r[3] = true break end
    return r
end
t.is(verdicts(small, large), { true, true }, "1 < 2, 1 <= 2")
t.is(verdicts(large, small), {}, "not 2 < 1")
t.is(verdicts(small, setmetatable({ v = tensor(1) }, meta)), { [3] = true }, "1 == 1")
t.is(is_tensor(before(small, large)), true, "called by its name it gives the tensor")
local pair = { large, small }
table.sort(pair)
t.ok(rawequal(pair[1], small), "table.sort asks it without a comparator")
small.v = ones(2)
t.error(function() if small < large then return 1 end end, "ambiguous", "of more elements: raises")

-- Order
-- ------------------------------------------------------------------------------------------------

local function sorted(list, less)
    table.sort(list, less)
    for i, v in ipairs(list) do list[i] = is_tensor(v) and v:item() or v end
    return list
end
local function some() return { tensor(3), tensor(1), tensor(2), tensor(5), tensor(4) } end
t.is(sorted(some(), function(a, b) return a < b end), { 1, 2, 3, 4, 5 },
    "table.sort of tensors with a comparator")
t.is(sorted(some(), function(a, b) return a > b end), { 5, 4, 3, 2, 1 }, "downwards")
t.is(sorted(some(), function(a, b) local r = a < b; return r end), { 1, 2, 3, 4, 5 },
    "whose truth is not taken in it")
t.is(sorted(some(), lt), { 1, 2, 3, 4, 5 }, "an op as the comparator")
t.is(sorted(some()), { 1, 2, 3, 4, 5 }, "without one")
t.is(sorted { tensor(3), 1, tensor(2) }, { 1, 2, 3 }, "beside numbers")
local models = {}
for i, loss in ipairs { 0.5, 0.25, 0.75 } do models[i] = { loss = tensor(loss) } end
table.sort(models, function(a, b) return a.loss < b.loss end)
t.is({ models[1].loss:item(), models[2].loss:item(), models[3].loss:item() }, { 0.25, 0.5, 0.75 },
    "records by a tensor in them")
t.error(function() table.sort({ ones(2), ones(2) }, function(a, b) return a < b end) end,
    "truth%.lua:%d+: .*ambiguous",
    "what has no order raises, at the line that sorts")
t.error(function() table.sort { ones(2), ones(2) } end, "ambiguous", "also without a comparator")
local column = tensor { 3, 1, 2 }
for name, call in pairs { sort = table.sort, remove = table.remove,
    insert = function(x) table.insert(x, 1, 0) end }
do
    t.error(function() call(column) end, "table expected, got tensor",
        "table." .. name .. " of a tensor")
end
t.is(column, { 3, 1, 2 }, "which is as it was")
t.is({ math.max(tensor(2), 3), math.min(tensor(2), 3) }, { 3, 2 }, "math.max and math.min")

-- table.sort with a comparator of plain values makes the same comparisons as Lua's own, in the same
-- order.
local function list(n, log, less)
    local meta = { __lt = function(a, b)
        log[#log + 1] = a.n .. " " .. b.n
        return less(a.key, b.key)
    end }
    local out = {}
    for i = 1, n do out[i] = setmetatable({ n = i, key = i * 7919 % (n // 2 + 1) }, meta) end
    return out, meta.__lt
end
local function outcome(sort_by, n, less)
    local log = {}
    local values, before = list(n, log, less)
    local ok, message = pcall(table.sort, values, sort_by and before or nil)
    for i, v in ipairs(values) do values[i] = v.n end
    return { ok, message, values, log }
end
for name, less in pairs { order = function(a, b) return a < b end,
    none = function() return true end }
do
    local bad = {}
    for _, n in ipairs { 0, 1, 2, 3, 4, 5, 10, 99, 100, 101, 500 } do
        local mine, lua = outcome(true, n, less), outcome(false, n, less)
        for i = 1, 4 do
            if json.encode(mine[i] or "") ~= json.encode(lua[i] or "") then bad[#bad + 1] = n end
        end
    end
    t.is(bad, {}, "table.sort asks as Lua's does: " .. name)
end
local big = {}
for i = 1, 5000 do big[i] = (i * 7919) % 5003 end
table.sort(big, function(a, b) return a > b end)
local wrong = 0
for i = 2, #big do wrong = wrong + (big[i - 1] < big[i] and 1 or 0) end
t.is(wrong, 0, "a long list, whose pivots are chosen at random")
t.is(select(2, pcall(table.sort, { 3, 1 }, 5)),
    "bad argument #2 to 'table.sort' (function expected, got number)", "errors are Lua's")
t.is(select(2, pcall(table.sort, 5, print)),
    "bad argument #1 to 'table.sort' (table expected, got number)", "also for the list")
t.is(select(2, pcall(table.sort, { 3, 1 })), nil, "no comparator")
t.is(select(2, pcall(table.sort, { 3, "x" })), "attempt to compare string with number",
    "plain values without an order")
t.done()
