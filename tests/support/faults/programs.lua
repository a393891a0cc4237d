-- Programs whose allocations fail one after the other: tests/bindings/faults.sh. Each is a function
-- that returns text, the same at every run; a second one undoes what a failure may have left.
local folder = os.getenv "HOME"
local x = linspace(-1, 1, 12):reshape(3, 4)
local w = linspace(0, 1, 20):reshape(4, 5)
local model, optimizer

local function text(t) return tostring(t) end
local function train()
    local loss = (model(x) ^ 2):mean()
    optimizer:zero_grad()
    loss:backward()
    optimizer:step()
end

local P = {}
function P.arithmetic() return text((x * 2 + 1):exp():sum(1) / 3) end
function P.views() return text(x:t()[{ { 2, 3 } }]:reshape(-1):flip(1)) end
function P.indexing() return text(x[x > 0]) .. text(w:index_select(1, tensor { 1, 3 })) end
function P.joining() return text(cat({ x, x * 2 }, 1):sort(1)) .. text(stack { x, x }) end
function P.linalg()
    local a = x:matmul(x:t()) + eye(3) * 4
    return text(linalg.solve(a, eye(3))) .. text(linalg.eigh(a)) .. text(linalg.svd(w))
end
function P.backward()
    local a, b = x:clone():requires_grad_(), w:clone():requires_grad_()
    a:matmul(b):tanh():sum():backward()
    return text(a.grad) .. text(b.grad)
end
function P.no_grad()
    local a = x:clone():requires_grad_()
    return no_grad(function() return text(a * 2) end)
end
function P.train()
    manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = optim.Adam(model:parameters(), { lr = 0.1 })
    train()
    train()
    return text(model(x))
end
function P.capture()
    manual_seed(1)
    local m = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))
    local adam = optim.Adam(m:parameters(), { lr = 0.1 })
    local step = capture(function(a)
        adam:zero_grad()
        local loss = (m(a) ^ 2):mean()
        loss:backward()
        adam:step()
        return loss
    end)
    local loss
    for i = 1, 4 do loss = step(x + i) end
    return text(loss:detach()) .. text(m:parameters()[1].grad)
end
function P.fuse()
    fuse_compile(false)
    local f = fuse(function(a, b) return relu(a * b + a):sum(1) end)
    local a = x:clone():requires_grad_()
    for _ = 1, 2 do f(a, x):sum():backward() end
    return text(f(x, x * 2)) .. text(a.grad)
end
-- The first run keeps the object, later ones load it.
function P.compiled()
    fuse_compile("wait")
    local f = fuse(function(a, b) return relu(a * b + a) * 0.5 end)
    f(x, x)
    local out = text(f(x, x))
    fuse_compile(false)
    return out
end
function P.halves()
    local a, b = x:bfloat16(), w:to "f16"
    local loss = (a:matmul(w:bfloat16()):float() + x:to("f16"):matmul(b):float()):tanh()
    return text(loss) .. text(layer_norm(a, { 4 })) .. text(b:softmax(1))
end
function P.autocast()
    manual_seed(1)
    local m = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 2))
    local sgd = optim.AdamW(m, { lr = 0.1 })
    local scaler = amp.GradScaler { init_scale = 64 }
    for i = 1, 2 do
        local loss = autocast("f16", function() return (m(x * i):float() ^ 2):mean() end)
        sgd:zero_grad()
        scaler:scale(loss):backward()
        scaler:step(sgd)
        scaler:update()
    end
    return text(m(x)) .. scaler:get_scale()
end
function P.recurrent()
    manual_seed(1)
    local m = nn.LSTM(4, 3)
    local out = m(x:unsqueeze(1))
    out:sum():backward()
    return text(out:detach()) .. text(m:parameters()[1].grad)
end
function P.attention()
    local q = x:reshape(1, 3, 4)
    return text(scaled_dot_product_attention(q, q, q)) .. text(conv2d(x:reshape(1, 1, 3, 4),
        ones(1, 1, 2, 2)))
end
function P.dlpack()
    local c <close> = w:to_dlpack()
    local turned <close> = x:t():to_dlpack(false)
    local y = from_dlpack(c) + 1
    return text(y) .. text(from_dlpack(turned, { copy = true }))
end
-- What reads the file again, for those that save one.
P.loads = {}
function P.loads.checkpoint()
    return text(safetensors.load(folder .. "/checkpoint.safetensors").w)
end
function P.checkpoint()
    safetensors.save(folder .. "/checkpoint.safetensors", { w = w, x = x })
    return P.loads.checkpoint()
end
function P.loads.npy() return text(npy.load(folder .. "/a.npy")) end
function P.npy()
    npy.save(folder .. "/a.npy", w)
    return P.loads.npy()
end
function P.loads.npz() return text(npz.load(folder .. "/a.npz").w) end
function P.npz()
    npz.save(folder .. "/a.npz", { w = w, x = x })
    return P.loads.npz()
end
function P.loads.png() return text(image.load(folder .. "/a.png")) end
function P.png()
    image.save(folder .. "/a.png", w)
    return P.loads.png()
end
function P.loads.trace()
    local f <close> = assert(io.open(folder .. "/trace.json"))
    return #json.decode(assert(f:read "a")).traceEvents > 0 and "a trace" or "an empty trace"
end
function P.trace()
    profile.run(function() return (x + 1):sum() end):trace(folder .. "/trace.json")
    return P.loads.trace()
end
function P.loads.kept()
    return ("%d events"):format(profile.load(folder .. "/kept.prof.gz").count)
end
function P.kept()
    local options = { stack = true, shapes = true }
    profile.run(options, function() return (x + 1):sum() end):save(folder .. "/kept.prof.gz")
    return P.loads.kept()
end
function P.loads.zip() return text(npz.load(folder .. "/zip.npz").x) end
function P.zip()
    npz.save(folder .. "/zip.npz", { w = w, x = x }, { compressed = true })
    return P.loads.zip()
end
function P.loads.resume()
    local saved = checkpoint.load(folder .. "/resume.safetensors")
    return text(saved.model["1.weight"]) .. saved.step
end
function P.resume()
    manual_seed(1)
    model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 2))
    optimizer = optim.Adam(model:parameters(), { lr = 0.1 })
    train()
    local all = { model = model, optimizer = optimizer, step = 7 }
    checkpoint.save(folder .. "/resume.safetensors", all)
    checkpoint.load(folder .. "/resume.safetensors", { model = model, optimizer = optimizer })
    return P.loads.resume()
end
local costs = { flops = true, shapes = true, stack = true, memory = true }
local function recorded()
    return profile.run(costs, function()
        local _ <close> = profile.region "step 1"
        return (x:to "sim":matmul(w:to "sim") + 1):sum():item()
    end)
end
function P.loads.page()
    local f <close> = assert(io.open(folder .. "/page.html"))
    return assert(f:read "a"):find("</html>", 1, true) and "a page" or "a part"
end
function P.page()
    recorded():report(folder .. "/page.html")
    return P.loads.page()
end
function P.loads.exports()
    local out = {}
    for _, name in ipairs { "host.folded", "speedscope.json" } do
        local f <close> = assert(io.open(folder .. "/" .. name))
        out[#out + 1] = #assert(f:read "a") > 0 and name or "nothing"
    end
    return table.concat(out, " ")
end
function P.exports()
    local p = recorded()
    p:folded(folder .. "/host.folded")
    p:speedscope(folder .. "/speedscope.json")
    for _, format in ipairs { "csv", "json", "markdown" } do p:table { format = format } end
    return P.loads.exports()
end
function P.whatif()
    local p = recorded()
    local q = p:whatif { without = "item", scale = { matmul = 0.5 }, host = 0.5, overlap = true }
    local h = p:on "h200"
    return table.concat({ #p:savings(), q.predicted, h.predicted,
        #tostring(p:diff(q)) > 0 and 1 or 0,
        #p:critical_path() > 0 and 1 or 0, #tostring(p:idle()) > 0 and 1 or 0, #p:memory() }, " ")
end
local torch = [=[{"traceEvents": [
    {"ph":"X","cat":"user_annotation","name":"step","pid":1,"tid":1,"ts":1,"dur":90},
    {"ph":"X","cat":"python_function","name":"a.py(1): f","pid":1,"tid":1,"ts":2,"dur":80},
    {"ph":"X","cat":"cpu_op","name":"aten::item","pid":1,"tid":1,"ts":3,"dur":70,
     "args":{"Input Dims":[[2,3]],"Input type":["float"]}},
    {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":4,"dur":5,
     "args":{"correlation":7}},
    {"ph":"X","cat":"cuda_runtime","name":"cudaStreamSynchronize","pid":1,"tid":1,"ts":9,"dur":40,
     "args":{"correlation":8}},
    {"ph":"X","cat":"kernel","name":"k\u00e9","pid":0,"tid":7,"ts":8,"dur":40,
     "args":{"correlation":7,"device":0,"stream":7}}]}]=]
function P.torch()
    local name = folder .. "/torch.json"
    local f = assert(io.open(name, "w"))
    assert(f:write(torch))
    assert(f:close())
    local p = profile.load(name)
    return tostring(p:sync()) .. tostring(p:devices()) .. tostring(p:queues()) .. p.count
end
do -- a packed trace that is there, of two steps
    local f <close> = assert(io.open(folder .. "/packed.json", "w"))
    f:write((torch:gsub("\n", " ")))
end
os.execute(("gzip -f '%s/packed.json'"):format(folder))
function P.packed()
    local p = profile.load(folder .. "/packed.json.gz")
    return p:table { group = "module" } .. tostring(p:savings()) .. tostring(p:critical_path())
end
function P.json()
    local t = json.decode '{"a": [1, 2.5, null, "text"], "b": {"c": {}}}'
    return json.encode(t)
end
function P.syntax()
    local chunk = "local x = ...; if x:sum() > -1 and not (x == 0):all() then return x @ x:t() end"
    return text(assert(load(chunk))(x))
end
function P.loader()
    local out = {}
    local set = data.TensorDataset(x, tensor { 1, 2, 3 })
    for _, a, b in data.Loader(set, { batch = 2 })() do out[#out + 1] = text(a) .. text(b) end
    return table.concat(out)
end
function P.workers()
    local out = {}
    local set = data.TensorDataset(x, tensor { 1, 2, 3 })
    for _, a, b in data.Loader(set, { batch = 2, workers = 2 })() do
        out[#out + 1] = text(a) .. text(b)
    end
    return table.concat(out)
end
function P.sim() return text((x:to "sim" * 2):sum(1):to "cpu") end
function P.card()
    sim.card, sim.host = "h200", 8e-6
    local ok, out = pcall(function()
        local y = (x:to "sim" * 2):sum(1):to "cpu"
        local p = profile.run(costs, function() return x:to "sim" + 1 end)
        return text(y) .. sim.label .. #p:rows()
    end)
    sim.card, sim.host = nil, nil
    return ok and out or error(out, 0)
end
function P.forks()
    local f = fork(function(a) return a * 2, a + 1 end, x)
    local h = fork(function(a) return (a ^ 2):sum() end, x:clone():requires_grad_())
    local a, b = wait(f)
    return text(a) .. text(b) .. text(wait(h):detach())
end
function P.dist()
    dist.init { timeout = 20 }
    manual_seed(1)
    local m = nn.parallel.DistributedDataParallel(nn.Linear(4, 2))
    local opt = optim.ZeroRedundancyOptimizer(m:parameters(), optim.Adam, { lr = 0.1 })
    m(x):sum():backward()
    opt:step()
    local sum = wait(dist.all_reduce(x, { async = true }))
    return text(sum) .. text(dist.all_gather(w)[1]) .. text(m.module.weight)
end
function P.loads.shards() return checkpoint.load(folder .. "/shards.safetensors").step end
function P.shards()
    manual_seed(1)
    checkpoint.save(folder .. "/shards.safetensors", { model = nn.Linear(4, 2), step = 3 },
        { sharded = true })
    return P.loads.shards()
end
function P.streams()
    local futures = {}
    for i = 1, 3 do futures[i] = fork(function() return x:to "sim" * i end) end
    return text(stack(wait(futures)):sum():item())
end
function P.profile()
    local p = profile.run(function() return (x:to "sim" + 1):sum():item() end, 1)
    return #p:table() > 0 and #p:rows() > 0 and "profiled" or "empty"
end
function P.waits()
    sync.reset()
    local v = (x:to "sim" + 1):sum():item()
    local times = 0
    for _, line in ipairs(sync.lines()) do times = times + line.times end
    return v .. (times >= 2 and " counted" or " lost") -- a retry for lack of memory waits, too
end
return P
