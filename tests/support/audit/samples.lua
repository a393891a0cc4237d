-- For tests/bindings/audit.lua and its like: valid arguments of every op, as the text inside the
-- brackets of its call. A row has them in its column sample, a composite here, where they are not
-- what its signature says: f(2, 3) for each tensor, and dim 2. f(2, 3) is a tensor of numbers
-- between 0.1 and 0.9, i{1, 2} one of integers, b{true} one of bools, spd a positive definite
-- matrix; each call gets new ones.
local S = {}

S.calls = {
    -- ---- elementwise ----
    glu = "f(2, 4), 2",
    -- ---- reduce, scan, sort ----
    norm = "f(2, 3), 2, 2", quantile = "f(2, 3), 0.5, 2", nanquantile = "f(2, 3), 0.5, 2",
    diff = "f(2, 3), 1, 2", isin = "f(2, 3), f(4)", trace = "f(3, 3)",
    -- ---- making ----
    arange = "1, 5", full_like = "f(2, 3), 7", randint_like = "f(2, 3), 1, 9",
    new_empty = "f(2), {2, 3}", new_zeros = "f(2), {2, 3}", new_ones = "f(2), {2, 3}",
    new_full = "f(2), {2, 3}, 7", new_tensor = "f(2), {1, 2}", tril_indices = "3, 3",
    triu_indices = "3, 3",
    -- ---- shape ----
    broadcast_tensors = "{f(2), f(1)}", cartesian_prod = "{f(2), f(3)}", chunk = "f(4, 3), 2, 1",
    column_stack = "{f(2), f(2)}", diag = "f(3)", diagflat = "f(3)", dstack = "{f(2), f(2)}",
    expand_as = "f(3), f(2, 3)", hstack = "{f(2), f(2)}", meshgrid = "{f(2), f(3)}",
    ["repeat"] = "f(2, 3), {2, 1}", reshape_as = "f(2, 3), f(3, 2)", split = "f(4, 3), 2, 1",
    tensor_split = "f(4, 3), 2, 1", tile = "f(2, 3), {2, 1}", type_as = "f(2, 3), i{1}",
    unbind = "f(2, 3), 1", view_as = "f(2, 3), f(3, 2)", vstack = "{f(2), f(2)}",
    -- ---- products and linalg ----
    cdist = "f(2, 3), f(4, 3)", cholesky_solve = "f(3, 2), spd", dist = "f(3), f(3)",
    einsum = "'ij,jk->ik', f(2, 3), f(3, 4)", inner = "f(2, 3), f(4, 3)", kron = "f(2, 2), f(2, 2)",
    logdet = "spd", normalize = "f(2, 3), 2, 2", outer = "f(2), f(3)",
    tensordot = "f(2, 3), f(3, 4), 1", ["linalg.cond"] = "spd",
    ["linalg.cross"] = "f(2, 3), f(2, 3)", ["linalg.matrix_norm"] = "spd",
    ["linalg.matrix_power"] = "spd, 2", ["linalg.matrix_rank"] = "spd",
    ["linalg.multi_dot"] = "{f(2, 3), f(3, 4)}", ["linalg.pinv"] = "spd",
    ["linalg.vecdot"] = "f(2, 3), f(2, 3)", ["fft.fft2"] = "f(4, 4)", ["fft.fftfreq"] = "4",
    ["fft.fftn"] = "f(4, 4)", ["fft.fftshift"] = "f(4), 1", ["fft.ifft2"] = "f(4, 4, 2)",
    ["fft.ifftn"] = "f(4, 4, 2)", ["fft.ifftshift"] = "f(4), 1", ["fft.irfft2"] = "f(4, 3, 2)",
    ["fft.irfftn"] = "f(4, 3, 2)", ["fft.rfft2"] = "f(4, 4)", ["fft.rfftfreq"] = "4",
    ["fft.rfftn"] = "f(4, 4)",
    -- ---- neural ----
    instance_norm = "f(2, 3, 4), f(3), f(3)",
    scaled_dot_product_attention = "f(1, 2, 3, 4), f(1, 2, 3, 4), f(1, 2, 3, 4)",
    rnn_cell = "f(2, 4), f(2, 5), f(5, 4), f(5, 5), f(5), f(5)",
    lstm_cell = "f(2, 4), {f(2, 5), f(2, 5)}, f(20, 4), f(20, 5), f(20), f(20)",
    gru_cell = "f(2, 4), f(2, 5), f(15, 4), f(15, 5), f(15), f(15)",
    -- ---- losses ----
    cosine_embedding_loss = "f(2, 3), f(2, 3), i{1, -1}", hinge_embedding_loss = "f(2), i{1, -1}",
    margin_ranking_loss = "f(2), f(2), i{1, -1}", soft_margin_loss = "f(2), i{1, -1}",
    -- ---- composites of images, signals, bags and others ----
    multi_margin_loss = "f(2, 3), i{1, 3}",
    multilabel_margin_loss = "f(2, 3), i{{1, 0, 0}, {3, 1, 0}}",
    ctc_loss = "f(3, 1, 3), i{{2}}, {3}, {1}", pixel_shuffle = "f(1, 4, 2, 3), 2",
    pixel_unshuffle = "f(1, 1, 4, 6), 2", channel_shuffle = "f(1, 4, 2, 3), 2",
    local_response_norm = "f(1, 4, 2, 3), 3", fold = "f(1, 4, 4), {3, 3}, 2",
    bilinear = "f(2, 3), f(2, 4), f(5, 3, 4), f(5)", prelu = "f(2, 3), f(3)",
    alpha_dropout = "f(2, 3), 0.5", feature_alpha_dropout = "f(2, 3), 0.5",
    max_pool3d = "f(1, 2, 4, 4, 4), 2", avg_pool3d = "f(1, 2, 4, 4, 4), 2",
    adaptive_avg_pool3d = "f(1, 2, 4, 4, 4), 2", adaptive_max_pool3d = "f(1, 2, 4, 4, 4), 2",
    affine_grid = "f(1, 2, 3), {1, 1, 2, 2}", grid_sample = "f(1, 2, 4, 4), f(1, 3, 3, 2)",
    embedding_bag = "i{{1, 2}, {2, 3}}, f(3, 4)", heaviside = "f(2, 3), 0.5",
    trapezoid = "f(2, 3), f(3)", cumulative_trapezoid = "f(2, 3), f(3)",
    block_diag = "{f(2, 3), f(2, 2)}", unravel_index = "i{1, 2, 6}, {2, 3}", vander = "f(3)",
    hann_window = "4", hamming_window = "4", blackman_window = "4", stft = "f(20), 8",
    istft = "f(5, 6, 2), 8",
}
-- Those that the signature says; nil: it has a parameter of another type that must be given.
local function default(sig)
    local args = {}
    for kind, mark, name in (sig .. ","):gmatch "(%l+)([?!]*) ([^,]*)," do
        local optional = mark:find "?" or name:find "="
        if (kind == "tensor" or kind == "operand") and not optional then args[#args + 1] = "f(2, 3)"
        elseif kind == "dim" or kind == "dims" then args[#args + 1] = "2"
        elseif optional then break
        else return nil end
    end
    return table.concat(args, ", ")
end

-- The arguments of the op of that name, whose entry in ops(true) is row; nil: it has none.
function S.call(name, row) return row.sample or S.calls[name] or default(row.sig) end

-- The function of an op in the module g, and its public name.
function S.function_of(g, name)
    local group, short = name:match "^(%a+)[._](.+)$"
    if group == "linalg" or group == "fft" then return g[group][short], group .. "." .. short end
    return g[name], name
end

return S
