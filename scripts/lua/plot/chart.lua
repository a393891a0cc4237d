--!plain
-- Charts in pixels: the frame with its ticks, grid and texts, the legend and the colour bar, and
-- the positions of numbers in it.
local require = ...
local registry = require "registry"
local canvas, scale = require "plot.canvas", require "plot.scale"
local Chart = {}
Chart.__index = Chart

-- Colours of lines; and a chart on white, or on a dark terminal's colour.
local lines = { 0x3a76d8, 0xe8862a, 0x3fa45b, 0xd64550, 0x9467bd, 0x8c8c8c }
local function theme(back)
    back = back or 0xffffff
    local light = (back >> 16) * 2 + (back >> 8 & 255) * 5 + (back & 255) >= 4 * 255
    local fore = light and 0x333333 or 0xd5d5d5
    return { back = back, fore = fore, grid = canvas.mix(back, fore, 0.125), lines = lines }
end

local plain = registry["gpush.safe"]

-- Ticks with the columns and rows of pixels that their labels take.
local function marked(axis, n, k)
    local values, names = scale.ticks(axis, n)
    local widest = 0
    for _, name in ipairs(names) do widest = math.max(widest, (canvas.text_size(name, k))) end
    return { axis = axis, values = values, names = names, widest = widest }
end

-- w x h pixels; opts: title, xlabel, ylabel; k: magnification of the letters; right: pixels left
-- free there.
local function new(w, h, opts, xaxis, yaxis, colours, k, right)
    local high = 7 * k
    local self = setmetatable({ w = w, h = h, k = k, opts = opts, colours = colours }, Chart)
    self.canvas = canvas.new(w, h, colours.back)
    local top = opts.title and 2 * high + 6 * k or high
    local below = high + 10 * k + (opts.xlabel and high + 6 * k or 0)
    self.y = marked(yaxis, math.max(2, math.min(5, (h - top - below) // (3 * high))), k)
    local left = self.y.widest + 10 * k + (opts.ylabel and high + 6 * k or 0)
    self.x = marked(xaxis, 6, k)
    local room = w - left - (right or 0)
    self.x = marked(xaxis, math.max(2, math.min(6, room // (self.x.widest + 5 * high))), k)
    right = (right or 0) + math.max(high, self.x.widest // 2 + 2 * k)
    -- first and last pixel inside
    self.box = { left, top, math.max(left, w - 1 - right), math.max(top, h - 1 - below) }
    return self
end

-- The pixels of numbers (or tensors of them).
function Chart:px(v)
    return self.box[1] + scale.part(self.x.axis, v) * (self.box[3] - self.box[1])
end
function Chart:py(v)
    return self.box[4] - scale.part(self.y.axis, v) * (self.box[4] - self.box[2])
end
local function whole(v) return math.floor(v + 0.5) end

function Chart:grid()
    local c, box, grid = self.canvas, self.box, self.colours.grid
    for _, v in ipairs(self.x.values) do
        c:fill(whole(self:px(v)), box[2], whole(self:px(v)), box[4], grid)
    end
    for _, v in ipairs(self.y.values) do
        c:fill(box[1], whole(self:py(v)), box[3], whole(self:py(v)), grid)
    end
end

-- Draws the frame around the box, ticks outside of it, labels and texts.
function Chart:frame()
    local c, box, fore, k = self.canvas, self.box, self.colours.fore, self.k
    local x0, y0, x1, y1 = box[1] - 1, box[2] - 1, box[3] + 1, box[4] + 1
    for _, side in ipairs { { x0, y0, x1, y0 }, { x0, y1, x1, y1 }, { x0, y0, x0, y1 },
        { x1, y0, x1, y1 } }
    do
        c:fill(side[1], side[2], side[3], side[4], fore)
    end
    for i, v in ipairs(self.x.values) do
        local x, name = whole(self:px(v)), self.x.names[i]
        c:fill(x, y1 + 1, x, y1 + 3 * k, fore)
        c:text(x - canvas.text_size(name, k) // 2, y1 + 6 * k, name, fore, k)
    end
    for i, v in ipairs(self.y.values) do
        local y, name = whole(self:py(v)), self.y.names[i]
        c:fill(x0 - 3 * k, y, x0 - 1, y, fore)
        c:text(x0 - 5 * k - canvas.text_size(name, k), y - 3 * k, name, fore, k)
    end
    local opts, midx, midy = self.opts, (x0 + x1) // 2, (y0 + y1) // 2
    local function long(s) return (canvas.text_size(s, k)) end
    if opts.title then
        local s = plain(opts.title)
        c:text(math.max(k, math.min(midx - long(s) // 2, self.w - long(s) - k)), 6 * k, s, fore, k)
    end
    if opts.xlabel then
        local s = plain(opts.xlabel)
        c:text(midx - long(s) // 2, self.h - 11 * k, s, fore, k)
    end
    if opts.ylabel then
        local s = plain(opts.ylabel)
        c:text(4 * k, midy + long(s) // 2, s, fore, k, true)
    end
end

-- Draws the names of lines in the corner with the fewest of the points xs, ys (lists of lists of
-- pixels).
function Chart:legend(names, xs, ys)
    local c, box, k, wide = self.canvas, self.box, self.k, 0
    for _, name in ipairs(names) do wide = math.max(wide, (canvas.text_size(plain(name), k))) end
    local w, h, gap = wide + 32 * k, #names * 12 * k + 6 * k, 6 * k
    local left, right, up, down = box[1] + gap, box[3] - gap - w, box[2] + gap, box[4] - gap - h
    local best, least
    for _, at in ipairs { { right, up }, { left, up }, { right, down }, { left, down } } do
        local inside = 0
        for j = 1, #xs do
            for i = 1, #xs[j] do
                local x, y = xs[j][i] - at[1], ys[j][i] - at[2]
                if x > -gap and x < w + gap and y > -gap and y < h + gap then
                    inside = inside + 1
                end
            end
        end
        if not least or inside < least then best, least = at, inside end
    end
    local x, y = best[1], best[2]
    c:fill(x, y, x + w, y + h, canvas.mix(self.colours.back, self.colours.fore, 0.25))
    c:fill(x + 1, y + 1, x + w - 1, y + h - 1, self.colours.back)
    for i, name in ipairs(names) do
        local row = y + (12 * i - 6) * k
        c:fill(x + 5 * k, row - k + 1, x + 21 * k, row + k,
            self.colours.lines[(i - 1) % #lines + 1])
        c:text(x + 26 * k, row - 3 * k, plain(name), self.colours.fore, k)
    end
end

-- Draws a bar right of the box, y0 to y1 its first and last row, its colours (a list, from the
-- smallest value up), and ticks of the axis.
function Chart:bar(axis, colours)
    local c, k, fore, box = self.canvas, self.k, self.colours.fore, self.box
    local x0, x1 = box[3] + 10 * k, box[3] + 21 * k
    c:fill(x0 - 1, box[2] - 1, x1 + 1, box[4] + 1, fore)
    local high = box[4] - box[2]
    for y = box[2], box[4] do
        c:fill(x0, y, x1, y, colours[1 + whole((box[4] - y) / math.max(1, high) * (#colours - 1))])
    end
    local values, names = scale.ticks(axis, math.max(2, math.min(5, high // (21 * k))))
    for i, v in ipairs(values) do
        local y = whole(box[4] - scale.part(axis, v) * high)
        c:fill(x1 + 2, y, x1 + 3 * k + 1, y, fore)
        c:text(x1 + 6 * k, y - 3 * k, names[i], fore, k)
    end
end

return { new = new, theme = theme, marked = marked, lines = lines }
