--!plain
-- Help texts of ops of neural networks: convolutions, pooling, norms, losses, recurrent layers; their form: ../topics.lua.
local conv = "stride: elements from one place of the kernel to the next; padding: zeros round the image, in elements, 'same' (the result has x's size; stride 1 only) or 'valid' (none); dilation: elements from one of the kernel's to the next; groups: parts of the channels, each seen by its own filters"
local transposed = "stride: elements that an input moves the kernel on; padding: elements cut off at each end; output_padding: elements more at the end, below stride or dilation; groups: parts of the channels, each with its own filters; dilation: elements from one of the kernel's to the next"
local max_pool = "stride: from one window to the next, kernel_size if not given; padding: elements of -inf at each end, at most half a window; dilation: elements from one of a window's to the next; ceil_mode: also a last window that hangs over the end; return_indices: a second result, where each was, counted from 1"
local avg_pool = "stride: from one window to the next, kernel_size if not given; padding: zeros at each end, at most half a window; ceil_mode: also a last window that hangs over the end; count_include_pad: false divides by the elements of x alone"
local reduction = "reduction: 'mean', 'sum', or 'none' for each loss"
local pairs_shape = "x, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in their shape"
local layers = "has_biases: false leaves b_ih and b_hh out of weights; num_layers: one above the other; dropout: share of each layer's output but the last's that is dropped where train is true; train: whether it is; bidirectional: each layer also from the last step to the first; batch_first: x and the output are batch x time x features"
local function layers_shape(gates, state)
    return ("x: time x batch x features, or without batch; the output: time x batch x (directions hidden); %s: (layers directions) x batch x hidden; w_ih: %shidden x features (of later layers directions hidden), w_hh: %shidden x hidden, b_ih, b_hh: %shidden"):format(state, gates, gates, gates)
end
return {
    -- ---- convolutions ----
    conv1d = {
        text = "The kernel is not flipped. Of a stride, padding or dilation, a number; padding = 'same' of an even kernel has the odd zero at the end, as PyTorch's. All tensors have one float dtype.",
        options = conv, shapes = "x: batch x in x length, or without batch; weight: out x in / groups x k; bias: out; the result: batch x out x (length + 2 padding - dilation (k - 1) - 1) // stride + 1",
        example = "conv1d(tensor({{{1.0, 2.0, 4.0, 8.0}}}), tensor({{{1.0, 1.0}}}), {padding = \"same\"})\n--> tensor({{{ 3.0,  6.0, 12.0,  8.0}}}, f32 1x1x4 cpu)", see = "conv2d, conv_transpose1d, nn.Conv1d" },
    conv2d = {
        text = "What is called a convolution in machine learning: the kernel is not flipped. stride, padding and dilation are a number or one for each dim. All tensors have one float dtype.",
        options = conv, shapes = "x: batch x in x h x w, or without batch; weight: out x in / groups x kh x kw; bias: out; the result: batch x out x h' x w', where h' = (h + 2 padding - dilation (kh - 1) - 1) // stride + 1",
        example = "conv2d(ones(1, 1, 3, 3), ones(1, 1, 3, 3), {padding = 1})[1][1][2]\n--> tensor({6.0, 9.0, 6.0}, f32 3 cpu)", see = "conv_transpose2d, unfold, nn.Conv2d" },
    conv3d = {
        text = "As conv2d, with a dim more. stride, padding and dilation are a number or one for each dim.",
        options = conv, shapes = "x: batch x in x d x h x w, or without batch; weight: out x in / groups x kd x kh x kw; bias: out; the result: batch x out x d' x h' x w', sizes as conv2d's",
        example = "conv3d(ones(1, 1, 2, 2, 3), ones(1, 1, 2, 2, 2)):flatten()\n--> tensor({8.0, 8.0}, f32 2 cpu)", see = "conv2d, conv_transpose3d, nn.Conv3d" },
    conv_transpose1d = {
        text = "Each element of x puts the kernel, multiplied by it, into the result; where they meet, they are added. It makes images larger, and is no inverse of conv1d.",
        options = transposed, shapes = "x: batch x in x length, or without batch; weight: in x out / groups x k; bias: out; the result: batch x out x (length - 1) stride - 2 padding + dilation (k - 1) + output_padding + 1",
        example = "conv_transpose1d(tensor({{{1.0, 2.0}}}), tensor({{{1.0, 10.0}}}))\n--> tensor({{{ 1.0, 12.0, 20.0}}}, f32 1x1x3 cpu)", see = "conv1d, nn.ConvTranspose1d" },
    conv_transpose2d = {
        text = "Each element of x puts the kernel, multiplied by it, into the result; where they meet, they are added. It makes images larger, and is no inverse of conv2d.",
        options = transposed, shapes = "x: batch x in x h x w, or without batch; weight: in x out / groups x kh x kw; bias: out; the result: batch x out x h' x w', where h' = (h - 1) stride - 2 padding + dilation (kh - 1) + output_padding + 1",
        example = "conv_transpose2d(tensor({{{{1.0, 2.0}}}}), ones(1, 1, 2, 2), {stride = 2})[1][1]\n--> tensor({{1.0, 1.0, 2.0, 2.0},\n-->         {1.0, 1.0, 2.0, 2.0}}, f32 2x4 cpu)", see = "conv2d, interpolate, nn.ConvTranspose2d" },
    conv_transpose3d = {
        text = "As conv_transpose2d, with a dim more.",
        options = transposed, shapes = "x: batch x in x d x h x w, or without batch; weight: in x out / groups x kd x kh x kw; bias: out; the result: batch x out x d' x h' x w', sizes as conv_transpose2d's",
        example = "conv_transpose3d(ones(1, 1, 1, 1, 2), ones(1, 1, 1, 1, 2)):flatten()\n--> tensor({1.0, 2.0, 1.0}, f32 3 cpu)", see = "conv3d, conv_transpose2d, nn.ConvTranspose3d" },
    -- ---- pooling ----
    max_pool1d = {
        text = "Windows that do not fit in at the end are left out unless ceil_mode is true. NaN wins. Floats only.",
        options = max_pool, shapes = "x: batch x channels x length, or without batch; the result, and the indices (i64): with length' = (length + 2 padding - dilation (kernel_size - 1) - 1) // stride + 1",
        example = "local y, at = max_pool1d(tensor({{1.0, 5.0, 2.0, 4.0}}), 2, {return_indices = true}) return at\n--> tensor({{2, 4}}, i64 1x2 cpu)", see = "max_pool2d, adaptive_max_pool1d, nn.MaxPool1d" },
    max_pool2d = {
        text = "kernel_size, stride, padding and dilation are a number or one for each dim. Indices count from 1 through the rows of an image. NaN wins. Floats only.",
        options = max_pool, shapes = "x: batch x channels x h x w, or without batch; the result, and the indices (i64): with h' x w', sizes as max_pool1d's",
        example = "max_pool2d(tensor({{{1.0, 5.0, 0.0}, {2.0, 4.0, 7.0}}}), 2, {stride = 1})\n--> tensor({{{5.0, 7.0}}}, f32 1x1x2 cpu)", see = "avg_pool2d, adaptive_max_pool2d, nn.MaxPool2d" },
    avg_pool1d = {
        text = "Zeros of the padding count as elements unless count_include_pad is false. Floats only.",
        options = avg_pool, shapes = "x: batch x channels x length, or without batch; the result: with length' = (length + 2 padding - kernel_size) // stride + 1",
        example = "avg_pool1d(tensor({{2.0, 4.0}}), 2, {padding = 1})\n--> tensor({{1.0, 2.0}}, f32 1x2 cpu)", see = "avg_pool2d, adaptive_avg_pool1d, nn.AvgPool1d" },
    avg_pool2d = {
        text = "kernel_size, stride and padding are a number or one for each dim. Floats only.",
        options = avg_pool .. "; divisor_override: what sums are divided by in place of the number of elements", shapes = "x: batch x channels x h x w, or without batch; the result: with h' x w', sizes as avg_pool1d's",
        example = "avg_pool2d(tensor({{{1.0, 2.0}, {3.0, 6.0}}}), 2)\n--> tensor({{{3.0}}}, f32 1x1x1 cpu)", see = "max_pool2d, adaptive_avg_pool2d, nn.AvgPool2d" },
    adaptive_avg_pool1d = {
        text = "Output i, from 1, is the mean of the elements from (i - 1) length // n + 1 to i length / n, rounded up: windows may overlap and differ in size by 1. Floats only.",
        shapes = "x: batch x channels x length, or without batch; the result: with output_size in place of length",
        example = "adaptive_avg_pool1d(tensor({{1.0, 2.0, 3.0}}), 2)\n--> tensor({{1.5, 2.5}}, f32 1x2 cpu)", see = "avg_pool1d, adaptive_avg_pool2d, nn.AdaptiveAvgPool1d" },
    adaptive_avg_pool2d = {
        text = "output_size is a number or one for each dim; 1 takes the mean of each whole channel. Floats only.",
        shapes = "x: batch x channels x h x w, or without batch; the result: with output_size in place of h x w",
        example = "adaptive_avg_pool2d(tensor({{{1.0, 2.0}, {3.0, 6.0}}}), {2, 1}):flatten()\n--> tensor({1.5, 4.5}, f32 2 cpu)", see = "avg_pool2d, adaptive_avg_pool1d, nn.AdaptiveAvgPool2d" },
    adaptive_max_pool1d = {
        text = "Windows are those of adaptive_avg_pool1d. Floats only.",
        options = "return_indices: a second result, where each was, counted from 1", shapes = "x: batch x channels x length, or without batch; the result: with output_size in place of length",
        example = "adaptive_max_pool1d(tensor({{1.0, 5.0, 3.0, 2.0}}), 2)\n--> tensor({{5.0, 3.0}}, f32 1x2 cpu)", see = "max_pool1d, adaptive_max_pool2d, nn.AdaptiveMaxPool1d" },
    adaptive_max_pool2d = {
        text = "output_size is a number or one for each dim. Floats only.",
        options = "return_indices: a second result, where each was, counted from 1 through the rows of an image", shapes = "x: batch x channels x h x w, or without batch; the result: with output_size in place of h x w",
        example = "adaptive_max_pool2d(tensor({{{1.0, 5.0}, {2.0, 4.0}}}), {1, 2})\n--> tensor({{{2.0, 5.0}}}, f32 1x1x2 cpu)", see = "max_pool2d, adaptive_max_pool1d, nn.AdaptiveMaxPool2d" },
    interpolate = {
        text = "One of size and scale_factor is given; scale_factor is one number for all dims. 'linear' is for one spatial dim, 'bilinear' for two, 'trilinear' for three; there is no 'bicubic' and no 'area'. Floats, and u8 for the two nearest modes.",
        options = "size: of the result, a number or one for each spatial dim; scale_factor: how much larger, sizes are rounded down; mode: 'nearest', 'nearest-exact' (centres of elements, as pictures are scaled), 'linear', 'bilinear' or 'trilinear'; align_corners: for the linear modes, the first and last elements stay at the ends",
        shapes = "x: batch x channels x 1 to 3 dims; the result: with size in place of those dims",
        example = "interpolate(tensor({{{1.0, 3.0}}}), 4, {mode = \"linear\"})\n--> tensor({{{1.0, 1.5, 2.5, 3.0}}}, f32 1x1x4 cpu)", see = "conv_transpose2d, avg_pool2d, nn.Upsample" },
    -- ---- norms ----
    batch_norm = {
        text = "With training the statistics are those of the batch (the variance divided by n), and the running ones are written: (1 - momentum) of them plus momentum of the batch's (the variance there divided by n - 1). Without, the running ones are used and must be given.",
        options = "training: the batch's statistics rather than the running ones; momentum: the new share of the running statistics; eps: added to the variance",
        shapes = "x: batch x channels x …; all others: channels; the result: x's",
        example = "batch_norm(tensor({{1.0}, {3.0}}), tensor{1.0}, tensor{4.0}, {eps = 0}):flatten()\n--> tensor({0.0, 1.0}, f32 2 cpu)", see = "layer_norm, group_norm, instance_norm, nn.BatchNorm2d" },
    layer_norm = {
        text = "normalized_shape is a number, for the last dim, or a list. The variance is divided by n.",
        options = "eps: added to the variance", shapes = "x: … x normalized_shape; weight, bias: normalized_shape; the result: x's",
        example = "layer_norm(tensor({{1.0, 3.0}, {10.0, 18.0}}), 2, {eps = 0})\n--> tensor({{-1.0,  1.0},\n-->         {-1.0,  1.0}}, f32 2x2 cpu)", see = "rms_norm, group_norm, batch_norm, nn.LayerNorm" },
    group_norm = {
        text = "num_groups must divide the channels; 1 takes all of an image together, as many as channels is instance_norm. The variance is divided by n.",
        options = "eps: added to the variance", shapes = "x: batch x channels x …; weight, bias: channels; the result: x's",
        example = "group_norm(tensor({{1.0, 3.0, 20.0, 28.0}}), 2, {eps = 0})\n--> tensor({{-1.0,  1.0, -1.0,  1.0}}, f32 1x4 cpu)", see = "layer_norm, instance_norm, nn.GroupNorm" },
    instance_norm = {
        text = "The variance is divided by n. Running statistics that are given are written as batch_norm does, with the mean over the images; use_input_stats = false uses them instead.",
        options = "use_input_stats: each image's own statistics rather than the running ones; momentum: the new share of the running statistics; eps: added to the variance",
        shapes = "x: batch x channels x at least one more dim; all others: channels; the result: x's",
        example = "instance_norm(tensor({{{1.0, 3.0}, {20.0, 28.0}}}), {eps = 0})\n--> tensor({{{-1.0,  1.0},\n-->          {-1.0,  1.0}}}, f32 1x2x2 cpu)", see = "group_norm, batch_norm, nn.InstanceNorm2d" },
    rms_norm = {
        text = "As layer_norm without the mean being taken off, and without a bias. normalized_shape is a number, for the last dim, or a list.",
        options = "eps: added to the mean square; if not given 2^-23, of f64 2^-52", shapes = "x: … x normalized_shape; weight: normalized_shape; the result: x's",
        example = "rms_norm(tensor{0.0, 4.0, 0.0, 0.0}, 4, {eps = 0})\n--> tensor({0.0, 2.0, 0.0, 0.0}, f32 4 cpu)", see = "layer_norm, nn.RMSNorm" },
    normalize = {
        text = "dim is 2 if not given, as in PyTorch (whose dim 1 that is), so vectors need {dim = 1}.",
        options = "p: of the norm, math.huge too; dim: along which norms are taken; eps: the least that is divided by", shapes = "x: any; the result has the same",
        example = "normalize(tensor{1.0, 3.0}, {p = 1, dim = 1})\n--> tensor({0.25, 0.75}, f32 2 cpu)", see = "norm, cosine_similarity, layer_norm" },
    -- ---- softmax ----
    softmax = {
        text = "The largest element is taken off first, so exp does not overflow. Elements of -inf get 0; a row of nothing else is NaN. Floats only, or say a dtype.",
        options = "dtype: x is converted to it first", shapes = "x: any; the result has the same",
        example = "zeros(2):softmax(1)\n--> tensor({0.5, 0.5}, f32 2 cpu)", see = "log_softmax, softmin, logsumexp, cross_entropy" },
    log_softmax = {
        text = "x less logsumexp(x): use it, not softmax and log, where a logarithm is wanted. Floats only, or say a dtype.",
        options = "dtype: x is converted to it first", shapes = "x: any; the result has the same",
        example = "log_softmax(tensor{0.0, 1000.0}, 1)\n--> tensor({-1000.0,     0.0}, f32 2 cpu)", see = "softmax, nll_loss, cross_entropy" },
    softmin = {
        text = "The smallest element gets the largest share.", options = "dtype: x is converted to it first", shapes = "x: any; the result has the same",
        example = "softmin(tensor{0.0, 1000.0}, 1)\n--> tensor({1.0, 0.0}, f32 2 cpu)", see = "softmax" },
    -- ---- layers ----
    linear = {
        text = "All have one dtype; integers too.",
        shapes = "x: … x inputs; weight: outputs x inputs, or inputs (then the last dim goes); bias: outputs, or what broadcasts to the result; the result: … x outputs",
        example = "linear(tensor({{1.0, 2.0}}), tensor({{1.0, 1.0}, {0.0, 3.0}}), tensor{10.0, 20.0})\n--> tensor({{13.0, 26.0}}, f32 1x2 cpu)", see = "matmul, addmm, nn.Linear" },
    embedding = {
        text = "Indices count from 1. One that is no row is an error; on a GPU it comes when the host next waits.",
        options = "padding_idx: the row whose gradient is 0, from 1, or from the end with -1; it is read as the others",
        shapes = "index: any, integers; weight: rows x width; the result: index's, then width",
        example = "embedding(tensor{2, 1}, tensor({{0.5, 0.25}, {1.0, 2.0}}))\n--> tensor({{1.00, 2.00},\n-->         {0.50, 0.25}}, f32 2x2 cpu)", see = "index_select, one_hot, nn.Embedding" },
    dropout = {
        text = "training is true if not given: pass false where a model is only used. The same seed drops the same elements on every device. Floats only.",
        options = "p: how likely each is dropped, 0 to 1; training: false gives x's values as they are", shapes = "x: any; the result has the same",
        example = "local y = ones(100):dropout(0.5) return (y:eq(0) | y:eq(2)):all()\n--> tensor(true, bool scalar cpu)", see = "bernoulli, manual_seed, nn.Dropout" },
    scaled_dot_product_attention = {
        text = "is_causal lets query i see keys 1 to i. A query that a bool mask lets see no key gives 0, not NaN. dropout_p works whenever it is above 0; is_causal and attn_mask do not go together.",
        options = "attn_mask: bools, true where a key is seen, or floats that are added to the scores; dropout_p: share of the weights that is dropped; is_causal: no key behind the query's own place is seen; scale: what scores are multiplied by, 1 / sqrt(size) if not given",
        shapes = "query: … x l x size; key: … x s x size; value: … x s x v; attn_mask: broadcasts to … x l x s; the result: … x l x v",
        example = "scaled_dot_product_attention(zeros(2, 1), zeros(2, 1), tensor({{1.0}, {3.0}}), {is_causal = true}):flatten()\n--> tensor({1.0, 2.0}, f32 2 cpu)", see = "softmax, matmul, nn.MultiheadAttention" },
    -- ---- losses: classes ----
    cross_entropy = {
        text = "Takes scores that softmax has not seen, and classes counted from 1 or, of a float dtype, probabilities. The mean is over the weights of the labels that are not ignored; of probabilities, over their number. A label that is no class is an error; on a GPU it comes when the host next waits.",
        options = "weight: of each class, in one dim; ignore_index: a label that takes no part, not with probabilities; reduction: 'mean', 'sum', or 'none' for each loss; label_smoothing: share of each target, 0 to 1, that all classes get alike",
        shapes = "x: batch x classes x …, or classes; target: batch x …, or x's for probabilities; the result is 0-d unless reduction = 'none'",
        example = "cross_entropy(tensor({{0.0, 100.0}, {0.0, 100.0}}), tensor{1, 2})\n--> tensor(50.0, f32 scalar cpu)", see = "log_softmax, nll_loss, binary_cross_entropy_with_logits, nn.CrossEntropyLoss" },
    nll_loss = {
        text = "cross_entropy of what log_softmax gives. Classes count from 1. The mean is the sum over the weights of the labels that are not ignored: NaN where all are. A label that is no class is an error; on a GPU it comes when the host next waits.",
        options = "weight: of each class, in one dim; ignore_index: a label that takes no part; reduction: 'mean', 'sum', or 'none' for each loss",
        shapes = "x: batch x classes x …, or classes; target: batch x …, integers; weight: classes; the result is 0-d unless reduction = 'none'",
        example = "nll_loss(tensor({{-1.0, -2.0}, {-3.0, -4.0}}), tensor{1, 2}, tensor{1.0, 3.0})\n--> tensor(3.25, f32 scalar cpu)", see = "cross_entropy, log_softmax, nn.NLLLoss" },
    binary_cross_entropy = {
        text = "x are probabilities, 0 to 1 (others are an error): with sigmoid before it binary_cross_entropy_with_logits is exact and faster. Since logarithms end at -100, so do losses at 100.",
        options = "weight: that losses are multiplied by, broadcast; " .. reduction, shapes = "x, target: one shape; the result is 0-d, with reduction = 'none' in that shape",
        example = "binary_cross_entropy(tensor{0.0, 0.5}, ones(2), {reduction = \"none\"})\n--> tensor({100.0000,   0.6931}, f32 2 cpu)", see = "binary_cross_entropy_with_logits, bce, nn.BCELoss" },
    binary_cross_entropy_with_logits = {
        text = "x are scores that sigmoid has not seen. The mean is over all elements, whatever their weights.",
        options = "weight: that losses are multiplied by, broadcast; " .. reduction .. "; pos_weight: how often the part of target 1 counts, of each class or broadcast",
        shapes = "x, target: one shape; the result is 0-d, with reduction = 'none' in that shape",
        example = "binary_cross_entropy_with_logits(tensor{-100.0, 100.0}, tensor{1.0, 0.0}, {pos_weight = tensor{3.0, 3.0}, reduction = \"none\"})\n--> tensor({300.0, 100.0}, f32 2 cpu)", see = "binary_cross_entropy, cross_entropy, nn.BCEWithLogitsLoss" },
    bce_with_logits = {
        text = "The losses of binary_cross_entropy_with_logits one by one: a are scores, b targets, c counts where b is 1. Floats only.",
        example = "bce_with_logits(tensor{-100.0, 100.0}, tensor{1.0, 0.0}, 3)\n--> tensor({300.0, 100.0}, f32 2 cpu)", see = "binary_cross_entropy_with_logits, bce" },
    kl_div = {
        text = "x holds logarithms, target probabilities; where target is 0 the share is 0. 'mean' is over all elements, as in PyTorch: the divergence itself is 'batchmean'.",
        options = "reduction: 'batchmean' (the sum over the size of dim 1), 'mean', 'sum' or 'none'; log_target: target holds logarithms too",
        shapes = pairs_shape, example = "kl_div(tensor({{-2.0, -3.0}}), tensor({{1.0, 0.0}}), {reduction = \"batchmean\"})\n--> tensor(2.0, f32 scalar cpu)", see = "kl_term, log_softmax, cross_entropy, nn.KLDivLoss" },
    -- ---- losses: differences ----
    mse_loss = {
        text = "Without a warning where shapes broadcast: compare them first.", options = reduction, shapes = pairs_shape,
        example = "mse_loss(tensor{1.0, 2.0}, tensor{3.0, 2.0})\n--> tensor(2.0, f32 scalar cpu)", see = "squared_error, huber_loss, l1_loss, nn.MSELoss" },
    l1_loss = {
        text = "Where both are equal the gradient is 0.", options = reduction, shapes = pairs_shape,
        example = "l1_loss(tensor{1.0, 2.0}, tensor{4.0, 2.0})\n--> tensor(1.5, f32 scalar cpu)", see = "absolute_error, smooth_l1_loss, mse_loss, nn.L1Loss" },
    smooth_l1_loss = {
        text = "huber_loss over beta; beta = 0 is l1_loss.", options = reduction .. "; beta: the difference from which on it is a line, >= 0", shapes = pairs_shape,
        example = "smooth_l1_loss(zeros(2), tensor{0.5, 3.0}, {reduction = \"none\"})\n--> tensor({0.125, 2.500}, f32 2 cpu)", see = "huber_loss, smooth_l1, l1_loss" },
    huber_loss = {
        text = "delta times smooth_l1_loss with beta = delta.", options = reduction .. "; delta: the difference from which on it is a line, > 0", shapes = pairs_shape,
        example = "huber_loss(zeros(2), tensor{1.0, 3.0}, {delta = 2, reduction = \"none\"})\n--> tensor({0.5, 4.0}, f32 2 cpu)", see = "smooth_l1_loss, huber, mse_loss" },
    smooth_l1 = {
        text = "The losses of smooth_l1_loss one by one; c is beta, a number or a tensor. Floats only.",
        example = "smooth_l1(zeros(2), tensor{0.5, 3.0}, 1)\n--> tensor({0.125, 2.500}, f32 2 cpu)", see = "smooth_l1_loss, huber" },
    huber = {
        text = "The losses of huber_loss one by one; c is delta, a number or a tensor. Floats only.",
        example = "huber(zeros(2), tensor{1.0, 3.0}, 2)\n--> tensor({0.5, 4.0}, f32 2 cpu)", see = "huber_loss, smooth_l1" },
    -- ---- losses: distributions ----
    poisson_nll_loss = {
        text = "The part that depends on target alone is left out unless full is true.",
        options = "log_input: x is the mean's logarithm; full: with Stirling's approximation of log(target!) where target is above 1; eps: added to x before its logarithm is taken, where log_input is false; " .. reduction,
        shapes = pairs_shape, example = "poisson_nll_loss(tensor{0.0}, tensor{2.0})\n--> tensor(1.0, f32 scalar cpu)", see = "gaussian_nll_loss, nll_loss" },
    gaussian_nll_loss = {
        text = "(log(var) + (x - target)^2 / var) / 2. var broadcasts as any operand: of one variance for each row it is n x 1.",
        options = "full: with log(2 pi) / 2; eps: the least that var counts as; " .. reduction,
        shapes = "x, target, var: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in their shape",
        example = "gaussian_nll_loss(tensor{1.0}, tensor{3.0}, ones(1))\n--> tensor(2.0, f32 scalar cpu)", see = "poisson_nll_loss, mse_loss" },
    -- ---- losses: sides and distances ----
    soft_margin_loss = {
        text = "Of a large product it is the product itself, so nothing overflows.", options = reduction, shapes = pairs_shape,
        example = "soft_margin_loss(tensor{-50.0}, tensor{1.0})\n--> tensor(50.0, f32 scalar cpu)", see = "softplus, binary_cross_entropy_with_logits, hinge_embedding_loss" },
    hinge_embedding_loss = {
        text = "x is a distance: small where two are alike (target 1), beyond the margin where they are not.", options = "margin: distance from which on nothing is lost; " .. reduction, shapes = pairs_shape,
        example = "hinge_embedding_loss(tensor{0.5, 0.25}, tensor{1, -1}, {reduction = \"none\"})\n--> tensor({0.50, 0.75}, f32 2 cpu)", see = "cosine_embedding_loss, pairwise_distance" },
    margin_ranking_loss = {
        text = "All three operands broadcast.", options = "margin: by how much the right one must be above; " .. reduction,
        shapes = "x1, x2, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in their shape",
        example = "margin_ranking_loss(tensor{1.0, 2.0}, tensor{2.0, 0.0}, tensor{1, 1})\n--> tensor(0.5, f32 scalar cpu)", see = "triplet_margin_loss, hinge_embedding_loss" },
    cosine_embedding_loss = {
        text = "The cosine is along the last dim.", options = "margin: cosine up to which nothing is lost where target is -1; " .. reduction,
        shapes = "x1, x2: batch x size, or size; target: batch, or 0-d; the result is 0-d, with reduction = 'none' target's",
        example = "cosine_embedding_loss(tensor({{1.0, 0.0}, {1.0, 0.0}}), tensor({{2.0, 0.0}, {0.0, 5.0}}), tensor{1, 1}, {reduction = \"none\"})\n--> tensor({0.0, 1.0}, f32 2 cpu)", see = "cosine_similarity, triplet_margin_loss, hinge_embedding_loss" },
    triplet_margin_loss = {
        text = "Distances are those of pairwise_distance.",
        options = "margin: by how much negative must be farther; p: of the norm; eps: added to each difference; swap: negative's distance to positive counts where it is below that to anchor; " .. reduction,
        shapes = "anchor, positive, negative: … x size; the result is 0-d, with reduction = 'none' without the last dim",
        example = "triplet_margin_loss(tensor({{0.0, 0.0}}), tensor({{3.0, 4.0}}), tensor({{0.0, 2.0}}), {eps = 0})\n--> tensor(4.0, f32 scalar cpu)", see = "pairwise_distance, margin_ranking_loss, cosine_embedding_loss" },
    cosine_similarity = {
        text = "dim is 2 if not given, as in PyTorch (whose dim 1 that is), so vectors need 1. x1 and x2 broadcast.",
        options = "dim: along which; eps: the least that a norm counts as", shapes = "x1, x2: one shape, or they broadcast; the result is without dim",
        example = "cosine_similarity(tensor({{2.0, 0.0}, {0.0, 3.0}}), tensor({{5.0, 0.0}, {4.0, 0.0}}))\n--> tensor({1.0, 0.0}, f32 2 cpu)", see = "cosine_embedding_loss, normalize, pairwise_distance" },
    pairwise_distance = {
        text = "Row by row; all rows with all are cdist's. eps keeps the root away from 0, and shows in the digits: 0 leaves it out.",
        options = "p: of the norm, math.huge too; eps: added to each difference; keepdim: keeps the last dim with size 1", shapes = "x1, x2: … x size, broadcast; the result is without the last dim",
        example = "pairwise_distance(tensor({{0.0, 0.0}}), tensor({{3.0, 4.0}}), {eps = 0})\n--> tensor({5.0}, f32 1 cpu)", see = "cdist, cosine_similarity, norm" },
    -- ---- recurrent layers ----
    lstm = {
        text = "The gates stand in the weights in the order i, f, g, o, as in PyTorch: c = f c + i g, h = o tanh(c). weights is a flat list, layer by layer, of each first the forward direction. nn.LSTM keeps them.",
        options = layers, shapes = layers_shape("4 ", "h_n, c_n and both of hx"),
        example = "local _, h, c = lstm(zeros(2, 1), {zeros(1, 1), tensor({{4.0}})}, {zeros(4, 1), zeros(4, 1)}, {has_biases = false}) return c\n--> tensor({{1.0}}, f32 1x1 cpu)", see = "lstm_cell, gru, rnn, nn.LSTM" },
    gru = {
        text = "The gates stand in the weights in the order r, z, n, as in PyTorch: n = tanh(W_n x + b_in + r (U_n h + b_hn)), h = (1 - z) n + z h. weights is a flat list, layer by layer, of each first the forward direction. nn.GRU keeps them.",
        options = layers, shapes = layers_shape("3 ", "h_n and hx"),
        example = "(gru(zeros(2, 1), tensor({{4.0}}), {zeros(3, 1), zeros(3, 1)}, {has_biases = false})):flatten()\n--> tensor({2.0, 1.0}, f32 2 cpu)", see = "gru_cell, lstm, rnn, nn.GRU" },
    rnn = {
        text = "h = tanh(w_ih x + b_ih + w_hh h + b_hh) for each step. weights is a flat list, layer by layer, of each first the forward direction. nn.RNN keeps them.",
        options = layers .. "; nonlinearity: 'tanh' or 'relu'", shapes = layers_shape("", "h_n and hx"),
        example = "(rnn(tensor({{1.0}, {2.0}, {3.0}}), nil, {ones(1, 1), ones(1, 1)}, {has_biases = false, nonlinearity = \"relu\"})):flatten()\n--> tensor({1.0, 3.0, 6.0}, f32 3 cpu)", see = "rnn_cell, lstm, gru, nn.RNN" },
    lstm_cell = {
        text = "For loops of your own over time; whole sequences are faster with lstm. b_ih and b_hh go together. Gates: i, f, g, o.",
        shapes = "x: batch x features, or features; h, c: batch x hidden, or hidden; w_ih: 4 hidden x features; w_hh: 4 hidden x hidden; b_ih, b_hh: 4 hidden",
        example = "local h, c = lstm_cell(zeros(1, 1), {zeros(1, 1), tensor({{2.0}})}, zeros(4, 1), zeros(4, 1)) return c\n--> tensor({{1.0}}, f32 1x1 cpu)", see = "lstm, gru_cell, nn.LSTMCell" },
    gru_cell = {
        text = "For loops of your own over time; whole sequences are faster with gru. b_ih and b_hh go together. Gates: r, z, n.",
        shapes = "x: batch x features, or features; hx, h: batch x hidden, or hidden; w_ih: 3 hidden x features; w_hh: 3 hidden x hidden; b_ih, b_hh: 3 hidden",
        example = "gru_cell(zeros(1, 1), tensor({{4.0}}), zeros(3, 1), zeros(3, 1))\n--> tensor({{2.0}}, f32 1x1 cpu)", see = "gru, lstm_cell, nn.GRUCell" },
    rnn_cell = {
        text = "For loops of your own over time; whole sequences are faster with rnn. b_ih and b_hh go together.",
        options = "nonlinearity: 'tanh' or 'relu'", shapes = "x: batch x features, or features; hx, h: batch x hidden, or hidden; w_ih: hidden x features; w_hh: hidden x hidden; b_ih, b_hh: hidden",
        example = "rnn_cell(tensor({{2.0}}), tensor({{3.0}}), ones(1, 1), ones(1, 1), {nonlinearity = \"relu\"})\n--> tensor({{5.0}}, f32 1x1 cpu)", see = "rnn, gru_cell, nn.RNNCell" },
    -- ---- elementwise, with parameters ----
    clamp = {
        text = "One limit may be left out: {max = 5}. NaN stays, and a limit that is NaN gives NaN. A float limit makes f32 of integers. Tensors as limits are broadcast.",
        options = "min: the least that is left; max: the largest", example = "tensor{-1, 2, 7}:clamp(0, 5)\n--> tensor({0, 2, 5}, i64 3 cpu)", see = "clamp_min, clamp_max, hardtanh, relu, relu6" },
    hardtanh = {
        text = "clamp as a layer: -1 and 1 if no limits are given, and no gradient at the limits themselves (clamp has one).",
        options = "min: the least that is left; max: the largest", example = "tensor{-2.0, 0.5, 3.0}:hardtanh()\n--> tensor({-1.0,  0.5,  1.0}, f32 3 cpu)", see = "clamp, tanh, relu6" },
    threshold = {
        text = "value stands also where x is the threshold itself. NaN stays.", example = "tensor{1, 2, 3}:threshold(1, -5)\n--> tensor({-5,  2,  3}, i64 3 cpu)", see = "relu, clamp, where" },
    leaky_relu = {
        text = "slope is PyTorch's negative_slope. Floats only.", example = "tensor{-2.0, 4.0}:leaky_relu(0.25)\n--> tensor({-0.5,  4.0}, f32 2 cpu)", see = "relu, elu, nn.LeakyReLU" },
    elu = {
        text = "It goes down to -alpha. Floats only.", example = "tensor{-1000.0, 2.0}:elu(3)\n--> tensor({-3.0,  2.0}, f32 2 cpu)", see = "celu, selu, leaky_relu, nn.ELU" },
    celu = {
        text = "elu whose slope has no step at 0, whatever alpha is. Floats only.", example = "tensor{-1000.0, 2.0}:celu(3)\n--> tensor({-3.0,  2.0}, f32 2 cpu)", see = "elu, selu" },
    softplus = {
        text = "relu without its corner; the larger beta, the closer to it. Floats only.",
        options = "beta: how close to relu; threshold: beta * x from which on x itself is taken", example = "tensor{0.0, 30.0}:softplus()\n--> tensor({ 0.6931, 30.0000}, f32 2 cpu)", see = "relu, sigmoid, nn.Softplus" },
    logit = {
        text = "Without eps 0 gives -inf, 1 gives inf, and what is outside 0 to 1 NaN. Integers give f32.",
        example = "tensor{0.0, 0.5, 1.0}:logit()\n--> tensor({-inf,  0.0,  inf}, f32 3 cpu)", see = "sigmoid, log, clamp" },
    nan_to_num = {
        text = "Integers and bools stay as they are. Where a number was put in, the gradient is 0.",
        options = "nan: for NaN; posinf: for inf; neginf: for -inf", example = "tensor{0/0, math.huge, 2.0}:nan_to_num{posinf = 9}\n--> tensor({0.0, 9.0, 2.0}, f32 3 cpu)", see = "isnan, isfinite, nansum, where" },
    polygamma = {
        text = "n is from 0, which is digamma itself. Integers give f32.", shapes = "x: any; the result has the same",
        example = "polygamma(1, tensor{1.0})\n--> tensor({1.6449}, f32 1 cpu)", see = "digamma, lgamma" },
    round = {
        text = "There is no number of decimals: (x * 100):round() / 100. Integers stay as they are. The gradient is 0.",
        example = "tensor{0.5, 1.5, -2.5, 2.75}:round()\n--> tensor({ 0.0,  2.0, -2.0,  3.0}, f32 4 cpu)", see = "floor, ceil, trunc, frac" },
    gelu = {
        text = "Floats only.", options = "approximate: 'none', or 'tanh' for gelu_tanh's formula",
        example = "gelu(tensor{0.0, 10.0})\n--> tensor({ 0.0, 10.0}, f32 2 cpu)", see = "gelu_tanh, silu, mish, nn.GELU" },
    add = {
        text = "With {alpha = n} a + n b. add_ writes a.", shapes = "a, b: broadcast; the result has their common shape",
        example = "tensor{1.0, 2.0, 3.0}:add(tensor{10.0, 20.0, 30.0}, {alpha = 2})\n--> tensor({21.0, 42.0, 63.0}, f32 3 cpu)", see = "sub, addcmul, lerp" },
    sub = {
        text = "With {alpha = n} a - n b. Not of bool, as in PyTorch: use logical_not or logical_xor. sub_ writes a.", shapes = "a, b: broadcast; the result has their common shape",
        example = "tensor{1.0, 2.0, 3.0}:sub(2)\n--> tensor({-1.0,  0.0,  1.0}, f32 3 cpu)", see = "add, logical_xor, diff" },
    addcmul = {
        text = "One pass instead of two. Integers too, with an integer value. addcmul_ writes a.", shapes = "operands, tensors or numbers, broadcast; the result has their common shape",
        example = "addcmul(tensor{1, 2}, tensor{3, 4}, tensor{5, 6}, {value = 2})\n--> tensor({31, 50}, i64 2 cpu)", see = "addcdiv, lerp, addmm" },
    addcdiv = {
        text = "One pass instead of two. Floats only. addcdiv_ writes a.", shapes = "operands, tensors or numbers, broadcast; the result has their common shape",
        example = "addcdiv(tensor{1.0, 2.0}, tensor{4.0, 9.0}, tensor{2.0, 3.0}, {value = -1})\n--> tensor({-1.0, -1.0}, f32 2 cpu)", see = "addcmul, div" },
    lerp = {
        text = "c, the weight, is a number or a tensor; outside 0 to 1 it goes on beyond a and b. Floats only. lerp_ writes a.",
        example = "lerp(tensor{0.0, 10.0}, tensor{4.0, 20.0}, 0.25)\n--> tensor({ 1.0, 12.5}, f32 2 cpu)", see = "addcmul, where, clamp" },
}
