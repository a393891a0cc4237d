--!plain
-- Help texts of the ops of neural networks and images; their form: scripts/lua/help/topics.lua.
return [==[
conv1d (see conv2d, conv_transpose1d, nn.Conv1d)
    The kernel is not flipped. With padding = 'same' and an even kernel the odd zero is at the end,
    as in PyTorch. All tensors have one dtype. Options as of conv2d.
    shapes: x: batch x in x length, or without batch; weight: out x in / groups x k; bias: out; the
        result: batch x out x (length + 2 padding - dilation (k - 1) - 1) // stride + 1
    > conv1d(tensor({{{1.0, 2.0, 4.0, 8.0}}}), tensor({{{1.0, 1.0}}}), {padding = "same"})
    --> tensor({{{ 3.0,  6.0, 12.0,  8.0}}}, f32 1x1x4 cpu)
conv2d (see conv_transpose2d, unfold, nn.Conv2d)
    A convolution as in machine learning: the kernel is not flipped. stride, padding and dilation
    are a number or one for each dim. All tensors have one dtype.
    options: stride: step of the kernel; padding: zeros on each side, or 'same' (the result has x's
        size; stride 1 only) or 'valid' (none); dilation: distance between the kernel's elements;
        groups: number of independent channel groups
    shapes: x: batch x in x h x w, or without batch; weight: out x in / groups x kh x kw; bias: out;
        the result: batch x out x h' x w', where h' = (h + 2 padding - dilation (kh - 1) - 1) //
        stride + 1
    > conv2d(ones(1, 1, 3, 3), ones(1, 1, 3, 3), {padding = 1})[1][1][2]
    --> tensor({6.0, 9.0, 6.0}, f32 3 cpu)
conv3d (see conv2d, conv_transpose3d, nn.Conv3d)
    As conv2d, with one more dim. stride, padding and dilation are a number or one for each dim.
    Options as of conv2d.
    shapes: x: batch x in x d x h x w, or without batch; weight: out x in / groups x kd x kh x kw;
        bias: out; the result: batch x out x d' x h' x w', sizes as conv2d's
    > conv3d(ones(1, 1, 2, 2, 3), ones(1, 1, 2, 2, 2)):flatten() --> tensor({8.0, 8.0}, f32 2 cpu)
conv_transpose1d (see conv1d, nn.ConvTranspose1d)
    Each element of x adds the kernel, multiplied by it, to the result. It enlarges images, and is
    not the inverse of conv1d. Options as of conv_transpose2d.
    shapes: x: batch x in x length, or without batch; weight: in x out / groups x k; bias: out; the
        result: batch x out x (length - 1) stride - 2 padding + dilation (k - 1) + output_padding +
        1
    > conv_transpose1d(tensor({{{1.0, 2.0}}}), tensor({{{1.0, 10.0}}}))
    --> tensor({{{ 1.0, 12.0, 20.0}}}, f32 1x1x3 cpu)
conv_transpose2d (see conv2d, interpolate, nn.ConvTranspose2d)
    Each element of x adds the kernel, multiplied by it, to the result. It enlarges images, and is
    not the inverse of conv2d.
    options: stride: step of the kernel in the result; padding: elements cut off at each end;
        output_padding: elements added at the end, fewer than stride or dilation; groups: number of
        independent channel groups; dilation: distance between the kernel's elements
    shapes: x: batch x in x h x w, or without batch; weight: in x out / groups x kh x kw; bias: out;
        the result: batch x out x h' x w', where h' = (h - 1) stride - 2 padding + dilation (kh - 1)
        + output_padding + 1
    > conv_transpose2d(tensor({{{{1.0, 2.0}}}}), ones(1, 1, 2, 2), {stride = 2})[1][1]
    --> tensor({{1.0, 1.0, 2.0, 2.0},
    -->         {1.0, 1.0, 2.0, 2.0}}, f32 2x4 cpu)
conv_transpose3d (see conv3d, conv_transpose2d, nn.ConvTranspose3d)
    As conv_transpose2d, with one more dim. Options as of conv_transpose2d.
    shapes: x: batch x in x d x h x w, or without batch; weight: in x out / groups x kd x kh x kw;
        bias: out; the result: batch x out x d' x h' x w', sizes as conv_transpose2d's
    > conv_transpose3d(ones(1, 1, 1, 1, 2), ones(1, 1, 1, 1, 2)):flatten()
    --> tensor({1.0, 2.0, 1.0}, f32 3 cpu)
max_pool1d (see max_pool2d, adaptive_max_pool1d, nn.MaxPool1d)
    A last window that does not fit is left out unless ceil_mode is true. NaN propagates. Floats
    only. Options as of max_pool2d.
    shapes: x: batch x channels x length, or without batch; the result, and the indices (i64): with
        length' = (length + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1
    > local y, at = max_pool1d(tensor({{1.0, 5.0, 2.0, 4.0}}), 2, {return_indices = true}) return at
    --> tensor({{2, 4}}, i64 1x2 cpu)
max_pool2d (see avg_pool2d, adaptive_max_pool2d, nn.MaxPool2d)
    kernel_size, stride, padding and dilation are a number or one for each dim. Indices count from 1
    through the rows of an image. NaN propagates. Floats only.
    options: stride: step of the window; kernel_size if not given; padding: -inf at each end, at
        most half a window; dilation: distance between a window's elements; ceil_mode: also use a
        last window that extends past the end; return_indices: also return where each maximum was,
        counted from 1
    shapes: x: batch x channels x h x w, or without batch; the result, and the indices (i64): with
        h' x w', sizes as max_pool1d's
    > max_pool2d(tensor({{{1.0, 5.0, 0.0}, {2.0, 4.0, 7.0}}}), 2, {stride = 1})
    --> tensor({{{5.0, 7.0}}}, f32 1x1x2 cpu)
avg_pool1d (see avg_pool2d, adaptive_avg_pool1d, nn.AvgPool1d)
    Zeros of the padding count as elements unless count_include_pad is false. The mean of i64 is cut
    to a whole number. Options as of avg_pool2d.
    shapes: x: batch x channels x length, or without batch; the result: with length' = (length + 2
        padding - kernel_size) // stride + 1
    > avg_pool1d(tensor({{2.0, 4.0}}), 2, {padding = 1}) --> tensor({{1.0, 2.0}}, f32 1x2 cpu)
avg_pool2d (see max_pool2d, adaptive_avg_pool2d, nn.AvgPool2d)
    kernel_size, stride and padding are a number or one for each dim. The mean of i64 is cut to a
    whole number.
    options: stride: step of the window; kernel_size if not given; padding: zeros at each end, at
        most half a window; ceil_mode: also use a last window that extends past the end;
        count_include_pad: false divides by the number of x's elements only; divisor_override:
        divisor in place of the number of elements
    shapes: x: batch x channels x h x w, or without batch; the result: with h' x w', sizes as
        avg_pool1d's
    > avg_pool2d(tensor({{{1.0, 2.0}, {3.0, 6.0}}}), 2) --> tensor({{{3.0}}}, f32 1x1x1 cpu)
adaptive_avg_pool1d (see avg_pool1d, adaptive_avg_pool2d, nn.AdaptiveAvgPool1d)
    Output i, from 1, is the mean of the elements from (i - 1) length // n + 1 to i length / n,
    rounded up: windows may overlap and differ in size by 1. Floats only.
    shapes: x: batch x channels x length, or without batch; the result: with output_size in place of
        length
    > adaptive_avg_pool1d(tensor({{1.0, 2.0, 3.0}}), 2) --> tensor({{1.5, 2.5}}, f32 1x2 cpu)
adaptive_avg_pool2d (see avg_pool2d, adaptive_avg_pool1d, nn.AdaptiveAvgPool2d)
    output_size is a number or one for each dim; 1 takes the mean of each whole channel. Floats
    only.
    shapes: x: batch x channels x h x w, or without batch; the result: with output_size in place of
        h x w
    > adaptive_avg_pool2d(tensor({{{1.0, 2.0}, {3.0, 6.0}}}), {2, 1}):flatten()
    --> tensor({1.5, 4.5}, f32 2 cpu)
adaptive_max_pool1d (see max_pool1d, adaptive_max_pool2d, nn.AdaptiveMaxPool1d)
    Windows are those of adaptive_avg_pool1d. Floats only.
    options: return_indices: also return where each maximum was, counted from 1
    shapes: x: batch x channels x length, or without batch; the result: with output_size in place of
        length
    > adaptive_max_pool1d(tensor({{1.0, 5.0, 3.0, 2.0}}), 2) --> tensor({{5.0, 3.0}}, f32 1x2 cpu)
adaptive_max_pool2d (see max_pool2d, adaptive_max_pool1d, nn.AdaptiveMaxPool2d)
    output_size is a number or one for each dim. Floats only.
    options: return_indices: also return where each maximum was, counted from 1 through the rows of
        an image
    shapes: x: batch x channels x h x w, or without batch; the result: with output_size in place of
        h x w
    > adaptive_max_pool2d(tensor({{{1.0, 5.0}, {2.0, 4.0}}}), {1, 2})
    --> tensor({{{2.0, 5.0}}}, f32 1x1x2 cpu)
interpolate (see conv_transpose2d, avg_pool2d, nn.Upsample)
    One of size and scale_factor is given. 'linear' is for one spatial dim, 'bilinear' and 'bicubic'
    for two, 'trilinear' for three. Without antialias a smaller image skips pixels. Floats, and u8
    for the two nearest modes.
    options: size: of the result, a number or one for each spatial dim; scale_factor: magnification;
        sizes are rounded down; mode: 'nearest', 'nearest-exact' (centres of elements, as pictures
        are scaled), 'linear', 'bilinear', 'trilinear', 'bicubic' (of 4 x 4 elements, which may
        overshoot) or 'area' (means, as adaptive_avg_pool2d's); align_corners: in the linear and
        cubic modes the first and last elements keep their positions; antialias: of 'bilinear' and
        'bicubic', filters that cover each step, as Pillow resizes
    shapes: x: batch x channels x 1 to 3 dims; the result: with size in place of those dims
    > interpolate(tensor({{{1.0, 3.0}}}), 4, {mode = "linear"})
    --> tensor({{{1.0, 1.5, 2.5, 3.0}}}, f32 1x1x4 cpu)
batch_norm (see layer_norm, group_norm, instance_norm, nn.BatchNorm2d)
    With training = true the batch's statistics are used (variance divided by n), and the running
    ones become (1 - momentum) times themselves plus momentum times the batch's (variance divided by
    n - 1). Otherwise the running ones are used and must be given.
    options: training: the batch's statistics rather than the running ones; momentum: weight of the
        batch in the running statistics; eps: added to the variance
    shapes: x: batch x channels x …; all others: channels; the result: x's
    > batch_norm(tensor({{1.0}, {3.0}}), tensor{1.0}, tensor{4.0}, {eps = 0}):flatten()
    --> tensor({0.0, 1.0}, f32 2 cpu)
layer_norm (see rms_norm, group_norm, batch_norm, nn.LayerNorm)
    normalized_shape is a number, for the last dim, or a list. The variance is divided by n.
    options: eps: added to the variance
    shapes: x: … x normalized_shape; weight, bias: normalized_shape; the result: x's
    > layer_norm(tensor({{1.0, 3.0}, {10.0, 18.0}}), 2, {eps = 0})
    --> tensor({{-1.0,  1.0},
    -->         {-1.0,  1.0}}, f32 2x2 cpu)
group_norm (see layer_norm, instance_norm, nn.GroupNorm)
    num_groups must divide the number of channels. 1 normalizes each image as a whole; one group for
    each channel is instance_norm. The variance is divided by n.
    options: eps: added to the variance
    shapes: x: batch x channels x …; weight, bias: channels; the result: x's
    > group_norm(tensor({{1.0, 3.0, 20.0, 28.0}}), 2, {eps = 0})
    --> tensor({{-1.0,  1.0, -1.0,  1.0}}, f32 1x4 cpu)
instance_norm (see group_norm, batch_norm, nn.InstanceNorm2d)
    The variance is divided by n. Running statistics that are given are written as batch_norm does,
    with the mean over the images; use_input_stats = false uses them instead.
    options: use_input_stats: each image's own statistics rather than the running ones; momentum:
        weight of the batch in the running statistics; eps: added to the variance
    shapes: x: batch x channels x at least one more dim; all others: channels; the result: x's
    > instance_norm(tensor({{{1.0, 3.0}, {20.0, 28.0}}}), {eps = 0})
    --> tensor({{{-1.0,  1.0},
    -->          {-1.0,  1.0}}}, f32 1x2x2 cpu)
rms_norm (see layer_norm, nn.RMSNorm)
    layer_norm without subtracting the mean, and without a bias. normalized_shape is a number, for
    the last dim, or a list.
    options: eps: added to the mean square; if not given 2^-23, of f64 2^-52
    shapes: x: … x normalized_shape; weight: normalized_shape; the result: x's
    > rms_norm(tensor{0.0, 4.0, 0.0, 0.0}, 4, {eps = 0}) --> tensor({0.0, 2.0, 0.0, 0.0}, f32 4 cpu)
softmax (see log_softmax, softmin, logsumexp, cross_entropy)
    The largest element is subtracted first, so that exp does not overflow. Elements of -inf give 0;
    a row that holds only these gives NaN. Floats only, unless dtype is given.
    options: dtype: x is converted to it first
    > zeros(2):softmax(1) --> tensor({0.5, 0.5}, f32 2 cpu)
log_softmax (see softmax, nll_loss, cross_entropy)
    x - logsumexp(x): more exact than the log of softmax. Floats only, unless dtype is given.
    options: dtype: x is converted to it first
    > log_softmax(tensor{0.0, 1000.0}, 1) --> tensor({-1000.0,     0.0}, f32 2 cpu)
softmin (see softmax)
    The smallest element gets the largest share.
    options: dtype: x is converted to it first
    > softmin(tensor{0.0, 1000.0}, 1) --> tensor({1.0, 0.0}, f32 2 cpu)
linear (see matmul, addmm, nn.Linear)
    All have one dtype, which may be an integer.
    shapes: x: … x inputs; weight: outputs x inputs, or inputs (then the last dim is removed); bias:
        outputs, or what broadcasts to the result; the result: … x outputs
    > linear(tensor({{1.0, 2.0}}), tensor({{1.0, 1.0}, {0.0, 3.0}}), tensor{10.0, 20.0})
    --> tensor({{13.0, 26.0}}, f32 1x2 cpu)
embedding (see index_select, one_hot, nn.Embedding)
    Indices count from 1. An index without a row is an error; on a GPU it is raised when the host
    next waits.
    options: padding_idx: row that gets no gradient, from 1, or from the end with -1
    shapes: index: any, integers; weight: rows x width; the result: index's, then width
    > embedding(tensor{2, 1}, tensor({{0.5, 0.25}, {1.0, 2.0}}))
    --> tensor({{1.00, 2.00},
    -->         {0.50, 0.25}}, f32 2x2 cpu)
dropout (see bernoulli, manual_seed, nn.Dropout)
    training is true if not given: pass false in evaluation. The same seed drops the same elements
    on every device. Floats only.
    options: p: probability that an element is dropped, 0 to 1; training: false returns x's values
        unchanged
    > local y = ones(100):dropout(0.5) return (y:eq(0) | y:eq(2)):all()
    --> tensor(true, bool scalar cpu)
scaled_dot_product_attention (see softmax, matmul, nn.MultiheadAttention)
    With is_causal query i attends to keys 1 to i. A query whose mask allows no key gives 0, not
    NaN. dropout_p applies whenever it is above 0; is_causal and attn_mask exclude each other.
    options: attn_mask: bools, true where attention is allowed, or floats that are added to the
        scores; dropout_p: probability that a weight is dropped; is_causal: queries attend to no
        later keys; scale: factor of the scores, 1 / sqrt(size) if not given; enable_gqa: dim -3 of
        key and value divides that of query, and each of their heads serves a group of its heads
    shapes: query: … x l x size; key: … x s x size; value: … x s x v; attn_mask: broadcasts to … x l
        x s; the result: … x l x v
    > scaled_dot_product_attention(zeros(2, 1), zeros(2, 1), tensor({{1.0}, {3.0}}),
    >     {is_causal = true}):flatten()
    --> tensor({1.0, 2.0}, f32 2 cpu)
lstm (see lstm_cell, gru, rnn, nn.LSTM)
    The weights hold the gates in the order i, f, g, o, as in PyTorch: c = f c + i g, h = o tanh(c).
    weights is a flat list, layer by layer, the forward direction first. nn.LSTM keeps them.
    options: has_biases: false leaves b_ih and b_hh out of weights; num_layers: number of stacked
        layers; dropout: probability that an output of any layer but the last is dropped, where
        train is true; train: training mode; bidirectional: each layer also runs from the last step
        to the first; batch_first: x and the output are batch x time x features
    shapes: x: time x batch x features, or without batch; the output: time x batch x (directions
        hidden); h_n, c_n and both of hx: (layers directions) x batch x hidden; w_ih: 4 hidden x
        features (of later layers directions hidden), w_hh: 4 hidden x hidden, b_ih, b_hh: 4 hidden
    > local _, h, c = lstm(zeros(2, 1), {zeros(1, 1), tensor({{4.0}})}, {zeros(4, 1), zeros(4,
    >     1)}, {has_biases = false}) return c
    --> tensor({{1.0}}, f32 1x1 cpu)
gru (see gru_cell, lstm, rnn, nn.GRU)
    The weights hold the gates in the order r, z, n, as in PyTorch: n = tanh(W_n x + b_in + r (U_n h
    + b_hn)), h = (1 - z) n + z h. weights is a flat list, layer by layer, the forward direction
    first. nn.GRU keeps them. Options as of lstm.
    shapes: x: time x batch x features, or without batch; the output: time x batch x (directions
        hidden); h_n and hx: (layers directions) x batch x hidden; w_ih: 3 hidden x features (of
        later layers directions hidden), w_hh: 3 hidden x hidden, b_ih, b_hh: 3 hidden
    > (gru(zeros(2, 1), tensor({{4.0}}), {zeros(3, 1), zeros(3, 1)},
    >     {has_biases = false})):flatten()
    --> tensor({2.0, 1.0}, f32 2 cpu)
rnn (see rnn_cell, lstm, gru, nn.RNN)
    h = tanh(w_ih x + b_ih + w_hh h + b_hh) for each step. weights is a flat list, layer by layer,
    the forward direction first. nn.RNN keeps them. Options as of lstm.
    options: nonlinearity: 'tanh' or 'relu'
    shapes: x: time x batch x features, or without batch; the output: time x batch x (directions
        hidden); h_n and hx: (layers directions) x batch x hidden; w_ih: hidden x features (of later
        layers directions hidden), w_hh: hidden x hidden, b_ih, b_hh: hidden
    > (rnn(tensor({{1.0}, {2.0}, {3.0}}), nil, {ones(1, 1), ones(1, 1)}, {has_biases = false,
    >     nonlinearity = "relu"})):flatten()
    --> tensor({1.0, 3.0, 6.0}, f32 3 cpu)
lstm_cell (see lstm, gru_cell, nn.LSTMCell)
    One step, for your own loops over time; lstm runs whole sequences faster. Give both biases or
    none. Gates: i, f, g, o.
    shapes: x: batch x features, or features; h, c: batch x hidden, or hidden; w_ih: 4 hidden x
        features; w_hh: 4 hidden x hidden; b_ih, b_hh: 4 hidden
    > local h, c = lstm_cell(zeros(1, 1), {zeros(1, 1), tensor({{2.0}})}, zeros(4, 1), zeros(4,
    >     1)) return c
    --> tensor({{1.0}}, f32 1x1 cpu)
gru_cell (see gru, lstm_cell, nn.GRUCell)
    One step, for your own loops over time; gru runs whole sequences faster. Give both biases or
    none. Gates: r, z, n.
    shapes: x: batch x features, or features; hx, h: batch x hidden, or hidden; w_ih: 3 hidden x
        features; w_hh: 3 hidden x hidden; b_ih, b_hh: 3 hidden
    > gru_cell(zeros(1, 1), tensor({{4.0}}), zeros(3, 1), zeros(3, 1))
    --> tensor({{2.0}}, f32 1x1 cpu)
rnn_cell (see rnn, gru_cell, nn.RNNCell)
    One step, for your own loops over time; rnn runs whole sequences faster. Give both biases or
    none.
    options: nonlinearity: 'tanh' or 'relu'
    shapes: x: batch x features, or features; hx, h: batch x hidden, or hidden; w_ih: hidden x
        features; w_hh: hidden x hidden; b_ih, b_hh: hidden
    > rnn_cell(tensor({{2.0}}), tensor({{3.0}}), ones(1, 1), ones(1, 1), {nonlinearity = "relu"})
    --> tensor({{5.0}}, f32 1x1 cpu)
hardtanh (see clamp, tanh, relu6)
    clamp as a layer: -1 and 1 if no limits are given.
    options: min: lower bound; max: upper bound
    > tensor{-2.0, 0.5, 3.0}:hardtanh() --> tensor({-1.0,  0.5,  1.0}, f32 3 cpu)
threshold (see relu, clamp, where)
    Elements equal to the threshold are replaced, too. NaN stays.
    > tensor{1, 2, 3}:threshold(1, -5) --> tensor({-5,  2,  3}, i64 3 cpu)
leaky_relu (see relu, elu, nn.LeakyReLU)
    slope is PyTorch's negative_slope. Floats only.
    > tensor{-2.0, 4.0}:leaky_relu(0.25) --> tensor({-0.5,  4.0}, f32 2 cpu)
elu (see celu, selu, leaky_relu, nn.ELU)
    Its lower limit is -alpha. Floats only.
    > tensor{-1000.0, 2.0}:elu(3) --> tensor({-3.0,  2.0}, f32 2 cpu)
celu (see elu, selu)
    elu with a continuous slope at 0 for every alpha. Floats only.
    > tensor{-1000.0, 2.0}:celu(3) --> tensor({-3.0,  2.0}, f32 2 cpu)
softplus (see relu, sigmoid, nn.Softplus)
    A smooth relu; a larger beta brings it closer to relu. Floats only.
    options: beta: sharpness of the transition; threshold: beta * x above which the result is x
    > tensor{0.0, 30.0}:softplus() --> tensor({ 0.6931, 30.0000}, f32 2 cpu)
logit (see sigmoid, log, clamp)
    Without eps, 0 gives -inf, 1 gives inf, and numbers outside 0 to 1 give NaN. Integers give f32.
    > tensor{0.0, 0.5, 1.0}:logit() --> tensor({-inf,  0.0,  inf}, f32 3 cpu)
nan_to_num (see isnan, isfinite, nansum, where)
    Integers and bools stay as they are. The gradient of a replaced element is 0.
    options: nan: for NaN; posinf: for inf; neginf: for -inf
    > tensor{0/0, math.huge, 2.0}:nan_to_num{posinf = 9} --> tensor({0.0, 9.0, 2.0}, f32 3 cpu)
add (see sub, addcmul, lerp)
    {alpha = n} gives a + n b. add_ writes into a.
    > tensor{1.0, 2.0, 3.0}:add(tensor{10.0, 20.0, 30.0}, {alpha = 2})
    --> tensor({21.0, 42.0, 63.0}, f32 3 cpu)
sub (see add, logical_xor, diff)
    {alpha = n} gives a - n b. Not for bool, as in PyTorch: use logical_not or logical_xor. sub_
    writes into a.
    > tensor{1.0, 2.0, 3.0}:sub(2) --> tensor({-1.0,  0.0,  1.0}, f32 3 cpu)
addcmul (see addcdiv, lerp, addmm)
    One pass instead of two. Integers too, with an integer value. addcmul_ writes into a.
    > addcmul(tensor{1, 2}, tensor{3, 4}, tensor{5, 6}, {value = 2}) --> tensor({31, 50}, i64 2 cpu)
addcdiv (see addcmul, div)
    One pass instead of two. Floats only. addcdiv_ writes into a.
    > addcdiv(tensor{1.0, 2.0}, tensor{4.0, 9.0}, tensor{2.0, 3.0}, {value = -1})
    --> tensor({-1.0, -1.0}, f32 2 cpu)
lerp (see addcmul, where, clamp)
    c, the weight, is a number or a tensor; outside 0 to 1 it extrapolates. Floats only. lerp_
    writes into a.
    > lerp(tensor{0.0, 10.0}, tensor{4.0, 20.0}, 0.25) --> tensor({ 1.0, 12.5}, f32 2 cpu)
pixel_shuffle (see pixel_unshuffle, interpolate, nn.PixelShuffle)
    shapes: x: … x channels x height x width; the result: … x channels / r ^ 2 x height r x width r
    > pixel_shuffle(arange(1, 4):view(4, 1, 1), 2)
    --> tensor({{{1, 2},
    -->          {3, 4}}}, i64 1x2x2 cpu)
pixel_unshuffle (see pixel_shuffle, nn.PixelUnshuffle)
    shapes: x: … x channels x height x width; the result: … x channels r ^ 2 x height / r x width /
        r
    > pixel_unshuffle(arange(1, 4):view(1, 2, 2), 2):view(4) --> tensor({1, 2, 3, 4}, i64 4 cpu)
channel_shuffle (see pixel_shuffle, nn.ChannelShuffle)
    shapes: x: images x channels x …; the result has the same
    > channel_shuffle(arange(1, 4):view(1, 4), 2) --> tensor({{1, 3, 2, 4}}, i64 1x4 cpu)
local_response_norm (see batch_norm, nn.LocalResponseNorm)
    options: size: number of channels; k: constant that is added
    shapes: x: images x channels x …; the result has the same
    > local_response_norm(ones(1, 2, 1), 2, {alpha = 2})
    --> tensor({{{0.5946},
    -->          {0.4387}}}, f32 1x2x1 cpu)
fold (see nn.Unfold, conv_transpose2d, nn.Fold)
    options: output_size: height and width
    shapes: x: [n x] channels times the kernel's elements x windows; the result: [n x] channels x
        output_size
    > fold(ones(4, 2), {2, 3}, 2)
    --> tensor({{{1.0, 2.0, 1.0},
    -->          {1.0, 2.0, 1.0}}}, f32 1x2x3 cpu)
bilinear (see linear, einsum, nn.Bilinear)
    shapes: x1: … x a; x2: … x b; weight: out x a x b; bias: out; the result: … x out
    > bilinear(ones(2), ones(3), ones(1, 2, 3)) --> tensor({6.0}, f32 1 cpu)
prelu (see leaky_relu, nn.PReLU)
    shapes: x: any; weight: 1, or x's channels (dim 2); the result has x's shape
    > prelu(tensor{-2.0, 2.0}, tensor{0.5}) --> tensor({-1.0,  2.0}, f32 2 cpu)
gumbel_softmax (see softmax, multinomial)
    options: tau: temperature; hard: return a one-hot tensor
    shapes: logits: any; the result has the same
    > gumbel_softmax(tensor{0.0, 100.0}, {hard = true}) --> tensor({0.0, 1.0}, f32 2 cpu)
alpha_dropout (see dropout, selu, nn.AlphaDropout)
    options: training: false returns x unchanged
    > alpha_dropout(ones(2), 0.5, false) --> tensor({1.0, 1.0}, f32 2 cpu)
feature_alpha_dropout (see alpha_dropout, nn.FeatureAlphaDropout)
    options: training: false returns x unchanged
    shapes: x: images x channels x …; the result has the same
    > feature_alpha_dropout(ones(1, 2), 0.5, false) --> tensor({{1.0, 1.0}}, f32 1x2 cpu)
max_pool3d (see avg_pool3d, max_pool2d, max_unpool3d, nn.MaxPool3d)
    options: return_indices: also return where each maximum was, counted from 1 through the planes
        of an image
    shapes: x: [n x] channels x depth x height x width; the result: the same with the windows'
        number in each
    > max_pool3d(arange(1, 8):float():view(1, 2, 2, 2), 2) --> tensor({{{{8.0}}}}, f32 1x1x1x1 cpu)
avg_pool3d (see max_pool3d, avg_pool2d, nn.AvgPool3d)
    shapes: x: [n x] channels x depth x height x width; the result: the same with the windows'
        number in each
    > avg_pool3d(arange(1, 8):float():view(1, 2, 2, 2), 2) --> tensor({{{{4.5}}}}, f32 1x1x1x1 cpu)
adaptive_avg_pool3d (see avg_pool3d, nn.AdaptiveAvgPool3d)
    options: output_size: depth, height and width, or one number for all
    shapes: x: [n x] channels x depth x height x width; the result: [n x] channels x output_size
    > adaptive_avg_pool3d(ones(1, 2, 2, 2), 1) --> tensor({{{{1.0}}}}, f32 1x1x1x1 cpu)
adaptive_max_pool3d (see max_pool3d, nn.AdaptiveMaxPool3d)
    options: output_size: depth, height and width, or one number for all; return_indices: also
        return where each maximum was, counted from 1 through the planes of an image
    shapes: x: [n x] channels x depth x height x width; the result: [n x] channels x output_size
    > adaptive_max_pool3d(ones(1, 2, 2, 2), 1) --> tensor({{{{1.0}}}}, f32 1x1x1x1 cpu)
max_unpool1d (see max_pool1d, nn.MaxUnpool1d)
    Options as of max_unpool2d.
    shapes: x and indices: [n x] channels x length; the result: with length' in place of length
    > max_unpool1d(tensor{{5.0, 7.0}}, tensor{{2, 3}}, 2)
    --> tensor({{0.0, 5.0, 7.0, 0.0}}, f32 1x4 cpu)
max_unpool2d (see max_pool2d, nn.MaxUnpool2d)
    indices are those that the pool gave with return_indices. Where one stands twice, as windows
    that overlap give it, one of its numbers stays.
    options: stride: of the pool; kernel_size if not given; padding: of the pool; output_size:
        sizes of the images that were pooled, (h - 1) stride - 2 padding + kernel_size if not given
    shapes: x and indices: [n x] channels x h x w; the result: with output_size in place of h x w
    > max_unpool2d(tensor{{{7.0}}}, tensor{{{3}}}, 2)
    --> tensor({{{0.0, 0.0},
    -->          {7.0, 0.0}}}, f32 1x2x2 cpu)
max_unpool3d (see max_pool3d, nn.MaxUnpool3d)
    Options as of max_unpool2d.
    shapes: x and indices: [n x] channels x depth x h x w; the result: with output_size in place of
        depth x h x w
    > max_unpool3d(tensor{{{{7.0}}}}, tensor{{{{8}}}}, 2):sum() --> tensor(7.0, f32 scalar cpu)
affine_grid (see grid_sample)
    options: size: n, channels, height and width, or n, channels, depth, height and width;
        align_corners: -1 and 1 are the centres of the first and the last pixel, not their edges
    shapes: theta: n x 2 x 3; the result: n x h x w x 2; of volumes: n x 3 x 4, n x d x h x w x 3
    > affine_grid(tensor({{{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}}}), {1, 1, 1, 2})
    --> tensor({{{{-0.5,  0.0},
    -->           { 0.5,  0.0}}}}, f32 1x1x2x2 cpu)
grid_sample (see affine_grid, interpolate)
    options: mode: 'bilinear' (of volumes trilinear), 'nearest' or 'bicubic' (of 4 x 4 pixels);
        padding_mode: outside 'zeros', 'border' or 'reflection'; align_corners: -1 and 1 are the
        centres of the first and the last pixel, not their edges
    shapes: x: n x channels x height x width; grid: n x h x w x 2; the result: n x channels x h x w;
        of volumes: n x channels x depth x height x width, n x d x h x w x 3, n x channels x d x h
        x w
    > grid_sample(tensor({{{{1.0, 3.0}}}}), zeros(1, 1, 1, 2))
    --> tensor({{{{2.0}}}}, f32 1x1x1x1 cpu)
]==]
