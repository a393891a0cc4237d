--!plain
-- Pictures: plot, hist, heatmap and imshow, in the terminal (braille, half blocks, or the
-- terminal's own pictures) and, with png = "file.png", as PNG. Loaded when one of them is first
-- called; canvas and chart when pixels are drawn.
local require = ...
local gpush, fail, registry = require "gpush", require "plot.fail", require "registry"

local terminal = require "plot.terminal"
local scale = require "plot.scale"
local data = require "plot.data"
local braille = require "plot.braille"
local safe = registry["gpush.safe"]

-- ---- Options ----

local function pair(v)
    local lo, hi = table.unpack(type(v) == "table" and v or {}, 1, 2)
    return type(lo) == "number" and type(hi) == "number" and lo < hi and hi - lo < math.huge
end
local function whole(v) return math.tointeger(v) and v >= 1 end
local function is(kind) return function(v) return type(v) == kind end end
local checks = {
    width = { whole, "an integer from 1 on" }, height = { whole, "an integer from 1 on" },
    bins = { whole, "an integer from 1 on" },
    xlim = { pair, "{least, largest}" }, ylim = { pair, "{least, largest}" },
    title = { is "string", "a string" }, xlabel = { is "string", "a string" },
    ylabel = { is "string", "a string" },
    png = { is "string", "a file's name" },
    style = { function(v) return v == "lines" or v == "points" end, "'lines' or 'points'" },
}

local check_fields = require "check_fields"

-- A copy of the given options, all of which must be in names, "png, text".
local function options(given, what, names)
    if given ~= nil and type(given) ~= "table" then
        fail(what, "expected a table of options, got %s", type(given))
    end
    local opts = {}
    check_fields(what, "any " .. names:gsub(", ", ", any "), given or {})
    for key, v in next, given or {} do
        if checks[key] and not checks[key][1](v) then
            local got = type(v) == "string" and "'" .. safe(v) .. "'" or tostring(v)
            fail(what, "option '%s': expected %s, got %s", key, checks[key][2], got)
        end
        opts[key] = v
    end
    return opts
end

-- The options of plot{x, y, title = "t"} are in the same table as the lines; those in a second
-- table take precedence.
local function of_both(given, opts)
    local out = {}
    for key, v in next, given do out[key] = type(key) == "string" and v or nil end
    for key, v in next, type(opts) == "table" and opts or {} do out[key] = v end
    return out
end

-- The size of a PNG in pixels, and the magnification of its letters.
local function png_size(opts, what)
    local w, h = opts.width or 640, opts.height or 400
    if w < 160 or h < 120 then fail(what, "a PNG of %d x %d: expected at least 160 x 120", w, h) end
    return w, h, math.max(1, math.min(w // 640, h // 400))
end

-- ---- Output ----

-- Images are h x w x 3 here and 3 x h x w in files.
local function save(name, img) gpush.image.save(name, img:permute(3, 1, 2):contiguous()) end

-- Shows a picture on the terminal, or returns the text that opts.text asks for.
local function give(how, what, opts)
    if how ~= "text" then what = terminal.show[how](what) end
    if opts and opts.text then return what end
    if what then print(what) end
end

-- Draws with draw(w, h, theme, k) into the file, or as the terminal's own picture; false if it is
-- to be text.
local function in_pixels(opts, what, draw)
    local how = not opts.png and (opts.text and "blocks" or terminal.graphics())
    if how == "blocks" then return false end
    local chart = require "plot.chart"
    if opts.png then
        local w, h, k = png_size(opts, what)
        save(opts.png, draw(w, h, chart.theme(), k))
    else
        local w, h, cell_h = terminal.pixels(opts.width, opts.height)
        local k = math.max(1, (cell_h + 6) // 13)
        give(how, draw(math.max(w, 160), math.max(h, 120), chart.theme(terminal.background()), k))
    end
    return true
end

-- ---- Lines ----

-- The x, or nil, and the lines in plot's first argument, each a tensor; and whether options may be
-- among them.
local function lines_of(given)
    local first = type(given) == "table" and given[1]
    local several = type(first) == "table" or gpush.is_tensor(first) and first.ndim > 0
    if not several then return nil, { data.numbers(given, "plot") } end
    local series, xs = {}, nil
    for i, one in ipairs(given) do series[i] = data.numbers(one, "plot") end
    if #series > 1 then xs = table.remove(series, 1) end
    for i, ys in ipairs(series) do
        if xs and ys:numel() ~= xs:numel() then
            fail("plot", "line %d has %d numbers, x has %d", i, ys:numel(), xs:numel())
        end
    end
    return xs, series, true
end

local function axis(tensors, log, limits)
    local lo, hi
    if limits then
        if log and limits[1] <= 0 then
            fail("plot", "limits %g to %g of a logarithmic axis: expected numbers above 0",
                limits[1], limits[2])
        end
        lo, hi = limits[1], limits[2]
        if log then lo, hi = math.log(lo, 10), math.log(hi, 10) end
    else
        lo, hi = scale.range(tensors, "plot", log)
    end
    return { lo, hi, log = log or nil }
end

-- An axis with a margin beyond its data, in pictures.
local function padded(a, limits, room)
    if limits then return a end
    local more = (a[2] - a[1]) * room
    return { a[1] - more, a[2] + more, log = a.log, whole = a.whole }
end

local function plot_pixels(w, h, theme, k, p)
    local opts, chart = p.opts, require "plot.chart"
    local xaxis = padded(p.xaxis, opts.xlim, opts.style == "points" and 0.02 or 0)
    local c = chart.new(w, h, opts, xaxis, padded(p.yaxis, opts.ylim, 0.04), theme, k)
    c:grid()
    local all_x, all_y = {}, {}
    for i, ys in ipairs(p.series) do
        -- no line is thinner than 2
        local px, py = data.fewer(p.xs[i], ys, xaxis, c.y.axis, w // 2, h // 2, opts.style)
        local colour = theme.lines[(i - 1) % #theme.lines + 1]
        for j = 1, #px do px[j], py[j] = c:px(px[j]), c:py(py[j]) end
        if opts.style ==
            "points" then c.canvas:discs(px, py, colour, (#px > 2000 and 2 or 5) * k, c.box)
        else c.canvas:path(px, py, colour, 2 * k, c.box) end
        all_x[i], all_y[i] = px, py
    end
    c:frame()
    if opts.legend then c:legend(opts.legend, all_x, all_y) end
    return c.canvas:image()
end

local function plot_text(p)
    local opts, rows = p.opts, p.opts.height or 12
    local room = braille.margin(p.yaxis, rows) + 1
    local c = braille.new(opts.width or math.max(20, math.min(terminal.columns(), 100) - room),
        rows)
    for i, ys in ipairs(p.series) do
        local px, py = data.fewer(p.xs[i], ys, p.xaxis, p.yaxis, c.w, c.h, opts.style)
        for j = 1, #px do
            px[j], py[j] = scale.part(p.xaxis, px[j]) * (c.w - 1),
                (1 - scale.part(p.yaxis, py[j])) * (c.h - 1)
        end
        braille.draw(c, px, py, i, opts.style)
    end
    return braille.framed(c, p.xaxis, p.yaxis, opts)
end

-- plot(y), plot{x, y1, y2, …}.
local function plot(given, opts)
    local xs, series, several = lines_of(given)
    opts = options(several and of_both(given, opts) or opts, "plot",
        "title, xlabel, ylabel, legend, xlim, ylim, xlog, ylog, style, width, height, png, text")
    if type(opts.legend) == "string" then opts.legend = { opts.legend } end
    if opts.legend ~= nil and (type(opts.legend) ~= "table" or #opts.legend ~= #series) then
        fail("plot", "option 'legend': expected a name for each of %d lines", #series)
    end
    local names = opts.legend and {}
    for i, name in ipairs(opts.legend or {}) do names[i] = tostring(name) end
    opts.legend = names
    local all_x = {}
    for i, ys in ipairs(series) do
        all_x[i] = xs or data.counted(ys:numel())
        if opts.xlog then all_x[i] = all_x[i]:log10() end
        if opts.ylog then series[i] = ys:log10() end
    end
    local p = { xs = all_x, series = series, opts = opts, xaxis = axis(all_x, opts.xlog, opts.xlim),
        yaxis = axis(series, opts.ylog, opts.ylim) }
    p.xaxis.whole = not opts.xlog and all_x[1]:eq(all_x[1]:floor()):all():item()
    if in_pixels(opts, "plot",
        function(w, h, theme, k) return plot_pixels(w, h, theme, k, p) end) then
        return
    end
    return give("text", plot_text(p), opts)
end

-- ---- Bars ----

local eighths = { "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█" }

local function hist_pixels(w, h, theme, k, p)
    local chart = require "plot.chart"
    local c = chart.new(w, h, p.opts, { p.lo, p.hi }, { 0, p.most * 1.05, whole = true }, theme, k)
    c:grid()
    local wide, left = (c.box[3] - c.box[1] + 1) / #p.count, c.box[1]
    for i, n in ipairs(p.count) do
        local x0, x1 = math.floor(left + (i - 1) * wide + 0.5), math.floor(left + i * wide + 0.5) -
            1
        if x1 - x0 >= 4 then x1 = x1 - 1 end -- a gap between two bars
        if n > 0 then
            c.canvas:fill(x0, math.floor(c:py(n) + 0.5), math.max(x0, x1), c.box[4], theme.lines[1])
        end
    end
    c:frame()
    return c.canvas:image()
end

local function hist_text(p)
    local opts, bins, out = p.opts, #p.count, { p.opts.title and safe(p.opts.title) }
    local width = opts.width or math.max(1, math.min(terminal.columns(), 80) - 24)
    for i, n in ipairs(p.count) do
        local bar = n / p.most * width
        bar = ("█"):rep(math.floor(bar)) .. (eighths[math.floor(bar % 1 * 8)] or "")
        out[#out + 1] = ("%10s │%s %d"):format(
            scale.short(p.lo + (p.hi - p.lo) * (i - 1) / bins), bar, n)
    end
    if p.left_out > 0 then out[#out + 1] = ("%d not finite"):format(p.left_out) end
    return table.concat(out, "\n")
end

-- hist(t): the number of elements in each of opts.bins equal parts of their range.
local function hist(t, opts)
    opts = options(opts, "hist", "bins, title, xlabel, ylabel, width, height, png, text")
    local v = data.numbers(gpush.is_tensor(t) and t:reshape(-1) or t, "hist")
    local p = { opts = opts, most = 1, left_out = v:numel() }
    p.lo, p.hi = scale.range({ v }, "hist")
    local bins = opts.bins or 16
    v = v:masked_select(v:isfinite())
    p.left_out = p.left_out - v:numel()
    local at = ((v - p.lo) * (bins / (p.hi - p.lo))):floor():clamp(0, bins - 1):to "i64" + 1
    p.count = gpush.bincount(at, nil, bins):tolist()
    for _, n in ipairs(p.count) do p.most = math.max(p.most, n) end
    if in_pixels(opts, "hist",
        function(w, h, theme, k) return hist_pixels(w, h, theme, k, p) end) then
        return
    end
    return give("text", hist_text(p), opts)
end

-- ---- Pictures ----

local function of_image(name)
    return function(...) return require "plot.image"[name](...) end
end

return { plot = plot, hist = hist, heatmap = of_image "heatmap", imshow = of_image "imshow",
    options = options, give = give, save = save } -- the last three for image.lua
