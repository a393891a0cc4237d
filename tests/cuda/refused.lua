-- What cuDNN refuses runs by our own kernels on the stand-in for CUDA, with the cpu's results:
-- every kind of convolution, batch_norm and recurrent layers, forward and backward, where cuDNN
-- refuses everything, one call, or is missing.
local t = require "tap"
local fake, refused = require "fake", require "refused"
local build, scratch = os.getenv "GPUSH_BUILD", os.getenv "TMPDIR"

-- A different size for each: cuDNN is not asked again for a plan that it does not have.
for size, order in ipairs { "refuse=1+", "refuse=2", "choice=1+ refuse=1+", "choice=2", "choice=0" }
do
    fake.fault "choice=0 refuse=0"
    fake.fault(order)
    local by = refused(t, order, size)
    if order:find "refuse=1%+" then
        t.is(by.cudnn, 0, order .. ": none of it is cuDNN's")
    else
        t.ok(by.cudnn > 0, order .. ": cuDNN does the rest")
    end
    t.is(by.own > 0, order ~= "choice=0", order .. ": the record says what cuDNN refused")
end
fake.fault "choice=0 refuse=0"
-- What cuDNN saved is not read once it refused that size: backward of the first waits while a
-- second is refused.
do
    local layer, list = nn.LSTM(3, 4):double(), {}
    local x = randn(5, 2, 3, { dtype = "f64" })
    for _, device in ipairs { "cpu", "cuda" } do
        layer:to(device)
        local a, b = x:detach():to(device):requires_grad_(),
            (x * 2):detach():to(device):requires_grad_()
        local first = (layer(a)):sum()
        fake.fault "refuse=1"
        local second = (layer(b)):sum()
        list[device] = { grad(first, { a })[1]:to "cpu", grad(second, { b })[1]:to "cpu" }
        fake.fault "refuse=0"
    end
    for i = 1, 2 do
        t.close(list.cuda[i]:tolist(), list.cpu[i]:tolist(), 1e-12,
            "two runs, the second refused: gradient " .. i)
    end
end
-- No workspace for cuDNN: our own convolution needs none.
do
    local x, w = randn(1, 2, 6, 6), randn(3, 2, 3, 3)
    local want, a, b = conv2d(x, w):tolist(), x:to "cuda", w:to "cuda"
    cuda.empty_cache()
    fake.fault "oom=2+" -- the result's own allocation comes first
    local ok, y = pcall(conv2d, a, b)
    fake.fault "oom=0"
    t.ok(ok, "conv2d without memory for cuDNN")
    t.close(y:to "cpu":tolist(), want, 1e-5, "and its result")
end

-- Without cuDNN: the plug-in and the other libraries in a separate folder.
os.execute(
    ("mkdir -p %s/libs && ln -s $(realpath %s/fake)/lib*.so* %s/libs/ && cd %s/libs && rm \z
        libcudnn* libgpush_cuda.so && cp $(realpath %s/fake)/libgpush_cuda.so ."):format(
    scratch, build, scratch, scratch, build))
local file = assert(io.open(scratch .. "/script.lua", "w"))
file:write [[
local failed = 0
local t = { close = function(a, b, eps, what) for i = 1, #a do
    if math.abs(a[i] - b[i]) > eps * (1 + math.abs(b[i])) then
        print(what, i, a[i], b[i])
        failed = failed + 1
        break
    end
end end }
local by = require "refused"(t, "without cuDNN", 1)
print("failed", failed, "cuDNN's", by.cudnn)
]]
file:close()
local run = assert(io.popen(
    ("GPUSH_CUDA_PLUGIN=%s/libs/libgpush_cuda.so GPUSH_CUDA_LIBRARIES=%s/libs %s/gpush %s 2>&1")
        :format(
    scratch, scratch, build, scratch .. "/script.lua")))
t.is(run:read "a", "failed\t0\tcuDNN's\t0\n", "all of it without cuDNN")
run:close()
t.done()
