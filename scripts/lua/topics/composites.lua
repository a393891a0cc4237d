--!plain
-- Help texts of ops that are made of others, and of forms in place; their form: init.lua.
return {
    broadcast_tensors = {
        shapes = "any that broadcast; each result has their common shape",
        example = "local a, b = broadcast_tensors{ones(2, 1), ones(3)} return b.shape[1]\n--> 2",
        see = "expand, broadcast_to" },
    cumprod_ = {
        shapes = "x: any; the result has the same",
        example = "tensor{1, 2, 3}:cumprod_(1)\n--> tensor({1, 2, 6}, i64 3 cpu)",
        see = "cumprod" },
    cumsum_ = {
        shapes = "x: any; the result has the same",
        example = "tensor{1, 2, 3}:cumsum_(1)\n--> tensor({1, 3, 6}, i64 3 cpu)",
        see = "cumsum" },
    deg2rad = {
        shapes = "x: any; the result has the same",
        example = "tensor{180.0, 90.0}:deg2rad()\n--> tensor({3.1416, 1.5708}, f32 2 cpu)",
        see = "rad2deg" },
    deg2rad_ = {
        shapes = "x: any; the result has the same",
        example = "tensor{180.0}:deg2rad_()\n--> tensor({3.1416}, f32 1 cpu)",
        see = "deg2rad" },
    dist = {
        shapes = "a, b: broadcast to a common shape; the result is a scalar",
        example = "dist(tensor{3.0, 0.0}, tensor{0.0, 4.0})\n--> tensor(5.0, f32 scalar cpu)",
        see = "norm, cdist" },
    glu = {
        shapes = "x: any with an even size in dim; the result has half of it there",
        example = "tensor{1.0, 2.0, 0.0, 0.0}:glu()\n--> tensor({0.5, 1.0}, f32 2 cpu)",
        see = "sigmoid" },
    hardshrink = {
        example = "tensor{-1.0, 0.2, 2.0}:hardshrink()\n--> tensor({-1.0,  0.0,  2.0}, f32 3 cpu)",
        see = "softshrink, hardtanh" },
    isin = {
        shapes = "elements: any; the result has the same; test_elements: any",
        example = "isin(tensor{1, 2, 3}, tensor{2, 3})\n--> tensor({false,  true,  true}, bool 3 \z
            cpu)",
        see = "eq, where" },
    isneginf = {
        shapes = "x: any; the result has the same",
        example = "tensor{-1/0, 0.0}:isneginf()\n--> tensor({ true, false}, bool 2 cpu)",
        see = "isposinf, isinf" },
    isposinf = {
        shapes = "x: any; the result has the same",
        example = "tensor{1/0, 0.0}:isposinf()\n--> tensor({ true, false}, bool 2 cpu)",
        see = "isneginf, isinf" },
    logsigmoid = {
        shapes = "x: any; the result has the same",
        example = "tensor{0.0, 2.0}:logsigmoid()\n--> tensor({-0.6931, -0.1269}, f32 2 cpu)",
        see = "sigmoid, softplus" },
    new_empty = {
        shapes = "x: any, which does not matter; the result has the shape given",
        example = "tensor{1, 2}:new_empty(3).dtype\n--> i64",
        see = "empty, new_tensor" },
    new_full = {
        shapes = "x: any, which does not matter; the result has the shape given",
        example = "tensor{1, 2}:new_full({2}, 7)\n--> tensor({7, 7}, i64 2 cpu)",
        see = "full, new_tensor" },
    new_ones = {
        shapes = "x: any, which does not matter; the result has the shape given",
        example = "tensor{1, 2}:new_ones(3)\n--> tensor({1, 1, 1}, i64 3 cpu)",
        see = "ones, new_tensor" },
    new_tensor = {
        shapes = "x: any, which does not matter; the result has that of the value",
        example = "tensor{1.0}:new_tensor{4, 5}\n--> tensor({4.0, 5.0}, f32 2 cpu)",
        see = "tensor" },
    new_zeros = {
        shapes = "x: any, which does not matter; the result has the shape given",
        example = "tensor{1, 2}:new_zeros(3)\n--> tensor({0, 0, 0}, i64 3 cpu)",
        see = "zeros, new_tensor" },
    rad2deg = {
        shapes = "x: any; the result has the same",
        example = "tensor{0.0, 1.0}:rad2deg()\n--> tensor({ 0.0000, 57.2958}, f32 2 cpu)",
        see = "deg2rad" },
    rad2deg_ = {
        shapes = "x: any; the result has the same",
        example = "tensor{1.0}:rad2deg_()\n--> tensor({57.2958}, f32 1 cpu)",
        see = "rad2deg" },
    softshrink = {
        example = "tensor{-1.0, 0.2, 2.0}:softshrink()\n--> tensor({-0.5,  0.0,  1.5}, f32 3 cpu)",
        see = "hardshrink, tanhshrink" },
    tanhshrink = {
        shapes = "x: any; the result has the same",
        example = "tensor{0.0, 2.0}:tanhshrink()\n--> tensor({0.000, 1.036}, f32 2 cpu)",
        see = "tanh, softshrink" },
    tril_indices = {
        shapes = "the result: 2 x n, rows and columns of n elements",
        example = "tril_indices(2, 2)\n--> tensor({{1, 2, 2},\n-->         {1, 1, 2}}, i64 2x3 \z
            cpu)",
        see = "tril, triu_indices" },
    triu_indices = {
        shapes = "the result: 2 x n, rows and columns of n elements",
        example = "triu_indices(2, 2)\n--> tensor({{1, 1, 2},\n-->         {1, 2, 2}}, i64 2x3 \z
            cpu)",
        see = "triu, tril_indices" },
    type_as = {
        shapes = "x: any; the result has the same; other: any, which does not matter",
        example = "tensor{1, 2}:type_as(tensor{0.5})\n--> tensor({1.0, 2.0}, f32 2 cpu)",
        see = "to" },
    zero_ = {
        shapes = "x: any; the result has the same",
        example = "tensor{1, 2}:zero_()\n--> tensor({0, 0}, i64 2 cpu)",
        see = "fill_" },
    pixel_shuffle = {
        shapes = "x: … x channels x height x width; the result: … x channels / r ^ 2 x height \z
            r x width r",
        example = "pixel_shuffle(arange(1, 4):view(4, 1, 1), 2)\z
            \n--> tensor({{{1, 2},\n-->          \z
            {3, 4}}}, i64 1x2x2 cpu)",
        see = "pixel_unshuffle, interpolate, nn.PixelShuffle" },
    pixel_unshuffle = {
        shapes = "x: … x channels x height x width; the result: … x channels r ^ 2 x height / \z
            r x width / r",
        example = "pixel_unshuffle(arange(1, 4):view(1, 2, 2), 2):view(4)\n--> tensor({1, 2, \z
            3, 4}, i64 4 cpu)",
        see = "pixel_shuffle, nn.PixelUnshuffle" },
    channel_shuffle = {
        shapes = "x: images x channels x …; the result has the same",
        example = "channel_shuffle(arange(1, 4):view(1, 4), 2)\n--> tensor({{1, 3, 2, 4}}, \z
            i64 1x4 cpu)",
        see = "pixel_shuffle, nn.ChannelShuffle" },
    local_response_norm = {
        options = "size: how many channels; k: what is added",
        shapes = "x: images x channels x …; the result has the same",
        example = "local_response_norm(ones(1, 2, 1), 2, {alpha = 2})\n--> \z
            tensor({{{0.5946},\n-->          {0.4387}}}, f32 1x2x1 cpu)",
        see = "batch_norm, nn.LocalResponseNorm" },
    fold = {
        options = "output_size: height and width",
        shapes = "x: [n x] channels times the kernel's elements x windows; the result: [n x] \z
            channels x output_size",
        example = "fold(ones(4, 2), {2, 3}, 2)\n--> tensor({{{1.0, 2.0, 1.0},\n-->          \z
            {1.0, 2.0, 1.0}}}, f32 1x2x3 cpu)",
        see = "nn.Unfold, conv_transpose2d, nn.Fold" },
    bilinear = {
        shapes = "x1: … x a; x2: … x b; weight: out x a x b; bias: out; the result: … x out",
        example = "bilinear(ones(2), ones(3), ones(1, 2, 3))\n--> tensor({6.0}, f32 1 cpu)",
        see = "linear, einsum, nn.Bilinear" },
    prelu = {
        shapes = "x: any; weight: 1, or x's channels (dim 2); the result has x's shape",
        example = "prelu(tensor{-2.0, 2.0}, tensor{0.5})\n--> tensor({-1.0,  2.0}, f32 2 cpu)",
        see = "leaky_relu, nn.PReLU" },
    gumbel_softmax = {
        options = "tau: how even the result is; hard: one 1, the others 0",
        shapes = "logits: any; the result has the same",
        example = "gumbel_softmax(tensor{0.0, 100.0}, {hard = true})\n--> tensor({0.0, 1.0}, \z
            f32 2 cpu)",
        see = "softmax, multinomial" },
    alpha_dropout = {
        options = "training: nothing is done otherwise",
        shapes = "x: any; the result has the same",
        example = "alpha_dropout(ones(2), 0.5, false)\n--> tensor({1.0, 1.0}, f32 2 cpu)",
        see = "dropout, selu, nn.AlphaDropout" },
    feature_alpha_dropout = {
        options = "training: nothing is done otherwise",
        shapes = "x: images x channels x …; the result has the same",
        example = "feature_alpha_dropout(ones(1, 2), 0.5, false)\n--> tensor({{1.0, 1.0}}, \z
            f32 1x2 cpu)",
        see = "alpha_dropout, nn.FeatureAlphaDropout" },
    max_pool3d = {
        shapes = "x: [n x] channels x depth x height x width; the result: the same with the \z
            windows' number in each",
        example = "max_pool3d(arange(1, 8):float():view(1, 2, 2, 2), 2)\n--> \z
            tensor({{{{8.0}}}}, f32 1x1x1x1 cpu)",
        see = "avg_pool3d, max_pool2d, nn.MaxPool3d" },
    avg_pool3d = {
        shapes = "x: [n x] channels x depth x height x width; the result: the same with the \z
            windows' number in each",
        example = "avg_pool3d(arange(1, 8):float():view(1, 2, 2, 2), 2)\n--> \z
            tensor({{{{4.5}}}}, f32 1x1x1x1 cpu)",
        see = "max_pool3d, avg_pool2d, nn.AvgPool3d" },
    adaptive_avg_pool3d = {
        options = "output_size: depth, height and width, or one number for all",
        shapes = "x: [n x] channels x depth x height x width; the result: [n x] channels x \z
            output_size",
        example = "adaptive_avg_pool3d(ones(1, 2, 2, 2), 1)\n--> tensor({{{{1.0}}}}, f32 \z
            1x1x1x1 cpu)",
        see = "avg_pool3d, nn.AdaptiveAvgPool3d" },
    adaptive_max_pool3d = {
        options = "output_size: depth, height and width, or one number for all",
        shapes = "x: [n x] channels x depth x height x width; the result: [n x] channels x \z
            output_size",
        example = "adaptive_max_pool3d(ones(1, 2, 2, 2), 1)\n--> tensor({{{{1.0}}}}, f32 \z
            1x1x1x1 cpu)",
        see = "max_pool3d, nn.AdaptiveMaxPool3d" },
    affine_grid = {
        options = "size: n, channels, height and width; align_corners: -1 and 1 are the \z
            centres of the first and the last pixel, not their edges",
        shapes = "theta: n x 2 x 3; the result: n x h x w x 2",
        example = "affine_grid(tensor({{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}}), {1, 1, 1, \z
            2})\n--> tensor({{{{-0.5,  0.0},\n-->           { 0.5,  0.0}}}}, f32 1x1x2x2 cpu)",
        see = "grid_sample" },
    grid_sample = {
        options = "mode: 'bilinear' or 'nearest'; padding_mode: outside 'zeros', 'border' or \z
            'reflection'; align_corners: -1 and 1 are the centres of the first and the last \z
            pixel, not their edges",
        shapes = "x: n x channels x height x width; grid: n x h x w x 2; the result: n x \z
            channels x h x w",
        example = "grid_sample(tensor({{{{1.0, 3.0}}}}), zeros(1, 1, 1, 2))\n--> \z
            tensor({{{{2.0}}}}, f32 1x1x1x1 cpu)",
        see = "affine_grid, interpolate" },
    embedding_bag = {
        options = "offsets: where each bag begins in the line, from 1; mode: 'mean', 'sum' or \z
            'max'; per_sample_weights: factors of the rows, with 'sum'; padding_idx: an index \z
            that takes no part",
        shapes = "input: n x indices, or a line of them with offsets, n; weight: rows x size; \z
            the result: n x size",
        example = "embedding_bag(tensor({{1, 2}}), tensor({{1.0, 2.0}, {3.0, 4.0}}))\n--> \z
            tensor({{2.0, 3.0}}, f32 1x2 cpu)",
        see = "embedding, nn.EmbeddingBag" },
    signbit = {
        shapes = "x: any; the result has the same",
        example = "signbit(tensor{-1.0, 0.0, -0.0})\n--> tensor({ true, false,  true}, bool 3 \z
            cpu)",
        see = "sign, copysign" },
    heaviside = {
        options = "values: what it is at 0",
        shapes = "x: any; values: a number, or broadcast",
        example = "heaviside(tensor{-1.0, 0.0, 2.0}, 0.5)\n--> tensor({0.0, 0.5, 1.0}, f32 3 \z
            cpu)",
        see = "sign, where" },
    sinc = {
        shapes = "x: any; the result has the same",
        example = "sinc(tensor{0.0, 0.5, 1.0})\n--> tensor({ 1.0000e+00,  6.3662e-01, \z
            -2.7828e-08}, f32 3 cpu)",
        see = "sin" },
    trapezoid = {
        options = "x: the places of y; dx: how far apart they are, without x",
        shapes = "y: any; x: y's, or its size along dim; the result: y's without dim",
        example = "trapezoid(tensor{1.0, 2.0, 3.0})\n--> tensor(4.0, f32 scalar cpu)",
        see = "cumulative_trapezoid, diff" },
    cumulative_trapezoid = {
        options = "x: the places of y; dx: how far apart they are, without x",
        shapes = "y: any; x: y's, or its size along dim; the result: y's, with one less along \z
            dim",
        example = "cumulative_trapezoid(tensor{1.0, 2.0, 3.0})\n--> tensor({1.5, 4.0}, f32 2 \z
            cpu)",
        see = "trapezoid, cumsum" },
    cov = {
        options = "correction: what is taken from the number of observations",
        shapes = "x: variables x observations, or observations; the result: variables x \z
            variables, or 0-d",
        example = "cov(tensor({{1.0, 3.0}, {2.0, 0.0}}))\n--> tensor({{ 2.0, -2.0},\n-->         \z
            {-2.0,  2.0}}, f32 2x2 cpu)",
        see = "corrcoef, var" },
    corrcoef = {
        shapes = "x: variables x observations, or observations; the result: variables x \z
            variables, or 0-d",
        example = "corrcoef(tensor({{1.0, 3.0}, {2.0, 0.0}}))\z
            \n--> tensor({{ 1.0, -1.0},\n-->         \z
            {-1.0,  1.0}}, f32 2x2 cpu)",
        see = "cov, cosine_similarity" },
    block_diag = {
        shapes = "xs: matrices; the result has all their rows and columns",
        example = "block_diag{ones(1, 2), tensor({{3.0}})}\z
            \n--> tensor({{1.0, 1.0, 0.0},\n-->         \z
            {0.0, 0.0, 3.0}}, f32 2x3 cpu)",
        see = "diag, cat" },
    unravel_index = {
        options = "shape: of the tensor that they are of",
        shapes = "indices: any; the result: a list of as many as shape has dims",
        example = "unravel_index(tensor{6}, {2, 3})[2]\n--> tensor({3}, i64 1 cpu)",
        see = "nonzero, argmax" },
    vander = {
        options = "N: how many powers, n if not given; increasing: from the power 0 upward",
        shapes = "x: n; the result: n x N",
        example = "vander(tensor{1, 2, 3})\n--> tensor({{1, 1, 1},\n-->         {4, 2, \z
            1},\n-->         {9, 3, 1}}, i64 3x3 cpu)",
        see = "pow" },
    hann_window = {
        options = "periodic: for spectra; false for filters, which is symmetric",
        shapes = "the result: window_length",
        example = "hann_window(4)\n--> tensor({0.0, 0.5, 1.0, 0.5}, f32 4 cpu)",
        see = "stft, hamming_window" },
    hamming_window = {
        options = "periodic: for spectra; false for filters, which is symmetric; alpha: its \z
            mean; beta: how far it swings",
        shapes = "the result: window_length",
        example = "hamming_window(4)\n--> tensor({0.08, 0.54, 1.00, 0.54}, f32 4 cpu)",
        see = "stft, hann_window" },
    blackman_window = {
        options = "periodic: for spectra; false for filters, which is symmetric",
        shapes = "the result: window_length",
        example = "blackman_window(4):max()\n--> tensor(1.0, f32 scalar cpu)",
        see = "stft, hann_window" },
    stft = {
        text = "PyTorch gives complex numbers; here the last dim has their two parts, as \z
            torch.view_as_real.",
        options = "hop_length: from one window to the next, n_fft // 4 if not given; \z
            win_length: of the window, which lies in the middle of n_fft; window: ones if not \z
            given; center: the first window has the first sample in its middle; pad_mode: \z
            what lies outside then; normalized: over the root of n_fft; onesided: the \z
            frequencies that differ, of real numbers",
        shapes = "x: [n x] samples; window: win_length; the result: [n x] frequencies x \z
            windows x 2",
        example = "table.concat(stft(ones(8), 4).shape, \"x\")\n--> 3x9x2",
        see = "istft, fft.rfft, hann_window" },
    istft = {
        options = "length: of the result; the others as of stft",
        shapes = "x: [n x] frequencies x windows x 2; the result: [n x] samples",
        example = "istft(stft(ones(8), 4), 4)\n--> tensor({1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, \z
            1.0}, f32 8 cpu)",
        see = "stft, fft.irfft" },
}
