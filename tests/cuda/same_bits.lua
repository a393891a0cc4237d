-- Results whose bits do not depend on how many multiprocessors the device has: the stand-in for
-- CUDA with 4 and with 132 of them.
local t = require "tap"
local script = os.getenv "TMPDIR" .. "/script.lua"
local file = assert(io.open(script, "w"))
file:write [[
manual_seed(4)
local function on(...) return randn(...):to "cuda" end
local function bits(name, x)
    local sum = 0
    for _, v in ipairs(x:detach():to "cpu":reshape(-1):tolist()) do
        sum = (sum * 31 + string.unpack("<i4", string.pack("<f", v))) & 0xffffffffffff
    end
    print(name, sum)
end
for _, rows in ipairs { 100, 5000 } do
    local x, w, b = on(rows, 64), on(64):requires_grad_(), on(64):requires_grad_()
    layer_norm(x, { 64 }, w, b):sigmoid():sum():backward()
    bits("layer_norm weight", w.grad)
    bits("layer_norm bias", b.grad)
    w.grad = nil
    rms_norm(x, { 64 }, w):sigmoid():sum():backward()
    bits("rms_norm weight", w.grad)
    w.grad, b.grad = nil, nil
    group_norm(x:view(rows, 64, 1), 8, w, b):sigmoid():sum():backward()
    bits("group_norm weight", w.grad)
    bits("sum", x:sum())
    bits("column sums", x:sum(1))
    bits("softmax", x:softmax(1))
    bits("softmax of short rows", x:softmax(2))
    bits("norm", x:norm())
    bits("var", x:var(1))
    bits("cumsum", x:cumsum(1))
    local y = on(rows, 8)
    bits("cross_entropy", cross_entropy(y, y:argmax(2)))
    bits("histc", x:histc(50):to "f32")
end
local long = on(2, 70000):requires_grad_()
local y = layer_norm(long:softmax(2) * 70000, { 70000 })
bits("softmax and layer_norm of long rows", y)
y:sigmoid():sum():backward()
bits("their gradients", long.grad)
local tall = on(3000, 12):requires_grad_()
y = tall:softmax(1) * 3000
bits("softmax down long columns", y)
y:sigmoid():sum():backward()
bits("its gradient", tall.grad)
local image, filter = on(3, 4, 70, 90):requires_grad_(), on(5, 4, 3, 3):requires_grad_()
conv2d(image, filter, nil, 1, "same"):sigmoid():sum():backward()
bits("conv2d image", image.grad)
bits("conv2d weight", filter.grad)
]]
file:close()
local function run(sms)
    local p = assert(io.popen(("GPUSH_FAKE_SMS=%d %s/gpush %s 2>&1"):format(sms,
        os.getenv "GPUSH_BUILD", script)))
    local list = {}
    for line in p:lines() do list[#list + 1] = line end
    p:close()
    return list
end
local few, many = run(4), run(132)
t.is(#few, 32, "all of it ran")
for i, line in ipairs(many) do t.is(few[i], line, (line:match "^[^\t]*") .. ", run " .. i) end
t.done()
