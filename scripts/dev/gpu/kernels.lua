-- Every kernel of our own that the CUDA plug-in has, with a call of about the least size that
-- selects it: rows {source file, its kernels, a function}. compute-sanitizer watches these calls
-- (touch.lua), and what a first use costs is measured by them (first_use.lua). That each call
-- launches the kernels of its row, and that no kernel is without a row, is tested on the stand-in
-- for CUDA (tests/cuda/gpu_check_kernels.lua). What fuse and cuda.kernel compile is not here.
local device = ...
local opt = { device = device }
local rows = {}
local function row(file, kernels, call) rows[#rows + 1] = { file, kernels, call } end

local function f32(...) return randn(..., opt) end
local function of(dtype, ...) return randn(..., opt):to(dtype) end
local function labels(most, shape) return randint(1, most, shape, opt) end
local function leaf(x) return x:detach():requires_grad_() end
-- fn's result summed, and its gradients.
local function backward(fn, ...)
    local x = { ... }
    for i, v in ipairs(x) do x[i] = leaf(v) end
    fn(table.unpack(x)):to "f32":square():sum():backward()
end

row("elementwise/binary.cu", "gp_vector_kernel gp_element_kernel", function()
    for _, dtype in ipairs { "f32", "f64", "bf16", "u8", "bool", "i64" } do
        local x = of(dtype, { 4099 })
        local _ = x == x
        if dtype ~= "bool" then _ = x + x end
    end
end)
row("elementwise/binary.cu", "gp_turned_kernel", function()
    return f32 { 70, 90 } + f32 { 90, 70 }:t()
end)
row("elementwise/elementwise.cu", "gp_vector_kernel gp_element_kernel", function()
    for _, dtype in ipairs { "f32", "f64", "bf16" } do
        local _ = of(dtype, { 4099 }):exp()
    end
end)
row("elementwise/elementwise.cu", "gp_turned_kernel", function()
    return f32 { 70, 90 }:t():exp()
end)
row("elementwise/derivative.cu", "gp_vector_kernel gp_element_kernel", function()
    backward(function(x) return x:tanh() end, f32 { 4099 })
end)
row("elementwise/where.cu", "choose_kernel choose_vectors", function()
    local x, y = f32 { 70, 90 }, f32 { 90, 70 }
    return where(x > 0, x, y:t()), where(x > 0, x, 1)
end)

row("reduce/formulas.cu", "gp_rows_kernel gp_columns_kernel gp_parts_kernel", function()
    return f32 { 3, 5000 }:sum(2), f32 { 5000, 64 }:sum(1), f32 { 70000 }:sum()
end)
row("reduce/formulas.cu", "gp_short_kernel gp_narrow_kernel", function()
    return f32 { 3000, 9 }:sum(2), f32 { 9000, 3 }:sum(1)
end)
row("reduce/norms.cu", "gp_rows_kernel gp_columns_kernel gp_parts_kernel", function()
    return f32 { 3, 5000 }:var(2), f32 { 5000, 64 }:var(1), f32 { 70000 }:var()
end)
row("reduce/check_finite.cu", "look", function()
    local _ <close> = require "gpush".nan.watch()
    return f32 { 100 } + 1
end)

row("scan/scan.cu", "line_kernel before_kernel", function() return f32 { 40000 }:cummax(1) end)
row("scan/scan.cu", "short_kernel", function() return f32 { 100, 40 }:cummax(2) end)
row("scan/scan.cu", "column_kernel", function() return f32 { 2200, 33 }:logcumsumexp(1) end)
row("scan/scan.cu", "gp_scan_tiles", function()
    return f32 { 144000 }:cumsum(1), of("i64", { 2, 3000 }):cumsum(2)
end)
row("scan/scan.cu", "gp_scan_short", function() return f32 { 1000, 100 }:cumsum(2) end)
row("scan/scan.cu", "gp_scan_strips", function() return f32 { 150, 4100 }:cumsum(1) end)

row("sort/sort.cu", "make_keys line_keys write_lines", function()
    return f32 { 9000 }:sort(), of("f64", { 3, 9000 }):sort(2)
end)
row("sort/sort.cu", "select_lines select_parts", function()
    return f32 { 3, 700 }:topk(5), f32 { 2, 20000 }:topk(10)
end)
row("sort/short_lines.cu", "sort_slots", function() return f32 { 50, 90 }:sort(2) end)
row("sort/median.cu", "choose_median choose_mode fill_nan", function()
    return f32 { 50, 90 }:median(2), labels(9, { 50, 90 }):mode(2), f32 { 0 }:median()
end)
row("sort/searchsorted.cu", "find find_kept", function()
    local _ = searchsorted(f32 { 3000 }:sort(), f32 { 40000 })
    return searchsorted(f32 { 90000 }:sort(), f32 { 9 })
end)
row("sort/sort_rows.cu", "number from_one merge", function()
    return labels(3, { 600, 4 }):argsort_rows()
end)
row("sort/unique.cu", "find_starts note_runs count_runs copy_rows check_total note_total",
    function()
    local x = labels(9, { 9000 })
    local _ = { x:unique(), x:unique_consecutive() }
    return x:unique(true, true, true), x:unique_consecutive(true, true),
        labels(3, { 600, 4 }):unique(true, true, true, 1)
end)

row("index/gather.cu", "get check", function()
    local x = f32 { 60, 70 }
    local _ = { x:gather(1, labels(60, { 60, 70 })), x:index_select(1, labels(60, { 90 })) }
    return gather_nd(x, labels(60, { 90, 1 })), zeros(3, 0, opt):index_select(1, labels(3, { 2 }))
end)
row("index/gather.cu", "read_repeats find_repeats", function()
    return f32 { 700, 3 }:repeat_interleave(randint(0, 4, { 700 }, opt), 1)
end)
row("index/offsets.cu", "add_offsets", function()
    return index(f32 { 40, 30, 3 }, { labels(40, { 500 }), labels(30, { 500 }) })
end)
row("index/scatter.cu", "find_positions write_last write_sums write_vectors", function()
    local at = labels(3, { 5000 })
    local to, from = zeros(3, opt), f32 { 5000 }
    local _ = { to:scatter_add(1, at, from), to:scatter(1, at, from) }
    return zeros(3, 72, opt):index_add(1, at, f32 { 5000, 72 }),
        zeros(3000, 40, opt):scatter_add(1, labels(3000, { 90, 40 }), f32 { 90, 40 })
end)
row("index/scatter.cu", "sort_lines write_joined_many", function()
    return zeros(50, 64, opt):index_add(1, labels(50, { 600 }), f32 { 600, 64 })
end)
row("index/scatter.cu", "fill store_number", function()
    local x, i, j = f32 { 90, 7 }, labels(90, { 5 }), labels(7, { 5 })
    return x:index_fill(1, i, 1), index_put(x, { i, j }, 3, true)
end)
row("index/embedding.cu", "look_at", function()
    return embedding(labels(3, { 30, 20 }), zeros(3, 0, opt))
end)
row("index/mask.cu", "gp_compaction_count gp_compaction_true write_selected", function()
    local x = f32 { 9000 }
    local y = x:clone()
    y[y > 0] = x[x > 0]
    return x:masked_select(x > 0), (x > 0):nonzero(), x:view(90, 100)[x[{ { 1, 90 } }] > 0]
end)
row("index/bincount.cu", "count_labels count_all mark", function()
    local _ = { labels(40, { 9000 }):bincount(), labels(40, { 70001 }):bincount() }
    return one_hot(labels(9, { 50 }), 9)
end)
row("index/bincount.cu", "find_range settle_range count_range count_floats", function()
    return f32 { 40003 }:histc(20), f32 { 40003 }:histc(20, -1, 1), f32 { 9000 }:histc(5000, -3, 3)
end)

row("layout/cat.cu", "join", function()
    return cat({ f32 { 3, 40 }, f32 { 3, 7 } }, 2)
end)
row("layout/copy.cu", "move_kernel turn_kernel convert_kernel convert_anywhere", function()
    local x = f32 { 70, 90 }
    return x:t():contiguous(), x[{ {}, { 1, 89, 2 } }]:contiguous(), x:to "bf16", x:t():to "f64"
end)
row("layout/create.cu", "fill_kernel series_kernel triangle_kernel", function()
    return full({ 4099 }, 3, opt), arange(1, 4099, 1, opt), f32 { 40, 50 }:tril(), eye(40, 50, opt)
end)
row("layout/pad.cu", "show show_near", function()
    local x = f32 { 2, 3, 40, 50 }
    local _ = { x:pad({ 3, 2, 1, 4 }), x:pad({ 3, 2, 1, 4 }, "reflect") }
    return f32 { 2, 2, 2, 2, 2, 2 }:pad { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }
end)

row("random/random.cu", "random_kernel chance_kernel coin_kernel poisson_kernel drop_kernel",
    function()
    local p = rand(4099, opt)
    return randn(4099, opt), p:bernoulli(), p:bernoulli(0.3), p:poisson(), dropout(p, 0.5)
end)
row("random/multinomial.cu", "weigh_kernel draw_kernel row_kernel clock_kernel gather_kernel",
    function()
    local w, few = rand(70001, opt), rand(3, 2000, opt)
    local _ = { w:multinomial(3000, true), few:multinomial(2000, true) }
    return w:multinomial(7), few:multinomial(3)
end)
row("random/multinomial.cu", "bits_kernel permuted_kernel", function()
    return randperm(5000, opt)
end)

row("matmul/plain.cu", "product", function()
    local x = labels(9, { 70, 90 }):to "i32"
    return x:matmul(x:t())
end)
row("conv/direct.cu", "convolve_tile", function()
    return conv2d(f32 { 2, 3, 40, 50 }, f32 { 8, 3, 3, 3 }, nil, 1, 1)
end)
row("conv/direct_weight.cu", "weigh_tiles add_parts", function()
    local x = f32 { 2, 3, 40, 50 }
    return conv_weight_grad(f32 { 2, 8, 40, 50 }, x, { 8, 3, 3, 3 }, 1, 1)
end)
row("conv/plain.cu", "convolve", function()
    return conv2d(labels(9, { 2, 3, 17, 19 }), labels(9, { 5, 3, 3, 3 }), nil, 1, 1)
end)
row("conv/pool.cu", "pool pool_small pool_wide", function()
    local x = f32 { 2, 3, 30, 40 }
    return max_pool2d(x, 3, 2, 1), avg_pool2d(x, { 4, 3 }, 2), adaptive_avg_pool2d(x, 1)
end)
row("conv/pool_grad.cu", "averages averages_small largest largest_small link follow", function()
    local x = f32 { 2, 3, 30, 40 }
    backward(function(x) return max_pool2d(x, 3, 2, 1) end, x)
    backward(function(x) return max_pool2d(x, { 4, 5 }, 2, 1) end, x)
    backward(function(x) return max_pool2d(x, 3, { stride = 2, dilation = 2 }) end, x)
    backward(function(x) return avg_pool2d(x, 2) end, x)
    backward(function(x) return avg_pool2d(x, 2) end, x:to "f64")
    backward(function(x) return adaptive_max_pool2d(x, 7) end, x)
end)
row("conv/interpolate.cu", "forward backward", function()
    backward(function(x) return interpolate(x, { 41, 23 }, nil, "bilinear") end,
        f32 { 2, 3, 30, 31 })
end)

row("attention/attention.cu", "shares slopes", function()
    local q = f32 { 2, 3, 40, 16 }
    backward(function(q) return scaled_dot_product_attention(q, q, q) end, q)
end)
row("attention/attention.cu", "share_parts share_by_parts slope_parts", function()
    local q, k = f32 { 1, 2, 1, 4 }, f32 { 1, 2, 66000, 4 }
    backward(function(q, k) return scaled_dot_product_attention(q, k, k) end, q, k)
end)
row("norm/softmax.cu", "gp_held_rows", function()
    return f32 { 50, 90 }:softmax(2), f32 { 3, 5000 }:softmax(2), f32 { 2, 20000 }:log_softmax(2)
end)
row("norm/softmax.cu", "gp_sum_parts gp_write_parts", function()
    return f32 { 2, 70000 }:softmax(2)
end)
row("norm/softmax.cu", "gp_short_columns", function() return f32 { 70, 3000 }:softmax(1) end)
row("norm/softmax.cu", "gp_sum_columns gp_join_columns gp_write_columns", function()
    return f32 { 1500, 50 }:softmax(1)
end)
row("norm/layer_norm.cu", "gp_held_rows gp_sum_parts gp_write_parts", function()
    return layer_norm(f32 { 50, 90 }, { 90 }), layer_norm(f32 { 2, 70000 }, { 70000 })
end)
row("norm/affine_grad.cu", "column_sums join_channels", function()
    backward(function(x, w, b) return layer_norm(x, { 90 }, w, b) end,
        f32 { 50, 90 }, f32 { 90 }, f32 { 90 })
    backward(function(x, w, b) return group_norm(x, 3, w, b) end,
        f32 { 2, 12, 30, 31 }, f32 { 12 }, f32 { 12 })
end)
row("norm/group_grad.cu", "join_rows", function()
    backward(function(x, w, b) return group_norm(x, 2, w, b) end,
        f32 { 3, 6, 5000 }, f32 { 6 }, f32 { 6 })
end)
row("norm/batch_norm.cu", "join_channel gp_write_channels", function()
    backward(function(x) return batch_norm(x, nil, nil, nil, nil, true) end, f32 { 40, 3, 21, 25 })
end)

row("loss/cross_entropy.cu", "losses gradients weigh add_weights one_over gp_add_parts", function()
    local x, y, w = f32 { 300, 10 }, labels(10, { 300 }), rand(10, opt)
    backward(function(x) return cross_entropy(x, y, { weight = w, label_smoothing = 0.1 }) end, x)
    backward(function(x) return cross_entropy(x, y) end, f32 { 300, 32 })
    backward(function(x) return cross_entropy(x, f32 { 300, 10 }:softmax(2)) end, x)
end)
row("loss/nll.cu", "losses gradients gp_add_parts", function()
    backward(function(x) return nll_loss(x, labels(10, { 300 })) end, f32 { 300, 10 })
end)

row("loss/reduced.cu", "losses_kernel", function()
    return mse_loss(of("bf16", { 4099 }), of("bf16", { 4099 }))
end)

row("linalg/batch.cu", "extract identity form_q report permute determinants unpack", function()
    local m = f32 { 4, 40, 40 }
    local _ = { linalg.inv(m), linalg.det(m), linalg.eig(m), linalg.lu(m), linalg.cholesky_ex(m) }
    return linalg.qr(m), linalg.qr(f32 { 2, 3, 0 }, "complete")
end)
row("linalg/batch.cu", "flag", function()
    cuda.svd_driver "gesvd"
    local u = linalg.svd(f32 { 9, 9 })
    cuda.svd_driver "auto"
    return u
end)
row("linalg/finite.cu", "search spoil spoil_qr nan_pivots", function()
    local m = f32 { 2, 9, 9 }
    return linalg.eigh(m), linalg.qr(m), linalg.lu(m), linalg.cholesky_ex(m)
end)
row("linalg/jacobi.cu", "decompose", function() return linalg.svd(f32 { 4, 9, 9 }) end)
row("linalg/lstsq.cu", "ranks divide squares", function()
    return linalg.lstsq(f32 { 2, 9, 5 }, f32 { 2, 9, 3 })
end)
row("fft/lines.cu", "spectra real_ends scaled", function()
    local x = f32 { 3, 64 }
    return fft.rfft(x), fft.irfft(fft.rfft(x)), fft.fft(x, { norm = "ortho" })
end)
row("rnn/cell.cu", "cells cells_back drop times sums", function()
    local layer = nn.LSTM(3, 20, { num_layers = 2, dropout = 0.1 }):to(device)
    layer(f32 { 9, 5, 3 }):sum():backward()
end)
row("optim/optim.cu", "begin update unscale update_scale add_powers settle_norm", function()
    local one = full({}, 1, { device = device, dtype = "f32" })
    local p, g, m, v = { f32 { 90 } }, { f32 { 90 } }, { zeros(90, opt) }, { zeros(90, opt) }
    local counted = { steps = zeros({}, opt):to "i64", grad_scale = one, found_inf = one - 1 }
    adam_step(p, g, m, v, nil, counted)
    amp_unscale(g, one, one:clone())
    amp_update_scale({ one, one:clone() }, one, 2, 0.5, 2)
    return clip_grad_norm(p, 3)
end)

-- Kernels that no call on one card with cuDNN selects.
local others = {
    ["conv/plain.cu weigh"] = "where cuDNN is missing or refuses",
    ["dist/order.cu encode"] = "NCCL with several ranks",
    ["dist/order.cu decode"] = "NCCL with several ranks",
}
return rows, others
