-- The modelled card beside the real one: for each op the time of its kernels as it was measured,
-- and as the model of CARD gives it. gpush predict.lua DEVICE CARD [small]: a line
-- "item<TAB>measured seconds<TAB>modelled seconds" for each.
local device, card, small = arg[1], arg[2], arg[3] == "small"
local opt = { device = device }
local function device_seconds(prof)
    local ns = 0
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" or e.kind == "copied" then ns = ns + e.stop - e.start end
    end
    return ns * 1e-9
end

local function item(name, fn)
    local ok, err = pcall(function()
        for _ = 1, 3 do fn() end -- code is loaded, and the card's clocks are high
        local prof = profile.run({ flops = true }, function()
            for _ = 1, 5 do fn() end
            synchronize(device)
        end)
        print(("%s\t%.6g\t%.6g"):format(name, device_seconds(prof) / 5,
            device_seconds(prof:on(card)) / 5))
    end)
    if not ok then print(("%s\tfailed\t%s"):format(name, tostring(err):gsub("%s+", " "))) end
    io.flush()
    collectgarbage()
end

local n = small and 10000 or 100000000
do
    local x, y, few = randn(n, opt), randn(n, opt), randn(16, opt)
    local h, mask = x:to "bf16", x:gt(0)
    item("x + y of 16", function() return few + few end)
    item("x * 2", function() return x * 2 end)
    item("x + y", function() return x + y end)
    item("bf16 x * 2", function() return h * 2 end)
    item("gelu", function() return gelu(x) end)
    item("sum", function() return x:sum() end)
    item("cumsum", function() return x:cumsum(1) end)
    item("where", function() return where(mask, x, y) end)
    item("masked_select", function() return x:masked_select(mask) end)
end
do
    local side = small and 64 or 8192
    local m = randn(side, side, opt)
    local h = m:to "bf16"
    item("softmax", function() return m:softmax(2) end)
    item("layer_norm", function() return layer_norm(m, { side }) end)
    item("transposed copy", function() return m:t():contiguous() end)
    item("matmul f32", function() return m:matmul(m) end)
    item("matmul bf16", function() return h:matmul(h) end)
end
do
    local images, side = small and 2 or 128, small and 16 or 256
    local image, kernel = randn(images, 10, side, side, opt), randn(10, 10, 3, 3, opt)
    item("conv2d 10 to 10", function() return conv2d(image, kernel, nil, 1, 1) end)
    item("max_pool2d", function() return max_pool2d(image, 3, 2, 1) end)
    local wide, filters = randn(images, 64, side // 4, side // 4, opt):to "bf16",
        randn(64, 64, 3, 3, opt):to "bf16"
    item("conv2d bf16 64 to 64", function() return conv2d(wide, filters, nil, 1, 1) end)
    local q = randn(small and { 1, 2, 16, 8 } or { 8, 16, 4096, 64 }, opt):to "bf16"
    item("attention bf16", function() return scaled_dot_product_attention(q, q, q) end)
end
do
    local host = randn(n // 4)
    local pinned = host:pin_memory()
    item("copy to the device", function() return host:to(device) end)
    item("copy from pinned memory", function()
        return pinned:to(device, { non_blocking = true })
    end)
end
