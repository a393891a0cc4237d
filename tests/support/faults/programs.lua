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
    return #json.decode(f:read "a").traceEvents > 0 and "a trace" or "an empty trace"
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
    local f <close> = assert(io.open(name, "w"))
    f:write(torch)
    f:close()
    local p = profile.load(name)
    return tostring(p:sync()) .. tostring(p:devices()) .. tostring(p:queues()) .. p.count
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
