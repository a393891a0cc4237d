--!plain
-- Pictures: plot, hist, heatmap and imshow, in the terminal (braille, half blocks, or the terminal's own pictures) and,
-- with png = "file.png", as PNG. Read when one of them is first called.
-- Gets the module and what raises at the script's line.
local gpush, raise = ...

local colours = { { 70, 130, 240 }, { 240, 140, 50 }, { 70, 180, 90 }, { 220, 70, 80 }, { 160, 110, 210 }, { 140, 140, 140 } }

local function colour_on()
    local no = os.getenv "NO_COLOR"
    return gpush.terminal() ~= nil and not (no and no ~= "")
end

-- ---- What is given ----

local function fail(what, fmt, ...) raise("%s", what .. ": " .. fmt:format(...)) end

-- A tensor or a list as a list of floats.
local function numbers(v, what)
    if gpush.is_tensor(v) then
        if v.ndim ~= 1 then fail(what, "expected one dim, got %s", table.concat(v.shape, "x")) end
        return v:to("f64"):tolist()
    end
    if type(v) ~= "table" then fail(what, "expected a tensor or a list of numbers, got %s", type(v)) end
    local out = {}
    for i, x in ipairs(v) do
        out[i] = gpush.is_tensor(x) and x:item() or x
        if type(out[i]) ~= "number" then fail(what, "element %d is a %s", i, type(x)) end
    end
    return out
end

local function finite(x) return x == x and x ~= math.huge and x ~= -math.huge end

-- Least and largest finite number of lists; a range of no extent is widened.
local function range(lists, what)
    local lo, hi = math.huge, -math.huge
    for _, list in ipairs(lists) do
        for _, x in ipairs(list) do
            if finite(x) then lo, hi = math.min(lo, x), math.max(hi, x) end
        end
    end
    if lo > hi then fail(what, "there is no finite number to show") end
    if lo == hi then lo, hi = lo - 0.5, hi + 0.5 end
    return lo, hi
end

local function short(x) return (("%.4g"):format(x)) end

-- ---- Canvases: both have set(x, y, colour), x to the right and y down, from 0 ----

-- Braille: each character is 2 x 4 dots.
local bits = { { 0x01, 0x02, 0x04, 0x40 }, { 0x08, 0x10, 0x20, 0x80 } }
local function braille(columns, rows)
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
                if cells[i] and on then text = ("\27[38;2;%d;%d;%dm%s\27[0m"):format(ink[i][1], ink[i][2], ink[i][3], text) end
                parts[#parts + 1] = text
            end
            out[#out + 1] = table.concat(parts)
        end
        return out
    end
    return c
end

-- Pixels, white at first; save writes them.
local function pixels(w, h)
    local c, data = { w = w, h = h }, {}
    for i = 1, w * h * 3 do data[i] = 255 end
    function c.set(x, y, colour)
        if x < 0 or y < 0 or x >= w or y >= h then return end
        local i = (y * w + x) * 3
        data[i + 1], data[i + 2], data[i + 3] = colour[1], colour[2], colour[3]
    end
    function c.image() return gpush.tensor(data, { dtype = "u8" }):reshape(h, w, 3) end
    return c
end

-- Images are h x w x 3 here and 3 x h x w in files.
local function save(name, img) gpush.image.save(name, img:permute(3, 1, 2):contiguous()) end

local function line(c, x0, y0, x1, y1, colour)
    local steps = math.max(math.abs(x1 - x0), math.abs(y1 - y0), 1)
    for i = 0, steps do
        c.set(math.floor(x0 + (x1 - x0) * i / steps + 0.5), math.floor(y0 + (y1 - y0) * i / steps + 0.5), colour)
    end
end

-- ---- The terminal ----

local function columns() return gpush.terminal() or 80 end

-- What the terminal answers to a picture of kitty's that is only a question, and to the question what it is, in which 4
-- stands for sixel. tmux and screen would take the first one for a title.
local function answered()
    local term = os.getenv "TERM" or ""
    if term == "" or term == "dumb" then return "blocks" end
    local query = "\27[c"
    if not (os.getenv "TMUX" or term:find "^screen" or term:find "^tmux") then
        query = "\27_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\27\\" .. query
    end
    local said = gpush.terminal(query)
    if not said then return nil end
    if said:find("_Gi=31;OK", 1, true) then return "kitty" end
    local attributes = said:match "\27%[%?([%d;]*)c" or ""
    return (";" .. attributes .. ";"):find(";4;", 1, true) and "sixel" or "blocks"
end

-- "kitty", "sixel" or "blocks": GPUSH_GRAPHICS, or what the terminal says, which is asked once.
local how
local function graphics()
    local asked = os.getenv "GPUSH_GRAPHICS"
    if asked then return asked end
    if not gpush.terminal() then return "blocks" end
    how = how or answered()
    return how or "blocks"
end

local letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local function base64(s)
    return (s:gsub("..?.?", function(three)
        local a, b, c = three:byte(1, 3)
        local n = a << 16 | (b or 0) << 8 | (c or 0)
        local out = ""
        for shift = 18, 0, -6 do
            local k = (n >> shift & 63) + 1
            out = out .. letters:sub(k, k)
        end
        return b and (c and out or out:sub(1, 3) .. "=") or out:sub(1, 2) .. "=="
    end))
end

local function kitty(img)
    local name = os.tmpname()
    save(name, img)
    local f = assert(io.open(name, "rb"))
    local text, out = base64(f:read "a"), {}
    f:close()
    os.remove(name)
    for i = 1, #text, 4096 do
        local more = i + 4096 <= #text and 1 or 0
        out[#out + 1] = ("\27_G%sm=%d;%s\27\\"):format(i == 1 and "a=T,f=100," or "", more, text:sub(i, i + 4095))
    end
    return table.concat(out)
end

-- 216 colours; six rows of pixels a band.
local function sixel(img)
    local h, w, data = img.shape[1], img.shape[2], img:tolist()
    local out = { "\27Pq" }
    for k = 0, 215 do out[#out + 1] = ("#%d;2;%d;%d;%d"):format(k, k // 36 * 20, k // 6 % 6 * 20, k % 6 * 20) end
    for top = 1, h, 6 do
        local used = {}
        for y = top, math.min(top + 5, h) do
            for x = 1, w do
                local p = data[y][x]
                local k = (p[1] + 25) // 51 * 36 + (p[2] + 25) // 51 * 6 + (p[3] + 25) // 51
                used[k] = used[k] or {}
                used[k][x] = (used[k][x] or 0) | 1 << (y - top)
            end
        end
        for k, band in pairs(used) do
            local row = {}
            for x = 1, w do row[x] = string.char(63 + (band[x] or 0)) end
            out[#out + 1] = "#" .. k .. table.concat(row) .. "$"
        end
        out[#out + 1] = "-"
    end
    return table.concat(out) .. "\27\\"
end

local shades = { " ", "░", "▒", "▓", "█" }

-- h x w x 3 bytes, two rows a line; without colours their brightness.
local function blocks(img)
    local data, out, on = img:tolist(), {}, colour_on()
    for y = 1, #data, 2 do
        local row = {}
        for x = 1, #data[y] do
            local a, b = data[y][x], data[y + 1] and data[y + 1][x]
            if on and b then
                row[x] = ("\27[38;2;%d;%d;%d;48;2;%d;%d;%dm▀"):format(a[1], a[2], a[3], b[1], b[2], b[3])
            elseif on then
                row[x] = ("\27[0;38;2;%d;%d;%dm▀"):format(a[1], a[2], a[3])
            else
                b = b or a
                local bright = (a[1] + a[2] + a[3] + b[1] + b[2] + b[3]) / 6
                row[x] = shades[math.min(5, 1 + math.floor(bright / 255 * 5))]
            end
        end
        out[#out + 1] = table.concat(row) .. (on and "\27[0m" or "")
    end
    return table.concat(out, "\n")
end

local function give(text, opts)
    if opts.text then return text end
    print(text)
end

-- ---- Lines ----

-- A copy of the given options, of which names, "png, text", tells all that there are.
local function options(given, what, names)
    if given ~= nil and type(given) ~= "table" then fail(what, "expected a table of options, got %s", type(given)) end
    local opts = {}
    for key, v in next, given or {} do
        if type(key) ~= "string" or not (names .. ","):find(key .. ",", 1, true) then
            fail(what, "unknown option '%s' (expected %s)", tostring(key):gsub("%c", "?"), names)
        end
        opts[key] = v
    end
    for _, key in ipairs { "width", "height", "bins" } do
        local v = opts[key]
        if v ~= nil and not (math.tointeger(v) and v >= 1) then
            fail(what, "option '%s': expected a whole number from 1 on, got %s", key, tostring(v))
        end
    end
    return opts
end

-- The options of plot{x, y, title = "t"} stand in the same table as the lines; those behind it go before.
local function of_both(data, opts)
    local out = {}
    for key, v in next, data do out[key] = type(key) == "string" and v or nil end
    for key, v in next, type(opts) == "table" and opts or {} do out[key] = v end
    return out
end

local function draw(c, xs, series, x0, x1, y0, y1)
    for k, ys in ipairs(series) do
        local px, py
        for i, y in ipairs(ys) do
            local x = xs[i]
            if x and finite(x) and finite(y) then
                local cx, cy = (x - x0) / (x1 - x0) * (c.w - 1), (1 - (y - y0) / (y1 - y0)) * (c.h - 1)
                if px then line(c, px, py, cx, cy, colours[(k - 1) % #colours + 1])
                else c.set(math.floor(cx + 0.5), math.floor(cy + 0.5), colours[(k - 1) % #colours + 1]) end
                px, py = cx, cy
            else
                px = nil -- a gap
            end
        end
    end
end

local function framed(rows, x0, x1, y0, y1, width, title)
    local top, bottom = short(y1), short(y0)
    local margin = math.max(#top, #bottom)
    local out = title and { (" "):rep(margin + 1) .. title:gsub("%c", "?") } or {}
    for i, row in ipairs(rows) do
        local label = i == 1 and top or i == #rows and bottom or ""
        out[#out + 1] = (" "):rep(margin - #label) .. label .. "│" .. row
    end
    local left, right = short(x0), short(x1)
    out[#out + 1] = (" "):rep(margin) .. "└" .. ("─"):rep(width)
    out[#out + 1] = (" "):rep(margin + 1) .. left .. (" "):rep(math.max(1, width - #left - #right)) .. right
    return table.concat(out, "\n")
end

-- plot(y), plot{x, y1, y2, …}; options title, width, height (characters, or pixels of a PNG), png, text.
local function plot(data, opts)
    local xs, series
    local several = not gpush.is_tensor(data) and type(data) == "table" and (gpush.is_tensor(data[1]) or type(data[1]) == "table")
    opts = options(several and of_both(data, opts) or opts, "plot", "title, width, height, png, text")
    if several then
        series = {}
        for i, one in ipairs(data) do series[i] = numbers(one, "plot") end
        if #series > 1 then xs = table.remove(series, 1) end
        for i, ys in ipairs(series) do
            if xs and #ys ~= #xs then fail("plot", "line %d has %d numbers, x has %d", i, #ys, #xs) end
        end
    else
        series = { numbers(data, "plot") }
    end
    if not xs then
        xs = {}
        for i = 1, #series[1] do xs[i] = i end
    end
    local x0, x1 = range({ xs }, "plot")
    local y0, y1 = range(series, "plot")
    if opts.png then
        local c = pixels(opts.width or 640, opts.height or 400)
        draw(c, xs, series, x0, x1, y0, y1)
        return save(opts.png, c.image())
    end
    local margin = math.max(#short(y0), #short(y1)) + 2
    local width = opts.width or math.max(20, math.min(columns(), 100) - margin)
    local c = braille(width, opts.height or 12)
    draw(c, xs, series, x0, x1, y0, y1)
    return give(framed(c.rows(), x0, x1, y0, y1, width, opts.title), opts)
end

-- ---- Bars ----

local eighths = { "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" }

-- hist(t): how many elements fall into each of opts.bins equal parts of their range.
local function hist(t, opts)
    opts = options(opts, "hist", "bins, width, height, png, text")
    local v = numbers(gpush.is_tensor(t) and t:reshape(-1) or t, "hist")
    local lo, hi = range({ v }, "hist")
    local bins, count, most, left_out = opts.bins or 16, {}, 1, 0
    for i = 1, bins do count[i] = 0 end
    for _, x in ipairs(v) do
        if finite(x) then
            local i = math.min(bins, 1 + math.floor((x - lo) / (hi - lo) * bins))
            count[i] = count[i] + 1
            most = math.max(most, count[i])
        else
            left_out = left_out + 1
        end
    end
    if opts.png then
        local c = pixels(opts.width or 640, opts.height or 400)
        for x = 0, c.w - 1 do
            local n = count[1 + x * bins // c.w]
            for y = c.h - 1 - math.floor(n / most * (c.h - 1)), c.h - 1 do if n > 0 then c.set(x, y, colours[1]) end end
        end
        return save(opts.png, c.image())
    end
    local out, width = {}, (opts.width or math.min(columns(), 80) - 24)
    for i = 1, bins do
        local part = count[i] / most * width
        local bar = ("█"):rep(math.floor(part)) .. (eighths[math.floor(part % 1 * 8)] or "")
        out[i] = ("%10s │%s %d"):format(short(lo + (hi - lo) * (i - 1) / bins), bar, count[i])
    end
    if left_out > 0 then out[#out + 1] = ("%d not finite"):format(left_out) end
    return give(table.concat(out, "\n"), opts)
end

-- ---- Pictures ----

-- Points of matplotlib's "viridis".
local map = { { 68, 1, 84 }, { 59, 82, 139 }, { 33, 145, 140 }, { 94, 201, 98 }, { 253, 231, 37 } }
local function coloured(f)
    if f ~= f then return { 128, 128, 128 } end
    local at = math.max(0, math.min(1, f)) * (#map - 1)
    local i = math.min(#map - 1, 1 + math.floor(at))
    local out = {}
    for k = 1, 3 do out[k] = math.floor(map[i][k] + (map[i + 1][k] - map[i][k]) * (at - i + 1) + 0.5) end
    return out
end

-- An h x w x 3 image of bytes, each pixel the nearest of the source; at most so large, never larger than it is.
local function fit(h, w, most_h, most_w, at)
    local scale = math.max(1, h / most_h, w / most_w)
    local c = pixels(math.max(1, math.floor(w / scale)), math.max(1, math.floor(h / scale)))
    for y = 0, c.h - 1 do
        for x = 0, c.w - 1 do
            c.set(x, y, at(math.min(h, 1 + math.floor((y + 0.5) * scale)), math.min(w, 1 + math.floor((x + 0.5) * scale))))
        end
    end
    return c.image()
end

local function show_image(h, w, at, opts, below)
    if opts.png then return save(opts.png, fit(h, w, 4096, 4096, at)) end
    local how = opts.text and "blocks" or graphics()
    local text
    if how == "kitty" then text = kitty(fit(h, w, 800, 1000, at))
    elseif how == "sixel" then text = sixel(fit(h, w, 600, 800, at))
    else text = blocks(fit(h, w, 2 * (opts.height or 24), opts.width or math.min(columns() - 1, 100), at)) end
    return give(text .. (below and "\n" .. below or ""), opts)
end

-- heatmap(t): a matrix in colours from its least to its largest number.
local function heatmap(t, opts)
    opts = options(opts, "heatmap", "width, height, png, text")
    if not gpush.is_tensor(t) or t.ndim ~= 2 or t:numel() == 0 then fail("heatmap", "expected a tensor of two dims") end
    local data = t:to("f64"):tolist()
    local lo, hi = range(data, "heatmap")
    return show_image(#data, #data[1], function(y, x) return coloured((data[y][x] - lo) / (hi - lo)) end, opts,
        ("%s … %s, %dx%d"):format(short(lo), short(hi), #data, #data[1]))
end

-- imshow(t): a picture of h x w, 3 x h x w or h x w x 3; bytes, or floats from 0 to 1.
local function imshow(t, opts)
    opts = options(opts, "imshow", "width, height, png, text")
    local s = gpush.is_tensor(t) and t.shape or {}
    if #s == 3 and (s[1] == 3 or s[1] == 1) and s[3] ~= 3 then t = t:permute(2, 3, 1) elseif #s == 2 then t = t:unsqueeze(3) end
    s = gpush.is_tensor(t) and t.shape or {}
    if #s ~= 3 or not (s[3] == 1 or s[3] == 3 or s[3] == 4) or t:numel() == 0 then
        fail("imshow", "expected h x w, 3 x h x w or h x w x 3, got %s", #s > 0 and table.concat(s, "x") or type(t))
    end
    local scale = t.dtype == "u8" and 1 or 255
    local data = t:to("f64"):tolist()
    local function byte(v) return v == v and math.max(0, math.min(255, math.floor(v * scale + 0.5))) or 0 end
    return show_image(s[1], s[2], function(y, x)
        local p = data[y][x]
        return { byte(p[1]), byte(p[2] or p[1]), byte(p[3] or p[1]) }
    end, opts)
end

return { plot = plot, hist = hist, heatmap = heatmap, imshow = imshow }
