-- PNG files against pictures built here byte by byte, decoded by Python's zlib where it is
-- installed; and broken files of every kind.
local t = require "tap"
local gpush = require "gpush"
local tensor, image, is_tensor = gpush.tensor, gpush.image, gpush.is_tensor

local dir = os.getenv "TMPDIR" or "/tmp"
local name = dir .. "/x.png"

local plain = require "plain"
local read, write = plain.read, plain.write

-- A PNG as its specification (ISO 15948) lays it out; the pixels are stored, not compressed.
local crc_table = {}
for i = 0, 255 do
    local c = i
    for _ = 1, 8 do c = c & 1 == 1 and 0xedb88320 ~ (c >> 1) or c >> 1 end
    crc_table[i] = c
end
local function crc32(s)
    local c = 0xffffffff
    for i = 1, #s do c = crc_table[(c ~ s:byte(i)) & 255] ~ (c >> 8) end
    return c ~ 0xffffffff
end
local function adler32(s)
    local a, b = 1, 0
    for i = 1, #s do
        a = (a + s:byte(i)) % 65521
        b = (b + a) % 65521
    end
    return b << 16 | a
end
local function chunk(kind, data)
    local body = kind .. data
    return string.pack(">I4", #data) .. body .. string.pack(">I4", crc32(body))
end
local function zlib(data)
    local size = string.pack("<I2I2", #data, ~#data & 0xffff)
    return "\x78\1\1" .. size .. data .. string.pack(">I4", adler32(data))
end
local GRAY, RGB, PALETTE, GRAY_ALPHA, RGBA = 0, 2, 3, 4, 6
-- rows: strings of packed samples, each after filter type 0. more: chunks before the pixels.
local function png(width, height, bits, color, rows, more, interlaced)
    local data = {}
    for i, row in ipairs(rows) do data[i] = "\0" .. row end
    local way = interlaced and 1 or 0
    local head = string.pack(">I4I4BBBBB", width, height, bits, color, 0, 0, way)
    return "\x89PNG\r\n\x1a\n" .. chunk("IHDR", head) .. (more or "") .. chunk("IDAT",
        zlib(table.concat(data))) .. chunk("IEND", "")
end

local function gives(bytes, options, dtype, list, what)
    local x = image.load(write(name, bytes), options)
    t.is(x.dtype, dtype, what .. ": dtype")
    t.is(x:tolist(), list, what)
end

-- Depths and kinds of colour.
gives(png(3, 2, 8, GRAY, { "\0\1\2", "\3\4\xff" }), nil, "u8", { { { 0, 1, 2 }, { 3, 4, 255 } } },
    "8-bit gray")
gives(png(9, 1, 1, GRAY, { "\x55\x80" }), nil, "u8",
    { { { 0, 255, 0, 255, 0, 255, 0, 255, 255 } } }, "1-bit gray")
gives(png(3, 1, 2, GRAY, { "\x1b" }), nil, "u8", { { { 0, 85, 170 } } }, "2-bit gray")
gives(png(3, 1, 4, GRAY, { "\x1f\x80" }), nil, "u8", { { { 17, 255, 136 } } }, "4-bit gray")
gives(png(2, 1, 8, RGB, { "\1\2\3\4\5\6" }), nil, "u8",
    { { { 1, 4 } }, { { 2, 5 } }, { { 3, 6 } } }, "RGB")
gives(png(2, 1, 8, RGBA, { "\1\2\3\9\4\5\6\8" }), nil, "u8",
    { { { 1, 4 } }, { { 2, 5 } }, { { 3, 6 } }, { { 9, 8 } } }, "RGBA")
gives(png(2, 1, 8, GRAY_ALPHA, { "\1\9\2\8" }), nil, "u8", { { { 1, 2 } }, { { 9, 8 } } },
    "gray and alpha")
local palette = chunk("PLTE", "\10\20\30\40\50\60\70\80\90")
gives(png(3, 1, 8, PALETTE, { "\2\0\1" }, palette), nil, "u8",
    { { { 70, 10, 40 } }, { { 80, 20, 50 } }, { { 90, 30, 60 } } }, "palette")
gives(png(3, 1, 2, PALETTE, { "\x84" }, palette), nil, "u8",
    { { { 70, 10, 40 } }, { { 80, 20, 50 } }, { { 90, 30, 60 } } }, "2-bit palette")
gives(png(2, 1, 8, PALETTE, { "\0\1" }, palette .. chunk("tRNS", "\7")), nil, "u8",
    { { { 10, 40 } }, { { 20, 50 } }, { { 30, 60 } }, { { 7, 255 } } }, "palette with alpha")
gives(png(2, 1, 16, GRAY, { "\x12\x34\xff\xff" }), { dtype = "i32" }, "i32",
    { { { 0x1234, 0xffff } } }, "16-bit gray, all bits")
gives(png(2, 1, 16, GRAY, { "\x80\x80\xff\xff" }), nil, "u8", { { { 128, 255 } } },
    "16-bit gray as u8")
-- As stored: i32 has the samples' values, opaque alpha is the largest of them; u8 and f32 are
-- scaled.
gives(png(9, 1, 1, GRAY, { "\x55\x80" }), { dtype = "i32" }, "i32",
    { { { 0, 1, 0, 1, 0, 1, 0, 1, 1 } } }, "1-bit gray as stored")
gives(png(4, 1, 2, GRAY, { "\x1b" }), { dtype = "i32" }, "i32", { { { 0, 1, 2, 3 } } },
    "2-bit gray as stored")
gives(png(3, 1, 4, GRAY, { "\x1f\x80" }), { dtype = "i32" }, "i32", { { { 1, 15, 8 } } },
    "4-bit gray as stored")
gives(png(2, 1, 8, GRAY, { "\1\x80" }), { dtype = "i32" }, "i32", { { { 1, 128 } } },
    "8-bit gray as stored")
gives(png(4, 1, 2, GRAY, { "\x1b" }, chunk("tRNS", "\0\2")), { dtype = "i32" }, "i32",
    { { { 0, 1, 2, 3 } }, { { 3, 3, 0, 3 } } }, "2-bit gray with a transparent one as stored")
gives(png(4, 1, 2, GRAY, { "\x1b" }), { dtype = "i32", channels = 4 }, "i32",
    { { { 0, 1, 2, 3 } }, { { 0, 1, 2, 3 } }, { { 0, 1, 2, 3 } }, { { 3, 3, 3, 3 } } },
        "2-bit gray as RGBA")
gives(png(3, 1, 2, PALETTE, { "\x84" }, palette), { dtype = "i32" }, "i32",
    { { { 70, 10, 40 } }, { { 80, 20, 50 } }, { { 90, 30, 60 } } }, "a palette's colours as stored")
t.close(image.load(write(name, png(4, 1, 2, GRAY, { "\x1b" })), { dtype = "f32" }),
    { { { 0, 1 / 3, 2 / 3, 1 } } }, 1e-7, "2 bits as 0 to 1")
gives(png(1, 1, 16, RGBA, { "\0\1\0\2\0\3\0\4" }), { dtype = "i32" }, "i32",
    { { { 1 } }, { { 2 } }, { { 3 } }, { { 4 } } }, "16-bit RGBA")

-- Options.
local x = image.load(write(name, png(2, 1, 16, GRAY, { "\x12\x34\xff\xff" })), { dtype = "f32" })
t.close(x, { { { 0x1234 / 65535, 1.0 } } }, 1e-7, "16 bits as 0 to 1")
t.close(image.load(write(name, png(2, 1, 8, GRAY, { "\51\xff" })), { dtype = "f32" }),
    { { { 0.2, 1.0 } } }, 1e-7, "8 bits as 0 to 1")
gives(png(2, 1, 8, GRAY, { "\1\2" }), { channels = 3 }, "u8",
    { { { 1, 2 } }, { { 1, 2 } }, { { 1, 2 } } }, "gray as RGB")
gives(png(2, 1, 8, GRAY, { "\1\2" }), { channels = 4 }, "u8",
    { { { 1, 2 } }, { { 1, 2 } }, { { 1, 2 } }, { { 255, 255 } } }, "gray as RGBA")
gives(png(2, 1, 8, GRAY, { "\1\2" }), { channels = 2 }, "u8", { { { 1, 2 } }, { { 255, 255 } } },
    "gray as gray and alpha")
gives(png(1, 1, 8, RGBA, { "\1\2\3\4" }), { channels = 3 }, "u8",
    { { { 1 } }, { { 2 } }, { { 3 } } }, "RGBA as RGB")
gives(png(1, 1, 8, PALETTE, { "\0" }, palette .. chunk("tRNS", "\7")), { channels = 3 }, "u8",
    { { { 10 } }, { { 20 } }, { { 30 } } }, "palette without alpha")
gives(png(1, 1, 8, RGBA, { "\9\9\9\4" }), { channels = 1 }, "u8", { { { 9 } } }, "RGBA as gray")
gives(png(1, 1, 16, GRAY, { "\1\2" }), { channels = 4, dtype = "i32" }, "i32",
    { { { 258 } }, { { 258 } }, { { 258 } }, { { 65535 } } }, "16-bit gray as RGBA")

-- Interlaced: the seven passes of a 5 x 5 picture whose pixels are numbered by rows.
do
    local rows = {}
    for _, p in ipairs { { 0, 0, 8, 8 }, { 4, 0, 8, 8 }, { 0, 4, 4, 8 }, { 2, 0, 4, 4 },
        { 0, 2, 2, 4 }, { 1, 0, 2, 2 }, { 0, 1, 1, 2 } } do
        for y = p[2], 4, p[4] do
            local row = {}
            for x = p[1], 4, p[3] do row[#row + 1] = string.char(y * 5 + x) end
            if #row > 0 then rows[#rows + 1] = table.concat(row) end
        end
    end
    gives(png(5, 5, 8, GRAY, rows, nil, true), nil, "u8",
        gpush.arange(0, 24):view(1, 5, 5):tolist(), "interlaced")
end

-- Broken files.
local good = png(3, 2, 8, RGB, { "\1\2\3\4\5\6\7\8\9", "\1\2\3\4\5\6\7\8\9" })
local survived
for n = 0, #good - 1 do
    local ok, message = pcall(image.load, write(name, good:sub(1, n)))
    if ok or not tostring(message):find(name, 1, true) then survived = survived or n end
end
t.is(survived, nil, "cut off anywhere is an error that names the file")
-- The last four bytes are the checksum of the empty chunk that ends the file: libpng skips it from
-- 1.6.48 on. The file name of the loaded one has its release, as libpng16.so.16.39.0.
local release
for line in io.lines "/proc/self/maps" do
    release = release or tonumber(line:match "libpng16%.so%.16%.(%d+)")
end
local checked = release and release < 48 and #good or #good - 4
if checked < #good then
    t.skip(1, "the last checksum: libpng of release " .. tostring(release) ..
        " does not look at it")
end
for i = 1, #good do
    for _, flip in ipairs { 0x01, 0x80, 0xff } do
        local ok = pcall(image.load, write(name,
            good:sub(1, i - 1) .. string.char(good:byte(i) ~ flip) .. good:sub(i + 1)))
        if ok and i <= checked then survived = survived or i end
    end
end
t.is(survived, nil, "a change of any byte is an error")
-- The same with correct checksums: what libpng does not notice must not crash us.
for i = 1, 13 do
    for v = 0, 255, 17 do
        local head = string.pack(">I4I4BBBBB", 3, 2, 8, RGB, 0, 0, 0)
        head = head:sub(1, i - 1) .. string.char(v) .. head:sub(i + 1)
        local file = write(name, good:sub(1, 8) .. chunk("IHDR", head) .. good:sub(34))
        local ok, got = pcall(image.load, file)
        if not (ok and is_tensor(got) or not ok and tostring(got):find(file, 1, true)) then
            survived = survived or i .. ": " .. tostring(got)
        end
    end
end
t.is(survived, nil, "headers with any byte changed are read, or an error that names the file")
local function refuse(bytes, pattern, what, options)
    t.error(function() return image.load(write(name, bytes), options) end, pattern, what)
end
refuse("", "image.load: .*x.png is empty %(expected a PNG picture%)", "an empty file")
refuse("GIF89a..........", "x.png is a GIF picture: convert it to PNG, which image.load reads",
    "another kind of file")
refuse("\x93NUMPY\1\0", "x.png is an npy file: npy.load reads it", "an npy file")
for i = 1, 19 do
    local n = #good * i // 20
    refuse(good:sub(1, n), "x.png is cut off: it ends after " .. n .. " bytes", n .. " bytes")
end
refuse(png(60000, 60000, 8, RGB, { "" }), "60000 x 60000 pixels cannot come from a file of",
    "huge dims", { max_pixels = 1 << 40 })
refuse(png(20000, 20000, 8, RGB, { "" }),
    "x.png has 20000 x 20000 = 400000000 pixels %(limit 268435456; option max_pixels sets it%)",
    "more pixels than the limit")
refuse(good, "pixels %(limit 2; option max_pixels sets it%)", "a limit of one's own",
    { max_pixels = 2 })
refuse(good, "option 'max_pixels': expected 1 or more, got 0", "a limit that is none",
    { max_pixels = 0 })
t.is(image.load(write(name, png(3, 1, 8, GRAY, { "\0\1\2" })), { max_pixels = 3 }):tolist(),
    { { { 0, 1, 2 } } }, "as many pixels as the limit")
refuse(png(0x7fffffff, 0x7fffffff, 16, RGBA, { "" }), "image.load: ", "hostile dims")
refuse(png(0, 1, 8, GRAY, { "" }), "image.load: ", "no pixels")
refuse(png(3, 1, 8, PALETTE, { "\0\0\0" }), "image.load: ", "a palette picture without one")
refuse(good, "channels = 5", "five channels", { channels = 5 })
refuse(good, "channels", "channels of another type", { channels = "RGB" })
refuse(good, "dtype f16", "another dtype", { dtype = "f16" })
refuse(good, "unknown option 'channel'", "an unknown option", { channel = 3 })
t.error(function() image.load(dir .. "/none.png") end, "cannot open .*none.png: No such file",
    "no such file")

-- Writing and back.
local function back(x, options, load_options)
    image.save(name, x, options)
    return image.load(name, load_options)
end
local bytes = gpush.arange(0, 23):to("u8")
t.is(back(bytes:view(4, 6)), bytes:view(1, 4, 6):tolist(), "gray and back")
for c = 1, 4 do
    t.is(back(bytes:view(c, 2, -1)), bytes:view(c, 2, -1):tolist(), c .. " channels and back")
end
t.is(back(bytes:view(3, 2, 4):to("sim")), bytes:view(3, 2, 4):tolist(), "from a device")
t.is(back(bytes:view(4, 6).T), bytes:view(4, 6).T:reshape(1, 6, 4):tolist(), "transposed")
t.is(back(tensor { { true, false } }), { { { 255, 0 } } }, "bool")
t.is(back(tensor { { -1, 0, 0.2, 0.5, 1, 2, 0 / 0, 1 / 0 } }),
    { { { 0, 0, 51, 128, 255, 255, 0, 255 } } }, "floats")
t.is(back(tensor({ { 0.2, 1 } }, { dtype = "f16" })), { { { 51, 255 } } }, "f16")
t.is(back(tensor { { 0, 0.5, 1 } }, { bits = 16 }, { dtype = "i32" }), { { { 0, 32768, 65535 } } },
    "16 bits")
local before = read(name)
for _, case in ipairs {
    { function() image.save(name, gpush.zeros(5, 2, 2)) end, "got f32 5x2x2 %(expected" },
    { function() image.save(name, gpush.zeros(4)) end, "got f32 4 %(expected" },
    { function() image.save(name, gpush.zeros(0, 4)) end, "got f32 0x4" },
    { function() image.save(name, gpush.arange(1, 4):view(2, 2)) end, "dtype i64" },
    { function() image.save(name, gpush.zeros(2, 2), { bits = 4 }) end, "bits = 4" },
    { function() image.save(name, bytes:view(4, 6), { bits = 16 }) end,
        "bits = 16 with dtype u8" },
    { function() image.save(name, "x") end, "expected a tensor" },
    { function() image.save(dir .. "/no/x.png", gpush.zeros(2, 2)) end, "cannot write" },
} do
    t.error(case[1], case[2], case[2])
end
t.ok(read(name) == before, "errors leave the file as it was")

-- Our files, decoded independently.
local script = [[
import sys, zlib, struct
b = open(sys.argv[1], 'rb').read()
at, idat = 8, b''
while at < len(b):
    n, kind = struct.unpack('>I4s', b[at:at + 8])
    data = b[at + 8:at + 8 + n]
    assert zlib.crc32(kind + data) == struct.unpack('>I', b[at + 8 + n:at + 12 + n])[0]
    if kind == b'IHDR': w, h, depth, color, _, _, lace = struct.unpack('>IIBBBBB', data)
    if kind == b'IDAT': idat += data
    at += 12 + n
raw = zlib.decompress(idat)
bpp = {0: 1, 2: 3, 4: 2, 6: 4}[color] * depth // 8
prior = bytearray(w * bpp)
for y in range(h):
    kind = raw[y * (w * bpp + 1)]
    row = bytearray(raw[y * (w * bpp + 1) + 1:(y + 1) * (w * bpp + 1)])
    for i in range(len(row)):
        a = row[i - bpp] if i >= bpp else 0
        c = prior[i - bpp] if i >= bpp else 0
        p = a + prior[i] - c
        near = min((abs(p - a), 0, a), (abs(p - prior[i]), 1, prior[i]), (abs(p - c), 2, c))[2]
        row[i] = (row[i] + [0, a, prior[i], (a + prior[i]) // 2, near][kind]) & 255
    prior = row
    print(' '.join(map(str, row)))
]]
local function decode()
    local p = io.popen(("python3 - '%s' 2>&1 <<'END'\n%s\nEND"):format(name, script))
    local out = p:read "a"
    p:close()
    return out
end
if not os.execute "python3 -c 'import zlib' 2>/dev/null" then
    t.skip(2, "python3 is not installed")
else
    image.save(name, tensor({ { { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7, 8 } },
        { { 9, 10 }, { 11, 12 } } }, { dtype = "u8" }))
    t.is(decode(), "1 5 9 2 6 10\n3 7 11 4 8 12\n", "RGB, seen by another decoder")
    image.save(name, tensor { { 0x1234 / 65535, 1 } }, { bits = 16 })
    t.is(decode(), "18 52 255 255\n", "16 bits, seen by another decoder")
end
t.done()
