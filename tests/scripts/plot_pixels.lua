-- The bytes of kitty's protocol and of sixel, decoded here as the protocols specify.
local t = require "tap"
local gpush = require "gpush"

local name = os.tmpname()

local function drawn(how, script)
    local file = os.tmpname()
    local f <close> = assert(io.open(file, "w"))
    f:write(script)
    f:flush()
    local pipe <close> = assert(io.popen(("GPUSH_GRAPHICS=%s '%s' '%s' 2>&1"):format(
        how, arg[-1], file)))
    local text = pipe:read "a"
    os.remove(file)
    return text
end

-- Kitty: ESC _ G keys ; base64 ESC \, in pieces of at most 4096 letters, all but the last of a
-- multiple of 4, with m=1. The first keys, and the bytes.
local function unkitty(text)
    local data, sound, last, head = "", true, false, nil
    local rest = text:gsub("\27_G([^;]*);([^\27]*)\27\\", function(keys, piece)
        sound = sound and not last and #piece <= 4096
            and (keys:find("^a=T,") ~= nil) == (head == nil)
        head, last = head or keys, keys:find "m=0$" ~= nil
        sound = sound and (last or (keys:find "m=1$" and #piece % 4 == 0))
        data = data .. piece
        return ""
    end)
    t.ok(sound and last and #data % 4 == 0, "kitty: pieces, of which the last says so")
    t.is(rest, "\n", "and nothing else")
    local bytes, bits, have = {}, 0, 0
    for letter in data:gmatch "[%w+/]" do
        local k = ("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):find(
            letter, 1, true) - 1
        bits, have = bits << 6 | k, have + 6
        if have >= 8 then
            have = have - 8
            bytes[#bytes + 1] = string.char(bits >> have & 255)
        end
    end
    return head, table.concat(bytes)
end

-- Sixel: ESC P q "1;1;WIDTH;HEIGHT, then #k;2;r;g;b sets a colour in percent, #k takes it, a letter
-- is six pixels below each other (!n: n times), $ goes back to the left, - to the next six rows;
-- ESC \ ends it. Colours by row and column.
local function unsixel(text)
    local w, h, body = text:match '^\27Pq"1;1;(%d+);(%d+)(.*)\27\\\n$'
    t.ok(body, "sixel: its frame")
    local colours, seen, colour, x, top = {}, {}, nil, 1, 0
    local at, odd = 1, 0
    while body and at <= #body do
        local k, r, g, b, stop = body:match("^#(%d+);2;(%d+);(%d+);(%d+)()", at)
        local take, after = body:match("^#(%d+)()", at)
        local c = body:byte(at)
        if k then colours[k], at = { r * 255 // 100, g * 255 // 100, b * 255 // 100 }, stop
        elseif take then colour, at = colours[take], after
        elseif c == 36 then x, at = 1, at + 1
        elseif c == 45 then x, top, at = 1, top + 6, at + 1
        else
            local n, bits, behind = body:match("^!(%d+)([?-~])()", at)
            if not n and c >= 63 and c <= 126 then n, bits, behind = 1, string.char(c), at + 1 end
            if not n then odd = odd + 1 end
            for _ = 1, n or 0 do
                for i = 1, 6 do
                    if (bits:byte() - 63) >> i - 1 & 1 == 1 then
                        seen[top + i] = seen[top + i] or {}
                        seen[top + i][x] = colour
                    end
                end
                x = x + 1
            end
            at = behind or at + 1
        end
    end
    t.is(odd, 0, "nothing but sixel's own letters")
    return seen, math.tointeger(w), math.tointeger(h)
end

-- 45 x 129 pixels of six levels per channel, so that sixel's 216 colours contain them all and its
-- last band is not full; noise, so that kitty's data has several pieces.
local H, W = 45, 129
local noise = ([[
local rows = {}
for y = 1, %d do
    rows[y] = {}
    for x = 1, %d do
        rows[y][x] = {}
        for c = 1, 3 do
            local mixed = (y * 7919 ~ x * 104729 * (c + 1)) * 2654435761
            rows[y][x][c] = (mixed >> 16) %% 6 * 51
        end
    end
end
imshow(tensor(rows, {dtype = "u8"}))]]):format(H, W)
local function wrong(pixel)
    local n = 0
    for y = 1, H do
        for x = 1, W do
            for c = 1, 3 do
                if pixel(y, x, c) ~=
                    ((y * 7919 ~ x * 104729 * (c + 1)) * 2654435761 >> 16) % 6 * 51 then
                    n = n + 1
                end
            end
        end
    end
    return n
end
local head, bytes = unkitty(drawn("kitty", noise))
t.ok(head:find "^a=T,f=100,m=1" and #bytes > 4096, "kitty: a PNG in several pieces")
local file = assert(io.open(name, "wb"))
file:write(bytes)
file:close()
local picture = gpush.image.load(name):tolist()
os.remove(name)
t.is({ #picture[1], #picture[1][1] }, { H, W }, "the picture's size")
t.is(wrong(function(y, x, c) return picture[c][y][x] end), 0, "its pixels")
head, bytes = unkitty(drawn("kitty", "os.tmpname = function() error 'a disk that is full' end\n" ..
    noise))
t.is(head, ("a=T,f=24,s=%d,v=%d,m=1"):format(W, H), "kitty: without a temporary file, plain bytes")
t.is(wrong(function(y, x, c) return bytes:byte(((y - 1) * W + x - 1) * 3 + c) end), 0,
    "which are its pixels")

local seen, w, h = unsixel(drawn("sixel", noise))
t.is({ w, h, #seen, #seen[1] }, { W, H, H, W }, "the picture's size")
t.is(wrong(function(y, x, c) return seen[y][x][c] end), 0, "its pixels")
seen, w, h = unsixel(drawn("sixel", "imshow(tensor{{0.0, 1.0, 0.2}, {0.4, 0.0, 1.0}})"))
t.is({ w, h }, { 255, 170 }, "a small picture is enlarged by a whole factor, to 256 pixels at most")
t.is({ seen[85][85][1], seen[85][86][1], seen[86][85][1], seen[170][255][1] }, { 0, 255, 102, 255 },
    "85 times")

-- More colours than sixel has: 400 squares of 16 x 16, each of which has its colour as the mean of
-- the pixels shown.
seen = unsixel(drawn("sixel", [[
local k = arange(0, 399):reshape(20, 20):repeat_interleave(16, 1):repeat_interleave(16, 2)
imshow(stack({k // 20 * 13, k % 20 * 13, k * 7 % 256}, 1):to "u8")]]))
local far = 0
for square = 0, 399 do
    local sum = { 0, 0, 0 }
    for y = 1, 16 do
        for x = 1, 16 do
            local p = seen[square // 20 * 16 + y][square % 20 * 16 + x]
            for c = 1, 3 do sum[c] = sum[c] + p[c] end
        end
    end
    for c, want in ipairs { square // 20 * 13, square % 20 * 13, square * 7 % 256 } do
        far = math.max(far, math.abs(sum[c] / 256 - want))
    end
end
t.ok(far <= 51 / 64, ("dithered squares are their colours on average: %.2f off"):format(far))

-- A chart is such a picture, too, but not as a text.
seen, w, h = unsixel(drawn("sixel", "plot({1, 3, 2}, {width = 50, height = 12, title = 't'})"))
t.is({ w, h }, { 400, 192 },
    "a chart of that many cells, of 8 x 16 pixels where nothing else is known")
local blue = 0
for y = 1, h do
    for x = 1, w do blue = blue + (seen[y][x][3] - seen[y][x][1] > 100 and 1 or 0) end
end
t.ok(blue > 500, "with its line")
t.ok(drawn("kitty", "io.write(plot({1, 3, 2}, {text = true}), '\\n')"):find "⡠",
    "text is text on any terminal")
t.ok(drawn("blocks", "plot{1, 3, 2}"):find "⡠", "and a terminal without pixels gets characters")

os.remove(name)
t.done()
