-- Between Lua values and tensors: tensor(), tolist, item, and Lua's own functions that want
-- numbers.
local t = require "tap"
local gpush = require "gpush"
local tensor = gpush.tensor

local function is(x, dtype, shape, list, name)
    t.is(x.dtype, dtype, name .. ": dtype")
    t.is(x.shape, shape, name .. ": shape")
    t.is(x:tolist(), list, name .. ": values")
end

is(tensor { 1, 2 }, "i64", { 2 }, { 1, 2 }, "integers")
is(tensor { 1, 2.5 }, "f32", { 2 }, { 1, 2.5 }, "integers and floats")
is(tensor { true, false }, "bool", { 2 }, { true, false }, "booleans")
is(tensor { { 1, 2, 3 }, { 4, 5, 6 } }, "i64", { 2, 3 }, { { 1, 2, 3 }, { 4, 5, 6 } }, "nested")
is(tensor(7), "i64", {}, 7, "an integer")
is(tensor(0.5), "f32", {}, 0.5, "a float")
is(tensor(true), "bool", {}, true, "a boolean")
is(tensor {}, "f32", { 0 }, {}, "an empty table")
is(tensor { {}, {} }, "f32", { 2, 0 }, { {}, {} }, "empty tables")
is(tensor { { { { { { { { 9 } } } } } } } }, "i64", { 1, 1, 1, 1, 1, 1, 1, 1 },
    { { { { { { { { 9 } } } } } } } }, "8 dims")
is(tensor({ 1, 2 }, { dtype = "f64" }), "f64", { 2 }, { 1.0, 2.0 }, "dtype given")
is(tensor({ 1.9, -1.9 }, { dtype = "i32" }), "i32", { 2 }, { 1, -1 }, "fractions are cut off")
is(tensor({ 0, 2, 0.5 }, { dtype = "bool" }), "bool", { 3 }, { false, true, true },
    "numbers as bool")
is(tensor({ true, false }, { dtype = "f16" }), "f16", { 2 }, { 1.0, 0.0 }, "booleans as f16")
is(tensor({ -128, 127 }, { dtype = "i8" }), "i8", { 2 }, { -128, 127 }, "the range of i8")
is(tensor({ math.mininteger, math.maxinteger }, { dtype = "i64" }), "i64", { 2 },
    { math.mininteger, math.maxinteger }, "the range of i64")
is(tensor({ 1, 2 }, { device = "sim" }), "i64", { 2 }, { 1, 2 }, "on a device")
t.is(tensor({ 1 }, { device = "sim" }).device, "sim:0", "which it is on")
t.is(math.type(tensor { 1.0 }:tolist()[1]), "float", "floats stay floats")
t.is(math.type(tensor { 1 }:tolist()[1]), "integer", "integers stay integers")
t.ok(tensor(1.5, { requires_grad = true }).requires_grad, "requires_grad")

-- Errors name the place.
local function fails(fn, pattern) t.error(fn, pattern, pattern) end
fails(function() tensor { { 1, 2 }, { 3 } } end,
    "element %[2%] is a table of 1 %(expected 2 elements")
fails(function() tensor { { { 1 } }, { { 2, 3 } } } end,
    "element %[2%]%[1%] is a table of 2 %(expected 1 element")
fails(function() tensor { { 1 }, 2 } end, "element %[2%] is a number %(expected a table")
fails(function() tensor { 1, { 2 } } end, "element %[2%] is a table of 1 %(expected a value")
fails(function() tensor { 1, true } end, "element %[2%] is a boolean .*mixture")
fails(function() tensor { { 1, "x" } } end, "element %[1%]%[2%] is a string")
local shown = { __len = function() return 3 end, __index = function(_, i) return i end }
fails(function() tensor(setmetatable({}, shown)) end, "holds 0 elements itself and shows 3")
fails(function() tensor { setmetatable({}, { __index = { 5 } }) } end,
    "element %[1%] holds 0 elements itself and shows 1")
is(tensor(setmetatable({ 1, 2 }, { __index = { name = "mine" } })), "i64", { 2 }, { 1, 2 },
    "a class of its own")
fails(function() tensor { 1, nil, 3 } end, "element %[2%] is nil")
fails(function() tensor(nil) end, "the value is nil")
fails(function() tensor() end, "got nothing")
fails(function() tensor("1") end, "the value is a string")
fails(function() tensor(1, 2) end,
    "tensor: argument 'dtype' %(#2%): expected a dtype as a string, got 2")
fails(function() tensor({ 256 }, { dtype = "u8" }) end, "element %[1%], 256, does not fit in u8")
fails(function() tensor({ { 1, -1 } }, { dtype = "u8" }) end,
    "element %[1%]%[2%], %-1, does not fit in u8")
fails(function() tensor({ 2.0 ^ 63 }, { dtype = "i64" }) end, "does not fit in i64")
fails(function() tensor({ 0 / 0 }, { dtype = "i16" }) end, "does not fit in i16")
fails(function() tensor({ 1 }, { dtype = "f33" }) end, "unknown dtype 'f33'")
fails(function() tensor({ 1 }, { device = "tpu" }) end, "tpu")
fails(function() tensor({ 1 }, { typ = "f32" }) end, "unknown option 'typ'")
fails(function() tensor({ 1 }, { requires_grad = true }) end, "requires_grad with dtype i64")
fails(function() tensor { { { { { { { { { 1 } } } } } } } } } end, "at most 8 levels")
do
    local loop = {}
    loop[1] = loop
    fails(function() tensor(loop) end, "at most 8 levels")
end

-- Tensors as values.
do
    local a = tensor { 1, 2 }
    local b = tensor(a)
    t.ok(not a:shares_storage(b), "tensor(x) is a copy")
    is(tensor(a, { dtype = "f64" }), "f64", { 2 }, { 1.0, 2.0 }, "a converted copy")
    t.is(tensor(a, { device = "sim" }).device, "sim:0", "a copy on a device")
    if gpush.stack then
        is(tensor { a, a + 2 }, "i64", { 2, 2 }, { { 1, 2 }, { 3, 4 } },
            "tensors in a table are stacked")
        is(tensor { { a, a }, { a, a + 5 } }, "i64", { 2, 2, 2 },
            { { { 1, 2 }, { 1, 2 } }, { { 1, 2 }, { 6, 7 } } }, "nested tables of tensors")
        is(tensor { tensor(1), tensor(2) }, "i64", { 2 }, { 1, 2 }, "0-d tensors")
        t.is(tensor { a:to("sim"), a:to("sim") }.device, "sim:0", "stacked where they are")
        fails(function() tensor { a, 1 } end, "mixture")
        fails(function() tensor { a, { 1, 2 } } end, "expected a tensor as before it")
    end
end

-- tolist.
is(gpush.arange(1, 6):view(2, 3).T, "i64", { 3, 2 }, { { 1, 4 }, { 2, 5 }, { 3, 6 } },
    "a strided list")
is(gpush.arange(1, 6):view(2, 3).T:to("sim"), "i64", { 3, 2 }, { { 1, 4 }, { 2, 5 }, { 3, 6 } },
    "from a device")
is(gpush.zeros(2, 0), "f32", { 2, 0 }, { {}, {} }, "an empty list")

-- item and the places where Lua wants numbers.
for _, device in ipairs { "cpu", "sim" } do
    local x = tensor({ 2.25 }, { device = device })
    t.is(x:item(), 2.25, "item on " .. device)
    t.is(tensor(true, { device = device }):item(), true, "a boolean on " .. device)
    t.is(math.type(tensor({ { 3 } }, { device = device }):item()), "integer",
        "an integer on " .. device)
    t.error(function() tensor({ 1, 2 }, { device = device }):item() end, "one element, got i64 2",
        "item of two on " .. device)
end
if pcall(math.sqrt, tensor(4.0)) then
    t.is(math.sqrt(tensor(4.0)), 2.0, "math.sqrt")
    t.is(math.max(1, tensor({ 7 }, { device = "sim" }), 3), 7, "math.max")
    t.is(math.type(math.floor(tensor { 2.5 })), "integer", "math.floor")
    t.is(math.tointeger(tensor(3.0)), 3, "math.tointeger")
    t.is(math.type(tensor(3)), nil, "math.type tells tensors from numbers")
    t.is(string.format("%d %.2f %5s|%%", tensor(3), tensor(0.5), "x"), "3 0.50     x|%",
        "string.format")
    t.is(("%g"):format(tensor { 1.5 }), "1.5", "as a method")
    t.is(string.format("%s", tensor(3)), "tensor(3, i64 scalar cpu)", "%s prints")
    t.is(string.format("%d", tensor(true)), "1", "true is 1 where a number is wanted")
    t.is(tonumber(tensor(2.5, { device = "sim" })), 2.5, "tonumber")
    t.is(tonumber("z", 36), 35, "tonumber with a base")
    t.is(tonumber {}, nil, "tonumber of what is none")
    t.error(function() return tonumber(tensor { 1, 2 }) end,
        "bad argument #1 to 'tonumber' %(number expected, got tensor i64 2",
            "tonumber of two elements")
    local three = tensor { 3 }
    t.is(("ab"):rep(three, "-"), "ab-ab-ab", "string.rep")
    t.is(("abcdef"):sub(three, tensor(4)), "cd", "string.sub")
    t.is(string.char(three + 62, 66) .. utf8.char(three + 64), "ABC", "string.char, utf8.char")
    t.is(table.concat({ "a", "b", "c", "d" }, "", three), "cd", "table.concat")
    t.is(select("#", table.unpack({ 1, 2, 3, 4 }, three)), 2, "table.unpack")
    t.is(select(three, 7, 8, tensor(9)):item(), 9,
        "select counts by a tensor, and gives one as it is")
    local file = assert(io.tmpfile())
    file:write(three, " ", tensor(0.5))
    file:seek "set"
    t.is(file:read "a", "3 0.5", "file:write")
    file:close()
    t.error(function() return math.sqrt(tensor { 1, 2 }) end,
        "bad argument #1 to 'sqrt' %(number expected, got tensor i64 2", "two elements")
    t.error(function() return string.format("%d", tensor { 1, 2 }) end,
        "bad argument #2 to 'format' %(number expected, got tensor i64 2", "two elements in format")
    t.error(function() return math.sqrt("x") end,
        "bad argument #1 to 'sqrt' %(number expected, got string%)", "messages stay as they are")
    t.error(function() return math.sqrt(io.stdout) end,
        "bad argument #1 to 'sqrt' %(number expected, got FILE%*%)", "for other userdata too")
else
    t.skip(1, "math.* is not taught tensors in this program")
end
t.is("x is " .. tensor(2.5, { device = "sim" }) .. "!", "x is 2.5!",
    "a text with a tensor's number")
t.is(tensor { 4 } .. tensor(2), "42", "of two tensors")
t.error(function() return "x" .. tensor { 1, 2 } end,
    "attempt to concatenate a tensor i64 2 %(tostring",
    "a text with two elements")
t.error(function() return tensor(1) .. {} end, "attempt to concatenate a table value",
    "with a table")

-- Lists of dims compare by their contents, and print them; the parts of a tensor.
local x = gpush.arange(1, 6):reshape(2, 3)
t.ok(x.shape == gpush.zeros(2, 3).shape and x.shape == { 2, 3 } and { 2, 3 } == x:size(),
    "a shape equals another")
t.ok(x.shape ~= { 2, 4 } and x.shape ~= { 2 } and x.shape ~= { 2, 3, 1 } and x.shape ~= "2x3",
    "or does not")
t.ok(x:stride() == { 3, 1 }, "strides likewise")
t.is(tostring(x.shape) .. " " .. x.shape .. x.T.shape, "{2, 3} {2, 3}{3, 2}", "their text")
t.is(tostring(gpush.zeros({}).shape), "{}", "of a 0-d tensor's")
t.is(tensor(1) .. x.shape, "tensor(1, i64 scalar cpu){2, 3}", "after a tensor, too")
t.ok(gpush.zeros(x.shape).shape == x.shape, "a shape is an argument")
local walk = { [pairs] = "pairs" }
-- in stock Lua it reads past the end
if pcall(math.sqrt, tensor(4.0)) then walk[ipairs] = "ipairs" end
for each, name in pairs(walk) do
    local sums = {}
    for i, row in each(x) do sums[i] = row:sum():item() end
    t.is(sums, { 6, 15 }, name .. " walks the rows")
    for _ in each(gpush.zeros(0, 2)) do sums = nil end
    t.is(sums, { 6, 15 }, name .. " of none")
    t.error(function() each(tensor(1)) end, "pairs: a 0%-d tensor has no parts",
        name .. " of a number")
end
for i, v in ipairs { 7 } do t.ok(i == 1 and v == 7, "ipairs of a table") end

-- Blocks of many megabytes, which grow and shrink page by page.
local many, wrong = {}, 0
for i = 1, 1100000 do many[i] = i end
for i = 1, #many do wrong = wrong + (many[i] == i and 0 or 1) end
t.is(#many .. " " .. wrong, "1100000 0", "a large table keeps its values while it grows")
for i = #many, 11, -1 do many[i] = nil end
for i = 1, 40 do many["key" .. i] = i end
t.is(many[10] + many.key40, 50, "and when it shrinks")
local text = ("0123456789abcdef"):rep(1 << 20)
t.ok((text .. text):sub(#text - 1, #text + 2) == "ef01"
    and #table.concat { text, text, text } == 3 << 24, "long strings")
t.done()
