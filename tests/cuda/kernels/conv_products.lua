-- Convolutions that are products of matrices on the stand-in for CUDA: which are, and their results
-- and gradients against the cpu's in f64, in any layout, with and without a bias.
local t = require "tap"
local g = require "gpush"

-- Whether a kernel of fn's was a product's, and what fn returned.
local function products(fn)
    local some, out = false, nil
    local prof = profile.run({}, function() out = fn() end)
    for _, e in ipairs(prof:events()) do
        if e.kind == "kernel" and (e.kernel or ""):find "product" then some = true end
    end
    return some, out
end

local function judge(name, fn, list, dtype, want)
    local away, right = {}, {}
    for i, x in ipairs(list) do
        right[i] = x:to(dtype):to "f64"
        away[i] = x:to(dtype):to "cuda"
        if want.lay and x.ndim > 2 then away[i] = want.lay(away[i]) end
    end
    local some, got = products(function() return fn(away) end)
    t.is(some, want.is, ("%s, %s: is it a product"):format(name, dtype))
    right = fn(right)
    local gap = (got:cpu():to "f64" - right):abs():amax():item() / right:abs():amax():item()
    local most = ({ f64 = 1e-12, f32 = 1e-5, f16 = 2e-3, bf16 = 2e-2 })[dtype]
    t.ok(gap <= most, ("%s, %s: %g away"):format(name, dtype, gap))
end

local function last(v) -- channels as the fastest dim, with gaps between rows
    local order, back = { 1 }, { 1, v.ndim }
    for d = 3, v.ndim do order[#order + 1], back[d] = d, d - 1 end
    order[#order + 1] = 2
    return v:permute(order):contiguous():permute(back)
end
local function turned(v) return v:transpose(-1, -2):contiguous():transpose(-1, -2) end

for _, dtype in ipairs { "f64", "f32", "bf16", "f16" } do
    local half = dtype == "bf16" or dtype == "f16"
    for _, lay in ipairs { false, last, turned } do
        -- of one tap
        for _, k in ipairs {
            { { 3, 40, 4, 6 }, { 48, 40, 1, 1 }, half }, { { 1, 40, 8, 2 }, { 8, 40, 1, 1 }, half },
            { { 40, 4, 6 }, { 48, 40, 1, 1 }, half }, -- no images
            { { 2, 40, 3, 5 }, { 48, 40, 1, 1 }, false }, -- 15 places
            { { 2, 40, 4, 4 }, { 36, 40, 1, 1 }, false }, -- 36 filters
        } do
            local x, w, b = randn(k[1]), randn(k[2]), randn(k[2][1])
            local shape = table.concat(k[1], "x")
            local want = { is = k[3], lay = lay and #k[1] == 4 and lay }
            judge("one tap of " .. shape, function(a) return conv2d(a[1], a[2]) end, { x, w },
                dtype, want)
            judge("with its bias, of " .. shape, function(a) return conv2d(a[1], a[2], a[3]) end,
                { x, w, b }, dtype, want)
            local grad = k[1][#k[1] - 2] and conv2d(x, w)
            judge("the image's gradient of " .. shape,
                function(a) return conv_input_grad(a[1], a[2], k[1]) end, { grad, w }, dtype, want)
        end
        -- windows that do not overlap, from results to an image
        for _, k in ipairs {
            { 2, { 2, 5, 3, 4 }, { 5, 3, 2, 2 }, { 2 }, true },
            { 2, { 1, 34, 5, 3 }, { 34, 2, 3, 2 }, { { 3, 2 } }, true },
            { 2, { 7, 5, 4 }, { 7, 6, 2, 4 }, { { 2, 4 } }, true }, -- no images
            { 1, { 2, 6, 7 }, { 6, 4, 3 }, { 3 }, true },
            { 3, { 2, 3, 2, 3, 4 }, { 3, 2, 2, 1, 3 }, { { 2, 1, 3 } }, true },
            { 2, { 2, 5, 3, 4 }, { 5, 3, 2, 2 }, { 3 }, false }, -- gaps
            { 2, { 2, 35, 3, 4 }, { 35, 3, 2, 2 }, { 1 }, false }, -- overlaps
            { 2, { 2, 5, 3, 4 }, { 5, 3, 2, 2 }, { 2, 1 }, false }, -- padding
            { 2, { 2, 5, 3, 4 }, { 5, 3, 2, 2 }, { 2, 0, 1 }, false }, -- output_padding
            { 2, { 2, 6, 3, 4 }, { 6, 3, 2, 2 }, { 2, 0, 0, 2 }, false }, -- groups
            { 2, { 2, 5, 3, 4 }, { 5, 3, 2, 2 }, { 2, 0, 0, 1, 2 }, false }, -- dilation
        } do
            local op, groups = g[("conv_transpose%dd"):format(k[1])], k[4][4] or 1
            local x, w, b = randn(k[2]), randn(k[3]), randn(k[3][2] * groups)
            local name = ("%d dims, %s"):format(k[1], table.concat(k[3], "x"))
            local want = { is = k[5] and not half, lay = lay and #k[2] == k[1] + 2 and lay }
            judge(name, function(a) return op(a[1], a[2], nil, table.unpack(k[4])) end, { x, w },
                dtype, want)
            judge(name .. " with its bias",
                function(a) return op(a[1], a[2], a[3], table.unpack(k[4])) end, { x, w, b }, dtype,
                want)
        end
    end
end

local x, w = g.zeros({ 0, 8, 4, 4 }, { device = "cuda", dtype = "bf16" }), randn(8, 8, 1, 1)
t.is(conv2d(x, w:to "bf16":to "cuda").shape, { 0, 8, 4, 4 }, "no images at all")
t.done()
