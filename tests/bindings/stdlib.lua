-- Lua's libraries and operators with tensors as arguments: each does what is meant, with the value
-- of a tensor of one element, or raises an error that says what to write.
local t = require "tap"

-- What the text gives, or its error. In it: one, two, half and yes of one element; v, w, m and b of
-- more; new names are its own.
local head = [[local one, two, half, yes = tensor(1), tensor(2), tensor(2.5), tensor(true)
local v, w, m, b = tensor {1, 2, 3}, tensor {3, 2, 1}, ones(2, 2), tensor {true, false} ]]
local function run(text)
    local result = table.pack(pcall(assert(load(head .. text, "=x"))))
    if not result[1] then return nil, (tostring(result[2]):gsub("^x:1: ", "")) end
    for i = 2, result.n do
        if is_tensor(result[i]) then result[i] = result[i]:tolist() end
    end
    return { table.unpack(result, 2, result.n) }
end
local function gives(cases)
    for _, case in ipairs(cases) do
        local got, message = run("return " .. case[1])
        t.is(got or message, { table.unpack(case, 2) }, case[1])
    end
end
local function raises(cases)
    for _, case in ipairs(cases) do
        local got, message = run(case[1])
        t.ok(not got and message:find(case[2], 1, true), case[1] .. ": " .. case[2],
            "got " .. tostring(message))
    end
end

-- ---- numbers ----

gives { { "math.max(one, two, 0)", 2 }, { "math.min(3, half)", 2.5 }, { "math.floor(half)", 2 },
    { "math.tointeger(two)", 2 }, { "math.fmod(half, two)", 0.5 }, { "math.ult(one, two)", true },
    { "math.random(two, two)", 2 }, { "math.random(one)", 1 }, { "math.log(8, two)", 3.0 },
    { "(math.randomseed(two))", 2 }, { "tonumber(half)", 2.5 }, { "tonumber('11', two)", 3 },
    { "select(two, 5, 6)", 6 }, { "os.date('!%Y', one)", "1970" },
    { "os.difftime(two, one)", 1.0 } }
raises { { "return math.max(v, w)", "number expected, got tensor i64 3; x:max(…) takes tensors" },
    { "return math.floor(m)", "number expected, got tensor f32 2x2; x:floor(…) takes tensors" },
    { "return math.tointeger(v)", "number expected, got tensor i64 3)" },
    { "return math.random(v)", "'random' (number expected, got tensor i64 3)" },
    { "return tonumber(v)", "number expected, got tensor i64 3" },
    { "return os.time {year = one, month = 1, day = 1}",
        "field 'year' is a tensor (expected an integer; x:item() gives it)" },
    { "return os.time {year = 2020, month = 1, day = 1, isdst = yes}", "(expected a boolean;" },
    { "return os.time(v)", "bad argument #1 to 'time' (table expected, got tensor)" },
    { "return os.time(5)", "bad argument #1 to 'time' (table expected, got number)" } }
-- the generator is Lua's own, with its state
math.randomseed(7)
local first = { math.random(1000), math.random(1000), math.random() }
math.randomseed(7)
t.is({ math.random(1000), math.random(1000), math.random() }, first, "math.random can be repeated")

-- ---- texts ----

gives { { "('hello'):sub(two, 3)", "el" }, { "('x'):rep(two)", "xx" }, { "('abc'):byte(two)", 98 },
    { "('hello'):find('l', two)", 3, 3 }, { "('a.'):find('.', one, yes)", 2, 2 },
    { "('hello'):match('l.', two)", "ll" }, { "('hello'):gmatch('l', two)()", "l" },
    { "('aaa'):gsub('a', 'b', two)", "bba", 2 }, { "string.char(tensor(65))", "A" },
    { "string.unpack('i1', 'ab', two)", 98, 3 }, { "string.pack('i1', tensor(65))", "A" },
    { "utf8.char(tensor(228))", "ä" }, { "utf8.codepoint('abc', two)", 98 },
    { "utf8.len('abc', two)", 2 }, { "utf8.offset('abc', two)", 2 },
    { "('%d %.1f %s %q %q'):format(one, half, two, one, yes)",
        "1 2.5 tensor(2, i64 scalar cpu) 1 true" },
    { "one .. 'a'", "1a" }, { "table.concat({'loss ', half, ' ', 3})", "loss 2.5 3" },
    { "table.concat({one, two, half}, ', ', two)", "2, 2.5" },
    { "table.concat({[5] = two}, '', 5, 5)", "2" },
    { "table.concat({1, 'a'}, '-')", "1-a" } }
raises { { "return ('hello'):sub(v)", "number expected, got tensor i64 3" },
    { "return ('hello'):byte(v)", "number expected, got tensor i64 3" },
    { "return ('%d'):format(v)", "number expected, got tensor i64 3; %s shows it" },
    { "return v .. ''", "attempt to concatenate a tensor i64 3 (tostring makes a text of it)" },
    { "return table.concat {1, v}",
        "element 2 of the list is a tensor i64 3 (tostring makes a text of it)" },
    { "return table.concat(v)", "table expected, got tensor (x:tolist() makes one)" },
    { "return table.concat({one, {}})", "invalid value (table) at index 2 in table for 'concat'" },
    { "return table.concat({1, 2}, '', 1, math.maxinteger)", "invalid value (nil) at index 3" },
    { "return table.concat({one}, {})",
        "bad argument #2 to 'concat' (string expected, got table)" },
    { "return table.concat({one}, '', {})",
        "bad argument #3 to 'concat' (number expected, got table)" },
    { "io.write(v)", "number expected, got tensor i64 3; tostring(x) is its text" },
    { "return ('a'):gsub('a', function() return one end)", "invalid replacement value" },
    { "return string.upper(one)", "string expected, got tensor" } }
t.is(table.concat(setmetatable({}, { __index = function(_, i) return i end,
    __len = function() return 3 end }), "-"), "1-2-3", "concat of an object asks it once")

-- ---- tables ----

gives { { "table.remove({5, 6, 7}, two)", 6 }, { "table.unpack({5, 6, 7}, two)", 6, 7 },
    { "table.move({5, 6, 7}, one, two, two)[3]", 6 }, { "#table.pack(v, w)", 2 },
    { "(function() local l = {1, 3} table.insert(l, two, 9) return l[2] end)()", 9 },
    { "(function() local l = {} table.insert(l, v) return l[1] end)()", { 1, 2, 3 } },
    { "({10, 20})[one]", nil } } -- a key is compared by identity: docs/language.md
raises { { "table.insert({}, v, 5)", "number expected, got tensor i64 3" },
    { "table.insert(v, 5)", "table expected, got tensor (x:sort() and cat make a new tensor)" },
    { "table.remove(v, 1)", "table expected, got tensor" },
    { "return next(v)", "table expected, got tensor" },
    { "return rawlen(v)", "table or string expected, got tensor" } }

-- ---- loops, operators, fields ----

gives { { "(function() local n = 0 for i = one, two do n = n + i end return n end)()", 3 },
    { "(function() local n = 0 for i, r in ipairs(v) do n = n + i end return n end)()", 6 },
    { "#m", 2 }, { "v[v]", { 1, 2, 3 } }, { "v[two]", 2 }, { "v & 1", { 1, 0, 1 } },
    { "~v", { -2, -3, -4 } }, { "1 << v", { 2, 4, 8 } }, { "7 // v", { 7, 3, 2 } },
    { "~b", { false, true } } }
local loop = "for: expected a number or a tensor of one element, got tensor i64 3 (#x is the size"
raises { { "for i = 1, v do end", loop }, { "for i = v, 3 do end", loop },
    { "for i = 1, 3, v do end", loop },
    { "for x in v do end", "attempt to call a tensor value" },
    { "for i in ipairs(one) do end", "a 0-d tensor has no parts" },
    { "return #one", "a 0-d tensor has no length" },
    { "return half & 1", "dtype f32 of argument 'a' is not supported" },
    { "return v // 0", "integer division by zero" },
    { "v.y = 3", "a tensor has no method or property 'y'" },
    { "v.shape = {3}", "x.shape cannot be set (expected an index, grad or requires_grad)" },
    { "v.T = w", "x.T cannot be set" }, { "v.sum = 3", "x.sum cannot be set" },
    { "v[4] = 1", "index 4 is out of range" },
    { "local c do local x <close> = v c = x end return c + 1",
        "expected a tensor or a number, got a closed tensor" },
    { "local c do local x <close> = v c = x end return c.shape",
        "expected a tensor, got a closed tensor" },
    { "return coroutine.wrap(v)", "function expected, got tensor" },
    { "return xpcall(print, v)", "function expected, got tensor" },
    { "return load(v)", "got tensor" } }
t.is(select(2, load(function() return tensor(1) end)), "reader function must return a string",
    "load's reader")
t.done()
