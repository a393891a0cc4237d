--!plain
-- Help texts of layers beside the common ones, of containers and of nn.utils; their form:
-- init.lua.
return {
    ["nn.AdaptiveAvgPool3d"] = {
        shapes = "x: [n x] channels x d x h x w; the result: [n x] channels x output_size",
        example = "table.concat(nn.AdaptiveAvgPool3d(2)(ones(1, 3, 4, 4, 4)).shape, \z
            \"x\")\n--> 1x3x2x2x2" },
    ["nn.AdaptiveMaxPool3d"] = {
        shapes = "x: [n x] channels x d x h x w; the result: [n x] channels x output_size",
        example = "table.concat(nn.AdaptiveMaxPool3d(2)(ones(1, 3, 4, 4, 4)).shape, \z
            \"x\")\n--> 1x3x2x2x2" },
    ["nn.AvgPool3d"] = {
        shapes = "x: [n x] channels x d x h x w; the result: [n x] channels x the windows' \z
            number in each dim",
        example = "table.concat(nn.AvgPool3d(2)(ones(1, 3, 4, 4, 4)).shape, \"x\")\n--> \z
            1x3x2x2x2" },
    ["nn.MaxPool3d"] = {
        shapes = "x: [n x] channels x d x h x w; the result: [n x] channels x the windows' \z
            number in each dim",
        example = "table.concat(nn.MaxPool3d(2)(ones(1, 3, 4, 4, 4)).shape, \"x\")\n--> \z
            1x3x2x2x2" },
    ["nn.AlphaDropout"] = {
        shapes = "x: any; the result has the same",
        example = "table.concat(nn.AlphaDropout()(ones(2, 3)).shape, \"x\")\n--> 2x3" },
    ["nn.FeatureAlphaDropout"] = {
        shapes = "x: n x channels x …; the result has the same",
        example = "table.concat(nn.FeatureAlphaDropout()(ones(2, 3, 4)).shape, \"x\")\n--> \z
            2x3x4" },
    ["nn.Bilinear"] = {
        shapes = "x1: … x in1_features; x2: … x in2_features; the result: … x out_features",
        example = "table.concat(nn.Bilinear(2, 3, 4)(ones(5, 2), ones(5, 3)).shape, \z
            \"x\")\n--> 5x4",
        see = "bilinear" },
    ["nn.CTCLoss"] = {
        shapes = "log_probs: time x n x classes; targets: n x labels, or all in one line; \z
            lengths: n; the result is a scalar, or n with reduction 'none'",
        example = "nn.CTCLoss()(zeros(2, 1, 2) - math.log(2), tensor({{2}}), {2}, {1})\n--> \z
            tensor(0.2877, f32 scalar cpu)",
        see = "ctc_loss" },
    ["nn.ChannelShuffle"] = {
        shapes = "x: n x channels x …; the result has the same",
        example = "nn.ChannelShuffle(2)(arange(1, 4):view(1, 4))\n--> tensor({{1, 3, 2, 4}}, \z
            i64 1x4 cpu)" },
    ["nn.CosineSimilarity"] = {
        shapes = "x1, x2: broadcast to a common shape; the result has it without dim",
        example = "nn.CosineSimilarity()(ones(2, 3), ones(2, 3))\n--> tensor({1.0, 1.0}, f32 \z
            2 cpu)",
        see = "cosine_similarity" },
    ["nn.PairwiseDistance"] = {
        shapes = "x1, x2: … x d; the result: …",
        example = "nn.PairwiseDistance()(zeros(1, 2), tensor({{3.0, 4.0}}))\n--> \z
            tensor({5.0}, f32 1 cpu)",
        see = "pairwise_distance" },
    ["nn.EmbeddingBag"] = {
        shapes = "input: n x indices, or a line with offsets, n; the result: n x embedding_dim",
        example = "table.concat(nn.EmbeddingBag(10, 3)(tensor({{1, 10}})).shape, \"x\")\n--> \z
            1x3",
        see = "embedding_bag" },
    ["nn.Fold"] = {
        shapes = "x: [n x] channels times the kernel's elements x windows; the result: [n x] \z
            channels x output_size",
        example = "table.concat(nn.Fold({2, 3}, 2)(ones(1, 4, 2)).shape, \"x\")\n--> 1x1x2x3",
        see = "fold, nn.Unfold" },
    ["nn.Unfold"] = {
        shapes = "x: [n x] channels x h x w; the result: [n x] channels times the kernel's \z
            elements x windows",
        example = "table.concat(nn.Unfold(2)(ones(1, 3, 4, 5)).shape, \"x\")\n--> 1x12x12",
        see = "fold, nn.Fold" },
    ["nn.LocalResponseNorm"] = {
        shapes = "x: n x channels x …; the result has the same",
        example = "table.concat(nn.LocalResponseNorm(3)(ones(2, 4, 5)).shape, \"x\")\n--> \z
            2x4x5",
        see = "local_response_norm" },
    ["nn.ModuleDict"] = {
        text = "dict.name or dict[\"name\"] is a module; dict:keys(), dict:values(), and for \z
            name, module in dict:items() do … end go through them in order, dict:update{…} \z
            adds some, dict:pop(name) takes one out.",
        example = "#nn.ModuleDict{relu = nn.ReLU(), tanh = nn.Tanh()}\n--> 2",
        see = "nn.ModuleList, nn.ParameterDict" },
    ["nn.ParameterDict"] = {
        text = "dict.name is a parameter; keys, values, items, update and pop as of \z
            nn.ModuleDict.",
        example = "#nn.ParameterDict{w = ones(2), b = zeros(1)}\n--> 2",
        see = "nn.ParameterList, nn.ModuleDict" },
    ["nn.ParameterList"] = {
        example = "#nn.ParameterList{ones(2), zeros(1)}\n--> 2",
        see = "nn.ParameterDict, nn.ModuleList" },
    ["nn.MultiLabelMarginLoss"] = {
        shapes = "x, target: n x classes; the result is a scalar, or n with reduction 'none'",
        example = "nn.MultiLabelMarginLoss()(tensor{0.0, 1.0}, tensor{1, 0})\n--> tensor(1.0, \z
            f32 scalar cpu)",
        see = "multilabel_margin_loss" },
    ["nn.MultiLabelSoftMarginLoss"] = {
        shapes = "x, target: n x classes; the result is a scalar, or n with reduction 'none'",
        example = "nn.MultiLabelSoftMarginLoss()(zeros(2), ones(2))\n--> tensor(0.6931, f32 \z
            scalar cpu)",
        see = "multilabel_soft_margin_loss" },
    ["nn.MultiMarginLoss"] = {
        shapes = "x: n x classes; target: n, classes from 1; the result is a scalar, or n \z
            with reduction 'none'",
        example = "nn.MultiMarginLoss()(tensor({{0.0, 1.0}}), tensor{1})\n--> tensor(1.0, f32 \z
            scalar cpu)",
        see = "multi_margin_loss" },
    ["nn.PixelShuffle"] = {
        shapes = "x: … x channels x h x w; the result: … x channels / r ^ 2 x h r x w r",
        example = "table.concat(nn.PixelShuffle(2)(ones(1, 4, 2, 3)).shape, \"x\")\n--> \z
            1x1x4x6",
        see = "pixel_shuffle" },
    ["nn.PixelUnshuffle"] = {
        shapes = "x: … x channels x h x w; the result: … x channels r ^ 2 x h / r x w / r",
        example = "table.concat(nn.PixelUnshuffle(2)(ones(1, 1, 4, 6)).shape, \"x\")\n--> \z
            1x4x2x3",
        see = "pixel_unshuffle" },
    ["nn.Softmax2d"] = {
        shapes = "x: [n x] channels x h x w; the result has the same",
        example = "nn.Softmax2d()(zeros(2, 1, 1)):view(2)\n--> tensor({0.5, 0.5}, f32 2 cpu)" },
    ["nn.TransformerDecoder"] = {
        shapes = "tgt: l x n x d_model, or n x l x d_model with batch_first; memory: the same \z
            with a length of its own; masks: l x l, l x length of memory; those of keys: n x \z
            length; the result: tgt's",
        example = "table.concat(nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), \z
            2)(ones(3, 1, 8), ones(5, 1, 8)).shape, \"x\")\n--> 3x1x8",
        see = "nn.TransformerDecoderLayer, nn.Transformer" },
    ["nn.TransformerDecoderLayer"] = {
        shapes = "tgt: l x n x d_model, or n x l x d_model with batch_first; memory: the same \z
            with a length of its own; masks: l x l, l x length of memory; those of keys: n x \z
            length; the result: tgt's",
        example = "table.concat(nn.TransformerDecoderLayer(8, 2, 16)(ones(3, 1, 8), ones(5, \z
            1, 8)).shape, \"x\")\n--> 3x1x8",
        see = "nn.TransformerEncoderLayer, nn.Transformer" },
    ["nn.Transformer"] = {
        text = "nn.Transformer.generate_square_subsequent_mask(n) is a mask for tgt, in which \z
            each place sees itself and those before.",
        shapes = "src, tgt: l x n x d_model, or n x l x d_model with batch_first, each with \z
            its own l; the result: tgt's",
        example = "table.concat(nn.Transformer(8, 2, 1, 1, 16)(ones(5, 1, 8), ones(3, 1, \z
            8)).shape, \"x\")\n--> 3x1x8",
        see = "nn.TransformerEncoder, nn.TransformerDecoder" },
    ["nn.UpsamplingBilinear2d"] = {
        shapes = "x: n x channels x h x w; the result: n x channels x size",
        example = "table.concat(nn.UpsamplingBilinear2d({4, 6})(ones(1, 3, 2, 3)).shape, \z
            \"x\")\n--> 1x3x4x6",
        see = "interpolate, nn.Upsample" },
    ["nn.UpsamplingNearest2d"] = {
        shapes = "x: n x channels x h x w; the result: n x channels x size",
        example = "table.concat(nn.UpsamplingNearest2d{scale_factor = 2}(ones(1, 3, 2, \z
            3)).shape, \"x\")\n--> 1x3x4x6",
        see = "interpolate, nn.Upsample" },
    ["nn.ZeroPad1d"] = {
        shapes = "x: [n x] channels x l; the result: larger by padding on each side",
        example = "table.concat(nn.ZeroPad1d(1)(ones(1, 2, 4)).shape, \"x\")\n--> 1x2x6",
        see = "pad" },
    ["nn.ZeroPad2d"] = {
        shapes = "x: [n x] channels x h x w; the result: larger by padding on each side",
        example = "table.concat(nn.ZeroPad2d(1)(ones(1, 2, 4, 4)).shape, \"x\")\n--> 1x2x6x6",
        see = "pad" },
    ["nn.ZeroPad3d"] = {
        shapes = "x: [n x] channels x d x h x w; the result: larger by padding on each side",
        example = "table.concat(nn.ZeroPad3d(1)(ones(1, 2, 4, 4, 4)).shape, \"x\")\n--> \z
            1x2x6x6x6",
        see = "pad" },
    ["nn.ConstantPad1d"] = {
        shapes = "x: [n x] channels x l; the result: larger by padding on each side",
        example = "table.concat(nn.ConstantPad1d(1, 5)(ones(1, 2, 4)).shape, \"x\")\n--> 1x2x6",
        see = "pad" },
    ["nn.ConstantPad2d"] = {
        shapes = "x: [n x] channels x h x w; the result: larger by padding on each side",
        example = "table.concat(nn.ConstantPad2d(1, 5)(ones(1, 2, 4, 4)).shape, \"x\")\n--> \z
            1x2x6x6",
        see = "pad" },
    ["nn.ConstantPad3d"] = {
        shapes = "x: [n x] channels x d x h x w; the result: larger by padding on each side",
        example = "table.concat(nn.ConstantPad3d(1, 5)(ones(1, 2, 4, 4, 4)).shape, \z
            \"x\")\n--> 1x2x6x6x6",
        see = "pad" },
    ["nn.ReflectionPad1d"] = {
        shapes = "x: [n x] channels x l; the result: larger by padding on each side",
        example = "table.concat(nn.ReflectionPad1d(1)(ones(1, 2, 4)).shape, \"x\")\n--> 1x2x6",
        see = "pad" },
    ["nn.ReflectionPad2d"] = {
        shapes = "x: [n x] channels x h x w; the result: larger by padding on each side",
        example = "table.concat(nn.ReflectionPad2d(1)(ones(1, 2, 4, 4)).shape, \"x\")\n--> \z
            1x2x6x6",
        see = "pad" },
    ["nn.ReflectionPad3d"] = {
        shapes = "x: [n x] channels x d x h x w; the result: larger by padding on each side",
        example = "table.concat(nn.ReflectionPad3d(1)(ones(1, 2, 4, 4, 4)).shape, \"x\")\n--> \z
            1x2x6x6x6",
        see = "pad" },
    ["nn.ReplicationPad1d"] = {
        shapes = "x: [n x] channels x l; the result: larger by padding on each side",
        example = "table.concat(nn.ReplicationPad1d(1)(ones(1, 2, 4)).shape, \"x\")\n--> 1x2x6",
        see = "pad" },
    ["nn.ReplicationPad2d"] = {
        shapes = "x: [n x] channels x h x w; the result: larger by padding on each side",
        example = "table.concat(nn.ReplicationPad2d(1)(ones(1, 2, 4, 4)).shape, \"x\")\n--> \z
            1x2x6x6",
        see = "pad" },
    ["nn.ReplicationPad3d"] = {
        shapes = "x: [n x] channels x d x h x w; the result: larger by padding on each side",
        example = "table.concat(nn.ReplicationPad3d(1)(ones(1, 2, 4, 4, 4)).shape, \z
            \"x\")\n--> 1x2x6x6x6",
        see = "pad" },
    ["nn.CircularPad1d"] = {
        shapes = "x: [n x] channels x l; the result: larger by padding on each side",
        example = "table.concat(nn.CircularPad1d(1)(ones(1, 2, 4)).shape, \"x\")\n--> 1x2x6",
        see = "pad" },
    ["nn.CircularPad2d"] = {
        shapes = "x: [n x] channels x h x w; the result: larger by padding on each side",
        example = "table.concat(nn.CircularPad2d(1)(ones(1, 2, 4, 4)).shape, \"x\")\n--> \z
            1x2x6x6",
        see = "pad" },
    ["nn.CircularPad3d"] = {
        shapes = "x: [n x] channels x d x h x w; the result: larger by padding on each side",
        example = "table.concat(nn.CircularPad3d(1)(ones(1, 2, 4, 4, 4)).shape, \"x\")\n--> \z
            1x2x6x6x6",
        see = "pad" },
    ["nn.utils"] = {
        text = "Clipping of gradients by PyTorch's names, as optim has it; parameters as one \z
            vector; weight_norm and spectral_norm.",
        see = "optim.clip_grad_norm_, nn.utils.rnn" },
    ["nn.utils.rnn"] = {
        text = "Sequences of different lengths.",
        see = "nn.utils.rnn.pad_sequence" },
    ["nn.utils.rnn.pad_sequence"] = {
        options = "padding_value: what fills up; padding_side: 'right' or 'left'",
        shapes = "sequences: l x …, each with its own l; the result: longest l x n x …, or n \z
            x l x … with batch_first",
        example = "nn.utils.rnn.pad_sequence({tensor{1, 2}, tensor{3}}, {batch_first = \z
            true})\n--> tensor({{1, 2},\n-->         {3, 0}}, i64 2x2 cpu)",
        see = "stack, pad" },
    ["nn.utils.parameters_to_vector"] = {
        example = "nn.utils.parameters_to_vector{ones(2), zeros(1)}\n--> tensor({1.0, 1.0, \z
            0.0}, f32 3 cpu)",
        see = "nn.utils.vector_to_parameters" },
    ["nn.utils.vector_to_parameters"] = {
        example = "local w = zeros(2) nn.utils.vector_to_parameters(tensor{1.0, 2.0}, {w}) \z
            return w\n--> tensor({1.0, 2.0}, f32 2 cpu)",
        see = "nn.utils.parameters_to_vector" },
    ["nn.utils.weight_norm"] = {
        options = "module: whose weight; name: of the parameter; dim: one length for each \z
            slice along it",
        example = "local m = nn.utils.weight_norm(nn.Linear(2, 3)) return \z
            m.weight_g.shape[1]\n--> 3",
        see = "nn.utils.spectral_norm, nn.utils.remove_weight_norm" },
    ["nn.utils.remove_weight_norm"] = {
        options = "module: whose weight; name: of the parameter",
        example = "nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, \z
            3))).weight.is_leaf\n--> true",
        see = "nn.utils.weight_norm" },
    ["nn.utils.spectral_norm"] = {
        options = "module: whose weight; name: of the parameter; n_power_iterations: steps at \z
            each forward; dim: the rows of the matrix, 2 for ConvTranspose, else 1",
        example = "nn.utils.spectral_norm(nn.Linear(2, 3)).weight_u.shape[1]\n--> 3",
        see = "nn.utils.weight_norm, nn.utils.remove_spectral_norm" },
    ["nn.utils.remove_spectral_norm"] = {
        options = "module: whose weight; name: of the parameter",
        example = "nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, \z
            3))).weight.is_leaf\n--> true",
        see = "nn.utils.spectral_norm" },
    ["nn.any.deepcopy"] = {
        text = "A copy of the model and of all that it holds, as copy.deepcopy makes in \z
            Python; make an optimizer for its parameters afterwards." },
    ["nn.any.keys"] = {
        text = "The names of its entries, in order, as a list." },
    ["nn.any.values"] = {
        text = "Its entries, in order, as a list." },
    ["nn.any.items"] = {
        text = "for name, value in dict:items() do … end." },
    ["nn.any.update"] = {
        text = "Adds the entries of a table of names, or of a list of {name, value}." },
    ["nn.any.pop"] = {
        text = "Takes the entry of a name out, and returns it." },
    ["nn.any.accept"] = {
        text = "Checks an entry of nn.ModuleDict or nn.ParameterDict, and may replace it." },
    ["nn.forget"] = {
        call = "nn.forget(module, key)",
        text = "Takes a field out of a module, of whatever kind." },
}
