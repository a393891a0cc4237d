--!plain
-- Checkpoints: training resumes bit for bit, plain data are restored, a mismatch changes nothing.
local t = require "tap"
local g = require "gpush"
local nn, optim, checkpoint = g.nn, g.optim, g.checkpoint
local dir = os.getenv "TMPDIR"
local file = dir .. "/a.safetensors"

-- A run with every kind of state: dropout, running statistics, averages, a schedule.
local function new_run(device, hidden)
    local run = {}
    run.model = nn.Sequential(nn.Linear(6, hidden or 8), nn.BatchNorm1d(hidden or 8), nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(hidden or 8, 3)):to(device)
    run.optimizer = optim.AdamW(run.model, { lr = 0.05 })
    run.scheduler = optim.lr.OneCycleLR(run.optimizer, 0.1, { total_steps = 20 })
    run.device = device
    return run
end

local function train(run, steps)
    local losses = {}
    for i = 1, steps do
        local x = g.randn(16, 6, { device = run.device })
        local y = g.randint(1, 3, { 16 }, { device = run.device })
        run.optimizer:zero_grad()
        local loss = g.cross_entropy(run.model(x), y)
        loss:backward()
        run.optimizer:step()
        run.scheduler:step()
        losses[i] = loss:item()
    end
    return losses
end

local function values(run)
    local all = {}
    for name, x in pairs(run.model:state_dict()) do all[name] = x:tolist() end
    return all
end

for _, device in ipairs { "cpu", "sim" } do
    g.manual_seed(3)
    local run = new_run(device)
    train(run, 3)
    checkpoint.save(file,
        { model = run.model, optimizer = run.optimizer, scheduler = run.scheduler, step = 3 })
    local want = train(run, 4)
    g.manual_seed(99)
    local other = new_run(device)
    train(other, 1)
    local data = checkpoint.load(file,
        { model = other.model, optimizer = other.optimizer, scheduler = other.scheduler })
    t.is(data.step, 3, "the step, on " .. device)
    t.is(train(other, 4), want, "the same losses, bit for bit, on " .. device)
    t.is(values(other), values(run), "the same parameters and statistics on " .. device)
    t.is(other.optimizer.param_groups[1].lr, run.optimizer.param_groups[1].lr,
        "the same rate on " .. device)
end

-- ---- plain data, tensors, names ----

local rng = g.get_rng_state()
checkpoint.save(file,
    { best = math.huge, worst = -math.huge, none = 0 / 0, list = { 1, 2.5, { x = true } },
        empty = {}, text = "ä\n",
    mean = g.tensor({ 1.5, 2 }), nested = { ["a.b"] = g.tensor { 1, 2 } },
    ["nested.a"] = { b = g.tensor { 3 } } })
g.manual_seed(1)
local data = checkpoint.load(file)
t.is({ data.best, data.worst, data.none, data.list, data.empty, data.text },
    { math.huge, -math.huge, 0 / 0, { 1, 2.5, { x = true } }, {}, "ä\n" },
    "numbers, lists, tables, texts")
t.is({ data.mean:tolist(), data.nested["a.b"]:tolist(), data["nested.a"].b:tolist() },
    { { 1.5, 2.0 }, { 1, 2 }, { 3 } },
    "tensors, also where two paths look alike")
t.is(g.get_rng_state(), rng, "the generator goes on")
g.manual_seed(1)
checkpoint.load(file, {}, { rng = false })
t.is(g.get_rng_state().seed, 1, "rng = false leaves it")
local run = new_run "cpu"
checkpoint.save(file, { model = run.model })
t.is(g.safetensors.load(file)["model.1.weight"], run.model:parameters()[1]:detach(),
    "other programs find the tensors by name")
t.is(checkpoint.load(file).model["1.bias"], run.model:parameters()[2]:detach(),
    "without a model its state comes back")

-- ---- mismatches ----

local function fails(f, pattern, name) t.error(f, pattern, name) end
local ring = {}
ring.next = ring
fails(function() checkpoint.save(file, { a = ring }) end,
    "checkpoint.save: 'a.next.next.* %.%.%.' is nested deeper than 190 levels",
    "a table that contains itself is an error")
-- A random state that is refused leaves the model as it was; the error names the file.
do
    local other = new_run "cpu"
    checkpoint.save(file, { model = other.model })
    local f = assert(io.open(file, "rb"))
    local text = f:read("a"):gsub("counter", "cXunter")
    f:close()
    f = assert(io.open(file, "wb"))
    f:write(text)
    f:close()
    train(other, 1)
    local kept = values(other)
    fails(function() checkpoint.load(file, { model = other.model }) end,
        "checkpoint.load: " .. file:gsub("%p", "%%%0") .. ": set_rng_state: field 'counter' is nil",
        "a damaged random state")
    t.is(values(other), kept, "changes nothing")
end
train(run, 1)
checkpoint.save(file, { model = run.model, optimizer = run.optimizer })
local wide = new_run("cpu", 9)
local before = values(wide)
fails(function() checkpoint.load(file, { model = wide.model }) end,
    "checkpoint.lua:%d+: checkpoint.load: .*'model' is the state of another one:.*other shapes: \z
        .*weight %(9x6, in the file 8x6%)",
    "another size: which parameters, at the user's line")
local deep = nn.Sequential(nn.Linear(6, 8), nn.Linear(8, 8), nn.Linear(8, 3), nn.Linear(3, 3),
    nn.Linear(3, 3), nn.Linear(3, 3))
fails(function() checkpoint.load(file, { model = deep }) end,
    "not in the file: .*%.weight.*only in the file: .*running_mean",
        "another model: which keys differ")
local narrow = new_run "cpu"
before = values(narrow)
fails(function()
    checkpoint.load(file, { model = narrow.model, optimizer = optim.SGD(narrow.model) })
end, "'optimizer' is the state of another one: .*SGD: load_state_dict", "another optimizer")
t.is(values(narrow), before, "and the model, which would fit, is as it was")
fails(function() checkpoint.load(file, { net = narrow.model }) end, "has no 'net'",
    "a name that was not saved")
fails(function() checkpoint.load(file, { model = 5 }) end,
    "'model': expected what has load_state_dict, got number", "an object without state")
g.safetensors.save(dir .. "/plain.safetensors", { x = g.zeros(1) })
fails(function() checkpoint.load(dir .. "/plain.safetensors") end, "is no checkpoint",
    "a file that is no checkpoint")
fails(function() checkpoint.load(dir .. "/none") end,
    "checkpoint.load: cannot open .*/none: No such file", "no file")
fails(function() checkpoint.save(file, { f = print }) end, "checkpoint.save: 'f' is a function",
    "a function")
fails(function() checkpoint.save(file, { a = { b = { [3] = 1 } } }) end,
    "checkpoint.save: 'a.b' has the key 3", "a list with holes")
fails(function() checkpoint.save(file, {}, { rgn = true }) end,
    "unknown option 'rgn'; did you mean rng%?", "another option")
fails(function() checkpoint.save(5, {}) end, "argument 'file' %(#1%): expected a string, got 5",
    "no name")
fails(function() checkpoint.save(dir .. "/no/x", { a = 1 }) end,
    "checkpoint.save: cannot write .*/no/x: No such file", "no folder")
t.ok(checkpoint.load(file).optimizer.state[1].exp_avg ~= nil,
    "after all this the file is the one before")

-- What cannot be opened is not absent.
os.execute(("ln -s loop '%s/loop'"):format(dir))
fails(function() checkpoint.exists(dir .. "/loop") end,
    "checkpoint.exists: cannot open .*/loop: Too many levels of symbolic links", "a loop of links")
local exists = checkpoint.exists
t.is({ exists(file), exists(dir .. "/none"), exists(file .. "/x") }, { true, false, false },
    "a file, none, and one in what is no folder")

-- A full disk.
local script = dir .. "/full.lua"
local f = assert(io.open(script, "w"))
f:write(([[print(pcall(checkpoint.save, %q, {x = zeros(5000)}))]]):format(file))
f:close()
local p = io.popen(("trap '' XFSZ; ulimit -f 8; '%s/gpush' '%s' 2>&1; ls '%s' | grep -c tmp")
    :format(os.getenv "GPUSH_BUILD", script, dir))
t.ok(p:read "l":find "^false\t.*checkpoint.save: cannot write .*: File too large",
    "a full disk is an error")
t.is(p:read "l", "0", "that leaves no temporary")
p:close()
t.ok(checkpoint.load(file).model, "and the old file")

-- Shards of saves that were killed: of more ranks, and of a generation that never came or was not
-- removed. Other files of such names stay.
local sharded = dir .. "/run/s-1.safetensors"
os.execute(("mkdir '%s/run'"):format(dir))
checkpoint.save(sharded, { a = g.ones(3) }, { sharded = true })
for _, name in ipairs { "s-1-2-00001-of-00002", "s-1-7-00001-of-00001", "s-2-7-00001-of-00001" } do
    os.execute(("cd '%s/run' && cp s-1-1-00001-of-00001.safetensors %s.safetensors"):format(dir,
        name))
end
g.safetensors.save(dir .. "/run/s-1-00001-of-00002.safetensors", { a = g.ones(2) })
g.safetensors.save(dir .. "/run/s-1-3-00001-of-00002.safetensors", { a = g.ones(2) })
checkpoint.save(sharded, { a = g.ones(4) }, { sharded = true })
t.is(checkpoint.load(sharded).a:numel(), 4, "a sharded checkpoint is saved over")
local left = io.popen(("cd '%s/run' && echo *"):format(dir))
t.is(left:read "a", "s-1-00001-of-00002.safetensors s-1-2-00001-of-00001.safetensors \z
    s-1-3-00001-of-00002.safetensors s-1.safetensors s-2-7-00001-of-00001.safetensors\n",
    "what killed saves left of it is removed, and nothing else")
left:close()
t.done()
