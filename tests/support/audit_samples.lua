-- For tests/bindings/audit.lua: valid arguments of every op, as the text between the brackets of its call. f(2, 3) is a
-- tensor of numbers between 0.1 and 0.9, i{1, 2} one of integers, b{true} one of bools, spd a positive definite
-- matrix; each call gets new ones.
local S = {}

-- An op that is not below has its kind's arguments.
S.kinds = {
    unary = "f(2, 3)", param = "f(2, 3)", binary = "f(2, 3), f(2, 3)", compare = "f(2, 3), f(2, 3)",
    ternary = "f(2, 3), f(2, 3), f(2, 3)", reduce = "f(2, 3), 2",
}

-- Ops that only others call: their names begin or end as these do.
S.internal = { "_grad$", "_backward$", "_forward$", "_step$", "^argsort_rows$", "^attention$", "^distinct$", "^masked_put$",
    "^clip_grad_", "^absolute_error$", "^squared_error$", "^bce$", "^bce_with_logits$", "^huber$", "^smooth_l1$", "^kl_term$",
    "^kl_log_term$", "^clamp_between$", "^gelu_tanh$" }

S.calls = {
    -- ---- elementwise ----
    bitwise_and = "i{1, 2}, i{3, 4}", bitwise_or = "i{1, 2}, i{3, 4}", bitwise_xor = "i{1, 2}, i{3, 4}",
    bitwise_left_shift = "i{1, 2}, i{3, 4}", bitwise_right_shift = "i{1, 2}, i{3, 4}", bitwise_not = "i{1, 2}",
    acosh = "f(2, 3) + 1", addcmul = "f(2, 3), f(2, 3), f(2, 3)", addcdiv = "f(2, 3), f(2, 3), f(2, 3)",
    clamp = "f(2, 3), 0.2, 0.8", polygamma = "1, f(2, 3)", threshold = "f(2, 3), 0.5, 0", where = "b{true, false}, f(2), f(2)",
    fmax = "f(2, 3), f(2, 3)", fmin = "f(2, 3), f(2, 3)", logaddexp = "f(2, 3), f(2, 3)", bernoulli = "f(2, 3), 0.5",
    deg2rad = "f(2, 3)", deg2rad_ = "f(2, 3)", rad2deg = "f(2, 3)", rad2deg_ = "f(2, 3)", isneginf = "f(2, 3)", isposinf = "f(2, 3)",
    logsigmoid = "f(2, 3)", tanhshrink = "f(2, 3)", fill = "f(2, 3), 5", copy = "f(2, 3)", dropout = "f(2, 3), 0.5", uniform = "f(2, 3), 0, 1",
    isclose = "f(2, 3), f(2, 3)", allclose = "f(2, 3), f(2, 3)", equal = "f(2, 3), f(2, 3)", zero_ = "f(2, 3)",
    normal = "0, 1, {2, 3}", glu = "f(2, 4), 2",
    -- ---- reduce, scan, sort ----
    aminmax = "f(2, 3), 2", argmax = "f(2, 3), 2", argmin = "f(2, 3), 2", argsort = "f(2, 3), 2", max = "f(2, 3), 2", min = "f(2, 3), 2",
    median = "f(2, 3), 2", nanmedian = "f(2, 3), 2", nanmean = "f(2, 3), 2", nansum = "f(2, 3), 2", mode = "f(2, 3), 2", msort = "f(2, 3)",
    sort = "f(2, 3), 2", topk = "f(2, 3), 2", kthvalue = "f(2, 3), 2", count_nonzero = "f(2, 3), 2", cummax = "f(2, 3), 2",
    cummin = "f(2, 3), 2", cumprod = "f(2, 3), 2", cumsum = "f(2, 3), 2", cumprod_ = "f(2, 3), 2", cumsum_ = "f(2, 3), 2",
    logcumsumexp = "f(2, 3), 2", logsumexp = "f(2, 3), 2", std = "f(2, 3), 2", var = "f(2, 3), 2", std_mean = "f(2, 3), 2", var_mean = "f(2, 3), 2",
    norm = "f(2, 3), 2, 2", quantile = "f(2, 3), 0.5, 2", nanquantile = "f(2, 3), 0.5, 2", histc = "f(2, 3), 4, 0, 1", diff = "f(2, 3), 1, 2",
    bincount = "i{1, 2, 2}", unique = "f(2, 3)", unique_consecutive = "f(2, 3)", nonzero = "f(2, 3)", isin = "f(2, 3), f(4)",
    searchsorted = "f(3), f(2)", bucketize = "f(2), f(3)", softmax = "f(2, 3), 2", log_softmax = "f(2, 3), 2", softmin = "f(2, 3), 2", trace = "f(3, 3)",
    -- ---- making ----
    arange = "1, 5", range = "1, 5", linspace = "0, 1, 5", logspace = "0, 1, 5", empty = "{2, 3}", zeros = "{2, 3}", ones = "{2, 3}",
    rand = "{2, 3}", randn = "{2, 3}", full = "{2, 3}, 7", eye = "3", randint = "1, 9, {2, 3}", randperm = "4", empty_like = "f(2, 3)",
    zeros_like = "f(2, 3)", ones_like = "f(2, 3)", rand_like = "f(2, 3)", randn_like = "f(2, 3)", full_like = "f(2, 3), 7",
    randint_like = "f(2, 3), 1, 9", new_empty = "f(2), {2, 3}", new_zeros = "f(2), {2, 3}", new_ones = "f(2), {2, 3}", new_full = "f(2), {2, 3}, 7",
    new_tensor = "f(2), {1, 2}", multinomial = "f(4), 2", tril_indices = "3, 3", triu_indices = "3, 3", one_hot = "i{1, 2, 3}, 3",
    -- ---- shape ----
    as_strided = "f(2, 3), {2, 2}, {1, 1}", atleast_1d = "f(2, 3)", atleast_2d = "f(2, 3)", atleast_3d = "f(2, 3)", broadcast_tensors = "{f(2), f(1)}",
    broadcast_to = "f(3), {2, 3}", cartesian_prod = "{f(2), f(3)}", cat = "{f(2, 3), f(2, 3)}, 2", chunk = "f(4, 3), 2, 1", column_stack = "{f(2), f(2)}",
    contiguous = "f(2, 3)", detach = "f(2, 3)", diag = "f(3)", diag_embed = "f(2, 3)", diagflat = "f(3)", diagonal = "f(3, 3)", dstack = "{f(2), f(2)}",
    expand = "f(3), {2, 3}", expand_as = "f(3), f(2, 3)", flatten = "f(2, 3, 2)", flip = "f(2, 3), {2}", fliplr = "f(2, 3)", flipud = "f(2, 3)",
    hstack = "{f(2), f(2)}", meshgrid = "{f(2), f(3)}", movedim = "f(2, 3, 4), 1, 2", narrow = "f(4, 3), 1, 2, 2", permute = "f(2, 3), {2, 1}",
    pad = "f(2, 3), {1, 1}", ravel = "f(2, 3)", ["repeat"] = "f(2, 3), {2, 1}", repeat_interleave = "f(2, 3), 2, 1", reshape = "f(2, 3), {3, 2}",
    reshape_as = "f(2, 3), f(3, 2)", roll = "f(2, 3), 1, 2", rot90 = "f(2, 3)", round = "f(2, 3)", select = "f(2, 3), 1, 2", slice = "f(4, 3), 1, 2, 3",
    split = "f(4, 3), 2, 1", squeeze = "f(1, 3), 1", stack = "{f(2, 3), f(2, 3)}, 1", t = "f(2, 3)", tensor_split = "f(4, 3), 2, 1", tile = "f(2, 3), {2, 1}",
    to = "f(2, 3), 'cpu', 'f64'", transpose = "f(2, 3), 1, 2", tril = "f(3, 3)", triu = "f(3, 3)", type_as = "f(2, 3), i{1}", unbind = "f(2, 3), 1",
    unflatten = "f(2, 6), 2, {2, 3}", unfold = "f(6, 3), 1, 2, 2", unsqueeze = "f(2, 3), 1", view = "f(2, 3), {3, 2}", view_as = "f(2, 3), f(3, 2)", vstack = "{f(2), f(2)}",
    -- ---- index ----
    embedding = "i{1, 2}, f(3, 4)", gather = "f(2, 3), 2, i{{1, 2}, {3, 1}}", gather_nd = "f(2, 3), i{{1, 2}, {2, 3}}", index = "f(4, 3), {i{1, 2}}",
    index_add = "f(4, 3), 1, i{1, 2}, f(2, 3)", index_copy = "f(4, 3), 1, i{1, 2}, f(2, 3)", index_fill = "f(4, 3), 1, i{1, 2}, 7",
    index_put = "f(4, 3), {i{1, 2}}, f(2, 3)", index_select = "f(4, 3), 1, i{1, 2}", masked_fill = "f(2), b{true, false}, 7",
    masked_scatter = "f(2), b{true, false}, f(2)", masked_select = "f(2), b{true, false}", scatter = "f(2, 3), 2, i{{1, 2}, {3, 1}}, f(2, 2)",
    scatter_add = "f(2, 3), 2, i{{1, 2}, {3, 1}}, f(2, 2)", scatter_nd = "f(2, 3), i{{1, 2}, {2, 3}}, f(2)",
    scatter_reduce = "f(2, 3), 2, i{{1, 2}, {3, 1}}, f(2, 2), 'amax'", take = "f(2, 3), i{1, 2}", take_along_dim = "f(2, 3), i{{1, 2}, {3, 1}}, 2",
    -- ---- products and linalg ----
    addmm = "f(2, 4), f(2, 3), f(3, 4)", addmv = "f(2), f(2, 3), f(3)", baddbmm = "f(2, 2, 4), f(2, 2, 3), f(2, 3, 4)", bmm = "f(2, 2, 3), f(2, 3, 4)",
    cdist = "f(2, 3), f(4, 3)", cholesky_solve = "f(3, 2), spd", cosine_similarity = "f(2, 3), f(2, 3), 2", cross = "f(2, 3), f(2, 3), 2", dist = "f(3), f(3)",
    dot = "f(3), f(3)", einsum = "'ij,jk->ik', f(2, 3), f(3, 4)", inner = "f(2, 3), f(4, 3)", kron = "f(2, 2), f(2, 2)", linear = "f(2, 3), f(4, 3), f(4)",
    logdet = "spd", matmul = "f(2, 3), f(3, 4)", mm = "f(2, 3), f(3, 4)", mv = "f(2, 3), f(3)", normalize = "f(2, 3), 2, 2", outer = "f(2), f(3)",
    pairwise_distance = "f(2, 3), f(2, 3)", tensordot = "f(2, 3), f(3, 4), 1", ["linalg.cond"] = "spd", ["linalg.cross"] = "f(2, 3), f(2, 3)",
    ["linalg.matrix_norm"] = "spd", ["linalg.matrix_power"] = "spd, 2", ["linalg.matrix_rank"] = "spd", ["linalg.multi_dot"] = "{f(2, 3), f(3, 4)}",
    ["linalg.norm"] = "f(2, 3)", ["linalg.pinv"] = "spd", ["linalg.vecdot"] = "f(2, 3), f(2, 3)", linalg_cholesky = "spd", linalg_cholesky_ex = "spd",
    linalg_det = "spd", linalg_eig = "spd", linalg_eigh = "spd", linalg_eigvals = "spd", linalg_eigvalsh = "spd", linalg_inv = "spd", linalg_inv_ex = "spd",
    linalg_lstsq = "f(4, 2), f(4, 1)", linalg_lu = "spd", linalg_lu_factor = "spd", linalg_qr = "spd", linalg_slogdet = "spd", linalg_solve = "spd, f(3, 2)",
    linalg_solve_triangular = "spd, f(3, 2), true", linalg_svd = "spd", linalg_svdvals = "spd", linalg_vector_norm = "f(2, 3), 2, 2",
    ["fft.fft2"] = "f(4, 4)", ["fft.fftfreq"] = "4", ["fft.fftn"] = "f(4, 4)", ["fft.fftshift"] = "f(4), 1", ["fft.ifft2"] = "f(4, 4, 2)",
    ["fft.ifftn"] = "f(4, 4, 2)", ["fft.ifftshift"] = "f(4), 1", ["fft.irfft2"] = "f(4, 3, 2)", ["fft.irfftn"] = "f(4, 3, 2)", ["fft.rfft2"] = "f(4, 4)",
    ["fft.rfftfreq"] = "4", ["fft.rfftn"] = "f(4, 4)", fft_fft = "f(4)", fft_ifft = "f(4, 2)", fft_irfft = "f(3, 2)", fft_rfft = "f(4)",
    -- ---- neural ----
    adaptive_avg_pool1d = "f(1, 2, 6), 3", adaptive_avg_pool2d = "f(1, 2, 4, 4), {2, 2}", adaptive_max_pool1d = "f(1, 2, 6), 3",
    adaptive_max_pool2d = "f(1, 2, 4, 4), {2, 2}", avg_pool1d = "f(1, 2, 6), 2", avg_pool2d = "f(1, 2, 4, 4), 2", max_pool1d = "f(1, 2, 6), 2",
    max_pool2d = "f(1, 2, 4, 4), 2", batch_norm = "f(4, 3), f(3), f(3)", instance_norm = "f(2, 3, 4), f(3), f(3)", group_norm = "f(2, 4), 2",
    layer_norm = "f(2, 3), {3}", rms_norm = "f(2, 3), {3}", conv1d = "f(1, 2, 6), f(4, 2, 3), f(4)", conv2d = "f(1, 2, 5, 5), f(4, 2, 3, 3), f(4)",
    conv3d = "f(1, 2, 4, 4, 4), f(4, 2, 3, 3, 3), f(4)", conv_transpose1d = "f(1, 2, 6), f(2, 4, 3), f(4)", conv_transpose2d = "f(1, 2, 5, 5), f(2, 4, 3, 3), f(4)",
    conv_transpose3d = "f(1, 2, 4, 4, 4), f(2, 4, 3, 3, 3), f(4)", interpolate = "f(1, 2, 4, 4), {8, 8}",
    scaled_dot_product_attention = "f(1, 2, 3, 4), f(1, 2, 3, 4), f(1, 2, 3, 4)", rnn = "f(3, 2, 4), nil, {f(5, 4), f(5, 5), f(5), f(5)}",
    lstm = "f(3, 2, 4), nil, {f(20, 4), f(20, 5), f(20), f(20)}", gru = "f(3, 2, 4), nil, {f(15, 4), f(15, 5), f(15), f(15)}",
    rnn_cell = "f(2, 4), f(2, 5), f(5, 4), f(5, 5), f(5), f(5)", lstm_cell = "f(2, 4), {f(2, 5), f(2, 5)}, f(20, 4), f(20, 5), f(20), f(20)",
    gru_cell = "f(2, 4), f(2, 5), f(15, 4), f(15, 5), f(15), f(15)",
    -- ---- losses ----
    binary_cross_entropy = "f(2, 3), f(2, 3)", binary_cross_entropy_with_logits = "f(2, 3), f(2, 3)", cosine_embedding_loss = "f(2, 3), f(2, 3), i{1, -1}",
    cross_entropy = "f(2, 3), i{1, 3}", gaussian_nll_loss = "f(2, 3), f(2, 3), f(2, 3)", hinge_embedding_loss = "f(2), i{1, -1}", huber_loss = "f(2, 3), f(2, 3)",
    kl_div = "f(2, 3), f(2, 3)", l1_loss = "f(2, 3), f(2, 3)", margin_ranking_loss = "f(2), f(2), i{1, -1}", mse_loss = "f(2, 3), f(2, 3)",
    nll_loss = "f(2, 3), i{1, 3}", poisson_nll_loss = "f(2, 3), f(2, 3)", smooth_l1_loss = "f(2, 3), f(2, 3)", soft_margin_loss = "f(2), i{1, -1}",
    triplet_margin_loss = "f(2, 3), f(2, 3), f(2, 3)",
}
return S
