-- Calls of CUDA from a thread that has made none, as where a host program calls gpush on several: a
-- context is made current there before the driver is called or an event asked, and CUPTI is not
-- detached beside other threads' calls.
local t = require "tap"
local fake = require "fake"
local build, scratch = os.getenv "GPUSH_BUILD", os.getenv "TMPDIR"

-- What gpush prints for a script, both outputs, with these settings of the environment.
local function run(settings, text)
    local path = scratch .. "/child.lua"
    local f = assert(io.open(path, "w"))
    f:write("fake = require 'fake'\n", text)
    f:close()
    local p = assert(io.popen(("env %s timeout -k 1 60 %s/gpush %s 2>&1"):format(settings, build,
        path)))
    local out = p:read "a"
    p:close()
    return out
end

t.is(run("GPUSH_FUSE_COMPILE=wait", [[
local function fn(x) return x * 2 + 1 end
local f, x = fuse(fn), randn(64, {device = "cuda"})
f(x)
local y = fake.thread(f, x)
local _, n = fuse_compile()
print(n.compiled + n.loaded, n.failed, n.why, y:equal(fn(x)))
]]), "1\t0\tnil\ttrue\n", "a fresh thread's first call is of a fused function")

t.is(run("GPUSH_FAKE_DEVICES=2", [[
local x = ones(64, {device = "cuda:1"})
synchronize()
fake.fault "slow=1+:1000"
local copy, e = (x + 1):to("cpu", {non_blocking = true}), current_stream("cuda:1"):record()
print(fake.thread(function()
    local early = e:done()
    return early, copy[1]:item()
end))
print(fake.thread(function() return e:done(), e:elapsed(e) end))
print(fake.count "context")
]]), "false\t2.0\ntrue\t0.0\n1\n", "asking events makes no context on another card")

-- The thread whose copy comes second does not find the access that the first is enabling.
t.is(run("GPUSH_FAKE_DEVICES=2", [[
local from, to = full({9}, 7.0, {device = "cuda:0"}), ones(1, {device = "cuda:1"})
fake.fault "peer=1:200"
fake.start 'return gpush.full({9}, 5.0, {device = "cuda:0"}):to "cuda:1":sum():item()'
repeat until fake.count "peer access" > 0
local sum = from:to "cuda:1":sum():item()
print(sum, fake.join(), fake.count "peer access", fake.count "copy through the host")
]]), "63.0\t45.0\t1\t0\n", "a copy between cards waits until another thread has made them peers")

local x = ones(9, { device = "cuda" })
local function detached(fn, ...)
    local before = fake.count "CUPTI detached"
    profile.run({}, fn, ...)
    os.execute "sleep 0.35" -- what it stays attached for
    local _ = x + 1
    return fake.count "CUPTI detached" - before
end
local function add() return x + 1 end
t.is({ detached(add), detached(fake.thread, add), detached(add) }, { 1, 0, 1 },
    "CUPTI stays after a record in which two threads called CUDA, until the next")
t.done()
