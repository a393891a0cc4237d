-- Pictures as text and as PNG: the positions of dots, bars and pixels.
local t = require "tap"
local gpush = require "gpush"
local plot, hist, heatmap, imshow = gpush.plot, gpush.hist, gpush.heatmap, gpush.imshow

local function rows(text)
    local out = {}
    for line in (text .. "\n"):gmatch "(.-)\n" do out[#out + 1] = line end
    return out
end

-- A braille character's dots are numbered by the Unicode standard: 1 2 3 7 down the left side, 4 5
-- 6 8 down the right.
local r = rows(plot({ 1, 2 }, { width = 1, height = 1, text = true }))
t.is(r[1], "2│" .. utf8.char(0x2800 + 0x40 + 0x04 + 0x10 + 0x08),
    "a rising line goes from the lower left to the upper right")
t.is(r[2], " └─", "with an axis")
t.is(r[3], "  1 2", "and its ends")
r = rows(plot({ { 0, 1 }, { 0, 0 }, { 3, 3 } },
    { width = 2, height = 1, text = true, title = "two\27" }))
t.is(r[1], "  two\\x1b", "a title, without control characters")
t.is(r[2], "3│" .. utf8.char(0x2800 + 0x40 + 0x80 + 0x01 + 0x08):rep(2), "two lines")
r = rows(plot({ 1, 0 / 0, 1 }, { width = 3, height = 1, text = true }))
t.is(utf8.len(r[1]), 3 + 4, "NaN leaves a gap")
t.is(utf8.codepoint(r[1], utf8.offset(r[1], 6)), 32, "in the middle")
t.is(plot(gpush.tensor { 1.0, 2.0 }, { width = 1, height = 1, text = true }),
    plot({ 1, 2 }, { width = 1, height = 1, text = true }),
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
t.is(r[1], "░░░░▓▓▓▓", "dark and bright, in cells that can be seen")
t.is(#r, 5, "which are square: two rows of pixels are one of characters")
t.is(r[5], "0 ░░░▒▒▒▒▓ 1, 2x2", "the range, with its colours, and the shape")
r = rows(heatmap(gpush.arange(1, 300 * 500):reshape(300, 500),
    { text = true, width = 50, height = 5 }))
t.ok(#r == 6 and utf8.len(r[1]) <= 50, "a large matrix is shrunk to what fits")
t.error(function() heatmap(gpush.zeros(3)) end, "two dims")
t.is(imshow(gpush.tensor { { 0.0, 1.0 }, { 0.0, 1.0 } }, { text = true }), " █", "black and white")
t.error(function() imshow(gpush.zeros(5, 2, 2)) end,
    "expected h x w, 3 x h x w or h x w x 3, got 5x2x2")

local list, given = { gpush.tensor(1.0), 2 }, { text = true, width = 1, height = 1 }
plot({ list, { 0, 1 }, title = "t" }, given)
t.ok(gpush.is_tensor(list[1]) and given.title == nil, "what was given stays as it is")
t.error(function() plot({ 1, 2 }, { wdith = 3 }) end,
    "plot.lua:%d+: plot: unknown option 'wdith'; did you mean width%? %(expected title, xlabel, \z
        .*png, text%)")
t.error(function() plot { { 1, 2 }, { 3, 4 }, titel = "t" } end, "unknown option 'titel'")
t.error(function() hist({ 1, 2 }, { bin = 3 }) end,
    "hist: unknown option 'bin'; did you mean bins%? %(expected bins")
t.error(function() hist({ 1, 2 }, { bins = 0 }) end,
    "hist: option 'bins': expected an integer from 1 on, got 0")
t.error(function() heatmap(gpush.zeros(2, 2), { title = 1 }) end,
    "heatmap: option 'title': expected a string, got 1")
t.error(function() heatmap(gpush.zeros(2, 2), { legend = "x" }) end,
    "heatmap: unknown option 'legend'")
t.error(function() plot({ 1, 2 }, { style = "dots" }) end,
    "plot: option 'style': expected 'lines' or 'points', got 'dots'")
t.error(function() plot({ 1, 2 }, { xlim = { 2, 1 } }) end,
    "option 'xlim': expected {least, largest}")
t.error(function() plot({ 1, 2 }, { legend = { "a", "b" } }) end,
    "option 'legend': expected a name for each of 1 lines")
t.error(function() plot({ 1, 2 }, { ylog = true, ylim = { 0, 1 } }) end, "expected numbers above 0")
t.error(function() plot({ -1, 0 }, { ylog = true }) end, "no finite number above 0")
t.error(function() plot({ 1, 2 }, { png = "x.png", width = 3 }) end,
    "a PNG of 3 x 400: expected at least 160 x 120")
t.error(function() imshow(gpush.zeros(0, 0)) end, "imshow: there is nothing to show in 0x0")
t.error(function() imshow(gpush.zeros(2)) end,
    "imshow: expected h x w, 3 x h x w or h x w x 3, got 2")
do
    local run <close> = assert(io.popen(([[%s -e 'imshow(tensor{{-0.5, 3}}, {text = true})' \
        -e 'imshow(tensor{{0, 1.001}}, {text = true})' 2>&1 >/dev/null]]):format(arg[-1])))
    t.is(run:read "a", "imshow: values from -0.5 to 3 were cut to 0 and 1; heatmap(t) scales a \z
        matrix\n", "values that are cut are said")
end
t.error(function() imshow(gpush.zeros(2, 2), { "x" }) end, "imshow: unknown option '1'")

local name = os.tmpname()
imshow(gpush.tensor({ { { 255, 0, 7 } } }, { dtype = "u8" }), { png = name })
t.is(gpush.image.load(name):reshape(-1), { 255, 0, 7 }, "PNG: a pixel of h x w x 3")
imshow(gpush.tensor { { { 1.0 } }, { { 0.5 } }, { { 0.0 } } }, { png = name })
t.is(gpush.image.load(name):reshape(-1), { 255, 128, 0 }, "PNG: floats of 3 x h x w")
os.remove(name)

-- ---- Axes in the terminal ----

-- A rising line of 12 rows and 30 columns: 48 dots for 0 to 10, 47 down to 0; a row has four of
-- them.
local line_0_10 = {}
for i = 0, 100 do line_0_10[i + 1] = i / 10 end
r = rows(plot({ line_0_10, line_0_10 },
    { width = 30, height = 12, text = true, xlabel = "x", ylabel = "speed", legend = "up" }))
t.is(r[1], "speed", "what the y axis is")
local function row_of(v) return 2 + ((1 - v / 10) * 47 + 0.5) // 1 // 4 | 0 end
local function column_of(v) return (v * 59 / 10 + 0.5) // 1 // 2 | 0 end -- from 0
local marked = 0
for i = 2, 13 do marked = marked + (r[i]:find("┤", 1, true) and 1 or 0) end
t.ok(marked >= 3 and marked <= 6, "some ticks")
for _, v in ipairs { 0, 5, 10 } do t.ok(r[row_of(v)]:find("^ *" .. v .. "┤"), "a tick at " .. v) end
local _, at = utf8.len(r[14]), {}
for i = 0, utf8.len(r[14]) - 1 do
    -- ┬, after two columns and └
    if utf8.codepoint(r[14], utf8.offset(r[14], i + 1)) == 0x252c then at[i - 3] = true end
end
for _, v in ipairs { 0, 5, 10 } do t.ok(at[column_of(v)], "a tick below " .. v) end
t.ok(r[15]:find "^ +0 +5 +10$", "their labels")
t.ok(r[16]:find "^ +x$", "what the x axis is")
t.ok(r[17]:find "^   [^ ]+ up$", "the line's name")

-- set dots by row and column, both from 0; rows of a plot without texts
local function dots(text, columns, height)
    local set, lines = {}, rows(text)
    for row = 1, height do
        local first = select(2, lines[row]:find "│") or select(2, lines[row]:find "┤")
        local col = 0
        for _, code in utf8.codes(lines[row]:sub(first + 1)) do
            for k, p in ipairs { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 0 }, { 1, 1 }, { 1, 2 },
                { 0, 3 }, { 1, 3 } }
            do
                if code >= 0x2800 and code - 0x2800 >> k - 1 & 1 == 1 then
                    set[((row - 1) * 4 + p[2]) * columns * 2 + col * 2 + p[1]] = true
                end
            end
            col = col + 1
        end
    end
    return set
end

-- Of many points the extremes of each column of dots are shown: found here by a plain loop.
local n, many = 60000, {}
for i = 1, n do many[i] = math.sin(i / 5000) + ((i * 7919) % 101) / 400 end
local lo, hi, low, high = math.huge, -math.huge, {}, {}
for _, y in ipairs(many) do lo, hi = math.min(lo, y), math.max(hi, y) end
for i, y in ipairs(many) do
    local col = math.min(59, (i - 1) / (n - 1) * 60 // 1 | 0)
    local dot = ((1 - (y - lo) / (hi - lo)) * 47 + 0.5) // 1 | 0
    low[col], high[col] = math.max(low[col] or 0, dot), math.min(high[col] or 99, dot)
end
local set, missing,
    extra = dots(plot(gpush.tensor(many), { width = 30, height = 12, text = true }), 30, 12), 0, 0
for col = 0, 59 do
    for dot = 0, 47 do
        local inside = dot >= high[col] and dot <= low[col]
        if inside and not set[dot * 60 + col] then missing = missing + 1 end
        if set[dot * 60 + col] and (dot < high[col] - 3 or dot > low[col] + 3) then
            extra = extra + 1
        end
    end
end
t.ok(missing <= 8, ("60000 points: what they cover is drawn (%d dots are not)"):format(missing))
t.is(extra, 0, "60000 points: and nothing else")

local grid = { xlim = { 0, 1 }, ylim = { 0, 1 }, width = 4, height = 4, text = true,
    style = "points" }
set = dots(plot({ { 0, 1, 0.5, 7 }, { 0, 1, 2, 0.5 } }, grid), 4, 4)
local count = 0
for _ in pairs(set) do count = count + 1 end
t.ok(count == 2 and set[15 * 8] and set[7], "points, and not those beyond the limits")
local cloud_x, cloud_y = {}, {}
for i = 1, 5000 do cloud_x[i], cloud_y[i] = (i * 37 % 8 + 0.5) / 8, (i // 8 * 5 % 16 + 0.5) / 16 end
set = dots(plot({ cloud_x, cloud_y }, grid), 4, 4)
count = 0
for _ in pairs(set) do count = count + 1 end
t.is(count, 128, "5000 points on each of 8 x 16 dots")
local small = { width = 10, height = 3, text = true }
local log = plot({ { 1, 10, 100, 1000 }, { 1, 1000, 10, 0 }, xlog = true, ylog = true }, small)
t.is(dots(log, 10, 3), dots(plot({ { 0, 1, 2, 3 }, { 0, 3, 1, 0 / 0 } }, small), 10, 3),
    "logarithms on both axes; 0 has none")
local l = rows(log)
t.ok(l[1]:find "^1000│" and l[3]:find "^   1│" and l[5]:find "^     1 +1000$",
    "labels of the numbers themselves")
local both = rows(plot({ line_0_10, line_0_10, line_0_10 },
    { width = 20, height = 4, text = true, legend = { "a", "b" } }))
local first, second = both[#both]:match "^ *(%S+) +a +(.-) +b$"
t.ok(first and first ~= second, "without colours lines are told apart by dashes")

-- Ticks of any range: a few, each an integer multiple of 1, 2 or 5 times a power of ten, with
-- matching labels.
local scale = debug.getregistry()["gpush.require"] "plot.scale"
local odd = 0
for i = 1, 300 do
    local lo = math.sin(i * 17) * 10.0 ^ (i % 25 - 12)
    local hi = lo + (1 + i % 9) / 9 * 10.0 ^ (i % 7 - 3) * math.abs(lo)
    local values, labels = scale.ticks({ lo, hi }, 5)
    local step, said = values[2] - values[1], {}
    local first = tonumber(("%.0e"):format(step):sub(1, 1))
    local right = #values >= 2 and #values <= 9 and (first == 1 or first == 2 or first == 5)
    for k, v in ipairs(values) do
        local n = v / tonumber(("%.0e"):format(step))
        right = right and v >= lo - step / 1e6 and v <= hi + step / 1e6
            and math.abs(n - math.floor(n + 0.5)) < 1e-3
            and math.abs(tonumber(labels[k]) - v) < step / 100 and not said[labels[k]]
        said[labels[k]] = true
    end
    odd = odd + (right and 0 or 1)
end
t.is(odd, 0, "ticks are round numbers, and their labels right")
for _, y in ipairs { { -1e308, 1e308 }, { 1, 1 + 2.3e-16 }, { 5 }, { 1e-320, 1e-319 },
    { 1 / 0, 1, -1 / 0 } }
do
    t.is(#rows(plot(y, { text = true, height = 5 })), 7, "a range like " .. y[1])
end
local on_device = gpush.randn(4, 4, { device = "sim" })
gpush.sync.reset()
heatmap(on_device, { text = true })
plot(on_device[1], { text = true })
local waits = 0
for _, line in ipairs(gpush.sync.lines()) do waits = waits + line.times end
t.ok(waits <= 2, "a tensor on a device is copied once")

-- ---- Charts as PNG ----

-- The frame is found as the first and last row, and the first column, with a long run of the axes'
-- colour.
local FORE, LINE = 0x333333, 0x3a76d8
local function chart_of(file)
    local img = gpush.image.load(file):tolist()
    local c = { h = #img[1], w = #img[1][1] }
    function c.at(x, y)
        return img[1][y + 1][x + 1] << 16 | img[2][y + 1][x + 1] << 8 | img[3][y + 1][x + 1]
    end
    for y = 0, c.h - 1 do
        local run = 0
        for x = 0, c.w - 1 do
            run = c.at(x, y) == FORE and run + 1 or 0
            if run > c.w // 3 then c.y0, c.y1 = c.y0 or y, y end
        end
    end
    for x = 0, c.w - 1 do
        local run = 0
        for y = 0, c.h - 1 do
            run = c.at(x, y) == FORE and run + 1 or 0
            if run > c.h // 3 then c.x0 = c.x0 or x end
        end
    end
    c.x1 = c.x0
    while c.at(c.x1 + 1, c.y0) == FORE do c.x1 = c.x1 + 1 end
    return c
end

local function near(a, b)
    local d = 0
    for shift = 0, 16, 8 do d = d + math.abs((a >> shift & 255) - (b >> shift & 255)) end
    return d < 24
end
plot({ { 0, 10 }, { 0, 5 }, { 5, 5 } },
    { png = name, xlim = { 0, 10 }, ylim = { 0, 10 }, width = 320, height = 240, title = "L" })
local c = chart_of(name)
t.is({ c.w, c.h }, { 320, 240 }, "PNG: as large as said")
-- of the box in the frame: 0 to 10 are its ends
local left, right, top, bottom = c.x0 + 1, c.x1 - 1, c.y0 + 1, c.y1 - 1
local function px(v) return math.floor(left + v / 10 * (right - left) + 0.5) end
local function py(v) return math.floor(bottom - v / 10 * (bottom - top) + 0.5) end
for _, v in ipairs { 1, 4.4, 9 } do
    t.ok(near(c.at(px(v), py(v / 2)), LINE), "PNG: the line at " .. v)
end
t.ok(near(c.at(px(2), py(5)), 0xe8862a), "PNG: the second line has another colour")
t.ok(c.at(px(3), py(9)) == 0xffffff, "PNG: nothing where there is no line")
for _, v in ipairs { 0, 2, 4, 6, 8, 10 } do
    t.ok(c.at(px(v), c.y1 + 2) == FORE and c.at(px(v) + 1, c.y1 + 2) == 0xffffff,
        "PNG: a tick of x at " .. v)
    t.ok(c.at(c.x0 - 2, py(v)) == FORE and c.at(c.x0 - 2, py(v) - 1) == 0xffffff,
        "PNG: a tick of y at " .. v)
end
local grid_colour = c.at(px(4), py(9))
t.ok(grid_colour ~= 0xffffff and grid_colour == c.at(px(1), py(8)) and (grid_colour & 255) > 200,
    "PNG: a light grid")
local letter, text_x, text_y = {}, math.huge, math.huge
for y = 0, c.y0 - 1 do
    for x = c.x0, c.w - 1 do
        if c.at(x, y) == FORE then
            text_x, text_y, letter[#letter + 1] = math.min(text_x, x), math.min(text_y, y), { x, y }
        end
    end
end
local seen = {}
for i, p in ipairs(letter) do seen[i] = (p[2] - text_y) .. "," .. (p[1] - text_x) end
t.is(table.concat(seen, " "), "0,0 1,0 2,0 3,0 4,0 5,0 6,0 6,1 6,2 6,3 6,4", "PNG: the title's L")
t.ok(math.abs(text_x + 2 - (c.x0 + c.x1) / 2) <= 3, "PNG: in the middle")
plot({ { 2, 7, 12 }, { 2, 7, 5 } },
    { png = name, xlim = { 0, 10 }, ylim = { 0, 10 }, style = "points" })
c = chart_of(name)
left, right, top, bottom = c.x0 + 1, c.x1 - 1, c.y0 + 1, c.y1 - 1
t.ok(c.at(px(2), py(2)) == LINE and c.at(px(7), py(7)) == LINE and c.at(px(5), py(5)) == 0xffffff,
    "PNG: points and no line")
plot({ { 0, 10 }, { 0, 10 }, { 10, 0 } }, { png = name, legend = { "one", "two" } })
c = chart_of(name)
local swatches = { 0, 0 }
for y = c.y0 + 1, c.y1 - 1 do
    local run = { 0, 0 }
    for x = c.x0 + 1, c.x1 - 1 do
        for k, colour in ipairs { LINE, 0xe8862a } do
            run[k] = c.at(x, y) == colour and run[k] + 1 or 0
            swatches[k] = math.max(swatches[k], run[k])
        end
    end
end
t.ok(swatches[1] >= 12 and swatches[2] >= 12, "PNG: a legend with each line's colour")

hist({ 0, 0.5, 1, 2 }, { png = name, bins = 2 })
c = chart_of(name)
left, right = c.x0 + 1, c.x1 - 1
local tall = { 0, 0 } -- of the bars' pixels
for y = c.y0 + 1, c.y1 - 1 do
    for k, x in ipairs { left + (right - left) // 4, left + 3 * (right - left) // 4 } do
        if c.at(x, y) == LINE then tall[k] = tall[k] + 1 end
    end
end
t.ok(tall[1] > 300 and math.abs(tall[1] - tall[2]) <= 1,
    "PNG: bars as high as their counts, which are alike")
hist({ 0, 0.1, 0.2, 2 }, { png = name, bins = 2 })
c = chart_of(name)
tall = { 0, 0 }
for y = c.y0 + 1, c.y1 - 1 do
    for k, x in ipairs { left + (right - left) // 4, left + 3 * (right - left) // 4 } do
        if c.at(x, y) == LINE then tall[k] = tall[k] + 1 end
    end
end
t.ok(math.abs(tall[1] - 3 * tall[2]) <= 3, "PNG: or three times as high")

-- Cells of a heatmap: the smallest number is viridis's dark end, the largest its bright one, NaN
-- grey; a bar shows it.
heatmap(gpush.tensor { { 0.0, 1.0 }, { 0 / 0, 2.0 } }, { png = name })
c = chart_of(name)
t.is({ c.at(c.x0 + 90, c.y0 + 90), c.at(c.x0 + 270, c.y0 + 270), c.at(c.x0 + 90, c.y0 + 270) },
    { 0x440154, 0xfde725, 0x808080 },
    "PNG: cells of a heatmap")
t.is({ c.at(c.x0 + 1, c.y0 + 1), c.at(c.x0 + 180, c.y0 + 180) }, { 0x440154, 0x440154 },
    "PNG: each of 180 x 180 pixels")
t.ok(c.at(c.x0 + 181, c.y0 + 1) ~= 0x440154 and c.at(c.x0 + 1, c.y0 + 181) == 0x808080,
    "PNG: and no more")
local bright, dark
for x = c.x1 + 1, c.w - 1 do
    if c.at(x, c.y0 + 1) == 0xfde725 then bright = x end
    if c.at(x, c.y1 - 1) == 0x440154 then dark = x end
end
t.ok(bright and bright == dark, "PNG: its colour bar")
os.remove(name)

t.done()
