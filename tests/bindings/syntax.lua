-- Tensor syntax: the results of truth and comparison of tensors, and that plain Lua is not
-- affected.
local t = require "tap"

-- Tensors
-- ------------------------------------------------------------------------------------------------

local x = arange(1, 5) -- 1 2 3 4 5
local one, zero, two = full({}, 1.0), full({}, 0.0), full({ 1 }, 2.0)
local box = { x = x, one = one, zero = zero, two = two, n = 2 }
local function ten() return x, "second" end

t.is((x == 3):tolist(), { false, false, true, false, false }, "tensor == number")
t.is((3 ~= x):tolist(), { true, true, false, true, true }, "number ~= tensor")
t.is((x < 3):tolist(), { true, true, false, false, false }, "<")
t.is((3 < x):tolist(), { false, false, false, true, true }, "number < tensor")
t.is((x <= 2):tolist(), (2 >= x):tolist(), "<= is >= with its sides swapped")
t.is((box.x > 4):tolist(), { false, false, false, false, true }, ">")
t.is((box.x >= box.n):tolist(), { false, true, true, true, true }, ">= of fields")
t.is((ten() == ten()):tolist(), { true, true, true, true, true }, "calls are cut to one value")
local function mask(v) return v ~= 3 end
t.is(mask(x):tolist(), { true, true, false, true, true }, "a returned comparison")
local masks = { x == 1, keep = x > 4 }
t.is({ masks[1]:tolist()[1], masks.keep:tolist()[5] }, { true, true }, "comparisons in a table")

t.is(one and "yes" or "no", "yes", "and, or: true")
t.is(zero and "yes" or "no", "no", "and, or: false")
t.ok(rawequal(one or 1, one), "or keeps a true tensor")
t.is(zero or 7, 7, "or passes a false one over")
t.is(not one, false, "not")
t.is(not box.zero, true, "not of a field")
t.is({ one == 1 and 5, two == 1 and 5, box.two == 2 and 5 }, { 5, false, 5 },
    "a comparison as a condition")
local seen = {}
if one then seen[#seen + 1] = "if" end
if zero then seen[#seen + 1] = "never" elseif two == 2 then seen[#seen + 1] = "elseif" end
if two ~= 2 then seen[#seen + 1] = "never" end
if box.two ~= box.n then seen[#seen + 1] = "never" end
if 1 < two and two <= 2 then seen[#seen + 1] = "order" end
local w = full({}, 3)
while w > 0 do w = w - 1 seen[#seen + 1] = "while" end
repeat w = w + 1 local done = w == 2 until done
t.is(seen, { "if", "elseif", "order", "while", "while", "while" }, "statements")
t.is(w:item(), 2, "until")

local n = 0
for i = one, two * 2 do n = n + i end
t.is(n, 10, "tensors as a loop's bounds")
t.is(math.type(n), "float", "are the numbers they hold")
for i = one:to "i64", 2 do n = i end
t.is(math.type(n), "integer", "integers too")

t.error(function() if x then end end,
    "truth value of a tensor with 5 elements is ambiguous; use :any%(%) or :all%(%), or ~= nil",
        "if")
t.error(function() return x and 1 end, "ambiguous", "and")
t.error(function() return not box.x end, "ambiguous", "not")
t.error(function() if x == 1 then end end, "ambiguous", "== as a condition")
t.error(function() if box.x ~= box.x then end end, "ambiguous", "~= as a condition")
t.error(function() if x < 1 then end end, "ambiguous", "< as a condition")
t.error(function() while x do end end, "^[^:]*syntax.lua:%d+: ", "the error carries the line")
t.error(function() for _ = 1, x do end end, "one element", "a loop's bound of five elements")

t.is({ x == nil, x == "x", x == false, x == {}, nil ~= x }, { false, false, false, false, true },
    "a tensor is no other value")
local nothing, word = box.nothing, tostring "x"
t.is({ x == nothing, word == x, x ~= nothing, box.x == box.nothing, box.x ~= print },
    { false, false, true, false, true },
    "nor when that is known late")
if x == nothing or nothing == x or box.x == nothing or box.x == word then
    t.ok(false, "nor in a condition")
end
t.error(function() return x < nothing end, "lt", "but there is no order with nil")
local nan = full({}, 0 / 0)
t.is({ nan == nan and 1 or 0, nan ~= nan and 1 or 0, (nan == nan):item() }, { 0, 1, false },
    "nan is not itself")


local V = { one = one, zero = zero, x = x }
V.__lt = function(a, b) return V[b.k] < V[a.k] end
function V.__le(a, b) return V[a.k] end
V.__eq = function(a, b) return V[a.k] == 0 end
local v1, v0, vx = setmetatable({ k = "one" }, V), setmetatable({ k = "zero" }, V),
    setmetatable({ k = "x" }, V)
t.is({ v1 < v0, v0 < v1, v1 <= v0, v0 <= v1, v0 == v1, v1 == v0 },
    { true, false, true, false, true, false },
    "a metamethod's tensor is its truth")
t.error(function() return vx <= v1 end, "ambiguous", "if it has one")
if v0 < v1 then t.ok(false, "in a condition too") end

-- Sources of chunks
-- ------------------------------------------------------------------------------------------------

t.is(load("return ... == 3")(x):tolist()[3], true, "load of a string")
local pieces = { "ret", "urn ... ", "== 3" }
t.is(load(function() return table.remove(pieces, 1) end)(x):tolist()[3], true, "load of a reader")
t.is(load("--!plain\nreturn ... == 3")(x), false, "--!plain as the first line")
t.is(load("return y ~= 1", "c", "t", { y = x })():tolist()[1], false, "load with an environment")
local fenv = load("local x = ... return x == 2, function(_ENV) return y == 2 end")
local a, b = fenv(x)
t.is({ a:tolist()[2], b({ y = x }):tolist()[2] }, { true, true }, "_ENV as a parameter")
local strict = setmetatable({}, { __index = function(_, k) error("undefined " .. k) end })
t.is(load "local x, y, env = ... local _ENV = env if x then return y == 2 end return 1"(
    true, x, strict):tolist()[2], true,
    "an environment that refuses to be asked")
t.is(load "local x = 1 do local x = ... return x == 2 end"(x):tolist()[2], true,
    "a name that was a number outside")
local chain = { "local x = ... local v1" }
for i = 2, 24 do chain[1] = chain[1] .. ", v" .. i end
chain[1] = chain[1] .. " = 0" .. (", 0"):rep(23) .. " for i = 1, 24 do"
for i = 1, 23 do chain[#chain + 1] = ("v%d = v%d"):format(i, i + 1) end
chain[#chain + 1] = "v24 = x end return v1 == 2"
t.is(load(table.concat(chain, " "))(x):tolist()[2], true,
    "a tensor at the end of a long chain of numbers")
local name = os.tmpname()
local function write(text) local f <close> = assert(io.open(name, "wb")) f:write(text) end
write "#!/usr/bin/gpush\nlocal x = ...\nreturn x == 3, debug.getinfo(1, 'l').currentline"
t.is({ loadfile(name)(x):tolist()[3], select(2, loadfile(name)(x)) }, { true, 3 },
    "loadfile of a script")
write "\xEF\xBB\xBFreturn 1 == X, 2"
X = x
t.is(dofile(name):tolist()[1], true, "dofile, with a byte order mark")
write "return { m = X > 4, name = ... }"
package.path, package.loaded.m = name:gsub("[^/]*$", "?") .. ";" .. package.path, nil
local modname = name:match "[^/]*$"
t.is({ require(modname).m:tolist()[5], require(modname).name }, { true, modname }, "require")
write(string.dump(load "return 7"))
t.is(loadfile(name)(), 7, "loadfile takes a binary chunk")
t.error(function() dofile(name) end, "attempt to load a binary chunk %(mode is 't'%)",
    "dofile takes none")
package.loaded[modname] = nil
t.error(function() require(modname) end, "attempt to load a binary chunk", "nor does require")
t.is(load(string.dump(load "return X == 3"))():tolist()[3], true,
    "a dumped function keeps its helpers")
os.remove(name)

-- Coroutines, errors
-- ------------------------------------------------------------------------------------------------

local Y = setmetatable({}, {
    __eq = function(_, o) return coroutine.yield "eq" end,
    __lt = function(_, o) return coroutine.yield "lt" end,
    __le = function(_, o) return coroutine.yield "le" end,
})
local pair = { a = Y, b = setmetatable({}, getmetatable(Y)) }
local co = coroutine.wrap(function()
    local eq, lt, ge = pair.a == pair.b, pair.a < pair.b, pair.a >= pair.b
    if pair.a ~= pair.b then return { eq, lt, ge } end
end)
t.is({ co(), co(1), co(false), co "x", co(nil) }, { "eq", "lt", "le", "eq", { true, false, true } },
    "metamethods may yield")

-- Comparisons do not chain
-- ------------------------------------------------------------------------------------------------

local range, ones2 = tensor { 0.5, 5, -3 }, ones(2, 2)
t.error(function() return range[0 < range < 1] end, "write %(0 < range%) & %(range < 1%)$",
    "x[0 < x < 1]")
t.is(range[(0 < range) & (range < 1)], { 0.5 }, "as the error says")
t.error(function() if 0 <= box.one <= 1 then return 1 end end,
    "write %(0 <= box%.one%) & %(box%.one <= 1%)$", "in a condition")
t.error(function() return 0 < x == one < 1 end, "write %(0 < x%) & %(x == one%)$", "a mix")
t.error(function() return x ~= one ~= two end, "write %(x ~= one%) & %(one ~= two%)$", "~=")
t.error(function() return 1 > x >= 0 end, "write %(1 > x%) & %(x >= 0%)$", "> and >=")
t.error(function() local n = 2 return 1 < n == x end, "write %(1 < n%) & %(n == x%)$",
    "a tensor at the end")
t.error(function() return 0 <
    x < 1 end, "write %(a < b%) & %(b < c%)$", "over two lines")
t.is((0 < range) < 1, { false, false, true },
    "parentheses: a bool tensor is compared, as in PyTorch")
t.is((0 < range):lt(1), { false, false, true }, "and by a method")
t.is(1 < 2 == true, true, "plain values have no chains")
t.error(function() return 1 < 2 < 3 end, "attempt to compare boolean with number",
    "and the error of Lua")

-- @, the matrix product
-- ------------------------------------------------------------------------------------------------

local m = tensor { { 1.0, 2 }, { 3, 4 } }
t.is(m @ m, m:matmul(m), "a @ b")
t.is(m @ m @ ones2, (m:matmul(m)):matmul(ones2), "from left to right")
t.is(2 * m @ m + 1, (2 * m):matmul(m) + 1, "binds as * does")
t.is(-m @ m.T ^ 2, (-m):matmul(m.T ^ 2), "less than ^")
t.is(({ m @ m, n = m @ m }).n, m:matmul(m), "in a table")
local function product(a, b) return a @ b end
t.is(product(m, m), m:matmul(m), "returned")
t.error(function() return 1 @ "x" end,
    "syntax%.lua:%d+: @ is the matrix product of two tensors %(got number and string%)",
        "no tensor")
t.error(function() return m @ 2 end, "matmul: argument 'b' %(#2%): expected a tensor, got 2",
    "a number")
t.error(function() return m @ ones(3, 3) end, "syntax%.lua:%d+: matmul: ",
    "shapes that do not go together")
t.is(load "local a, b = ... return a @ b" (m, m), m:matmul(m), "in load")
t.is(select(2, load("y = a @ b if then", "=c")), "c:1: unexpected symbol near 'then'",
    "an error after it is Lua's")
t.is(select(2, load("for i = 1, 2 do y = a @", "=c")), "c:1: unexpected symbol near <eof>",
    "a chunk that goes on")
t.is(select(2, load("y = a @ b goto nowhere", "=c")),
    "c:1: no visible label 'nowhere' for <goto> at line 1", "what only Lua sees")
t.is(select(2, load("--!plain\ny = a @ b", "=c")), "c:2: unexpected symbol near '@'",
    "--!plain: no Lua")
t.is(select(2, load("@f", "=c")), "c:1: unexpected symbol near '@'", "alone: no Lua")

-- Plain Lua is not affected: the same text with the rewrite and without it
-- ------------------------------------------------

local function outcome(head, text, ...)
    local r = table.pack(pcall(assert(load(head .. text, "=c")), ...))
    for i = 1, r.n do r[i] = tostring(r[i]):gsub("0x%x+", "") end
    return table.concat(r, " ")
end
local texts = {
    "return 1 == 1.0, 'a' < 'b', 'a' == a, nil == a, 2^53 == 2^53 + 1",
    "local a, b = ... return a == b, a ~= b, a == 1, b == 2, a and b, a or b, not a, not not b",
    "local a, b = ... return a < b, a <= b, a > b, a >= b",
    "local t = {...} return t[1] < t[2]", "local t = {...} return t[1] >= t[2]",
    "local t = {...} return t[1] == t[2]",
    "local t = {...} if t[1] > t[2] then return 1 end return 2",
    "local t = {...} return t[1].x == nil", "return (...) == select(2, ...)",
    "return (... == ...), select('#', ...)",
    "local function f() end return f() == nil, f() == g, (f()) == f(), select('#', f() and 1)",
    "local function f(...) return ... end return f(1, 2) == f(1, 3), f(f(1) == f(1), 2)",
    "return 1 < 2 == true, 1 == 2 == false, not 1 == 2, -2 ^ 2 == -4.0, 'a' .. 'b' == 'ab', 1 .. \z
        2 == '12'",
    "local a = 1 < ... < 3 return a", "return nosuch.field == 1", "return nosuch() == 1",
    "if nosuch.a.b then end",
    "local x = {} return x.a.b < 1", "return #... == 1",
    "local s = ... return s:upper() == s, ('x'):rep(3) == 'xxx'",
    "for i = 1, ... do if i == 3 then return i end end",
    "for i = (...), 10, 3 do if i == 7 then return i end end",
    "for i = 1, {} do end", "for i = 1, 10, 0 do end", "for i = 1.5, (...) do return i end",
    "do goto a end do return 5 end ::a:: return 6",
    "local n = 0 for i = 1, 9 do if i % 2 == 0 then goto continue end n = n + i ::continue:: \z
            end return n",
    "local r = {} for k, v in pairs{x = 1, y = 2} do if v == 2 then r[#r + 1] = k end end return \z
        r[1]",
    "local _ENV = {a = 1} return a == 1, b == nil, a and b or 3",
    "local a <const> = 5 return a == 5, a < 6",
    "local a = setmetatable({}, {__eq = function() return 1 end}) local b = setmetatable({}, \z
        getmetatable(a)) return a == b, a ~= b, a == 1",
    "local m = {__lt = function() return nil end, __le = function() return 'x' end, __name = \z
        'My'} local a = setmetatable({}, m) return a < 1, 2 > a, a <= a, a >= 'x'",
    "local a = setmetatable({}, {__name = 'My'}) return a < 1", "return {} < {}", "return {} <= 1",
    "return nil > 1", "return 'a' >= 1",
    "local a = setmetatable({}, {__index = function(t, k) return k end}) return a.x == 'x', a.x \z
        and a.y",
    "local c = 0 local function f() c = c + 1 return c end return f() == 1, f() < 3, f() and f() \z
        or f(), c",
    "return (function(...) return ... == 1 end)(1, 2)", "return pcall(error, nil) == false",
    "local function f(n) if n == 0 then return 'deep' end return f(n - 1) end return f(100000)",
    "return debug.traceback('x', 1):match('x') == 'x', debug.getinfo(1, 'l').currentline",
    "\n\nlocal x = nil\nreturn x.y == 1",
    "local t = setmetatable({}, {__call = function(_, a) return a end}) return t(1) == 1, t 'x' \z
        == 'x', t{} == t",
    "local a, b = ({ x = { 1, 2 } }).x return a[1], b", "local a, b, c = 1, ... return a, b, c",
    "local o = { size = function(...) return ... end, where = function() return {} end } local a, \z
        b = o.size(...) local c, d = o.where() return a, b, #c, d",
    "return string.format('%s', ... == 1), #{... == 1, ... == 2}",
    "return math.type(3 // 1) == 'integer', 0/0 ~= 0/0, -0.0 == 0.0",
    "local up = 1 local function f() up = 2 return 2 end if up == f() then return 1 end return \z
        f() == up", "return next{} == nil and 'empty' or 'full'",
}
local arguments = { {}, { 1, 2 }, { 2, 2.0 }, { "a", "b" }, { 1, "1" }, { {}, {} }, { nil, false },
    { true, print }, { 10, 3 } }
for _, text in ipairs(texts) do
    local bad
    for _, args in ipairs(arguments) do
        local plain, rewritten = outcome("--!plain\n", text, table.unpack(args, 1, 2)),
            outcome("--!\n", text, table.unpack(args, 1, 2))
        if plain ~= rewritten then bad = plain .. " <> " .. rewritten end
    end
    t.is(bad, nil, text)
end
for _, text in ipairs { "x = = 1", "if x", "for i = 1", "goto nowhere", "break",
    "local x <const> = 1; x = 2", "return x == ", "f(x == 1", "::a:: ::a::" }
do
    t.is(select(2, load(text .. "\nif y then end", "=c")),
        select(2, load(text .. "\nif y then end", "=c", "t")), "error: " .. text)
    t.is((select(2, load("--!plain\n" .. text, "=c"))), (select(2, load("--!\n" .. text, "=c"))),
        "the same as Lua's: " .. text)
end
local named
for k in pairs(string) do if not k:match "^%l+$" then named = k end end
t.is(named, nil, "nothing is added to the string library")
t.done()
