-- Memory of a CUDA device comes in segments, which blocks share: on the stand-in for CUDA, shapes
-- that change need no cudaMalloc, and a device that is full gives back only as much as it must.
local t = require "tap"
local fake = require "fake"
if os.getenv("GPUSH_SAN"):find "address" then
    t.skip_all "AddressSanitizer checks separate blocks"
end

local like = { device = "cuda", dtype = "f32" }
local w = randn(64, 4, like)

-- A step on a batch whose length is another one each time.
local function step(i)
    local x = full({ 50 + i * 29 % 211, 64 }, 1, like)
    return (x:matmul(w) + cat({ x, x, x }):sum()):relu():sum()
end
for i = 1, 40 do step(i) end
local mallocs, frees, first = fake.count "malloc", fake.count "free", memory "cuda"
for i = 1, 100 do step(i) end
synchronize "cuda"
local now = memory "cuda"
t.ok(fake.count "malloc" - mallocs <= 4, "100 steps of other lengths: new segments: "
    .. fake.count "malloc" - mallocs)
t.is(fake.count "free" - frees, 0, "and none was given back")
local made = now.allocations - first.allocations
t.ok(made >= 600 and now.reused - first.reused >= made - 4,
    "their blocks are parts of those that were there")

-- Parts of a segment that different streams use, of which each has its own value.
do
    local s, list = stream "cuda", {}
    for i = 1, 40 do
        local function make() return full({ 1000 + 77 * i }, i, like) end
        if i % 2 == 0 then list[i] = make() else list[i] = s:use(make) end
        if i % 3 == 0 then list[i - 1] = list[i - 1] + 0 end
    end
    collectgarbage()
    local right = true
    for i, x in ipairs(list) do
        right = right and x:amin():item() == i and x:amax():item() == i
    end
    t.ok(right, "blocks of two streams keep their values")
end

-- What a script prints on a device with 100 MiB.
local script = os.getenv "TMPDIR" .. "/full.lua"
local file = assert(io.open(script, "w"))
file:write [[
local fake = require "fake"
local like = { device = "cuda", dtype = "u8" }
local function cached() return math.floor(memory("cuda").cached / (1 << 20) + 0.5) end
local function hold(mib) return zeros((mib << 20) - 4096, like) end
local list = { hold(12), hold(16), hold(24), hold(32) }
local small = zeros(1000, like)
list = nil
collectgarbage()
synchronize "cuda"
local before = fake.count "free"
local function freed() return fake.count "free" - before end
print(cached()) -- four segments, and most of the one of `small`
local x = hold(26) -- a part of 32
print(cached(), freed())
local y = hold(31) -- in a segment of 32; the device has 14, and the one of 24 is enough
print(cached(), freed())
local z = hold(24) -- the device has 6: those of 12 and 16 are needed
print(cached(), freed())
print(x[1]:item(), y[-1]:item(), z[7]:item(), small[3]:item())
local ok, err = pcall(hold, 60)
print(ok, err:match "out of memory on cuda:0: requested 60.0 MiB")
]]
file:close()
local child = assert(io.popen(("GPUSH_FAKE_MEMORY=%d %s/gpush %s 2>&1"):format(100 << 20,
    os.getenv "GPUSH_BUILD", script)))
t.is(child:read "a", "86\n60\t0\n37\t1\n9\t3\n0\t0\t0\t0\n\z
    false\tout of memory on cuda:0: requested 60.0 MiB\n", "a full device gives back what it must")
child:close()
t.done()
