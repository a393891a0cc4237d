--!plain
-- Charts of lines in the terminal: braille dots in a frame with ticks and a legend.
-- Without colours, dashes distinguish lines.
local require = ...
local registry, scale = require "registry", require "plot.scale"
local colour_on = require "plot.terminal".colour_on

-- Each character is 2 x 4 dots. set(x, y, colour): x to the right and y down, from 0.
local bits = { { 0x01, 0x02, 0x04, 0x40 }, { 0x08, 0x10, 0x20, 0x80 } }
local function new(columns, rows)
    local cells, ink = {}, {}
    local c = { w = columns * 2, h = rows * 4 }
    function c.set(x, y, colour)
        if x < 0 or y < 0 or x >= c.w or y >= c.h then return end
        local i = (y // 4) * columns + x // 2
        cells[i] = (cells[i] or 0) | bits[x % 2 + 1][y % 4 + 1]
        ink[i] = colour
    end
    function c.rows()
        local out, on = {}, colour_on()
        for row = 0, rows - 1 do
            local parts = {}
            for col = 0, columns - 1 do
                local i = row * columns + col
                local text = cells[i] and utf8.char(0x2800 + cells[i]) or " "
                if cells[i] and on then
                    text = ("\27[38;2;%d;%d;%dm%s\27[0m"):format(
                        ink[i] >> 16, ink[i] >> 8 & 255, ink[i] & 255, text)
                end
                parts[#parts + 1] = text
            end
            out[#out + 1] = table.concat(parts)
        end
        return out
    end
    return c
end

-- ---- Lines ----

local colours = { 0x4682f0, 0xf08c32, 0x46b45a, 0xdc4650, 0xa06ed2, 0x8c8c8c }

-- Lengths of dots drawn and left out, alternately, for the first, second, … line.
local dashes = { {}, { 4, 3 }, { 1, 2 }, { 6, 2, 1, 2 }, { 2, 4 }, { 8, 5 } }
local function pen(k, dashed)
    local list, at, colour = dashes[(k - 1) % #dashes + 1], 1, colours[(k - 1) % #colours + 1]
    local left = list[1]
    local plain = not dashed or colour_on() or not left
    return function(c, x, y)
        if plain then return c.set(x, y, colour) end
        if at % 2 == 1 then c.set(x, y, colour) end
        left = left - 1
        if left == 0 then
            at = at % #list + 1
            left = list[at]
        end
    end
end

-- The part of x0 + t dx, 0 <= t <= 1, that is in lo … hi, clipped from t0 … t1 (Liang-Barsky).
local function cut(x0, dx, lo, hi, t0, t1)
    if dx == 0 then
        if x0 < lo or x0 > hi then return 1, 0 end
        return t0, t1
    end
    local a, b = (lo - x0) / dx, (hi - x0) / dx
    return math.max(t0, math.min(a, b)), math.min(t1, math.max(a, b))
end

-- The first point is the last one of the part before.
local function line(c, draw, x0, y0, x1, y1)
    local dx, dy = x1 - x0, y1 - y0
    local t0, t1 = cut(x0, dx, -1, c.w, 0, 1)
    t0, t1 = cut(y0, dy, -1, c.h, t0, t1)
    if t0 > t1 then return end
    x1, y1, x0, y0 = x0 + dx * t1, y0 + dy * t1, x0 + dx * t0, y0 + dy * t0
    local steps = math.max(1, math.ceil(math.max(math.abs(x1 - x0), math.abs(y1 - y0)) - 1e-9))
    for i = t0 > 0 and 0 or 1, steps do
        draw(c, math.floor(x0 + (x1 - x0) * i / steps + 0.5),
            math.floor(y0 + (y1 - y0) * i / steps + 0.5))
    end
end

-- Draws the k-th line, or its points: lists of coordinates of dots, NaN is a gap.
local function draw(c, xs, ys, k, style)
    local put, px, py = pen(k, style ~= "points"), nil, nil
    for i = 1, #xs do
        local x, y = xs[i], ys[i]
        if x ~= x or y ~= y then
            px = nil
        else
            if px and style ~= "points" then line(c, put, px, py, x, y)
            elseif math.abs(x) < 1e6
                and math.abs(y) < 1e6 then put(c, math.floor(x + 0.5), math.floor(y + 0.5)) end
            px, py = x, y
        end
    end
end

-- ---- The frame ----

local function width_of(s) return utf8.len(s) or #s end
local plain = registry["gpush.safe"]

-- Labels by row, from 1: at round numbers, or where there is little room at both ends.
local function row_labels(axis, rows)
    local out = {}
    if rows < 4 then
        out[rows] = scale.ending(axis, 1)
        out[1] = scale.ending(axis, 2)
        return out
    end
    local values, names = scale.ticks(axis, math.max(2, math.min(5, rows // 4)))
    for i, v in ipairs(values) do
        out[1 + math.floor((1 - scale.part(axis, v)) * (rows * 4 - 1) + 0.5) // 4] = names[i]
    end
    return out
end

-- The line under the dots and the labels under it.
local function below(axis, width)
    local first, last = scale.ending(axis, 1), scale.ending(axis, 2)
    if width < 16 then
        return ("─"):rep(width), first .. (" "):rep(math.max(1, width - #first - #last)) .. last
    end
    local values, names = scale.ticks(axis, math.max(2, math.min(6, width // 12)))
    local marks, text, at = {}, {}, 0
    for i = 1, width do marks[i] = "─" end
    for i, v in ipairs(values) do
        local col = math.floor(scale.part(axis, v) * (width * 2 - 1) + 0.5) // 2
        local start = math.max(0, math.min(col - #names[i] // 2, width - #names[i]))
        marks[col + 1] = "┬"
        if start >= at + (at > 0 and 1 or 0) then
            text[#text + 1] = (" "):rep(start - at) .. names[i]
            at = start + #names[i]
        end
    end
    return table.concat(marks), table.concat(text)
end

-- Samples of the lines with their names, in as many lines of text as necessary.
local function legend(names, style, room)
    local out, text, used = {}, {}, 0
    for k, name in ipairs(names) do
        local c = new(4, 1)
        if style == "points" then
            draw(c, { 1, 4, 6 }, { 2, 1, 2 }, k, style)
        else
            draw(c, { 0, 7 }, { 1, 1 }, k)
        end
        name = plain(name)
        local wide = 5 + width_of(name) + 2
        if used > 0 and used + wide > room then
            out[#out + 1] = table.concat(text)
            text, used = {}, 0
        end
        text[#text + 1] = c.rows()[1] .. " " .. name .. "  "
        used = used + wide
    end
    out[#out + 1] = table.concat(text)
    return out
end

-- Columns left of the dots, for labels and the axis.
local function margin(axis, rows)
    local most = 0
    for _, name in next, row_labels(axis, rows) do most = math.max(most, #name) end
    return most + 1
end

-- The rows of dots with axes; opts: title, xlabel, ylabel, legend, style.
local function framed(c, xaxis, yaxis, opts)
    local rows, width = c.rows(), c.w // 2
    local names, wide = row_labels(yaxis, #rows), margin(yaxis, #rows) - 1
    local indent, out = (" "):rep(wide + 1), {}
    local function centred(s)
        return indent .. (" "):rep(math.max(0, (width - width_of(s)) // 2)) .. s
    end
    if opts.title then out[1] = indent .. plain(opts.title) end
    if opts.ylabel then out[#out + 1] = plain(opts.ylabel) end
    for i, row in ipairs(rows) do
        local name = names[i] or ""
        out[#out + 1] = (" "):rep(wide - #name) .. name ..
            (names[i] and #rows >= 4 and "┤" or "│") .. row
    end
    local marks, text = below(xaxis, width)
    out[#out + 1] = (" "):rep(wide) .. "└" .. marks
    out[#out + 1] = indent .. text
    if opts.xlabel then out[#out + 1] = centred(plain(opts.xlabel)) end
    if opts.legend then
        for _, row in ipairs(legend(opts.legend, opts.style, width)) do
            out[#out + 1] = indent .. row:gsub(" +$", "")
        end
    end
    return table.concat(out, "\n")
end

return { new = new, draw = draw, margin = margin, framed = framed }
