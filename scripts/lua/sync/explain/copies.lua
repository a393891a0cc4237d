--!plain
-- Cards of sync.explain: copies between the host and a device. See cards.lua.
return {
    { "copy H2D", "copy: to",
        "Memory that is not pinned may be given back to the system at any time, so a copy of it \z
        must end before the host goes on. A pinned tensor is copied while Lua goes on.",
        calls = { "to", "index" },
        setup = "c = (arange(1, 262144) % 7):to 'f32' p = c:pin_memory()",
        waits = [[
local y = zeros(262144, {device = d})
for i = 1, 30 do
    y = y + c:to(d)
end
result = y:sum():item()]],
        instead = [[
local y = zeros(262144, {device = d})
for i = 1, 30 do
    y = y + p:to(d, {non_blocking = true})
end
result = y:sum():item()]] },
    { "copy D2H", "copy: to cpu",
        "A copy to the host waits for what it copies. Results that are collected on the device \z
        are copied once.",
        calls = { "to" },
        setup = "x = (arange(1, 4096, {device = d}) % 7):to 'f32'",
        waits = [[
local rows = {}
for i = 1, 50 do
    rows[i] = (x * i):cpu()
end
result = stack(rows):sum():item()]],
        instead = [[
local rows = {}
for i = 1, 50 do
    rows[i] = x * i
end
result = stack(rows):cpu():sum():item()]] },
    { "strided", "copy: to, of a strided tensor",
        "Only contiguous pinned memory is copied while Lua goes on: a transposed one is first \z
        made contiguous, in memory that is not pinned. Copied as it lies, it is turned on the \z
        device.",
        setup = "p = (arange(1, 262144) % 7):to 'f32':reshape(512, 512):pin_memory()",
        calls = { "to", "copy_" },
        waits = [[
local y = zeros(512, 512, {device = d})
for i = 1, 20 do
    y = y + p:t():to(d, {non_blocking = true})
end
result = y[1]:sum():item()]],
        instead = [[
local y = zeros(512, 512, {device = d})
for i = 1, 20 do
    y = y + p:to(d, {non_blocking = true}):t()
end
result = y[1]:sum():item()]] },
    { "copy_", "copy: copy_",
        "A copy into memory that is not pinned must end before the host goes on. Into pinned \z
        memory, of the same dtype, it is queued, and whoever reads it waits for it alone.",
        setup = "x = (arange(1, 262144, {device = d}) % 7):to 'f32' \z
            c = zeros(262144) p = c:pin_memory()",
        waits = [[
for i = 1, 20 do
    c:copy_(x * i)
end
result = c:sum():item()]],
        instead = [[
for i = 1, 20 do
    p:copy_(x * i, {non_blocking = true})
end
result = p:sum():item()]] },
    { "literal", "copy: tensor",
        "Numbers that a script writes down are in the host's memory, and copied from there. full, \z
        zeros, arange and similar ones make them on the device.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):to 'f32'", calls = { "to" },
        waits = [[
local y = x
for i = 1, 50 do
    y = y * tensor(2, {device = d}) % 1000
end
result = y:sum():item()]],
        instead = [[
local y = x
for i = 1, 50 do
    y = y * full({}, 2, {device = d}) % 1000
end
result = y:sum():item()]] },
    { "save", "copy: npy.save",
        "What is written to a file must be on the host. Saved every 10 steps, it waits there \z
        only.",
        setup = "x = zeros(4096, {device = d}) file = os.tmpname()",
        calls = { ".save" },
        waits = [[
local y = x
for i = 1, 20 do
    y = y + 1
    npy.save(file, y)
end
result = npy.load(file):sum():item()
os.remove(file)]],
        instead = [[
local y = x
for i = 1, 20 do
    y = y + 1
    if i % 10 == 0 then npy.save(file, y) end
end
result = npy.load(file):sum():item()
os.remove(file)]] },
    { "arrival", "copy: an op on the host",
        "A copy to the host that nobody waits for comes when the device gets to it. Whoever uses \z
        it before waits; used later, or by sync.async, it is there.",
        setup = "x = (arange(1, 65536, {device = d}) % 7):to 'f32'", ops = true,
        calls = { "collate", "batch", "loader" },
        waits = [[
local total = zeros({})
for i = 1, 30 do
    local v = (x * i):sum():to("cpu", {non_blocking = true})
    total = total + v
end
result = total:item()]],
        instead = [[
local total = zeros({})
for i = 1, 30 do
    sync.async((x * i):sum(), function(v) total = total + v end)
end
sync.finish()
result = total:item()]] },
    { "reuse", "reuse",
        "A queued copy still reads the pinned tensor, so a write to it must wait. Two tensors \z
        in turn let the host fill one while the other is copied.",
        setup = "p = zeros(262144):pin_memory() q = zeros(262144):pin_memory()",
        waits = [[
local y = zeros(262144, {device = d})
for i = 1, 20 do
    p:fill_(i)
    y = y + p:to(d, {non_blocking = true})
end
result = y:sum():item()]],
        instead = [[
local y = zeros(262144, {device = d})
for i = 1, 20 do
    local free = ({p, q})[i % 2 + 1]
    free:fill_(i)
    y = y + free:to(d, {non_blocking = true})
end
result = y:sum():item()]] },
}
