--!plain
-- heatmap and imshow: matrices in colours, and pictures.
local require = ...
local gpush, fail, registry = require "gpush", require "plot.fail", require "registry"
local canvas, chart, scale = require "plot.canvas", require "plot.chart", require "plot.scale"
local terminal, plot = require "plot.terminal", require "plot"
local options, give, save = plot.options, plot.give, plot.save

-- For each of n positions the nearest of size rows or columns: enlarged k times, or reduced.
local function nearest(size, n)
    local middle = gpush.arange(0, n - 1, { dtype = "f64", device = "cpu" }) + 0.5
    return (middle * (size / n)):floor():clamp(0, size - 1):to "i64" + 1
end

local function resized(img, h, w)
    if img.shape[1] ~= h then img = img:index_select(1, nearest(img.shape[1], h)) end
    if img.shape[2] ~= w then img = img:index_select(2, nearest(img.shape[2], w)) end
    return img
end

-- ---- heatmap ----

-- Points of matplotlib's "viridis", and 256 colours between them; the last one is NaN's.
local points = { { 68, 1, 84 }, { 59, 82, 139 }, { 33, 145, 140 }, { 94, 201, 98 },
    { 253, 231, 37 } }
local ramp = {}
for i = 0, 255 do
    local at = i / 255 * (#points - 1)
    local k = math.min(#points - 2, at // 1 | 0)
    local from, to, c = points[k + 1], points[k + 2], 0
    for j = 1, 3 do c = c << 8 | math.floor(from[j] + (to[j] - from[j]) * (at - k) + 0.5) end
    ramp[i + 1] = c
end
local NAN = 0x808080

-- A matrix as packed colours.
local function coloured(t, lo, hi)
    local known = t:isnan():logical_not()
    local at = gpush.where(known, ((t - lo) * (255 / (hi - lo)) + 0.5):floor():clamp(0, 255) + 1,
        257):to "i64"
    local list = { table.unpack(ramp) }
    list[257] = NAN
    local colours = gpush.tensor(list, { dtype = "i32", device = "cpu" })
    return colours:index_select(1, at:reshape(-1)):reshape(t.shape[1], t.shape[2])
end

-- The width and height in pixels of a cell of h x w, so that all fit into most_w x most_h: square,
-- unless a strip would be too thin to see.
local function cell(h, w, most_w, most_h)
    local kx, ky = math.max(1, most_w // w), math.max(1, most_h // h)
    local k = math.min(kx, ky)
    return math.max(k, math.min(kx, math.ceil(100 / w))),
        math.max(k, math.min(ky, math.ceil(100 / h)))
end

-- The chart of a matrix; most_w, most_h: pixels for the cells.
local function heat_chart(t, lo, hi, opts, most_w, most_h, colours, k)
    local h, w = t.shape[1], t.shape[2]
    local kx, ky = cell(h, w, most_w, most_h)
    local shrink = math.max(1, w * kx / most_w, h * ky / most_h)
    local wide, high = math.max(1, w * kx / shrink // 1 | 0), math.max(1, h * ky / shrink // 1 | 0)
    local xaxis, yaxis = { 0.5, w + 0.5, whole = true }, { h + 0.5, 0.5, whole = true }
    local range = { lo, hi }
    local bar = 30 * k + chart.marked(range, 5, k).widest
    -- The margins are those of a sufficiently large chart; then the box is made as large as the
    -- cells.
    local trial = chart.new(wide + 400 * k, high + 400 * k, opts, xaxis, yaxis, colours, k, bar)
    local box = trial.box
    local all_w, all_h = trial.w - (box[3] - box[1] + 1) + wide, trial.h - (box[4] - box[2] + 1) +
        high
    local out = chart.new(all_w, all_h, opts, xaxis, yaxis, colours, k, bar)
    box = out.box
    box[3], box[4] = box[1] + wide - 1, box[2] + high - 1
    out.canvas:put(box[1], box[2], resized(coloured(t, lo, hi), high, wide))
    out:frame()
    out:bar(range, ramp)
    return out.canvas:image()
end

-- The same in characters, two rows in each; a small matrix gets larger cells, up to 4 columns wide.
-- The range is below it, with its colours in between.
local function heat_text(t, lo, hi, opts)
    local h, w = t.shape[1], t.shape[2]
    local most_h, most_w = 2 * (opts.height or 24), opts.width
        or math.min(terminal.columns() - 1, 100)
    local shrink = math.max(1, h / most_h, w / most_w)
    local k = math.max(1, math.min(4, most_h // h, most_w // w))
    local img = resized(t, math.max(1, h / shrink * k // 1 | 0),
        math.max(1, w / shrink * k // 1 | 0))
    local ramp_of = gpush.linspace(lo, hi, 8, { dtype = "f64", device = "cpu" }):expand(2, 8)
    local text = terminal.show.blocks(canvas.bytes(coloured(img, lo, hi)))
    if opts.title then text = registry["gpush.safe"](opts.title) .. "\n" .. text end
    return ("%s\n%s %s %s, %dx%d"):format(text, scale.short(lo),
        terminal.show.blocks(canvas.bytes(coloured(ramp_of, lo, hi))), scale.short(hi), h, w)
end

-- heatmap(t): a matrix in colours from its smallest to its largest number.
local function heatmap(t, opts)
    opts = options(opts, "heatmap", "title, xlabel, ylabel, width, height, png, text")
    if not gpush.is_tensor(t) or t.ndim ~= 2 or t:numel() == 0 then
        fail("heatmap", "expected a tensor of two dims with elements, got %s",
            gpush.is_tensor(t) and table.concat(t.shape, "x") or type(t))
    end
    t = t:detach():to("cpu"):to "f64"
    local h, w = t.shape[1], t.shape[2]
    local lo, hi = scale.range({ t }, "heatmap")
    if opts.png then
        local most_w = opts.width or math.max(480, math.min(w, 2048))
        local most_h = opts.height or math.max(360, math.min(h, 2048))
        local k = math.max(1, math.min(most_w // 640, most_h // 480))
        return save(opts.png, heat_chart(t, lo, hi, opts, most_w, most_h, chart.theme(), k))
    end
    local how = opts.text and "blocks" or terminal.graphics()
    if how ~= "blocks" then
        local most_w, most_h, cell_h = terminal.pixels(opts.width, opts.height)
        local k = math.max(1, (cell_h + 6) // 13)
        return give(how,
            heat_chart(t, lo, hi, opts, math.max(20, most_w - 100 * k),
                math.max(20, most_h - 40 * k),
            chart.theme(terminal.background()), k))
    end
    return give("text", heat_text(t, lo, hi, opts), opts)
end

-- ---- imshow ----

-- An h x w x 3 picture that is not larger than given: a larger one is reduced, each pixel the mean
-- of what it covers; a small one is enlarged by an integer factor to at most small pixels a side.
local function fitted(img, most_h, most_w, small)
    local h, w = img.shape[1], img.shape[2]
    local shrink = math.max(h / most_h, w / most_w)
    if shrink > 1 then
        local size = { math.max(1, h / shrink // 1 | 0), math.max(1, w / shrink // 1 | 0) }
        local mean = img:permute(3, 1, 2):to("f32"):unsqueeze(1):adaptive_avg_pool2d(size)
        return (mean:squeeze(1) + 0.5):floor():to("u8"):permute(2, 3, 1):contiguous()
    end
    local k = math.min(small, most_h, most_w) // math.max(h, w)
    return k > 1 and resized(img, h * k, w * k) or img
end

-- Values from 0 to 1 as bytes; says so where others are cut.
local function bytes(t)
    local least, most = t:min():item(), t:max():item()
    if least < -1 / 255 or most > 1 + 1 / 255 then
        io.stderr:write(("imshow: values from %.3g to %.3g were cut to 0 and 1; \z
            heatmap(t) scales a matrix\n"):format(least, most))
    end
    return (t * 255 + 0.5):floor():nan_to_num(0, 255, 0):clamp(0, 255):to "u8"
end

-- imshow(t): a picture of h x w, 3 x h x w or h x w x 3; bytes, or floats from 0 to 1.
local function imshow(t, opts)
    opts = options(opts, "imshow", "width, height, png, text")
    local given = gpush.is_tensor(t) and t.shape or {}
    if #given == 2 then t = t:unsqueeze(3)
    elseif #given == 3 and (given[1] == 3 or given[1] == 1) and given[3] ~= 3 then
        t = t:permute(2, 3, 1)
    end
    local s = gpush.is_tensor(t) and t.shape or {}
    if #s ~= 3 or not (s[3] == 1 or s[3] == 3 or s[3] == 4) then
        fail("imshow", "expected h x w, 3 x h x w or h x w x 3, got %s",
            #given > 0 and table.concat(given, "x") or type(t))
    end
    if t:numel() == 0 then
        fail("imshow", "there is nothing to show in %s", table.concat(given, "x"))
    end
    t = t:detach():to "cpu"
    if t.dtype ~= "u8" then t = bytes(t:to "f64") end
    local img = s[3] == 1 and t:expand(s[1], s[2], 3):contiguous() or t:narrow(3, 1, 3):contiguous()
    if opts.png then return save(opts.png, fitted(img, 4096, 4096, 0)) end
    local how = opts.text and "blocks" or terminal.graphics()
    if how == "blocks" then
        img = fitted(img, 2 * (opts.height or 24),
            opts.width or math.min(terminal.columns() - 1, 100), 0)
        return give("text", terminal.show.blocks(img), opts)
    end
    local w, h = terminal.pixels(opts.width, opts.height)
    return give(how, fitted(img, h, w, 256))
end

return { heatmap = heatmap, imshow = imshow }
