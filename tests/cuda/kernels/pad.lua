-- pad and roll on the stand-in for CUDA: rows shorter and longer than what a thread has at once,
-- dims that join and that do not, more of them than the quick kernel takes, views, each size of
-- elements; the bits of the CPU's results.
local t = require "tap"
local g = require "gpush"

local function same(name, fn, x)
    local right, got = fn(x), fn(x:to "cuda"):cpu()
    t.is(got.shape, right.shape, name .. ": its shape")
    t.ok((got:eq(right)):all():item(), name)
end

local function numbers(dtype, ...) return g.randint(0, 100, { ... }):to(dtype) end
local function text(by) return "{" .. table.concat(by, ", ") .. "}" end

for _, dtype in ipairs { "f32", "f64", "bf16", "u8" } do
    for _, mode in ipairs { "constant", "reflect", "replicate", "circular" } do
        for cols = 2, 11 do
            same(("%s %s, rows of %d"):format(dtype, mode, cols),
                function(a) return a:pad({ 1, 1, 2, 1 }, mode) end, numbers(dtype, 3, 2, 4, cols))
        end
        for _, by in ipairs {
            { 3, 2 }, { 0, 0, 2, 2 }, { -2, 3 }, { 1, -3, -1, 2 }, { 1, 0, 0, 1, 1, 1 },
            { -6, -5 }, { 0, 0 },
        } do
            same(("%s %s by %s"):format(dtype, mode, text(by)),
                function(a) return a:pad(by, mode) end, numbers(dtype, 5, 6, 17))
        end
    end
    local many = numbers(dtype, 2, 3, 4, 5, 9)
    local function around(a) return a:pad({ 1, 2, 0, 1, 1, 1, 2, 0, 1, 1 }, "constant", 7) end
    same(dtype .. ", five dims padded", around, many)
    same(dtype .. ", turned", around, many:permute(5, 4, 3, 2, 1))
    same(dtype .. ", not from the first column",
        function(a) return a:slice(3, 2, 4):slice(5, 3, 9):pad({ 2, 2, 1, 1 }, "reflect") end, many)
    same(dtype .. ", broadcast",
        function(a) return a[1][1][1][1]:expand(3, 4, 9):pad { 2, 2, 1, 1 } end, many)
    same(dtype .. ", of one dim", function(a) return a:flatten():pad { 3, 100 } end, many)
    same(dtype .. ", of none", function(a) return a:pad { 4, 4, 1, 0 } end,
        numbers(dtype, 3, 2, 0))
    for _, by in ipairs { { 1, 5 }, { -2, 2 }, { 3, 4 } } do
        same(("%s, roll of dim %d"):format(dtype, by[2]),
            function(a) return a:roll(by[1], by[2]) end,
            many)
    end
    same(dtype .. ", roll of three dims", function(a) return a:roll({ 1, 2, 3 }, { 1, 3, 5 }) end,
        many)
    same(dtype .. ", roll of all", function(a) return a:roll(7) end, many)
    -- Into memory that begins within 16 bytes.
    same(dtype .. ", in place", function(a)
        local to = g.zeros(121, { dtype = dtype, device = a.device })
        local part = to:narrow(1, 2, 120)
        part:copy_(a:flatten():narrow(1, 1, 120):roll(11))
        return to
    end, many)
end
t.done()
