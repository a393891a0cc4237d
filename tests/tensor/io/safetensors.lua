--!plain
-- safetensors files written byte by byte and loaded, saved and parsed, broken in every way; json.
local t = require "tap"
local g = require "gpush"
local st, json = g.safetensors, g.json
local plain = require "plain"
local read = plain.read
local dir = os.getenv "TMPDIR"
local count = 0

local function write(text)
    count = count + 1
    return plain.write(("%s/%d.safetensors"):format(dir, count), text)
end
local function file(header, data)
    return write(string.pack("<I8", #header) .. header .. (data or ""))
end

-- ---- reading ----

local header = '{"__metadata__":{"format":"pt","note":"\\u00e4"},' ..
    '"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},' ..
    '"b.c":{"dtype":"I64","shape":[],"data_offsets":[24,32]},' ..
    '"none":{"dtype":"F64","shape":[0,4],"data_offsets":[32,32]},' ..
    '"yes":{"dtype":"BOOL","shape":[3],"data_offsets":[32,35]}}'
header = header .. (" "):rep(-#header % 8)
local name = file(header, string.pack("<ffffffi8BBB", 1, 2, 3, 4, 5, -6.5, -7, 0, 1, 255))
local x, texts = st.load(name)
t.is(x.a, { { 1, 2, 3 }, { 4, 5, -6.5 } }, "f32 2x3")
t.is({ x["b.c"]:item(), x["b.c"].dtype, #x["b.c"].shape }, { -7, "i64", 0 }, "a 0-d i64")
t.is({ x.none.shape, x.none.dtype }, { { 0, 4 }, "f64" }, "an empty tensor")
t.is(x.yes, { false, true, true }, "bool; any byte but 0 is true")
st.save(dir .. "/bools", { x = x.yes })
t.is(read(dir .. "/bools"):sub(-3), "\0\1\1", "and 1 in memory")
t.is(texts, { format = "pt", note = "ä" }, "metadata")
local before = read(name)
x.a:add_(1)
x.yes[1] = true
t.is(x.a, { { 2, 3, 4 }, { 5, 6, -5.5 } }, "what was loaded may be written")
t.is(read(name), before, "and the file stays as it was")
t.is(st.load(name).a[1], { 1.0, 2.0, 3.0 }, "which another reader sees")
os.remove(name)
t.is(x.a[2], { 5.0, 6.0, -5.5 }, "a file that is gone is still there for who has it mapped")
x, texts = nil, nil
collectgarbage()

-- A header whose length is not a multiple of the elements' size.
x = st.load(
    file('{"a":{"dtype":"F64","shape":[2],"data_offsets":[3,19]},' ..
        '"b":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}}',
    string.pack("<BBBdd", 1, 2, 255, 0.5, -2)))
t.is({ x.a:tolist(), x.b:tolist() }, { { 0.5, -2.0 }, { 1, 2, 255 } },
    "elements that are not aligned")
x = st.load(
    file('{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},' ..
        '"b":{"dtype":"F16","shape":[1,2],"data_offsets":[4,8]}}',
    string.pack("<I2I2I2I2", 0x3fc0, 0xc000, 0x3e00, 0xc000)))
t.is({ x.a:tolist(), x.a.dtype, x.b:tolist(), x.b.dtype },
    { { 1.5, -2.0 }, "bf16", { { 1.5, -2.0 } }, "f16" }, "16-bit floats")
t.is({ next((st.load(file "{}"))) }, {}, "a file without tensors")

-- Many tensors of one mapping.
do
    local all = {}
    for i = 1, 300 do all["t" .. i] = g.full({ i }, i) end
    st.save(dir .. "/many.safetensors", all)
    local back, ok = st.load(dir .. "/many.safetensors"), true
    for i = 1, 300 do ok = ok and back["t" .. i]:sum():item() == i * i end
    t.ok(ok, "300 tensors")
    back.t2:fill_(9)
    t.is(back.t3, { 3, 3, 3 }, "a write touches its own tensor only")
    local w = back.t5:to "f32":requires_grad_()
    local y = back.t5 * w
    back.t6:fill_(0)
    y:sum():backward()
    t.is(w.grad, { 5.0, 5.0, 5.0, 5.0, 5.0 }, "and counts as a write of that one")
end

-- ---- writing ----

name = dir .. "/w.safetensors"
for _, dtype in ipairs { "f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "u8", "bool" } do
    local v = g.tensor({ { 0, 1, 3 }, { 100, 5, 2 } }, { dtype = dtype })
    st.save(name, { x = v, ["last one"] = v:t(), sim = v:to "sim" })
    local back = st.load(name)
    t.is({ back.x.dtype, back.x:tolist(), back["last one"]:tolist(), back.sim:tolist(),
        back.sim.device },
        { dtype, v:tolist(), v:t():tolist(), v:tolist(), "cpu" },
            dtype .. " there and back, also transposed and from a device")
end
st.save(name,
    { z = g.tensor({ 1, 2, 3 }, { dtype = "u8" }), a = g.tensor({ 1.5 }), b = g.tensor({ 2.5 }) },
    { metadata = { b = "2", a = "1" } })
local text = read(name)
local n = string.unpack("<I8", text)
local want = '{"__metadata__":{"a":"1","b":"2"},' ..
    '"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},' ..
    '"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},' ..
    '"z":{"dtype":"U8","shape":[3],"data_offsets":[8,11]}}'
t.is(text:sub(9, 8 + n), want .. (" "):rep(-#want % 8),
    "the header: larger elements first, then by name")
t.is(n % 8, 0, "the data begin at a multiple of 8")
t.is(text:sub(9 + n), string.pack("<ffBBB", 1.5, 2.5, 1, 2, 3), "the data")
st.save(name, {})
t.is({ next((st.load(name))) }, {}, "no tensors")

-- ---- files that are refused ----

local function refused(path, pattern, what) t.error(function() st.load(path) end, pattern, what) end
local function entry(fields, data)
    return file('{"a":{' .. fields .. '}}', data or ("\0"):rep(16))
end
refused(dir .. "/nothing", "safetensors.load: cannot open .*/nothing: No such file", "no file")
refused(dir, "is a folder %(expected a file%)", "a folder")
refused(write "", "is empty %(expected a safetensors file%)", "an empty file")
refused(write "abc", "has 3 bytes %(expected 8 for the length of a header", "3 bytes")
refused(write "hello, world", "is text, 'hello, world' %(expected a safetensors file%)", "a text")
refused(write "\x89PNG\r\n\x1a\n........", "is a PNG picture: image.load reads it", "a picture")
refused(write(("\255"):rep(16)), "is not a safetensors file: it begins with the bytes ff ff ff ff",
    "a header that is too long")
refused(write(string.pack("<I8", 50) .. "{}"), "ends after 2 of 50 bytes of the header",
    "a header that is cut off")
refused(file "[1]", "is not a safetensors file", "a header that is a list")
refused(file "", "the header is empty", "an empty header")
refused(file '{"a":', "byte %d+ of the file: the header is not JSON", "no JSON")
refused(file '{"a":{},"a":{}}', "not JSON: duplicate", "a name twice")
refused(file '{"a":5}', "tensor 'a': expected {dtype, shape, data_offsets}", "no table")
refused(entry '"shape":[4],"data_offsets":[0,16]', "tensor 'a': expected a dtype", "no dtype")
refused(entry '"dtype":"F8_E4M3","shape":[16],"data_offsets":[0,16]',
    "tensor 'a': F8_E4M3 is not a dtype here %(expected F64", "another dtype")
refused(entry '"dtype":"f32","shape":[4],"data_offsets":[0,16]', "f32 is not a dtype here",
    "a dtype in small letters")
refused(entry '"dtype":"F32","data_offsets":[0,16]', "expected a list as shape", "no shape")
refused(entry '"dtype":"F32","shape":[-4],"data_offsets":[0,16]',
    "dim 1 of its shape is not an integer", "a negative size")
refused(entry '"dtype":"F32","shape":[4.0],"data_offsets":[0,16]',
    "dim 1 of its shape is not an integer", "a size with a dot")
refused(entry '"dtype":"F32","shape":[1,1,1,1,1,1,1,1,4],"data_offsets":[0,16]',
    "9 dims %(expected at most 8%)", "too many dims")
refused(entry '"dtype":"F32","shape":[4]', "expected two numbers as data_offsets", "no offsets")
refused(entry '"dtype":"F32","shape":[4],"data_offsets":[0,16,20]', "expected two numbers",
    "three offsets")
refused(entry '"dtype":"F32","shape":[4],"data_offsets":[0,17]', "out of range: 16 bytes of data",
    "beyond the end")
refused(entry '"dtype":"F32","shape":[4],"data_offsets":[16,0]', "out of range", "backwards")
refused(entry '"dtype":"F32","shape":[4],"data_offsets":[-16,0]', "out of range",
    "before the beginning")
refused(entry '"dtype":"F32","shape":[3],"data_offsets":[0,16]',
    "f32 3 needs 12 bytes, data_offsets give it 16", "too many bytes")
refused(entry '"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,16]',
    "has too many elements", "a size that overflows")
refused(entry '"dtype":"F32","shape":[99999999999999999999],"data_offsets":[0,16]',
    "not JSON: too big integer", "a size that is no i64")
local two = '{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},' ..
    '"b":{"dtype":"F32","shape":[2],"data_offsets":[%d,%d]}}'
refused(file(two:format(4, 12), ("\0"):rep(12)), "tensor 'b': its data overlaps that of 'a'",
    "tensors that overlap")
refused(file(two:format(0, 8), ("\0"):rep(8)), "overlaps that of", "the same bytes twice")
refused(file(two:format(12, 20), ("\0"):rep(20)),
    "tensor 'b': 4 bytes before its data belong to no tensor", "a gap")
refused(file(two:format(8, 16), ("\0"):rep(20)), "4 bytes at the end belong to no tensor",
    "bytes too many")
refused(file '{"__metadata__":[]}', "__metadata__ is not a table of strings",
    "metadata that is a list")
refused(file '{"__metadata__":{"a":1}}', "'a' in __metadata__ is not a string",
    "metadata that is no text")
refused(write("PK\3\4" .. ("\0"):rep(20)), "zip archive: npz.load reads NumPy's; .*torch.load%(",
    "a .pt file: how to convert it")
refused(write("\x80\2}q\0" .. ("\0"):rep(20)), "Python pickle, which holds code .*save_file",
    "a pickle")
g.npy.save(dir .. "/x.npy", g.zeros(2))
refused(dir .. "/x.npy", "is an npy file: npy.load", "an npy file")

t.error(function() st.save(name, { __metadata__ = g.zeros(1) }) end,
    "'__metadata__' cannot be the name of a tensor", "a reserved name")
t.error(function() st.save(name, { ["\xff"] = g.zeros(1) }) end,
    "cannot be the name of a tensor %(expected UTF%-8%)", "a name that is no text")
t.error(function() st.save(name, { g.zeros(1) }) end, "a key is a number %(expected names%)",
    "a list")
t.error(function() st.save(name, { a = 1 }) end, "'a' is a number %(expected a tensor%)",
    "a number")
t.error(function() st.save(name, {}, { metadata = { a = 1 } }) end,
    "option 'metadata': expected texts by name, got number for 'a'", "metadata that is no text")
t.error(function() st.save(name, {}, { meta = {} }) end,
    "unknown option 'meta' %(expected metadata%)", "another option")
t.error(function() st.save(dir .. "/no/x", {}) end, "cannot write .*No such file", "no folder")
t.is({ next((st.load(name))) }, {}, "and the file is the one before")

-- A full disk: files of at most 4 KiB.
st.save(name, { x = g.ones(8) })
local script = write(([[
local ok, msg = pcall(safetensors.save, %q, {x = zeros(5000)})
print(ok, msg)
]]):format(name))
local p = io.popen(("trap '' XFSZ; ulimit -f 8; '%s/gpush' '%s' 2>&1; ls '%s' | grep -c tmp")
    :format(os.getenv "GPUSH_BUILD", script, dir))
t.ok(p:read "l":find "^false\t.*safetensors.save: cannot write .*/w.safetensors: File too large",
    "a full disk is an error")
t.is(p:read "l", "0", "that leaves no temporary")
p:close()
t.is(st.load(name).x:sum():item(), 8.0, "and the old file")

-- ---- json ----

local value = { a = { 1, 2.5, "x\n\"ä", true, false }, b = { c = {} }, i = math.mininteger, f = 1.0,
    small = 5e-324, third = 1 / 3 }
local code = json.encode(value)
t.is(json.decode(code), value, "json there and back")
t.ok(math.type(json.decode(code).f) == "float" and math.type(json.decode(code).i) == "integer",
    "integers and floats stay what they are")
t.is(json.encode { b = 1, a = { 0.5 } }, '{"a":[0.5],"b":1}', "keys are sorted")
t.ok(json.decode "[null]"[1] == json.null and json.encode { json.null } == "[null]", "null")
t.error(function() json.encode { [1.5] = 1 } end, "json.encode: a key is a number",
    "a key that is no name")
t.error(function() json.encode { 0 / 0 } end, "json.encode: expected a table, finite number", "NaN")
t.error(function() json.encode { print } end, "json.encode: expected a table", "a function")
local loop = {}
loop.loop = loop
t.error(function() json.encode(loop) end, "nested deeper than", "a table in itself")
t.error(function() json.decode "{" end, "json.decode: line 1, column 1", "broken text")
t.done()
