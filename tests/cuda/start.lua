-- The CUDA device in separate processes on the stand-in: opening it, several devices, missing
-- parts, Ctrl-C.
local t = require "tap"
local build = os.getenv "GPUSH_BUILD"
-- Two devices with all libraries take half a minute under TSan where nothing else runs.
local seconds = (os.getenv "GPUSH_SAN" or "") == "" and 60 or 300

-- What gpush prints for a script, both outputs, with these settings of the environment.
local function run(settings, text, how)
    local path = os.getenv "TMPDIR" .. "/child.lua"
    local f = assert(io.open(path, "w"))
    f:write(text)
    f:close()
    local p = assert(io.popen(("env %s timeout -k 1 %d %s/gpush %s %s 2>&1"):format(
        settings, seconds, build, how or "", path)))
    local out = p:read "a"
    p:close()
    return out
end
local function prints(settings, text, want, name)
    local out = run(settings, text)
    if not t.ok(out:find(want) ~= nil, name) then
        io.stderr:write("#   ", out, "#   expected ", want, "\n")
    end
end

-- existing devices
prints("GPUSH_FAKE_DEVICES=0", "print(cuda.is_available()) print(ones(2, {device = 'gpu'}).device)",
    "^false\tcuda: no CUDA%-capable device[^\n]*\nsim:0\n$",
    "without a device gpu is sim, and the reason is printed")
prints("GPUSH_FAKE_DRIVER=12000", "print(pcall(ones, 2, {device = 'cuda'}))",
    "^false\t[^\n]*ones: no CUDA device here %(the driver is for CUDA 12%.0, and this build of \z
        gpush needs 13%.0: update the driver", "a driver that is too old")
prints("GPUSH_FAKE_DRIVER=12080",
    "print(ones(2, {device = 'gpu'}).device, ones(2, {device = 'gpu'}).device)",
    "^gpush: \"gpu\" is the simulated device here: cuda: the driver is for CUDA 12%.8, [^\n]*\n\z
        sim:0\tsim:0\n$", "whoever asks for gpu beside such a driver is warned, once")
prints("GPUSH_FAKE_DRIVER=12080", "print(cuda.is_available())",
    "^false\tcuda: the driver is for CUDA 12%.8", "who asks whether there is one is not")
prints("GPUSH_FAKE_ARCH=70", "print(pcall(ones, 2, {device = 'cuda'}))",
    "compute capability 7%.0; 7%.5 or more is needed", "a GPU that is too old")
prints("GPUSH_CUDA_PLUGIN=/nowhere.so",
    "print(pcall(ones, 2, {device = 'cuda'})) print(ones(2, {device = 'gpu'}).device)",
        "no CUDA device here %(the plug%-in is not there.*%); device = \"gpu\" is cuda where \z
            .*\nsim:0", "no plug-in")
-- A plug-in for an older CUDA beside one that the driver is too old for.
local too_new, usable = build .. "/fake/plugin_too_new.so", build .. "/fake/libgpush_cuda.so"
prints(("GPUSH_CUDA_PLUGIN=%s:%s"):format(too_new, usable),
    "print(ones(2, {device = 'gpu'}).device, (cuda.is_available()))", "^cuda:0\ttrue\n$",
    "the plug-in that the driver can run is taken")
prints(("GPUSH_CUDA_PLUGIN=%s:/nowhere.so"):format(too_new), "print(cuda.is_available())",
    "^false\tcuda: the driver is for an older CUDA", "without one the first says why")
prints(("GPUSH_FAKE_DRIVER=12000 GPUSH_CUDA_PLUGIN=%s:%s"):format(usable, too_new),
    "print(cuda.is_available())", "^false\tcuda: the driver is for CUDA 12%.0",
    "one that the driver cannot run either does not replace it")
prints(("GPUSH_CUDA_PLUGIN=/nowhere.so:%s"):format(usable),
    "print(ones(2, {device = 'gpu'}).device)", "^cuda:0\n$", "the second alone will do")
for _, use in ipairs { "ones(2):cuda()", "ones(2):to 'cuda'", "ones(2):to{device = 'cuda:1'}",
    "zeros(2, {device = 'cuda'})",
    "nn.Linear(2, 2):cuda()", "stream 'cuda'", "cuda.synchronize()", "cuda.empty_cache()",
    "cuda.memory_summary()",
    "cuda.get_device_name()", "cuda.current_stream()" } do
    prints("GPUSH_FAKE_DEVICES=0", "print(pcall(load [[local y = " .. use .. "]]))",
        "^false\t[^\n]*no CUDA device here %([^\n]*%); device = \"gpu\" is cuda where there is \z
            one and the simulated device elsewhere\n$",
        use .. " without a device names gpu")
end
prints("", "print(ones(2, {device = 'gpu'}).device)", "^cuda:0\n$",
    "gpu is cuda where there is one")
prints("CUDA_LAUNCH_BLOCKING=1", "ones(2, {device = 'cuda'}) ones(2, {device = 'cuda'})",
    "^gpush: CUDA_LAUNCH_BLOCKING=1: every launch waits until it is done\n$",
    "CUDA_LAUNCH_BLOCKING is said, once")
prints("",
    "local f = io.open '/proc/self/maps' print((f:read 'a'):find 'libgpush_cuda') ones(2, {device \z
        = 'cuda'}) f = io.open '/proc/self/maps' print((f:read 'a'):find 'libgpush_cuda' ~= nil)",
    "^nil\ntrue\n$", "the plug-in is opened when a CUDA device is first asked for, not before")

-- the doctor names each library, its path, and what is missing
local function doctor(settings)
    local p = assert(io.popen(("env %s %s/gpush doctor"):format(settings, build)))
    local text = p:read "a"
    p:close()
    return text
end
local all = doctor ""
local found = all:find "ok  CUDA runtime" and all:find "has run on an NVIDIA"
for _, name in ipairs { "cuBLAS", "cuSOLVER", "cuFFT", "cuDNN", "CUPTI" } do
    found = found and all:find("ok  " .. name .. " ")
end
t.ok(found, "the doctor finds the stand-ins of NVIDIA's libraries")
-- The plug-in without them: a missing library has a line that says what to do.
local alone = os.getenv "TMPDIR" .. "/alone"
os.execute(("mkdir %s && cp %s/fake/libgpush_cuda.so %s/fake/libfakecudart.so %s"):format(
    alone, build, build, alone))
all = doctor("GPUSH_CUDA_LIBRARIES=/nowhere CUDA_HOME=/nowhere GPUSH_CUDA_PLUGIN=" .. alone ..
    "/libgpush_cuda.so")
t.ok(all:find "ok  cuDNN "
    or all:find "%-%-  cuDNN [^\n]*libcudnn[^\n]*\n +convolutions on a GPU are slow without \z
        it[^\n]*pip install", "what is missing comes with what to do")

-- two devices
local two = [[
local function on(d, n, v) return full({n}, v, {device = d, dtype = "f32"}) end
local a, b = on("cuda:0", 300000, 3), on("cuda:1", 300000, 4)
assert(a.device == "cuda:0" and b.device == "cuda:1" and #cuda.devices() == 2)
local fake = require "fake"
fake.fault "slow=1:150"
local y = a + 1                     -- on cuda:0, which is at work
local z = y:to "cuda:1"             -- queued on cuda:1 after that
y, a = nil, nil
collectgarbage()
local other = on("cuda:0", 300000, 9)
local sum = z + b
assert(sum[300000]:item() == 8 and other[1]:item() == 9, "a copy between devices waits for both")
assert(not pcall(function() return other + b end))
print(select(2, pcall(function() return other + b end)))
assert(memory("cuda:0").in_use > 0 and memory("cuda:1").in_use > 0)
synchronize()
local there = ones(5, {device = "sim"}):to "cuda:1"
assert(there:tolist()[5] == 1 and (there + 1):to "sim":tolist()[5] == 2, "to and from sim")
fake.fault "sticky=1 slow=1:20"
local bad = other + 1
print(select(2, pcall(synchronize, "cuda:0")))
assert((b + 1)[1]:item() == 5, "the other device lives on")
print "done"
]]
local out = run("GPUSH_FAKE_DEVICES=2", two)
t.ok(out:find "cuda:0" and out:find "cuda:0 is dead" and out:find "\ndone\n$",
    "two devices: copies, order, memory of their own, one dies alone")
if not out:find "\ndone\n$" then io.stderr:write("#   ", out) end

-- Ops that need handles, plans, scratch memory and events of their device, alternately on two
-- devices: a launch into a stream of another device than the thread's is an error. The results are
-- the same on both, and those of the cpu.
local turns = [[
manual_seed(3)
local x, w = randn(4, 3, 8, 8), randn(5, 3, 3, 3)
local m, v, labels = randn(6, 6), randn(300), tensor {1, 3, 2, 5}
local cell = nn.LSTM(8, 5)
local function all(d)
    local function on(t) return t:to(d) end
    local net = cell:to(d)
    local a = on(x):detach():requires_grad_()
    local y = conv2d(a, on(w))
    local loss = cross_entropy(y:mean({3, 4}), on(labels)) + net(a[1])[1]:sum()
    loss:backward()
    local list = {
        y, a.grad, on(m):mm(on(m)), linalg.inv(on(m)), (linalg.svdvals(on(m))), on(v):sort(),
        fft.rfft(on(v)), on(v):topk(3), on(x):cumsum(2), on(v):unique(), on(v)[on(v) > 0],
        a.grad:std(), on(v):scatter_add(1, tensor({1, 1, 2}):to(d), on(v)["1:3"]),
    }
    cell:to "cpu"
    for i, r in ipairs(list) do list[i] = r:detach() end
    return list
end
local want, got = all "cpu", { ["cuda:0"] = {}, ["cuda:1"] = {} }
for round = 1, 2 do
    for d in pairs(got) do got[d] = all(d) end
end
for d, list in pairs(got) do
    for i, r in ipairs(list) do
        assert(r.device == d, d)
        local far = (r:to "cpu" - want[i]):abs():amax():item()
        assert(far < 1e-4, d .. ": result " .. i .. " is off by " .. far)
        local moved = r:to(d == "cuda:0" and "cuda:1" or "cuda:0")
        assert((moved:to "cpu" - r:to "cpu"):abs():amax():item() == 0, "and over there")
    end
end
local s = stream "cuda:1"
local b = want[1]:to "cuda:1"
synchronize()
-- from a stream beside the default one
local z = s:use(function() return (b * 2):to "cuda:0" end) + 1
assert(((z:to "cpu" - want[1] * 2):abs() - 1):abs():amax():item() < 1e-6)
print "done"
]]
out = run("GPUSH_FAKE_DEVICES=2", turns)
if not t.ok(out == "done\n", "libraries, sorts, backward and copies on two devices in turn") then
    io.stderr:write("#   ", out)
end

-- Ctrl-C: the wait ends long before the kernel, the session continues, and memory in use is not
-- reused
local ctrl_c = [[
fake, x = require "fake", full({300000}, 1, {device = "cuda", dtype = "f32"})
synchronize "cuda"
pid = io.popen "echo $PPID":read "l"
fake.fault "slow=1:50000"
y, s = x + 1, current_stream "cuda"
os.execute("(sleep 0.5; kill -INT " .. pid .. ") &")
%s
print("back", s:busy())
x = nil collectgarbage()
z, other = full({300000}, 7, {device = "cuda", dtype = "f32"}), s:busy()
fake.fault "slow=0"
print(y[1]:item(), z[300000]:item(), other)
]]
for what, wait in pairs { ["of one element"] = "y[5]:item()",
    ["of a large copy"] = 'w = zeros(1 << 20):to "cuda"', ["of the device"] = 'synchronize "cuda"' }
do
    local found = run("", ctrl_c:format(wait), "-i <")
    if not t.ok(found:find "interrupted.*back\ttrue\n.*2%.0\t7%.0\ttrue\n",
        "Ctrl-C ends a wait " .. what) then
        io.stderr:write("#   ", found)
    end
end

-- a bad index
local bad = [[
local x = full({5}, 2, {device = "cuda", dtype = "f32"})
local i = tensor({1, 6}):to "cuda"
local ok, y = pcall(index_select, x, 1, i) -- on a GPU only the kernel sees it
print(ok, ok or y)
print(select(2, pcall(synchronize, "cuda")))
print((x + 1)[5]:item())
]]
out = run("", bad)
if not t.ok(out:find "^true\ttrue\n[^\n]*index_select: [^\n]*6[^\n]*child%.lua:3[^\n]*\n3%.0\n$",
    "a bad index is raised by the next wait, with op and line, and the device lives on") then
    io.stderr:write("#   ", out)
end
-- the threads that meet a bad index after the first do not go to the host's memory
out = run("", [[
local fake = require "fake"
local there = {device = "cuda", dtype = "i32"}
local x, none = full({200000}, 1, there), zeros({200000}, there)
local before = fake.count "system atomic"
local y = x // none
print(select(2, pcall(synchronize, "cuda")))
print(fake.count "system atomic" - before <= 4)
for i = 1, 2100 do -- each slot for faults is used again
    local bad, by = i == 3 or i == 1027, x
    if bad then by = none end
    local z = x["1:3"] // by["1:3"]
    local ok = pcall(synchronize, "cuda")
    if ok == bad then print("division", i, ok) end
end
]])
if not t.ok(out:find "^[^\n]*floor_divide: integer division by zero[^\n]*\ntrue\n$",
    "200000 zero divisors are one fault, and a slot tells each launch's own") then
    io.stderr:write("#   ", out, "\n")
end

-- Where streams share one hardware queue, a comparison of clocks would wait for another's kernel.
prints("CUDA_DEVICE_MAX_CONNECTIONS=1", [[
local fake, x = require "fake", ones(1000, {device = "cuda"})
local first, second = stream "cuda", stream "cuda"
local y = x + 1
synchronize "cuda"
os.execute "sleep 2.1" -- clocks are compared again after two seconds
fake.fault "slow=1:200"
second:use(function() y = x * 2 end)
fake.fault "slow=1:50000"
first:use(function() x = x + 1 end)
second:synchronize()
print(first:busy())
fake.fault "slow=0"]], "^true\n$",
    "a wait does not wait for another stream's kernel to compare clocks")
prints("", [[
local fake, x, streams = require "fake", ones(1000, {device = "cuda"}), {}
synchronize "cuda"
for i = 1, 20 do streams[i] = stream "cuda" end
fake.fault "slow=1:50000"
streams[1]:use(function() local y = x + 1 end)
for i = 2, 20 do streams[i]:use(function() return (x * i)[1]:item() end) end
print(streams[1]:busy())
fake.fault "slow=0"]], "^true\n$", "20 streams have queues of their own")

-- CUDA's own error is what a call names that finds the device dead, not what failed of it
for what, call in pairs { ["an event"] = "s:record()",
    ["cuBLASLt"] = "x:mm(x)", ["cuSOLVER"] = "linalg.inv(x)", ["cuFFT"] = "fft.rfft(x)",
    ["cuDNN"] = "conv2d(x:view(1, 1, 64, 64), x:view(1, 1, 64, 64))" } do
    prints("", ([[
local x, s = eye(64, {device = "cuda"}), stream "cuda"
local function call() return %s end
local kept = {} -- all events of the pool, so that the next one is made
for i = 1, 40 do kept[i] = s:record() end
call()
synchronize "cuda"
require "fake".fault "sticky=1 slow=1:100" -- not before the launch has returned
local y = x + 1
os.execute "sleep 0.3"
print(select(2, pcall(call)))
print(select(2, pcall(call)))]]):format(call),
        "^[^\n]*cudaErrorIllegalAddress[^\n]*\n[^\n]*cuda:0 has been dead",
        "after a sticky error " .. what .. " names it, and the device is dead")
end
t.done()
