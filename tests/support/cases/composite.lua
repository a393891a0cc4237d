--!plain
-- Cases for tests/scripts/composites.lua: for each composite arguments, after what its results are.
-- Values with a fraction come from PyTorch 1.13, called by the same name with the same arguments in
-- f64 (dims there from 0): torch.NAME, torch.linalg.NAME, torch.fft.NAME (complex results by
-- view_as_real) or torch.nn.functional.NAME; attention, which that version lacks, from its formula.
-- The others can be checked by hand.
local g = require "gpush"

-- put makes an f64 tensor on the device in question from nested tables, put(v, dtype) one of
-- another dtype.
return function(put, device)
    local n3, n23 = put { 1, 2, 4 }, put { { 1, 2, 3 }, { 4, 5, 6 } }
    local p = put { { 0.1, 0.2, 0.7 }, { 0.3, 0.3, 0.4 } }
    local s = put { { 2, 1 }, { 1, 3 } }
    local w3 = put { 2, -1, 0.5 }
    local a, b, signs = put { 0.5, -1, 2, 3 }, put { 1, 0.5, -1, 3 }, put { 1, -1, 1, -1 }
    local near, ones = put { { 1, 2, 2 }, { 0, 0, 0 } }, put { { 1, 0, 0 }, { 1, 1, 1 } }
    local function column(...)
        local rows = {}
        for i, v in ipairs { ... } do rows[i] = { v } end
        return put(rows)
    end
    local C = {}
    local function case(name, want, ...) C[name] = { want = want, args = table.pack(...) } end

    -- ---- making and shape ----
    case("arange", { 2, 4, 6 }, 2, 6, 2, { device = device })
    case("zeros_like", { { 0, 0, 0 }, { 0, 0, 0 } }, n23)
    case("ones_like", { { 1, 1, 1 }, { 1, 1, 1 } }, n23)
    case("full_like", { 7, 7, 7 }, n3, 7)
    case("empty_like", {}, put {})
    case("randint_like", { 5, 5, 5 }, n3, 5, 5)
    case("new_zeros", { { 0, 0 } }, n3, { 1, 2 })
    case("new_ones", { { 1, 1 } }, n3, { 1, 2 })
    case("new_full", { { 7, 7 } }, n3, { 1, 2 }, 7)
    case("new_empty", {}, n3, { 0 })
    -- Fills: more closely in tests/kernels/distributions.lua.
    case("geometric_", { 1, 1 }, put { 5, 5 }, 1)
    case("exponential_", {}, put {})
    case("cauchy_", {}, put {})
    case("log_normal_", {}, put {})
    case("new_tensor", { { 1 }, { 2 } }, n3, { { 1 }, { 2 } })
    case("type_as", { 1, 2, 4 }, n3, w3)
    case("tril_indices", { { 1, 2, 2, 3, 3, 3 }, { 1, 1, 2, 1, 2, 3 } }, 3, 3, { device = device })
    case("triu_indices", { { 1, 1, 2 }, { 2, 3, 3 } }, 3, 3, 1, { device = device })
    case("broadcast_tensors", { { { 1, 2, 4 }, { 1, 2, 4 } }, { { 1, 2, 3 }, { 4, 5, 6 } } },
        { n3, n23 })
    case("atleast_1d", { 3 }, put(3))
    case("atleast_2d", { { 1, 2, 4 } }, n3)
    case("atleast_3d", { { { 1 }, { 2 }, { 4 } } }, n3)
    case("cartesian_prod",
        { { 1, 2 }, { 1, -1 }, { 1, 0.5 }, { 2, 2 }, { 2, -1 }, { 2, 0.5 }, { 4, 2 }, { 4, -1 },
            { 4, 0.5 } }, { n3, w3 })
    case("chunk", { { 1, 2 }, { 4 } }, n3, 2)
    case("split", { { 1, 2 }, { 4 } }, n3, 2)
    case("tensor_split", { { 0.5, -1 }, { 2 }, { 3 } }, a, 3)
    case("unbind", { { 1, 4 }, { 2, 5 }, { 3, 6 } }, n23, 2)
    case("column_stack", { { 1, 2 }, { 2, -1 }, { 4, 0.5 } }, { n3, w3 })
    case("hstack", { 1, 2, 4, 2, -1, 0.5 }, { n3, w3 })
    case("vstack", { { 1, 2, 4 }, { 2, -1, 0.5 } }, { n3, w3 })
    case("dstack", { { { 1, 2 }, { 2, -1 }, { 4, 0.5 } } }, { n3, w3 })
    case("diag", { { 0, 1, 0, 0 }, { 0, 0, 2, 0 }, { 0, 0, 0, 4 }, { 0, 0, 0, 0 } }, n3, 1)
    case("diagflat", { { 1, 0, 0 }, { 0, 2, 0 }, { 0, 0, 4 } }, n3)
    case("expand_as", { { 1, 2, 4 }, { 1, 2, 4 } }, n3, n23)
    case("view_as", { { 1, 2 }, { 3, 4 }, { 5, 6 } }, n23, g.zeros(3, 2, { device = device }))
    case("reshape_as", { { 1, 4 }, { 2, 5 }, { 3, 6 } }, n23:t():contiguous():view(2, 3),
        g.zeros(3, 2, { device = device }))
    case("fliplr", { { 3, 2, 1 }, { 6, 5, 4 } }, n23)
    case("flipud", { { 4, 5, 6 }, { 1, 2, 3 } }, n23)
    case("rot90", { { 3, 6 }, { 2, 5 }, { 1, 4 } }, n23)
    case("meshgrid",
        { { { 1, 1, 1 }, { 2, 2, 2 }, { 4, 4, 4 } },
            { { 2, -1, 0.5 }, { 2, -1, 0.5 }, { 2, -1, 0.5 } } }, { n3, w3 })
    case("ravel", { 1, 4, 2, 5, 3, 6 }, n23:t())
    case("repeat", { 1, 2, 4, 1, 2, 4 }, n3, 2)
    case("tile", { { 1, 2, 3, 1, 2, 3 }, { 4, 5, 6, 4, 5, 6 } }, n23, 2)

    -- ---- comparing and reducing ----
    case("equal", false, n3, w3)
    case("allclose", true, n3, n3 + 1e-6)
    case("isin", { false, true, true }, n3, put { 4, 2, 9 })
    case("isposinf", { false, true, false }, put { 1, math.huge, -math.huge })
    case("isneginf", { false, false, true }, put { 1, math.huge, -math.huge })
    case("dist", 4.716990566, n3, w3)
    case("isclose", { true, false, false }, n3, put { 1 + 1e-6, 2.1, -4 })
    case("diff", { 1, 2 }, n3)
    case("norm", 7.61166261, n23, 3)
    case("std_mean", { { 1, 1 }, { 2, 5 } }, n23, 2)
    case("var_mean", { { 1, 1 }, { 2, 5 } }, n23, 2)
    case("quantile", { 1.6, 4.6 }, n23, 0.3, 2)
    case("nanquantile", 1.5, put { 1, 0 / 0, 4, 2 }, 0.25)
    case("trace", 5, s)

    -- ---- linear algebra ----
    case("cholesky_solve", { { 0.2 }, { 0.6 } }, column(1, 2), g.linalg.cholesky(s))
    case("cross", { 5, 7.5, -5 }, n3, w3)
    case("linalg.cross", { 5, 7.5, -5 }, n3, w3)
    case("einsum", { { 4, 5 }, { 7, 10 } }, "ij,kj->ki", put { { 1, 2 }, { 1, 3 } }, s)
    case("inner", 2, n3, w3)
    case("linalg.vecdot", { 2, 5.5 }, put { { 1, 2, 4 }, { 1, -2, 3 } }, w3)
    case("outer", { { 2, -1, 0.5 }, { 4, -2, 1 }, { 8, -4, 2 } }, n3, w3)
    case("kron", { 2, -1, 0.5, 4, -2, 1, 8, -4, 2 }, n3, w3)
    case("tensordot", { { 5, 5 }, { 5, 10 } }, s, s, 1)
    case("linalg.multi_dot", { { 15, 20 }, { 20, 35 } }, { s, s, s })
    case("linalg.matrix_power", { { 15, 20 }, { 20, 35 } }, s, 3)
    case("linalg.cond", 2.61803399, s)
    case("linalg.matrix_norm", 9.53939201, n23)
    case("linalg.norm", 9.53939201, n23)
    case("linalg.matrix_rank", 1, put { { 1, 2 }, { 2, 4 } })
    case("linalg.pinv",
        { { -0.944444444, 0.444444444 }, { -0.111111111, 0.111111111 },
            { 0.722222222, -0.222222222 } }, n23)
    case("logdet", 1.60943791, s)

    -- ---- transforms ----
    local half = 0.288675135
    local spectrum = { { { 21, 0 }, { -3, 6 * half }, { -3, -6 * half } },
        { { -9, 0 }, { 0, 0 }, { 0, 0 } } }
    local inverse = { { { 3.5, 0 }, { -0.5, -half }, { -0.5, half } },
        { { -1.5, 0 }, { 0, 0 }, { 0, 0 } } }
    local front = { { { 21, 0 }, { -3, 6 * half } }, { { -9, 0 }, { 0, 0 } } }
    local complex = g.stack({ n23, n23 * 0 }, 3)
    for _, n in ipairs { "2", "n" } do
        case("fft.fft" .. n, spectrum, n23)
        case("fft.ifft" .. n, inverse, complex)
        case("fft.rfft" .. n, front, n23)
        case("fft.irfft" .. n, { { 3.16666667, -1 / 3, -1 / 3 }, { -1.5, 0, 0 } }, complex,
            { 2, 3 })
    end
    case("fft.fftfreq", { 0, 0.2, 0.4, -0.4, -0.2 }, 5, { dtype = "f64", device = device })
    case("fft.rfftfreq", { 0, 0.2, 0.4 }, 5, { dtype = "f64", device = device })
    case("fft.fftshift", { 4, 1, 2 }, n3)
    case("fft.ifftshift", { 2, 4, 1 }, n3)

    -- ---- losses and distances ----
    case("binary_cross_entropy", 0.724279883, p, put { { 0, 1, 1 }, { 1, 0, 0.5 } })
    case("binary_cross_entropy_with_logits", 0.990713509, a, put { 0, 1, 1, 0.5 })
    case("cdist", { { 1, 3.74165739 }, { 5.83095189, 8.77496439 } }, n23, near)
    case("cosine_embedding_loss", 0.85983315, n23, ones, put { 1, -1 })
    case("cosine_similarity", { 0.267261242, 0.986927542 }, n23, ones)
    case("gaussian_nll_loss", 2.5951618, a, b, put { 1, 2, 0.5, 4 })
    case("hinge_embedding_loss", 1.125, a, signs)
    case("huber_loss", 0.90625, a, b)
    case("kl_div", 0.118668136, p:log(), put { { 0.2, 0.3, 0.5 }, { 0.1, 0, 0.9 } })
    case("l1_loss", 1.25, a, b)
    case("margin_ranking_loss", 0.175, a, b, signs, 0.1)
    case("mse_loss", 2.875, a, b)
    case("normalize",
        { { 0.267261242, 0.534522484, 0.801783726 }, { 0.455842306, 0.569802882, 0.683763459 } },
            n23)
    case("pairwise_distance", { 1.000001, 8.7749661 }, n23, near)
    case("poisson_nll_loss", 3.99779843, a, put { 1, 0, 2, 3 })
    case("smooth_l1_loss", 0.65625, a, b, { beta = 2 })
    case("soft_margin_loss", 0.990713509, a, signs)
    case("triplet_margin_loss", 0.133971132, n23, n23 + 0.5, n23 - 1)

    -- ---- numbers and activations ----
    case("deg2rad", { 3.141592654, -1.570796327 }, put { 180, -90 })
    case("rad2deg", { 57.29577951, 114.591559, 229.1831181 }, n3)
    case("logsigmoid", { -0.474076984, -1.313261688, -0.126928011, -0.048587352 }, a)
    case("tanhshrink", { 0.037882843, -0.238405844, 1.035972420, 2.004945246 }, a)
    case("glu", { 0.440398539, -0.952574127 }, a)
    case("zero_", { 0, 0, 0 }, put { 1, 2, 4 })
    case("cumsum_", { 1, 3, 7 }, put { 1, 2, 4 }, 1)
    case("deg2rad_", { 3.141592654, -1.570796327 }, put { 180, -90 })
    case("rad2deg_", { 180, -90 }, put { math.pi, -math.pi / 2 })
    case("cumprod_", { 1, 2, 8 }, put { 1, 2, 4 }, 1)

    -- ---- layers ----
    local third = 0.462909554
    case("instance_norm",
        { { { -2 * third, -third, 3 * third }, { -2 * third, -third, 3 * third } } },
            put { { { 1, 2, 6 }, { 0, 1, 5 } } })
    case("softmin", { 0.705384513, 0.25949646, 0.035119027 }, n3, 1)
    case("scaled_dot_product_attention",
        { { { 3.11166521, 4.11166521 }, { 3.06219162, 4.06219162 } } },
            put { { { 0.1, 0.5 }, { -0.3, 0.2 } } },
        put { { { 0.4, -0.2 }, { 0.6, 0.1 }, { 0.3, 0.3 } } },
            put { { { 1, 2 }, { 3, 4 }, { 5, 6 } } })
    local input, state, wide = column(0.7), column(-0.2), put { { 0.5, -0.3 }, { 0.8, 0.2 } }
    case("gru_cell", { { 0.153024407 } }, input, state, column(0.5, -0.3, 0.8),
        column(0.2, 0.4, -0.6), put { 0.1, 0, -0.1 }, put { 0, 0.3, 0.05 })
    case("lstm_cell", { { { 0.284035293 } }, { { 0.536438414 } } }, input, { state, column(0.4) },
        column(0.5, -0.3, 0.8, 0.2),
        column(0.2, 0.4, -0.6, 0.1), put { 0.1, 0, -0.1, 0.2 }, put { 0, 0.3, 0.05, 0 })
    case("rnn_cell", { { 0.405321309, 0.362707468 } }, put { { 0.7, 0.1 } }, put { { -0.2, 0.3 } },
        wide, wide, put { 0.1, 0 }, put { 0.2, -0.1 })

    -- ---- from PyTorch 2.15, in the same way ----
    case("multi_margin_loss", 0.683333333, put { { 0.1, 0.5, -0.2 }, { 0.3, 0.9, 0.7 } },
        put({ 3, 1 }, "i64"), 2, 0.5)
    case("multilabel_margin_loss", 0.716666667, put { { 0.1, 0.5, -0.2 }, { 0.3, 0.9, 0.7 } },
        put({ { 3, 1, 0 }, { 2, 0, 1 } }, "i64"))
    case("multilabel_soft_margin_loss", 0.669217947, put { { 0.1, 0.5, -0.2 }, { 0.3, 0.9, 0.7 } },
        put { { 1, 0, 1 }, { 0, 1, 1 } })
    case("ctc_loss", { 1.7837913 }, put { { { 0.2, 0.5, 0.3 } }, { { 0.6, 0.1, 0.3 } },
        { { 0.3, 0.3, 0.4 } } }:log(), put({ { 2 } }, "i64"), { 3 }, { 1 }, { reduction = "none" })
    case("pixel_shuffle", { { { { 1, 3, 2, 4 }, { 5, 7, 6, 8 } } } }, put { { { { 1, 2 } },
        { { 3, 4 } }, { { 5, 6 } }, { { 7, 8 } } } }, 2)
    case("pixel_unshuffle", { { { { 1 } }, { { 2 } }, { { 4 } }, { { 8 } } } }, put { { { { 1, 2 },
        { 4, 8 } } } }, 2)
    case("channel_shuffle", { { { { 1, 2 } }, { { 5, 6 } }, { { 3, 4 } }, { { 7, 8 } } } }, put
        { { { { 1, 2 } }, { { 3, 4 } }, { { 5, 6 } }, { { 7, 8 } } } }, 2)
    case("local_response_norm", { { { { 0.377395248, 0.569876764 } },
        { { 0.6407097, 0.647577491 } }, { { 0.629927746, 0.604445587 } },
        { { 0.950249477, 0.890819895 } } } }, put { { { { 1, 2 } }, { { 3, 4 } }, { { 5, 6 } },
        { { 7, 8 } } } }, 3, 0.5, 0.75, 2)
    case("fold", { { { { 1, 6, 5 }, { 1, 6, 5 } } } }, put { { { 1, 2 }, { 4, 5 }, { 1, 2 },
        { 4, 5 } } }, { 2, 3 }, 2)
    case("bilinear", { { 1.5, 1.66 }, { 14.58, 38.23 } }, put { { 0.1, 0.5, -0.2 },
        { 0.3, 0.9, 0.7 } }, n23, g.arange(0, 17, { device = device }):to("f64"):view(2, 3, 3) / 10,
        put { 1, -1 })
    case("prelu", { { -0.2, -0.2, 0 }, { 1, 2, 3 } }, n23 - 3, put { 0.1, 0.2, 0.3 })
    case("gumbel_softmax", { { 1 }, { 1 } }, put { { 3 }, { -2 } })
    case("alpha_dropout", { 0, 0, 0, 0 }, a, 1, true)
    case("feature_alpha_dropout", { { 1, 2, 3 }, { 4, 5, 6 } }, n23, 0.5, false)
    case("max_pool3d", { { { { { 4 } }, { { 8 } } } } }, g.arange(1, 8,
        { device = device }):to("f64"):view(1, 1, 2, 2, 2), { 1, 2, 2 })
    case("avg_pool3d", { { { { { 3.5 }, { 5.5 } } } } }, g.arange(1, 8,
        { device = device }):to("f64"):view(1, 1, 2, 2, 2), { 2, 1, 2 })
    case("adaptive_avg_pool3d", { { { { { 2.5 } }, { { 6.5 } } } } }, g.arange(1, 8,
        { device = device }):to("f64"):view(1, 1, 2, 2, 2), { 2, 1, 1 })
    case("adaptive_max_pool3d", { { { { { 6 }, { 8 } } } } }, g.arange(1, 8,
        { device = device }):to("f64"):view(1, 1, 2, 2, 2), { 1, 2, 1 })
    case("max_unpool1d", { { 0, 7, 0, 2 } }, put { { 7, 2 } }, put({ { 2, 4 } }, "i64"), 2)
    case("max_unpool2d", { { { 0, 0 }, { 7, 0 } } }, put { { { 7 } } },
        put({ { { 3 } } }, "i64"), 2)
    case("max_unpool3d", { { { { 0, 0 }, { 7, 0 } } } }, put { { { { 7 } } } },
        put({ { { { 3 } } } }, "i64"), { 1, 2, 2 })
    case("affine_grid", { { { { -0.25, -0.35 }, { 0.25, -0.65 } }, { { -0.05, 0.65 },
        { 0.45, 0.35 } } } }, put { { { 0.5, 0.2, 0.1 }, { -0.3, 1, 0 } } }, { 1, 1, 2, 2 })
    case("grid_sample", { { { { 3.75, 3.5, 0 } } } }, put { { { { 1, 2 }, { 4, 8 } } } }, put
        { { { { 0, 0 }, { 0.5, -0.25 }, { -1.5, 0 } } } })
    case("embedding_bag", { { 2.5, 3.5, 4.5 }, { 4, 5, 6 } }, put({ 1, 2, 2 }, "i64"), n23,
        put({ 1, 3 }, "i64"))
    case("heaviside", { 0, 0.5, 1 }, put { -1, 0, 2 }, 0.5)
    case("trapezoid", { 6.5, 15.5 }, n23, put { 0, 1, 3 })
    case("cumulative_trapezoid", { { 3, 8 }, { 9, 20 } }, n23, nil, 2)
    case("cov", { { 2.333333333, -0.75 }, { -0.75, 2.25 } }, put { { 1, 2, 4 }, { 2, -1, 0.5 } })
    case("corrcoef", { { 1, -0.327326835 }, { -0.327326835, 1 } }, put { { 1, 2, 4 },
        { 2, -1, 0.5 } })
    case("block_diag", { { 1, 2, 3, 0, 0 }, { 4, 5, 6, 0, 0 }, { 0, 0, 0, 7, 8 } }, { n23, put
        { 7, 8 } })
    case("unravel_index", { { 1, 2 }, { 3, 1 } }, put({ 3, 4 }, "i64"), { 2, 3 })
    case("vander", { { 1, 1, 1 }, { 4, 2, 1 }, { 16, 4, 1 } }, n3)
    case("hann_window", { 0, 0.5, 1, 0.5 }, 4, { device = device, dtype = "f64" })
    case("hamming_window", { 0.08, 0.77, 0.77, 0.08 }, 4, false, { device = device, dtype = "f64" })
    case("blackman_window", { 0, 0.34, 1, 0.34 }, 4, { device = device, dtype = "f64" })
    case("stft", { { { -0.5, 0 }, { -0.5, 0 }, { 1, 0 }, { 5, 0 }, { 5, 0 } }, { { -1.5, 0 },
        { 1.5, 0 }, { -3, 0 }, { -1, 0 }, { 1, 0 } } }, a, 2, 1)
    case("istft", { 0, 1 }, put { { { 0, 0 }, { 1, 0 }, { 2, 0 } }, { { 1, 0 }, { 0, 0 },
        { 1, 0 } } }, 2, 1)
    -- ---- more closely in tests/tensor/ops/special_functions.lua ----
    case("float_power", { 1, 4, 16 }, n3, 2)
    case("frexp", { { 0.5, -0.5, 0.5, 0.75 }, { 0, 1, 2, 2 } }, a)
    case("multigammaln", { 1.880995462, 5.402975081 }, put { 2.5, 4 }, 3)
    case("addr", { { 3, 4, 7 }, { 8, 9, 14 } }, n23, put { 1, 2 }, put { 2, 2, 4 })
    case("addbmm", { { 16, 33 }, { 33, 80 } }, s, n23:unsqueeze(1), n23:unsqueeze(1).mT)
    case("linalg.matrix_exp", { { 1, 2 }, { 0, 1 } }, put { { 0, 2 }, { 0, 0 } })
    case("linalg.lu_solve", { { 0.8125 }, { 0.625 } }, put { { 4, 2 }, { 0.5, 2 } },
        put({ 2, 2 }, "i32"), column(3.5, 4.5))
    case("hsplit", { { { 1 }, { 4 } }, { { 2, 3 }, { 5, 6 } } }, n23, { 1 })
    case("vsplit", { { { 1, 2, 3 } }, { { 4, 5, 6 } } }, n23, 2)
    case("dsplit", { { { { 1 }, { 4 } } }, { { { 2 }, { 5 } } }, { { { 3 }, { 6 } } } },
        n23:unsqueeze(1), 3)
    case("select_scatter", { { 1, 7, 3 }, { 4, 8, 6 } }, n23, put { 7, 8 }, 2, 2)
    case("slice_scatter", { { 1, 7, 8 }, { 4, 7, 8 } }, n23, put { { 7, 8 }, { 7, 8 } }, 2, 2, 3)
    case("diagonal_scatter", { { 7, 2, 3 }, { 4, 8, 6 } }, n23, put { 7, 8 })
    case("gradient", { { 1, 1.5, 2 } }, n3)
    -- From PyTorch 2.15.
    case("bartlett_window", { 0, 0.4, 0.8, 0.8, 0.4 }, 5, { device = device, dtype = "f64" })
    case("kaiser_window", { 0.002338831, 0.652478674, 0.652478674, 0.002338831 }, 4, false, 8,
        { device = device, dtype = "f64" })
    case("renorm", { { 1, 0.99999998, 0.833333319 }, { 0, 1.49999997, 1.666666639 } },
        put { { 1, 2, 2 }, { 0, 3, 4 } }, 1, 2, 2.5)
    case("histogram", { { 6, 4, 2 }, { 0, 1, 2, 3 } }, put { 1, 2, 1, 4, 3.5, 0 }, 3, { 0, 3 },
        put { 1, 2, 3, 4, 5, 6 })
    case("as_strided_scatter", { { 7, 2, 3 }, { 8, 5, 6 } }, n23, put { 7, 8 }, { 2 }, { 3 })
    case("combinations", { { 1, 2 }, { 1, 4 }, { 2, 4 } }, n3)
    return C
end
