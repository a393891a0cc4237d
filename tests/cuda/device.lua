-- The CUDA device on the stand-in: its waits, memory and streams, and injected faults.
local t = require "tap"
local fake = require "fake"
local dev = "cuda"

local function filled(n, v) return full({ n }, v, { device = dev, dtype = "f32" }) end
local function last(list) return list[#list] end
-- The next launch takes ms longer.
local function slow(ms) fake.fault("slow=1:" .. ms) end

local x = filled(1000, 1)
synchronize(dev)

-- what the table cuda says
t.ok(cuda.is_available(), "there is a device")
t.is(#cuda.devices(), 1, "one")
t.is(cuda.devices()[1].name, "cuda:0", "with a name")
t.is({ cuda.get_device_capability() }, { 9, 0 }, "and a capability")
t.ok(cuda.memory_allocated() >= 4000 and cuda.max_memory_allocated() >= cuda.memory_allocated(),
    "memory in use and its peak")
t.ok(cuda.memory_summary():find "in use" and cuda.memory_summary():find "peak", "a summary")
t.error(function() ones(1, { device = "cuda:1" }) end, "device 'cuda:1': there is only cuda:0",
    "a device that is not there")

t.is({ cuda.tf32(), cuda.deterministic(), cuda.benchmark() }, { false, true, false },
    "what libraries may do at first")
t.is({ cuda.tf32(true), cuda.tf32(), cuda.tf32(false) }, { true, true, false }, "and is switched")
t.error(function() cuda.tf32(1) end, "expected true or false, got 1", "by true and false")

-- a launch returns before it is done, and only the gate waits
do
    slow(50000)
    sync.reset()
    local y = x + 1
    t.ok(current_stream(dev):busy(), "the launch has returned and its work goes on")
    t.is(#sync.events(), 0, "and that is no wait")
    fake.fault "slow=0"
    synchronize(dev)
    slow(300)
    y = x + 1
    local before = clock()
    t.is(y[7]:item(), 2, "item waits")
    local took = clock() - before
    local e = last(sync.events())
    t.is({ e.why, e.what, e.device, e.last_op }, { "item", "item", "cuda:0", "add" },
        "and is in the ledger, with the op that it waited for")
    t.ok(e.wait > 0.02 and e.wait <= took, "and the time that it took")
end

-- What keeps streams and memory in order needs no times.
do
    local other, before, all = stream(dev), fake.count "timed event", fake.count "event"
    local y = x
    for _ = 1, 40 do
        y = y + 1
        other:use(function() y = y * 1 end)
    end
    y = nil
    collectgarbage()
    t.ok(fake.count "event" - all >= 40, "streams that wait for each other record events")
    t.is(fake.count "timed event", before, "without times")
    synchronize(dev)
end

-- events: in order, timed on the host's clock, and late ones waited for
do
    local s = current_stream(dev)
    local a = s:record()
    slow(200)
    local y = x + 1
    local b = s:record()
    t.ok(not b:done(), "an event behind work that goes on is not reached")
    local d = a:elapsed(b)
    t.ok(d >= 0.2 and d < 60, "the time between two events is that of the work between them")
    fake.fault "late=1:300"
    local late = s:record()
    t.ok(not late:done(), "a late event")
    late:synchronize()
    t.ok(late:done() and b:elapsed(late) >= 0, "is waited for")
    fake.fault "late=0"
    t.is(y[1]:item(), 2, "and what was before it is done")
end

-- memory is not reused while queued work may still read it
do
    local a, b = stream(dev), stream(dev)
    local big = filled(300000, 3)
    synchronize(dev)
    slow(150)
    local y = a:use(function() return big + 1 end) -- reads big on another stream
    big = nil
    collectgarbage()
    local other = filled(300000, 9)
    local third = b:use(function() return filled(300000, 8) end)
    t.is(y[300000]:item(), 4, "freed memory that another stream reads is kept until it has")
    t.is({ other[1]:item(), third[1]:item() }, { 9, 8 },
        "and other memory was handed out meanwhile")
    other, third, y = nil, nil, nil
    collectgarbage()
    synchronize(dev)
    local before = memory(dev).reused
    local again = filled(300000, 5)
    t.ok(memory(dev).reused > before, "afterwards it is used again")
    t.is(again[1]:item(), 5, "for the next tensor")
end

-- host memory
do
    local host = ones(1 << 20):pin_memory()
    sync.reset()
    slow(300)
    local y = x + 1
    local there = host:to(dev, { non_blocking = true })
    t.is(#sync.events(), 0, "a copy from pinned memory does not wait")
    t.ok(current_stream(dev):busy(), "although the stream is at work")
    host:fill_(5)
    t.ok(#sync.events() >= 1, "writing to its source does")
    t.is({ there[1]:item(), there[1 << 20]:item(), y[1]:item() }, { 1, 1, 2 },
        "so that the copy has what it had")
    fake.fault "pinned_oom=1+"
    t.is(full({ 1 << 20 }, 5, { dtype = "f32" }):to(dev)[1 << 20]:item(), 5,
        "a large copy without pinned memory")
    fake.fault "pinned_oom=0"
    slow(60)
    y = x + 1
    local large = full({ 1 << 20 }, 2, { dtype = "f32" }):to(dev)
    t.is(large[1 << 20]:item(), 2, "a large copy of memory that is not pinned")
    local small = tensor({ 1, 2, 3 }, { dtype = "f32" }):to(dev)
    t.is(small:tolist(), { 1, 2, 3 }, "a small one")
    t.is((large + 1):to("cpu")[5]:item(), 3, "and back")
    local segment = zeros(21 << 20, { dtype = "u8", device = dev })
    t.is(segment[9]:item(), 0, "a block that is larger than what is cached")
    local names = {}
    for _, c in ipairs(sync.calls()) do names[c.what] = (names[c.what] or 0) + c.times end
    t.ok(names.cudaMalloc and names.cudaHostRegister and names.cudaMemcpyAsync == 1,
        "calls that may block are booked")
    local text = sync.report { print = false }
    t.ok(text:find("calls of the runtime that may block", 1, true)
        and text:find("cudaMemcpyAsync", 1, true), "and in the report")
    local many = arange(1, 5000001, { dtype = "f32" }) -- five parts of 4 MiB, the last one short
    local copies = fake.count "copy"
    local far = many:to(dev)
    t.is(fake.count "copy" - copies, 5, "a large copy is made in parts")
    t.is((far:cpu() - many):abs():amax():item(), 0, "there and back")
    local ids = tensor({ 1, 2 }, { device = dev })
    fake.fault "pinned_oom=1+"
    t.is(full({ 1 << 20 }, 3, { dtype = "f32" }):pin_memory():to(
        dev, { non_blocking = true })[1 << 20]:item(), 3,
        "pinned memory that cannot be locked is copied all the same")
    t.is((full({ 100000 }, 1, { dtype = "f64" }):to(dev) * 2):to("cpu")[100000]:item(), 2,
        "a small copy is made at once without any")
    t.error(function() return stream(dev):use(function() return x:index_select(1, ids) end) end,
        "index_select: pinned host memory: out of memory", "faults cannot be recorded without")
    fake.fault "pinned_oom=0"
    t.is(stream(dev):use(function() return x:index_select(1, ids) end):tolist(), { 1, 1 },
        "and no longer, once there is some")
end

-- first uses
do
    sync.reset()
    local _ = x:sinh()
    local first
    for _, c in ipairs(sync.calls()) do if c.what == "sinh" then first = c end end
    t.ok(first and first.first_use and first.times == 1, "the first use of an op is booked as such")
    local _ = x:sinh()
    for _, c in ipairs(sync.calls()) do if c.what == "sinh" then first = c end end
    t.is(first.times, 1, "the second is none")
end

-- a full queue blocks the host at a gate of its own
do
    sync.reset()
    local y, stalls = x, 0
    for attempt = 1, 5 do -- longer where the host needs that long for a thousand launches
        slow(300 * attempt)
        for _ = 1, 1500 do y = x + 1 end
        for _, e in ipairs(sync.events()) do stalls = stalls + (e.why == "queue" and 1 or 0) end
        if stalls > 0 then break end
    end
    t.ok(stalls >= 1, "a full queue is recorded")
    t.is(y[1]:item(), 2, "and loses nothing")
end

-- out of memory
do
    fake.fault "oom=1-2" -- a segment of the usual size, and one of the block's
    local y = filled(7000000, 6)
    t.is(y[1]:item(), 6, "one failed allocation is tried again after the cache was given back")
    fake.fault "oom=1+"
    local ok, msg = pcall(filled, 8000000, 1)
    t.ok(not ok and msg:find "out of memory on cuda:0: requested 30%.5 MiB, in use"
        and msg:find "device%.lua:%d+",
        "else it is an error that names the largest tensors by line")
    fake.fault "oom=0"
    t.is({ filled(8000000, 4)[1]:item(), y[7000000]:item() }, { 4, 6 }, "and the device goes on")
end

-- a launch that is refused
do
    fake.fault "launch=1"
    t.error(function() return x + 1 end, "add: .*cudaErrorLaunchOutOfResources.* on cuda:0",
        "a refused launch names the op")
    t.is((x + 2)[1]:item(), 3, "and the next one goes well")
end

-- a sticky error: the device is dead, the rest works
do
    local beside, z, event = stream(dev), nil, nil
    fake.fault "sticky=1 slow=1:100"
    local y = x + 1
    beside:use(function() z = filled(10, 3) * 2 end)
    event = beside:record()
    local ok, msg = pcall(function() return y[1]:item() end)
    t.ok(not ok and msg:find "cudaErrorIllegalAddress" and msg:find "cuda:0 is dead",
        "the wait says that the device is dead, and why")
    t.ok(msg:find "add %(.*device%.lua:%d+%)" or msg:find "last queued", "and what was queued last")
    t.error(function() return x + 1 end,
        "cuda:0 has been dead since an earlier error %(cudaErrorIllegalAddress",
            "what comes later says so too")
    for time = 1, 2 do -- a wait that succeeded would say that the work was done
        for what, wait in pairs { device = cuda.synchronize,
            stream = function() beside:synchronize() end,
            event = function() event:synchronize() end } do
            t.error(wait, "cuda:0 has been dead", ("wait %d for the %s raises"):format(time, what))
        end
    end
    t.error(function() return z[1]:item() end, "cuda:0 has been dead",
        "and what another stream had in its queue is lost")
    t.ok(pcall(synchronize), "a wait for all devices is for those that work")
    t.error(function() return x:to "cpu" end, "cuda:0 has been dead", "copies as well")
    t.error(function() return filled(2000000, 1) end, "cuda:0 has been dead", "and allocations")
    t.is((ones(3) + 1):tolist(), { 2, 2, 2 }, "the cpu lives on")
    t.is((ones(3, { device = "sim" }) + 1):tolist(), { 2, 2, 2 }, "and so does sim")
    local left = setmetatable({ x, y, z }, { __mode = "v" })
    x, y, z, event = nil, nil, nil, nil
    collectgarbage()
    t.is(next(left), nil, "tensors of the dead device are collected")
end
t.done()
