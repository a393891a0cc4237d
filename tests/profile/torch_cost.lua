--!plain
-- Traces of torch.profiler on a modelled card: kernels take what the shapes of their ops' inputs
-- say, worked out by hand; the others what they took.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"

local path = (os.getenv "TMPDIR" or "/tmp") .. "/trace.json"
local function load(trace)
    local f <close> = assert(io.open(path, "wb"))
    f:write(trace:text())
    f:close()
    return g.profile.load(path)
end

-- Ops of 20 us, one after the other, each of which launches kernels of 100 us: { name, dims,
-- types, kernels }.
local function trace(ops)
    local r = made.trace()
    r:region("train", 0, 20 * #ops + 5)
    local at, ends = 0, 5
    for _, op in ipairs(ops) do
        r:op(op[1], at, 20, op[2] and { ["Input Dims"] = op[2], ["Input type"] = op[3] })
        for i = 1, op[4] or 1 do
            local call = r:call("cudaLaunchKernel", at + 4 * i, 2)
            r:kernel("k", ends + 5, 100, call)
            ends = ends + 105
        end
        at = at + 20
    end
    return r
end

-- What the device needs for each op's kernels together, in ns.
local function device_times(p)
    local out = {}
    for _, r in ipairs(p:rows()) do
        if r.self_device_time_total > 0 then out[r.name] = r.self_device_time_total end
    end
    return out
end

-- Bytes and operations whose times differ in every case: 1 ns for a byte, 1/8 for an operation.
local card = { like = "h200", bandwidth = 1e9, f64 = 8e9, f32 = 8e9, f32_matrix = 8e9, f16 = 8e9,
    launch = 0, kernel = 0, wait = 0 }
local TWO = '["float", "float"]'
local cases = {
    -- 2 x 64 x 32 x 16 operations are less than 4 (64 x 32 + 32 x 16 + 64 x 16) bytes
    { "aten::mm", "[[64, 32], [32, 16]]", TWO, 14336 },
    -- 2 x 3 x 128 x 128 x 128 operations
    { "aten::bmm", "[[3, 128, 128], [3, 128, 128]]", TWO, 1572864 },
    { "aten::addmm", "[[16], [64, 32], [32, 16], [], []]",
        '["float", "float", "float", "Scalar", "Scalar"]', 14400 },
    { "aten::add", "[[10, 1], [1, 30], []]", '["float", "float", "Scalar"]', 1360 },
    { "aten::mul_", "[[100], []]", '["c10::Half", "double"]', 408 },
    { "aten::gt", "[[100], [100]]", TWO, 900 },
    { "aten::sum", "[[50, 20], [], [], []]", '["float", "ScalarList", "", ""]', 4000 },
    { "aten::copy_", "[[100], [100], []]", '["double", "float", "Scalar"]', 1200 },
    { "aten::fill_", "[[100], []]", '["long int", "Scalar"]', 800 },
}
for _, case in ipairs(cases) do
    local p = load(trace { { case[1], case[2], case[3] } })
    local q = p:on { card = card }
    t.is(device_times(p)[case[1]], 100000, case[1] .. " as it was")
    t.is(device_times(q)[case[1]], case[4], case[1] .. " on a card")
    t.ok(not tostring(q):find "take what they took", case[1] .. ": all is known")
end

-- Kernels of one op share what it takes; ops without a row or shapes keep their times.
local p = load(trace { { "aten::add", "[[1000], [1000]]", TWO, 2 },
    { "aten::cudnn_convolution", "[[1, 3, 8, 8], [4, 3, 3, 3]]", TWO },
    { "aten::mul", nil, nil, 1 }, { "aten::mm", "[[2, 3], [4, 5]]", TWO } })
local q = p:on { card = card }
t.is(device_times(q), { ["aten::add"] = 12000, ["aten::cudnn_convolution"] = 100000,
    ["aten::mul"] = 100000, ["aten::mm"] = 100000 }, "what is known, and what is not")
t.ok(tostring(q):find("(40 % of the kernels' time; the others take what they took)", 1, true),
    "which the profile says")
p:save(path)
t.is(device_times(g.profile.load(path):on { card = card }), device_times(q), "saved and loaded")
t.is(device_times(p:whatif { device = card }), device_times(q), "whatif{device =} is the same")

-- Copies on the device take its memory's time, twice their bytes.
local r = made.trace()
r:region("train", 0, 100)
r:op("aten::add", 0, 20, { ["Input Dims"] = "[[100], [100]]", ["Input type"] = TWO })
r:kernel("k", 10, 100, r:call("cudaLaunchKernel", 5, 2))
r:copy("Memcpy DtoD (Device -> Device)", 120, 50, r:call("cudaMemcpyAsync", 30, 5), 1000)
local copied = load(r):on { card = card }
local took
for _, e in ipairs(copied:events()) do
    if e.kind == "copied" then took = e.stop - e.start end
end
t.is(took, 2000, "a copy on the device")

-- A kernel that begins 50 ms after its call, for what is not on the record, does so on the card;
-- 20 us are the call's own, of which the card has a figure, 0 here.
for late, kept in pairs { [50e6] = 50e6, [20e3] = 0 } do
    r = made.trace()
    r:op("aten::fill_", 0, 20, { ["Input Dims"] = "[[100], []]",
        ["Input type"] = '["long int", "Scalar"]' })
    r:kernel("k", 10 + late / 1e3, 100, r:call("cudaLaunchKernel", 4, 2))
    local wall = load(r):on({ card = card }).wall_ns
    t.ok(wall >= kept + 800 and wall < kept + 60e3, "a delay of " .. late .. " ns: " .. wall)
end
-- Of a known card times are scaled by both cards' bounds: a kernel reaches of one what it reached
-- of the other. Additions of 1000 x 1000 floats move 12 MB; on the H100 (3.35 TB/s) their bound is
-- 2 us and 3.582, on the H200 (4.8 TB/s) 2 and 2.5: 100 us become 80.615. A convolution's cost is
-- not known: no figure is better by more than the memory's, so that it takes at least 69.79.
local function recorded(devices)
    local it = trace { { "aten::add", "[[1000, 1000], [1000, 1000]]", TWO },
        { "aten::cudnn_convolution", "[[1, 3, 8, 8], [4, 3, 3, 3]]", TWO } }
    it.devices = devices
    return load(it)
end
local H100 <const> = '{"id": 0, "name": "NVIDIA H100 80GB HBM3"}'
local own = recorded("[" .. H100 .. "]")
t.is(own.card.name, "H100", "the card of the trace")
local same, newer = own:on "h100", own:on "h200"
t.is({ same.wall_ns, device_times(same) }, { own.wall_ns, device_times(own) },
    "on the same card nothing changes")
t.is(device_times(newer), { ["aten::add"] = 80615, ["aten::cudnn_convolution"] = 69792 },
    "on another one each op reaches its share of the bound")
t.is({ same.at_least, newer.at_least }, { nil, "ops whose cost is not known" }, "which is a bound")
t.ok(newer.predicted:find("by what each op reached of its bound on the record's H100 (50 % of the \z
    kernels' time; the others at least, as their cost is not known)", 1, true), newer.predicted)
own:save(path)
t.is(device_times(g.profile.load(path):on "h200"), device_times(newer), "saved and loaded")
-- Additions alone: 100 us on an A100 of 40 GB (1.555 TB/s), whose bound is 2 and 7.717 us; on one
-- of 80 GB (2.039 TB/s) 2 and 5.885.
local add = trace { { "aten::add", "[[1000, 1000], [1000, 1000]]", TWO } }
add.devices = '[{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}]'
local wide = load(add):on "a100"
t.is(device_times(wide), { ["aten::add"] = 81149 }, "a card with another memory")
t.is(wide.at_least, nil, "where all costs are known it is no bound")
-- Copies over the bus: 16 MB at an A100's 32 GB/s and a V100's 16, with 2 us besides, take 502 and
-- 1002 us; four bytes as long on both.
for bytes, after in pairs { [16000000] = 1996, [4] = 1000 } do
    local moved = made.trace()
    moved.devices = '[{"id": 0, "name": "NVIDIA A100-SXM4-80GB"}]'
    moved:region("train", 0, 2000)
    moved:op("aten::fill_", 0, 20, { ["Input Dims"] = "[[100], []]",
        ["Input type"] = '["long int", "Scalar"]' })
    moved:kernel("k", 10, 5, moved:call("cudaLaunchKernel", 4, 2))
    moved:copy("Memcpy HtoD (Pinned -> Device)", 120, 1000, moved:call("cudaMemcpyAsync", 30, 5),
        bytes)
    for _, e in ipairs(load(moved):on("v100"):events()) do
        if e.kind == "copied" then
            t.is((e.stop - e.start) // 1000, after, ("a copy of %d bytes"):format(bytes))
        end
    end
end
for what, devices in pairs { ["an unknown card"] = '[{"id": 0, "name": "NVIDIA H100 PCIe"}]',
    ["two kinds of cards"] = "[" .. H100 .. ', {"id": 1, "name": "NVIDIA H200"}]' } do
    local other = recorded(devices)
    t.is(other.card, nil, what .. " is no card")
    t.is(other:on("h100").at_least, "another program's ops", "and its times are bounds")
    t.ok(tostring(other:on "h100"):find("on a modelled H100, at least: by the best of its data \z
        sheet, as the record's card is not known", 1, true), "which the profile says")
end
-- A read after it: that the host waits for most of the time is no verdict of kernels' bounds.
local waits = trace { { "aten::add", "[[1000, 1000], [1000, 1000]]", TWO } }
waits:region("train", 0, 900)
waits:op("aten::item", 100, 700)
waits:call("cudaStreamSynchronize", 110, 600)
t.ok(load(waits):on("h200"):verdict().sentence:find("no verdict: how long the card takes is a \z
    bound", 1, true), "no verdict from a bound")
-- Where kernels dominate even so, which they do the more where they take more, it says that.
local products = trace { { "aten::mm", "[[8192, 8192], [8192, 8192]]", TWO } }
products.devices = '[{"id": 0, "name": "NVIDIA H100 PCIe"}]'
local least = load(products):on("h200"):verdict().sentence
t.ok(least:find "^dominated by kernels: "
    and least:find("kernels and copies take at least", 1, true),
    "a verdict from a bound, which it says", least)
waits.devices = "[" .. H100 .. "]"
t.ok(not load(waits):on("h200"):verdict().sentence:find("no verdict", 1, true),
    "but one from what is scaled")
t.error(function() load(trace { { "aten::mul", nil, nil } }):on "h200" end,
    "profile.on: card: no op that launched a kernel has a known cost \z
        %(expected shapes in the trace, of profile%(record_shapes=True%)%)", "no shapes at all")
for _, dims in ipairs { "[[-5], [100]]", "[[3], [2]]", "[]" } do
    t.error(function() load(trace { { "aten::add", dims, TWO } }):on "h200" end,
        "no op that launched a kernel has a known cost", "shapes that do not fit: " .. dims)
end
os.remove(path)
t.done()
