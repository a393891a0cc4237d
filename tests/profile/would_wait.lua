--!plain
-- What a record of the CPU alone says would wait on a card: the lines and reasons that wait on sim,
-- and, of a trace of PyTorch, the ops that read a result on the host.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"
local folder = os.getenv "TMPDIR" or "/tmp"

-- Each line that waits for a device, and one that does not.
local script = [[
local dev = ...
local x = randn({ 8, 8 }, { device = dev })
for i = 1, 3 do local n = x:sum():item() end
if x:sum() > 0 then x = x + 1 end
local text = tostring(x)
local list = x:tolist()
local some = x[x:gt(0)]
local where_ = x:gt(0):nonzero()
local y = where(x:gt(0), x, 0):relu()
math.floor(x[{ 1, 1 }])
if equal(x[1], x[2]) then x = x + 1 end
]]

local function recorded(dev)
    local f = assert(load(script, "=would"))
    return g.profile.run(function() f(dev) end)
end
local function lines(list)
    local out = {}
    for _, r in ipairs(list) do
        out[#out + 1] = ("%d %s %s %d"):format(r.line, r.why, r.what, r.count)
    end
    table.sort(out)
    return table.concat(out, "\n")
end

local cpu = recorded "cpu"
local waits = cpu:sync()
t.is(#waits, 0, "nothing waits on the CPU")
t.is(lines(waits.reads), [[
10 item math.floor 1
11 item equal 1
3 item item 3
4 branch branch 1
5 print print 1
6 tolist tolist 1
7 shape masked_select 1
8 shape nonzero 1]], "what would wait on a card is listed by line")
local sim = recorded "sim"
t.is(lines(sim:sync()), lines(waits.reads), "as what waits on sim")
t.is(#sim:sync().reads, 0, "and of a record with a device nothing is listed")
t.ok(tostring(waits):find("these lines would make the host wait on a card", 1, true)
    and tostring(waits):find("not measured", 1, true), "which is said", tostring(waits))
t.ok(tostring(waits):find("would:3, item: in a loop keep the number on the device", 1, true),
    "with what to write instead", tostring(waits))
cpu:save(folder .. "/cpu.prof")
t.is(lines(g.profile.load(folder .. "/cpu.prof"):sync().reads), lines(waits.reads),
    "a saved profile has them")
local sum = 0
for _, r in ipairs(cpu:rows()) do sum = sum + r.self_cpu_time_total end
t.is(sum, cpu.wall_ns, "rows add up to the wall time")

-- ---- a trace of PyTorch ----

local r = made.trace { no_device = true }
r:op("aten::item", 0, 10)
r:op("aten::_local_scalar_dense", 1, 8)
r:op("aten::is_nonzero", 20, 10)
r:op("aten::item", 21, 8)
r:op("aten::_local_scalar_dense", 22, 6)
r:op("aten::index", 40, 10) -- by a mask
r:op("aten::nonzero", 41, 5)
r:op("aten::index", 60, 10) -- by integers
r:op("aten::linalg_solve", 80, 20)
r:op("aten::linalg_lu_solve", 81, 5) -- its own look at its factors, which a card's does not take
r:op("aten::item", 82, 3)
r:op("aten::_local_scalar_dense", 83, 1)
r:op("aten::_linalg_check_errors", 90, 5)
r:op("aten::item", 91, 3)
r:op("aten::_local_scalar_dense", 92, 1)
r:op("aten::masked_select", 110, 20)
r:op("aten::_local_scalar_dense", 112, 1)
-- An op that reads twice, one within one of its name: each waits once. Adam counts on the CPU.
r:op("aten::one_hot", 140, 20)
for _, at in ipairs { 142, 150 } do
    r:op("aten::item", at, 5)
    r:op("aten::_local_scalar_dense", at + 1, 3)
end
r:op("aten::repeat_interleave", 170, 20)
r:op("aten::repeat_interleave", 171, 18)
for _, at in ipairs { 172, 180 } do
    r:op("aten::item", at, 5)
    r:op("aten::_local_scalar_dense", at + 1, 3)
end
-- What these read themselves they read on the CPU only; multinomial asserts on a device there.
for i, name in ipairs { "std", "var", "quantile", "nanquantile", "_assert_async",
    "embedding_renorm_", "_fake_quantize_per_tensor_affine_cachemask_tensor_qparams" } do
    r:op("aten::multinomial", 400 + 20 * i, 15)
    r:op("aten::" .. name, 401 + 20 * i, 12)
    r:op(name:find "quantile" and "aten::equal" or "aten::item", 402 + 20 * i, 5)
    r:op("aten::_local_scalar_dense", 403 + 20 * i, 3)
end
for i, name in ipairs { "Adam", "LBFGS" } do
    r:region(("Optimizer.step#%s.step"):format(name), 150 + 50 * i, 40)
    r:op("aten::item", 155 + 50 * i, 5)
    r:op("aten::_local_scalar_dense", 156 + 50 * i, 3)
end
local function read(trace)
    local path = folder .. "/trace.json"
    local f <close> = assert(io.open(path, "wb"))
    f:write(trace:text())
    f:close()
    return g.profile.load(path):sync()
end
local function counted(list)
    local out = {}
    for _, row in ipairs(list) do
        local region = row.region and row.region .. ": " or ""
        out[region .. row.what] = row.count
    end
    return out
end
local of_torch = read(r)
t.error(function() g.profile.load(folder .. "/trace.json"):on "h200" end,
    "the trace has no kernel and no copy, whose times a card would change", "nor is it on a card")
t.is(counted(of_torch.reads), { ["aten::item"] = 1, ["aten::is_nonzero"] = 1, ["aten::index"] = 1,
    ["aten::linalg_solve"] = 1, ["aten::masked_select"] = 1, ["aten::one_hot"] = 1,
    ["aten::repeat_interleave"] = 1, ["Optimizer.step#LBFGS.step: aten::item"] = 1 },
    "of a trace, the outermost op around what reads a result")
t.ok(tostring(of_torch):find("total += loss.detach()", 1, true), "with PyTorch's advice",
    tostring(of_torch))
t.ok(tostring(of_torch):find("copies by to() and cpu(), and tolist(), which", 1, true)
    and tostring(of_torch):find("the first line of its function", 1, true), "and what is not told")
-- On a machine with a device, of which nothing is on the record, the program may have used it; of a
-- file that is cut the device's part may be missing.
r.no_device = nil
t.ok(tostring(read(r)):find("whether the host has waited for a device is not known, as nothing of \z
    one is on the record; these lines", 1, true), "with a device")
local whole = r.text
function r.text(self) return (whole(self):sub(1, -3)) end
local cut = read(r)
t.is({ #cut.reads, tostring(cut):find "is not known: the trace has no calls" ~= nil },
    { 0, true }, "of a file that is cut")
r:kernel("k", 340, 5, r:call("cudaLaunchKernel", 335, 2))
t.is(#read(r).reads, 0, "none where the trace has a device's work: what waits is measured")
-- A machine without a device has no waits to know of; one whose devices were not recorded may.
local function waits_of(options)
    local r = made.trace(options)
    r:op("aten::mm", 0, 100)
    local f <close> = assert(io.open(folder .. "/waits.json", "w"))
    f:write(r:text())
    f:flush()
    return tostring(g.profile.load(folder .. "/waits.json"):sync())
end
t.ok(waits_of({ no_device = true }):find("no device ran anything", 1, true), "without a device")
t.ok(waits_of():find("is not known", 1, true), "with one that was not recorded", waits_of())

t.done()
