-- Traces as torch.profiler writes them, for tests: times in microseconds, in the forms of several
-- versions. trace { ... } begins one; its functions add events; text() is the JSON.
local M = {}

local function quote(s) return '"' .. s:gsub('[\\"]', "\\%0") .. '"' end
local function object(t, order)
    local out, known = {}, {}
    local function put(k, v)
        out[#out + 1] = quote(k) .. ": " .. (type(v) == "string" and v or tostring(v))
    end
    for _, k in ipairs(order or {}) do
        known[k] = true
        if t[k] ~= nil then put(k, t[k]) end
    end
    local rest = {}
    for k in pairs(t) do if not known[k] then rest[#rest + 1] = k end end
    table.sort(rest)
    for _, k in ipairs(rest) do put(k, t[k]) end
    return "{" .. table.concat(out, ", ") .. "}"
end

local KEYS = { "ph", "cat", "name", "pid", "tid", "ts", "dur", "args" }

local Trace = {}
Trace.__index = Trace

--- A trace; options: old (names of categories of PyTorch 1.12), hip, device, rank, base,
--- no_device (of a machine without one); usual and beside, as gpush record notes them.
function M.trace(options)
    local t = setmetatable(options or {}, Trace)
    t.events, t.id, t.pid = {}, 100000, t.pid or 77
    return t
end

function Trace:raw(text) self.events[#self.events + 1] = text end

local function us(x) return ("%.3f"):format(x):gsub("%.?0+$", "") end

function Trace:event(e, args)
    e = { ph = quote(e.ph or "X"), cat = quote(e.cat), name = quote(e.name),
        pid = e.pid or self.pid, tid = e.tid or self.pid, ts = us(e.ts),
        dur = e.dur and us(e.dur) or nil, args = object(args or {}) }
    self:raw(object(e, KEYS))
end

function Trace:op(name, ts, dur, args, tid)
    self:event({ cat = self.old and "Operator" or "cpu_op", name = name, ts = ts, dur = dur,
        tid = tid }, args)
end

function Trace:region(name, ts, dur, tid)
    self:event { cat = "user_annotation", name = name, ts = ts, dur = dur, tid = tid }
end

--- The whole recording.
function Trace:whole(ts, dur)
    self:event { cat = "Trace", name = "PyTorch Profiler (0)", ts = ts, dur = dur,
        pid = quote "Spans", tid = quote "PyTorch Profiler" }
end

--- A call of the runtime; returns its correlation id.
function Trace:call(name, ts, dur, tid)
    self.id = self.id + 1
    self:event({ cat = self.old and "Runtime" or "cuda_runtime", name = name, ts = ts, dur = dur,
        tid = tid }, { correlation = self.id, ["External id"] = self.id })
    return self.id
end

local function place(self, args, id, stream)
    args.correlation, args["External id"] = id, args["External id"] or id
    args.device, args.stream = self.device or 0, stream or 7
    return args
end

--- A kernel; args: others of its arguments.
function Trace:kernel(name, ts, dur, id, stream, args)
    self:event({ cat = self.old and "Kernel" or "kernel", name = name, ts = ts, dur = dur,
        pid = self.device or 0, tid = stream or 7 }, place(self, args or {}, id, stream))
end

function Trace:copy(name, ts, dur, id, bytes, stream)
    self:event({ cat = self.old and "Memcpy" or "gpu_memcpy", name = name, ts = ts, dur = dur,
        pid = self.device or 0, tid = stream or 7 }, place(self, { bytes = bytes }, id, stream))
end

--- A frame of Python; from: the line that called it ("a.py:3"), which newer versions write.
function Trace:python(name, ts, dur, from, tid)
    self:event({ cat = "python_function", name = name, ts = ts, dur = dur, tid = tid },
        { CallFrom = from and quote(from) or nil })
end

function Trace:text()
    local head = { schemaVersion = 1,
        deviceProperties = self.no_device and "[]" or self.devices
            or '[{"id": 0, "name": "Made GPU"}]' }
    if self.rank then head.distributedInfo = ('{"rank": %d}'):format(self.rank) end
    if self.base then head.baseTimeNanoseconds = self.base end
    if self.usual then head.gpush_usual_step_ns = 1000 * self.usual end
    if self.beside then head.gpush_beside_ns = 1000 * self.beside end
    head.traceEvents = "[\n" .. table.concat(self.events, ",\n") .. "]"
    return object(head)
end

--- Two kernels of 300 and 80 us in 1 ms, and a synchronize of 250 us that waits for the first.
function M.one_wait()
    local t = M.trace()
    t:whole(0, 1000)
    t:op("aten::mm", 0, 20)
    t:kernel("gemm", 20, 300, t:call("cudaLaunchKernel", 5, 10))
    t:call("cudaDeviceSynchronize", 75, 250)
    t:op("aten::add", 900, 20)
    t:kernel("add", 920, 80, t:call("cudaLaunchKernel", 905, 10))
    return t
end

-- Launches are at even times and work begins at odd ones, so that no order is left to chance.
local function odd(x) return x // 2 * 2 + 1 end

--- A training loop's step after step, of which all times are known, for about n events: host ops
--- of 8 us that launch a kernel of 10 us each, and a read at the end of each step.
function M.steps(n, options)
    local t, now, ready = M.trace(options), 1000, 0
    local step = 0
    while #t.events < n do
        local began = now
        for i = 1, 50 do
            t:op("aten::add" .. i % 7, now, 8)
            local id = t:call("cudaLaunchKernel", now + 2, 5)
            local from = odd(math.max(now + 6, ready))
            t:kernel("void add_kernel<" .. i % 7 .. ">(int, float*)", from, 10, id)
            ready, now = from + 10, now + 10
        end
        t:op("aten::item", now, ready + 20 - now)
        t:op("aten::_local_scalar_dense", now + 1, ready + 19 - now - 1)
        local id = t:call("cudaMemcpyAsync", now + 2, 4)
        t:copy("Memcpy DtoH (Device -> Pinned)", ready, 3, id, 4)
        ready = ready + 3
        t:call("cudaStreamSynchronize", now + 7, ready + 5 - now - 7)
        now = odd(ready) + 31
        t:region("ProfilerStep#" .. step, began, now - began)
        now, step = now + 10, step + 1
    end
    return t
end

--- A host that launches n kernels, copies and collectives on four streams, with gaps, delays and
--- waits that a generator of numbers (seeded) decides; times in whole us.
function M.streams(n, seed, options)
    local t, now, ready = M.trace(options), 1000, { 0, 0, 0, 0 }
    local function below(limit)
        seed = (seed * 1103515245 + 12345) % 2147483648
        return seed // 65536 % limit
    end
    local names = { [0] = "ncclDevKernel_AllReduce_Sum_f32", "Memcpy HtoD (Pinned -> Device)",
        "Memset (Device)" }
    for i = 1, n do
        local s, what = below(4) + 1, below(10)
        t:op("aten::op" .. i % 5, now, 12)
        local id = t:call(what == 1 and "cudaMemcpyAsync" or what == 2 and "cudaMemsetAsync"
            or "cudaLaunchKernel", now + 4, 6)
        local from = odd(math.max(now + 6 + below(60), ready[s] + below(3) * below(40)))
        local dur = 1 + below(200)
        if what == 1 or what == 2 then t:copy(names[what], from, dur, id, 64, 7 + s)
        else t:kernel(names[what] or "gemm_" .. what, from, dur, id, 7 + s) end
        ready[s] = from + dur
        now = now + 14 + 2 * below(50)
        if below(20) == 0 then
            local done = math.max(now + 5, ready[s] + 2)
            t:call("cudaStreamSynchronize", now, done - now)
            now = odd(done) + 1
        end
    end
    t:region("ProfilerStep#1", 1000, now - 1000)
    return t
end

return M
