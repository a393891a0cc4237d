-- help's claims: an op that says it waits does so on the simulated device, and no other op does.
local t = require "tap"
local g = require "gpush"
local A, S = require "audit", require "audit.samples"

-- Calls that wait only because of an argument, which the samples do not give.
local calls = {
    one_hot = "i{1, 2, 3}", repeat_interleave = "f(2, 3), i{1, 2}, 1", where = "b{true, false}",
    quantile = "f(2, 3), {0.5}, 2", nanquantile = "f(2, 3), {0.5}, 2", to = "f(2, 3), 'cpu'",
    new_tensor = "f(2, 3), {1, 2}", type_as = "f(2, 3), zeros(2)",
}
local function function_of(name)
    local group, short = name:match "^(%l+)[._](.+)$"
    if group == "linalg" or group == "fft" then return g[group][short] end
    return g[name]
end

-- The samples' operands, on the simulated device.
local env = setmetatable({}, { __index = _G })
for _, maker in ipairs { "f", "i", "b" } do
    env[maker] = function(...) return A.env[maker](...):to "sim" end
end
env.spd = A.env.spd:to "sim"

-- Whether the call waits; its operands are made before it, and nil where it fails.
local function waits(fn, text)
    local args = table.pack(load("return " .. text, "=sample", "t", env)())
    g.synchronize()
    g.sync.reset()
    if not pcall(fn, table.unpack(args, 1, args.n)) then return nil end
    return #g.sync.lines() > 0
end

g.sync.mode = "off"
t.is(waits(g.isclose, "f(3), 0.5"), false, "isclose to a number makes that on the device")
local silent, idle, seen = {}, {}, 0
for name, row in pairs(g.ops(true)) do
    local text = calls[name] or S.call(name, row)
    local fn = function_of(name)
    if text and (row.sig or ""):find "device%? device" and not text:find "'" then
        text = text .. ", {device = 'sim'}"
    end
    if text and fn and not row.own then
        local waited = waits(fn, text)
        if waited ~= nil then seen = seen + 1 end
        if waited and not row.waits then silent[#silent + 1] = name end
        if waited == false and row.waits then idle[#idle + 1] = name end
    end
end
table.sort(silent)
table.sort(idle)
t.is(table.concat(silent, " "), "", "no op waits without saying so")
t.is(table.concat(idle, " "), "", "and those that say so wait")
t.ok(seen > 250, "of " .. seen .. " ops")
t.is(g.ops().nonzero.waits, "for the number of elements that are not zero", "the table has it")
t.is(g.ops(true).equal.waits, "for true or false", "of a composite, too")


local function vector(...) return g.tensor({ ... }, { device = "sim" }) end

-- What help says of methods and functions that are no ops: each waits in such a call.
local functions = {
    tensor = "tensor({1, 2}, {device = 'sim'})", cpu = "vector(1):cpu()", gpu = "ones(2):gpu()",
    item = "vector(1):item()", tolist = "vector(1):tolist()",
    ["optim.LBFGS"] = "optim.LBFGS({leaf}):step(function() leaf.grad = nil\n\z
        local l = (leaf * leaf):sum()\nl:backward()\nreturn l end)",
    copy_ = "zeros(2):copy_(vector(1, 2))",
    ["checkpoint.save"] = "checkpoint.save(file, {x = vector(1)})",
    ["checkpoint.load"] = "checkpoint.save(file, {m = model}), sync.reset(), \z
        checkpoint.load(file, {m = model})",
    ["nn.any.cpu"] = "model:deepcopy():cpu()", ["nn.any.gpu"] = "nn.Linear(2, 2):gpu()",
    ["nn.any.to"] = "nn.Linear(2, 2):to 'sim'",
    ["nn.any.load_state_dict"] = "model:load_state_dict(nn.Linear(2, 2):state_dict())",
    ["optim.any.load_state_dict"] = "opt:load_state_dict(host_opt:state_dict())",
    ["optim.clip_grad_norm_"] = "(leaf * 2):sum():backward(), \z
        optim.clip_grad_norm_({leaf}, 1, {error_if_nonfinite = true})",
    ["optim.lr.ReduceLROnPlateau"] = "optim.lr.ReduceLROnPlateau(opt):step(queued[1])",
    ["nn.utils.rnn.pack_padded_sequence"] = "nn.utils.rnn.pack_padded_sequence(zeros(2, 2, 3), \z
        vector(2, 1))",
    ["autograd.detect_anomaly"] = "autograd.detect_anomaly(function() (leaf * 2):sum():backward() \z
        end)",
    ["autograd.gradcheck"] = "autograd.gradcheck(sin, sharp)",
    ["autograd.gradgradcheck"] = "autograd.gradgradcheck(sin, sharp)",
    ["nan.watch"] = "nan.watch(function() return queued end)",
    diverge = "diverge(sin, queued, {dtype = 'f64'})",
    ["data.Subset"] = "data.Subset(data.TensorDataset(zeros(2)), vector(1, 2))",
    ["stream.synchronize"] = "queued and current_stream 'sim':synchronize()",
    ["event.synchronize"] = "queued and current_stream 'sim':record():synchronize()",
    ["event.elapsed"] = "first:elapsed(queued and current_stream 'sim':record())",
    synchronize = "queued and synchronize 'sim'", wait = "wait(fork(matmul, large, large))",
    to_dlpack = "stream 'cpu':use(matmul, large, large):to_dlpack()",
    ["npy.save"] = "npy.save(file, vector(1))",
    ["npz.save"] = "npz.save(file, {x = vector(1)})",
    ["safetensors.save"] = "safetensors.save(file, {x = vector(1)})",
    ["image.save"] = "image.save(file, zeros(3, 4, 4, {device = 'sim'}))",
    plot = "plot(vector(1, 2), {text = true})", hist = "hist(vector(1, 2), {text = true})",
    heatmap = "heatmap(zeros(2, 2, {device = 'sim'}), {text = true})",
    imshow = "imshow(zeros(4, 4, {device = 'sim'}), {text = true})",
    timeit = "timeit(function() return queued end, {n = 1, device = 'sim'})",
    compare = "compare({a = function() return queued end}, {n = 1, device = 'sim', print = false})",
    ["profile.run"] = "profile.run(function() return queued end)",
    ["profile.stop"] = "queued and profile.stop()",
    ["sync.finish"] = "sync.async(there:matmul(there), function() end) or sync.finish()",
}
local skipped = { ["cuda.synchronize"] = "needs a GPU", ["data.Loader"] = "no wait for a device",
    ["tensor.cuda"] = "needs a GPU", ["nn.any.cuda"] = "needs a GPU" }
local topics = debug.getregistry()["gpush.require"] "help.topics"
local place = { vector = vector, leaf = vector(1.0, 2):requires_grad_(),
    sharp = g.ones(2, { dtype = "f64", device = "sim" }):requires_grad_(),
    model = g.nn.Linear(2, 2, { device = "sim" }),
    file = os.tmpname(), large = g.ones(700, 700),
    there = g.ones(700, 700, { device = "sim" }) }
place.opt = g.optim.Adam { place.leaf }
place.on_host = g.ones(2):requires_grad_()
place.host_opt = g.optim.Adam { place.on_host }
place.on_host:sum():backward()
place.host_opt:step()
setmetatable(place, { __index = function(_, key)
    if key == "queued" then return vector(1) + 1 end
    return g[key] or _G[key]
end })
for name, topic in pairs(topics) do
    -- dist's take several processes: tests/dist/waits.sh
    local one = name ~= 1 and topic.waits and not name:find "^dist%."
    if one and not skipped[name] then
        local f = load("return " .. (functions[name] or "error 'no call'"), "=call", "t", place)
        place.first = g.current_stream "sim":record()
        local ok, message
        for _ = 1, 20 do -- again where the device was done before the host came to wait
            if name == "profile.stop" then g.profile.start() end
            g.synchronize()
            g.sync.reset()
            ok, message = pcall(f)
            if not ok or #g.sync.lines() > 0 then break end
        end
        t.ok(ok and #g.sync.lines() > 0, name .. " waits", message)
    end
end

local unsaid = {}
for name in pairs(functions) do
    if not (topics[name] and topics[name].waits) then unsaid[#unsaid + 1] = name end
end
t.is(unsaid, {}, "help says so of each of them")

-- Options: none makes an op wait that does not say so. (A 0-d tensor where a number is expected is
-- read, whatever the op: docs/waiting.md.)
local values = { true, false, 0, 1, 2, -1, 0.5, "mean", "none", "sum", "constant", { 1 }, { 0.5 },
    { 2, 2 }, { 2, 3 }, function() return vector(1, 2) end, function() return vector(1.0, 2.0) end,
    function() return vector(true, false, true) end }
local tried, late = 0, {}
local function try(name, fn, args)
    pcall(g.synchronize)
    g.sync.reset()
    local done = pcall(fn, table.unpack(args, 1, args.n))
    local waited = done and #g.sync.lines() > 0
    pcall(g.synchronize)
    if done then tried = tried + 1 end
    if waited then late[name] = true end
end
for name, row in pairs(g.ops(true)) do
    local text, fn, i = S.call(name, row), function_of(name), 0
    local sig = text and fn and not row.waits and not row.own and row.sig or ""
    for word in sig:gmatch "%w+[!?]* ([%w_]+)" do
        i = i + 1
        for _, value in ipairs(values) do
            local args = table.pack(load("return " .. text, "=sample", "t", env)())
            if type(value) == "function" then value = value() end
            local before = math.min(args.n, i - 1)
            local named = table.move(args, 1, before, 1, { n = before + 1 })
            named[named.n] = { [word] = value }
            args[i], args.n = value, math.max(args.n, i)
            try(name .. " " .. word, fn, args)
            try(name .. " " .. word, fn, named)
        end
    end
end
local list = {}
for name in pairs(late) do list[#list + 1] = name end
table.sort(list)
t.is(table.concat(list, ", "), "", "no option makes an op wait that does not say so")
t.ok(tried > 4000, tried .. " calls with an option went through")
t.done()
