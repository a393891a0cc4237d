--!plain
-- Help texts of layers: what they take and give; their form: init.lua.
return {
    ["nn.AdaptiveAvgPool1d"] = {
        shapes = "x: [n x] channels x l; the result: [n x] channels x output_size",
        example = "table.concat(nn.AdaptiveAvgPool1d(2)(ones(2, 3, 8)).shape, \"x\")\n--> 2x3x2" },
    ["nn.AdaptiveAvgPool2d"] = {
        shapes = "x: [n x] channels x h x w; the result: [n x] channels x output_size",
        example = "table.concat(nn.AdaptiveAvgPool2d(2)(ones(2, 3, 8, 8)).shape, \"x\")\n--> \z
            2x3x2x2" },
    ["nn.AdaptiveMaxPool1d"] = {
        shapes = "x: [n x] channels x l; the result: [n x] channels x output_size",
        example = "table.concat(nn.AdaptiveMaxPool1d(2)(ones(2, 3, 8)).shape, \"x\")\n--> 2x3x2" },
    ["nn.AdaptiveMaxPool2d"] = {
        shapes = "x: [n x] channels x h x w; the result: [n x] channels x output_size",
        example = "table.concat(nn.AdaptiveMaxPool2d(2)(ones(2, 3, 8, 8)).shape, \"x\")\n--> \z
            2x3x2x2" },
    ["nn.AvgPool1d"] = {
        shapes = "x: [n x] channels x l; the result: [n x] channels x the windows' number in \z
            each dim",
        example = "table.concat(nn.AvgPool1d(2)(ones(2, 3, 8)).shape, \"x\")\n--> 2x3x4" },
    ["nn.AvgPool2d"] = {
        shapes = "x: [n x] channels x h x w; the result: [n x] channels x the windows' number in \z
            each dim",
        example = "table.concat(nn.AvgPool2d(2)(ones(2, 3, 8, 8)).shape, \"x\")\n--> 2x3x4x4" },
    ["nn.BCELoss"] = {
        shapes = "x, target: the same shape; the result is a scalar, or has it with reduction \z
            'none'",
        example = "nn.BCELoss()(tensor{0.5, 0.5}, tensor{1.0, 0.0})\n--> tensor(0.6931, f32 \z
            scalar cpu)" },
    ["nn.BCEWithLogitsLoss"] = {
        shapes = "x, target: the same shape; the result is a scalar, or has it with reduction \z
            'none'",
        example = "nn.BCEWithLogitsLoss()(tensor{0.0, 0.0}, tensor{1.0, 0.0})\n--> \z
            tensor(0.6931, f32 scalar cpu)" },
    ["nn.BatchNorm1d"] = {
        shapes = "x: n x channels x l or n x channels; the result has the same",
        example = "table.concat(nn.BatchNorm1d(3)(ones(2, 3, 8)).shape, \"x\")\n--> 2x3x8" },
    ["nn.BatchNorm2d"] = {
        shapes = "x: n x channels x h x w; the result has the same",
        example = "table.concat(nn.BatchNorm2d(3)(ones(2, 3, 8, 8)).shape, \"x\")\n--> 2x3x8x8" },
    ["nn.BatchNorm3d"] = {
        shapes = "x: n x channels x d x h x w; the result has the same",
        example = "table.concat(nn.BatchNorm3d(3)(ones(2, 3, 8, 8, 8)).shape, \"x\")\n--> \z
            2x3x8x8x8" },
    ["nn.CELU"] = {
        shapes = "x: any; the result has the same",
        example = "nn.CELU()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-0.8647,  0.0000,  2.0000}, \z
            f32 3 cpu)" },
    ["nn.Conv1d"] = {
        shapes = "x: [n x] in_channels x l; the result: [n x] out_channels x the windows' number \z
            in each dim",
        example = "table.concat(nn.Conv1d(3, 6, 3)(ones(2, 3, 8)).shape, \"x\")\n--> 2x6x6" },
    ["nn.Conv2d"] = {
        shapes = "x: [n x] in_channels x h x w; the result: [n x] out_channels x the windows' \z
            number in each dim",
        example = "table.concat(nn.Conv2d(3, 6, 3)(ones(2, 3, 8, 8)).shape, \"x\")\n--> 2x6x6x6" },
    ["nn.Conv3d"] = {
        shapes = "x: [n x] in_channels x d x h x w; the result: [n x] out_channels x the \z
            windows' number in each dim",
        example = "table.concat(nn.Conv3d(3, 6, 3)(ones(2, 3, 8, 8, 8)).shape, \"x\")\n--> \z
            2x6x6x6x6" },
    ["nn.ConvTranspose1d"] = {
        shapes = "x: [n x] in_channels x l; the result: [n x] out_channels x (size - 1) stride + \z
            kernel_size in each dim, less twice the padding",
        example = "table.concat(nn.ConvTranspose1d(3, 6, 2, 2)(ones(2, 3, 8)).shape, \"x\")\n--> \z
            2x6x16" },
    ["nn.ConvTranspose2d"] = {
        shapes = "x: [n x] in_channels x h x w; the result: [n x] out_channels x (size - 1) \z
            stride + kernel_size in each dim, less twice the padding",
        example = "table.concat(nn.ConvTranspose2d(3, 6, 2, 2)(ones(2, 3, 8, 8)).shape, \z
            \"x\")\n--> 2x6x16x16" },
    ["nn.ConvTranspose3d"] = {
        shapes = "x: [n x] in_channels x d x h x w; the result: [n x] out_channels x (size - 1) \z
            stride + kernel_size in each dim, less twice the padding",
        example = "table.concat(nn.ConvTranspose3d(3, 6, 2, 2)(ones(2, 3, 8, 8, 8)).shape, \z
            \"x\")\n--> 2x6x16x16x16" },
    ["nn.CosineEmbeddingLoss"] = {
        shapes = "x1, x2: n x d; target: n, of 1 and -1; the result is a scalar, or n with \z
            reduction 'none'",
        example = "nn.CosineEmbeddingLoss()(ones(2, 3), ones(2, 3), tensor{1, -1})\n--> \z
            tensor(0.5, f32 scalar cpu)" },
    ["nn.CrossEntropyLoss"] = {
        shapes = "x: n x classes x …; target: n x …, classes from 1; the result is a scalar, \z
            or has target's shape with reduction 'none'",
        example = "nn.CrossEntropyLoss()(zeros(2, 4), tensor{1, 4})\n--> tensor(1.3863, f32 \z
            scalar cpu)" },
    ["nn.Dropout"] = {
        shapes = "x: any; the result has the same",
        example = "table.concat(nn.Dropout()(ones(2, 3)).shape, \"x\")\n--> 2x3" },
    ["nn.Dropout1d"] = {
        shapes = "x: n x channels x l; the result has the same",
        example = "table.concat(nn.Dropout1d()(ones(2, 3, 8)).shape, \"x\")\n--> 2x3x8" },
    ["nn.Dropout2d"] = {
        shapes = "x: n x channels x h x w; the result has the same",
        example = "table.concat(nn.Dropout2d()(ones(2, 3, 8, 8)).shape, \"x\")\n--> 2x3x8x8" },
    ["nn.Dropout3d"] = {
        shapes = "x: n x channels x d x h x w; the result has the same",
        example = "table.concat(nn.Dropout3d()(ones(2, 3, 8, 8, 8)).shape, \"x\")\n--> 2x3x8x8x8" },
    ["nn.ELU"] = {
        shapes = "x: any; the result has the same",
        example = "nn.ELU()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-0.8647,  0.0000,  2.0000}, f32 \z
            3 cpu)" },
    ["nn.Embedding"] = {
        shapes = "indices: any, integers from 1; the result: … x embedding_dim",
        example = "table.concat(nn.Embedding(10, 3)(tensor{1, 10}).shape, \"x\")\n--> 2x3" },
    ["nn.Flatten"] = {
        shapes = "x: any; the dims from start_dim to end_dim become one",
        example = "table.concat(nn.Flatten()(ones(2, 3, 4)).shape, \"x\")\n--> 2x12" },
    ["nn.GELU"] = {
        shapes = "x: any; the result has the same",
        example = "nn.GELU()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-0.0455,  0.0000,  1.9545}, \z
            f32 3 cpu)" },
    ["nn.GLU"] = {
        shapes = "x: any with an even size in dim; the result has half of it there",
        example = "nn.GLU()(tensor{1.0, 2.0, 0.0, 0.0})\n--> tensor({0.5, 1.0}, f32 2 cpu)" },
    ["nn.GRU"] = {
        shapes = "x: l x n x input_size, or n x l x input_size with batch_first; h: layers x n x \z
            hidden_size, with bidirectional twice as many layers; the result: x's with \z
            hidden_size, and the last h",
        example = "table.concat(nn.GRU(3, 5)(ones(7, 2, 3)).shape, \"x\")\n--> 7x2x5" },
    ["nn.GRUCell"] = {
        shapes = "x: n x input_size; h: n x hidden_size; the result: the new h",
        example = "table.concat(nn.GRUCell(3, 5)(ones(2, 3)).shape, \"x\")\n--> 2x5" },
    ["nn.GaussianNLLLoss"] = {
        shapes = "x, target, var: the same shape, var also with 1 as the last dim; the result is \z
            a scalar, or has it with reduction 'none'",
        example = "nn.GaussianNLLLoss()(tensor{1.0}, tensor{3.0}, tensor{1.0})\n--> tensor(2.0, \z
            f32 scalar cpu)" },
    ["nn.GroupNorm"] = {
        shapes = "x: n x channels x …; the result has the same",
        example = "table.concat(nn.GroupNorm(2, 4)(ones(2, 4, 8)).shape, \"x\")\n--> 2x4x8" },
    ["nn.Hardshrink"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Hardshrink()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-2.0,  0.0,  2.0}, f32 3 \z
            cpu)" },
    ["nn.Hardsigmoid"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Hardsigmoid()(tensor{-2.0, 0.0, 2.0})\n--> tensor({0.1667, 0.5000, \z
            0.8333}, f32 3 cpu)" },
    ["nn.Hardswish"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Hardswish()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-0.3333,  0.0000,  \z
            1.6667}, f32 3 cpu)" },
    ["nn.Hardtanh"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Hardtanh()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-1.0,  0.0,  1.0}, f32 3 \z
            cpu)" },
    ["nn.HingeEmbeddingLoss"] = {
        shapes = "x, target: the same shape, target of 1 and -1; the result is a scalar, or has \z
            it with reduction 'none'",
        example = "nn.HingeEmbeddingLoss()(tensor{1.0, 2.0}, tensor{1, -1})\n--> tensor(0.5, f32 \z
            scalar cpu)" },
    ["nn.HuberLoss"] = {
        shapes = "x, target: the same shape; the result is a scalar, or has it with reduction \z
            'none'",
        example = "nn.HuberLoss()(tensor{1.0, 2.0}, tensor{1.0, 4.0})\n--> tensor(0.75, f32 \z
            scalar cpu)" },
    ["nn.InstanceNorm1d"] = {
        shapes = "x: n x channels x l; the result has the same",
        example = "table.concat(nn.InstanceNorm1d(3)(ones(2, 3, 8)).shape, \"x\")\n--> 2x3x8" },
    ["nn.InstanceNorm2d"] = {
        shapes = "x: n x channels x h x w; the result has the same",
        example = "table.concat(nn.InstanceNorm2d(3)(ones(2, 3, 8, 8)).shape, \"x\")\n--> \z
            2x3x8x8" },
    ["nn.InstanceNorm3d"] = {
        shapes = "x: n x channels x d x h x w; the result has the same",
        example = "table.concat(nn.InstanceNorm3d(3)(ones(2, 3, 8, 8, 8)).shape, \"x\")\n--> \z
            2x3x8x8x8" },
    ["nn.KLDivLoss"] = {
        shapes = "x, target: the same shape; the result is a scalar, or has it with reduction \z
            'none'",
        example = "nn.KLDivLoss{reduction = \"batchmean\"}(tensor{{0.5, 0.5}}:log(), \z
            tensor{{0.5, 0.5}})\n--> tensor(0.0, f32 scalar cpu)" },
    ["nn.L1Loss"] = {
        shapes = "x, target: the same shape; the result is a scalar, or has it with reduction \z
            'none'",
        example = "nn.L1Loss()(tensor{1.0, 2.0}, tensor{1.0, 4.0})\n--> tensor(1.0, f32 scalar \z
            cpu)" },
    ["nn.LSTM"] = {
        shapes = "x: l x n x input_size, or n x l x input_size with batch_first; h: layers x n x \z
            hidden_size, with bidirectional twice as many layers; the result: x's with \z
            hidden_size, and the last h and c",
        example = "table.concat(nn.LSTM(3, 5)(ones(7, 2, 3)).shape, \"x\")\n--> 7x2x5" },
    ["nn.LSTMCell"] = {
        shapes = "x: n x input_size; h, c: n x hidden_size; the results: the new h and c",
        example = "table.concat(nn.LSTMCell(3, 5)(ones(2, 3)).shape, \"x\")\n--> 2x5" },
    ["nn.LayerNorm"] = {
        shapes = "x: … x normalized_shape; the result has the same",
        example = "table.concat(nn.LayerNorm(3)(ones(2, 3)).shape, \"x\")\n--> 2x3" },
    ["nn.LeakyReLU"] = {
        shapes = "x: any; the result has the same",
        example = "nn.LeakyReLU()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-0.02,  0.00,  2.00}, f32 \z
            3 cpu)" },
    ["nn.Linear"] = {
        shapes = "x: … x in_features; the result: … x out_features",
        example = "table.concat(nn.Linear(3, 2)(ones(4, 3)).shape, \"x\")\n--> 4x2" },
    ["nn.LogSigmoid"] = {
        shapes = "x: any; the result has the same",
        example = "nn.LogSigmoid()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-2.1269, -0.6931, \z
            -0.1269}, f32 3 cpu)" },
    ["nn.LogSoftmax"] = {
        shapes = "x: any with dim; the result has the same",
        example = "nn.LogSoftmax(1)(tensor{0.0, 0.0})\n--> tensor({-0.6931, -0.6931}, f32 2 cpu)" },
    ["nn.MSELoss"] = {
        shapes = "x, target: the same shape; the result is a scalar, or has it with reduction \z
            'none'",
        example = "nn.MSELoss()(tensor{1.0, 2.0}, tensor{1.0, 4.0})\n--> tensor(2.0, f32 scalar \z
            cpu)" },
    ["nn.MarginRankingLoss"] = {
        shapes = "x1, x2, target: the same shape; the result is a scalar, or has it with \z
            reduction 'none'",
        example = "nn.MarginRankingLoss()(tensor{1.0}, tensor{3.0}, tensor{1.0})\n--> \z
            tensor(2.0, f32 scalar cpu)" },
    ["nn.MaxPool1d"] = {
        shapes = "x: [n x] channels x l; the result: [n x] channels x the windows' number in \z
            each dim",
        example = "table.concat(nn.MaxPool1d(2)(ones(2, 3, 8)).shape, \"x\")\n--> 2x3x4" },
    ["nn.MaxPool2d"] = {
        shapes = "x: [n x] channels x h x w; the result: [n x] channels x the windows' number in \z
            each dim",
        example = "table.concat(nn.MaxPool2d(2)(ones(2, 3, 8, 8)).shape, \"x\")\n--> 2x3x4x4" },
    ["nn.Mish"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Mish()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-0.2525,  0.0000,  1.9440}, \z
            f32 3 cpu)" },
    ["nn.Sequential"] = {
        shapes = "x: what the first module takes; the result: what the last one gives",
        example = "local model = nn.Sequential{nn.Linear(3, 4), nn.ReLU()}\nreturn \z
            table.concat(model(ones(2, 3)).shape, \"x\")\n--> 2x4" },
    ["nn.ModuleList"] = {
        example = "#nn.ModuleList{nn.ReLU(), nn.Tanh()}\n--> 2" },
    ["nn.MultiheadAttention"] = {
        shapes = "query: l x n x embed_dim; key, value: s x n x embed_dim, or n first with \z
            batch_first; the result has query's shape",
        example = "table.concat(nn.MultiheadAttention(4, 2)(ones(3, 2, 4), ones(3, 2, 4), \z
            ones(3, 2, 4)).shape, \"x\")\n--> 3x2x4" },
    ["nn.NLLLoss"] = {
        shapes = "x: n x classes x …; target: n x …, classes from 1; the result is a scalar, \z
            or has target's shape with reduction 'none'",
        example = "nn.NLLLoss()(zeros(2, 4):log_softmax(2), tensor{1, 4})\n--> tensor(1.3863, \z
            f32 scalar cpu)" },
    ["nn.PReLU"] = {
        shapes = "x: n x channels x …, or any with one parameter; the result has the same",
        example = "nn.PReLU()(tensor{-2.0, 2.0})\n--> tensor({-0.5,  2.0}, f32 2 cpu \z
            requires_grad)" },
    ["nn.PoissonNLLLoss"] = {
        shapes = "x, target: the same shape; the result is a scalar, or has it with reduction \z
            'none'",
        example = "nn.PoissonNLLLoss()(tensor{0.0, 0.0}, tensor{1.0, 2.0})\n--> tensor(1.0, f32 \z
            scalar cpu)" },
    ["nn.RMSNorm"] = {
        shapes = "x: … x normalized_shape; the result has the same",
        example = "table.concat(nn.RMSNorm(3)(ones(2, 3)).shape, \"x\")\n--> 2x3" },
    ["nn.RNN"] = {
        shapes = "x: l x n x input_size, or n x l x input_size with batch_first; h: layers x n x \z
            hidden_size, with bidirectional twice as many layers; the result: x's with \z
            hidden_size, and the last h",
        example = "table.concat(nn.RNN(3, 5)(ones(7, 2, 3)).shape, \"x\")\n--> 7x2x5" },
    ["nn.RNNCell"] = {
        shapes = "x: n x input_size; h: n x hidden_size; the result: the new h",
        example = "table.concat(nn.RNNCell(3, 5)(ones(2, 3)).shape, \"x\")\n--> 2x5" },
    ["nn.ReLU"] = {
        shapes = "x: any; the result has the same",
        example = "nn.ReLU()(tensor{-2.0, 0.0, 2.0})\n--> tensor({0.0, 0.0, 2.0}, f32 3 cpu)" },
    ["nn.ReLU6"] = {
        shapes = "x: any; the result has the same",
        example = "nn.ReLU6()(tensor{-2.0, 0.0, 2.0})\n--> tensor({0.0, 0.0, 2.0}, f32 3 cpu)" },
    ["nn.SELU"] = {
        shapes = "x: any; the result has the same",
        example = "nn.SELU()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-1.5202,  0.0000,  2.1014}, \z
            f32 3 cpu)" },
    ["nn.SiLU"] = {
        shapes = "x: any; the result has the same",
        example = "nn.SiLU()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-0.2384,  0.0000,  1.7616}, \z
            f32 3 cpu)" },
    ["nn.Sigmoid"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Sigmoid()(tensor{-2.0, 0.0, 2.0})\n--> tensor({0.1192, 0.5000, 0.8808}, \z
            f32 3 cpu)" },
    ["nn.SmoothL1Loss"] = {
        shapes = "x, target: the same shape; the result is a scalar, or has it with reduction \z
            'none'",
        example = "nn.SmoothL1Loss()(tensor{1.0, 2.0}, tensor{1.0, 4.0})\n--> tensor(0.75, f32 \z
            scalar cpu)" },
    ["nn.SoftMarginLoss"] = {
        shapes = "x, target: the same shape, target of 1 and -1; the result is a scalar, or has \z
            it with reduction 'none'",
        example = "nn.SoftMarginLoss()(tensor{0.0, 0.0}, tensor{1.0, -1.0})\n--> tensor(0.6931, \z
            f32 scalar cpu)" },
    ["nn.Softmax"] = {
        shapes = "x: any with dim; the result has the same",
        example = "nn.Softmax(1)(tensor{0.0, 0.0})\n--> tensor({0.5, 0.5}, f32 2 cpu)" },
    ["nn.Softmin"] = {
        shapes = "x: any with dim; the result has the same",
        example = "nn.Softmin(1)(tensor{0.0, 0.0})\n--> tensor({0.5, 0.5}, f32 2 cpu)" },
    ["nn.Softplus"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Softplus()(tensor{-2.0, 0.0, 2.0})\n--> tensor({0.1269, 0.6931, 2.1269}, \z
            f32 3 cpu)" },
    ["nn.Softshrink"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Softshrink()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-1.5,  0.0,  1.5}, f32 3 \z
            cpu)" },
    ["nn.Softsign"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Softsign()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-0.6667,  0.0000,  \z
            0.6667}, f32 3 cpu)" },
    ["nn.Tanh"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Tanh()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-0.964,  0.000,  0.964}, f32 3 \z
            cpu)" },
    ["nn.Tanhshrink"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Tanhshrink()(tensor{-2.0, 0.0, 2.0})\n--> tensor({-1.036,  0.000,  1.036}, \z
            f32 3 cpu)" },
    ["nn.Threshold"] = {
        shapes = "x: any; the result has the same",
        example = "nn.Threshold(1, 0)(tensor{0.5, 2.0})\n--> tensor({0.0, 2.0}, f32 2 cpu)" },
    ["nn.TransformerEncoderLayer"] = {
        shapes = "x: l x n x d_model, or n x l x d_model with batch_first; the result has the \z
            same",
        example = "table.concat(nn.TransformerEncoderLayer(4, 2)(ones(3, 2, 4)).shape, \z
            \"x\")\n--> 3x2x4" },
    ["nn.TripletMarginLoss"] = {
        shapes = "anchor, positive, negative: n x d; the result is a scalar, or n with reduction \z
            'none'",
        example = "nn.TripletMarginLoss()(zeros(1, 2), zeros(1, 2), ones(1, 2))\n--> tensor(0.0, \z
            f32 scalar cpu)" },
    ["nn.Unflatten"] = {
        shapes = "x: any; dim becomes several",
        example = "table.concat(nn.Unflatten(2, {3, 4})(ones(2, 12)).shape, \"x\")\n--> 2x3x4" },
    ["nn.Upsample"] = {
        shapes = "x: n x channels x sizes; the result: n x channels x new sizes",
        example = "table.concat(nn.Upsample{scale_factor = 2}(ones(1, 3, 4, 4)).shape, \z
            \"x\")\n--> 1x3x8x8" },
}
