--!plain
-- A picture in pixels to draw charts on: antialiased lines, discs, boxes and text over one colour.
-- x goes to the right and y down, both from 0, and integers are the centres of pixels. Colours are
-- 0xRRGGBB. Returns the constructor of a picture.
local require = ...
local gpush, letter = require "gpush", require "plot.font"
local Canvas = {}
Canvas.__index = Canvas

local function new(w, h, back)
    return setmetatable({ w = w, h = h, back = back, ink = {} }, Canvas)
end

-- The mix of two colours, in eighths: a chart then has few enough colours for sixel.
local function mix(from, to, part)
    local a = math.floor(part * 8 + 0.5)
    local out = 0
    for shift = 16, 0, -8 do
        local f, t = from >> shift & 255, to >> shift & 255
        out = out | (f + (t - f) * a // 8) << shift
    end
    return out
end

function Canvas:fill(x0, y0, x1, y1, colour)
    local ink = self.ink
    for y = math.max(y0, 0), math.min(y1, self.h - 1) do
        for i = y * self.w + math.max(x0, 0), y * self.w + math.min(x1, self.w - 1) do
            ink[i] = colour
        end
    end
end

-- ---- Lines ----

-- Records in mask (by pixel, 0 to 1) how much of each pixel a line of radius r between two points
-- covers; box: the pixels that count, x0 y0 x1 y1. The walk is along the longer side, a; b goes
-- across. A pixel's coverage depends on the distance of its centre from the line, up to r + 1/2:
-- the overlapping ends of a path's parts then count once.
local function cover(self, mask, box, x0, y0, x1, y1, r)
    local steep, w = math.abs(y1 - y0) > math.abs(x1 - x0), self.w
    local amin, amax, bmin, bmax = box[1], box[3], box[2], box[4]
    if steep then
        x0, y0, x1, y1, amin, amax, bmin, bmax = y0, x0, y1, x1, bmin, bmax, amin, amax
    end
    if x0 > x1 then x0, y0, x1, y1 = x1, y1, x0, y0 end
    local da, db, reach = x1 - x0, y1 - y0, r + 0.5
    local len2 = da * da + db * db
    local slope = da > 0 and db / da or 0
    local across = reach * math.sqrt(1 + slope * slope)
    for a = math.max(math.ceil(x0 - reach), amin), math.min(math.floor(x1 + reach), amax) do
        local at = a - x0
        local mid = y0 + slope * at
        for b = math.max(math.ceil(mid - across), bmin), math.min(math.floor(mid + across), bmax) do
            local i = steep and a * w + b or b * w + a
            local before = mask[i] or 0
            if before < 1 then
                local t = len2 > 0 and (at * da + (b - y0) * db) / len2 or 0
                t = t < 0 and 0 or t > 1 and 1 or t
                local ea, eb = at - t * da, b - y0 - t * db
                local part = reach - (ea * ea + eb * eb) ^ 0.5
                if part > before then mask[i] = part < 1 and part or 1 end
            end
        end
    end
end

local function apply(self, mask, colour)
    local ink, back = self.ink, self.back
    for i, part in next, mask do ink[i] = mix(ink[i] or back, colour, part) end
end

-- A line through the points xs[i], ys[i] inside of box; NaN is a gap.
function Canvas:path(xs, ys, colour, width, box)
    local mask, px, py, alone = {}, nil, nil, false
    for i = 1, #xs + 1 do
        local x, y = xs[i], ys[i]
        if x and x == x and y == y then
            if px then cover(self, mask, box, px, py, x, y, width / 2) end
            px, py, alone = x, y, px == nil
        else
            if alone then cover(self, mask, box, px, py, px, py, width) end
            px, alone = nil, false
        end
    end
    apply(self, mask, colour)
end

-- Discs at points.
function Canvas:discs(xs, ys, colour, width, box)
    local mask = {}
    for i = 1, #xs do
        local x, y = xs[i], ys[i]
        if x == x and y == y then cover(self, mask, box, x, y, x, y, width / 2) end
    end
    apply(self, mask, colour)
end

-- ---- Text ----

-- The width and height of a line of text, k times the letters' size.
local function text_size(s, k) return (utf8.len(s) or #s) * 6 * k - k, 7 * k end

-- Draws text with its upper left corner at x, y, or, if up, its lower left one, reading upwards.
function Canvas:text(x, y, s, colour, k, up)
    s = utf8.len(s) and s or s:gsub("[\x80-\xff]", "?")
    local column = 0
    for _, code in utf8.codes(s) do
        for row, bits in ipairs(letter(code)) do
            for bit = 0, 4 do
                if bits >> 4 - bit & 1 == 1 then
                    local a, b = (column + bit) * k, (row - 1) * k
                    if up then self:fill(x + b, y - a - k + 1, x + b + k - 1, y - a, colour)
                    else self:fill(x + a, y + b, x + a + k - 1, y + b + k - 1, colour) end
                end
            end
        end
        column = column + 6
    end
end

-- ---- Output ----

-- Puts a picture of packed colours (h x w, i32) at x, y, under the drawing.
function Canvas:put(x, y, colours) self.under = { x, y, colours } end

-- Packed colours, of any shape, as bytes: a last dim of 3.
local function bytes(packed)
    local parts = {}
    for i, shift in ipairs { 16, 8, 0 } do
        parts[i] = packed:bitwise_right_shift(shift):bitwise_and(255)
    end
    return gpush.stack(parts, -1):to "u8"
end

-- h x w x 3 bytes.
function Canvas:image()
    local at, ink, n = {}, {}, 0
    for i, colour in next, self.ink do
        n = n + 1
        at[n], ink[n] = i + 1, colour
    end
    local flat = gpush.full({ self.h * self.w }, self.back, { dtype = "i32", device = "cpu" })
    if self.under then
        local x, y, colours = table.unpack(self.under)
        flat:view(self.h, self.w):narrow(1, y + 1, colours.shape[1]):narrow(
            2, x + 1, colours.shape[2]):copy_(colours)
    end
    if n > 0 then
        local places = gpush.tensor(at, { dtype = "i64", device = "cpu" })
        flat:index_put_({ places }, gpush.tensor(ink, { dtype = "i32", device = "cpu" }))
    end
    return bytes(flat):view(self.h, self.w, 3)
end

return { new = new, mix = mix, bytes = bytes, text_size = text_size }
