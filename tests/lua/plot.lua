-- Pictures as text and as PNG: where the dots, bars and pixels come to lie.
local t = require "tap"
local gpush = require "gpush"
local plot, hist, heatmap, imshow = gpush.plot, gpush.hist, gpush.heatmap, gpush.imshow

local function rows(text)
    local out = {}
    for line in (text .. "\n"):gmatch "(.-)\n" do out[#out + 1] = line end
    return out
end

-- A braille character's dots are numbered by the Unicode standard: 1 2 3 7 down the left side, 4 5 6 8 down the right.
local r = rows(plot({ 1, 2 }, { width = 1, height = 1, text = true }))
t.is(r[1], "2│" .. utf8.char(0x2800 + 0x40 + 0x04 + 0x10 + 0x08), "a rising line goes from the lower left to the upper right")
t.is(r[2], " └─", "with an axis")
t.is(r[3], "  1 2", "and its ends")
r = rows(plot({ { 0, 1 }, { 0, 0 }, { 3, 3 } }, { width = 2, height = 1, text = true, title = "two\27" }))
t.is(r[1], "  two?", "a title, without control characters")
t.is(r[2], "3│" .. utf8.char(0x2800 + 0x40 + 0x80 + 0x01 + 0x08):rep(2), "two lines")
r = rows(plot({ 1, 0 / 0, 1 }, { width = 3, height = 1, text = true }))
t.is(utf8.len(r[1]), 3 + 4, "NaN leaves a gap")
t.is(utf8.codepoint(r[1], utf8.offset(r[1], 6)), 32, "in the middle")
t.is(plot(gpush.tensor { 1.0, 2.0 }, { width = 1, height = 1, text = true }), plot({ 1, 2 }, { width = 1, height = 1, text = true }),
    "a tensor as a list")
t.is(plot(gpush.tensor({ 1.0, 2.0 }, { device = "sim" }), { width = 1, height = 1, text = true }),
    plot({ 1, 2 }, { width = 1, height = 1, text = true }), "on a device")
t.error(function() plot { { 1, 2 }, { 1 } } end, "line 1 has 1 numbers, x has 2")
t.error(function() plot {} end, "no finite number")
t.error(function() plot(gpush.zeros(2, 2)) end, "expected one dim, got 2x2")
t.error(function() plot "x" end, "expected a tensor or a list of numbers, got string")

r = rows(hist({ 0, 1, 1, 4, 1 / 0 }, { bins = 2, width = 4, text = true }))
t.is(r[1], "         0 │████ 3", "the fullest bar")
t.is(r[2], "         2 │█▎ 1", "another, in eighths")
t.is(r[3], "1 not finite", "what has no place")

r = rows(heatmap(gpush.tensor { { 0.0, 1.0 }, { 0.0, 1.0 } }, { text = true }))
t.is(r[1], "░▓", "dark and bright")
t.is(r[2], "0 … 1, 2x2", "the range and the shape")
t.error(function() heatmap(gpush.zeros(3)) end, "two dims")
t.is(imshow(gpush.tensor { { 0.0, 1.0 }, { 0.0, 1.0 } }, { text = true }), " █", "black and white")
t.error(function() imshow(gpush.zeros(5, 2, 2)) end, "expected h x w, 3 x h x w or h x w x 3, got 5x2x2")

local name = os.tmpname()
imshow(gpush.tensor({ { { 255, 0, 7 } } }, { dtype = "u8" }), { png = name })
t.is(gpush.image.load(name):reshape(-1), { 255, 0, 7 }, "PNG: a pixel of h x w x 3")
imshow(gpush.tensor { { { 1.0 } }, { { 0.5 } }, { { 0.0 } } }, { png = name })
t.is(gpush.image.load(name):reshape(-1), { 255, 128, 0 }, "PNG: floats of 3 x h x w")
plot({ 0, 1 }, { png = name, width = 3, height = 3 })
local img = gpush.image.load(name)
t.is(img[1]:ne(255), { { false, false, true }, { false, true, false }, { true, false, false } }, "PNG: the line's pixels")
hist({ 0, 1, 1 }, { png = name, bins = 2, width = 2, height = 3 })
t.is(gpush.image.load(name)[1]:ne(255), { { false, true }, { true, true }, { true, true } }, "PNG: bars")
os.remove(name)
t.done()
