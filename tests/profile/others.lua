-- Traces of rocprofv3, JAX and TensorFlow: small ones whose sums are worked out by hand.
local t = require "tap"
local g = require "gpush"
local folder = os.getenv "TMPDIR" or "/tmp"

local function load(text, name)
    local path = folder .. "/" .. (name or "other.json")
    local file <close> = assert(io.open(path, "w"))
    file:write(text)
    file:flush()
    return g.profile.load(path)
end

-- ---- JAX ----
local jax <const> = [[{"displayTimeUnit": "ns", "traceEvents": [
{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
{"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/device:GPU:1"}},
{"ph": "M", "pid": 1, "tid": 13, "name": "thread_name",
 "args": {"name": "Stream #13(Compute,MemcpyD2H)"}},
{"ph": "M", "pid": 2, "tid": 7, "name": "thread_name", "args": {"name": "Stream #14(Compute)"}},
{"ph": "M", "pid": 1, "tid": 99, "name": "thread_name", "args": {"name": "XLA Modules"}},
{"ph": "M", "pid": 1, "tid": 98, "name": "thread_name", "args": {"name": "XLA Ops"}},
{"ph": "X", "pid": 1, "tid": 98, "ts": 10.5, "dur": 100.25, "name": "loop_add_fusion"},
{"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
{"ph": "X", "pid": 701, "tid": 5, "ts": 0.0, "dur": 200.0, "name": "PjitFunction(\"f\")"},
{"ph": "X", "pid": 701, "tid": 5, "ts": 3.0, "dur": 4.0, "name": "cuLaunchKernel",
 "args": {"correlation_id": "7"}},
{"ph": "X", "pid": 701, "tid": 5, "ts": 1.0, "dur": 4.0, "name": "$train.py:12 step"},
{"ph": "X", "pid": 1, "tid": 13, "ts": 10.5, "dur": 100.25, "name": "loop_add_fusion",
 "args": {"hlo_op": "add", "correlation_id": "7"}},
{"ph": "X", "pid": 1, "tid": 99, "ts": 10.0, "dur": 150.0, "name": "jit_f"},
{"ph": "X", "pid": 2, "tid": 7, "ts": 20.0, "dur": 30.0, "name": "gemm"},
{"ph": "X", "pid": 1, "tid": 13, "ts": 120.0, "dur": 50.0, "name": "MemcpyD2H",
 "args": {"memcpy_details": "kind_src:device kind_dst:pageable size:4096 dest:0 async:1"}}, {}]}]]
local ok, p = pcall(load, jax)
if not ok and tostring(p):find("SQLite's library is needed", 1, true) then
    t.skip_all "there is no library of SQLite"
end
t.ok(ok, "a trace of JAX is read", tostring(p))
local by_name = {}
for _, row in ipairs(p:rows { group = "kernel" }) do by_name[row.name] = row end
t.is({ by_name.loop_add_fusion.self_device_time_total, by_name.gemm.self_device_time_total,
    by_name["Memcpy DtoH (Device -> Pageable)"].self_device_time_total }, { 100250, 30000, 50000 },
    "its kernels and copies, without the module around them, and without its ops, derived of them")
local devices = p:devices()
t.is({ #devices, devices[1].kernels, devices[1].copies, devices[2].kernels }, { 2, 1, 1, 1 },
    "by device")
local calls, bytes = 0, 0
for _, e in ipairs(p:events()) do
    if e.name == "cuLaunchKernel" then calls = calls + 1 end
    bytes = bytes + (e.kind == "copied" and e.bytes or 0)
end
t.is({ calls, bytes }, { 1, 4096 }, "a call, and a copy's bytes")
t.ok(p.how:find("JAX's or TensorFlow's trace of /device:GPU:0", 1, true), "where it is from", p.how)
-- Of the host alone it tells nothing.
local of_host = load [[{"traceEvents": [
{"ph": "M", "pid": 701, "name": "process_name", "args": {"name": "/host:CPU"}},
{"ph": "X", "pid": 701, "tid": 5, "ts": 0, "dur": 200, "name": "PjitFunction(f)"}]}]]
t.is({ of_host:verdict().untold, of_host:verdict().sentence:find "ProfilerActivity" },
    { "work" }, "no device, no verdict", of_host:verdict().sentence)
-- Its names are said twice, which is once.
local tpu = load [[{"traceEvents": [
{"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "/device:TPU:0"}},
{"ph": "M", "pid": 3, "name": "process_name", "args": {"name": "/device:TPU:0"}},
{"ph": "M", "pid": 3, "tid": 1, "name": "thread_name", "args": {"name": "XLA Ops"}},
{"ph": "M", "pid": 3, "tid": 1, "name": "thread_name", "args": {"name": "XLA Ops"}},
{"ph": "M", "pid": 3, "tid": 2, "name": "thread_name", "args": {"name": "Steps"}},
{"ph": "X", "pid": 3, "tid": 2, "ts": 0, "dur": 100, "name": "0"},
{"ph": "X", "pid": 3, "tid": 1, "ts": 10, "dur": 20, "name": "fusion.1"},
{"ph": "X", "pid": 3, "tid": 1, "ts": 40, "dur": 50, "name": "convolution.2"}]}]]
t.is({ tpu:devices()[1].device, tpu:devices()[1].kernel_time }, { "tpu:0", 70000 },
    "a TPU's ops, without its steps")
for group, what in pairs { shape = "shapes", stack = "stacks" } do
    t.error(function() tpu:rows { group = group } end,
        ("group = \"%s\" needs a profile with %s, which gpush reads from no \z
        trace of this kind: JAX's or TensorFlow's trace"):format(group, what),
        what .. ": no option of another profiler's")
end
local page = folder .. "/jax.html"
p:report(page)
local html <const> = assert(io.open(page))
local head = html:read(2000):match "<title>(.-)</title>"
html:close()
t.is(head, ("other.json, gpush %s"):format(g._VERSION), "its page's title, before a script runs")
for _, row in ipairs(p:verdict()) do
    t.ok(not row.advice:find "torch", row.cause .. ": what JAX has", row.advice)
end
t.ok(tpu:verdict().sentence:find("^no verdict: for 2 of 2 kernels"), "without launches no verdict",
    tpu:verdict().sentence)

-- ---- rocprofv3 ----
local function rocprof(pid)
    return [[{"metadata": {"pid": ]] .. pid .. [[, "command": ["python"]},
"agents": [{"id": {"handle": 5}, "type": 1, "node_id": 0, "product_name": "CPU"},
 {"id": {"handle": 6}, "type": 2, "node_id": 1, "product_name": "AMD Instinct MI300X"}],
"strings": {"buffer_records": [{"kind": "NONE", "operations": []},
 {"kind": "HIP_RUNTIME_API", "operations": ["none", "hipLaunchKernel", "hipDeviceSynchronize"]},
 {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]}],
 "marker_api": [{"key": 40, "value": "a step"}]},
"kernel_symbols": [{"kernel_id": 0, "kernel_name": "", "formatted_kernel_name": 0},
 {"kernel_id": 1, "kernel_name": "_Z4gemm.kd", "formatted_kernel_name": "gemm(float*)"}],
"buffer_records": {"kernel_dispatch": [{"kind": 3, "operation": 2, "thread_id": 9,
  "correlation_id": {"internal": 10, "external": 0}, "start_timestamp": 5000000020000,
  "end_timestamp": 5000000320001, "dispatch_info": {"agent_id": {"handle": 6},
   "queue_id": {"handle": 16}, "kernel_id": 1}}],
 "hip_api": [{"kind": 1, "operation": 1, "thread_id": 9, "correlation_id": {"internal": 10},
   "start_timestamp": 5000000005000, "end_timestamp": 5000000015000},
  {"kind": 1, "operation": 2, "thread_id": 9, "correlation_id": {"internal": 11},
   "start_timestamp": 5000000020000, "end_timestamp": 5000000330000}],
 "memory_copy": [{"kind": 2, "operation": 1, "thread_id": 9, "correlation_id": {"internal": 12},
   "start_timestamp": 5000000400000, "end_timestamp": 5000000410000, "bytes": 512,
   "src_agent_id": {"handle": 5}, "dst_agent_id": {"handle": 6}}],
 "marker_api": [{"kind": 9, "operation": 1, "thread_id": 9, "correlation_id": {"internal": 40},
   "start_timestamp": 5000000000000, "end_timestamp": 5000000500000}]}}]]
end
p = load('{"rocprofiler-sdk-tool": [' .. rocprof(9) .. "]}")
local a = p:devices()[1]
t.is({ a.device, a.kernel_time, a.copy_time, p.wall_ns }, { "hip:0", 300001, 10000, 500000 },
    "rocprofv3: its kernels, copies and time")
local waits = p:sync()
t.is({ waits.count, waits.waited, waits[1].drained }, { 1, 310000, 1 }, "a wait for the kernel")
local names = {}
for _, row in ipairs(p:rows()) do names[row.name] = true end
t.ok(names["a step"], "a range")
t.ok(p.how:find("rocprofv3's trace of AMD Instinct MI300X", 1, true), "where it is from", p.how)
p = load('{"rocprofiler-sdk-tool": [' .. rocprof(9) .. "," .. rocprof(10) .. "]}")
t.is(#p:devices(), 2, "two processes are two ranks")

-- Without a list of devices those that ran kernels are them.
local unlisted <const> = rocprof(9):gsub('"agents": %b[],', "")
p = load('{"rocprofiler-sdk-tool": [' .. unlisted .. "]}")
t.is({ #p:devices(), p:devices()[1].kernels, p:devices()[1].kernel_time }, { 1, 1, 300001 },
    "rocprofv3, without its list of devices")

p = load('{"rocprofiler-sdk-tool": [' .. rocprof(9):gsub('"hip_api"', '"no_api"') .. "]}")
t.ok(p:verdict().sentence:find("rocprofv3 --hip-trace", 1, true), "how calls are recorded",
    p:verdict().sentence)

-- ---- damaged ----
-- What is before a cut is read, at any byte: the events that are whole.
local function cut_at(whole, n)
    local ok, p = pcall(load, whole:sub(1, n))
    if not ok then
        local says <const> = "before it is cut, at byte " .. n
        return tostring(p):find(says, 1, true) and 0 or tostring(p)
    end
    local work = 0
    for _, e in ipairs(p:events()) do
        if e.kind == "kernel" or e.kind == "copied" then work = work + 1 end
    end
    local said = p.how:find(("(it is cut at byte %d: what followed is missing)"):format(n), 1, true)
    return said and not p.how:find "valid" and work or p.how
end
-- Where the text has been read up to each kernel and copy, and the first place at which it is known
-- whose text it is.
local function counts(whole, first, ends, what)
    local wrong, from = {}, assert(select(2, whole:find(first, 1, true)))
    for n = from, #whole - 2, 37 do
        local expected = 0
        for _, place in ipairs(ends) do if n >= place then expected = expected + 1 end end
        local got = cut_at(whole, n)
        if got ~= expected then wrong[#wrong + 1] = ("%d: %s"):format(n, got) end
    end
    t.is(wrong, {}, what .. ", cut: the kernels and copies before that, and it is said")
end
local function end_of(whole, text) return select(2, assert(whole:find(text, 1, true))) end
local whole <const> = '{"rocprofiler-sdk-tool": [' .. rocprof(9) .. "]}"
counts(whole, '"rocprofiler-sdk-tool": [', { end_of(whole, '"kernel_id": 1}}'),
    end_of(whole, '"dst_agent_id": {"handle": 6}}') }, "rocprofv3")
counts(jax, '"/device:GPU:0"', { end_of(jax, '"hlo_op": "add", "correlation_id": "7"}}'),
    end_of(jax, '"name": "gemm"}'), end_of(jax, 'async:1"}}') }, "JAX")
t.ok(load(jax:sub(1, -9)):verdict().sentence:find "^no verdict: the file is cut",
    "what is missing may dominate")
t.error(function() load '{"rocprofiler-sdk-tool": [{"metadata": {"pid": 1}}]}' end,
    "no event that gpush reads from rocprofv3's trace", "without a record")
t.error(function() load '{"traceEvents": [{"ph": "M", "args": {"name": "/device:GPU:0"}}]}' end,
    "no event that gpush reads from JAX's or TensorFlow's trace", "without an event")
-- Times that are texts are none: of the call and the copy nothing is left.
p = load('{"rocprofiler-sdk-tool": [' .. rocprof(9)
    :gsub('"start_timestamp": 5000000400000', '"start_timestamp": "x"')
    :gsub('"end_timestamp": 5000000015000', '"end_timestamp": "5"') .. "]}")
t.is({ p.dropped, p.wall_ns, p:devices()[1].copies }, { 2, 500000, 0 }, "events without times")
t.ok(p.how:find("2 events of 5 have no valid ts, and are left out", 1, true), "which is said",
    p.how)
p = load(jax:gsub('"ts": 20.0', '"ts": "x"'):gsub('"dur": 50.0', '"dur": "y"'))
t.is({ p.dropped, p.wall_ns, #p:devices(), p:devices()[1].kernel_time }, { 2, 200000, 1, 100250 },
    "of JAX, too")
t.done()
