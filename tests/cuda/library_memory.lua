-- Where the device's cache holds all memory, NVIDIA's libraries find none for handles and plans: on
-- the stand-in for CUDA the cache is given back and the op runs again. A library that found
-- none is asked again later.
local t = require "tap"
local fake = require "fake"

local function on(device, ...)
    local list = table.pack(...)
    for i = 1, list.n do list[i] = list[i]:to(device) end
    return table.unpack(list, 1, list.n)
end
local function flat(x) return x:detach():to "cpu":to "f32":reshape(-1):tolist() end
local function spd(n)
    local a = randn(n, n)
    return a:mm(a:transpose(1, 2)) + eye(n) * n
end

-- Name, whether cuDNN runs it, whether our own kernels can without any library, and what it
-- computes on a device; each with a size that is new at every call, so that there is no plan for
-- it.
local size = 0
local lstm, streams = nn.LSTM(3, 4), {}
local ops = {
    { "mm", false, false, function(d) return on(d, randn(3, size)):mm(on(d, randn(size, 4))) end },
    { "inv", false, false, function(d) return linalg.inv(on(d, spd(size + 40))) end },
    { "eigvalsh", false, false, function(d) return linalg.eigvalsh(on(d, spd(size + 40))) end },
    { "rfft", false, false, function(d) return fft.rfft(on(d, randn(2, size + 4))) end },
    { "conv2d", true, true, function(d)
        return conv2d(on(d, randn(1, 2, size + 4, 6)), on(d, randn(3, 2, 3, 3)), on(d, randn(3)))
    end },
    { "conv2d in place of a cache", true, true, function(d)
        cuda.benchmark(d ~= "cpu")
        local y = conv2d(on(d, randn(1, 2, size + 4, 7)), on(d, randn(3, 2, 3, 3)), on(d, randn(3)))
        cuda.benchmark(false)
        return y
    end },
    { "attention", true, false, function(d)
        local q = on(d, randn(1, 2, size + 3, 8):to "f16")
        return scaled_dot_product_attention(q, q, q)
    end },
    { "LSTM", true, false, function(d)
        local x = on(d, randn(size, 2, 3)):requires_grad_()
        local y = lstm:to(d)(x)
        y:sum():backward()
        return cat({ y:detach():reshape(-1), x.grad:reshape(-1) })
    end },
}

-- How many of our own kernels f ran in the place of cuDNN's.
local function kernels(f)
    local own = 0
    local prof = profile.run({}, f)
    for _, e in ipairs(prof:events()) do
        local name = e.kind == "kernel" and e.kernel or ""
        if name:find "^refused by cuDNN" then own = own + 1 end
    end
    return own
end

-- The result of op k on a stream of its own, whose handles are new, while `fault` holds; and
-- whether it is that of the cpu.
local function run(k, fault)
    size = size + 1
    manual_seed(size)
    local want, ok, got = flat(k[4] "cpu"), nil, nil
    manual_seed(size)
    local s = stream "cuda"
    streams[size] = s -- kept: a stream that is free would be used again, with its handles
    synchronize "cuda"
    fake.fault(fault)
    local own = kernels(function()
        ok, got = pcall(s.use, s, function() return flat(k[4] "cuda") end)
    end)
    fake.fault "lib_oom=0 launch=0"
    return ok, got, want, own
end

for _, k in ipairs(ops) do
    for n = 1, 4 do -- a handle, a plan, whatever comes after
        local before = memory("cuda").flushes
        local ok, got, want, own = run(k, "lib_oom=" .. n)
        local name = ("%s: no memory for what libraries make, time %d"):format(k[1], n)
        if t.ok(ok, name) then t.close(got, want, 2e-3, name .. ": the result")
        else io.stderr:write("#   ", tostring(got), "\n") end
        if k[2] then t.ok(own == 0, name .. ": it is still cuDNN's") end
        if n == 1 then
            t.ok(memory("cuda").flushes > before, name .. ": the cache was given back")
        end
    end
    local ok, got, want = run(k, "lib_oom=1+")
    if k[3] then
        t.ok(ok, k[1] .. ": our own kernels, where there never is memory")
        if ok then t.close(got, want, 2e-3, k[1] .. ": and their result") end
    else
        t.ok(not ok and tostring(got):find "failed %(%u+_[%u_]+%)",
            k[1] .. ": an error, where there never is")
    end
    local own
    ok, got, want, own = run(k, "lib_oom=0")
    t.ok(ok and own == 0, k[1] .. ": the library is asked again later")
    if ok then t.close(got, want, 2e-3, k[1] .. ": with its result") end
end

-- What convolutions are tried with is a small part of a small card.
do
    local path = os.getenv "TMPDIR" .. "/small.lua"
    local f = assert(io.open(path, "w"))
    f:write [[
local x = randn(1, 2, 9, 9, {device = "cuda"})
cuda.benchmark(true)
local y = conv2d(x, x)
print(memory("cuda").flushes, memory("cuda").peak // (1 << 20))
]]
    f:close()
    local p = assert(io.popen(("GPUSH_FAKE_MEMORY=%d %s/gpush %s 2>&1"):format(1 << 30,
        os.getenv "GPUSH_BUILD", path)))
    t.is(p:read "a", "0\t64\n", "a card of 1 GiB tries convolutions with 64 MiB")
    p:close()
end

-- A launch without memory (a kernel that is loaded on its first use) runs again, too, unless the
-- call has written what it reads.
do
    local x, before = arange(1, 1000):to { device = "cuda", dtype = "f32" }, memory("cuda").flushes
    fake.fault "launch=1:2"
    t.is((x + 1)[1000]:item(), 1001, "a launch without memory runs again")
    t.ok(memory("cuda").flushes > before, "after the cache was given back")
    fake.fault "launch=1:2"
    x:add_(1)
    t.is(x[1000]:item(), 1001, "in place, too, where nothing was written yet")
    fake.fault "launch=1-2:2"
    t.error(function() return x * 2 end, "mul: .*cudaErrorMemoryAllocation", "once, and no more")
    t.is((x * 2)[1]:item(), 4, "and the device goes on")
end

-- What a script prints on a device with 60 MiB.
local script = os.getenv "TMPDIR" .. "/full.lua"
local function on_little(text)
    local file = assert(io.open(script, "w"))
    file:write(text)
    file:close()
    local child = assert(io.popen(("GPUSH_FAKE_MEMORY=%d %s/gpush %s 2>&1"):format(60 << 20,
        os.getenv "GPUSH_BUILD", script)))
    local out = child:read "a"
    child:close()
    return out
end
-- The same by a device that is full of cached memory.
t.is(on_little [[
local function fill()
    local keep = {}
    local like = {device = "cuda", dtype = "f32"}
    local function more() keep[#keep + 1] = full({1 << 18}, 1, like) end
    while pcall(more) do end
    keep = nil
    collectgarbage()
    synchronize "cuda"
end
local x, w = ones(8, 8, {device = "cuda"}), ones(1, 1, 3, 3, {device = "cuda"})
fill()
print(memory("cuda").cached >= 40 << 20, x:mm(x)[1][1]:item())
fill()
print(memory("cuda").cached >= 40 << 20, linalg.inv(eye(70, {device = "cuda"}))[1][1]:item())
fill()
print(memory("cuda").cached >= 40 << 20, conv2d(x:view(1, 1, 8, 8), w)[1][1][1][1]:item())
]], "true\t8.0\ntrue\t1.0\ntrue\t9.0\n", "a device that is full of cached memory")
-- Sizes that change: they are parts of the same segments, which AddressSanitizer does without.
if not os.getenv("GPUSH_SAN"):find "address" then
    t.is(on_little [[
local fake = require "fake"
local function step(i)
    local x = full({(i % 12 + 1) << 18}, 1, {device = "cuda", dtype = "f32"})
end
for i = 1, 24 do step(i) end
local before = fake.count "malloc"
for i = 1, 120 do step(i) end
print(fake.count "malloc" - before, memory("cuda").in_use + memory("cuda").cached < 60 << 20)
]], "0\ttrue\n", "sizes that change need no new memory")
end
t.done()
