--!plain
-- Gradcheck cases for tests/tensor/autograd/autograd.lua besides those there: op -> list of
-- {inputs, options…}; a tensor with requires_grad among the inputs is checked. first = true: only
-- the first result; list = true: the first input is a list of tensors; random = true: the same
-- random numbers for every call; fn: called in place of the row.
local g = require "gpush"
local R = require "recurrent"

local f64 = { dtype = "f64" }
-- Numbers in [-1.5, 1.5], all different.
local function x(...)
    local shape, n = { ... }, 1
    for _, d in ipairs(shape) do n = n * d end
    local v = {}
    for i = 1, n do v[i] = (i * 0.6180339887 % 1) * 3 - 1.5 end
    return g.tensor(v, f64):reshape(shape):detach():requires_grad_()
end
local function pos(...) return (x(...):detach():abs() + 0.5):requires_grad_() end
local function ints(...) return g.tensor({ ... }, { dtype = "i64" }) end
local mask = g.tensor { { true, false, true }, { false, true, true } }

local function symmetric(a)
    return a:matmul(a:transpose(-1, -2)) + g.eye(a.shape[1], nil, "f64", a.device) * 2
end

-- With zeros in it.
local function holes(...)
    local v = pos(...):detach()
    return v:mul_(g.arange(1, v:numel(), f64):remainder(3):ne(2):view(...)):requires_grad_()
end
-- Matrices whose diagonal is not small.
local function tri(b, n)
    return (x(b, n, n):detach() + g.eye(n, nil, "f64") * 3):requires_grad_()
end
local function no_first(_, ...) return ... end
local function two(a, b) return a, b end

local function scatter_cases()
    local list = {}
    for _, how in ipairs { "sum", "prod", "mean", "amin", "amax" } do
        for _, own in ipairs { true, false } do
            list[#list + 1] = { x(4, 2), 1, ints(1, 1, 3, 2, 1, 2):view(3, 2), pos(3, 2), how, own }
            list[#list + 1] = { x(2, 3), 2, ints(3, 3):view(1, 2), x(2, 3), how, own }
        end
    end
    list[#list + 1] = { x(4), 1, ints(1, 1, 1, 2, 2, 2, 3):view(7), holes(7), "prod" }
    return list
end

-- Transforms of real tensors and of pairs, with all norms, cut and padded.
local function pairs_of(real, complex)
    return { { x(real[1]), nil, -1, "backward", false, n = 5 },
        { x(complex[1], 2), nil, 1, "ortho", true, n = 5 }, { x(2, 3, 2), 5, 2, "forward", true },
        { x(3, 2, 2), 2, 1, "backward", true },
        { x(2, 4), 3, -1, "forward", false }, { x(3, 2), 6, 1, "ortho", false } }
end

-- Eigenvectors have a free factor of size 1: quantities that do not depend on it.
local function eigen(wr, wi, vr, vi) return wr, wi, vr * vr + vi * vi end

-- Cases of a recurrent layer: inputs x, states, weights.
local function recurrent(name, kind, states, shape, options)
    local h, I = 2, shape[3] or shape[2]
    local o = { num_layers = 1, has_biases = true }
    for k, v in pairs(options) do o[k] = v end
    local inputs, sides = { x(table.unpack(shape)) }, o.num_layers * (o.bidirectional and 2 or 1)
    local batch = shape[o.batch_first and 1 or 2]
    for i = 1, states do inputs[1 + i] = shape[3] and x(sides, batch, h) or x(sides, h) end
    for _, s in ipairs(R.weight_shapes(kind, I, h, o)) do
        inputs[#inputs + 1] = (x(table.unpack(s)):detach() * 0.7):requires_grad_()
    end
    inputs.n = #inputs
    inputs.fn = function(a, ...)
        local given, hx = { ... }, nil
        if states == 2 then hx = { given[1], given[2] } elseif states == 1 then hx = given[1] end
        g.manual_seed(3) -- for dropout
        local y, h, c = g[name](a, hx, { table.unpack(given, states + 1) }, o)
        return y, h, kind == "lstm" and c or y
    end
    return inputs
end
local function layers(name, kind, states, extra)
    local function case(n, shape, o)
        for k, v in pairs(extra or {}) do o[k] = v end
        return recurrent(name, kind, n, shape, o)
    end
    return { case(states, { 3, 2, 2 }, {}), case(0, { 3, 2 }, {}),
        case(states, { 2, 3, 2 }, { batch_first = true, has_biases = false }),
        case(states, { 2, 1, 2 }, { num_layers = 2, bidirectional = true }),
        case(0, { 2, 1, 2 }, { num_layers = 2, dropout = 0.5, train = true }) }
end

return {
    lstm = layers("lstm", "lstm", 2), gru = layers("gru", "gru", 1), rnn = layers("rnn", "tanh", 1),
    rnn_forward = layers("rnn", "relu", 1, { nonlinearity = "relu" }),
    lstm_forward = { recurrent("lstm_forward", "lstm", 0, { 2, 2, 1 }, {}) },
    gru_forward = { recurrent("gru_forward", "gru", 0, { 2, 2, 1 }, {}) },
    attention = { { x(1, 2, 3, 2), x(1, 2, 2, 2), x(1, 2, 2, 3) },
        { x(2, 1, 2, 2), x(2, 1, 3, 2), x(2, 1, 3, 1), nil, true, n = 5 },
        { x(1, 2, 2, 1), x(1, 2, 3, 1), x(1, 2, 3, 2), x(2, 1, 3), false, 0.5 },
        { x(1, 1, 2, 2), x(1, 1, 3, 2), x(1, 1, 3, 2), x(3):detach(), false, n = 5 } },
    attention_forward = { { x(1, 1, 2, 2), x(1, 1, 3, 2), x(1, 1, 3, 2), first = true } },
    addmm = { { x(2, 2), x(2, 3), x(3, 2), 2, 0.5 } }, addmv = { { x(2), x(2, 3), x(3), 2, 3 } },
    baddbmm = { { x(2, 2, 2), x(2, 2, 3), x(2, 3, 2) } },
    linear = { { x(2, 3), x(4, 3), x(4) }, { x(3), x(2, 3) }, { x(2, 2, 3), x(1, 3), x(1) },
        { x(2, 3), x(3), x() }, { x(3, 2), x(2), n = 2 } },
    linalg_inv = { { pos(2, 2, 2) } }, linalg_det = { { x(3, 3) } },
    linalg_slogdet = { { x(3, 3), post = function(_, l) return l end } },
    linalg_cholesky = { { x(3, 3), make = symmetric }, { x(3, 3), true, make = symmetric } },
    linalg_eig = { { x(3, 3), post = eigen }, { x(4, 4), post = eigen },
        { x(2, 3, 3), post = eigen } },
    linalg_eigvals = { { x(3, 3) }, { x(2, 4, 4) } },
    linalg_eigh = { { x(3, 3), make = symmetric, post = function(w, v) return w, v * v end } },
    linalg_eigvalsh = { { x(3, 3), make = symmetric } },
    linalg_qr = { { x(4, 3) }, { pos(2, 2) } }, linalg_svdvals = { { x(3, 4) } },
    linalg_svd = { { x(3, 3), post = function(u, s, vh) return u * u, s, vh * vh end },
        { x(4, 2), false, post = function(u, s, vh) return u * u, s, vh * vh end },
        { x(2, 4), false, post = function(u, s, vh) return u * u, s, vh * vh end } },
    max_pool1d = { { x(1, 2, 6), 2 } }, max_pool2d = { { x(1, 2, 4, 5), 2, 2, 1 } },
    avg_pool1d = { { x(1, 2, 6), 3, 2, 1 } }, avg_pool2d = { { x(1, 2, 4, 5), 2 } },
    adaptive_avg_pool1d = { { x(1, 2, 5), 3 } }, adaptive_avg_pool2d = { { x(1, 2, 5, 4), 3 } },
    adaptive_max_pool1d = { { x(1, 2, 5), 2 } }, adaptive_max_pool2d = { { x(1, 2, 5, 4), 2 } },
    interpolate = { { x(1, 2, 3, 3), { 5, 4 }, nil, "bilinear", n = 4 }, { x(1, 1, 3), { 5 } } },
    kthvalue = { { x(2, 4), 2, 2, first = true }, { x(4), 3, first = true } },
    median = { { x(5) }, { x(3, 2), 1, first = true } }, nansum = { { x(2, 3), 1 } },
    cummax = { { x(2, 4), 2, first = true } }, cummin = { { x(2, 4), 1, first = true } },
    repeat_interleave = { { x(2, 3), 2, 2 }, { x(2, 2), 3 }, { x(3), ints(1, 0, 2), 1 } },
    logsumexp = { { x(2, 3) }, { x(2, 3), 2, true } }, roll = { { x(2, 3), 1, 2 } },
    diag_embed = { { x(2, 3), 1 } }, topk = { { x(2, 4), 2, first = true } },
    conv1d = { { x(2, 2, 6), x(3, 2, 3), x(3), 2, 1 } },
    conv2d = { { x(2, 2, 5, 4), x(3, 2, 3, 2), x(3), 1, 1 },
        { x(1, 4, 5, 5), x(4, 2, 3, 3), nil, 2, 0, 1, 2, n = 7 },
        { x(2, 5, 5), x(2, 2, 2, 2), nil, 1, 0, 2, n = 6 } },
    conv3d = { { x(1, 1, 3, 3, 3), x(2, 1, 2, 2, 2), x(2) } },
    conv_transpose1d = { { x(1, 2, 4), x(2, 2, 3), x(2), 2, 1 } },
    conv_transpose2d = { { x(1, 2, 3, 3), x(2, 1, 2, 2), x(1), 2, 0, 1 } },
    conv_transpose3d = { { x(1, 1, 2, 2, 2), x(1, 1, 2, 2, 2) } },
    conv_input_grad = { { x(1, 2, 3, 3), x(2, 1, 2, 2), { 1, 1, 4, 4 } } },
    conv_weight_grad = { { x(1, 2, 3, 3), x(1, 1, 4, 4), { 2, 1, 2, 2 } } },
    batch_norm = { { x(4, 2, 3), nil, nil, pos(2), x(2), true, n = 6 },
        { x(3, 2), x(2):detach(), pos(2):detach(), pos(2), x(2), false } },
    layer_norm = { { x(3, 4), { 4 }, x(4), x(4) }, { x(2, 3, 2), { 3, 2 } } },
    rms_norm = { { x(3, 4), { 4 }, x(4) } },
    group_norm = { { x(2, 4, 3), 2, x(4), x(4) } },
    cross_entropy = { { x(4, 3), ints(1, 3, 2, 1) },
        { x(2, 3, 2), ints(1, 3, 9, 1):view(2, 2), nil, 9, "sum", n = 5 },
        { x(4, 3), ints(1, 3, 2, 1), pos(3):detach(), -100, "mean", 0.1 },
        { x(2, 3, 2), ints(1, 3, 2, 1):view(2, 2), pos(3):detach(), 2, "none", 0.2 },
        { x(3), ints(2):reshape({}), nil, -100, "sum", 0.3, n = 6 }, { x(4, 3), pos(4, 3) },
        { x(2, 3, 2), pos(2, 3, 2), pos(3):detach(), -100, "none", 0.1 } },
    nll_loss = { { x(4, 3), ints(1, 3, 2, 1) },
        { x(2, 3, 2), ints(1, 3, 2, 1):view(2, 2), pos(3):detach(), 2, "none" } },
            dropout = { { x(3, 4), 0.4, random = true } },
            embedding = { { ints(1, 3, 1), x(3, 2) } },
    linalg_vector_norm = { { x(2, 3) }, { x(2, 3), 3, 1 }, { x(2, 3), 1, 2, true },
        { x(2, 3), math.huge, 2 } },
    index_add = { { x(3, 2), 1, ints(1, 1), x(2, 2), 2 } },
    index_copy = { { x(3, 2), 1, ints(3, 1), x(2, 2) } },
    index_fill = { { x(3, 2), 2, ints(1), 4 } },
    scatter_add = { { x(3, 2), 1, ints(1, 1, 3, 2):view(2, 2), x(2, 2) } },
    take = { { x(3, 2), ints(6, 1, 1) } },
    masked_scatter = { { x(2, 3), mask, x(5) } },
    pad = { { x(2, 3), { 1, 2 } }, { x(3, 2), { 0, 1, -1, 2 }, "constant", 7 },
        { x(1, 3, 4), { 2, 1, 1, 2 }, "reflect" }, { x(1, 3, 2), { 2, 1, 0, 3 }, "replicate" },
        { x(1, 3, 3), { 2, 3, 1, 0 }, "circular" }, { x(1, 2, 4), { -1, 2 }, "circular" } },
    cumprod = { { x(3, 4), 2 }, { holes(2, 6), -1 }, { holes(5, 2), 1 } },
    logcumsumexp = { { x(3, 4), 2 }, { x(4), 1 } },
    nanmean = { { x(2, 3), 1 }, { x(2, 3) }, { x(2, 3), { 1, 2 }, true } },
    nanmedian = { { x(5) }, { x(3, 4), 2, first = true } },
    mode = { { x(3, 4), first = true }, { x(4, 2), 1, true, first = true } },
    aminmax = { { x(2, 3) }, { x(2, 3), 2 }, { x(3, 2), 1, true } },
    take_along_dim = { { x(3, 2), ints(1, 3, 3, 1):view(2, 2), 1 },
        { x(3, 1), ints(2, 1, 1, 3):view(2, 2), 1 }, { x(2, 2), ints(4, 1, 1, 2):view(2, 2) } },
    scatter_nd = { { x(3, 2), ints(1, 3):view(2, 1), x(2, 2) },
        { x(3, 2), ints(1, 2, 3, 1, 1, 2):view(3, 2), x(3), "add" },
        { x(3, 2), ints(2):view(1, 1), 5 } },
    scatter_reduce = scatter_cases(),
    gather_nd = { { x(3, 2), ints(1, 2, 3, 1):view(2, 2) },
        { x(2, 3, 2), ints(1, 3, 2, 2):view(2, 2, 1), 1 },
        { x(2, 3, 2), ints(1, 2, 3, 1):view(2, 2), 1 } },
    linalg_solve_triangular = { { tri(2, 3), x(3, 2), true }, { tri(1, 3), x(2, 3), false, false },
        { tri(2, 3), x(3, 2), false, true, true }, { tri(2, 3), x(2, 2, 3), true, false, true } },
    linalg_solve = { { pos(3, 3), x(3, 2) }, { pos(3, 3), x(3) }, { pos(3, 3), x(2, 3), false },
        { pos(2, 3, 3), x(2, 3, 1) }, { pos(2, 3, 3), x(2, 3) }, { pos(2, 3, 3), x(3, 2) } },
    linalg_lu = { { x(3, 3), post = no_first }, { x(2, 4, 2), post = no_first },
        { x(2, 5), post = no_first } },
            linalg_lu_factor = { { x(3, 3), first = true }, { x(4, 2), first = true },
                { x(2, 4), first = true } },
    linalg_lstsq = { { x(4, 2), x(4, 3), post = two }, { x(2, 4), x(2, 2), post = two },
        { x(4, 2), x(4), post = two }, { x(2, 3, 3), x(2, 3, 1), post = two },
        { x(2, 4, 2), x(4, 3), post = two } },
    linalg_cholesky_ex = { { x(3, 3), make = symmetric, first = true } },
    linalg_inv_ex = { { pos(2, 2, 2), first = true } },
    fft_fft = pairs_of({ 5 }, { 4 }), fft_ifft = pairs_of({ 4 }, { 5 }),
    fft_rfft = { { x(5) }, { x(2, 6), 4, 2, "ortho" }, { x(3, 2), 7, 1, "forward" } },
    fft_irfft = { { x(4, 2) }, { x(2, 3, 2), 5, 2, "ortho" }, { x(3, 2, 2), 8, 1, "forward" },
        { x(4, 2), 3 } },
    avg_pool1d_grad = { { x(1, 2, 3), { 1, 2, 6 }, 3, 2, 1 } },
    avg_pool2d_grad = { { x(1, 2, 2, 2), { 1, 2, 4, 5 }, 2 } },
    adaptive_avg_pool1d_grad = { { x(1, 2, 3), { 1, 2, 5 } } },
    adaptive_avg_pool2d_grad = { { x(1, 2, 3, 3), { 1, 2, 5, 4 } } },
    interpolate_grad = { { x(1, 2, 5, 4), { 1, 2, 3, 3 }, nil, "bilinear", n = 4 },
        { x(1, 1, 6), { 1, 1, 3 }, 2 } },
    max_pool1d_grad = { { x(1, 2, 3), ints(1, 3, 6, 2, 4, 5):view(1, 2, 3), { 1, 2, 6 } } },
    max_pool2d_grad = { { x(1, 1, 2, 2), ints(1, 4, 6, 6):view(1, 1, 2, 2), { 1, 1, 2, 3 } } },
    dropout_grad = { { x(3, 4), 0.4, true, 5, 6 } },
    embedding_grad = { { x(3, 2), ints(1, 3, 1), 3 }, { x(3, 2), ints(1, 3, 1), 3, 1 } },
    nll_loss_grad = { { x(), x(4, 3):detach(), ints(1, 3, 2, 1), pos(3):detach() },
        { x(4), x(4, 3):detach(), ints(1, 3, 2, 1), nil, 2, "none", n = 6 } },
}
