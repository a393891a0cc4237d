-- Recurrent layers by cuDNN on the stand-in for CUDA, which has an implementation of its own
-- (tests/fake_cuda/libs/cudnn_rnn.cpp): the cpu's results and gradients, for every kind of layer;
-- dropout runs by our own kernels, and so does everything without cuDNN.
local t = require "tap"
local build, scratch = os.getenv "GPUSH_BUILD", os.getenv "TMPDIR"

-- fn's results, and whether cuDNN ran it.
local function watched(fn)
    local out
    local prof = profile.run({}, function() out = table.pack(fn()) end)
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" and e.kernel:find "^cuDNN: " then return out, true end
    end
    return out, false
end

manual_seed(7)
local kinds = {
    { "LSTM", {} }, { "LSTM", { num_layers = 2, bidirectional = true } },
    { "LSTM", { bias = false, batch_first = true } },
    { "GRU", {} }, { "GRU", { num_layers = 3 } }, { "GRU", { bidirectional = true, bias = false } },
    { "RNN", {} }, { "RNN", { nonlinearity = "relu", num_layers = 2, bidirectional = true } },
}
local eps = { f32 = 1e-5, f64 = 1e-12, f16 = 2e-3 }
for _, kind in ipairs(kinds) do
    local name, options = kind[1], kind[2]
    for _, dtype in ipairs { "f32", "f64", "f16" } do
        local layer = nn[name](3, 5, options):to(dtype)
        local x = randn(4, 2, 3, { dtype = dtype })
        local states = (options.num_layers or 1) * (options.bidirectional and 2 or 1)
        local batch = options.batch_first and 4 or 2
        local h = randn(states, batch, 5, { dtype = dtype })
        local hx = name == "LSTM" and { h, h * 0.5 } or h
        local there = name == "LSTM" and { h:to "cuda", (h * 0.5):to "cuda" } or h:to "cuda"
        local _ <close> = no_grad()
        local what = ("%s %s, %d states"):format(name, dtype, states)
        for _, given in ipairs { true, false } do
            local from, from_there
            if given then from, from_there = hx, there end
            local want = table.pack(layer(x, from))
            layer:to "cuda"
            local got, by = watched(function() return layer(x:to "cuda", from_there) end)
            layer:to "cpu"
            t.ok(by, what .. " goes to cuDNN")
            for i = 1, want.n do
                local a, b = got[i], want[i]
                if type(b) == "table" then a, b = cat { a[1], a[2] }, cat { b[1], b[2] } end
                t.close(a:to "cpu":tolist(), b:tolist(), eps[dtype],
                    ("%s: result %d, %s"):format(what, i, given and "from a state" or "from zeros"))
            end
        end
    end
end

-- Gradients of x, of the states and of the weights, for random gradients of all results.
local function gradients(layer, x, hx, dy, twice)
    local list = { x }
    for _, h in ipairs(type(hx) == "table" and hx or { hx }) do list[#list + 1] = h end
    for _, p in ipairs(layer:parameters()) do list[#list + 1] = p end
    local out = table.pack(layer(x, hx))
    local sum = 0
    for _, y in ipairs(type(out[2]) == "table" and { out[1], out[2][1], out[2][2] } or out) do
        sum = sum + (y * dy:narrow(1, 1, y:numel()):view(table.unpack(y.shape))):sum()
    end
    if twice then grad(sum, list, { retain_graph = true }) end
    return table.pack(grad(sum, list))
end
local function same(got, want, eps, what)
    for i = 1, #want do
        t.close(got[i]:to "cpu":tolist(), want[i]:tolist(), eps,
            ("%s: gradient %d"):format(what, i))
    end
end
local function there(x, device) return x:detach():to(device):requires_grad_() end
eps = { f32 = 2e-5, f64 = 1e-11, f16 = 2e-2 }
for _, kind in ipairs(kinds) do
    local name, options = kind[1], kind[2]
    for _, dtype in ipairs { "f32", "f64", "f16" } do
        local layer = nn[name](3, 5, options):to(dtype)
        local states = (options.num_layers or 1) * (options.bidirectional and 2 or 1)
        local what = ("%s %s, %d states, trained"):format(name, dtype, states)
        local x, h = randn(4, 2, 3, { dtype = dtype }),
            randn(states, options.batch_first and 4 or 2, 5, { dtype = dtype })
        local dy = randn(200, { dtype = dtype })
        local function states_on(device)
            return name == "LSTM" and { there(h, device), there(h * 0.5, device) }
                or there(h, device)
        end
        local want = gradients(layer, there(x, "cpu"), states_on "cpu", dy)
        layer:to "cuda"
        local got, by = watched(function()
            return table.unpack(gradients(layer, there(x, "cuda"), states_on "cuda", dy:to "cuda",
                true))
        end)
        t.ok(by, what .. " goes to cuDNN")
        same(got, want, eps[dtype], what .. ", a second time")
    end
end

t.is(os.getenv "CUBLAS_WORKSPACE_CONFIG", ":4096:8",
    "cuBLAS within cuDNN is set to give the same bits each time")

-- Operands of 16 bits stay such; where cuDNN refuses them it runs the layer in f32, and where it
-- refuses to train it, our own kernels do.
local fake = require "fake"
local function kernels_of(fn)
    local names = {}
    local prof = profile.run({}, fn)
    for _, e in ipairs(prof:events()) do
        local name = e.kind == "kernel" and e.kernel and e.kernel:match "fake_rnn%S*"
        if name then names[#names + 1] = name end
    end
    return names
end
for i, case in ipairs {
    { "f16", "0", "0", { "fake_rnn_16", "fake_rnn_back_16", "fake_rnn_weights_16" } },
    { "bf16", "0", "0", { "fake_rnn_16", "fake_rnn_back_16", "fake_rnn_weights_16" } },
    { "f16", "1", "0", { "fake_rnn", "fake_rnn_back", "fake_rnn_weights" } },
    { "f16", "0", "1", {} },
    { "f32", "0", "0", { "fake_rnn", "fake_rnn_back", "fake_rnn_weights" } },
} do
    local dtype, choice, refuse, want = table.unpack(case)
    local layer = nn.GRU(3, 5 + i):to(dtype)
    local x, dy = randn(4, 2, 3):to(dtype), randn(300):to(dtype)
    local h = zeros(1, 2, 5 + i):to(dtype)
    local right, got = gradients(layer, there(x, "cpu"), there(h, "cpu"), dy), nil
    layer:to "cuda"
    fake.fault(("choice=%s refuse=%s"):format(choice, refuse))
    local names = kernels_of(function()
        got = gradients(layer, there(x, "cuda"), there(h, "cuda"), dy:to "cuda")
    end)
    fake.fault "choice=0 refuse=0"
    local what = ("%s, refused %s and %s times"):format(dtype, choice, refuse)
    t.is(names, want, what .. ": its kernels")
    same(got, right, dtype == "bf16" and 0.2 or 2e-2, what)
end

-- Only some of the results, no states, no batch; TF32 that is switched between forward and
-- backward.
do
    local layer, x = nn.GRU(3, 5, { num_layers = 2 }):double(), randn(4, 3, { dtype = "f64" })
    local function run(device)
        layer:to(device)
        local a = there(x, device)
        local y = layer(a)
        cuda.tf32(true)
        local list = table.pack(grad(y:select(1, 2):sum(), { a, layer:parameters()[2] }))
        cuda.tf32(false)
        return list
    end
    local want = run "cpu"
    same(run "cuda", want, 1e-11, "one step's output")
    layer:to "cpu"
end
-- What one saved must not be taken for the other's, or be read past its end.
do
    local w = { randn(20, 3, { device = "cuda" }), randn(20, 5, { device = "cuda" }) }
    local x, o = randn(4, 2, 3, { device = "cuda" }), { has_biases = false }
    local _, _, _, saved = lstm_forward(x, nil, w, o)
    t.error(function()
        lstm_backward(x, nil, w, false, 1, 0, false, false, false,
            saved:narrow(1, 1, 100):contiguous(), randn(4, 2, 5, { device = "cuda" }))
    end,
        "lstm_backward: argument 'saved' has 100 elements %(expected what the forward op gave%)",
            "less than was saved")
end

local layer = nn.LSTM(3, 5, { num_layers = 2, dropout = 0.5 }):to "cuda"
local x = randn(4, 2, 3, { device = "cuda" })
t.ok(not select(2, watched(function() return layer(x) end)), "dropout has our own kernels")
do
    local _ <close> = no_grad()
    t.ok(not select(2, watched(function() return layer(x) end)),
        "also where nothing will be differentiated")
    layer:eval()
    t.ok(select(2, watched(function() return layer(x) end)), "evaluation has none")
end

-- With dropout, too, products of 16 bits are such, with sums in f32.
for _, kind in ipairs { "LSTM", "GRU", "RNN" } do
    for dtype, eps in pairs { f16 = 1e-2, bf16 = 0.1 } do
        local options = { num_layers = 2, dropout = 0.5, bidirectional = true }
        local layer = nn[kind](8, 16, options):to(dtype)
        local x, h = randn(5, 3, 8):to(dtype), randn(4, 3, 16):to(dtype)
        local dy = randn(480 + 2 * 192):to(dtype)
        local function run(device)
            layer:to(device)
            manual_seed(11)
            local a = there(h, device)
            return gradients(layer, there(x, device), kind == "LSTM" and { a, a * 0.5 } or a,
                dy:to(device))
        end
        local want, got, names = run "cpu", nil, {}
        local prof = profile.run({}, function() got = run "cuda" end)
        for _, e in ipairs(prof:events()) do
            local name = e.kind == "kernel" and e.kernel and e.kernel:match "fake_gemm_%S*"
            if name then names[name] = (names[name] or 0) + 1 end
        end
        local what = kind .. " with dropout, " .. dtype
        -- 2 layers and directions: x once and h in 5 steps; the gradients of x and both weights
        -- (that of h0 apart) once, and h in 5 steps
        t.is(names, { ["fake_gemm_" .. dtype] = 4 * (1 + 5 + 5 + 4) }, what .. ": its products")
        for i, y in ipairs(want) do
            local size = 1 + y:float():abs():amax():item()
            t.close(got[i]:to "cpu":float():div(size):tolist(), y:float():div(size):tolist(), eps,
                ("%s: gradient %d"):format(what, i))
        end
    end
end

-- Weights are packed for cuDNN once, and again when they have changed: that takes copies on the
-- device, which a call that finds them packed does not need.
do
    local here, x = nn.LSTM(3, 5, { num_layers = 2 }), randn(4, 2, 3)
    local there, a = nn.LSTM(3, 5, { num_layers = 2 }):to "cuda", x:to "cuda"
    there:load_state_dict(here:state_dict())
    local function copies(fn)
        synchronize "cuda"
        local before = fake.count "copy on the device"
        fn()
        synchronize "cuda"
        return fake.count "copy on the device" - before
    end
    local function weights(k, fn)
        local _ <close> = no_grad()
        for _, l in ipairs { here, there } do fn(l:parameters()[k]) end
    end
    local few -- copies of a call that packs nothing
    local function call(what, packs)
        local _ <close> = no_grad()
        local y
        local n = copies(function() y = there(a) end)
        few = few or n
        t.close(y:to "cpu":tolist(), here(x):tolist(), 1e-5, what .. ": the cpu's result")
        t.is(n > few, packs, ("%s: %d copies, without weights %d"):format(what, n, few))
    end
    do
        local _ <close> = no_grad()
        there(a)
    end
    call("the second call", false)
    weights(2, function(w) w:mul_(0.5) end)
    call("after a write", true)
    call("then", false)
    weights(3, function(w) w["2:4"]:fill_(0.25) end)
    call("after a write of a part", true)
    cuda.empty_cache()
    call("after empty_cache", true)
    local s = stream "cuda"
    s:use(function()
        call("another stream", false)
        weights(2, function(w) w:mul_(0.5) end)
        fake.fault "slow=1+:3"
        call("after a write, there", true)
    end)
    call("the first one", false)
    weights(2, function(w) w:mul_(2) end)
    call("after another write", true)
    s:use(function() call("the other one, after that", false) end)
    fake.fault "slow=0"

    local function loss(l, v) return (l(v) ^ 2):sum() end
    local function train() loss(there, a):backward() end
    local known = copies(train)
    loss(here, x):backward()
    for _, l in ipairs { here, there } do
        optim.SGD(l:parameters(), { lr = 0.1 }):step()
        l:zero_grad()
    end
    local once = copies(train) - known
    local _ <close> = no_grad()
    weights(1, function(w) w:mul_(0.5) end)
    local alone = copies(function() there(a) end) - few
    t.ok(once == alone and once > 0,
        ("a step of training packs them once: %d copies, forward alone %d"):format(once, alone))

    -- What a capture replays reads them as they are then, also where it writes them itself.
    local function twice(l, v)
        local y = l(v)
        l:parameters()[1]:mul_(1.5)
        return cat { y, l(v) }
    end
    local f = capture(function(v) return twice(there, v) end)
    for i = 1, 4 do
        t.close(f(a):to "cpu":tolist(), twice(here, x):tolist(), 1e-5, "captured, call " .. i)
        weights(4, function(w) w:add_(0.125) end)
    end
    call("after a capture", true)
end

-- When scratch memory is short, the collector runs a finaliser that runs a layer itself, while
-- cuDNN is in use.
do
    local wide = nn.LSTM(30, 40):to "cuda"
    local a = randn(20, 5, 30, { device = "cuda" })
    local ran = 0
    local _ <close> = no_grad()
    -- With AddressSanitizer there are no segments, but a block's allocation that fails, twice.
    local whole = os.getenv("GPUSH_SAN"):find "address"
    collectgarbage "stop"
    for nth = 1, 12 do
        setmetatable({}, { __gc = function() layer(x) ran = ran + 1 end })
        cuda.empty_cache()
        -- A segment of 2 MiB ends at another of the layer's blocks each time. Its first failure
        -- and the ladder's, with the size of a segment and with the block's, call the collector.
        local rest = not whole and zeros((2 << 20) - nth * 24000, { device = "cuda", dtype = "u8" })
        fake.fault(whole and ("oom=%d-%d"):format(nth, nth + 1) or "oom=1-4")
        wide(a)
        fake.fault "oom=0"
        rest = nil
    end
    collectgarbage "restart"
    t.ok(ran > 4, "layers within layers: " .. ran)
end

-- Without the stand-in's cuDNN: the plug-in and the other libraries in a separate folder.
os.execute(
    ("mkdir -p %s/libs && ln -s $(realpath %s/fake)/lib*.so* %s/libs/ && cd %s/libs && rm \z
        libcudnn* libgpush_cuda.so && cp $(realpath %s/fake)/libgpush_cuda.so ."):format(
    scratch, build, scratch, scratch, build))
local file = assert(io.open(scratch .. "/script.lua", "w"))
file:write [[
manual_seed(1)
local right = true
for _, kind in ipairs { "LSTM", "GRU", "RNN" } do -- trained, and not
    local layer = nn[kind](3, 5, { num_layers = 2, bidirectional = true }):double()
    local x = randn(4, 2, 3, { dtype = "f64" })
    local function run(device)
        layer:to(device)
        local a = x:detach():to(device):requires_grad_()
        local y = layer(a)
        local list = table.pack(grad((y * y):sum(), { a, table.unpack(layer:parameters()) }))
        local _ <close> = no_grad()
        list[#list + 1] = layer(a)
        return list
    end
    local want = run "cpu"
    for i, g in ipairs(run "cuda") do
        right = right and (g:to "cpu" - want[i]):abs():amax():item() < 1e-11
    end
end
print(right)
]]
file:close()
local run = assert(io.popen(
    ("env PATH=/usr/bin:/bin CUDA_HOME=/nowhere GPUSH_CUDA_PLUGIN=%s/libs/libgpush_cuda.so \z
        GPUSH_CUDA_LIBRARIES=%s/libs %s/gpush %s/script.lua 2>&1"):format(
    scratch, scratch, build, scratch)))
local text = run:read "a"
run:close()
t.ok(text:find "^true\n",
    "without cuDNN, or with one that does not know the stand-in, our own kernels do it: " .. text)
t.done()
