--!plain
-- Traces of torch.profiler: where the script itself was, by Python's frames, and what was not the
-- script but the profiler and its loaders. Times are worked out by hand.
local t = require "tap"
local g = require "gpush"
local made = require "torch_trace"

local path = (os.getenv "TMPDIR" or "/tmp") .. "/script.json"
local function load(trace)
    local f <close> = assert(io.open(path, "wb"))
    f:write(trace:text())
    f:close()
    return g.profile.load(path)
end
local function owed(prof)
    local out = {}
    for _, row in ipairs(prof:verdict()) do out[row.cause] = row end
    return out
end
local function rows(prof, group)
    local out = {}
    for _, row in ipairs(prof:rows { group = group }) do out[row.name] = row end
    return out
end

-- ---- functions ----
-- Of 10 ms 5 are in work(), 0.5 in a function of PyTorch's that line 22 calls, 0.2 in two ops.
-- Newer versions write the lines that call, older ones do not.
for _, lines in ipairs { true, false } do
    local function from(line) return lines and "train.py:" .. line or nil end
    local r = made.trace { no_device = true }
    r:python("train.py(3): <module>", 0, 10000, from(3))
    r:op("aten::mul", 500, 100)
    r:python("train.py(10): work", 1000, 5000, from(20))
    r:python("<built-in method tensor of type object at 0x1>", 6500, 500, from(22))
    r:op("aten::add", 7000, 100)
    local p = load(r)
    local own, version = rows(p), lines and "newer" or "older"
    t.is({ own["work (train.py:10)"].self_cpu_time_total,
        own["<module> (train.py)"].self_cpu_time_total,
        own["[unattributed]"].self_cpu_time_total }, { 5000000, 4800000, 0 }, "rows, " .. version)
    local line = rows(p, "line")
    t.is({ line["train.py:10+"].self_cpu_time_total,
        line["train.py:22"] and line["train.py:22"].self_cpu_time_total },
        { 5000000, lines and 500000 or nil }, "lines, " .. version)
    local script = owed(p).script
    t.is({ script.where, script.most, script.ns, script.worth },
        { "work (train.py:10)", 5000000, 9800000, 9800000 }, "the verdict names it, " .. version)
    t.ok(script.advice:find("work (train.py:10) has 5.000ms of it", 1, true), script.advice)
    t.ok(tostring(p:verdict()):find "first line of its function", "which says what lines are")
    t.ok(p:table { group = "line" }:find "first line of its function", "as the table by line does")
    p:save(path .. ".prof")
    t.is(rows(g.profile.load(path .. ".prof"))["work (train.py:10)"].self_cpu_time_total, 5000000,
        "saved and loaded")
    os.remove(path .. ".prof")
end

-- Operators, conditions and x[mask] are no calls: their line is one of the function's, which begins
-- at 30, and outside of functions not known. x.sum() at line 33 is one.
local r = made.trace { no_device = true }
r:python("train.py(1): <module>", 0, 4000)
r:op("aten::mul", 100, 400)
r:python("train.py(30): step", 1000, 2000, "train.py:60")
r:op("aten::add", 1100, 700)
r:python("<built-in method sum of Tensor object at 0x1>", 2000, 600, "train.py:33")
r:op("aten::sum", 2050, 500)
local p = load(r)
local line = rows(p, "line")
t.is({ line["train.py:30+"].count, line["train.py:33"].count, line["train.py:?"].count,
    line["train.py:30"] }, { 1, 1, 1 }, "rows by line")
t.is(rows(p, "stack")["aten::add"].stack, "train.py:30+ (step) < train.py:60", "a stack")
t.is({ owed(p).cpu.where, owed(p).script.where }, { "aten::add at train.py:30+",
    "<module> (train.py)" }, "the verdict")
p:folded(path .. ".folded")
local folded <close> = io.open(path .. ".folded")
t.ok(folded:read "a":find("train.py:60;train.py:30+ (step);aten::add", 1, true), "folded")
p:save(path .. ".prof")
t.is(rows(g.profile.load(path .. ".prof"), "line")["train.py:30+"].count, 1, "saved and loaded")
os.remove(path .. ".prof")
os.remove(path .. ".folded")

-- A line of a function that calls another one in a file of its own, at line 31, for 2 of 3 ms.
r = made.trace { no_device = true }
r:python("train.py(3): <module>", 0, 4000, "train.py:3")
r:python("train.py(30): step", 0, 3000, "train.py:5")
r:python("json/decoder.py(340): decode", 500, 2000, "train.py:31") -- of Python's own library
r:op("aten::add", 3000, 1000)
t.is(owed(load(r)).script.where, "step (train.py:30) at train.py:31", "a line within a function")

-- ---- what Python and libraries do for a line ----
-- Of a step of 5 ms, 3 are in one of these at line 8, which is named, and said what to do about;
-- what they call themselves is theirs. 1 ms more of the same line is the function's own.
for _, case in ipairs {
    { "print", "print every N steps", "<built-in function print>" },
    { "torch.save", "save every N steps", "torch/serialization.py(945): save",
        "torch/serialization.py(700): _save" },
    { "queue.get", "it waits for what another thread", "queue.py(154): get",
        "threading.py(288): wait", "<method 'acquire' of '_thread.lock' objects>" },
    { "threading: join", "it waits for another thread", "threading.py(1087): join" },
    { "lock.acquire", "another thread",
        "<built-in method acquire of _thread.lock object at 0x7f131c4bc100>" },
    { "time.sleep", "leave it out", "<built-in function sleep>" },
    { "input", "ask before the loop", "<built-in function input>" },
    { "subprocess", "subprocess.Popen", "subprocess.py(506): run" },
    { "socket.recv", "ahead, in a thread", "<method 'recv' of '_socket.socket' objects>" },
    { "socket.recv", "ahead, in a thread", "<built-in method recv of socket object at 0x7f>" },
    { "json.load", "once before the loop", "json/__init__.py(274): load",
        "<built-in method read of _io.TextIOWrapper object at 0x7f>" },
    { "file.read", "DataLoader's workers", "<built-in method read of _io.BufferedReader object>" },
    { "pickle.load", "once before the loop", "<built-in function load>" },
    { "logging", "QueueHandler", "logging/__init__.py(1479): info" },
    { "tqdm", "every N steps", "/usr/lib/python3/site-packages/tqdm/std.py(1231): update" },
    { "gc.collect", "no gc.collect() in the loop", "<built-in function collect>" },
    { "matplotlib", "draw every N steps", "/dist-packages/matplotlib/figure.py(33): savefig" },
    { "import", "before the loop", "<frozen importlib._bootstrap>(1165): _find_and_load" },
} do
    r = made.trace { no_device = true }
    r:python("train.py(3): <module>", 0, 5000, "train.py:3")
    for k = 3, #case do r:python(case[k], 500 + k, 3000 - 2 * k, k == 3 and "train.py:8" or nil) end
    r:python("<built-in function abs>", 4000, 500, "train.py:8")
    r:op("aten::add", 4900, 100)
    local row, ns = owed(load(r)).script, 2994000
    t.is({ row.where, row.most, row.advice:find(case[2], 1, true) ~= nil },
        { case[1] .. " at train.py:8", ns, true }, case[3])
    t.ok(row.advice:find(case[1] .. " at train.py:8 has 2.994ms of it: ", 1, true), row.advice)
    t.is(rows(load(r))[case[1]].self_cpu_time_total, ns, case[1] .. ": its row")
end

-- A function of the script's that one of them calls is the script's again; one of a name alike, of
-- the script's or of another type, is none of them. A lambda is no module.
r = made.trace { no_device = true }
r:python("train.py(3): <module>", 0, 6000, "train.py:3")
r:python("json/__init__.py(274): load", 0, 3000, "train.py:8")
r:python("train.py(5): <lambda>", 500, 2000, "json/decoder.py:353")
r:python("train.py(20): print", 3000, 700, "train.py:9")
r:python("<built-in method read of Store object at 0x7f>", 4000, 600, "train.py:10")
r:op("aten::add", 5900, 100)
local own = rows(load(r))
t.is({ own["json.load"].self_cpu_time_total, own["<lambda> (train.py:5)"].self_cpu_time_total,
    own["print (train.py:20)"].self_cpu_time_total, own["file.read"],
    own["<module> (train.py)"].self_cpu_time_total },
    { 1000000, 2000000, 700000, nil, 2200000 }, "what is the script's own")

-- An op may call the script: of a backward of 4 ms, 3.6 are in the user's function, 2.5 of them in
-- sleep, and 0.6 in an op that it calls; the backward's own are 0.4, and the module has 0.7.
r = made.trace { no_device = true }
r:python("train.py(3): <module>", 0, 5000, "train.py:3")
r:op("SqBackward", 500, 4000)
r:python("torch/autograd/function.py(440): apply", 600, 3800)
r:python("train.py(10): backward", 700, 3600, "torch/autograd/function.py:450")
r:python("<built-in function sleep>", 900, 2500, "train.py:12")
r:op("aten::mul", 3500, 600)
r:op("aten::add", 4700, 300)
p = load(r)
p:save(path .. ".prof")
for _, prof in ipairs { p, g.profile.load(path .. ".prof") } do
    local own, owes = rows(prof), owed(prof)
    t.is({ own["time.sleep"].self_cpu_time_total, own["backward (train.py:10)"].self_cpu_time_total,
        own.SqBackward.self_cpu_time_total, own["<module> (train.py)"].self_cpu_time_total },
        { 2500000, 500000, 400000, 700000 }, "a function that an op calls")
    t.is({ owes.script.ns, owes.script.where, owes.script.most, owes.cpu.ns },
        { 3700000, "time.sleep at train.py:12", 2500000, 1300000 }, "is the script's")
end
os.remove(path .. ".prof")

-- What a package computes for a line is that line's.
r = made.trace { no_device = true }
r:python("train.py(3): <module>", 0, 5000, "train.py:3")
r:python("train.py(5): auc", 500, 4000, "train.py:20")
r:python("numpy/_core/fromnumeric.py(1133): argsort", 600, 3000, "train.py:6")
r:python("numpy/_core/fromnumeric.py(48): _wrapfunc", 700, 2800,
    "numpy/_core/fromnumeric.py:1245")
r:python("<built-in method argsort of numpy.ndarray object at 0x1>", 800, 2600,
    "numpy/_core/fromnumeric.py:54")
r:python("tqdm/std.py(1231): update", 3700, 200, "train.py:7")
r:op("aten::add", 4900, 100)
local auc = owed(load(r)).script
t.is({ auc.where, auc.most, rows(load(r)).tqdm.self_cpu_time_total },
    { "auc (train.py:5) at train.py:6", 3000000, 200000 }, "a package's frames")

-- What a checkpoint copies is waited for since it is saved.
r = made.trace()
r:python("train.py(3): <module>", 0, 6000, "train.py:3")
r:python("torch/serialization.py(945): save", 1000, 3000, "train.py:8")
r:op("aten::to", 1100, 900)
r:copy("Memcpy DtoH (Device -> Pageable)", 1300, 600, r:call("cudaMemcpyAsync", 1200, 20), 4096)
r:call("cudaStreamSynchronize", 1250, 700)
local waits = load(r):sync()
t.is({ waits[1].what, waits[1].line, waits[1].advice:find("save every N steps", 1, true) ~= nil },
    { "torch.save", 8, true }, "a wait within torch.save")

-- Of a batch of 1 ms 0.7 are in a function that makes it; that of workers is made elsewhere.
for _, iter in ipairs { "_SingleProcessDataLoaderIter", "_MultiProcessingDataLoaderIter" } do
    local single = iter:find "Single" ~= nil
    r = made.trace { no_device = true }
    r:python("train.py(3): <module>", 0, 2000, "train.py:3")
    r:python("torch/utils/data/dataloader.py(630): __next__", 0, 1000, "train.py:9")
    r:region("enumerate(DataLoader)#" .. iter .. ".__next__", 0, 1000)
    if single then r:python("train.py(5): collate", 200, 700, "torch/utils/data/fetch.py:54") end
    r:op("aten::add", 1500, 100)
    local loader = owed(load(r)).loader
    t.is({ loader.ns, loader.where, loader.advice:find "^collate .* has 700.000us of it: " ~= nil },
        { 1000000, single and "collate (train.py:5)" or
            "enumerate(DataLoader)#" .. iter .. ".__next__ at train.py:9", single }, iter)
end

-- ---- the profiler's own time ----
-- Two steps of 1 ms, of which an op takes 0.8; the profiler works for 0.5 ms between them, and for
-- 0.5 after them until it waits for the device. Calls of its own may begin within a step.
for _, frames in ipairs { false, true } do
    r = made.trace()
    for k = 0, 1 do
        r:region("ProfilerStep#" .. k, 1500 * k, 1000)
        r:op("aten::mm", 1500 * k + 100, 800)
        r:kernel("gemm", 1500 * k + 200, 600, r:call("cudaLaunchKernel", 1500 * k + 110, 5))
    end
    r:call("cudaDeviceSynchronize", 3000, 10)
    if frames then
        r:python("train.py(3): <module>", 0, 3010)
        r:python("torch/profiler/profiler.py(811): step", 950, 560)
        r:python("torch/profiler/profiler.py(820): stop", 2450, 560)
    end
    local p = load(r)
    local by, how = owed(p), frames and "by frames" or "between steps"
    t.is(by.script.ns, 400000, "the script has none of it, " .. how)
    local own = rows(p)
    t.is(own[frames and "profiler: stop" or "profiler: step"] ~= nil, true, "it has a row, " .. how)
    t.is({ own["ProfilerStep*"].count, own["ProfilerStep*"].cpu_time_total }, { 2, 2000000 },
        "the steps are none of it, " .. how)
    t.ok(p:verdict().sentence:find("in either time 1.000ms (33.2%) is the profiler's own", 1, true),
        "the verdict says how much it is, " .. how, p:verdict().sentence)
end

-- ---- what a loader reads ----
-- A seed that is drawn on the host, and what is read while a batch is made, lie there anyway.
local function read(of, at)
    of:op("aten::item", at, 8)
    of:op("aten::_local_scalar_dense", at + 2, 4)
end
r = made.trace { no_device = true }
r:op("aten::empty", 0, 5)
r:op("aten::random_", 10, 5)
read(r, 20)
r:region("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 100, 100)
read(r, 120)
r:python("torch/utils/data/sampler.py(140): __iter__", 300, 100)
read(r, 320)
t.is(#load(r):sync().reads, 0, "a loader's reads would not wait")
read(r, 500)
t.is(load(r):sync().reads[1].count, 1, "the script's would")
-- ---- records that begin after steps ----
-- The first of five steps takes 60 ms in one op, the others 5. Step 0 is the program's first, so it
-- was a first use; before step 2 others ran, so it may come again.
local now, script
for _, first in ipairs { 0, 2 } do
    r, now = made.trace { no_device = true }, 0
    for k = 0, 4 do
        local ns = k == 0 and 60000 or 5000
        r:region("ProfilerStep#" .. first + k, now, ns + 1000)
        r:python("<built-in method normal_ of Tensor object at 0x1>", now + 50, ns, "train.py:5")
        r:op("aten::normal_", now + 50, ns)
        now = now + ns + 1000
    end
    p = load(r)
    p:save(path .. ".prof")
    for _, prof in ipairs { p, g.profile.load(path .. ".prof") } do
        local row = owed(prof)
        t.is({ row.setup and row.setup.ns, row.cpu.ns },
            first == 0 and { 60000000, 20000000 } or { nil, 80000000 }, "from step " .. first)
        local once = row.cpu.advice:find "55.000ms of the 80.000ms came once, in step 1 of the 5"
        t.is(once ~= nil, first == 2, "what came once is said to have")
    end
    os.remove(path .. ".prof")
end
-- parse() takes 60 ms in each of four steps, another function 300 ms in the first: what is named is
-- not what came once, so its advice stays.
r = made.trace { no_device = true }
now = 0
for k = 0, 3 do
    local setup = k == 0 and 300000 or 0
    r:region("ProfilerStep#" .. k + 4, now, 60100 + setup)
    for i = 0, k == 0 and 1 or -1 do
        r:python(("train.py(%d): setup_%d"):format(30 + 10 * i, i), now + 50 + 150000 * i, 149000)
    end
    r:python("train.py(20): parse", now + 50 + setup, 60000)
    r:op("aten::add", now + 60060 + setup, 20)
    now = now + 60100 + setup
end
script = owed(load(r)).script
t.ok(script.advice:find("parse (train.py:20) has 240.000ms of it: move work out of the loop", 1,
    true) and script.advice:find("came once, in step 1 of the 4", 1, true), script.advice)
os.remove(path)
t.done()
