-- data.Loader: order, equal batches for any number of workers, what is sent to a worker, errors,
-- and that no thread is left.
local t = require "tap"

-- Threads of this process.
local function tasks()
    local p, n = io.popen "ls /proc/$PPID/task", 0
    for _ in p:lines() do n = n + 1 end
    p:close()
    return n
end

-- All batches of a pass, as lists of values.
local function batches(loader)
    local out = {}
    for step, x, y in loader() do
        out[step] = { x:tolist(), y ~= nil and y:tolist() or nil }
    end
    return out
end

local numbers = data.Dataset { size = 10, get = function(self, i) return full({ 2 }, i), i end }
-- TSan has a thread of its own
if os.getenv "GPUSH_SAN" == "thread" then batches(data.Loader { numbers, workers = 1 }) end
local threads_before = tasks()

-- ---- order and sizes ----

for _, workers in ipairs { 0, 1, 2, 5 } do
    local name = (" (%d workers)"):format(workers)
    local got = batches(data.Loader { numbers, batch = 4, workers = workers })
    t.is(got, {
        { { { 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 4 } }, { 1, 2, 3, 4 } },
        { { { 5, 5 }, { 6, 6 }, { 7, 7 }, { 8, 8 } }, { 5, 6, 7, 8 } },
        { { { 9, 9 }, { 10, 10 } }, { 9, 10 } } },
            "batches come in order, the last one short" .. name)
    local loader = data.Loader { numbers, batch = 4, workers = workers, drop_last = true,
        prefetch = 1 }
    t.is(#batches(loader), 2, "drop_last" .. name)
    t.is(#loader, 2, "#loader" .. name)
    local seven = { size = 7, get = function(_, i) return i end }
    t.is(batches(data.Loader { seven, batch = 4, workers = workers, drop_last = true }),
        { { { 1, 2, 3, 4 } } },
        "drop_last where one sample is missing" .. name)
    t.is(batches(data.Loader { { size = 0, get = function() error "never" end },
        workers = workers }), {},
        "a data set of no samples" .. name)
    t.is(tasks(), threads_before, "no thread is left" .. name)
end
t.is(#data.Loader { numbers, batch = 4 }, 3, "#loader counts the short batch")

-- ---- shuffles and random numbers ----

local function noisy(self, i)
    return rand(3), math.random(1000000), i
end

local function draws(options)
    local out = {}
    local o = { { size = 23, get = noisy }, batch = 5, shuffle = true, seed = 7 }
    for k, v in pairs(options) do o[k] = v end
    local loader = data.Loader(o)
    for pass = 1, 2 do
        for step, r, m, i in loader() do out[#out + 1] = { r:tolist(), m:tolist(), i:tolist() } end
    end
    return out
end

local reference = draws { workers = 0 }
for _, workers in ipairs { 1, 2, 5 } do
    t.is(draws { workers = workers }, reference,
        ("the same batches from %d workers as from none"):format(workers))
end
t.is(draws { workers = 2, prefetch = 7 }, reference, "and with more batches ahead")
local function indices(list, from, to)
    local all = {}
    for k = from, to do
        for _, i in ipairs(list[k][3]) do all[#all + 1] = i end
    end
    return all
end
local first, second = indices(reference, 1, 5), indices(reference, 6, 10)
t.ok(table.concat(first, " ") ~= table.concat(second, " "), "each pass has an order of its own")
table.sort(second)
for i, v in ipairs(second) do
    if i ~= v then t.is(second, "1 … 23", "a shuffle has every sample once") break end
end
t.is(#second, 23, "a shuffle has every sample once")
t.ok(table.concat(indices(draws { seed = 8 }, 1, 5), " ") ~= table.concat(first, " "),
    "another seed, another order")

-- All orders of three samples occur, about equally often.
local counts, total = {}, 1200
local three = data.Loader { { size = 3, get = function(_, i) return i end }, batch = 3,
    shuffle = true, seed = 1 }
for _ = 1, total do
    for _, i in three() do
        local key = table.concat(i:tolist())
        counts[key] = (counts[key] or 0) + 1
    end
end
local orders, fair = 0, true
-- 4.6 sigma
for _, n in pairs(counts) do orders, fair = orders + 1, fair and math.abs(n - total / 6) < 60 end
t.ok(orders == 6 and fair, "the six orders of three samples, each about 200 times of 1200")

manual_seed(3)
local a = batches(data.Loader { numbers, batch = 3, shuffle = true })
manual_seed(3)
local b = batches(data.Loader { numbers, batch = 3, shuffle = true, workers = 2 })
t.is(a, b, "without a seed, manual_seed decides")
manual_seed(3)
local want = { rand(2):tolist(), rand(2):tolist() }
manual_seed(3)
local got = { rand(2):tolist() }
for _ in data.Loader { { size = 4, get = noisy }, seed = 5 } () do end
got[2] = rand(2):tolist()
t.is(got, want, "samples that are made here do not take the script's random numbers")
local loader = data.Loader { numbers, batch = 10, shuffle = true, seed = 9 }
local one = batches(loader)
batches(loader)
loader.epoch = 0
t.is(batches(loader), one, "epoch set back repeats a pass")

-- ---- the contents of a batch ----

for _, workers in ipairs { 0, 2 } do
    local name = (" (%d workers)"):format(workers)
    local mixed = { size = 4, get = function(_, i)
        return { image = full({ 2 }, i, { dtype = "u8" }), name = "n" .. i, box = { i, i / 2 } },
        i > 2
    end }
    for _, v, flag in data.Loader { mixed, batch = 4, workers = workers } () do
        t.is(v.image:tolist(), { { 1, 1 }, { 2, 2 }, { 3, 3 }, { 4, 4 } },
            "a table's tensors are stacked" .. name)
        t.is(v.image.dtype, "u8", "and keep their dtype" .. name)
        t.is(v.name, { "n1", "n2", "n3", "n4" }, "strings become a list" .. name)
        t.is(v.box[1].dtype .. " " .. v.box[2].dtype, "i64 f32",
            "whole numbers i64, others f32" .. name)
        t.is(v.box[2]:tolist(), { 0.5, 1, 1.5, 2 }, "a table in a table" .. name)
        t.is(flag.dtype, "bool", "booleans" .. name)
        t.is(flag:tolist(), { false, false, true, true }, "their values" .. name)
    end
    local views = { size = 3, x = arange(1, 12):reshape(3, 4),
        get = function(self, i) return self.x["..., ::2"] end }
    for _, x in data.Loader { views, batch = 3, workers = workers } () do
        t.is(x[2]:tolist(), { { 1, 3 }, { 5, 7 }, { 9, 11 } }, "samples with steps" .. name)
        t.is(x.shape, { 3, 3, 2 }, "and their shape" .. name)
    end
    local strided = { size = 3, x = arange(1, 12):reshape(4, 3),
        get = function(self, i) return self.x:t()[i] end }
    for _, x in data.Loader { strided, batch = 3, workers = workers } () do
        t.is(x:tolist(), { { 1, 4, 7, 10 }, { 2, 5, 8, 11 }, { 3, 6, 9, 12 } },
            "samples that are views" .. name)
    end
    local pairs_of = function(samples)
        local out = {}
        for k, s in ipairs(samples) do out[k] = s[2] end
        return { list = out, first = samples[1][1] }, #samples, rand(2)
    end
    local seen = {}
    for step, v, n,
        r in data.Loader { numbers, batch = 4, workers = workers, collate = pairs_of, seed = 2 } ()
    do
        seen[step] = { v.list, v.first:tolist(), n, r:tolist() }
    end
    t.is({ seen[1][1], seen[1][2], seen[3][1], seen[3][3] },
        { { 1, 2, 3, 4 }, { 1, 1 }, { 9, 10 }, 2 },
        "a collate function gets the samples as a list" .. name)
    if workers == 0 then
        reference = seen
    else
        t.is(seen, reference, "its random numbers too are the batch's own")
    end
end

-- ---- what is sent to a worker ----

local scale, list = tensor { 2.0, 3.0 }, { deep = { 10, 20 } }
local function helper(i) return list.deep[i] end
function global_helper(i) return global_number + i end
global_number = 100
local calls = 0
local function counted() calls = calls + 1 return calls end
local twice = { size = 2, get = function(self, i)
    return scale * i, helper(i), global_helper(i), math.floor(2.5), linalg.norm(scale * 0),
    counted() + calls
end }
for _, s, h, g, f, n, c in data.Loader { twice, batch = 2, workers = 1 } () do
    t.is(s:tolist(), { { 2, 3 }, { 4, 6 } }, "a tensor that is an upvalue")
    t.is(h:tolist(), { 10, 20 }, "a function and its table")
    t.is(g:tolist(), { 101, 102 }, "a global function and its global")
    t.is(f:tolist(), { 2, 2 }, "libraries are the worker's own")
    t.is(n:tolist(), { 0, 0 }, "so are gpush's")
    t.is(c:tolist(), { 2, 4 }, "two functions share an upvalue")
end
t.is(calls, 0, "a worker changes its own copies")
local shared = zeros(4)
for _ in data.Loader { { size = 4, get = function(_, i) shared[i] = i return i end },
    workers = 2 } ()
do
end
t.is(shared:tolist(), { 1, 2, 3, 4 }, "tensors share their memory")

local Class = {}
Class.__index = Class
function Class:get(i) return self.offset + i end
function Class:__len() return 3 end
for _, x in data.Loader { setmetatable({ offset = 5 }, Class), batch = 3, workers = 2 } () do
    t.is(x:tolist(), { 6, 7, 8 }, "an object of a class with inheritance by metatable")
end

local path = os.getenv "TMPDIR" .. "/set.lua"
local f = io.open(path, "w")
f:write [[
local options = ...
local file = io.open(options.path) -- could not be handed over
return { size = 3, get = function(self, i)
    if full({ 1 }, i) == 2 then i = 20 end -- tensor syntax
    return i * options.factor
end }
]]
f:close()
local from_file = data.Dataset { file = path, path = path, factor = 10 }
t.is(#from_file, 3, "a data set that a file makes")
for _, x in data.Loader { from_file, batch = 3, workers = 2 } () do
    t.is(x:tolist(), { 10, 200, 30 }, "each worker runs the file")
end
local x, y = arange(1, 6):reshape(3, 2), tensor { 7, 8, 9 }
local rows = data.TensorDataset(x, y)
t.is(#rows, 3, "#TensorDataset")
t.is(tostring(rows), "a data set of 3 samples", "as text")
for _, xs, ys in data.Loader { rows, batch = 3, workers = 2 } () do
    t.is({ xs:tolist(), ys:tolist() }, { x:tolist(), y:tolist() }, "TensorDataset")
end


-- ---- data sets of others ----

do
    local nested = data.Subset(data.ConcatDataset { from_file, rows, from_file }, { 9, 1, 2 })
    for _, workers in ipairs { 0, 2 } do
        for _, v in data.Loader { nested, batch = 3, workers = workers } () do
            t.is(v:tolist(), { 30, 10, 200 }, "subsets of files' data sets, by workers " .. workers)
        end
    end
    t.is(nested[3], 200, "and by index")
    t.is(data.ConcatDataset { rows, rows }[5]:tolist(), { 3, 4 }, "the second of two sets")
    manual_seed(5)
    local ten = data.TensorDataset(arange(1, 10))
    local first, second, third = data.random_split(ten, { 0.5, 0.25, 0.25 })
    t.is({ #first, #second, #third }, { 6, 2, 2 }, "shares; what is left goes to the first")
    local seen = {}
    for i = 1, 10 do seen[data.ConcatDataset { first, second, third }[i]:item()] = true end
    t.is(#seen, 10, "every sample once")
    local get_rng_state = require "gpush".get_rng_state
    local state = get_rng_state()
    local a = data.random_split(ten, { 7, 3 }, { seed = 1 })
    local b = data.random_split(ten, { 7, 3 }, { seed = 1 })
    t.ok(equal(a.indices, b.indices), "a seed gives the same parts")
    t.is(get_rng_state(), state, "and leaves the generator")
    t.error(function() data.random_split(ten, { 7, 4 }) end,
        "loader.lua:%d+: data.random_split: argument 'lengths' %(#2%): they add up to 11 %(")
    t.error(function() data.random_split(ten, { -1, 11 }) end, "entry 1 is %-1")
    t.error(function() data.random_split(3, { 1 }) end, "data.random_split: argument 'dataset'")
    t.error(function() data.Subset(ten, { 1, 11 }) end, "11 is no sample %(expected 1 to 10%)")
    t.error(function() data.Subset(ten, ones(2)) end, "expected a list of integers, got f32 2")
    t.error(function() data.Subset({}, { 1 }) end, "data.Subset: argument 'dataset' %(#1%)")
    t.error(function() data.ConcatDataset {} end, "expected a list of data sets, got a table")
    t.error(function() data.ConcatDataset { ten, 3 } end, "data.ConcatDataset: entry 2: expected a")
end

local open_file = io.open(path)
t.error(function()
    local _ = data.Loader { { size = 1, get = function() return open_file:read() end },
        workers = 1 } ()
end, "data%.Loader: dataset%.get, upvalue 'open_file' is a FILE%*: .*workers = 0",
    "what cannot go over is named")
t.error(function()
    local co = coroutine.create(print)
    data.Loader { { size = 1, list = { { co } }, get = function() end }, workers = 1 } ()
end, "dataset%.list%[1%]%[1%] is a thread", "wherever it is")
global_file = open_file
t.error(function()
    for _ in data.Loader { { size = 1, get = function() return global_file:read() end },
        workers = 1 } ()
    do
    end
end, "the global 'global_file' was not copied into the worker: .*FILE",
    "a global that cannot go over is missed where it is used")
t.error(function()
    local dev = ones(2, { device = "sim" })
    data.Loader { { size = 1, get = function() return dev end }, workers = 1 } ()
end, "upvalue 'dev' is a tensor: on a device", "a device's tensor")
threads_before = tasks() -- the device's own thread has come

-- ---- errors ----

-- Sample 3 fails while sample 1, which fails too, still waits for it: the first one in the batch is
-- reported.
do
    -- a file: workers must not write and read shared data at once
    local mark = (os.getenv "TMPDIR" or "/tmp") .. "/sample-3-failed"
    local function get(_, i)
        local stop = os.clock() + 20
        while i == 1 and os.clock() < stop do
            local f = io.open(mark)
            if f then
                f:close()
                break
            end
        end
        if i == 3 then io.open(mark, "w"):close() end
        if i ~= 2 then error("sample " .. i .. " is bad") end
        return i
    end
    local ok, message = pcall(function()
        for _ in data.Loader { { size = 3, get = get }, batch = 3, workers = 2 } () do end
    end)
    t.ok(not ok and message:find "data.Loader: sample 1: .*sample 1 is bad",
        "of several errors in a batch the first sample's is raised")
end

for _, workers in ipairs { 0, 1, 3 } do
    local name = (" (%d workers)"):format(workers)
    local function bad(self, i)
        if i == 7 then error "boom" end
        return i
    end
    local steps = 0
    local ok, message = pcall(function()
        for step in data.Loader { { size = 20, get = bad }, batch = 2, workers = workers } () do
            steps = step
        end
    end)
    t.ok(not ok and message:find "data.Loader: sample 7: .*loader.lua:%d+: boom",
        "an error names the sample" .. name)
    t.ok(message:find "^[^\n]*loader.lua:%d+: data.Loader", "and the line of the loop" .. name)
    t.ok(message:find "stack traceback:.*loader.lua:%d+: in ",
        "with the worker's traceback" .. name)
    t.is(steps, 3, "batches before it arrive" .. name)
    ok, message = pcall(function()
        for _ in data.Loader { { size = 8, get = function() error { code = 42 } end }, batch = 8,
            workers = workers } ()
        do
        end
    end)
    t.ok(not ok and type(message) == "table" and message.value.code == 42 and message.index == 1,
        "an error that is a table comes back as its value, with the index" .. name)
    t.ok(tostring(message):find "sample 1: %(error object is a table value%)\nstack traceback:",
        "and has a text" .. name)
    t.error(function()
        for _ in data.Loader { { size = 2, get = function(_, i) return zeros(i) end }, batch = 2,
            workers = workers } ()
        do
        end
    end, "value 1 of sample 1 is f32 1, that of sample 2 f32 2; a batch needs them alike",
        "samples that differ" .. name)
    t.error(function()
        for _ in data.Loader { { size = 2,
            get = function(_, i) return { i, i > 1 and 3 or nil } end }, batch = 2,
            workers = workers } () do end
    end,
        "value 1 of sample 1 is a table of 1, that of sample 2 a table of 2; a batch needs them \z
            alike",
        "tables that differ" .. name)
    t.error(function()
        for _ in data.Loader { { size = 1, get = function() end }, workers = workers } () do end
    end, "get returned nothing for sample 1", "nothing" .. name)
    t.error(function()
        for _ in data.Loader { { size = 1, get = function() return print end },
            workers = workers } ()
        do
        end
    end, "value 1 of sample 1 is a function; a batch is made of", "a function in a sample" .. name)
    t.error(function()
        for _ in data.Loader { numbers, batch = 3, workers = workers,
            collate = function() error "glue" end } ()
        do
        end
    end, "data.Loader: collate of batch 1: .*glue", "an error in collate" .. name)
    t.is(tasks(), threads_before, "no thread is left after errors" .. name)
end

local two = data.Loader { { size = 64,
    get = function(_, i) if i % 2 == 0 then error "even" end return i end },
    batch = 64, workers = 4 }
local least = true
for _ = 1, 5 do
    local _, message = pcall(function() for _ in two() do end end)
    least = least and message:find "sample 2:"
end
t.ok(least, "of several errors in a batch, the first sample's is reported")

for name, make in pairs {
    ["loader.lua:%d+: data.Loader: unknown option 'batchsize' .*dataset, batch, shuffle"] =
        function() data.Loader { numbers, batchsize = 3 } end,
    ["option 'workers' is %-1"] = function() data.Loader { numbers, workers = -1 } end,
    ["option 'collate' is a table"] = function() data.Loader { numbers, collate = {} } end,
    ["the data set is a table without get"] = function() data.Loader { {} } end,
    ["data.Loader: its size is nil"] = function() data.Loader { { get = function() end } }() end,
    ["data.Dataset: its size is nil"] = function() data.Dataset { get = function() end } end,
    ["the data set is a number"] = function() data.Loader(3) end,
    ["its size is %-1"] = function() data.Dataset { size = -1, get = print } end,
    ["field 'get' is nil"] = function() data.Dataset { size = 1 } end,
    ["argument #2 has 2 rows, #1 has 3"] = function() data.TensorDataset(zeros(3), zeros(2)) end,
} do
    t.error(make, name)
end

-- ---- help ----

local text
do
    local kept = print
    print = function(s) text = s end
    help "data.Loader"
    print = kept
end
t.ok(text:find "^data%.Loader{dataset, batch = 1" and text:find "\nshuffle    another order"
    and not text:find "!plain",
    "help shows what the file says first")
t.error(function() help "data.nothing" end, "nothing is called 'data.nothing'")
t.error(function() help "data...init" end, "nothing is called 'data...init'",
    "help reads no other file")

-- ---- devices ----

for _, v, i in data.Loader { numbers, batch = 5, workers = 2, pin = true } () do
    t.ok(v:is_pinned() and i:is_pinned(), "pin: host memory that a device copies from")
    break
end
for _, workers in ipairs { 0, 2 } do
    local function glue(samples) return ones(#samples), { a = ones(2), n = "text" } end
    for _, v, extra in data.Loader { numbers, batch = 5, workers = workers, pin = true,
        collate = glue } ()
    do
        t.ok(v:is_pinned() and extra.a:is_pinned() and extra.n == "text",
            "pin: what collate gives too")
        break
    end
end
t.ok(not data.Loader { numbers, device = "cpu" }.pin, "for the cpu nothing is pinned")
t.error(function() data.Loader { numbers, device = "cpp" } end, "unknown device 'cpp'")
sync.mode = "error"
local sums = {}
for step, v, i in data.Loader { numbers, batch = 5, workers = 2, device = "sim" } () do
    sums[step] = { v.device, v:sum(), i:sum() }
end
sync.mode = "off"
t.is({ sums[1][1], sums[1][2]:item(), sums[2][3]:item() }, { "sim:0", 30, 40 },
    "batches on a device, without a wait")
t.error(function()
    for _ in data.Loader { { size = 1, get = function() return ones(2, { device = "sim" }) end },
        workers = 1 } ()
    do
    end
end, "a loader's workers compute on the cpu, not on sim:0", "a worker queues nothing on a device")
t.done()
