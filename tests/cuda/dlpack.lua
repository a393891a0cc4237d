-- DLPack on the stand-in for CUDA: what an export says, order with another library's streams, and
-- whose memory is freed when.
local t = require "tap"
package.cpath = os.getenv "GPUSH_BUILD" .. "/tests/?.so;" .. package.cpath
local peer, fake = require "peer", require "fake"
local dev = "cuda"
local function collect() for _ = 1, 2 do collectgarbage() end end

local x = ones(1000, { device = dev })
synchronize(dev)
local function export(options)
    local y = x + 1
    sync.reset()
    local waited = fake.count "event"
    local p = y:to_dlpack(options):pointer()
    local r = { #sync.lines(), fake.count "event" - waited, peer.read(p) }
    peer.delete(p)
    synchronize(dev)
    return r
end
fake.fault "slow=0"
local r = export()[3]
t.is({ r.device, r.device_id, r.shape, r.code, r.bits }, { 2, 0, { 1000 }, 2, 32 }, "cuda's memory")
fake.fault "slow=1:100"
r = export()
t.is({ r[1], r[2] }, { 1, 0 }, "without a stream the host waits for the work")
fake.fault "slow=1:100"
r = export { stream = 1 }
t.is({ r[1], r[2] }, { 0, 1 }, "with one that stream waits, by an event, and the host does not")
fake.fault "slow=1:100"
r = export { stream = -1 }
t.is({ r[1], r[2] }, { 0, 0 }, "or nobody does")
t.error(function() export { stream = 0 } end, "to_dlpack: stream: expected 1 .*, got 0",
    "0 is none")
fake.fault "slow=0"

-- Memory of the other library's on the card.
local theirs = full({ 1 << 20 }, 3, { device = dev, dtype = "f32" })
local held = theirs:to_dlpack():pointer()
local function make(device_id)
    return peer.make { device = 2, device_id = device_id or 0, shape = { 1 << 20 },
        data = peer.read(held).data }
end
peer.deleted()
local before = fake.count "event"
local y = from_dlpack(make())
t.is({ y.device, fake.count "event" - before }, { "cuda:0", 1 },
    "an import comes after the legacy stream")
t.is(y:sum():item(), 3.0 * (1 << 20), "its elements")
before = fake.count "event"
local z <close> = from_dlpack(make(), { stream = -1 })
t.is(fake.count "event" - before, 0, "or after nothing")
t.is(z[5]:item(), 3.0, "the same elements")

-- The other's memory is given back when no queued work uses it any more.
fake.fault "slow=1:300"
local sum = y + 1
y = nil
collect()
t.is(peer.deleted(), 0, "not while an op reads it")
t.is(sum[1]:item(), 4.0, "which has what was there")
synchronize(dev)
for i = 1, 3 do local _ = ones(i * 100000, { device = dev }) end
t.is(peer.deleted(), 1, "but once it is done and memory is next asked for")
local at = make(7)
t.error(function() from_dlpack(at) end, "there is only cuda:0", "a card that is not there")
peer.delete(at)
peer.deleted()

-- Of memory that may only be read a copy is made on the card.
at = peer.make { device = 2, shape = { 4 }, data = peer.read(held).data, flags = 1 }
y = from_dlpack(at)
y:add_(1)
t.is({ y:tolist(), theirs[1]:item() }, { { 4.0, 4.0, 4.0, 4.0 }, 3.0 }, "a copy")
peer.delete(held)
t.done()
