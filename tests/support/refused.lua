-- For tests/cuda/refused.lua: the ops that use cuDNN, on cuda against the cpu, forward and
-- backward, with `size` images (otherwise cuDNN is asked only once for each). Returns how many
-- kernels were cuDNN's, and how many ran because it refused or was missing.
local function flat(x) return x:detach():to "cpu":to "f64":reshape(-1):tolist() end

-- fn(device, put): a list of results; put(x) is x on the device as a leaf that requires a gradient.
local function compare(t, what, eps, fn)
    local function on(device)
        local leaves = {}
        local function put(x)
            leaves[#leaves + 1] = x:detach():to(device):requires_grad_()
            return leaves[#leaves]
        end
        local out = fn(put, device)
        local all = {}
        for i, y in ipairs(out) do all[i] = flat(y) end
        for _, g in ipairs(table.pack(grad((out[1] * out[1]):sum(), leaves))) do
            all[#all + 1] = flat(g)
        end
        return all
    end
    local want = on "cpu"
    for i, got in ipairs(on "cuda") do t.close(got, want[i], eps, what .. ": result " .. i) end
end

local eps = { f64 = 1e-10, f32 = 2e-4, f16 = 2e-2, bf16 = 1e-1 }
-- Name, image without its batch dim, weight, options.
local convolutions = {
    { "conv1d", { 4, 9 }, { 6, 2, 3 }, { stride = 2, padding = 1, groups = 2 } },
    { "conv2d", { 3, 5, 6 }, { 4, 3, 3, 2 }, { padding = "same" } },
    { "conv2d", { 4, 7, 6 }, { 4, 1, 3, 3 }, { groups = 4, dilation = 2, padding = 2 } },
    { "conv3d", { 2, 3, 4, 5 }, { 3, 2, 2, 2, 2 }, { padding = 1 } },
    { "conv_transpose1d", { 4, 5 }, { 4, 3, 3 },
        { stride = 2, padding = 1, output_padding = 1, groups = 2 } },
    { "conv_transpose2d", { 3, 4, 4 }, { 3, 2, 3, 3 }, { stride = 2 } },
    { "conv_transpose3d", { 2, 2, 3, 2 }, { 2, 2, 2, 2, 2 }, { padding = 1, stride = 2 } },
}

return function(t, with, size)
    manual_seed(11)
    local prof = profile.run({}, function()
        for n, k in ipairs(convolutions) do
            local name, options = k[1], k[4]
            for _, dtype in ipairs { "f64", "f32", "f16", "bf16" } do
                local outputs = name:find "transpose" and k[3][2] * (options.groups or 1) or k[3][1]
                local function numbers(shape) return randn(shape, { dtype = "f32" }):to(dtype) end
                local x, w, b = numbers { size, table.unpack(k[2]) }, numbers(k[3]),
                    numbers { outputs }
                compare(t, ("%s: %s %d %s"):format(with, name, n, dtype), eps[dtype] * 10,
                    function(put)
                    return { _G[name](put(x), put(w), put(b), options) }
                end)
            end
        end
        for _, dtype in ipairs { "f64", "f32", "f16" } do
            local of = dtype == "f64" and "f64" or "f32"
            local x, w, b = randn(3 + size, 3, 5, { dtype = "f32" }):to(dtype),
                randn(3, { dtype = of }), randn(3, { dtype = of })
            for _, training in ipairs { true, false } do
                compare(t, ("%s: batch_norm %s %s"):format(with, dtype, training), eps[dtype] * 10,
                    function(put, device)
                    local mean, var = zeros(3, { dtype = of, device = device }),
                        ones(3, { dtype = of, device = device })
                    local y = batch_norm(put(x), mean, var, put(w), put(b), training, 0.3, 1e-3)
                    return { y, mean, var }
                end)
            end
        end
        for _, kind in ipairs { "LSTM", "GRU", "RNN" } do
            for _, dtype in ipairs { "f64", "f32" } do
                local layer = nn[kind](3, 5, { num_layers = 2, bidirectional = true }):to(dtype)
                local x = randn(4, size, 3, { dtype = dtype })
                compare(t, ("%s: %s %s"):format(with, kind, dtype), eps[dtype],
                    function(put, device)
                    layer:to(device)
                    local y, h = layer(put(x))
                    return { y, type(h) == "table" and h[2] or h }
                end)
                local want = layer:to "cpu"(x)
                local _ <close> = no_grad()
                local y = layer:to "cuda"(x:to "cuda")
                t.close(flat(y), flat(want), eps[dtype],
                    ("%s: %s %s, not trained"):format(with, kind, dtype))
            end
        end
    end)
    local by = { cudnn = 0, own = 0 }
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" and e.kernel:find "^cuDNN: " then by.cudnn = by.cudnn + 1 end
        if e.kind == "kernel"
            and (e.kernel:find "^refused by cuDNN" or e.kernel:find "^without cuDNN") then
            by.own = by.own + 1
        end
    end
    return by
end
