--!plain
-- Help texts of ops of neural networks: convolutions, pooling, norms, recurrent layers;
-- their form: init.lua.
local conv = "stride: elements from one place of the kernel to the next; padding: zeros round the \z
    image, in elements, 'same' (the result has x's size; stride 1 only) or 'valid' (none); \z
    dilation: elements from one of the kernel's to the next; groups: parts of the channels, each \z
    seen by its own filters"
local transposed = "stride: elements that an input moves the kernel on; padding: elements cut off \z
    at each end; output_padding: elements more at the end, below stride or dilation; groups: \z
    parts of the channels, each with its own filters; dilation: elements from one of the kernel's \z
    to the next"
local max_pool = "stride: from one window to the next, kernel_size if not given; padding: \z
    elements of -inf at each end, at most half a window; dilation: elements from one of a \z
    window's to the next; ceil_mode: also a last window that hangs over the end; return_indices: \z
    a second result, where each was, counted from 1"
local avg_pool = "stride: from one window to the next, kernel_size if not given; padding: zeros \z
    at each end, at most half a window; ceil_mode: also a last window that hangs over the end; \z
    count_include_pad: false divides by the elements of x alone"
local layers = "has_biases: false leaves b_ih and b_hh out of weights; num_layers: one above the \z
    other; dropout: share of each layer's output but the last's that is dropped where train is \z
    true; train: whether it is; bidirectional: each layer also from the last step to the first; \z
    batch_first: x and the output are batch x time x features"
local function layers_shape(gates, state)
    return
        ("x: time x batch x features, or without batch; the output: time x batch x (directions \z
            hidden); %s: (layers directions) x batch x hidden; w_ih: %shidden x features (of \z
            later layers directions hidden), w_hh: %shidden x hidden, b_ih, b_hh: %shidden")
            :format(state, gates, gates, gates)
end
return {
    -- ---- convolutions ----
    conv1d = {
        text = "The kernel is not flipped. Of a stride, padding or dilation, a number; padding = \z
            'same' of an even kernel has the odd zero at the end, as PyTorch's. All tensors have \z
            one float dtype.",
        options = conv,
        shapes = "x: batch x in x length, or without batch; weight: out x in / groups x k; \z
                bias: out; the result: batch x out x (length + 2 padding - dilation (k - 1) - 1) \z
                // stride + 1",
        example = "conv1d(tensor({{{1.0, 2.0, 4.0, 8.0}}}), tensor({{{1.0, 1.0}}}), {padding = \z
            \"same\"})\n--> tensor({{{ 3.0,  6.0, 12.0,  8.0}}}, f32 1x1x4 cpu)",
        see = "conv2d, conv_transpose1d, nn.Conv1d" },
    conv2d = {
        text = "What is called a convolution in machine learning: the kernel is not flipped. \z
            stride, padding and dilation are a number or one for each dim. All tensors have one \z
            float dtype.",
        options = conv,
        shapes = "x: batch x in x h x w, or without batch; weight: out x in / groups x kh x \z
                kw; bias: out; the result: batch x out x h' x w', where h' = (h + 2 padding - \z
                dilation (kh - 1) - 1) // stride + 1",
        example = "conv2d(ones(1, 1, 3, 3), ones(1, 1, 3, 3), {padding = 1})[1][1][2]\n--> \z
            tensor({6.0, 9.0, 6.0}, f32 3 cpu)",
        see = "conv_transpose2d, unfold, nn.Conv2d" },
    conv3d = {
        text = "As conv2d, with a dim more. stride, padding and dilation are a number or one for \z
            each dim.",
        options = conv,
        shapes = "x: batch x in x d x h x w, or without batch; weight: out x in / groups x kd \z
                x kh x kw; bias: out; the result: batch x out x d' x h' x w', sizes as conv2d's",
        example = "conv3d(ones(1, 1, 2, 2, 3), ones(1, 1, 2, 2, 2)):flatten()\n--> tensor({8.0, \z
            8.0}, f32 2 cpu)",
        see = "conv2d, conv_transpose3d, nn.Conv3d" },
    conv_transpose1d = {
        text = "Each element of x puts the kernel, multiplied by it, into the result; where they \z
            meet, they are added. It makes images larger, and is no inverse of conv1d.",
        options = transposed,
        shapes = "x: batch x in x length, or without batch; weight: in x out / groups x k; \z
                bias: out; the result: batch x out x (length - 1) stride - 2 padding + dilation \z
                (k - 1) + output_padding + 1",
        example = "conv_transpose1d(tensor({{{1.0, 2.0}}}), tensor({{{1.0, 10.0}}}))\n--> \z
            tensor({{{ 1.0, 12.0, 20.0}}}, f32 1x1x3 cpu)",
        see = "conv1d, nn.ConvTranspose1d" },
    conv_transpose2d = {
        text = "Each element of x puts the kernel, multiplied by it, into the result; where they \z
            meet, they are added. It makes images larger, and is no inverse of conv2d.",
        options = transposed,
        shapes = "x: batch x in x h x w, or without batch; weight: in x out / groups x kh x \z
                kw; bias: out; the result: batch x out x h' x w', where h' = (h - 1) stride - 2 \z
                padding + dilation (kh - 1) + output_padding + 1",
        example = "conv_transpose2d(tensor({{{{1.0, 2.0}}}}), ones(1, 1, 2, 2), {stride = \z
            2})[1][1]\n--> tensor({{1.0, 1.0, 2.0, 2.0},\n-->         {1.0, 1.0, 2.0, 2.0}}, f32 \z
            2x4 cpu)",
        see = "conv2d, interpolate, nn.ConvTranspose2d" },
    conv_transpose3d = {
        text = "As conv_transpose2d, with a dim more.",
        options = transposed,
        shapes = "x: batch x in x d x h x w, or without batch; weight: in x out / groups x kd \z
                x kh x kw; bias: out; the result: batch x out x d' x h' x w', sizes as \z
                conv_transpose2d's",
        example = "conv_transpose3d(ones(1, 1, 1, 1, 2), ones(1, 1, 1, 1, 2)):flatten()\n--> \z
            tensor({1.0, 2.0, 1.0}, f32 3 cpu)",
        see = "conv3d, conv_transpose2d, nn.ConvTranspose3d" },
    -- ---- pooling ----
    max_pool1d = {
        text = "Windows that do not fit in at the end are left out unless ceil_mode is true. NaN \z
            wins. Floats only.",
        options = max_pool,
        shapes = "x: batch x channels x length, or without batch; the result, and the indices \z
                (i64): with length' = (length + 2 padding - dilation (kernel_size - 1) - 1) // \z
                stride + 1",
        example = "local y, at = max_pool1d(tensor({{1.0, 5.0, 2.0, 4.0}}), 2, {return_indices = \z
            true}) return at\n--> tensor({{2, 4}}, i64 1x2 cpu)",
        see = "max_pool2d, adaptive_max_pool1d, nn.MaxPool1d" },
    max_pool2d = {
        text = "kernel_size, stride, padding and dilation are a number or one for each dim. \z
            Indices count from 1 through the rows of an image. NaN wins. Floats only.",
        options = max_pool,
        shapes = "x: batch x channels x h x w, or without batch; the result, and the indices \z
                (i64): with h' x w', sizes as max_pool1d's",
        example = "max_pool2d(tensor({{{1.0, 5.0, 0.0}, {2.0, 4.0, 7.0}}}), 2, {stride = 1})\n--> \z
            tensor({{{5.0, 7.0}}}, f32 1x1x2 cpu)",
        see = "avg_pool2d, adaptive_max_pool2d, nn.MaxPool2d" },
    avg_pool1d = {
        text = "Zeros of the padding count as elements unless count_include_pad is false. Floats \z
            only.",
        options = avg_pool,
        shapes = "x: batch x channels x length, or without batch; the result: with length' = \z
                (length + 2 padding - kernel_size) // stride + 1",
        example = "avg_pool1d(tensor({{2.0, 4.0}}), 2, {padding = 1})\n--> tensor({{1.0, 2.0}}, \z
            f32 1x2 cpu)",
        see = "avg_pool2d, adaptive_avg_pool1d, nn.AvgPool1d" },
    avg_pool2d = {
        text = "kernel_size, stride and padding are a number or one for each dim. Floats only.",
        options = avg_pool ..
            "; divisor_override: what sums are divided by in place of the number of elements",
            shapes = "x: batch x channels x h x w, or without batch; the result: with h' x \z
                    w', sizes as avg_pool1d's",
        example = "avg_pool2d(tensor({{{1.0, 2.0}, {3.0, 6.0}}}), 2)\n--> tensor({{{3.0}}}, f32 \z
            1x1x1 cpu)",
        see = "max_pool2d, adaptive_avg_pool2d, nn.AvgPool2d" },
    adaptive_avg_pool1d = {
        text = "Output i, from 1, is the mean of the elements from (i - 1) length // n + 1 to i \z
            length / n, rounded up: windows may overlap and differ in size by 1. Floats only.",
        shapes = "x: batch x channels x length, or without batch; the result: with output_size in \z
            place of length",
        example = "adaptive_avg_pool1d(tensor({{1.0, 2.0, 3.0}}), 2)\n--> tensor({{1.5, 2.5}}, \z
            f32 1x2 cpu)",
        see = "avg_pool1d, adaptive_avg_pool2d, nn.AdaptiveAvgPool1d" },
    adaptive_avg_pool2d = {
        text = "output_size is a number or one for each dim; 1 takes the mean of each whole \z
            channel. Floats only.",
        shapes = "x: batch x channels x h x w, or without batch; the result: with output_size in \z
            place of h x w",
        example = "adaptive_avg_pool2d(tensor({{{1.0, 2.0}, {3.0, 6.0}}}), {2, 1}):flatten()\n--> \z
            tensor({1.5, 4.5}, f32 2 cpu)",
        see = "avg_pool2d, adaptive_avg_pool1d, nn.AdaptiveAvgPool2d" },
    adaptive_max_pool1d = {
        text = "Windows are those of adaptive_avg_pool1d. Floats only.",
        options = "return_indices: a second result, where each was, counted from 1",
        shapes = "x: batch x channels x length, or without batch; the result: with \z
                output_size in place of length",
        example = "adaptive_max_pool1d(tensor({{1.0, 5.0, 3.0, 2.0}}), 2)\n--> tensor({{5.0, \z
            3.0}}, f32 1x2 cpu)",
        see = "max_pool1d, adaptive_max_pool2d, nn.AdaptiveMaxPool1d" },
    adaptive_max_pool2d = {
        text = "output_size is a number or one for each dim. Floats only.",
        options = "return_indices: a second result, where each was, counted from 1 through the \z
            rows of an image",
        shapes = "x: batch x channels x h x w, or without batch; the result: with output_size in \z
            place of h x w",
        example = "adaptive_max_pool2d(tensor({{{1.0, 5.0}, {2.0, 4.0}}}), {1, 2})\n--> \z
            tensor({{{2.0, 5.0}}}, f32 1x1x2 cpu)",
        see = "max_pool2d, adaptive_max_pool1d, nn.AdaptiveMaxPool2d" },
    interpolate = {
        text = "One of size and scale_factor is given; scale_factor is one number for all dims. \z
            'linear' is for one spatial dim, 'bilinear' for two, 'trilinear' for three; there is \z
            no 'bicubic' and no 'area'. Floats, and u8 for the two nearest modes.",
        options = "size: of the result, a number or one for each spatial dim; scale_factor: how \z
            much larger, sizes are rounded down; mode: 'nearest', 'nearest-exact' (centres of \z
            elements, as pictures are scaled), 'linear', 'bilinear' or 'trilinear'; \z
            align_corners: for the linear modes, the first and last elements stay at the ends",
        shapes = "x: batch x channels x 1 to 3 dims; the result: with size in place of those dims",
        example = "interpolate(tensor({{{1.0, 3.0}}}), 4, {mode = \"linear\"})\n--> \z
            tensor({{{1.0, 1.5, 2.5, 3.0}}}, f32 1x1x4 cpu)",
        see = "conv_transpose2d, avg_pool2d, nn.Upsample" },
    -- ---- norms ----
    batch_norm = {
        text = "With training the statistics are those of the batch (the variance divided by n), \z
            and the running ones are written: (1 - momentum) of them plus momentum of the batch's \z
            (the variance there divided by n - 1). Without, the running ones are used and must be \z
            given.",
        options = "training: the batch's statistics rather than the running ones; momentum: the \z
            new share of the running statistics; eps: added to the variance",
        shapes = "x: batch x channels x …; all others: channels; the result: x's",
        example = "batch_norm(tensor({{1.0}, {3.0}}), tensor{1.0}, tensor{4.0}, {eps = \z
            0}):flatten()\n--> tensor({0.0, 1.0}, f32 2 cpu)",
        see = "layer_norm, group_norm, instance_norm, nn.BatchNorm2d" },
    layer_norm = {
        text = "normalized_shape is a number, for the last dim, or a list. The variance is \z
            divided by n.",
        options = "eps: added to the variance",
        shapes = "x: … x normalized_shape; weight, bias: normalized_shape; the result: x's",
        example = "layer_norm(tensor({{1.0, 3.0}, {10.0, 18.0}}), 2, {eps = 0})\n--> \z
            tensor({{-1.0,  1.0},\n-->         {-1.0,  1.0}}, f32 2x2 cpu)",
        see = "rms_norm, group_norm, batch_norm, nn.LayerNorm" },
    group_norm = {
        text = "num_groups must divide the channels; 1 takes all of an image together, as many as \z
            channels is instance_norm. The variance is divided by n.",
        options = "eps: added to the variance",
        shapes = "x: batch x channels x …; weight, bias: channels; the result: x's",
        example = "group_norm(tensor({{1.0, 3.0, 20.0, 28.0}}), 2, {eps = 0})\n--> \z
            tensor({{-1.0,  1.0, -1.0,  1.0}}, f32 1x4 cpu)",
        see = "layer_norm, instance_norm, nn.GroupNorm" },
    instance_norm = {
        text = "The variance is divided by n. Running statistics that are given are written as \z
            batch_norm does, with the mean over the images; use_input_stats = false uses them \z
            instead.",
        options = "use_input_stats: each image's own statistics rather than the running ones; \z
            momentum: the new share of the running statistics; eps: added to the variance",
        shapes = "x: batch x channels x at least one more dim; all others: channels; the result: \z
            x's",
        example = "instance_norm(tensor({{{1.0, 3.0}, {20.0, 28.0}}}), {eps = 0})\n--> \z
            tensor({{{-1.0,  1.0},\n-->          {-1.0,  1.0}}}, f32 1x2x2 cpu)",
        see = "group_norm, batch_norm, nn.InstanceNorm2d" },
    rms_norm = {
        text = "As layer_norm without the mean being taken off, and without a bias. \z
            normalized_shape is a number, for the last dim, or a list.",
        options = "eps: added to the mean square; if not given 2^-23, of f64 2^-52",
        shapes = "x: … x normalized_shape; weight: normalized_shape; the result: x's",
        example = "rms_norm(tensor{0.0, 4.0, 0.0, 0.0}, 4, {eps = 0})\n--> tensor({0.0, 2.0, 0.0, \z
            0.0}, f32 4 cpu)",
        see = "layer_norm, nn.RMSNorm" },
    normalize = {
        text = "dim is 2 if not given, as in PyTorch (whose dim 1 that is), so vectors need {dim \z
            = 1}.",
        options = "p: of the norm, math.huge too; dim: along which norms are taken; eps: the \z
            least that is divided by",
        shapes = "x: any; the result has the same",
        example = "normalize(tensor{1.0, 3.0}, {p = 1, dim = 1})\n--> tensor({0.25, 0.75}, f32 2 \z
            cpu)",
        see = "norm, cosine_similarity, layer_norm" },
    -- ---- softmax ----
    softmax = {
        text = "The largest element is taken off first, so exp does not overflow. Elements of \z
            -inf get 0; a row of nothing else is NaN. Floats only, or say a dtype.",
        options = "dtype: x is converted to it first",
        shapes = "x: any; the result has the same",
        example = "zeros(2):softmax(1)\n--> tensor({0.5, 0.5}, f32 2 cpu)",
        see = "log_softmax, softmin, logsumexp, cross_entropy" },
    log_softmax = {
        text = "x less logsumexp(x): use it, not softmax and log, where a logarithm is wanted. \z
            Floats only, or say a dtype.",
        options = "dtype: x is converted to it first",
        shapes = "x: any; the result has the same",
        example = "log_softmax(tensor{0.0, 1000.0}, 1)\n--> tensor({-1000.0,     0.0}, f32 2 cpu)",
        see = "softmax, nll_loss, cross_entropy" },
    softmin = {
        text = "The smallest element gets the largest share.",
        options = "dtype: x is converted to it first",
        shapes = "x: any; the result has the same",
        example = "softmin(tensor{0.0, 1000.0}, 1)\n--> tensor({1.0, 0.0}, f32 2 cpu)",
        see = "softmax" },
    -- ---- layers ----
    linear = {
        text = "All have one dtype; integers too.",
        shapes = "x: … x inputs; weight: outputs x inputs, or inputs (then the last dim goes); \z
            bias: outputs, or what broadcasts to the result; the result: … x outputs",
        example = "linear(tensor({{1.0, 2.0}}), tensor({{1.0, 1.0}, {0.0, 3.0}}), tensor{10.0, \z
            20.0})\n--> tensor({{13.0, 26.0}}, f32 1x2 cpu)",
        see = "matmul, addmm, nn.Linear" },
    embedding = {
        text = "Indices count from 1. One that is no row is an error; on a GPU it comes when the \z
            host next waits.",
        options = "padding_idx: the row whose gradient is 0, from 1, or from the end with -1; it \z
            is read as the others",
        shapes = "index: any, integers; weight: rows x width; the result: index's, then width",
        example = "embedding(tensor{2, 1}, tensor({{0.5, 0.25}, {1.0, 2.0}}))\n--> tensor({{1.00, \z
            2.00},\n-->         {0.50, 0.25}}, f32 2x2 cpu)",
        see = "index_select, one_hot, nn.Embedding" },
    dropout = {
        text = "training is true if not given: pass false where a model is only used. The same \z
            seed drops the same elements on every device. Floats only.",
        options = "p: how likely each is dropped, 0 to 1; training: false gives x's values as \z
            they are",
        shapes = "x: any; the result has the same",
        example = "local y = ones(100):dropout(0.5) return (y:eq(0) | y:eq(2)):all()\n--> \z
            tensor(true, bool scalar cpu)",
        see = "bernoulli, manual_seed, nn.Dropout" },
    scaled_dot_product_attention = {
        text = "is_causal lets query i see keys 1 to i. A query that a bool mask lets see no key \z
            gives 0, not NaN. dropout_p works whenever it is above 0; is_causal and attn_mask do \z
            not go together.",
        options = "attn_mask: bools, true where a key is seen, or floats that are added to the \z
            scores; dropout_p: share of the weights that is dropped; is_causal: no key after the \z
            query's own place is seen; scale: what scores are multiplied by, 1 / sqrt(size) if \z
            not given",
        shapes = "query: … x l x size; key: … x s x size; value: … x s x v; attn_mask: broadcasts \z
            to … x l x s; the result: … x l x v",
        example = "scaled_dot_product_attention(zeros(2, 1), zeros(2, 1), tensor({{1.0}, {3.0}}), \z
            {is_causal = true}):flatten()\n--> tensor({1.0, 2.0}, f32 2 cpu)",
        see = "softmax, matmul, nn.MultiheadAttention" },
    -- ---- recurrent layers ----
    lstm = {
        text = "The gates stand in the weights in the order i, f, g, o, as in PyTorch: c = f c + \z
            i g, h = o tanh(c). weights is a flat list, layer by layer, of each first the forward \z
            direction. nn.LSTM keeps them.",
        options = layers,
        shapes = layers_shape("4 ", "h_n, c_n and both of hx"),
        example = "local _, h, c = lstm(zeros(2, 1), {zeros(1, 1), tensor({{4.0}})}, {zeros(4, \z
            1), zeros(4, 1)}, {has_biases = false}) return c\n--> tensor({{1.0}}, f32 1x1 cpu)",
        see = "lstm_cell, gru, rnn, nn.LSTM" },
    gru = {
        text = "The gates stand in the weights in the order r, z, n, as in PyTorch: n = tanh(W_n \z
            x + b_in + r (U_n h + b_hn)), h = (1 - z) n + z h. weights is a flat list, layer by \z
            layer, of each first the forward direction. nn.GRU keeps them.",
        options = layers,
        shapes = layers_shape("3 ", "h_n and hx"),
        example = "(gru(zeros(2, 1), tensor({{4.0}}), {zeros(3, 1), zeros(3, 1)}, {has_biases = \z
            false})):flatten()\n--> tensor({2.0, 1.0}, f32 2 cpu)",
        see = "gru_cell, lstm, rnn, nn.GRU" },
    rnn = {
        text = "h = tanh(w_ih x + b_ih + w_hh h + b_hh) for each step. weights is a flat list, \z
            layer by layer, of each first the forward direction. nn.RNN keeps them.",
        options = layers .. "; nonlinearity: 'tanh' or 'relu'",
        shapes = layers_shape("", "h_n and hx"),
        example = "(rnn(tensor({{1.0}, {2.0}, {3.0}}), nil, {ones(1, 1), ones(1, 1)}, {has_biases \z
            = false, nonlinearity = \"relu\"})):flatten()\n--> tensor({1.0, 3.0, 6.0}, f32 3 cpu)",
        see = "rnn_cell, lstm, gru, nn.RNN" },
    lstm_cell = {
        text = "For loops of your own over time; whole sequences are faster with lstm. b_ih and \z
            b_hh go together. Gates: i, f, g, o.",
        shapes = "x: batch x features, or features; h, c: batch x hidden, or hidden; w_ih: 4 \z
            hidden x features; w_hh: 4 hidden x hidden; b_ih, b_hh: 4 hidden",
        example = "local h, c = lstm_cell(zeros(1, 1), {zeros(1, 1), tensor({{2.0}})}, zeros(4, \z
            1), zeros(4, 1)) return c\n--> tensor({{1.0}}, f32 1x1 cpu)",
        see = "lstm, gru_cell, nn.LSTMCell" },
    gru_cell = {
        text = "For loops of your own over time; whole sequences are faster with gru. b_ih and \z
            b_hh go together. Gates: r, z, n.",
        shapes = "x: batch x features, or features; hx, h: batch x hidden, or hidden; w_ih: 3 \z
            hidden x features; w_hh: 3 hidden x hidden; b_ih, b_hh: 3 hidden",
        example = "gru_cell(zeros(1, 1), tensor({{4.0}}), zeros(3, 1), zeros(3, 1))\n--> \z
            tensor({{2.0}}, f32 1x1 cpu)",
        see = "gru, lstm_cell, nn.GRUCell" },
    rnn_cell = {
        text = "For loops of your own over time; whole sequences are faster with rnn. b_ih and \z
            b_hh go together.",
        options = "nonlinearity: 'tanh' or 'relu'",
        shapes = "x: batch x features, or features; hx, h: batch x hidden, or hidden; w_ih: \z
                hidden x features; w_hh: hidden x hidden; b_ih, b_hh: hidden",
        example = "rnn_cell(tensor({{2.0}}), tensor({{3.0}}), ones(1, 1), ones(1, 1), \z
            {nonlinearity = \"relu\"})\n--> tensor({{5.0}}, f32 1x1 cpu)",
        see = "rnn, gru_cell, nn.RNNCell" },
    -- ---- elementwise, with parameters ----
    clamp = {
        text = "One limit may be left out: {max = 5}. NaN stays, and a limit that is NaN gives \z
            NaN. A float limit makes f32 of integers. Tensors as limits are broadcast. Where x \z
            equals a limit its gradient is 0, or half where the limit is a tensor.",
        options = "min: the least that is left; max: the largest",
        example = "tensor{-1, 2, 7}:clamp(0, 5)\n--> tensor({0, 2, 5}, i64 3 cpu)",
        see = "clamp_min, clamp_max, hardtanh, relu, relu6" },
    hardtanh = {
        text = "clamp as a layer: -1 and 1 if no limits are given.",
        options = "min: the least that is left; max: the largest",
        example = "tensor{-2.0, 0.5, 3.0}:hardtanh()\n--> tensor({-1.0,  0.5,  1.0}, f32 3 \z
                cpu)",
        see = "clamp, tanh, relu6" },
    threshold = {
        text = "value stands also where x is the threshold itself. NaN stays.",
        example = "tensor{1, 2, 3}:threshold(1, -5)\n--> tensor({-5,  2,  3}, i64 3 cpu)",
        see = "relu, clamp, where" },
    leaky_relu = {
        text = "slope is PyTorch's negative_slope. Floats only.",
        example = "tensor{-2.0, 4.0}:leaky_relu(0.25)\n--> tensor({-0.5,  4.0}, f32 2 cpu)",
        see = "relu, elu, nn.LeakyReLU" },
    elu = {
        text = "It goes down to -alpha. Floats only.",
        example = "tensor{-1000.0, 2.0}:elu(3)\n--> tensor({-3.0,  2.0}, f32 2 cpu)",
        see = "celu, selu, leaky_relu, nn.ELU" },
    celu = {
        text = "elu whose slope has no step at 0, whatever alpha is. Floats only.",
        example = "tensor{-1000.0, 2.0}:celu(3)\n--> tensor({-3.0,  2.0}, f32 2 cpu)",
        see = "elu, selu" },
    softplus = {
        text = "relu without its corner; the larger beta, the closer to it. Floats only.",
        options = "beta: how close to relu; threshold: beta * x from which on x itself is taken",
        example = "tensor{0.0, 30.0}:softplus()\n--> tensor({ 0.6931, 30.0000}, f32 2 cpu)",
        see = "relu, sigmoid, nn.Softplus" },
    logit = {
        text = "Without eps 0 gives -inf, 1 gives inf, and what is outside 0 to 1 NaN. Integers \z
            give f32.",
        example = "tensor{0.0, 0.5, 1.0}:logit()\n--> tensor({-inf,  0.0,  inf}, f32 3 cpu)",
        see = "sigmoid, log, clamp" },
    nan_to_num = {
        text = "Integers and bools stay as they are. Where a number was put in, the gradient is 0.",
        options = "nan: for NaN; posinf: for inf; neginf: for -inf",
        example = "tensor{0/0, math.huge, 2.0}:nan_to_num{posinf = 9}\n--> tensor({0.0, 9.0, \z
                2.0}, f32 3 cpu)",
        see = "isnan, isfinite, nansum, where" },
    polygamma = {
        text = "n is from 0, which is digamma itself. Integers give f32.",
        shapes = "x: any; the result has the same",
        example = "polygamma(1, tensor{1.0})\n--> tensor({1.6449}, f32 1 cpu)",
        see = "digamma, lgamma" },
    round = {
        text = "round(x, 2) keeps two decimals, -2 rounds to hundreds; with decimals floats only. \z
            Without, integers stay as they are. The gradient is 0.",
        example = "tensor{0.5, 1.5, -2.5, 2.75}:round()\n--> tensor({ 0.0,  2.0, -2.0,  3.0}, f32 \z
            4 cpu)",
        see = "floor, ceil, trunc, frac" },
    gelu = {
        text = "Floats only.",
        options = "approximate: 'none', or 'tanh' for gelu_tanh's formula",
        example = "gelu(tensor{0.0, 10.0})\n--> tensor({ 0.0, 10.0}, f32 2 cpu)",
        see = "gelu_tanh, silu, mish, nn.GELU" },
    add = {
        text = "With {alpha = n} a + n b. add_ writes a.",
        shapes = "a, b: broadcast; the result has their common shape",
        example = "tensor{1.0, 2.0, 3.0}:add(tensor{10.0, 20.0, 30.0}, {alpha = 2})\n--> \z
            tensor({21.0, 42.0, 63.0}, f32 3 cpu)",
        see = "sub, addcmul, lerp" },
    sub = {
        text = "With {alpha = n} a - n b. Not of bool, as in PyTorch: use logical_not or \z
            logical_xor. sub_ writes a.",
        shapes = "a, b: broadcast; the result has their common shape",
        example = "tensor{1.0, 2.0, 3.0}:sub(2)\n--> tensor({-1.0,  0.0,  1.0}, f32 3 cpu)",
        see = "add, logical_xor, diff" },
    addcmul = {
        text = "One pass instead of two. Integers too, with an integer value. addcmul_ writes a.",
        shapes = "operands, tensors or numbers, broadcast; the result has their common shape",
        example = "addcmul(tensor{1, 2}, tensor{3, 4}, tensor{5, 6}, {value = 2})\n--> \z
            tensor({31, 50}, i64 2 cpu)",
        see = "addcdiv, lerp, addmm" },
    addcdiv = {
        text = "One pass instead of two. Floats only. addcdiv_ writes a.",
        shapes = "operands, tensors or numbers, broadcast; the result has their common shape",
        example = "addcdiv(tensor{1.0, 2.0}, tensor{4.0, 9.0}, tensor{2.0, 3.0}, {value = \z
            -1})\n--> tensor({-1.0, -1.0}, f32 2 cpu)",
        see = "addcmul, div" },
    lerp = {
        text = "c, the weight, is a number or a tensor; outside 0 to 1 it goes on beyond a and b. \z
            Floats only. lerp_ writes a.",
        example = "lerp(tensor{0.0, 10.0}, tensor{4.0, 20.0}, 0.25)\n--> tensor({ 1.0, 12.5}, f32 \z
            2 cpu)",
        see = "addcmul, where, clamp" },
}
