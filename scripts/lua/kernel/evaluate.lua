--!plain
-- Computes the tree of a formula (parse.lua) by ops on tensors, so that it runs on every device,
-- has a derivative, and can be fused. Values are tensors, or Lua's numbers and booleans where no
-- tensor takes part. As in C, integers narrower than i32 and truth values become i32 in arithmetic,
-- integers divide toward 0, comparisons are 0 or 1, and functions of integers, and integers beside
-- a literal such as 0.1, are in double. Unlike in C, a literal takes the type of the floats that it
-- meets: in x * 0.1 of an f32 x all is f32.
local require = ...
local gpush, types = require "gpush", require "kernel.types"
local is_tensor = gpush.is_tensor

local INTEGER <const> = { i64 = true, i32 = true, i16 = true, i8 = true, u8 = true, bool = true }
local WIDENED <const> = { i16 = true, i8 = true, u8 = true, bool = true }
local ELEMENTWISE <const> = { unary = true, binary = true, ternary = true, param = true,
    predicate = true, compare = true }

-- x as arithmetic takes it.
local function number(x)
    if type(x) == "boolean" then return x and 1 or 0 end
    if is_tensor(x) and WIDENED[x.dtype] then return x:to "i32" end
    return x
end

local function truth(x)
    if is_tensor(x) then return x.dtype == "bool" and x or x:ne(0) end
    if type(x) == "number" then return x ~= 0 end
    return x
end

local function integer(x)
    if is_tensor(x) then return INTEGER[x.dtype] end
    return math.type(number(x)) == "integer"
end

-- The integers a beside b: a literal that is none makes them f64, and one that i32 has not i64.
local function beside(a, b)
    if not is_tensor(a) or is_tensor(b) or not INTEGER[a.dtype] then return a end
    if math.type(b) == "float" then return a:to "f64" end
    return a.dtype == "i32" and (b > 0x7fffffff or b < -0x80000000) and a:to "i64" or a
end

-- a and b as arithmetic takes them.
local function pair(a, b)
    a, b = number(a), number(b)
    return beside(a, b), beside(b, a)
end

-- ---- operators ----

local function whole_quotient(a, b)
    if is_tensor(a) or is_tensor(b) then return gpush.div(a, b, { rounding_mode = "trunc" }) end
    local q = a // b
    return (q < 0 and q * b ~= a) and q + 1 or q
end

local binary = {}
local function arithmetic(of)
    return function(a, b) return of(pair(a, b)) end
end
binary["+"] = arithmetic(function(a, b) return a + b end)
binary["-"] = arithmetic(function(a, b) return a - b end)
binary["*"] = arithmetic(function(a, b) return a * b end)
binary["/"] = function(a, b, wrong)
    a, b = pair(a, b)
    if not (integer(a) and integer(b)) then return a / b end
    if b == 0 then wrong "a whole number divided by 0" end
    return whole_quotient(a, b)
end
binary["%"] = function(a, b, wrong)
    a, b = number(a), number(b)
    if not (integer(a) and integer(b)) then wrong "'%' is for integers; floats have fmod(a, b)" end
    if b == 0 then wrong "a whole number divided by 0" end
    return a - whole_quotient(a, b) * b
end

local function bits(of)
    return function(a, b, wrong)
        a, b = number(a), number(b)
        if not (integer(a) and integer(b)) then wrong "this operator is for integers" end
        return of(a, b)
    end
end
binary["<<"] = bits(function(a, b) return a << b end)
binary[">>"] = bits(function(a, b)
    return is_tensor(a) and a >> b or is_tensor(b) and gpush.tensor(a):to(b.device) >> b
        or a // (1 << b)
end)
-- Of two truth values the result is one, too: 0 or 1 either way.
local function logical(of)
    local numeric = bits(of)
    return function(a, b, wrong)
        local both = is_tensor(a) and is_tensor(b) and a.dtype == "bool" and b.dtype == "bool"
        return both and of(a, b) or numeric(a, b, wrong)
    end
end
binary["&"] = logical(function(a, b) return a & b end)
binary["|"] = logical(function(a, b) return a | b end)
binary["^"] = logical(function(a, b) return a ~ b end)

local COMPARISONS <const> = {
    ["<"] = { "lt", "gt", function(a, b) return a < b end },
    [">"] = { "gt", "lt", function(a, b) return a > b end },
    ["<="] = { "le", "ge", function(a, b) return a <= b end },
    [">="] = { "ge", "le", function(a, b) return a >= b end },
    ["=="] = { "eq", "eq", function(a, b) return a == b end },
    ["!="] = { "ne", "ne", function(a, b) return a ~= b end },
}
for op, ways in pairs(COMPARISONS) do
    binary[op] = function(a, b)
        a, b = pair(a, b)
        if is_tensor(a) then return gpush[ways[1]](a, b) end
        if is_tensor(b) then return gpush[ways[2]](b, a) end
        return ways[3](a, b)
    end
end

local unary = {
    ["-"] = function(x) return -number(x) end,
    ["!"] = function(x)
        x = truth(x)
        if is_tensor(x) then return x:logical_not() end
        return not x
    end,
    ["~"] = function(x, wrong)
        x = number(x)
        if not integer(x) then wrong "'~' is for integers" end
        return ~x
    end,
}

local function both(a, b)
    if a == false or b == false then return false end
    if a == true then return b end
    if b == true then return a end
    return a:logical_and(b)
end

local function opposite(a)
    if is_tensor(a) then return a:logical_not() end
    return not a
end

-- ---- functions ----

-- C's round: halves away from 0. x - trunc(x) is exact.
local function round(x)
    local whole = x:trunc()
    return gpush.where((x - whole):abs():ge(0.5), whole + x:sign(), whole)
end

-- As fmin and fmax a number, where the other is NaN; integers stay what they are.
local function least(of_floats, of_integers)
    return function(a, b)
        a, b = pair(a, b)
        if integer(a) and integer(b) then return gpush[of_integers](a, b) end
        return gpush[of_floats](a, b)
    end
end

local SPECIAL <const> = {
    round = round, fabs = function(x) return x:abs() end,
    rint = function(x) return x:round() end, nearbyint = function(x) return x:round() end,
    max = least("fmax", "maximum"), min = least("fmin", "minimum"),
    fmax = least("fmax", "maximum"), fmin = least("fmin", "minimum"),
}
-- Of numbers alone, in f64.
local FOLDED <const> = { sqrt = math.sqrt, exp = math.exp, log = math.log, sin = math.sin,
    cos = math.cos, tan = math.tan, fabs = function(x) return math.abs(x) + 0.0 end,
    abs = math.abs, floor = function(x) return math.floor(x) + 0.0 end,
    ceil = function(x) return math.ceil(x) + 0.0 end, max = math.max, min = math.min,
    fmax = math.max, fmin = math.min, pow = function(a, b) return (a + 0.0) ^ b end }

-- Of the ops that take integers as they are, those that C has for floats alone.
local OF_FLOATS <const> = {}
for name in ("floor ceil trunc pow fmod copysign"):gmatch "%S+" do OF_FLOATS[name] = true end
for name in pairs(SPECIAL) do OF_FLOATS[name] = name ~= "max" and name ~= "min" end

-- Whether C converts integers that the function takes.
local function of_floats(known)
    local row = gpush.ops(true)[known]
    return OF_FLOATS[known] or (row and not SPECIAL[known] and not row.dtypes:find "i32")
end

-- The function that a name means: C's, also with the f of its float form, or an elementwise op;
-- nil: none.
local function function_of(name)
    if name:find "^remainderf?$" then return nil end -- C's is another one
    local rows = gpush.ops(true)
    for _, known in ipairs { name, (name:gsub("f$", "")) } do
        if SPECIAL[known] then return SPECIAL[known], known end
        if rows[known] and ELEMENTWISE[rows[known].kind] and gpush[known] then
            return gpush[known], known
        end
    end
end

-- ---- nodes ----

local value -- below

local of = {}
function of.number(node) return node[2] end

function of.name(node, env)
    local x = env.values[node[2]]
    if x == nil and env.raw[node[2]] then
        env.where(node.at, ("'%s' is raw: read an element, as in %s[i]"):format(node[2], node[2]))
    end
    if x == nil and node[2] == "i" and env.index then x = env.index() end
    if x == nil then env.where(node.at, ("'%s' has no value here"):format(node[2])) end
    return x
end

-- An element of a raw argument. It's read where the conditions around it hold; elsewhere
-- element 0 stands for it, and is not used.
function of.at(node, env)
    local x = env.raw[node[2]]
    if not x then env.where(node.at, ("'%s' is not a raw argument"):format(node[2])) end
    local at = number(value(node[3], env))
    if not integer(at) then env.where(node.at, "an index is a whole number") end
    if not is_tensor(at) then
        at = gpush.full({}, at, { dtype = "i64", device = x.device })
    end
    local holds = env.holds
    if holds ~= true then at = gpush.where(holds == false and at:ne(at) or holds, at, 0) end
    -- take counts from 1, and negative ones from the end
    at = gpush.where(at:lt(0), 0, at + 1)
    local ok, read = pcall(gpush.take, x:reshape(-1), at)
    if ok then return read end
    local from_one = tostring(read):match "index (%-?%d+) is out of range"
    if not from_one then error(read, 0) end
    env.where(node.at, ("'%s' has %d elements, and %s is read (they count from 0)"):format(node[2],
        x:numel(), from_one == "0" and "one before them" or "element " .. from_one - 1))
end

function of.unary(node, env)
    return unary[node[2]](value(node[3], env), env.wrong)
end

-- The value of a node that is read only where `condition` holds.
local function under(env, condition, node)
    local outer = env.holds
    env.holds = both(outer, condition)
    local x = value(node, env)
    env.holds = outer
    return x
end

function of.binary(node, env)
    local op, a = node[2], value(node[3], env)
    if op == "&&" then
        a = truth(a)
        return both(a, truth(under(env, a, node[4])))
    elseif op == "||" then
        a = truth(a)
        local b = truth(under(env, opposite(a), node[4]))
        return opposite(both(opposite(a), opposite(b)))
    end
    return binary[op](a, value(node[4], env), env.wrong)
end

function of.choose(node, env)
    local condition = truth(value(node[2], env))
    local a = under(env, condition, node[3])
    local b = under(env, opposite(condition), node[4])
    if not is_tensor(condition) then return condition and a or b end
    return gpush.where(condition, pair(a, b))
end

local BITS <const> = { i64 = 64, i32 = 32, i16 = 16, i8 = 8, u8 = 8 }

local function cast(x, dtype)
    if is_tensor(x) then return x:to(dtype) end
    if dtype == "bool" then return truth(x) end
    x = number(x)
    if not INTEGER[dtype] then return x + 0.0 end
    local whole = math.tointeger(x < 0 and math.ceil(x) or math.floor(x))
    if not whole then return x end
    local unused = 64 - BITS[dtype]
    if dtype == "u8" then return whole & 255 end
    whole = whole << unused -- the highest bit that is left is the sign
    return whole // (1 << unused)
end

function of.cast(node, env)
    return cast(value(node[3], env), types.dtype(node[2]) or env.letters[node[2]])
end

local function unknown(name, node, env)
    local names = {}
    for op, row in pairs(gpush.ops(true)) do
        if ELEMENTWISE[row.kind] then names[#names + 1] = op end
    end
    table.sort(names)
    local near = require "nearest"(name, names)
    env.where(node.at, ("'%s' is not a function that formulas have%s"):format(name,
        near and "; did you mean " .. near .. "?" or ""))
end

function of.call(node, env)
    local name, args, tensors = node[2], {}, false
    local fn, known = function_of(name)
    if not fn then unknown(name, node, env) end
    for k, arg in ipairs(node[3]) do
        args[k] = number(value(arg, env))
        if is_tensor(args[k]) and INTEGER[args[k].dtype] and of_floats(known) then
            args[k] = args[k]:to(known == name and "f64" or "f32")
        end
        tensors = tensors or is_tensor(args[k])
    end
    if tensors then return fn(table.unpack(args)) end
    if FOLDED[known] and #args > 0 then return FOLDED[known](table.unpack(args)) end
    env.where(node.at, ("'%s' needs a value that depends on an argument"):format(name))
end

function value(node, env) return of[node[1]](node, env) end

-- Runs the statements: sets env.values of the names that they give values. env: {values =, raw =,
-- letters = {T = dtype}, index = function, where = function(place, message)}.
local function run(statements, env)
    env.holds, env.where = true, statements.where
    for _, s in ipairs(statements) do
        function env.wrong(message) env.where(s.at, message) end
        local x = value(s.value, env)
        if s.type then x = cast(x, types.dtype(s.type) or env.letters[s.type]) end
        env.values[s.name] = x
    end
end

return { run = run, cast = cast }
