-- DLPack against another library of the process, tests/support/peer.c: what is exported and what is
-- imported, by its own structs; who frees what, whichever side is first.
local t = require "tap"
package.cpath = os.getenv "GPUSH_BUILD" .. "/tests/?.so;" .. package.cpath
local peer = require "peer"

local function collect() for _ = 1, 2 do collectgarbage() end end
local function in_use()
    collect()
    return memory "cpu".in_use
end

-- ---- What an export says ----

local x = arange(0, 5):float():reshape(2, 3)
local p = x:to_dlpack():pointer()
local got = peer.read(p)
local data = got.data
got.data = nil
t.is(got, { major = 1, minor = 0, flags = 0, device = 1, device_id = 0, code = 2, bits = 32,
    lanes = 1, byte_offset = 0, shape = { 2, 3 }, strides = { 3, 1 } }, "version 1.0 of a matrix")
local function floats_at(at, n)
    local list = table.pack(string.unpack("<" .. ("f"):rep(n), peer.peek(at, 4 * n)))
    return table.move(list, 1, n, 1, {})
end
t.is(floats_at(data, 6), { 0.0, 1.0, 2.0, 3.0, 4.0, 5.0 }, "and its memory")
peer.poke(data + 4, string.pack("<f", 40))
t.is(x:tolist(), { { 0.0, 40.0, 2.0 }, { 3.0, 4.0, 5.0 } }, "which the other side writes")
x["..., 2"] = 7
t.is(floats_at(data + 4, 2), { 7.0, 2.0 }, "and gpush does")
peer.delete(p)

local codes = { bool = { 6, 8 }, u8 = { 1, 8 }, i8 = { 0, 8 }, i16 = { 0, 16 }, i32 = { 0, 32 },
    i64 = { 0, 64 }, f16 = { 2, 16 }, bf16 = { 4, 16 }, f32 = { 2, 32 }, f64 = { 2, 64 } }
for dtype, code in pairs(codes) do
    p = ones(3, { dtype = dtype }):to_dlpack(false):pointer()
    got = peer.read(p, true)
    t.is({ got.code, got.bits, got.lanes, got.shape }, { code[1], code[2], 1, { 3 } },
        dtype .. " by the older form")
    peer.delete(p, true)
    p = peer.make { code = code[1], bits = code[2], shape = { 2 },
        bytes = ("\1\0\0\0\0\0\0\0"):rep(2) }
    t.is(from_dlpack(p).dtype, dtype, "and back")
end

-- Of a view: where it begins, its strides in elements.
local base = arange(0, 23):reshape(4, 6)
local function layout(v)
    local c = v:to_dlpack()
    local at = c:pointer()
    local r, b = peer.read(at), base:to_dlpack():pointer()
    local first = r.data + r.byte_offset - peer.read(b).data
    peer.delete(at)
    peer.delete(b)
    return { r.shape, r.strides, first // 8 }
end
t.is(layout(base.T), { { 6, 4 }, { 1, 6 }, 0 }, "a transposed view")
t.is(layout(base["2:3, 2:6:2"]), { { 2, 3 }, { 6, 2 }, 7 }, "a part with a step")
t.is(layout(base[3]:expand(5, 6)), { { 5, 6 }, { 0, 1 }, 12 }, "one that is expanded")
t.is(layout(base[4][6]), { {}, {}, 23 }, "a scalar")
p = zeros(0, 3):to_dlpack():pointer()
got = peer.read(p)
t.is({ got.shape, got.data }, { { 0, 3 }, 0 }, "an empty one has no memory")
peer.delete(p)

-- ---- What an import takes ----

local function floats(...) return string.pack("<" .. ("f"):rep(select("#", ...)), ...) end
local six = floats(1, 2, 3, 4, 5, 6)
local function import(options, arguments)
    options.bytes = options.bytes or six
    arguments = arguments or options.older and { versioned = false }
    return from_dlpack(peer.make(options), arguments or nil)
end
t.is(import { shape = { 2, 3 } }:tolist(), { { 1.0, 2.0, 3.0 }, { 4.0, 5.0, 6.0 } },
    "without strides: row-major")
t.is(import { shape = { 3, 2 }, strides = { 1, 3 } }:tolist(),
    { { 1.0, 4.0 }, { 2.0, 5.0 }, { 3.0, 6.0 } }, "strides")
t.is(import { shape = { 2, 2 }, strides = { 0, 2 }, byte_offset = 4 }:tolist(),
    { { 2.0, 4.0 }, { 2.0, 4.0 } }, "an offset in bytes, and a stride of 0")
t.is(import { shape = {}, byte_offset = 20 }:item(), 6.0, "no dims")
t.is(import { shape = { 1, 3 }, strides = { -77, 2 } }:tolist(), { { 1.0, 3.0, 5.0 } },
    "the stride of a dim of size 1 is any number")
t.is(import { shape = { 0, 4 }, bytes = "" }.shape, { 0, 4 }, "none")
t.is(import({ shape = { 2 }, older = 1 }, { versioned = false }):tolist(), { 1.0, 2.0 },
    "the older form")
t.is(from_dlpack(peer.light(peer.make { shape = { 2 }, bytes = six })):tolist(), { 1.0, 2.0 },
    "by a light userdata")
t.is(import { shape = { 2 }, device = 3 }.device, "cpu", "page-locked memory is the host's")
t.is(import { shape = { 2 }, minor = 7, flags = 2 }:tolist(), { 1.0, 2.0 },
    "of a later minor version")
t.is((import { shape = { 2 } }:requires_grad_() * 2):sum():item(), 6.0, "a leaf like any other")
collect()
peer.deleted()

-- Any layout: each element is what Lua reads at its place in the memory.
local formats = { { "f", 2, 32 }, { "d", 2, 64 }, { "i8", 0, 64 }, { "i4", 0, 32 }, { "i2", 0, 16 },
    { "b", 0, 8 }, { "B", 1, 8 } }
local place = {}
for i = 0, 255 do place[i + 1] = string.char(i % 200 // 2 + 1) end
place = table.concat(place)
math.randomseed(7)
local function nested(format, first, shape, strides, d)
    if d > #shape then return (string.unpack("<" .. format, place, first + 1)) end
    local list, size = {}, string.packsize(format)
    for i = 1, shape[d] do
        list[i] = nested(format, first + (i - 1) * strides[d] * size, shape, strides, d + 1)
    end
    return list
end
local wrong = {}
for n = 1, 300 do
    local format, code, bits = table.unpack(formats[math.random(#formats)])
    local size, shape, strides, reach = bits // 8, {}, {}, 0
    for d = 1, math.random(0, 4) do
        shape[d], strides[d] = math.random(3), math.random(0, 4)
        reach = reach + (shape[d] - 1) * strides[d]
    end
    if (reach + 1) * size <= #place then
        local offset = math.random(0, #place // size - reach - 1) * size
        local y = import { bytes = place, code = code, bits = bits, shape = shape,
            strides = strides, byte_offset = offset, older = n % 2 == 0 and 1 or nil }
        local want = nested(format, offset, shape, strides, 1)
        if not rawequal(y.ndim, #shape) or not tensor(want, { dtype = y.dtype }):equal(y) then
            wrong[#wrong + 1] = n
        end
    end
end
t.is(wrong, {}, "300 layouts")
collect()
peer.deleted()

-- ---- What it refuses: nothing is consumed ----

local function refused(options, want, arguments)
    options.bytes = options.bytes or six
    local at = peer.make(options)
    local ok, message = pcall(from_dlpack, at, arguments)
    t.ok(not ok and message:find("from_dlpack: " .. want, 1, true), "refused: " .. want, message)
    t.is(peer.deleted(), 0, "it is still the other's")
    peer.delete(at, options.older)
    t.is(peer.deleted(), 1, "who frees it")
end
refused({ shape = { 2 }, major = 2, minor = 1 }, "the tensor is of DLPack 2.1 (expected 1)")
refused({ shape = { 2 }, code = 5, bits = 64 }, "the elements are complex64, which no dtype is")
refused({ shape = { 2 }, code = 1, bits = 16 }, "the elements are uint16, which no dtype is")
refused({ shape = { 2 }, code = 10, bits = 8 },
    "the elements have DLPack's type code 10, of 8 bits, which no dtype is")
refused({ shape = { 2 }, lanes = 4 }, "the elements are vectors of 4 numbers")
refused({ shape = { 2 }, device = 8 }, "the memory is on a device metal (expected cpu or cuda)")
refused({ shape = { 2 }, device = 99 },
    "the memory is on a device of DLPack's number 99 (expected cpu or cuda)")
refused({ shape = { 2, 3 }, strides = { -3, 1 } },
    "the stride of dim 1 is -3 (expected 0 or more)")
refused({ shape = { 2, 3 }, strides = { math.maxinteger, 1 } }, "the stride of dim 1 is 9223372")
refused({ shape = { 1, 1, 1, 1, 1, 1, 1, 1, 1 } }, "the tensor has 9 dims (expected 0 to 8)")
refused({ ndim = 2 }, "the tensor has 2 dims and no shape")
refused({ ndim = -1 }, "the tensor has -1 dims")
refused({ shape = { 2, -1 } }, "dim 2 has negative size -1")
refused({ shape = { 1 << 40, 1 << 40 } }, "shape has more than 2^58 elements")
refused({ shape = { 2 }, byte_offset = 2 }, "the first element is at 0x")
refused({ shape = { 2 }, bytes = "" }, "2 elements without memory")
refused({ shape = { 2 }, flags = 1 }, "the memory may only be read", { copy = false })
refused({ shape = { 2 } }, "stream: 5 with memory of cpu (expected nil", { stream = 5 })
refused({ shape = { 2 } }, "stream: -1 with memory of cpu (expected nil", { stream = -1 })
t.error(function() from_dlpack(12345) end, "no tensor of DLPack is at the address 0x3039",
    "an address that is none")
t.error(function() from_dlpack(1 << 46) end, "no tensor of DLPack is at the address",
    "nor memory of the process")
t.error(function() from_dlpack "x" end, "expected a capsule, an address or a tensor, got string",
    "a text")
t.error(function() to_dlpack(ones(2):requires_grad_()) end,
    "to_dlpack: the tensor requires a gradient, .*%(expected x:detach%(%)%)", "gradients")
t.error(function() to_dlpack(ones(2):requires_grad_() * 2) end, "requires a gradient",
    "also of a result")
t.error(function() ones(2, { device = "sim" }):to_dlpack() end,
    "the tensor is on sim:0, a device that DLPack does not have", "the simulated device")

-- ---- Memory that may only be read, and copies ----

local function writes(options, arguments)
    options.shape, options.bytes = { 2 }, six
    local at = peer.make(options)
    local memory_at = peer.read(at).data
    local y = from_dlpack(at, arguments)
    local kept = peer.deleted() == 0
    y:add_(1)
    return { kept, kept and floats_at(memory_at, 1)[1] or "copied", y:tolist() }
end
t.is(writes {}, { true, 2.0, { 2.0, 3.0 } }, "writes are the other's, too")
t.is(writes { flags = 1 }, { false, "copied", { 2.0, 3.0 } }, "not where it may only be read")
t.is(writes({}, { copy = true }), { false, "copied", { 2.0, 3.0 } }, "nor of a copy")
t.is(writes({}, { copy = false }), { true, 2.0, { 2.0, 3.0 } }, "which may be ruled out")
collect()
peer.deleted()

-- ---- Who frees what ----

local large = 1 << 20
local before = in_use()
do
    local y = zeros(large)
    p = y:to_dlpack():pointer()
end
t.is(in_use() - before, 4 * large, "the tensor first: the other still has its memory")
peer.poke(peer.read(p).data + 4 * (large - 1), floats(3))
peer.delete(p)
t.is(in_use(), before, "until it is done")
do
    local y = zeros(large)
    peer.delete(y:to_dlpack():pointer())
    t.is(y:sum():item(), 0.0, "the other first: the tensor has it")
end
t.is(in_use(), before, "as long as it lives")
do local _ <close> = zeros(large):to_dlpack() end
zeros(large):to_dlpack()
t.is(in_use(), before, "a capsule that nobody takes frees it, closed or collected")

local function import_views()
    local y = import { shape = { 2, 3 } }
    return y[2], y
end
do
    local row = import_views()
    collect()
    t.is({ peer.deleted(), row:tolist() }, { 0, { 4.0, 5.0, 6.0 } },
        "a view keeps the other's memory")
end
collect()
t.is(peer.deleted(), 1, "which is freed once, after the last of them")

local there = ones(2, { device = "sim" })
t.ok(from_dlpack(there):shares_storage(there) and from_dlpack(x):shares_storage(x)
    and not from_dlpack(x, { copy = true }):shares_storage(x), "a tensor of gpush's is its own")
t.error(function() from_dlpack(ones(2):requires_grad_()) end, "requires a gradient",
    "without gradients")
local c = x:to_dlpack()
local same = from_dlpack(c)
t.ok(same:shares_storage(x), "gpush's own tensor is a view of the same storage")
t.is(from_dlpack(base["2:3, 2:6:2"]:to_dlpack()):tolist(), { { 7, 9, 11 }, { 13, 15, 17 } },
    "where it was")
t.error(function() from_dlpack(c) end, "the capsule is empty: its tensor was taken over",
    "a capsule gives its tensor once")
t.error(function() c:pointer() end, "pointer: the capsule is empty", "in either way")
c = x:to_dlpack()
local ok, message = pcall(from_dlpack, c, { stream = 3 })
t.ok(not ok and message:find("stream: 3", 1, true) and is_tensor(from_dlpack(c)),
    "a refused one is still full")
t.error(function() from_dlpack(x:to_dlpack(false), true) end,
    "versioned: the capsule's tensor is of the older form", "a capsule knows its form")

-- An error in between.
local function stop() error "enough" end
t.error(function()
    local y <close> = import { shape = { 2 } }
    stop(y)
end, "enough", "an error")
t.is(peer.deleted(), 1, "frees what was imported")

-- ---- Order ----

local s = stream "cpu"
local big = ones(600, 600)
local y = s:use(function() return big:matmul(big):matmul(big) end)
sync.reset()
p = y:to_dlpack():pointer()
t.is(floats_at(peer.read(p).data, 1)[1], 360000.0,
    "an export waits for what is queued")
peer.delete(p)
t.done()
