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

local list, given = { gpush.tensor(1.0), 2 }, { text = true, width = 1, height = 1 }
plot({ list, { 0, 1 }, title = "t" }, given)
t.ok(gpush.is_tensor(list[1]) and given.title == nil, "what was given stays as it is")
t.error(function() plot({ 1, 2 }, { wdith = 3 }) end, "plot.lua:%d+: plot: unknown option 'wdith' %(expected title, width, height, png, text%)")
t.error(function() plot { { 1, 2 }, { 3, 4 }, titel = "t" } end, "unknown option 'titel'")
t.error(function() hist({ 1, 2 }, { bin = 3 }) end, "hist: unknown option 'bin' %(expected bins")
t.error(function() hist({ 1, 2 }, { bins = 0 }) end, "hist: option 'bins': expected a whole number from 1 on, got 0")
t.error(function() heatmap(gpush.zeros(2, 2), { title = 1 }) end, "heatmap: unknown option 'title'")
t.error(function() imshow(gpush.zeros(2, 2), { "x" }) end, "imshow: unknown option '1'")

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

-- The bytes of kitty's protocol and of sixel, taken apart here as the protocols say, are the picture: 45 x 120 pixels of six
-- levels each, so that sixel's 216 colours hold them all and its last band is not full; noise, so that kitty's pieces are several.
local H, W = 45, 120
local function level(y, x, c) return ((y * 7919 ~ x * 104729 * (c + 1)) * 2654435761 >> 16) % 6 * 51 end
local drawing = [[
local rows = {}
for y = 1, %d do
    rows[y] = {}
    for x = 1, %d do
        rows[y][x] = {}
        for c = 1, 3 do rows[y][x][c] = ((y * 7919 ~ x * 104729 * (c + 1)) * 2654435761 >> 16) %% 6 * 51 end
    end
end
imshow(tensor(rows, {dtype = "u8"}))]]
local function drawn(how)
    local script = os.tmpname()
    local f = assert(io.open(script, "w"))
    f:write(drawing:format(H, W))
    f:close()
    local pipe <close> = assert(io.popen(("GPUSH_GRAPHICS=%s '%s' '%s'"):format(how, arg[-1], script)))
    local text = pipe:read "a"
    os.remove(script)
    return text
end
local function wrong(pixel)
    local n = 0
    for y = 1, H do
        for x = 1, W do
            for c = 1, 3 do
                if pixel(y, x, c) ~= level(y, x, c) then n = n + 1 end
            end
        end
    end
    return n
end

-- Kitty: ESC _ G keys ; base64 ESC \, in pieces of at most 4096 letters, all but the last of a multiple of 4, with m=1.
local data, sound, last = "", true, false
local rest = drawn("kitty"):gsub("\27_G([^;]*);([^\27]*)\27\\", function(keys, piece)
    local first = data == ""
    sound = sound and not last and #piece <= 4096 and (keys:find("^a=T,f=100,") ~= nil) == first
    last = keys:find "m=0$" ~= nil
    sound = sound and (last or (keys:find "m=1$" and #piece % 4 == 0))
    data = data .. piece
    return ""
end)
t.ok(sound and last and #data > 4096, "kitty: pieces, of which the last says so")
t.is(rest, "\n", "and nothing else")
local bytes, bits, have = {}, 0, 0
for letter in data:gmatch "[%w+/]" do
    local k = ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):find(letter, 1, true) - 1
    bits, have = bits << 6 | k, have + 6
    if have >= 8 then
        have = have - 8
        bytes[#bytes + 1] = string.char(bits >> have & 255)
    end
end
local name = os.tmpname()
local file = assert(io.open(name, "wb"))
file:write(table.concat(bytes))
file:close()
local picture = gpush.image.load(name):tolist()
os.remove(name)
t.is(#picture[1], H, "the picture's height")
t.is(#picture[1][1], W, "its width")
t.is(wrong(function(y, x, c) return picture[c][y][x] end), 0, "its pixels")

-- Sixel: ESC P q, then #k;2;r;g;b sets a colour in percent, #k takes it, a letter is six pixels below each other, $ goes back
-- to the left, - to the next six rows; ESC \ ends it.
local body = drawn("sixel"):match "^\27Pq(.*)\27\\\n$"
t.ok(body, "sixel: its frame")
local colours, seen, colour, x, top = {}, {}, nil, 1, 0
local at, odd = 1, 0
while body and at <= #body do
    local k, r, g, b, stop = body:match("^#(%d+);2;(%d+);(%d+);(%d+)()", at)
    if k then
        colours[k], at = { r * 255 // 100, g * 255 // 100, b * 255 // 100 }, stop
    else
        local take, after = body:match("^#(%d+)()", at)
        local c = body:byte(at)
        if take then colour, at = colours[take], after
        elseif c == 36 then x, at = 1, at + 1
        elseif c == 45 then x, top, at = 1, top + 6, at + 1
        elseif c >= 63 and c <= 126 then
            for i = 0, 5 do
                if (c - 63) >> i & 1 == 1 then seen[(top + i) * W + x] = colour end
            end
            x, at = x + 1, at + 1
        else odd, at = odd + 1, at + 1 end
    end
end
t.is(odd, 0, "nothing but sixel's own letters")
t.is(wrong(function(y, px, c) return (seen[(y - 1) * W + px] or {})[c] end), 0, "its pixels")
local outside = 0
for i in pairs(seen) do
    if i > H * W then outside = outside + 1 end
end
t.is(outside, 0, "and none below")

t.done()
