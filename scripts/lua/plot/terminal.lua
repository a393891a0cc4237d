--!plain
-- The terminal's abilities, and pictures (h x w x 3 bytes) as text for it: kitty's protocol, sixel,
-- half blocks. Files are written by gpush.image.save.
local require = ...
local gpush, registry = require "gpush", require "registry"
local here = { device = "cpu" }

local function is_dumb()
    local term = os.getenv "TERM" or ""
    return term == "" or term == "dumb"
end

local function colour_on()
    local no = os.getenv "NO_COLOR"
    return gpush.terminal() ~= nil and not is_dumb() and not (no and no ~= "")
end

local function columns() return gpush.terminal() or 80 end

-- ---- Capabilities ----

-- Queries to the terminal: a kitty picture that is only a query, its background, the size of a
-- cell, and its attributes, of which 4 means sixel. tmux and screen would take the first one as a
-- title.
local function asked()
    if is_dumb() then return "" end
    local term, query = os.getenv "TERM", "\27[c"
    if not (os.getenv "TMUX" or term:find "^screen" or term:find "^tmux" or term == "linux") then
        query = "\27_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\27\\\27]11;?\27\\\27[16t" .. query
    end
    return gpush.terminal(query)
end

local known -- the answers; queried once, but again after a line that was typed ahead
local function answer()
    if not gpush.terminal() then return "" end
    known = known or asked()
    return known or ""
end

-- In a notebook "notebook"; else "kitty", "sixel" or "blocks": from GPUSH_GRAPHICS, or the
-- terminal's answer.
local function graphics()
    if registry["gpush.picture"] then return "notebook" end
    local set = os.getenv "GPUSH_GRAPHICS"
    if set then return (set == "kitty" or set == "sixel") and set or "blocks" end
    local said = answer()
    if said:find("_Gi=31;OK", 1, true) then return "kitty" end
    local attributes = said:match "\27%[%?([%d;]*)c" or ""
    return (";" .. attributes .. ";"):find(";4;", 1, true) and "sixel" or "blocks"
end

-- Its background as 0xRRGGBB, nil if it did not answer.
local function background()
    local r, g, b = (known or ""):match "\27%]11;rgba?:(%x%x)%x*/(%x%x)%x*/(%x%x)"
    return r and tonumber(r .. g .. b, 16)
end

-- Width and height of that many columns and rows in pixels, by default those of a picture; and a
-- cell's height.
local function pixels(wide, high)
    local cols, rows, w, h = gpush.terminal()
    local cell_h, cell_w = (known or ""):match "\27%[6;(%d+);(%d+)t"
    cell_w, cell_h = tonumber(cell_w) or 0, tonumber(cell_h) or 0
    if cell_w == 0 or cell_h == 0 then
        local told = cols and w > 0 and h > 0 and rows > 0
        cell_w, cell_h = told and math.max(1, w // cols) or 8, told and math.max(1, h // rows) or 16
    end
    wide = wide or math.min(cols or 80, 100)
    high = high or math.max(10, math.min((rows and rows > 0 and rows or 24) - 3, 24))
    return wide * cell_w, high * cell_h, cell_h
end

-- ---- Kitty ----

local letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local pairs_of = {} -- two letters for twelve bits
local function base64(s)
    if not pairs_of[0] then
        for k = 0, 4095 do
            local a, b = k >> 6, k & 63
            pairs_of[k] = letters:sub(a + 1, a + 1) .. letters:sub(b + 1, b + 1)
        end
    end
    local out, n, whole = {}, 0, #s - #s % 3
    for i = 1, whole, 3 do
        local a, b, c = s:byte(i, i + 2)
        out[n + 1], out[n + 2] = pairs_of[a << 4 | b >> 4], pairs_of[(b & 15) << 8 | c]
        n = n + 2
    end
    local a, b = s:byte(whole + 1, #s)
    if b then out[n + 1] = pairs_of[a << 4 | b >> 4] ..
        letters:sub((b & 15) * 4 + 1, (b & 15) * 4 + 1) .. "="
    elseif a then out[n + 1] = pairs_of[a << 4] .. "==" end
    return table.concat(out)
end

-- The picture as a PNG file's bytes; nil if no temporary file can be written.
local function png(img)
    local ok, name = pcall(os.tmpname)
    if not ok then return nil end
    local bytes
    if pcall(gpush.image.save, name, img:permute(3, 1, 2):contiguous()) then
        local f = io.open(name, "rb")
        bytes = f and f:read "a"
        if f then f:close() end
    end
    os.remove(name)
    return bytes
end

local function raw(img)
    local rows = {}
    for y, row in ipairs(img:reshape(img.shape[1], -1):tolist()) do
        local parts = {}
        for x = 1, #row, 4096 do
            parts[#parts + 1] = string.char(table.unpack(row, x, math.min(x + 4095, #row)))
        end
        rows[y] = table.concat(parts)
    end
    return table.concat(rows)
end

local function kitty(img)
    local bytes, head = png(img), "a=T,f=100,"
    if not bytes then
        bytes, head = raw(img), ("a=T,f=24,s=%d,v=%d,"):format(img.shape[2], img.shape[1])
    end
    local text, out = base64(bytes), {}
    for i = 1, #text, 4096 do
        local more = i + 4096 <= #text and 1 or 0
        out[#out + 1] = ("\27_G%sm=%d;%s\27\\"):format(
            i == 1 and head or "", more, text:sub(i, i + 4095))
    end
    return table.concat(out)
end

-- ---- Notebooks ----

-- Shown at once: there is no text to print.
local function notebook(img) registry["gpush.picture"](base64(png(img) or "")) end

-- ---- Sixel ----

-- Bayer's matrix of 8 x 8 thresholds between 0 and 1: each quarter is the smaller matrix times
-- four, plus 0 2 3 1.
local function thresholds()
    local m = { { 0 } }
    for size = 1, 4 do
        if size ~= 3 then
            local next_m = {}
            for y = 1, 2 * size do
                next_m[y] = {}
                for x = 1, 2 * size do
                    local low, right = y > size, x > size
                    local quarter = low and (right and 1 or 3) or (right and 2 or 0)
                    next_m[y][x] = 4 * m[(y - 1) % size + 1][(x - 1) % size + 1] + quarter
                end
            end
            m = next_m
        end
    end
    return (gpush.tensor(m, { dtype = "f32", device = "cpu" }) + 0.5) / 64
end

-- A picture of more than 256 colours in 216, six levels per channel, dithered: i64 h x w from 1 on.
local function dithered(img)
    local h, w = img.shape[1], img.shape[2]
    local function cycle(n) return gpush.arange(0, n - 1, here):remainder(8) + 1 end
    local t = thresholds():index_select(1, cycle(h)):index_select(2, cycle(w)):unsqueeze(3)
    local level = (img:to "f32" / 51 + t):floor():clamp(0, 5):to "i64"
    local colours = {}
    for k = 0, 215 do
        colours[k + 1] = (k // 36 * 51) << 16 | (k // 6 % 6 * 51) << 8 | k % 6 * 51
    end
    return level:select(3, 1) * 36 + level:select(3, 2) * 6 + level:select(3, 3) + 1, colours
end

-- The colours of a picture, and the index of each pixel's.
local function indexed(img)
    local c = img:to "i64"
    local packed = c:select(3, 1) * 65536 + c:select(3, 2) * 256 + c:select(3, 3)
    local colours, which = packed:reshape(-1):unique { return_inverse = true }
    if colours:numel() > 256 then return dithered(img) end
    return which:reshape(img.shape[1], img.shape[2]), colours:tolist()
end

-- The pixels of a colour in a band of six rows: at[i] is a column, mask[i] its bits; runs are
-- written as !COUNT.
local function band_row(at, mask)
    local parts, x, i = {}, 1, 1
    local function put(n, bits)
        local char = string.char(63 + bits)
        parts[#parts + 1] = n > 3 and "!" .. n .. char or char:rep(n)
    end
    while i <= #at do
        if at[i] > x then put(at[i] - x, 0) end
        local first = i
        while at[i + 1] == at[i] + 1 and mask[i + 1] == mask[first] do i = i + 1 end
        put(i - first + 1, mask[first])
        x, i = at[i] + 1, i + 1
    end
    return table.concat(parts)
end

local function sixel(img)
    local h, w = img.shape[1], img.shape[2]
    local which, colours = indexed(img)
    local out = { ('\27Pq"1;1;%d;%d'):format(w, h) }
    for k, c in ipairs(colours) do
        local function percent(shift) return ((c >> shift & 255) * 100 + 127) // 255 end
        out[#out + 1] = ("#%d;2;%d;%d;%d"):format(k - 1, percent(16), percent(8), percent(0))
    end
    local data = which:tolist()
    for top = 1, h, 6 do
        local ats, masks, order = {}, {}, {}
        for x = 1, w do
            for y = top, math.min(top + 5, h) do
                local k = data[y][x]
                local at = ats[k]
                if not at then
                    at = {}
                    ats[k], masks[k], order[#order + 1] = at, {}, k
                end
                local n, mask, bit = #at, masks[k], 1 << (y - top)
                if at[n] == x then mask[n] = mask[n] | bit else at[n + 1], mask[n + 1] = x, bit end
            end
        end
        for _, k in ipairs(order) do
            out[#out + 1] = "#" .. k - 1 .. band_row(ats[k], masks[k]) .. "$"
        end
        out[#out + 1] = "-"
    end
    return table.concat(out) .. "\27\\"
end

-- ---- Half blocks ----

local shades = { " ", "░", "▒", "▓", "█" }

-- Two rows per line; without colours their brightness.
local function blocks(img)
    local data, out, on = img:tolist(), {}, colour_on()
    for y = 1, #data, 2 do
        local row = {}
        for x = 1, #data[y] do
            local a, b = data[y][x], data[y + 1] and data[y + 1][x]
            if on and b then
                row[x] = ("\27[38;2;%d;%d;%d;48;2;%d;%d;%dm▀"):format(
                    a[1], a[2], a[3], b[1], b[2], b[3])
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

return { colour_on = colour_on, columns = columns, graphics = graphics, background = background,
    pixels = pixels,
    show = { kitty = kitty, notebook = notebook, sixel = sixel, blocks = blocks } }
