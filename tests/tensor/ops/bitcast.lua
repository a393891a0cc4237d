--!plain
-- bitcast, and x:view(dtype): the bytes of elements against string.pack, the rule of the last dim,
-- and that a view stays one.
local t = require "tap"
local g = require "gpush"

for _, device in ipairs { "cpu", "sim" } do
    local x = g.tensor({ 1.0, -2.0 }, { dtype = "f32" }):to(device)
    local function whole(value) return (("i4"):unpack(("f"):pack(value))) end
    local function is(got, want, name) t.is(got, want, device .. ": " .. name) end
    is(x:view "i32", { whole(1.0), whole(-2.0) }, "x:view(dtype) of the same size")
    is(x:view { dtype = "i32" }, { whole(1.0), whole(-2.0) }, "by name")
    is(g.bitcast(x, "u8"), { ("f f"):pack(1, -2):byte(1, -1) }, "a smaller one: a longer last dim")
    is(g.bitcast(x, "f64"), { (("d"):unpack(("f f"):pack(1, -2))) }, "a larger one")
    is(x:view "i32":view "f32", { 1, -2 }, "and back")
    is(x:view "f32", { 1, -2 }, "the same dtype")
    is(x:view(2, 1), { { 1 }, { -2 } }, "a shape is one as before")
    local rows = g.tensor({ { 1, 2 }, { 3, 4 } }, { dtype = "i32" }):to(device)
    is(rows:view "i64", { { 1 | 2 << 32 }, { 3 | 4 << 32 } }, "rows, each by itself")
    is(rows["2:2"]:view "i16", { { 3, 0, 4, 0 } }, "of a part")
    is(rows:transpose(1, 2):view "f32":view "i32", { { 1, 3 }, { 2, 4 } }, "strides stay")
    is(g.zeros(0, 4, { dtype = "i16", device = device }):view "i64".shape, { 0, 1 }, "no elements")
    local y = x:clone()
    y:view "i32":fill_(0)
    is(y, { 0, 0 }, "a write is seen by the other")
    local f = g.fuse(function(a) return (a:view "i32" & 0x7fffffff):view "f32" * 2 end)
    f(x)
    is(f(x), { 2, 4 }, "in a fused function")
    local c = g.capture(function(a) return a:view "i32" + 1 end)
    c(x)
    is(c(x), { whole(1.0) + 1, whole(-2.0) + 1 }, "in a captured one")
end

local function fails(fn, pattern) t.error(fn, pattern, pattern) end
local three = g.tensor({ 1, 2, 3 }, { dtype = "i32" })
fails(function() three:view "i64" end, "last dim has 3 elements of 4 bytes, .* whole number of 8")
fails(function() three["2:3"]:view "i64" end, "lies at an address that is no multiple of 8")
fails(function() g.tensor(1.0):view "f64" end, "a scalar of 4 bytes is no element of 8")
fails(function() three:view "bool" end, "may be neither true nor false")
fails(function() three:view { dtype = "i12" } end, "unknown dtype 'i12'")
local square = g.tensor({ { 1, 2 }, { 3, 4 } }, { dtype = "i32" })
fails(function() square:t():view "i64" end, "lie 2 apart %(expected 1; use :contiguous%(%) first%)")
local w = g.ones(2, { requires_grad = true })
t.is((w * 2):view "i32".requires_grad, false, "it has no gradient")
t.done()
