-- Recurrent layers by cuDNN on the stand-in for CUDA, which has an implementation of its own (tests/fake_cuda/libs/cudnn_rnn.cpp):
-- the cpu's results, of every kind of layer; training and dropout go to our own kernels, and so does all where there is no cuDNN.
local t = require "tap"
local build, scratch = os.getenv "GPUSH_BUILD", os.getenv "TMPDIR"

-- fn's results, and whether cuDNN did it.
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
    { "LSTM", {} }, { "LSTM", { num_layers = 2, bidirectional = true } }, { "LSTM", { bias = false, batch_first = true } },
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
                t.close(a:to "cpu":tolist(), b:tolist(), eps[dtype], ("%s: result %d, %s"):format(what, i, given and "from a state" or "from zeros"))
            end
        end
    end
end

local layer = nn.LSTM(3, 5, { num_layers = 2, dropout = 0.5 }):to "cuda"
local x = randn(4, 2, 3, { device = "cuda" })
t.ok(not select(2, watched(function() return layer(x) end)), "what will be differentiated has our own kernels")
do
    local _ <close> = no_grad()
    t.ok(not select(2, watched(function() return layer(x) end)), "and so has dropout")
    layer:eval()
    t.ok(select(2, watched(function() return layer(x) end)), "which evaluation has not")
end

-- Without the stand-in's cuDNN: the plug-in and the other libraries in a folder of their own.
os.execute(("mkdir -p %s/libs && ln -s $(realpath %s/fake)/lib*.so* %s/libs/ && cd %s/libs && rm libcudnn* libgpush_cuda.so && cp $(realpath %s/fake)/libgpush_cuda.so ."):format(
    scratch, build, scratch, scratch, build))
local file = assert(io.open(scratch .. "/script.lua", "w"))
file:write [[
manual_seed(1)
local layer, x = nn.GRU(3, 5), randn(4, 2, 3)
local _ <close> = no_grad()
local want = layer(x)
local got = layer:to "cuda"(x:to "cuda")
print((got:to "cpu" - want):abs():amax():item() < 1e-5)
]]
file:close()
local run = assert(io.popen(("env PATH=/usr/bin:/bin CUDA_HOME=/nowhere GPUSH_CUDA_PLUGIN=%s/libs/libgpush_cuda.so GPUSH_CUDA_LIBRARIES=%s/libs %s/gpush %s/script.lua 2>&1"):format(scratch, scratch, build, scratch)))
local text = run:read "a"
run:close()
t.ok(text:find "^true\n", "without cuDNN, or with one that does not know the stand-in, our own kernels do it: " .. text)
t.done()
