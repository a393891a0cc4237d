-- npy and npz files against bytes built here and, where it is installed, against NumPy; and broken
-- files of every kind.
local t = require "tap"
local gpush = require "gpush"
local tensor, npy, npz, is_tensor = gpush.tensor, gpush.npy, gpush.npz, gpush.is_tensor

local dir = os.getenv "TMPDIR" or "/tmp"
local name = dir .. "/x.npy"

local plain = require "plain"
local read, write = plain.read, plain.write

-- An npy file as NEP 1 lays it out.
local function pack(header, data, version)
    header = header .. "\n"
    local count = (version or 1) == 1 and "<s2" or "<s4"
    return "\x93NUMPY" .. string.char(version or 1, 0) .. string.pack(count, header) .. data
end

local function header(descr, shape, fortran)
    return ("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }"):format(descr,
        fortran and "True" or "False", shape)
end

local function load_bytes(bytes) return npy.load(write(name, bytes)) end

local function gives(bytes, dtype, shape, list, what)
    local ok, x = pcall(load_bytes, bytes)
    if not t.ok(ok, what .. ": is read") then return io.stderr:write("# ", tostring(x), "\n") end
    t.is(x.dtype, dtype, what .. ": dtype")
    t.is(x.shape, shape, what .. ": shape")
    t.is(x:tolist(), list, what .. ": values")
end

-- Every dtype, both byte orders.
local types = {
    { "f8", "d", "f64", { 1.5, -2.25, 0.1 } }, { "f4", "f", "f32", { 1.5, -2.25, 1024.0 } },
    { "i8", "i8", "i64", { 1, -2, 1 << 40 } },
    { "i4", "i4", "i32", { 1, -2, 1 << 30 } }, { "i2", "i2", "i16", { 1, -2, 1 << 14 } },
    { "i1", "i1", "i8", { 1, -2, 127 } },
    { "u1", "I1", "u8", { 1, 2, 255 } },
}
for _, row in ipairs(types) do
    local code, fmt, dtype, list = table.unpack(row)
    for order, sign in pairs { ["<"] = "<", [">"] = ">",
        ["="] = string.pack("=I2", 1) == "\1\0" and "<" or ">" } do
        local data = string.pack(sign .. fmt .. fmt .. fmt, table.unpack(list))
        gives(pack(header(order .. code, "(3,)"), data), dtype, { 3 }, list, order .. code)
    end
end
gives(pack(header("<f2", "(4,)"), string.pack("<I2I2I2I2", 0x3c00, 0xc080, 0x7c00, 1)), "f16",
    { 4 }, { 1.0, -2.25, 1 / 0, 2.0 ^ -24 }, "f16")
gives(pack(header(">f2", "(1,)"), "\x3c\x00"), "f16", { 1 }, { 1.0 }, "big endian f16")
gives(pack(header("|b1", "(3,)"), "\0\1\2"), "bool", { 3 }, { false, true, true },
    "bool, other bytes than 0 and 1 too")
npy.save(name, load_bytes(pack(header("|b1", "(3,)"), "\0\1\2")))
t.is(read(name):sub(-3), "\0\1\1", "which are 1 in memory")
gives(pack(header("|i1", "(1,)"), "\xff"), "i8", { 1 }, { -1 }, "|i1")

-- Shapes, orders, versions, and the ways a header may be written.
gives(pack(header("<i2", "()"), "\7\0"), "i16", {}, 7, "0-d")
gives(pack(header("<i2", "(0,)"), ""), "i16", { 0 }, {}, "empty")
gives(pack(header("<i2", "(2, 0, 3)"), ""), "i16", { 2, 0, 3 }, { {}, {} }, "empty with dims")
gives(pack(header("|u1", "(2, 3)"), "\1\2\3\4\5\6"), "u8", { 2, 3 }, { { 1, 2, 3 }, { 4, 5, 6 } },
    "C order")
gives(pack(header("|u1", "(2, 3)", true), "\1\4\2\5\3\6"), "u8", { 2, 3 },
    { { 1, 2, 3 }, { 4, 5, 6 } }, "Fortran order")
gives(pack(header("|u1", "(2, 1, 3)", true), "\1\4\2\5\3\6"), "u8", { 2, 1, 3 },
    { { { 1, 2, 3 } }, { { 4, 5, 6 } } }, "Fortran order, 3-d")
gives(pack(header("|u1", "(1, 1, 1, 1, 1, 1, 1, 2)"), "\1\2"), "u8", { 1, 1, 1, 1, 1, 1, 1, 2 },
    { { { { { { { { 1, 2 } } } } } } } }, "8-d")
for version = 1, 3 do
    gives(pack(header("|u1", "(2,)"), "\1\2", version), "u8", { 2 }, { 1, 2 },
        "version " .. version)
end
gives(pack("{'shape':(2L,),\"descr\" : \"|u1\",'fortran_order':False}   ", "\1\2"), "u8", { 2 },
    { 1, 2 }, "another layout")

-- Refused files, and the messages.
local function refuse(bytes, pattern, what)
    t.error(function() return load_bytes(bytes) end, pattern, what or pattern)
end
refuse(pack(header("|u1", "(2,)"), "\1\2\3\4"),
    "byte %d+: more bytes follow the data %(expected one array",
    "a second array after the first")
refuse("", "x.npy is empty %(expected an npy file%)")
refuse("\x93NUMPY", "byte 0: the file ends after 6 of 8 bytes of the magic number")
refuse("PK\3\4aaaaaaaa", "x.npy is a zip archive: npz.load reads NumPy's")
refuse("\x89PNG\r\n\x1a\n", "x.npy is a PNG picture: image.load reads it")
refuse("1 2 3\n", "x.npy is text, '1 2 3' %(expected an npy file%)")
refuse("\1\2\3\4\5", "x.npy is not an npy file: it begins with the bytes 01 02 03 04")
refuse("\x80\2}q\0.aaaaaa",
    "is a Python pickle, which holds code and is not read: convert it in Python")
refuse("\x93NUMPY\4\0" .. string.pack("<s4", "{}"),
    "byte 6: format version 4.0 %(expected 1.0, 2.0 or 3.0%)")
refuse("\x93NUMPY\1\1" .. string.pack("<s2", "{}"), "format version 1.1")
refuse("\x93NUMPY\2\0\xff\xff\xff\xff{}", "a header of 4294967295 bytes")
refuse("\x93NUMPY\1\0\xff\xff{}", "of 65535 bytes of the header")
for _, case in ipairs {
    { "<u2", "unsigned integers of more than 8 bits" }, { "<c8", "complex" },
    { "<f16", "wider than 64 bits" }, { "|O", "Python objects" },
    { "<U5", "text is not a dtype" }, { "|S5", "text is not a dtype" },
    { "<M8[ns]", "dates and times" }, { "|V8", "structured" },
    { "", "type ''" }, { "<", "type '<'" }, { "<x4", "type '<x4': expected one of f8" },
    { "f\n4", "type 'f%?4'" },
} do
    refuse(pack(header(case[1], "(1,)"), ("\0"):rep(16)), case[2], "dtype " .. case[1])
end
refuse(pack("{'descr': [('a', '<f4'), ('b', '<i4')], 'fortran_order': False, 'shape': (1,), }",
    ("\0"):rep(8)), "structured", "a structured dtype")
for _, case in ipairs {
    { "{", "expected 'descr', 'fortran_order' or 'shape' in the header, got ''" },
    { "[]", "expected '{'" },
    { "{}", "expected descr" }, { "{'descr': '<f4'}", "expected fortran_order" },
    { "{'descr': '<f4', 'fortran_order': True}", "expected shape" },
    { "{'descr': '<f4', 'descr': '<f4'}", "once" }, { "{'more': 1}", "once" },
    { "{'descr' '<f4'}", "expected ':'" },
    { "{'descr': '<f4' 'shape': ()}", "expected ',' or '}'" },
    { "{'shape': (1, -2)}", "expected a size" },
    { "{'shape': (3)}", "expected ','" }, { "{'shape': (1 2)}", "expected ','" },
    { "{'shape': [1, 2]}", "expected '%('" },
    { "{'shape': (99999999999999999999,)}", "a size below 2%^63" },
    { "{'shape': (1,1,1,1,1,1,1,1,1)}", "at most 8 dims" },
    { "{'fortran_order': Maybe}", "expected True or False" },
    { "{'descr': '<f4}", "expected a type such as" },
    { header("<f4", "(1,)") .. " x", "expected nothing after" },
    { "{'descr': __import__('os')}", "expected a type such as" },
    { "{'descr': '<f\\x34'}", "expected a type such as" }, { "{\0}", "a zero byte in the header" },
} do
    refuse(pack(case[1], ("\0"):rep(64)), case[2], "header " .. case[1]:gsub("%z", "\\0"))
end
refuse(pack(header("<f8", "(3,)"), ("\0"):rep(20)), "20 bytes of data follow, but f64 3 needs 24")
for _, case in ipairs {
    { "(4611686018427387904,)", "too many elements", "2^62 elements" },
    { "(9223372036854775807, 9223372036854775807)", "too many elements", "2^126 elements" },
    { "(1152921504606846976,)", "too many elements", "2^63 bytes" },
    { "(100000000000000000,)", "0 bytes of data follow", "10^17 elements" },
} do
    refuse(pack(header("<f8", case[1]), ""), case[2], case[3])
end
t.error(function() npy.load(dir .. "/none.npy") end,
    "npy.load: cannot open .*none.npy: No such file", "no such file")
t.error(function() npy.load(dir) end, "is a folder %(expected a file%)", "a directory")
os.execute(("mkfifo '%s/pipe'"):format(dir))
t.error(function() npy.load(dir .. "/pipe") end, "is a device or a pipe %(expected a file%)",
    "a pipe is not waited for")
t.error(function() npy.load() end,
    "npy.load: argument 'file' %(#1%): expected a string, got nothing", "no name")
t.error(function() npy.load "a\0b" end, "not a file name", "a zero byte in the name")

-- Truncated at each byte: always an error. Each byte changed: an error or a tensor, and no crash.
local function mangle(load, file, bytes, what)
    local survived
    for n = 0, #bytes - 1 do
        local ok, message = pcall(load, write(file, bytes:sub(1, n)))
        if ok or not tostring(message):find(file, 1, true) then survived = survived or n end
    end
    t.is(survived, nil, what .. " cut off anywhere is an error that names the file")
    for i = 1, #bytes do
        for _, flip in ipairs { 0x01, 0x80, 0xff } do
            local ok, got = pcall(load, write(file, bytes:sub(1,
                i - 1) .. string.char(bytes:byte(i) ~ flip) .. bytes:sub(i + 1)))
            local read = type(got) == "table" or is_tensor(got)
            if not (ok and read or not ok and tostring(got):find(file, 1, true)) then
                survived = survived or i .. ": " .. tostring(got)
            end
        end
    end
    t.is(survived, nil, what .. " with any byte changed is read, or an error that names the file")
end
mangle(npy.load, name, pack(header("<f4", "(2, 2)", true), ("\1"):rep(16)), "an npy file")

-- Writing: the exact bytes.
local function padded(h) return h .. (" "):rep(-(10 + #h + 1) % 64) end
npy.save(name, tensor({ { 1, 2 }, { 3, 4 } }, { dtype = "i16" }).T)
t.is(read(name), pack(padded(header("<i2", "(2, 2)")), string.pack("<i2i2i2i2", 1, 3, 2, 4)),
    "the bytes of a transposed i16")
npy.save(name, tensor({ true, false }, { device = "sim" }))
t.is(read(name), pack(padded(header("|b1", "(2,)")), "\1\0"),
    "the bytes of a bool tensor on a device")
npy.save(name, tensor(2.5))
t.is(read(name), pack(padded(header("<f4", "()")), string.pack("<f", 2.5)),
    "the bytes of a 0-d tensor")
t.is(#read(name) - 4, 64 * ((#read(name) - 4) // 64), "data begins on a multiple of 64")
for _, row in ipairs(types) do
    local x = tensor(row[4], { dtype = row[3] })
    npy.save(name, x)
    gives(read(name), row[3], { 3 }, row[4], row[3] .. " and back")
end
npy.save(name, gpush.zeros(3, 0, 2))
gives(read(name), "f32", { 3, 0, 2 }, { {}, {}, {} }, "empty and back")
t.error(function() npy.save(name, tensor({ 1 }, { dtype = "bf16" })) end,
    "npy has no dtype bf16; save x:to%('f32'%)", "bf16 is refused")
t.error(function() npy.save(name, 3) end, "argument 'x' %(#2%): expected a tensor, got 3",
    "not a tensor")

-- Failed writes leave the old file and nothing else.
local function listing()
    local p = io.popen("ls -A '" .. dir .. "'")
    local names = p:read "a"
    p:close()
    return names
end
t.error(function() npy.save(dir .. "/no/x.npy", tensor(1)) end,
    "cannot write .*/no/x.npy: No such file or directory %(its folder does not exist%)",
        "no such folder")
t.error(function() npy.save(dir, tensor(1)) end, "cannot write .*: Is a directory",
    "a folder in the way")
npy.save(name, tensor { 1, 2, 3 })
local before, files = read(name), listing()
local script = write(dir .. "/full.lua", [[
local gpush = require "gpush"
local name = arg[1]
for _, save in ipairs {function(x) gpush.npy.save(name, x) end,
    function(x) gpush.npz.save(name, {x = x}) end, function(x) gpush.image.save(name, x) end,
    function(x)
        gpush.profile.run(function() for i = 1, 500 do local y = x + i end end):trace(name)
    end} do
    local ok, message = pcall(save, gpush.arange(1, 90000, 1,
        {dtype = "f32"}):square():mul(0.1234567):remainder(1):view(300, 300))
    local refused = not ok and message:match("cannot write .*File too large")
    io.write(ok and "written" or refused and "refused" or message, "\n")
end
]])
local p = io.popen(("trap '' XFSZ; ulimit -f 8; '%s/gpush' '%s' '%s' 2>&1"):format(
    os.getenv "GPUSH_BUILD", script, name))
for _, what in ipairs { "npy", "npz", "image", "trace" } do
    t.is(p:read "l", "refused", what .. ": a full disk is an error")
end
p:close()
os.remove(script)
t.ok(read(name) == before, "the old file is as it was")
t.is(listing(), files, "and no temporary is left")
if io.open "/dev/full" then
    t.error(function() npy.save("/dev/full", tensor(1)) end, "cannot write /dev/full: No space",
        "a full device")
    t.error(function() gpush.image.save("/dev/full", gpush.rand(3, 300, 300)) end,
        "image.save: cannot write /dev/full: No space", "for a picture")
else
    t.skip(1, "no /dev/full here")
end
os.execute(("ln -sf '%s' '%s/link.npy'"):format(name, dir))
npy.save(dir .. "/link.npy", tensor(5))
t.is(npy.load(name):item(), 5, "a symbolic link is followed")
os.execute(("chmod 640 '%s'"):format(name))
npy.save(name, tensor(6))
local mode = io.popen(("stat -c %%a '%s'"):format(name)):read "l"
t.is(mode, "640", "permissions are kept")

-- npz: a zip archive of stored files, built here.
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
-- entries: {name, bytes}; size: what to claim for the length of the data; deflated: as one stored
-- block.
local function zip(entries)
    local out, directory, at = {}, {}, 0
    for _, e in ipairs(entries) do
        local bytes = e.deflated and "\1" .. string.pack("<I2I2", #e[2], ~#e[2] & 0xffff) .. e[2]
            or e[2]
        local common = string.pack("<I2I2I2I2I2I4I4I4I2I2", 20, 0,
            (e.size or e.deflated) and 8 or 0, 0, 33,
            crc32(e[2]), #bytes, e.size or #e[2], #e[1], 0)
        directory[#directory + 1] = "PK\1\2\20\0" .. common .. string.pack("<I2I2I2I4I4", 0, 0, 0,
            0, at) .. e[1]
        out[#out + 1] = "PK\3\4" .. common .. e[1] .. bytes
        at = at + #out[#out]
    end
    local files, index = table.concat(out), table.concat(directory)
    return files .. index .. "PK\5\6" .. string.pack("<I2I2I2I2I4I4I2", 0, 0, #entries, #entries,
        #index, #files, 0)
end
local archive = dir .. "/x.npz"
local a, b = pack(header("|u1", "(2,)"), "\1\2"), pack(header("<f4", "()"), string.pack("<f", 2.5))
local z = npz.load(write(archive, zip { { "a.npy", a }, { "sub/b.npy", b } }))
t.is({ a = z.a:tolist(), b = z["sub/b"]:item() }, { a = { 1, 2 }, b = 2.5 }, "an archive by hand")
mangle(npz.load, archive, zip { { "a.npy", a } }, "an npz file")
local function refuse_zip(bytes, pattern, what)
    t.error(function() return npz.load(write(archive, bytes)) end, pattern, what)
end
refuse_zip(zip { { "m/data.pkl", "\x80\2." } },
    "is PyTorch's %(%.pt%), which holds code .*save_file", "PyTorch's file")
refuse_zip("\x80\2}q\0.aaaaaa",
    "npz.load: .* is a Python pickle, which holds code and is not read: convert it in Python",
        "a bare pickle")
refuse_zip(zip { { "a.txt", "text" } }, "entry 'a.txt' is not an npy file", "another kind of entry")
refuse_zip(zip { { "a.npy", "text" } }, "entry 'a.npy', byte 0: the entry ends",
    "an entry that is no npy file")
refuse_zip(zip { { "a.npy", a, size = 1 << 31 } }, "2147483648 bytes cannot come from",
    "a size that cannot be")
refuse_zip("", "npz.load: .*x.npz is empty %(expected an npz file%)", "an empty file")
refuse_zip(zip { { "a.npy", a } }:gsub("\1\2PK", "\1\3PK", 1),
    "entry 'a.npy', byte %d+: cannot read the end: the data does not match its checksum",
        "a changed byte")
t.is(npz.load(write(archive, zip { { "a.npy", a, deflated = true } })).a:tolist(), { 1, 2 },
    "a deflated entry")
-- The limit of what an archive unpacks to, in sizes of its entries.
local zeros = pack(header("|u1", "(400000,)"), ("\0"):rep(400000))
npz.save(archive, { x = gpush.zeros(400000, { dtype = "u8" }), y = gpush.zeros(3) },
    { compressed = true })
t.error(function() return npz.load(archive, { max_bytes = 400000 }) end,
    "npz.load: .*x.npz has %d%d%d+ bytes and unpacks to 400268 %(limit 400000; option max_bytes \z
    sets it%)", "more bytes than the limit")
t.is(npz.load(archive, { max_bytes = 400268 }).x:numel(), 400000, "exactly the limit")
t.is(npz.load(write(archive, zip { { "a.npy", zeros } }), { max_bytes = 10 }).a:numel(), 400000,
    "arrays that are not larger than the file")
t.error(function() return npz.load(archive, { max_bytes = 0 }) end,
    "option 'max_bytes': expected 1 or more, got 0", "a limit that is none")
-- Many entries of one stored array: the list of entries repeats, the data is there once.
local many = zip { { "a.npy", zeros } }
local first = many:find("PK\1\2", 1, true)
local entry = many:sub(first, many:find("PK\5\6", 1, true) - 1)
many = many:sub(1, first - 1) .. entry:rep(20000) .. "PK\5\6" ..
    string.pack("<I2I2I2I2I4I4I2", 0, 0, 20000, 20000, #entry * 20000, first - 1, 0)
refuse_zip(many, "unpacks to 8001460000 %(limit 4294967296", "one array under many entries")

local f64 = pack(header("<f8", "(4,)"), ("\0"):rep(32))
for _, more in ipairs { 8, 4000 } do
    refuse_zip(zip { { "a.npy", f64 .. ("\7"):rep(more), deflated = true, size = #f64 } },
        "entry 'a.npy', byte %d+: more bytes follow the data",
            "a stream that is longer than promised by " .. more)
    refuse_zip(zip { { "a.npy", f64 .. ("\7"):rep(more), deflated = true } },
        "entry 'a.npy', byte %d+: more bytes follow the data", "bytes after the array: " .. more)
end
refuse_zip(zip { { "a.npy", f64, deflated = true, size = #f64 + 8 } },
    "entry 'a.npy': it has 1%d%d bytes, where the archive's list says 1%d%d",
        "a list that promises more than there is")
refuse_zip(zip { { "a.npy", f64:sub(1, -9), deflated = true, size = #f64 } },
    "entry 'a.npy', byte %d+: the entry ends after 24 of 32 bytes of the data",
        "a stream that is shorter")
refuse_zip(zip { { "a.npy", f64:sub(1, -9), deflated = true } },
    "entry 'a.npy', byte %d+: 24 bytes of data follow, but f64 4 needs 32",
        "a header that promises more")
refuse_zip(zip { { "a.npy", f64, deflated = true } }:gsub("\1" .. string.pack("<I2", #f64),
    "\1\0\0", 1),
    "entry 'a.npy', byte %d+: cannot read .*: Zlib error", "a stream that is damaged")
refuse_zip(zip { { "a.npy", a }, { "a.npy", b } },
    "has two entries 'a.npy' %(expected one of each name%)", "the same name twice")
z = npz.load(write(archive, zip { { "../a.npy", a }, { "/b.npy", b } }))
t.is({ z["../a"]:tolist(), z["/b"]:item() }, { { 1, 2 }, 2.5 },
    "names are keys of a table, and lead to no file")
refuse_zip(zip { { "a.npy", a } }:sub(1, 100),
    "x.npz is cut off or damaged: the zip archive's list of entries", "an archive that is cut off")
refuse_zip(a, "x.npz is an npy file: npy.load reads it", "an npy file")

npz.save(archive, { b = tensor { 1.5, 2.5 }, a = tensor { { 1, 2 } }:to("sim") })
local first = read(archive)
z = npz.load(archive)
t.is({ z.a:tolist(), z.b:tolist(), z.a.device }, { { { 1, 2 } }, { 1.5, 2.5 }, "cpu" },
    "npz and back")
npz.save(archive, { a = tensor { { 1, 2 } }, b = tensor { 1.5, 2.5 } })
t.ok(read(archive) == first, "the same tensors give the same bytes")
npz.save(archive, { a = gpush.zeros(100, 100) }, { compressed = true })
t.ok(#read(archive) < 2000, "compressed is smaller")
t.is(npz.load(archive).a:sum():item(), 0.0, "compressed and back")
before = read(archive)
for _, case in ipairs {
    { function() npz.save(archive, {}) end, "no tensors to write" },
    { function() npz.save(archive, { 1 }) end, "a key is a number" },
    { function() npz.save(archive, { a = 1 }) end, "'a' is a number %(expected a tensor%)" },
    { function() npz.save(archive, tensor(1)) end, "expected a table, got" },
    { function() npz.save(archive, { a = tensor({ 1 }, { dtype = "bf16" }) }) end,
        "npy has no dtype bf16" },
    { function() npz.save(archive, { a = tensor(1) }, { compress = true }) end,
        "unknown option 'compress'" },
    { function() npz.save(dir .. "/no/x.npz", { a = tensor(1) }) end,
        "npz.save: cannot write .*/no/x.npz: No such file or directory %(its folder does not \z
            exist%)" },
} do
    t.error(case[1], case[2], case[2])
end
t.ok(read(archive) == before, "errors leave the archive as it was")

-- NumPy reads our files and writes files for us.
local function python(code)
    local p = io.popen(("python3 - '%s' 2>&1 <<'END'\n%s\nEND"):format(dir, code))
    local out = p:read "a"
    p:close()
    return out
end
if python("import numpy\nprint('yes')") ~= "yes\n" then
    t.skip(4, "NumPy for python3 is not installed")
else
    t.is(python [[
import sys, numpy as np
d = sys.argv[1]
x = np.arange(24).reshape(2, 3, 4) - 7
kinds = ['f8', 'f4', 'f2', 'i8', 'i4', 'i2', 'i1']
np.savez(d + '/np.npz', **{o + k + f: np.array(x, dtype=o + k, order=f)
                           for o in '<>' for k in kinds for f in 'CF'})
np.savez_compressed(d + '/npc.npz', u1=(x + 7).astype('u1'), b1=x > 0, s=np.float32(3),
                    e=np.zeros((0, 3), 'i4'))
]], "", "NumPy writes")
    local wrong
    local want = gpush.arange(-7, 16):view(2, 3, 4):tolist()
    local count = 0
    for key, x in pairs(npz.load(dir .. "/np.npz")) do
        count = count + 1
        local same = x:to("i64"):tolist()
        for i = 1, 2 do for j = 1, 3 do for k = 1, 4 do
            if same[i][j][k] ~= want[i][j][k] then wrong = key end
        end end end
    end
    t.is({ count, wrong }, { 28 }, "every dtype, byte order and layout of NumPy's is read")
    local c = npz.load(dir .. "/npc.npz")
    t.is({ c.u1[2][3][4]:item(), c.b1[1][1][1]:item(), c.s:item(), c.e.shape },
        { 23, false, 3.0, { 0, 3 } }, "and its compressed archives")
    local all = {}
    for _, dtype in ipairs { "f64", "f32", "f16", "i64", "i32", "i16", "i8", "u8", "bool" } do
        all[dtype] = gpush.arange(0, 5):view(2, 3).T:to(dtype)
    end
    npz.save(dir .. "/ours.npz", all)
    npz.save(dir .. "/oursc.npz", all, { compressed = true })
    t.is(python [[
import sys, numpy as np
d = sys.argv[1]
for f in ['/ours.npz', '/oursc.npz']:
    z = np.load(d + f)
    print(' '.join(k + ':' + str(z[k].dtype) + str(z[k].astype('i4').tolist()).replace(' ', '')
                   for k in z.files))
]], (("bool:bool[[0,1],[1,1],[1,1]] f16:float16X f32:float32X f64:float64X i16:int16X \z
        i32:int32X i64:int64X i8:int8X u8:uint8X\n"):gsub("X", "[[0,3],[1,4],[2,5]]")):rep(2),
        "NumPy reads ours")
end
t.done()
